//! What the tests share: running a scenario, and statistics over runs.

pub mod critical;
pub mod fabric;
pub mod icn;
pub mod rack;
pub mod reads;
pub mod scene;
pub mod suite;

use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_text};
use proptest::prelude::ProptestConfig;

/// As many cases as asked for in the environment, or `default`.
pub fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Files that the shipped scenarios name are relative to this.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Runs a scenario and checks what must hold in every run.
pub fn run(text: &str, options: &RunOptions) -> RunOutput {
    let out = match run_text(text, Path::new(EXAMPLES), options, &mut |_| true) {
        Ok(out) => out.expect("not cancelled"),
        Err(e) => panic!("{e}\n{text}"),
    };
    assert_eq!(out.run["invariants"]["conserved"], true, "{}", out.run["invariants"]);
    out
}

/// A run whose results are the same to the byte with so many threads, and where links carry bytes.
pub fn same_with_threads_and_as_bytes(text: &str, threads: usize) -> RunOutput {
    let plain = run_plain(text);
    for options in [RunOptions { threads, ..RunOptions::default() }, RunOptions { wire: true, ..RunOptions::default() }]
    {
        assert!(run(text, &options).repeatable() == plain.repeatable(), "{options:?}\n{text}");
    }
    plain
}

/// The schemes that ship.
pub static SHIPPED: LazyLock<Catalogue> = LazyLock::new(Catalogue::standard);

/// Everything that carries flows, as a run's scheme: what hosts run, but for an attack, and a network of routers alone.
pub static CARRIERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let by_hosts = |name: &&str| SHIPPED.description(name).is_some_and(|own| !own.hosts.is_empty());
    SHIPPED.names().filter(by_hosts).filter(|name| *name != "inrpp-attack").chain(["cubic+rpm"]).collect()
});

/// A dumbbell of 100 Mbps with one pair of hosts per round trip (in ms), a flow without end on
/// each, `gap_s` apart.
pub fn unlike_round_trips(scheme: &str, rtts: &[f64], stop_s: u32, gap_s: f64, more: &str) -> String {
    let mut links = String::from("{ a = \"r0\", b = \"r1\", rate = \"100 Mbps\", delay = \"1 ms\" },\n");
    let mut flows = String::new();
    for (i, rtt) in rtts.iter().enumerate() {
        let delay = (rtt / 2.0 - 1.0) / 2.0;
        for (a, b) in [(format!("s{i}"), "r0".to_owned()), ("r1".to_owned(), format!("d{i}"))] {
            writeln!(links, "{{ a = \"{a}\", b = \"{b}\", rate = \"1 Gbps\", delay = \"{delay} ms\" }},").unwrap();
        }
        let start = i as f64 * gap_s;
        writeln!(flows, "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{start} s\"").unwrap();
    }
    let queue = "[queue]\nlimit = \"625 ms\"\n[measure]\nseries = true\n";
    format!("scheme = \"{scheme}\"\nstop = \"{stop_s} s\"\n[topology]\nlinks = [{links}]\n{queue}{more}\n{flows}")
}

/// Runs a scenario under a scheme on some threads.
pub fn with_scheme(text: &str, scheme: &str, threads: usize) -> RunOutput {
    run(text, &RunOptions { scheme: Some(scheme.to_owned()), threads, ..RunOptions::default() })
}

/// What a scenario that cannot be run is told.
pub fn refused(text: &str) -> String {
    let Err(error) = run_text(text, Path::new("."), &RunOptions::default(), &mut |_| true) else {
        panic!("must be refused")
    };
    error.to_string()
}

/// Runs a scenario as it is.
pub fn run_plain(text: &str) -> RunOutput {
    run(text, &RunOptions::default())
}

/// Runs a scenario with seeds 1 to `n`.
pub fn over_seeds(text: &str, n: u64) -> Vec<RunOutput> {
    (1..=n).map(|seed| run(text, &RunOptions { seed: Some(seed), ..RunOptions::default() })).collect()
}

/// Mean and standard deviation.
pub fn mean_sd(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let v: Vec<f64> = values.into_iter().collect();
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, var.sqrt())
}

/// One summary figure over runs.
pub fn figure(runs: &[RunOutput], key: &str) -> (f64, f64) {
    mean_sd(runs.iter().map(|r| r.summary(key).unwrap_or_else(|| panic!("no {key}"))))
}

/// Row of the port from `node` to `peer` in the table of ports.
pub fn port(out: &RunOutput, node: &str, peer: &str) -> usize {
    use midpath_sim::Column;
    let ports = out.table("ports").expect("every run has ports");
    let text = |name: &str, row: usize| match ports.column(name) {
        Some(Column::Str { dictionary, index }) => dictionary[index[row] as usize].clone(),
        _ => panic!("{name} is a text"),
    };
    (0..ports.rows()).find(|r| text("node", *r) == node && text("peer", *r) == peer).expect("the port is there")
}
