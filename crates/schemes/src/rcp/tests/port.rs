use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::queue::Limit;
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::{Backlog, Drop};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::rcp::RcpParams;
use crate::rcp::header::{MAX_RTT, RcpHeader};
use crate::rcp::port::RcpPort;

/// A million bytes per second.
const LINK: Rate = Rate::from_mbps(8);

/// T = 10 ms, d = 100 ms, R = 1 Mbps.
fn params() -> RcpParams {
    RcpParams {
        initial_rtt: Time::from_ms(100),
        initial_rate: 0.125,
        alpha: Some(0.5),
        beta: Some(0.25),
        ..RcpParams::default()
    }
}

fn port(params: &RcpParams) -> RcpPort {
    RcpPort::new(params, Limit::Bytes(50_000), LINK)
}

fn packet(size: u32, header: Option<RcpHeader>) -> Packet {
    let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), size);
    header.iter().for_each(|h| assert!(p.set_header(h)));
    p.size = size;
    p
}

/// An arrival at `now` that finds `waiting` bytes and a transmitter that is busy if `busy`.
fn arrive(port: &mut RcpPort, p: &mut Packet, now: Time, waiting: u64, busy: bool) -> Verdict {
    let rng = &mut stream(1, Purpose::Ports, 0);
    let backlog = Backlog { packets: waiting.div_ceil(1500), bytes: waiting };
    let (idle_since, sojourn) = ((!busy).then_some(now), Time::ZERO);
    port.enqueue(p, &mut View { now, backlog, lane: backlog, rate: LINK, mtu: 1500, idle_since, sojourn, rng })
}

/// R after an interval in which `bytes` arrived, the second half of them when `queue` bytes waited.
fn after_interval(params: &RcpParams, bytes: u32, rtt: f32, queue: u64) -> f64 {
    let mut port = port(params);
    let ask = Some(RcpHeader { rate: 1e9, echo: 0.0, rtt });
    let half = bytes / 2;
    arrive(&mut port, &mut packet(half, ask), Time::ZERO, 0, false);
    // The second half comes when its own time is all that is left of the interval: nothing spills
    // over.
    let at = Time::from_ms(10) - Time::from_us(u64::from(half));
    arrive(&mut port, &mut packet(half, ask), at, queue, queue > 0);
    arrive(&mut port, &mut packet(40, None), Time::from_ms(10), 0, false);
    port.rate()
}

#[test]
fn one_interval_is_equation_1() {
    // 6,000 B in 10 ms: y = 600,000 B/s. R = 1 Mbps [1 + (10/100) · 0.5 (1e6 − 6e5) / 1e6] = 1.02
    // Mbps.
    assert!((after_interval(&params(), 6_000, 0.1, 0) - 1.02e6).abs() < 1.0);
    // η = 0.8: 1 + 0.1 · 0.5 (8e5 − 6e5) / 8e5 = 1.0125.
    assert!((after_interval(&RcpParams { eta: 0.8, ..params() }, 6_000, 0.1, 0) - 1.0125e6).abs() < 1.0);
    // 20 packets of overload: y = 2e6 B/s, 1 − 0.1 · 0.5 = 0.95.
    assert!((after_interval(&params(), 20_000, 0.1, 0) - 0.95e6).abs() < 1.0);
}

#[test]
fn the_queue_lowers_r_by_beta_q_over_d() {
    // 20,000 B wait when the last 3,000 B come 3 ms before the end, and 3,000 B of the 23,000 are
    // sent by then. 1 + 0.1 (0.5 · 4e5 − 0.25 · 20,000 / 0.1) / 1e6 = 1 + 0.1 (0.2 − 0.05) = 1.015.
    let r = after_interval(&params(), 6_000, 0.1, 20_000);
    assert!((r - 1.015e6).abs() < 1.0, "{r}");
}

#[test]
fn d_is_the_first_interval_s_mean_and_then_follows_with_gain_t_over_d() {
    // d becomes 50 ms at once: 1 + (10/50) · 0.5 · 0.4 = 1.04.
    assert!((after_interval(&params(), 6_000, 0.05, 0) - 1.04e6).abs() < 1.0);
    let mut port = port(&params());
    for (ms, rtt) in [(0, 0.1), (10, 0.2)] {
        let ask = RcpHeader { rate: 1e9, echo: 0.0, rtt };
        arrive(&mut port, &mut packet(5_000, Some(ask)), Time::from_ms(ms), 0, false);
    }
    let first = port.rate() / 1e6;
    arrive(&mut port, &mut packet(40, None), Time::from_ms(20), 0, false);
    // d = 0.1 + (10/100) (0.2 − 0.1) = 0.11; both intervals had y = 5e5 B/s.
    let second = port.rate() / 1e6;
    assert!((first - (1.0 + 0.1 * 0.25)).abs() < 1e-6, "{first}");
    assert!((second / first - (1.0 + 0.01 / 0.11 * 0.25)).abs() < 1e-6, "{second}");
}

#[test]
fn a_silent_link_grows_r_once_per_interval_up_to_eta_c() {
    // y = q = 0: each interval multiplies by 1 + (T/d) α = 1.05. 20 of them, and a bit.
    let mut silent = port(&RcpParams { initial_rate: 0.01, ..params() });
    arrive(&mut silent, &mut packet(40, None), Time::from_ms(205), 0, false);
    assert!((silent.rate() / (0.08e6 * 1.05f64.powi(20)) - 1.0).abs() < 1e-6, "{}", silent.rate());
    // And not beyond ηC after a day.
    let mut silent = port(&RcpParams { eta: 0.9, ..params() });
    arrive(&mut silent, &mut packet(40, None), Time::from_secs(86_400), 0, false);
    assert_eq!(silent.rate(), 7.2e6);
}

