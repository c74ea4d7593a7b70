//! One network of everything: an INRPP domain, a signal from this crate on one switch, a CoDel
//! link, and two FCP domains, under flows of four transports. Every byte is delivered, every packet
//! accounted for, and nothing is carried that the bytes don't say.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{Column, RunOptions, RunOutput, run_with};

const FLOWS: [&str; 4] = ["inrpp", "fcp", "newreno", "dctcp"];

fn catalogue() -> Catalogue {
    Catalogue::standard().joined(outside_parts::schemes()).expect("names that nobody has")
}

/// Routers r0 to r6 in a line, which narrows at r2 and more towards the end; a host for each flow
/// on either side.
fn scenario() -> String {
    let rates = [40, 40, 20, 18, 16, 14];
    let mut t = String::from("stop = \"60 s\"\n[topology]\nlinks = [\n");
    for (i, rate) in rates.iter().enumerate() {
        t += &format!("{{ a = \"r{i}\", b = \"r{}\", rate = \"{rate} Mbps\", delay = \"2 ms\" }},\n", i + 1);
    }
    for i in 0..FLOWS.len() {
        t += &format!("{{ a = \"s{i}\", b = \"r0\", rate = \"100 Mbps\", delay = \"1 ms\" }},\n");
        t += &format!("{{ a = \"d{i}\", b = \"r6\", rate = \"100 Mbps\", delay = \"1 ms\" }},\n");
    }
    t += r#"]
[schemes.inrpp]
cache = "4 MB"
high = "1 MB"
[queues.controlled]
kind = "codel"
[[deploy]]
scheme = "inrpp"
nodes = ["s*", "r0", "r1"]
[[deploy]]
scheme = "reverse-ece"
nodes = ["r2"]
queue = "controlled"
[[deploy]]
scheme = "none"
nodes = ["r3"]
queue = "controlled"
[[deploy]]
scheme = "fcp"
nodes = ["r4"]
[[deploy]]
scheme = "fcp"
name = "dear"
nodes = ["r5", "r6"]
params = { minimum_price = 1e-9 }
"#;
    for (i, scheme) in FLOWS.iter().enumerate() {
        t += &format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"3 MB\"\nscheme = \"{scheme}\"\n");
    }
    t
}

fn run(options: &RunOptions) -> RunOutput {
    let run = run_with(&scenario(), Path::new("."), options, &catalogue(), &mut |_| true);
    run.expect("a good scenario").expect("not cancelled")
}

#[test]
fn every_byte_arrives_and_every_packet_is_accounted_for() {
    let out = run(&RunOptions::default());
    assert_eq!(out.table("flows").expect("flows").u64("delivered_bytes"), [3_000_000; 4]);
    let invariants = &out.run["invariants"];
    assert!(
        invariants["conserved"] == true && invariants["stored"] == 0 && invariants["in_flight"] == 0,
        "{invariants}"
    );
    // The switch tells by ACKs and marks nothing; whom it cannot tell so, it drops.
    let ports = out.table("ports").expect("ports");
    let Some(Column::Str { dictionary, index }) = ports.column("node") else { panic!("ports have nodes") };
    let at = |node: &str, column: &str| {
        let rows = (0..ports.rows()).filter(|r| dictionary[index[*r] as usize] == node);
        rows.map(|r| ports.u64(column)[r]).sum::<u64>()
    };
    assert_eq!(at("r2", "marks"), 0);
    assert!(at("r2", "drops_aqm") > 0);
}

#[test]
fn it_is_the_same_over_bytes_and_on_any_number_of_threads() {
    let plain = run(&RunOptions::default()).repeatable();
    assert!(run(&RunOptions { wire: true, ..RunOptions::default() }).repeatable() == plain);
    assert!(run(&RunOptions { threads: 3, wire: true, ..RunOptions::default() }).repeatable() == plain);
}
