//! The paper's equations, in its order and with its symbols.
//!
//! Rates are in bits per second, queues in bits, times in seconds; y(t) and q(t) are those of the
//! Data that the Interests ask for ("inflated", §3.1.1). Each function serves the single class and, with its values,
//! the primary and the secondary class: (6)–(10) and (13)–(16) repeat (2)–(5).

use crate::explicit::{at_least, at_most};

/// RCP's update, the baseline of §3.2, on an ICN port's y(t) and q(t).
///
/// (1): R(t) = R(t−T) [1 + (T/d) (α(ηC − y(t)) − β q(t)/d) / C]
pub fn rcp_rate(r: f64, link: Target, load: Load, gains: RcpGains, period: f64) -> f64 {
    let spare = gains.alpha * (link.full() - load.y) - gains.beta * load.q / load.d;
    r * (1.0 + period / load.d * spare / link.capacity)
}

/// (2), (6): N̂ = max(C, y(t)) / R(t−T)
///
/// Infinite for R(t−T) = 0, with which (3) and (4) give 0 for ever: zero is absorbing, hence the
/// floor.
pub fn full_rate_flows(c: f64, y: f64, r: f64) -> f64 {
    at_least(c, y) / r
}

/// (12): N̂_s = max{max(C_s(t), y_s(t)) / R_s(t−T), 1}. The paper prints R(t−T).
pub fn full_rate_flows_secondary(c_s: f64, y_s: f64, r: f64) -> f64 {
    at_least(full_rate_flows(c_s, y_s, r), 1.0)
}

/// (3), (7), (13): base_rate(t) = (ηC − β(t) q(t)/d(t)) / N̂
pub fn base_rate(link: Target, beta: f64, load: Load, n: f64) -> f64 {
    (link.full() - beta * load.q / load.d) / n
}

/// §3.1.1, (8), (14): β(t) = max(β', (y(t) − y(t−T)) / y(t))
///
/// Without traffic nothing has grown, and the fraction is left out.
pub fn self_tuned_beta(least: f64, y: f64, y_before: f64) -> f64 {
    if y > 0.0 { at_least((y - y_before) / y, least) } else { least }
}

/// (4), (9), (15): excess_rate(t) = R(t−T) − y(t)/N̂
pub fn excess_rate(r: f64, y: f64, n: f64) -> f64 {
    r - y / n
}

/// Footnote 3: μ(t) = (1 − α) μ(t−T) + α x(t)
pub fn ewma(mean: f64, x: f64, alpha: f64) -> f64 {
    (1.0 - alpha) * mean + alpha * x
}

/// (5), (10), (16): R(t) = base_rate_ewma(t) + excess_rate_ewma(t)
pub fn stamping_rate(base_ewma: f64, excess_ewma: f64) -> f64 {
    base_ewma + excess_ewma
}

/// (11), as printed: C_s(t) = max(C − y_p(t), 0)
///
/// A link that primary traffic fills to ηC keeps C_s = (1 − η)C, and (12)–(16) fill that to η(1 −
/// η)C.
pub fn secondary_capacity(c: f64, y_p: f64) -> f64 {
    (c - y_p).max(0.0)
}

/// (11), corrected: C_s(t) = max(C − y_p(t)/η, 0)
///
/// Then ηC_s = ηC − y_p: both classes together fill ηC, and nothing is left where the primary class
/// does (§4.3.4).
pub fn secondary_capacity_derated(link: Target, y_p: f64) -> f64 {
    (link.capacity - y_p / link.eta).max(0.0)
}

/// Caps and floors, ours: R between `floor` and `cap`.
///
/// Below ηC of traffic (2)–(5) grow without bound, and figure 6's 12 + 3 needs R_p ≤ ηC. A sum that
/// is not a number, which no input should give, becomes the floor.
pub fn bounded(r: f64, floor: f64, cap: f64) -> f64 {
    // `at_least` first: it takes the bound where the other is NaN.
    at_most(at_least(r, floor), cap)
}

/// A step of a rate, ours: down by as much as up, so that what comes and goes has no mean.
///
/// (5) multiplies R by 1 + αx for a share x that is left. One Interest more and one less leave (1 + αx)(1 − αx)R,
/// which is less than R. Here a step down divides, but never by more than α does in (5).
pub fn even_step(r: f64, x: f64, alpha: f64) -> f64 {
    let step = alpha * x;
    if step < 0.0 { r * at_least(1.0 / (1.0 - step), 1.0 - alpha) } else { r * (1.0 + step) }
}

