//! Algorithm 1 beside an independent computation of the authors' law, from their artefact.

use crate::hpcc::equations::{Path, State};
use crate::hpcc::header::Reading;

/// `tests/vectors/int/make.py` has them, too.
pub const RATES: [f32; 3] = [100e9, 25e9, 50e9];
pub const BASE_RTT: f64 = 12e-6;
/// What fills the slowest link.
pub const FILLS: f64 = 25e9 / 8.0 * BASE_RTT;

/// An ACK of the vectors: whether it begins a round trip, the readings before it and on it, and the window that
/// the law named gives.
pub struct Step {
    pub first: bool,
    pub before: [Reading; 3],
    pub now: [Reading; 3],
    pub window: f64,
}

/// The 400 ACKs of the vectors, with the windows in the column `law`.
pub fn steps(law: &str) -> Vec<Step> {
    let text = include_str!("../../../../../tests/vectors/int/windows.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = names.iter().position(|name| *name == law).expect("a column of that law");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let readings = |row: &[&str]| -> [Reading; 3] {
        let number = |i: usize| row[i].parse::<u32>().expect("a number");
        std::array::from_fn(|i| Reading {
            rate: RATES[i],
            queue: number(1 + 3 * i),
            sent: number(2 + 3 * i),
            time: number(3 + 3 * i),
        })
    };
    rows.windows(2)
        .map(|pair| Step {
            first: pair[1][0] == "1",
            before: readings(&pair[0]),
            now: readings(&pair[1]),
            window: pair[1][column].parse().expect("a window"),
        })
        .collect()
}

/// 1 % was the bound before the first comparison; rounding is what differs.
#[test]
fn windows_per_ack_are_those_of_the_authors_law() {
    let path = Path { eta: 0.95, max_stage: 5, increase: FILLS * 0.05 / 100.0, least: 100.0, most: FILLS };
    let (mut state, mut worst) = (State::new(FILLS / 2.0), 0.0f64);
    let steps = steps("hpcc_bytes");
    for step in &steps {
        state.measure(&step.before, &step.now, BASE_RTT);
        state.adapt(&path, step.first);
        worst = worst.max((state.window / step.window - 1.0).abs());
    }
    println!("{} ACKs: within {worst:.1e}", steps.len());
    assert!(steps.len() == 400 && worst < 0.01, "{worst}");
}
