//! LIA and OLIA against their equations, computed here in packets as the papers write them.

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::FlowSpec;
use midpath_core::units::Time;
use proptest::prelude::*;

use crate::mptcp::Coupling;
use crate::mptcp::coupling::{Coupled, CoupledConfig, Path, Paths};
use crate::transport::TcpParams;
use crate::transport::cc::{Ack, AssistedConfig, Congestion, CongestionController, Window};

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

/// OLIA's alpha, from the paper's sets: M, the largest windows, and B, the best by l/rtt². Windows go
/// from M to those of B that are not in M.
fn olia_alpha(all: &[(f64, f64, f64)], me: usize) -> f64 {
    let top = |of: fn(&(f64, f64, f64)) -> f64| {
        let best = all.iter().map(of).fold(0.0, f64::max);
        (0..all.len()).filter(|i| of(&all[*i]) == best).collect::<Vec<_>>()
    };
    let (largest, best) = (top(|p| p.0), top(|p| p.2 / p.1.powi(2)));
    let small: Vec<_> = best.iter().filter(|i| !largest.contains(i)).collect();
    let n = all.len() as f64;
    match () {
        () if small.is_empty() => 0.0,
        () if small.contains(&&me) => 1.0 / n / small.len() as f64,
        () if largest.contains(&me) => -1.0 / n / largest.len() as f64,
        () => 0.0,
    }
}

fn ack(bytes: u64) -> Ack {
    Ack { acked: bytes, delivered: bytes, srtt: Time::from_ms(50), ..Ack::default() }
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
        prop_assert!(close(paths.olia_alpha(me), olia_alpha(&all, me)));
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

/// 0.6 of a segment is owed when a segment is lost: 0.6 more are no whole one then. And what was
/// acknowledged between the losses is known.
#[test]
fn a_loss_begins_to_count_anew() {
    let congestion = Congestion { now: Time::ZERO, flight: 30_000, ecn_reduced: false };
    type Loses = fn(&mut Coupled, &Window, &Congestion) -> u64;
    let loses: [Loses; 3] = [Coupled::on_loss, Coupled::on_rto, Coupled::on_ecn];
    for (lose, threshold) in loses.into_iter().zip([15_000, 15_000, 14_200]) {
        let tcp = TcpParams::default();
        let mut me = CoupledConfig(Coupling::Olia).build(&tcp, 1420, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
        let mut window = Window::new(20, 1420);
        window.ssthresh = 1420;
        // The other path is best: this one, the largest, loses half a segment per window.
        let paths = paths(&[(1.0, 0.001, 1e7), (20.0, 1.0, 1e3)]);
        let acknowledge = |me: &mut Coupled, window: &mut Window| {
            me.see(&paths, Some(1));
            me.on_delivery(window, &ack(34_080));
            me.on_ack(window, &ack(34_080));
        };
        acknowledge(&mut me, &mut window);
        assert_eq!((window.cwnd, me.between_losses()), (28_400, 34_080));
        assert_eq!(lose(&mut me, &window, &congestion), threshold);
        acknowledge(&mut me, &mut window);
        acknowledge(&mut me, &mut window);
        assert_eq!((window.cwnd, me.between_losses()), (28_400 - 1420, 2 * 34_080), "1.2 since the loss");
        assert_eq!(lose(&mut me, &window, &congestion), if threshold == 14_200 { 13_490 } else { 15_000 });
        acknowledge(&mut me, &mut window);
        assert_eq!((window.cwnd, me.between_losses()), (28_400 - 1420, 2 * 34_080), "0.6 since the loss");
    }
    let ecn = Congestion { ecn_reduced: true, ..congestion };
    let mut window = Window::new(20, 1420);
    window.ssthresh = 9_000;
    let tcp = TcpParams::default();
    let mut me = CoupledConfig(Coupling::Lia).build(&tcp, 1420, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
    assert_eq!(me.on_loss(&window, &ecn), 9_000, "a mark has lowered it already");
}

/// Each ACK takes 710.2 bytes off the window here, so two take a segment of 1,420: nothing more is owed
/// after a loss than before the first.
#[test]
fn nothing_is_owed_after_a_loss() {
    let tcp = TcpParams::default();
    let mut me = CoupledConfig(Coupling::Olia).build(&tcp, 1420, &FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)));
    let mut window = Window::new(20, 1420);
    window.ssthresh = 1420;
    let paths = paths(&[(1.0, 0.001, 1e7), (20.0, 1.0, 1e3)]);
    let per_ack = paths.olia(1) * 28_430.0 * 1420.0;
    assert!((-710.5..-710.0).contains(&per_ack), "{per_ack}");
    me.on_rto(&window, &Congestion { now: Time::ZERO, flight: 30_000, ecn_reduced: false });
    for _ in 0..2 {
        me.see(&paths, Some(1));
        me.on_ack(&mut window, &ack(28_430));
    }
    assert_eq!(window.cwnd, 19 * 1420);
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