#[test]
fn a_packet_across_the_end_of_an_interval_counts_for_both() {
    // 5,000 B at 9 ms take 5 ms: 1,000 B for the first interval, 4,000 B for the second.
    let mut port = port(&params());
    arrive(&mut port, &mut packet(5_000, None), Time::from_ms(9), 0, false);
    arrive(&mut port, &mut packet(40, None), Time::from_ms(10), 0, false);
    let first = port.rate() / 1e6;
    arrive(&mut port, &mut packet(40, None), Time::from_ms(20), 0, false);
    assert!((first - (1.0 + 0.05 * 0.9)).abs() < 1e-6, "{first}");
    assert!((port.rate() / 1e6 / first - (1.0 + 0.05 * (1.0 - 0.404))).abs() < 1e-6);
}

#[test]
fn the_packet_takes_the_smaller_rate_and_what_asks_for_none_is_left_alone() {
    let mut port = port(&params());
    for (asked, got) in [(1e9, 1e6), (1.5e6, 1e6), (0.5e6, 0.5e6), (0.0, 0.0)] {
        let mut p = packet(100, Some(RcpHeader { rate: asked, echo: 9e9, rtt: 0.1 }));
        assert_eq!(arrive(&mut port, &mut p, Time::ZERO, 0, false), Verdict::Pass);
        assert_eq!(p.header(), Some(RcpHeader { rate: got, echo: 9e9, rtt: 0.1 }));
    }
    let mut foreign = packet(100, None);
    assert!(foreign.push_raw(77, &[0xFF; 40]));
    let before = foreign;
    arrive(&mut port, &mut foreign, Time::ZERO, 0, false);
    assert_eq!(foreign, before);
}

#[test]
fn what_does_not_fit_is_refused_and_counts_all_the_same() {
    let mut full = port(&params());
    let refused = arrive(&mut full, &mut packet(6_000, None), Time::ZERO, 49_000, true);
    assert_eq!(refused, Verdict::Drop(Drop::Queue));
    arrive(&mut full, &mut packet(40, None), Time::from_ms(10), 0, false);
    // y = 6e5 B/s; of the 49,000 B that waited, 39,000 are left: 1 + 0.1 (0.2 − 0.25 · 0.39).
    assert!((full.rate() - 1e6 * (1.0 + 0.1 * (0.2 - 0.25 * 0.39))).abs() < 1.0, "{}", full.rate());
}

#[test]
fn a_restart_forgets() {
    let mut port = port(&params());
    arrive(&mut port, &mut packet(40, None), Time::from_secs(9), 0, false);
    assert_eq!(port.rate(), 8e6);
    port.reset();
    assert_eq!(port.rate(), 1e6);
    arrive(&mut port, &mut packet(40, None), Time::from_ms(9_010), 0, false);
    assert!((port.rate() / 1e6 - (1.0 + 0.05 * (1.0 - 0.0))).abs() < 1e-6, "{}", port.rate());
}

/// A gap in nanoseconds, a size, what waits, and a header's three numbers as bits.
type Arrival = (u64, u32, u64, Option<(u32, u32, u32)>);

/// Anything that a stranger may send, at any time.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let bits = || prop_oneof![any::<u32>(), Just(f32::NAN.to_bits()), Just(1), Just(f32::MAX.to_bits())];
    let rtt = prop_oneof![bits(), (0.0f32..1.0).prop_map(f32::to_bits), Just(MAX_RTT.to_bits())];
    let header = prop::option::of((bits(), bits(), rtt));
    let gap = prop_oneof![0u64..1_000, 0u64..100_000_000, Just(10_000_000_000)];
    prop::collection::vec((gap, 1u32..65_535, 0u64..60_000, header), 1..200)
}

proptest! {
    #[test]
    fn no_header_poisons_the_rate(arrivals in arrivals(), alpha in 0.001f64..3.0, beta in 0.0f64..3.0, eta in 0.1f64..1.0) {
        let p = RcpParams { alpha: Some(alpha), beta: Some(beta), eta, ..RcpParams::default() };
        let (mut port, mut now) = (port(&p), Time::ZERO);
        for (gap_ns, size, waiting, header) in arrivals {
            now += Time::from_ns(gap_ns);
            let mut packet = packet(size, None);
            if let Some((rate, echo, rtt)) = header {
                let mut bytes = [0; 12];
                for (place, number) in bytes.chunks_exact_mut(4).zip([rate, echo, rtt]) {
                    place.copy_from_slice(&number.to_be_bytes());
                }
                packet.push_raw(1, &bytes);
            }
            let asked = packet.header::<RcpHeader>();
            arrive(&mut port, &mut packet, now, waiting, waiting > 0);
            prop_assert!(port.rate() > 0.0 && port.rate() <= eta * LINK.as_f64() * (1.0 + 1e-9), "{}", port.rate());
            if let (Some(before), Some(after)) = (asked, packet.header::<RcpHeader>()) {
                prop_assert!(after.rate <= before.rate && f64::from(after.rate) <= port.rate() * (1.0 + 1e-6));
            }
        }
        // Once the strangers are gone, an idle link offers all of itself again.
        now += Time::from_secs(100_000);
        arrive(&mut port, &mut packet(40, None), now, 0, false);
        prop_assert!((port.rate() / (eta * LINK.as_f64()) - 1.0).abs() < 1e-9);
    }
}
