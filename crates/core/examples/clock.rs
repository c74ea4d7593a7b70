//! At how many GHz a core runs, the most of some tries: a chain of dependent multiplications and exclusive ors, which take
//! three cycles and one (Fog, Instruction tables, 2022: `imul r64` on Zen and on Intel's cores since 2008).

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::hint::black_box;
use std::time::Instant;

// Short enough to be alone on a core in the best of the tries.
const STEPS: u64 = 300_000;
const CYCLES: f64 = 4.0;

fn main() {
    let once = || {
        let began = Instant::now();
        let mut product = black_box(3u64);
        let (factor, flips) = black_box((5u64, 9u64));
        for _ in 0..STEPS {
            // Without the second a compiler multiplies powers of the factor.
            product = product.wrapping_mul(factor) ^ flips;
        }
        black_box(product);
        CYCLES * STEPS as f64 / began.elapsed().as_secs_f64() / 1e9
    };
    println!("{:.2}", (0..1000).map(|_| once()).fold(0.0, f64::max));
}
