//! The reference window by hand: each step of §4.2 with numbers that can be followed on paper.

use super::super::params::{ScreamEcn, ScreamParams};
use super::super::window::{Event, MIN_REF_WND, Window};
use super::close;

const MSS: f64 = 1000.0;

/// A window of 20,000 B that data in flight warrant, of a flow that has had congestion long ago.
fn window(params: ScreamParams) -> Window {
    let mut window = Window::new(&params, MSS);
    window.begin(20_000.0);
    window.on_sent(20_000.0);
    window
}

fn l4s() -> ScreamParams {
    ScreamParams { ecn: ScreamEcn::L4s, ..ScreamParams::default() }
}

/// A report that says nothing, after 50 ms.
const NOTHING: Event = Event {
    now: 10.0,
    s_rtt: 0.05,
    qdelay: Some(0.0),
    bytes: 0.0,
    bytes_ce: 0.0,
    delivered: 0.0,
    marked: 0.0,
    lost: 0.0,
    in_flight: 20_000.0,
    target_bitrate: 1e6,
    max_bitrate: 2e6,
};

#[test]
fn losses_and_classic_marks_scale_by_a_constant_once_per_round_trip() {
    let mut window = window(ScreamParams::default());
    window.on_report(&Event { lost: 1.0, ..NOTHING });
    close(window.ref_wnd(), 14_000.0);
    // Within s_rtt it is the same congestion.
    for now in [10.024, 10.025, 10.049] {
        window.on_report(&Event { now, delivered: 1.0, marked: 1.0, lost: 1.0, ..NOTHING });
    }
    close(window.ref_wnd(), 14_000.0);
    window.on_report(&Event { now: 10.051, delivered: 1.0, marked: 1.0, ..NOTHING });
    close(window.ref_wnd(), 11_200.0);
    // And is answered once.
    window.on_report(&Event { now: 10.11, ..NOTHING });
    close(window.ref_wnd(), 11_200.0);
}

