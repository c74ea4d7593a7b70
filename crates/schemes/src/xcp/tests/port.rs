use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::queue::Limit;
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::{Backlog, Drop};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::xcp::XcpParams;
use crate::xcp::header::XcpHeader;
use crate::xcp::port::XcpPort;

/// A million bytes per second.
const LINK: Rate = Rate::from_mbps(8);

fn params() -> XcpParams {
    XcpParams { initial_interval: Time::from_ms(100), ..XcpParams::default() }
}

fn port(params: &XcpParams) -> XcpPort {
    XcpPort::new(params, Limit::Bytes(50_000), LINK)
}

/// A packet of 1000 B from a flow with a round trip of 100 ms at this throughput, which asks for
/// `delta`.
fn data(throughput: f32, delta: f32) -> Packet {
    let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000);
    p.set_header(&XcpHeader { rtt: 0.1, throughput, delta, echo: 0.0 });
    p.size = 1000;
    p
}

/// An arrival at `now` that finds `waiting` bytes.
fn arrive(port: &mut XcpPort, p: &mut Packet, now: Time, waiting: u64) -> Verdict {
    let rng = &mut stream(1, Purpose::Ports, 0);
    let idle_since = (waiting == 0).then_some(now);
    let backlog = Backlog { packets: waiting.div_ceil(1500), bytes: waiting };
    let sojourn = Time::ZERO;
    port.enqueue(p, &mut View { now, backlog, lane: backlog, rate: LINK, mtu: 1500, idle_since, sojourn, rng })
}

/// The change of throughput that a packet gets.
fn given(port: &mut XcpPort, p: &mut Packet, now: Time) -> f64 {
    arrive(port, p, now, 0);
    f64::from(p.header::<XcpHeader>().expect("it has one").delta)
}

/// An interval of 100 ms of flows with these throughputs; each flow sends throughput / 10 bytes in
/// it.
fn interval(port: &mut XcpPort, from: Time, throughputs: &[f32], waiting: u64) -> Vec<f64> {
    let count = |x: f32| (x / 10_000.0).round() as u64;
    let total: u64 = throughputs.iter().map(|x| count(*x)).sum();
    let mut changes = Vec::new();
    let mut n = 0;
    for &x in throughputs {
        let mut sum = 0.0;
        for _ in 0..count(x) {
            let mut p = data(x, f32::MAX);
            arrive(port, &mut p, from + Time::from_us(100_000 * n / total), waiting);
            sum += f64::from(p.header::<XcpHeader>().unwrap().delta);
            n += 1;
        }
        changes.push(sum);
    }
    changes
}

#[test]
fn spare_capacity_is_given_out_by_alpha() {
    let mut port = port(&params());
    assert_eq!(interval(&mut port, Time::ZERO, &[4e5], 0), [0.0], "nothing is known in the first interval");
    // φ = 0.4 (1e6 − 4e5) = 2.4e5 B/s > γ y = 4e4: no shuffling. Each of 40 packets gets a 40th.
    let second = interval(&mut port, Time::from_ms(100), &[4e5], 0);
    assert!((port.aggregate() - 2.4e5).abs() < 1e-3);
    assert!((second[0] - 2.4e5).abs() < 1.0, "{second:?}");
    assert!(port.residues().0 < 1.0);
}

#[test]
fn gauges_are_in_bits_per_second_and_bytes() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[7.2e5, 3e5], 3_000);
    interval(&mut port, Time::from_ms(100), &[7.2e5, 3e5], 3_000);
    let mut gauges = Vec::new();
    port.gauges(&mut gauges);
    // As below: φ = −8,000 B/s and h = 94,000 B/s after the first interval, in which the queue began empty.
    let said =
        [("aggregate_feedback_bps", -64_000.0), ("shuffled_bps", 752_000.0), ("persistent_queue_bytes", 3_000.0)];
    assert_eq!(gauges.len(), said.len());
    for ((name, value), (expected, exact)) in gauges.into_iter().zip(said) {
        assert_eq!(name, expected);
        assert!((value - exact).abs() < 0.01, "{name}: {value}");
    }
}

#[test]
fn flows_gain_alike_lose_by_throughput_and_sum_to_the_aggregate() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[7.2e5, 3e5], 0);
    let changes = interval(&mut port, Time::from_ms(100), &[7.2e5, 3e5], 0);
    // y = 1.02e6: φ = −8,000, h = γ y − |φ| = 94,000. Up: 47,000 each. Down: 102,000 by throughput:
    // 72,000 and 30,000.
    assert!((port.aggregate() + 8_000.0).abs() < 1e-3);
    for (got, exact) in changes.iter().zip([47_000.0 - 72_000.0, 47_000.0 - 30_000.0]) {
        assert!((got - exact).abs() < 1.0, "{changes:?}");
    }
    assert!((changes[0] + changes[1] - port.aggregate()).abs() < 1.0);
}

