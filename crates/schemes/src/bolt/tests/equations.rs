use proptest::prelude::*;

use crate::bolt::equations::{Path, State, said};
use crate::bolt::header::{BoltFlags, Notice};

/// Packets of 1,000 bytes, 1,050 on the wire, from hosts at 10 Gbps.
const PATH: Path = Path { mss: 1000, mtu: 1050, line: 10e9, least: 10, most: 50_000 };

/// A round trip of 10 us.
const RTT: u64 = 10_000;

fn state(window: u64) -> State {
    State { window, fell: 0 }
}

fn notice(queue: u32) -> Notice {
    Notice { queue, rate: 1e10, sent: 0 }
}

#[test]
fn an_ack_adds_a_packet_if_it_says_so_and_one_per_round_trip() {
    let after = |marks, additive| {
        let mut flow = state(20_000);
        flow.acknowledge(marks, additive, &PATH);
        flow.window
    };
    assert_eq!(after(BoltFlags::default(), false), 20_000);
    assert_eq!(after(BoltFlags::INC, false), 21_000);
    assert_eq!(after(BoltFlags::default(), true), 21_000);
    assert_eq!(after(BoltFlags::INC, true), 22_000);
    // A congested port on the way: no more than the packet per round trip.
    assert_eq!((after(BoltFlags::INC.with(BoltFlags::DEC), true), after(BoltFlags::DEC, false)), (21_000, 20_000));
    let mut full = state(49_500);
    full.acknowledge(BoltFlags::INC, true, &PATH);
    assert_eq!(full.window, 50_000);
}

/// The flow has 8 Gbps of a link of 10, ten packets wait there, and a notice takes 4 us: in that time it takes out
/// its share, eight packets. A packet each .5 us.
#[test]
fn a_notice_takes_a_packet_as_often_as_drains_the_flows_share_in_the_time_that_it_takes() {
    let mut flow = state(10_000);
    let mut at = |now| {
        flow.tell(&notice(10_500), 4_000, RTT, now, &PATH);
        flow.window
    };
    // 10,000 B in 10 us are 8 Gbps, and then less: 9,000 B are 7.2, so that it is 555 ns.
    assert_eq!([at(499), at(500), at(900), at(1_054), at(1_055)], [10_000, 9_000, 9_000, 9_000, 8_000]);
}

#[test]
fn before_the_first_round_trip_the_rate_is_the_hosts_link() {
    let mut flow = state(10_000);
    // Of 10 Gbps all is this flow's: 400 ns.
    flow.tell(&notice(10_500), 4_000, 0, 399, &PATH);
    assert_eq!(flow.window, 10_000);
    flow.tell(&notice(10_500), 4_000, 0, 400, &PATH);
    assert_eq!(flow.window, 9_000);
}

#[test]
fn a_window_of_a_packet_is_halved_by_each_notice_down_to_the_least() {
    let mut flow = state(1_000);
    let windows: Vec<u64> = (0..8)
        .map(|_| {
            flow.tell(&notice(10_500), 4_000, RTT, 0, &PATH);
            flow.window
        })
        .collect();
    assert_eq!(windows, [500, 250, 125, 62, 31, 15, 10, 10]);
}

#[test]
fn a_loss_halves_it_once_in_a_round_trip_and_not_right_after_a_notice() {
    let mut flow = State { window: 20_000, fell: 5_000 };
    flow.lose(RTT, 14_999, &PATH);
    assert_eq!(flow.window, 20_000);
    flow.lose(RTT, 15_000, &PATH);
    assert_eq!(flow, State { window: 10_000, fell: 15_000 });
    let mut small = state(12);
    small.lose(RTT, RTT, &PATH);
    assert_eq!(small.window, 10);
}

#[test]
fn packets_say_whether_others_follow_on_their_acks() {
    let window = 10_000;
    assert_eq!(said(true, 1000, 50_000, window), BoltFlags::FIRST);
    assert_eq!(said(true, 1000, 10_000, window), BoltFlags::FIRST.with(BoltFlags::LAST));
    assert_eq!(said(false, 1000, 10_001, window), BoltFlags::INC);
    assert_eq!(said(false, 1000, 10_000, window), BoltFlags::LAST);
    // The last packet of all, of a window below it.
    assert_eq!(said(false, 1000, 1000, 300), BoltFlags::INC.with(BoltFlags::LAST));
}

proptest! {
    /// Whatever is heard, the window is between its bounds.
    #[test]
    fn hostile_notices_leave_the_window_within_its_bounds(
        heard in prop::collection::vec((0u8..32, any::<bool>(), any::<u32>(), 1f32..=f32::MAX, any::<u32>(), 0u64..1 << 40, 0u8..3), 1..200),
    ) {
        let mut flow = state(20_000);
        let mut now = 0;
        for (marks, additive, queue, rate, after, rtt, what) in heard {
            now += u64::from(after) / 7;
            match what {
                0 => flow.acknowledge(BoltFlags(marks), additive, &PATH),
                1 => flow.tell(&Notice { queue, rate, sent: 0 }, after.into(), rtt, now, &PATH),
                _ => flow.lose(rtt, now, &PATH),
            }
            prop_assert!((PATH.least..=PATH.most).contains(&flow.window), "{}", flow.window);
        }
    }
}
