//! What the benchmarks share.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Prints the time that an element takes: the least of ten rounds of a tenth of a second or more.
pub fn time<T>(name: &str, elements: u64, mut work: impl FnMut() -> T) {
    let mut round = |runs: u64| {
        let begin = Instant::now();
        (0..runs).for_each(|_| drop(black_box(work())));
        begin.elapsed()
    };
    let mut runs = 1;
    while round(runs) < Duration::from_millis(100) {
        runs *= 2;
    }
    let least = (0..10).map(|_| round(runs)).min().expect("ten");
    println!("{:10.2} ns  {name}", least.as_secs_f64() * 1e9 / (runs * elements) as f64);
}