#[test]
fn the_persistent_queue_lowers_the_aggregate_by_beta_q_over_d() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[1e6], 20_000);
    interval(&mut port, Time::from_ms(100), &[1e6], 20_000);
    // 1 ms late: a round trip of 100 ms is 1.5 ns more in the header's 32 bits.
    arrive(&mut port, &mut data(1e6, 0.0), Time::from_ms(201), 20_000);
    // y = C, and every arrival found 20,000 B.
    let exact = -0.226 * 20_000.0 / 0.1;
    assert!((port.aggregate() / exact - 1.0).abs() < 1e-6, "{}", port.aggregate());
}

#[test]
fn a_packet_keeps_the_least_change_of_its_path_and_the_rest_goes_to_others() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[4e5], 0);
    let now = Time::from_ms(100);
    // A packet's part is 6,000 B/s. One that wants less is given less and booked as that.
    assert!((given(&mut port, &mut data(4e5, 9e9), now) - 6_000.0).abs() < 0.01);
    assert_eq!(given(&mut port, &mut data(4e5, 1_500.0), now), 1_500.0);
    assert!((port.residues().0 - (2.4e5 - 7_500.0)).abs() < 0.01, "{:?}", port.residues());
    // One that another port has taken from takes nothing here.
    assert_eq!(given(&mut port, &mut data(4e5, -800.0), now), -800.0);
    assert!((port.residues().0 - (2.4e5 - 7_500.0)).abs() < 0.01);
}

#[test]
fn no_more_is_given_than_there_is() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[4e5], 0);
    // Twice as many packets as the last interval had.
    let sum: f64 = (0..80).map(|i| given(&mut port, &mut data(4e5, 9e9), Time::from_ms(100) + Time::from_us(i))).sum();
    assert!((sum - 2.4e5).abs() < 1.0, "{sum}");
    assert_eq!(port.residues().0, 0.0);
}

#[test]
fn the_control_interval_is_the_mean_round_trip_of_flows_and_not_of_packets() {
    // Flow a: 90 packets with 50 ms; flow b: 10 packets with 150 ms. By flows: 100 ms.
    let mut port = port(&params());
    for (x, rtt, n) in [(9e5, 0.05, 90), (1e5, 0.15, 10)] {
        for i in 0..n {
            let mut p = data(0.0, 0.0);
            p.set_header(&XcpHeader { rtt, throughput: x, delta: 0.0, echo: 0.0 });
            arrive(&mut port, &mut p, Time::from_us(100 * i), 0);
        }
    }
    arrive(&mut port, &mut data(4e5, 0.0), Time::from_ms(100), 0);
    let before = port.aggregate();
    arrive(&mut port, &mut data(4e5, 0.0), Time::from_us(199_990), 0);
    assert_eq!(port.aggregate(), before, "the interval is not over");
    arrive(&mut port, &mut data(4e5, 0.0), Time::from_us(200_010), 0);
    assert!((port.aggregate() - 0.4 * (1e6 - 2e4)).abs() < 1.0, "{}", port.aggregate());
}

#[test]
fn after_silence_nothing_is_handed_out_until_an_interval_has_been_seen() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[4e5], 0);
    assert_eq!(given(&mut port, &mut data(4e5, 9e9), Time::from_secs(50)), 0.0);
    assert_eq!(port.aggregate(), 0.0);
    assert!(given(&mut port, &mut data(4e5, 9e9), Time::from_secs(50) + Time::from_ms(100)) > 0.0);
}

#[test]
fn others_take_capacity_and_are_left_alone() {
    let mut port = port(&params());
    let mut foreign = Packet::new(FlowId(1), NodeId(0), NodeId(1), 50_000);
    assert!(foreign.push_raw(77, &[0xFF; 40]));
    foreign.size = 50_000;
    let before = foreign;
    arrive(&mut port, &mut foreign, Time::ZERO, 0);
    assert_eq!(foreign, before);
    interval(&mut port, Time::ZERO, &[4e5], 0);
    // An acknowledgement, and a SYN, whose sender knows no round trip.
    for (rtt, echo) in [(0.0, 5.0), (0.0, 0.0)] {
        let mut p = data(0.0, 0.0);
        p.set_header(&XcpHeader { rtt, throughput: 0.0, delta: 9.0, echo });
        let before = p;
        arrive(&mut port, &mut p, Time::from_ms(100), 0);
        assert_eq!(p, before);
    }
    // y = 9e5 B/s, of which 4e5 ask: φ = 0.4 · 1e5, h = 9e4 − 4e4, and all that is taken is taken
    // from those that ask.
    let changes = interval(&mut port, Time::from_ms(100), &[4e5], 0);
    assert!((port.aggregate() - 4e4).abs() < 1e-3 && (changes[0] - 4e4).abs() < 1.0, "{changes:?}");
}

