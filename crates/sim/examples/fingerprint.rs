//! One line per run with a hash of all that it returns, to see whether a change left results as they were:
//! `cargo run --release -p midpath-sim --example fingerprint -- [RANDOM [SUBSTRING]] > before`, then `diff before after`.
//!
//! Runs the shipped scenarios under every scheme that can take them, and RANDOM (300 unless said) random ones. With
//! SUBSTRING only those runs whose name contains it.
#[path = "../tests/common/scene.rs"]
#[allow(dead_code)]
mod scene;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use midpath_sim::{RunOptions, run_text};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const SCHEMES: [&str; 8] = ["newreno", "cubic", "dctcp", "rcp", "xcp", "fcp", "inrpp", "mptcp"];

struct Report<'a> {
    only: &'a str,
}

impl Report<'_> {
    fn run(&self, name: &str, text: &str, base: &Path, scheme: &str) {
        let name = format!("{name} {scheme}");
        if !name.contains(self.only) {
            return;
        }
        let options = RunOptions { scheme: Some(scheme.to_owned()), ..RunOptions::default() };
        match run_text(text, base, &options, &mut |_| true) {
            Ok(Some(out)) => {
                let mut hasher = DefaultHasher::new();
                out.repeatable().hash(&mut hasher);
                let conserved = &out.run["invariants"]["conserved"];
                println!("{name} {:016x} {} {conserved}", hasher.finish(), out.run["packet_hops"]);
            }
            Ok(None) => println!("{name} cancelled"),
            Err(e) => println!("{name} refused: {e}"),
        }
    }
}

/// The scenario's text, ending at `stop` in place of its own end, and with series.
fn shortened(text: &str, stop: &str) -> String {
    let rest = text.lines().filter(|l| !l.trim_start().starts_with("stop =") && !l.trim_start().starts_with("stop="));
    format!("stop = \"{stop}\"\n{}\n", rest.collect::<Vec<_>>().join("\n"))
}

fn shipped(report: &Report<'_>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("examples").map(|e| e.expect("readable").path()).collect();
    files.sort();
    for file in files.iter().filter(|p| p.extension().is_some_and(|e| e == "toml")) {
        let name = file.file_stem().and_then(|s| s.to_str()).expect("a name");
        let stop = if name == "incast" { "4 ms" } else { "2100 ms" };
        let text = shortened(&std::fs::read_to_string(file).expect("readable"), stop);
        SCHEMES.iter().for_each(|scheme| report.run(name, &text, &folder, scheme));
    }
}

fn random(report: &Report<'_>, cases: usize) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = scene::scene();
    for case in 0..cases {
        let scene = strategy.new_tree(&mut runner).expect("a scene").current();
        let scheme = SCHEMES[case % SCHEMES.len()];
        let mut text = scene.text(case % 2 == 0);
        if !["newreno", "cubic", "dctcp", "mptcp"].contains(&scheme) {
            text = plain_queue(&text);
        }
        report.run(&format!("random-{case}"), &text, Path::new("."), scheme);
    }
}

/// The same scenario with a drop-tail queue: schemes with ports of their own take no other.
fn plain_queue(text: &str) -> String {
    let keep = |line: &&str| !line.starts_with("threshold = ") && !line.starts_with("kind = \"step\"");
    let kinds = ["red", "codel", "drr"];
    let lines = text.lines().filter(keep).filter(|l| !kinds.iter().any(|k| *l == format!("kind = \"{k}\"")));
    lines.collect::<Vec<_>>().join("\n")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cases = args.first().map_or(300, |n| n.parse().expect("a number of random scenarios"));
    let report = Report { only: args.get(1).map_or("", String::as_str) };
    shipped(&report);
    random(&report, cases);
}