/// The repair, ours: footnote 3's α becomes α min(1, T/d) in both averages.
///
/// As R(t) is the sum of both averages, R(t) = (1 − α) R(t−T) + α (base_rate(t) + excess_rate(t)):
/// α is the gain per period, and an R that may change by as much in every T as (5) lets it is
/// unstable once the loop is longer than about 2.8 T.
pub fn scaled_weight(alpha: f64, period: f64, d: f64) -> f64 {
    alpha * at_most(period / d, 1.0)
}

/// §3.1.2: the time from one Interest to the next of a flow whose Data are to come at R. That is
/// the rate deflated by the ratio of the sizes of Data and Interest: R counts Data's bits,
/// `data_bits` of them per Interest.
pub fn interest_gap(r: f64, data_bits: f64) -> f64 {
    data_bits / r
}

/// What a link's rate is to fill: η C.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// η, the share that is given out.
    pub eta: f64,
    /// C, or C_s for the secondary class, in bits per second.
    pub capacity: f64,
}

impl Target {
    /// ηC.
    pub fn full(self) -> f64 {
        self.eta * self.capacity
    }
}

/// What a link measured in [t−T, t), or sees at t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// y(t): the Data that Interests offered to the shaper ask for, in bits per second.
    pub y: f64,
    /// q(t): the Data that Interests queued in the shaper ask for, in bits.
    pub q: f64,
    /// d(t): the mean RTT in seconds, above zero.
    pub d: f64,
}

