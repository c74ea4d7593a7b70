//! LIA and OLIA against their equations, computed here in packets as the papers write them.

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::FlowSpec;
use proptest::prelude::*;

use crate::mptcp::Coupling;
use crate::mptcp::coupling::{CoupledConfig, Path, Paths};
use crate::transport::TcpParams;
use crate::transport::cc::{Ack, CongestionController, ControllerConfig, Window};

const MSS: f64 = 1420.0;

fn paths(all: &[(f64, f64, f64)]) -> Paths {
    let mut paths = Paths::default();
    for (packets, rtt, between) in all {
        assert!(paths.add(Path { cwnd: packets * MSS, rtt: *rtt, between: *between }).is_some());
    }
    paths
}

/// In packets per packet acknowledged.
fn lia(all: &[(f64, f64, f64)], me: usize) -> f64 {
    let total: f64 = all.iter().map(|p| p.0).sum();
    let best = all.iter().map(|p| p.0 / (p.1 * p.1)).fold(0.0, f64::max);
    let sum: f64 = all.iter().map(|p| p.0 / p.1).sum();
    // RFC 6356, equations 1 and 2.
    let alpha = total * best / (sum * sum);
    (alpha / total).min(1.0 / all[me].0)
}

fn ack(bytes: u64) -> Ack {
    use midpath_core::units::Time;
    Ack {
        now: Time::ZERO,
        acked: bytes,
        delivered: bytes,
        una: 0,
        nxt: 0,
        rtt: None,
        srtt: Time::from_ms(50),
        ece: false,
        marks: 0,
        marked: 0,
        after_rto: false,
    }
}

proptest! {
    #[test]
    fn the_increases_are_the_equations(
        all in prop::collection::vec((1.0f64..500.0, 0.001f64..0.5, 1e3f64..1e7), 1..8), me in 0usize..8,
    ) {
        let (me, paths) = (me % all.len(), paths(&all));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs());
        prop_assert!(close(paths.lia(me) * MSS, lia(&all, me)));
        // RFC 6356, goal 2: no path grows faster than a TCP's.
        prop_assert!(paths.lia(me) * MSS <= (1.0 / all[me].0) * (1.0 + 1e-9));
        // OLIA's Kelly-Voice term, and alphas that only shift windows.
        let sum: f64 = all.iter().map(|p| p.0 / p.1).sum();
        let term = all[me].0 / (all[me].1 * all[me].1) / (sum * sum);
        prop_assert!(close(paths.olia(me) * MSS, term + paths.olia_alpha(me) / all[me].0));
        let shift: f64 = (0..all.len()).map(|i| paths.olia_alpha(i)).sum();
        prop_assert!(shift.abs() < 1e-9, "{}", shift);
    }
}

#[test]
fn one_path_is_newreno() {
    let paths = paths(&[(20.0, 0.1, 1e5)]);
    assert!((paths.lia(0) * MSS * 20.0 - 1.0).abs() < 1e-12, "a packet per window");
    assert!((paths.olia(0) * MSS * 20.0 - 1.0).abs() < 1e-12);
}

#[test]
fn equal_paths_grow_as_one_tcp() {
    // n equal paths: RFC 6356 gives each 1/(n² w) per packet, so that all together grow by 1/n
    // packet per round trip each.
    let all = [(10.0, 0.05, 1e5); 4];
    let paths = paths(&all);
    for me in 0..4 {
        assert!((paths.lia(me) * MSS - 1.0 / (16.0 * 10.0)).abs() < 1e-12);
        assert!((paths.olia(me) * MSS - 1.0 / (16.0 * 10.0)).abs() < 1e-12, "all are best and largest: no shift");
    }
}

#[test]
fn olia_moves_windows_from_the_largest_to_the_best() {
    // Path 0 is best (most bytes between losses) with a small window, path 1 has the largest, path
    // 2 is neither.
    let paths = paths(&[(5.0, 0.05, 1e6), (20.0, 0.05, 1e5), (10.0, 0.05, 1e4)]);
    let alphas = [0, 1, 2].map(|i| paths.olia_alpha(i));
    assert_eq!(alphas, [1.0 / 3.0, -1.0 / 3.0, 0.0]);
}

#[test]
fn a_window_may_shrink_but_not_below_a_segment() {
    let tcp = TcpParams::default();
    let mut me = CoupledConfig(Coupling::Olia).build(&tcp, 1420, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
    let mut window = Window::new(2, 1420);
    window.ssthresh = 1420;
    // The largest window on the worst path.
    let paths = paths(&[(1.0, 0.001, 1e7), (2.0, 0.2, 1e3)]);
    for _ in 0..1000 {
        me.see(&paths, Some(1));
        me.on_ack(&mut window, &ack(1420));
        assert!(window.cwnd >= 1420);
    }
    assert_eq!(window.cwnd, 1420);
}

#[test]
fn paths_without_a_round_trip_are_none_yet() {
    let mut paths = Paths::default();
    for (cwnd, rtt) in [(0.0, 0.1), (1e4, 0.0), (f64::NAN, 0.1), (1e4, f64::NAN)] {
        assert_eq!(paths.add(Path { cwnd, rtt, between: 0.0 }), None);
    }
    for i in 0..8 {
        assert_eq!(paths.add(Path { cwnd: 1e4, rtt: 0.1, between: 0.0 }), Some(i));
    }
    assert_eq!(paths.add(Path { cwnd: 1e4, rtt: 0.1, between: 0.0 }), None);
}
