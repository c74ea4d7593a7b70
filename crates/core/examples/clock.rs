//! At how many GHz a core runs, the most of some tries: a chain of dependent multiplications, each of which takes three
//! cycles (Fog, Instruction tables, 2022: `imul r64` on Zen and on Intel's cores since 2008; Arm's since Neoverse N1).

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::hint::black_box;
use std::time::Instant;

const STEPS: u64 = 30_000_000;
const CYCLES: f64 = 3.0;

fn main() {
    let once = || {
        let began = Instant::now();
        let mut product = black_box(3u64);
        let factor = black_box(5u64);
        for _ in 0..STEPS {
            product = product.wrapping_mul(factor);
        }
        black_box(product);
        CYCLES * STEPS as f64 / began.elapsed().as_secs_f64() / 1e9
    };
    println!("{:.2}", (0..9).map(|_| once()).fold(0.0, f64::max));
}
