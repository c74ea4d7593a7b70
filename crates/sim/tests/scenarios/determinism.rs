//! The same scenario and seed give the same bytes: on repetition, and on any number of threads. All
//! scenarios in `examples`, without its folders'.

use std::path::{Path, PathBuf};

use crate::common::run;
use crate::common::suite::{in_a_rack, shortened};
use midpath_sim::{RunOptions, RunOutput};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the repository has examples")
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}

/// How much of a scenario is run here: enough for queues to fill and for the first fault to happen.
fn stop_of(name: &str) -> &'static str {
    match name {
        "link_failure" => "2100 ms",
        "call_and_backup" => "6 s",
        _ => in_a_rack(name).unwrap_or("1500 ms"),
    }
}

fn with(text: &str, threads: usize, seed: u64) -> RunOutput {
    run(text, &RunOptions { threads, seed: Some(seed), ..RunOptions::default() })
}

/// Fails at the first difference with what is around it: whole outputs are too long to read.
fn assert_same(a: &RunOutput, b: &RunOutput, what: &str) {
    let (a, b) = (a.repeatable(), b.repeatable());
    if a != b {
        let at = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
        let around =
            |s: &str| String::from_utf8_lossy(&s.as_bytes()[at.saturating_sub(150)..s.len().min(at + 80)]).into_owned();
        panic!("{what} differs at byte {at}:\n{}\n--\n{}", around(&a), around(&b));
    }
}

#[test]
#[ignore = "nightly"]
fn shipped_scenarios_repeat_byte_for_byte_on_any_number_of_threads() {
    let files = examples();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let name = file.file_stem().and_then(|s| s.to_str()).expect("a name").to_owned();
        let text = shortened(&std::fs::read_to_string(&file).expect("readable"), stop_of(&name));
        let one = with(&text, 1, 1);
        assert!(one.run["packet_hops"].as_u64() > Some(1000), "{name} has hardly begun");
        for threads in [1, 2, 3] {
            let again = with(&text, threads, 1);
            assert_same(&one, &again, &format!("{name} on {threads} threads"));
        }
    }
}

/// A part with more than 1,024 ports prefetches (`engine/part/prefetch.rs`). One thread has 1,828
/// here, two and three have fewer each and don't: what the cache fetches changes nothing.
#[test]
#[ignore = "nightly"]
fn a_large_network_gives_the_same_with_and_without_looking_ahead() {
    for scheme in ["newreno", "inrpp"] {
        let text = format!(
            r#"
            scheme = "{scheme}"
            stop = "300 ms"
            [topology]
            builtin = "abilene"
            [topology.hosts]
            total = 900
            rate = "100 Mbps"
            delay = "100 us"
            [[workload]]
            sizes = {{ kind = "fixed", size = "60 kB" }}
            matrix = {{ kind = "random" }}
            arrivals = {{ kind = "poisson", load = "100 %", load_of = "1 Gbps" }}
            until = "200 ms"
            "#
        );
        let one = with(&text, 1, 1);
        assert!(one.run["packet_hops"].as_u64() > Some(50_000), "{scheme} has hardly begun");
        for threads in [2, 3, 7, 16, 64] {
            assert_same(&one, &with(&text, threads, 1), &format!("{scheme} on {threads} threads"));
        }
    }
}

/// That equality above means something: another seed is another run.
#[test]
fn the_seed_matters() {
    let file = examples().into_iter().find(|f| f.ends_with("abilene.toml")).expect("shipped");
    let text = shortened(&std::fs::read_to_string(file).expect("readable"), "300 ms");
    assert_ne!(with(&text, 1, 1).repeatable(), with(&text, 1, 2).repeatable());
}

/// Captures of ports in different parts of the network come out whole and in the scenario's order.
#[test]
fn captures_do_not_depend_on_threads() {
    let text = r#"
stop = "200 ms"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "40 Mbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "d1"
to = "s1"
[measure]
pcap = [{ from = "r1", to = "d0" }, { from = "s0", to = "r0" }, { from = "r0", to = "r1" }]
"#;
    let one = with(text, 1, 1);
    assert_eq!(
        one.files.iter().map(|f| f.0.as_str()).collect::<Vec<_>>(),
        ["r1-d0.pcapng", "s0-r0.pcapng", "r0-r1.pcapng"]
    );
    for threads in [2, 3] {
        assert_same(&one, &with(text, threads, 1), &format!("{threads} threads"));
    }
}
