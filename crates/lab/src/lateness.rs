//! Lateness of frames, needed to interpret real-time results.

use serde_json::{Value, json};

/// Buckets of 10 µs each; the last has all that was later.
const BUCKETS: usize = 2000;
const STEP_US: u64 = 10;

/// A histogram.
#[derive(Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    most_us: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; BUCKETS], most_us: 0 }
    }
}

impl Lateness {
    /// Something was done so late.
    pub fn note(&mut self, late_ns: u64) {
        let us = late_ns / 1000;
        self.counts[((us / STEP_US) as usize).min(BUCKETS - 1)] += 1;
        self.most_us = self.most_us.max(us);
    }

    /// Below this for a share `q`, in µs.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().sum();
        let wanted = ((all as f64 * q).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        })? as u64;
        Some(if bucket as usize == BUCKETS - 1 { self.most_us } else { STEP_US * (bucket + 1) })
    }

    /// Quantiles, the latest, and the histogram: pairs of µs, from which on, and how many.
    pub fn to_json(&self) -> Value {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let histogram: Vec<_> = filled.map(|(bucket, count)| (bucket as u64 * STEP_US, count)).collect();
        let q = |q| self.quantile_us(q);
        json!({
            "p50": q(0.5), "p99": q(0.99), "p999": q(0.999), "max": self.most_us, "histogram": histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_in_steps_of_ten_microseconds() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile_us(0.5), None);
        (0..99).for_each(|_| late.note(31_000));
        late.note(3_000_000_000);
        assert_eq!((late.quantile_us(0.5), late.quantile_us(0.999)), (Some(40), Some(3_000_000)));
        let json = late.to_json();
        assert_eq!((&json["max"], &json["histogram"][0]), (&json!(3_000_000), &json!([30, 99])));
    }
}
