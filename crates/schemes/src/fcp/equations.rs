//! §4.1 of Han et al. (CMU-CS-12-125), in the paper's order and with its symbols.
//!
//! Budgets and spending are in $/s, prices in $/byte, sizes and queues in bytes, times in seconds.

/// §4.1, "start-up behaviour": packets that a flow may send in the round trip after its SYN-ACK.
pub const STARTUP_PACKETS: f64 = 10.0;

pub use crate::explicit::{at_least, at_most};

/// Equation (1): Σ price(s)·size(s) ≤ W_h. What a flow may spend that would spend `w`, where all
/// flows of its host together would spend `all`: `w`, or its part of the budget.
pub fn within_budget(w: f64, all: f64, budget: f64) -> f64 {
    if all > budget { w * budget / all } else { w }
}

/// §4, (3): P_r = Σ p_l, by one link. §5: a price at or below the minimum counts as zero, so that P
/// = P + MINIMUM.
#[inline]
pub fn path_price(so_far: f64, link: f64, minimum: f64) -> f64 {
    match (so_far > minimum, link > minimum) {
        (true, true) => so_far + link,
        (false, true) => link,
        (true, false) => so_far,
        (false, false) => minimum,
    }
}

/// Equation (2): p(t) = I(t) / (C − α q(t)/d).
///
/// §5, "Implementation details": the denominator is C/2 at least.
#[inline]
pub fn price(income: f64, c: f64, alpha: f64, q: f64, d: f64) -> f64 {
    income / room(c, alpha, q, d)
}

/// The denominator of equation (2), with that bound.
#[inline]
pub fn room(c: f64, alpha: f64, q: f64, d: f64) -> f64 {
    at_least(c - alpha * q / d, c / 2.0)
}

/// A packet's term of equation (3): p(t − rtt(s))·size(s).
pub fn paid(price: f64, size: f64) -> f64 {
    price * size
}

/// A packet's additional term of equation (4), over d: p(·)·size(s)·preload(s)/rtt(s). The d of (4)
/// cancels out.
pub fn preloaded(paid: f64, preload: f64, rtt: f64) -> f64 {
    paid * preload / rtt
}

/// Equation (3): I(t) = Σ p(t − rtt(s))·size(s) / d.
pub fn income_paid(sum_paid: f64, d: f64) -> f64 {
    sum_paid / d
}

/// Equation (4): I(t) = Σ p(·)·size(s)·(1 + preload(s)·d/rtt(s)) / d, from the sums of both terms.
pub fn income(sum_paid: f64, sum_preloaded: f64, d: f64) -> f64 {
    income_paid(sum_paid, d) + sum_preloaded
}

/// "It preloads by (x − w)/w, the relative difference in budget." `change` is x − w.
pub fn preload(change: f64, w: f64) -> f64 {
    change / w
}

/// What a packet pays per round trip, $/s: the unit of its preload.
pub fn pays(price: f64, size: f64, rtt: f64) -> f64 {
    paid(price, size) / rtt
}

/// w = w + paid·size(s)·preload/rtt, the change that packet s has announced. Nothing is spent below
/// zero.
pub fn budget(w: f64, change: f64) -> f64 {
    (w + change).max(0.0)
}

/// r = w / p.
pub fn rate(w: f64, p: f64) -> f64 {
    w / p
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_1_scales_all_flows_of_a_host_alike() {
        assert_eq!(within_budget(0.5, 1.0, 1.0), 0.5);
        assert_eq!(within_budget(0.5, 2.0, 1.0) + within_budget(1.5, 2.0, 1.0), 1.0);
    }

    #[test]
    fn the_minimum_counts_as_zero_in_a_path() {
        let path = |links: &[f64]| links.iter().fold(0.0, |p, l| path_price(p, *l, 1e-18));
        assert_eq!(path(&[1e-18, 1e-18, 1e-18]), 1e-18);
        assert_eq!(path(&[1e-18, 2.0, 1e-18, 3.0]), 5.0);
    }

    #[test]
    fn equation_2_by_hand() {
        assert_eq!(price(500.0, 1000.0, 2.0, 0.0, 0.2), 0.5);
        // 1000 − 2·20/0.2 = 800.
        assert_eq!(price(400.0, 1000.0, 2.0, 20.0, 0.2), 0.5);
        // 1000 − 2·100/0.2 = 0, bounded by 500.
        assert_eq!(price(400.0, 1000.0, 2.0, 100.0, 0.2), 0.8);
    }

    #[test]
    fn equations_3_and_4_by_hand() {
        // Two packets in d = 0.2 s: 1000 B at 3 m$, without preload; 500 B at 2 m$ that announce
        // four times as much, 0.1 s apart.
        let (a, b) = (paid(0.003, 1000.0), paid(0.002, 500.0));
        assert!((income_paid(a + b, 0.2) - 20.0).abs() < 1e-12);
        // (3·1 + 1·(1 + 4·0.2/0.1)) / 0.2 = (3 + 9) / 0.2 = 60.
        assert!((income(a + b, preloaded(b, 4.0, 0.1), 0.2) - 60.0).abs() < 1e-12);
        // A flow that ends preloads −1 on all that it pays in a round trip: in a window of one
        // round trip nothing is left.
        assert!(income(a, preloaded(a, -1.0, 0.2), 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_round_trips_preloads_bring_the_new_budget() {
        // w = 2 $/s, x = 6 $/s, p = 0.001 $/B: ten packets of 20 B in a round trip of 0.1 s, each
        // preloads 2.
        let (w, x, p, rtt) = (2.0, 6.0, 0.001, 0.1);
        let each = preload(x - w, w);
        assert_eq!(each, 2.0);
        let after = (0..10).fold(w, |w, _| budget(w, preloaded(paid(p, 20.0), each, rtt)));
        assert!((after - x).abs() < 1e-12, "{after}");
        assert_eq!(rate(after, p).round(), 6000.0);
        assert_eq!(budget(1.0, -3.0), 0.0);
    }
}
