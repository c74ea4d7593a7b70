//! What §II-B and §III-B of Rene et al. print, in the paper's order and with its symbols.
//!
//! Rates are in bytes per second, amounts in bytes, times in seconds.

use std::f64::consts::SQRT_2;

/// §II-B: S_high = Size(Cache) − RTT × C. Nothing is left where the cache is smaller.
pub fn s_high(size: u64, rtt_times_c: u64) -> u64 {
    size.saturating_sub(rtt_times_c)
}

/// Equation (1): SC = α·T_p·RB − β·Q. RB is capacity minus load, Q the buffer's queue; α and the
/// T_p are `alpha`, `t_p`.
pub fn spare_capacity(alpha: f64, t_p: f64, rb: f64, q: f64) -> f64 {
    alpha * t_p * rb - beta(alpha) * q
}

/// §III-B: β = α²√2.
pub fn beta(alpha: f64) -> f64 {
    alpha * alpha * SQRT_2
}

/// Equation (2): Δ⁺ = SC/N, an equal share for each of `n` contenders. In bytes that fit into one
/// interval.
pub fn delta_plus(sc: f64, n: f64) -> f64 {
    sc.max(0.0) / n
}

/// Equation (2): Δ⁻ = SC/L, the share by which all reduce what they send; `load` is L, in the units
/// of SC.
///
/// With SC ≤ 0 the printed ratio is negative, and (3) would add it. Its amount is meant, as in the
/// work that it follows.
pub fn delta_minus(sc: f64, load: f64) -> f64 {
    if load > 0.0 { (-sc).max(0.0) / load } else { 0.0 }
}

/// Equation (3): r_new = r + Δ⁺ − r·Δ⁻. Never below zero.
pub fn detour_rate(r: f64, delta_plus: f64, delta_minus: f64) -> f64 {
    (r + delta_plus - r * delta_minus).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_high_leaves_room_for_a_round_trip() {
        // 100 kB, 10 ms at 1 MB/s.
        assert_eq!((s_high(100_000, 10_000), s_high(5_000, 10_000)), (90_000, 0));
    }

    #[test]
    fn equation_1_by_hand() {
        // α = 0.5, T_p = 10 ms, 1 MB/s free: 5,000 B. β = 0.25·√2: 10 kB that wait take 3,535.5 of
        // them.
        assert!((spare_capacity(0.5, 0.01, 1e6, 0.0) - 5000.0).abs() < 1e-9);
        assert!((spare_capacity(0.5, 0.01, 1e6, 1e4) - (5000.0 - 2500.0 * SQRT_2)).abs() < 1e-9);
    }

    #[test]
    fn equations_2_and_3_by_hand() {
        // Spare: two contenders get 2,500 B each. In want of 3,000 B of 30,000: each gives up a
        // tenth.
        assert_eq!((delta_plus(5000.0, 2.0), delta_minus(5000.0, 3e4)), (2500.0, 0.0));
        assert_eq!((delta_plus(-3000.0, 2.0), delta_minus(-3000.0, 3e4)), (0.0, 0.1));
        assert_eq!(delta_minus(-3000.0, 0.0), 0.0);
        assert_eq!(detour_rate(1000.0, 250.0, 0.0), 1250.0);
        assert_eq!(detour_rate(1000.0, 0.0, 0.1), 900.0);
        assert_eq!(detour_rate(1000.0, 0.0, 2.0), 0.0);
    }
}
