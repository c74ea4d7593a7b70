//! Equations of Dukkipati et al., in their order and with their symbols (IWQoS 2005, §II).
//!
//! Rates are in bytes per second, queues in bytes, times in seconds.

/// What equation (1) needs of a link and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// ηC: the rate that is given out.
    pub target: f64,
    /// α and β.
    pub alpha: f64,
    pub beta: f64,
}

/// The bracket of equation (1): 1 + (T/d) (α (ηC − y) − β q/d) / (ηC).
///
/// `y` is the traffic of the last interval, `q` what waits at its end.
pub fn growth(link: Link, y: f64, q: f64, period: f64, d: f64) -> f64 {
    let spare = link.alpha * (link.target - y) - link.beta * q / d;
    1.0 + period / d * spare / link.target
}

/// Equation (1): R(t) = R(t−T) [1 + (T/d) (α (ηC − y(t)) − β q(t)/d) / (ηC)].
///
/// The paper and the thesis have C; η is that of MIRCC's equation (1), and 1 by default.
pub fn rate(before: f64, link: Link, y: f64, q: f64, period: f64, d: f64) -> f64 {
    before * growth(link, y, q, period, d)
}

/// Equation (1) over `intervals` in which nothing came and nothing waited: each multiplies by 1 + α
/// T/d.
pub fn rate_after_silence(before: f64, alpha: f64, period: f64, d: f64, intervals: u64) -> f64 {
    before * (1.0 + period / d * alpha).powf(intervals as f64)
}

/// d, the moving average of round trips, follows the mean of an interval with the gain T/d: it
/// remembers about one round trip.
pub fn mean_rtt(d: f64, mean: f64, period: f64) -> f64 {
    d + (period / d).min(1.0) * (mean - d)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 MB/s, α = 0.5, β = 0.25.
    const LINK: Link = Link { target: 1e6, alpha: 0.5, beta: 0.25 };

    #[test]
    fn equation_1_by_hand() {
        // y = 0.6 MB/s: 1 + (10/100) · 0.5 · 0.4 = 1.02.
        assert!((rate(1000.0, LINK, 6e5, 0.0, 0.01, 0.1) - 1020.0).abs() < 1e-9);
        // 20 kB wait: 1 + 0.1 (0.5 · 0.4 − 0.25 · 20,000 / 0.1 / 1e6) = 1.015.
        assert!((rate(1000.0, LINK, 6e5, 2e4, 0.01, 0.1) - 1015.0).abs() < 1e-9);
        // A full link without a queue stays.
        assert_eq!(rate(1000.0, LINK, 1e6, 0.0, 0.01, 0.1), 1000.0);
    }

    #[test]
    fn silence_is_equation_1_again_and_again() {
        let steps = (0..20).fold(1000.0, |r, _| rate(r, LINK, 0.0, 0.0, 0.01, 0.1));
        assert!((rate_after_silence(1000.0, LINK.alpha, 0.01, 0.1, 20) / steps - 1.0).abs() < 1e-12);
    }

    #[test]
    fn d_moves_by_the_share_t_over_d() {
        assert!((mean_rtt(0.1, 0.2, 0.01) - 0.11).abs() < 1e-12);
        assert!((mean_rtt(0.1, 0.2, 0.5) - 0.2).abs() < 1e-12, "never beyond the mean");
    }
}