/// RCP's α and β.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RcpGains {
    /// α: share of the spare capacity given out per RTT.
    pub alpha: f64,
    /// β: share of the queue drained per RTT.
    pub beta: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINK: Target = Target { eta: 0.9, capacity: 10e6 };

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// (2)–(5) once, without memory: the EWMAs' new part.
    fn sum(link: Target, r: f64, load: Load, beta: f64) -> f64 {
        let n = full_rate_flows(link.capacity, load.y, r);
        base_rate(link, beta, load, n) + excess_rate(r, load.y, n)
    }

    #[test]
    fn below_capacity_by_hand() {
        // C = 10, R = 2, y = 4 (Mbit/s), q = 0: N̂ = 5, base = 9/5 = 1.8, excess = 2 − 4/5 = 1.2.
        let load = Load { y: 4e6, q: 0.0, d: 0.1 };
        let n = full_rate_flows(10e6, load.y, 2e6);
        close(n, 5.0);
        close(base_rate(LINK, 0.1, load, n), 1.8e6);
        close(excess_rate(2e6, load.y, n), 1.2e6);
    }

    #[test]
    fn above_capacity_by_hand() {
        // C = 10, R = 2, y = 20: N̂ = 10, base = 9/10, and there is nothing in excess.
        let load = Load { y: 20e6, q: 0.0, d: 0.1 };
        let n = full_rate_flows(10e6, load.y, 2e6);
        close(n, 10.0);
        close(base_rate(LINK, 0.1, load, n), 0.9e6);
        close(excess_rate(2e6, load.y, n), 0.0);
    }

    #[test]
    fn a_queue_takes_from_the_base_rate_by_hand() {
        // q = 1 Mbit, d = 0.1 s, β = 0.1: q/d = 10 Mbit/s, of which 1 goes; with N̂ = 5 that is
        // 0.2.
        let load = Load { y: 4e6, q: 1e6, d: 0.1 };
        close(base_rate(LINK, 0.1, load, 5.0), 1.6e6);
    }

    #[test]
    fn beta_follows_the_growth_of_traffic() {
        close(self_tuned_beta(0.1, 10e6, 9.5e6), 0.1);
        // From 0.95 to 3.8: 2.85/3.8 = 0.75.
        close(self_tuned_beta(0.1, 3.8e6, 0.95e6), 0.75);
        close(self_tuned_beta(0.1, 5e6, 20e6), 0.1);
        close(self_tuned_beta(0.1, 0.0, 20e6), 0.1);
        close(self_tuned_beta(0.1, 5e6, 0.0), 1.0);
        close(self_tuned_beta(0.1, 0.5, 0.25), 0.5);
    }

    #[test]
    fn rcp_by_hand() {
        // T/d = 0.1, α (ηC − y) = 0.4 · 5 = 2, β q/d = 0.2 · 10 = 2 (Mbit/s): they cancel; without
        // the queue 1 + 0.1 · 2/10.
        let gains = RcpGains { alpha: 0.4, beta: 0.2 };
        let load = Load { y: 4e6, q: 1e6, d: 0.1 };
        close(rcp_rate(3e6, LINK, load, gains, 0.01), 3e6);
        close(rcp_rate(3e6, LINK, Load { q: 0.0, ..load }, gains, 0.01), 3e6 * 1.02);
    }

    #[test]
    fn secondary_capacities_by_hand() {
        // The primary class has ηC = 9 of 10 Mbit/s.
        close(secondary_capacity(10e6, 9e6), 1e6);
        close(secondary_capacity_derated(LINK, 9e6), 0.0);
        // It has 4.5: ηC_s is the other 4.5.
        close(LINK.eta * secondary_capacity_derated(LINK, 4.5e6), 4.5e6);
        close(secondary_capacity(10e6, 12e6), 0.0);
    }

    #[test]
    fn at_least_one_secondary_flow_is_counted() {
        close(full_rate_flows_secondary(3e6, 1e6, 6e6), 1.0);
        close(full_rate_flows_secondary(3e6, 1e6, 1e6), 3.0);
        close(full_rate_flows_secondary(0.0, 0.0, 1e6), 1.0);
    }

    #[test]
    fn a_step_down_undoes_one_up() {
        close(even_step(1e6, 0.4, 0.5), 1.2e6);
        close(even_step(1.2e6, -0.4, 0.5), 1e6);
        close(even_step(1e6, -100.0, 0.5), 0.5e6);
    }

    #[test]
    fn interest_rates_by_hand() {
        // 14.4 Mbit/s of Data of 1800 B are 1000 a second; with Interests of 300 B they are 2.4
        // Mbit/s.
        close(interest_gap(14.4e6, 8.0 * 1800.0), 1e-3);
    }

    #[test]
    fn bounds_hold_for_whatever_comes() {
        close(bounded(5.0, 1.0, 3.0), 3.0);
        close(bounded(-7.0, 1.0, 3.0), 1.0);
        close(bounded(f64::NAN, 1.0, 3.0), 1.0);
        close(bounded(f64::INFINITY, 1.0, 3.0), 3.0);
    }

    #[test]
    fn the_repair_scales_with_the_period_up_to_the_round_trip() {
        close(scaled_weight(0.5, 0.01, 0.1), 0.05);
        close(scaled_weight(0.5, 0.2, 0.1), 0.5);
    }

    proptest! {
        /// The first contradiction of the issue: below C, (2)–(4) are RCP's (1) with T/d = 1 and α
        /// = 1.
        #[test]
        fn below_capacity_the_equations_are_rcps(
            r in 1e3..10e6f64, y in 0.0..10e6f64, q in 0.0..1e6f64, d in 1e-3..1.0f64, beta in 0.1..1.0f64,
        ) {
            let load = Load { y, q, d };
            let ours = sum(LINK, r, load, beta);
            let rcp = rcp_rate(r, LINK, load, RcpGains { alpha: 1.0, beta }, d);
            prop_assert!((ours - rcp).abs() <= 1e-9 * (ours.abs() + rcp.abs() + r), "{} {}", ours, rcp);
        }

        /// Both rest at y = ηC with an empty queue (§3.2: "the same equilibrium point").
        #[test]
        fn the_equilibrium_is_rcps(r in 1e3..10e6f64, d in 1e-3..1.0f64) {
            let load = Load { y: LINK.full(), q: 0.0, d };
            prop_assert!((sum(LINK, r, load, 0.1) / r - 1.0).abs() < 1e-12);
            let rcp = rcp_rate(r, LINK, load, RcpGains { alpha: 0.4, beta: 0.4 }, d);
            prop_assert!((rcp / r - 1.0).abs() < 1e-12);
        }

        /// Two averages with one weight are one average of the sum: footnote 3's α is the gain of
        /// (5).
        #[test]
        fn two_averages_are_one(xs in prop::collection::vec((-1e6..1e6f64, -1e6..1e6f64), 1..40), alpha in 0.01..1.0f64) {
            let (mut base, mut excess, mut both) = (0.0, 0.0, 0.0);
            for (b, e) in xs {
                base = ewma(base, b, alpha);
                excess = ewma(excess, e, alpha);
                both = ewma(both, b + e, alpha);
                prop_assert!((stamping_rate(base, excess) - both).abs() < 1e-6);
            }
        }

        /// With (11) corrected, both classes at their target fill ηC and no more.
        #[test]
        fn both_classes_fill_the_target(y_p in 0.0..9e6f64) {
            let total = y_p + LINK.eta * secondary_capacity_derated(LINK, y_p);
            prop_assert!((total - LINK.full()).abs() < 1e-3);
            // As printed, they go beyond it by η(1 − η)C once the primary class is at its target.
            let printed = y_p + LINK.eta * secondary_capacity(LINK.capacity, y_p);
            prop_assert!(printed >= total - 1e-3);
        }
    }
}