#[test]
fn what_does_not_fit_is_refused_and_gets_nothing() {
    let mut port = port(&params());
    interval(&mut port, Time::ZERO, &[4e5], 0);
    let mut p = data(4e5, 9e9);
    assert_eq!(arrive(&mut port, &mut p, Time::from_ms(100), 49_500), Verdict::Drop(Drop::Queue));
    assert!((port.residues().0 - 2.4e5).abs() < 1e-3);
}

/// Anything that a stranger may send, at any time.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, u64, [u32; 4])>> {
    let bits = || prop_oneof![any::<u32>(), Just(f32::NAN.to_bits()), Just(1), Just(f32::MAX.to_bits()), Just(0)];
    let sane = |low: f32, high: f32| (low..high).prop_map(f32::to_bits);
    let rtt = prop_oneof![bits(), sane(1e-4, 1.0)];
    let throughput = prop_oneof![bits(), sane(1e3, 1e7)];
    let header = (rtt, throughput, bits(), bits()).prop_map(|(a, b, c, d)| [a, b, c, d]);
    let gap = prop_oneof![0u64..1_000, 0u64..100_000_000, Just(10_000_000_000)];
    prop::collection::vec((gap, 1u32..65_535, 0u64..60_000, header), 1..200)
}

proptest! {
    #[test]
    fn no_header_poisons_the_controllers(arrivals in arrivals()) {
        let (mut port, mut now) = (port(&XcpParams::default()), Time::ZERO);
        for (gap_ns, size, waiting, numbers) in arrivals {
            now += Time::from_ns(gap_ns);
            let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), size);
            let mut bytes = [0; 16];
            for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
                place.copy_from_slice(&number.to_be_bytes());
            }
            packet.push_raw(2, &bytes);
            let asked = packet.header::<XcpHeader>();
            let before = port.residues();
            arrive(&mut port, &mut packet, now, waiting);
            let after = port.residues();
            prop_assert!(after.0.is_finite() && after.1.is_finite() && after.0 >= 0.0 && after.1 >= 0.0, "{after:?}");
            prop_assert!(port.aggregate().is_finite() && port.aggregate() <= 0.4e6);
            if let (Some(asked), Some(got)) = (asked, packet.header::<XcpHeader>()) {
                prop_assert!(got.delta <= asked.delta);
                // Nobody gets more than there was to hand out, in this interval or in a new one.
                let most = before.0.max(after.0 + f64::from(got.delta).max(0.0));
                prop_assert!(asked.rtt == 0.0 || f64::from(got.delta) <= most * (1.0 + 1e-6));
            }
        }
        // Once the strangers are gone, an honest flow gets what an honest network gives: φ of the
        // spare capacity.
        now += Time::from_secs(1_000);
        arrive(&mut port, &mut data(4e5, f32::MAX), now, 0);
        let step = Time::from_us(2_500);
        let changes: Vec<f64> = (1..400u64).map(|i| given(&mut port, &mut data(4e5, f32::MAX), now + step * i)).collect();
        let last: f64 = changes[changes.len() - 40..].iter().sum();
        prop_assert!((last / 2.4e5 - 1.0).abs() < 0.1, "{last}");
    }
}

/// Feedback is what there is when the packet leaves, however long it has waited: that of the interval which has ended
/// meanwhile.
#[test]
fn a_packet_that_waits_gets_the_feedback_of_the_interval_in_which_it_leaves() {
    for on_departure in [false, true] {
        let mut port = port(&params()).on_departure(on_departure);
        assert_eq!(port.watches_leaving(), on_departure);
        let mut first = data(1e5, 1e9);
        arrive(&mut port, &mut first, Time::from_ms(50), 0);
        let told = |p: &Packet| p.header::<XcpHeader>().expect("it has one").delta;
        // Nothing is known in the first interval: nothing is handed out.
        assert_eq!(told(&first), if on_departure { 1e9 } else { 0.0 });
        let (rng, backlog) = (&mut stream(1, Purpose::Ports, 0), Backlog::default());
        let (now, idle_since, sojourn) = (Time::from_ms(150), None, Time::from_ms(100));
        let mut view = View { now, backlog, lane: backlog, rate: LINK, mtu: 1500, idle_since, sojourn, rng };
        if on_departure {
            assert_eq!(port.dequeue(&mut first, &mut view), Verdict::Pass);
            assert!(told(&first) > 0.0 && told(&first) < 1e9, "{}", told(&first));
        }
    }
}
