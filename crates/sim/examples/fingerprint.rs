//! One line per run with a hash of its results, to check that a change is bit-identical:
//! `cargo run --release -p midpath-sim --example fingerprint -- [RANDOM [SUBSTRING]] > before`,
//! then `diff before after`.
//!
//! Runs the shipped scenarios under every scheme that supports them, and RANDOM (default 300) random ones. The last
//! hash leaves `events` out, which a change of timers may change. With SUBSTRING only those runs whose name contains
//! it.
#[path = "../tests/scenarios/common/scene.rs"]
#[allow(dead_code)]
mod scene;
#[path = "../tests/scenarios/common/suite.rs"]
#[allow(dead_code)]
mod suite;

use std::hash::{DefaultHasher, Hash, Hasher};

use midpath_sim::{RunOptions, RunOutput, run_text};

fn hash(out: &RunOutput) -> u64 {
    let mut hasher = DefaultHasher::new();
    out.repeatable().hash(&mut hasher);
    hasher.finish()
}

fn print(case: &suite::Case) {
    let options = RunOptions { scheme: case.scheme.map(str::to_owned), ..RunOptions::default() };
    let name = &case.name;
    match run_text(&case.text, &case.base, &options, &mut |_| true) {
        Ok(Some(mut out)) => {
            let all = hash(&out);
            out.run["events"].take();
            let (hops, conserved) = (&out.run["packet_hops"], &out.run["invariants"]["conserved"]);
            println!("{name} {all:016x} {hops} {conserved} {:016x}", hash(&out));
        }
        Ok(None) => println!("{name} cancelled"),
        Err(e) => println!("{name} refused: {e}"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cases = args.first().map_or(300, |n| n.parse().expect("a number of random scenarios"));
    let only = args.get(1).map_or("", String::as_str);
    let all = suite::examples().into_iter().chain(suite::random(cases));
    all.filter(|case| case.name.contains(only)).for_each(|case| print(&case));
}
