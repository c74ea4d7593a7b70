//! Equations of CUBIC, DCTCP and Prague, with the names of their texts. Windows are in segments where
//! the text says so, times in seconds.

/// RFC 9438, equation 1: W_cubic(t) = C (t − K)³ + W_max, in segments.
pub fn w_cubic(c: f64, t: f64, k: f64, w_max: f64) -> f64 {
    let d = t - k;
    c * d * d * d + w_max
}

/// RFC 9438, equation 2: K = ∛((W_max − cwnd_epoch) / C), the seconds from cwnd_epoch to W_max.
pub fn k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    ((w_max - cwnd_epoch) / c).cbrt()
}

/// RFC 9438, §4.3: α_cubic = 3 (1 − β_cubic) / (1 + β_cubic), with which W_est grows as Reno's
/// window would.
pub fn alpha_cubic(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// RFC 9438, equation 4: W_est = W_est + α_cubic · segments_acked / cwnd.
pub fn w_est(before: f64, alpha: f64, segments_acked: f64, cwnd: f64) -> f64 {
    before + alpha * segments_acked / cwnd
}

/// RFC 9438, §4.2: target = W_cubic(t + RTT), at least cwnd and at most 1.5 cwnd.
pub fn target(w_cubic: f64, cwnd: f64) -> f64 {
    w_cubic.clamp(cwnd, 1.5 * cwnd)
}

/// RFC 9438, §4.7: fast convergence, W_max = cwnd (1 + β_cubic) / 2.
pub fn w_max_released(cwnd: f64, beta: f64) -> f64 {
    cwnd * (1.0 + beta) / 2.0
}

/// RFC 8257, §3.3, step 6: DCTCP.Alpha = DCTCP.Alpha · (1 − g) + g · M.
pub fn dctcp_alpha(alpha: f64, g: f64, m: f64) -> f64 {
    alpha * (1.0 - g) + g * m
}

/// RFC 8257, §3.3, step 9: cwnd = cwnd · (1 − DCTCP.Alpha / 2).
pub fn dctcp_cwnd(cwnd: f64, alpha: f64) -> f64 {
    cwnd * (1.0 - alpha / 2.0)
}

/// draft-briscoe-iccrg-prague-congestion-control, §2.4.2 and Linux's
/// prague_rate_scaled_ai_ack_increase: by how many segments the window grows when so many have been
/// acknowledged: one per round trip, and (RTT / RTT_virt)² of one where the round trip is shorter than
/// the virtual one, so that rates grow alike.
pub fn prague_increase(segments_acked: f64, cwnd: f64, rtt: f64, rtt_virt: f64) -> f64 {
    let scale = if rtt < rtt_virt { (rtt / rtt_virt).powi(2) } else { 1.0 };
    scale * segments_acked / cwnd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_9438_by_hand() {
        // A loss at 100 segments, β = 0.7, C = 0.4: K = ∛(30 / 0.4) = 4.217 s. W_cubic(0) = 70,
        // W_cubic(K) = 100, W_cubic(2K) = 130.
        let k = k(0.4, 100.0, 70.0);
        assert!((k - 4.217_163).abs() < 1e-6, "{k}");
        for (t, window) in [(0.0, 70.0), (k, 100.0), (2.0 * k, 130.0)] {
            assert!((w_cubic(0.4, t, k, 100.0) - window).abs() < 1e-9);
        }
        // 3 · 0.3 / 1.7 = 0.5294 segments per round trip: 10 ACKs of a segment each at 10 segments.
        assert!((alpha_cubic(0.7) - 0.529_411_764_7).abs() < 1e-9);
        assert_eq!((0..10).fold(10.0, |w, _| w_est(w, 1.0, 1.0, 10.0)).round(), 11.0);
        assert_eq!((target(5.0, 10.0), target(12.0, 10.0), target(99.0, 10.0)), (10.0, 12.0, 15.0));
        assert_eq!(w_max_released(100.0, 0.7), 85.0);
    }

    #[test]
    fn prague_by_hand() {
        // Ten segments acknowledged of ten: one more at 25 ms and above, a 25th of it at 5 ms.
        assert_eq!([0.025, 0.1].map(|rtt| prague_increase(10.0, 10.0, rtt, 0.025)), [1.0, 1.0]);
        assert!((prague_increase(10.0, 10.0, 0.005, 0.025) - 0.04).abs() < 1e-12);
    }

    #[test]
    fn rfc_8257_by_hand() {
        // g = 1/16, a quarter marked: 0.5 · 15/16 + 0.25/16 = 0.484375.
        assert_eq!(dctcp_alpha(0.5, 1.0 / 16.0, 0.25), 0.484_375);
        assert_eq!((dctcp_cwnd(100.0, 1.0), dctcp_cwnd(100.0, 0.5), dctcp_cwnd(100.0, 0.0)), (50.0, 75.0, 100.0));
    }
}