#[test]
fn marks_of_a_flow_that_is_not_ecn_capable_say_nothing() {
    let mut window = window(ScreamParams { ecn: ScreamEcn::Off, ..ScreamParams::default() });
    window.on_report(&Event { delivered: 1.0, marked: 1.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0);
}

/// A mark within VIRTUAL_RTT of another waits, and is answered then.
#[test]
fn l4s_marks_wait_for_the_next_reaction() {
    let mut window = window(l4s());
    window.on_report(&Event { delivered: 8.0, marked: 8.0, ..NOTHING });
    let once = window.ref_wnd();
    window.on_report(&Event { now: 10.02, delivered: 8.0, marked: 8.0, ..NOTHING });
    close(window.ref_wnd(), once);
    window.on_report(&Event { now: 10.026, ..NOTHING });
    assert!(window.ref_wnd() < once);
}

/// Half of the data units are marked: l4s_alpha is 1/16, the backoff half of that over s_rtt / VIRTUAL_RTT = 2. The
/// window is far from the inflection point.
#[test]
fn l4s_marks_scale_by_half_of_alpha_per_round_trip() {
    let mut window = window(l4s());
    window.on_report(&Event { delivered: 8.0, marked: 4.0, ..NOTHING });
    close(window.l4s_alpha(), 1.0 / 16.0);
    close(window.ref_wnd(), 20_000.0 * (1.0 - 1.0 / 64.0));
    // Without marks alpha falls by 1/128, not before 10 ms.
    window.on_report(&Event { now: 10.005, delivered: 8.0, ..NOTHING });
    close(window.l4s_alpha(), 1.0 / 16.0);
    window.on_report(&Event { now: 10.011, delivered: 8.0, ..NOTHING });
    close(window.l4s_alpha(), 127.0 / 128.0 / 16.0);
}

/// Near the inflection point (1 % above: scl_t is (8 · .01)² and so .1) backoff is a quarter, but not with a queue.
#[test]
fn l4s_backoff_is_smaller_near_the_last_maximum_unless_a_queue_grows() {
    for (qdelay, scale) in [(0.014, 0.25), (0.016, 1.0)] {
        let mut window = window(l4s());
        window.on_report(&Event { delivered: 8.0, marked: 8.0, ..NOTHING });
        let (before, alpha) = (window.ref_wnd(), 1.0 / 8.0);
        close(before, 20_000.0 * (1.0 - alpha / 4.0));
        // The inflection point is 20,000 B; the window comes to 20,200 B.
        window.begin(20_200.0);
        window.on_report(&Event { now: 10.05, qdelay: Some(qdelay), delivered: 8.0, marked: 8.0, ..NOTHING });
        let alpha = 1.0 / 8.0 + 7.0 / 8.0 * alpha;
        close(window.ref_wnd(), 20_200.0 * (1.0 - scale * alpha / 4.0));
    }
}

/// After a hundred round trips without congestion the window is first that of what is in flight.
#[test]
fn an_inflated_window_is_restored_at_the_first_mark() {
    let mut window = window(l4s());
    window.on_report(&Event { in_flight: 8_000.0, ..NOTHING });
    window.on_report(&Event { now: 10.06, in_flight: 8_000.0, ..NOTHING });
    window.on_report(&Event { now: 10.12, in_flight: 8_000.0, ..NOTHING });
    window.on_report(&Event { now: 10.13, in_flight: 8_000.0, delivered: 8.0, marked: 8.0, ..NOTHING });
    close(window.ref_wnd(), 8_000.0 * (1.0 - 1.0 / 32.0));
}

/// 20,200 B in 101 ms are 1.6 Mbps: a target below 1.28 Mbps has fallen already.
#[test]
fn backoff_is_a_quarter_where_the_target_is_well_below_what_arrives() {
    for (target_bitrate, scale) in [(1.27e6, 0.25), (1.29e6, 1.0)] {
        let mut window = window(l4s());
        window.on_report(&Event { target_bitrate: 2e6, ..NOTHING });
        window.on_report(&Event { now: 10.101, bytes: 20_200.0, target_bitrate: 2e6, ..NOTHING });
        window.on_report(&Event { now: 10.13, delivered: 8.0, marked: 8.0, target_bitrate, ..NOTHING });
        close(window.ref_wnd(), 20_000.0 * (1.0 - scale / 32.0));
    }
}

/// qdelay_avg rises by a quarter of what is missing: 160 ms once are 40 ms, a third of the way from half of the
/// target to the target; half of that, over two virtual round trips.
#[test]
fn queue_delay_is_a_mark_that_grows_from_half_of_the_target_on() {
    let mut window = window(ScreamParams::default());
    window.on_report(&Event { qdelay: Some(0.12), ..NOTHING });
    close(window.ref_wnd(), 20_000.0);
    window.on_report(&Event { now: 10.025, qdelay: Some(0.07), ..NOTHING });
    // A quarter of 70 ms and three of 30 ms.
    close(window.ref_wnd(), 20_000.0 * (1.0 - (0.04 - 0.03) / 0.03 / 4.0));
    // It falls at once.
    let before = window.ref_wnd();
    window.on_report(&Event { now: 10.05, qdelay: Some(0.02), ..NOTHING });
    close(window.ref_wnd(), before);
}

/// A window's worth of bytes adds an MSS, and .02 of the window as congestion was long ago.
#[test]
fn a_window_grows_by_an_mss_and_a_share_per_round_trip() {
    let mut window = window(ScreamParams::default());
    window.on_report(&Event { bytes: 20_000.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0 + MSS * (1.0 + 0.02 * 20.0));
    // Marked bytes do not count.
    let mut window = self::window(l4s());
    window.on_report(&Event { bytes: 20_000.0, bytes_ce: 20_000.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0);
    // Below VIRTUAL_RTT less.
    let mut window = self::window(ScreamParams::default());
    window.on_report(&Event { s_rtt: 0.005, bytes: 20_000.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0 + MSS * 0.2 * (1.0 + 0.02 * 20.0));
}

/// After a loss at 20,000 B the window is 14,000 B, .3 below the inflection point: scl_t is 1. Ten of a hundred round
/// trips later a tenth of the multiplicative part counts.
#[test]
fn growth_is_cautious_after_congestion_and_near_the_last_maximum() {
    let mut window = window(ScreamParams::default());
    window.on_report(&Event { lost: 1.0, ..NOTHING });
    window.on_report(&Event { now: 10.5, bytes: 14_000.0, ..NOTHING });
    close(window.ref_wnd(), 14_000.0 + MSS * (1.0 + 0.02 * 14.0 * 0.1));
    // At the inflection point: a quarter of an MSS, and a tenth of a tenth of the rest.
    window.begin(20_000.0);
    window.on_report(&Event { now: 10.5, bytes: 20_000.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0 + MSS * 0.25 * (1.0 + 0.02 * 20.0 * 0.1 * 0.1));
}

#[test]
fn nothing_grows_beyond_what_is_in_flight_or_at_the_highest_rate() {
    let mut window = window(ScreamParams::default());
    window.begin(31_000.0);
    window.on_report(&Event { bytes: 1_000.0, ..NOTHING });
    close(window.ref_wnd(), 31_000.0);
    let mut window = self::window(ScreamParams::default());
    window.on_report(&Event { bytes: 1_000.0, target_bitrate: 2e6, ..NOTHING });
    close(window.ref_wnd(), 20_000.0);
    window.limit(15_000.0);
    close(window.ref_wnd(), 20_000.0);
    window.begin(90_000.0);
    window.limit(15_000.0);
    close(window.ref_wnd(), 20_000.0);
}

/// Without jitter filter the headroom is the highest.
#[test]
fn headroom_is_three_windows_and_falls_to_one_and_a_half_as_the_delay_varies() {
    let mut window = window(ScreamParams { reduce_jitter: true, ..ScreamParams::default() });
    close(window.send_wnd(1_000.0), 59_000.0);
    // qdelay_max_avg begins with the target, 60 ms: 15/16 of it, and qdelay_min_avg goes a sixteenth of the way there.
    window.on_report(&NOTHING);
    let max = 0.06 * 15.0 / 16.0;
    let deviation = (max - max / 16.0) / 32.0;
    close(window.send_wnd(0.0), 20_000.0 * (1.5 + 1.5 * (1.0 - deviation / 0.01)));
    (1..60).for_each(|i| {
        let qdelay = Some(if i % 2 == 0 { 0.0 } else { 0.029 });
        window.on_report(&Event { now: 10.0 + 0.05 * f64::from(i), qdelay, ..NOTHING });
    });
    let least = window.ref_wnd() * 1.5;
    close(window.send_wnd(0.0), least);
}

/// One in two hundred: below the threshold. Ten at once: above.
#[test]
fn few_losses_are_no_congestion_if_so_asked() {
    let mut window = window(ScreamParams { loss_threshold: 0.01, ..ScreamParams::default() });
    window.on_report(&Event { delivered: 199.0, lost: 1.0, ..NOTHING });
    close(window.ref_wnd(), 20_000.0);
    window.on_report(&Event { now: 11.0, delivered: 20.0, lost: 10.0, ..NOTHING });
    close(window.ref_wnd(), 14_000.0);
}

/// A queue that stands at 200 ms is a competing flow's: the target becomes that, and comes back after it.
#[test]
fn the_target_follows_a_standing_queue_if_so_asked() {
    let mut window = window(ScreamParams { competing_flows: true, ..ScreamParams::default() });
    let at = |window: &mut Window, from: u32, count: u32, qdelay: f64| {
        for i in from..from + count {
            window.on_report(&Event { now: 10.0 + 0.05 * f64::from(i), qdelay: Some(qdelay), ..NOTHING });
        }
        window.qdelay_target()
    };
    close(at(&mut window, 0, 200, 0.2), 0.2);
    close(at(&mut window, 200, 1, 0.2), 0.2);
    close(at(&mut window, 201, 400, 0.01), 0.06);
    assert!(window.ref_wnd() >= MIN_REF_WND);
}
