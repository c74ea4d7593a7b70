//! Equations of Katabi, Handley and Rohrs, in their order and with their symbols (SIGCOMM 2002, §3.3
//! and §3.5).
//!
//! Rates are in bytes per second, queues and sizes in bytes, times in seconds. The paper has φ, h and feedback in
//! bytes per control interval, and windows in bytes; here both are per second, as in draft-falk-xcp-spec-03 (cwnd =
//! throughput × rtt).

/// α, β and γ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
}

/// §3.5.1: φ = α S − β Q/d, by how much all traffic together should change. S = capacity − y.
pub fn aggregate(gains: Gains, capacity: f64, y: f64, persistent_queue: f64, d: f64) -> f64 {
    gains.alpha * (capacity - y) - gains.beta * persistent_queue / d
}

/// §3.5.2: h = max(0, γ y − |φ|), the traffic that changes hands although φ asks for no change.
pub fn shuffled(gains: Gains, y: f64, phi: f64) -> f64 {
    (gains.gamma * y - phi.abs()).max(0.0)
}

/// §3.5.2: what is handed out in an interval, h + max(φ, 0), and what is taken back, h + max(−φ,
/// 0).
pub fn residues(phi: f64, h: f64) -> (f64, f64) {
    (phi.max(0.0) + h, (-phi).max(0.0) + h)
}

/// §3.5.2: ξ_p = (h + max(φ, 0)) / Σ s/x over the interval's packets. The paper's Σ rtt·s/cwnd is Σ
/// s/x.
///
/// Every flow then gets the same increase. Nobody there: nothing.
pub fn xi_p(give: f64, sum_inverse: f64) -> f64 {
    quotient(give, sum_inverse)
}

/// §3.5.2: ξ_n = (h + max(−φ, 0)) / Σ s. Every flow then loses in proportion to its throughput.
pub fn xi_n(take: f64, sum_sizes: f64) -> f64 {
    quotient(take, sum_sizes)
}

/// §3.5.2: p_i = ξ_p s/x, at most what is left to hand out.
pub fn positive(xi_p: f64, inverse: f64, left: f64) -> f64 {
    (xi_p * inverse).min(left)
}

/// §3.5.2: n_i = ξ_n s, at most what is left to take back.
pub fn negative(xi_n: f64, size: f64, left: f64) -> f64 {
    (xi_n * size).min(left)
}

/// §3.5.1: d, the mean round trip with each flow counted once: Σ rtt·s/x / Σ s/x.
pub fn mean_rtt(sum_rtt: f64, sum_inverse: f64) -> f64 {
    sum_rtt / sum_inverse
}

/// §3.3: cwnd = max(cwnd + H_feedback, s), in bytes. H_feedback = change of throughput × round trip
/// (draft, §3.2.2).
pub fn cwnd(before: f64, h_feedback: f64, s: f64) -> f64 {
    (before + h_feedback).max(s)
}

fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's (§4).
    const GAINS: Gains = Gains { alpha: 0.4, beta: 0.226, gamma: 0.1 };

    #[test]
    fn section_3_5_1_by_hand() {
        // 0.4 (1e6 − 4e5) = 240,000; 50 kB that do not drain take 0.226 · 50,000 / 0.1 = 113,000 of
        // it.
        assert!((aggregate(GAINS, 1e6, 4e5, 0.0, 0.1) - 240_000.0).abs() < 1e-6);
        assert!((aggregate(GAINS, 1e6, 4e5, 5e4, 0.1) - 127_000.0).abs() < 1e-6);
        assert!((mean_rtt(0.1 * 0.01 + 0.3 * 0.03, 0.04) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_full_link_shuffles_a_tenth() {
        assert_eq!(shuffled(GAINS, 1e6, 0.0), 1e5);
        assert_eq!(shuffled(GAINS, 1e6, -3e4), 7e4);
        assert_eq!(shuffled(GAINS, 1e6, 2e5), 0.0);
        assert_eq!(residues(-3e4, 7e4), (7e4, 1e5));
        assert_eq!(residues(3e4, 7e4), (1e5, 7e4));
    }

    #[test]
    fn increases_are_equal_and_decreases_in_proportion() {
        // Flows of 100 and 300 packets of 1000 B in a second: s/x is 10 and 3.33 ms, and both sum
        // to 1 s.
        let (slow, fast) = ((100.0, 1e-2), (300.0, 1.0 / 300.0));
        let sum_inverse = slow.0 * slow.1 + fast.0 * fast.1;
        let (p, n) = (xi_p(8e4, sum_inverse), xi_n(8e4, 400_000.0));
        let gains = |(count, inverse): (f64, f64)| count * positive(p, inverse, f64::INFINITY);
        let losses = |(count, _): (f64, f64)| count * negative(n, 1000.0, f64::INFINITY);
        assert!((gains(slow) - 4e4).abs() < 1e-6 && (gains(fast) - 4e4).abs() < 1e-6);
        assert!((losses(slow) - 2e4).abs() < 1e-6 && (losses(fast) - 6e4).abs() < 1e-6);
        assert_eq!((positive(p, 1.0, 5.0), negative(n, 1e6, 5.0)), (5.0, 5.0));
        assert_eq!((xi_p(1.0, 0.0), xi_n(1.0, 0.0)), (0.0, 0.0));
    }

    #[test]
    fn a_window_has_a_packet_at_least() {
        assert_eq!((cwnd(5000.0, -1500.0, 1000.0), cwnd(5000.0, -9000.0, 1000.0)), (3500.0, 1000.0));
    }
}
