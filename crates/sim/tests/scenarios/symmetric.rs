//! `ecmp = "symmetric"`: ACKs come back the way that their data went, over all equal-cost paths.

use std::collections::BTreeSet;

use crate::common::reads::{last, texts};
use crate::common::{run_plain, same_with_threads_and_as_bytes};
use midpath_sim::RunOutput;

/// Flows between pods of a fat-tree whose switches tell congestion on ACKs that come back, and by
/// marks where they see none.
fn fat_tree(ecmp: &str) -> String {
    let mut text = format!(
        r#"
scheme = "cubic"
stop = "2 s"
[schemes.cubic]
ecn = true
[routing]
ecmp = "{ecmp}"
[topology]
generate = "fat-tree"
k = 4
link = {{ rate = "100 Mbps", delay = "500 us" }}
[queue]
limit = "1000 packets"
[[deploy]]
scheme = "rpm"
nodes = ["routers"]
[measure]
series = true
ports = 200
"#
    );
    for i in 0..8 {
        text += &format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"\n", 8 + (i * 3) % 8);
    }
    text
}

/// ACKs that a signal went out on, and packets marked for want of such ACKs, at all switches.
fn signals(out: &RunOutput) -> [f64; 2] {
    let named: BTreeSet<_> = texts(out, "series", "entity").into_iter().collect();
    let of_switch = |port: &&String| port.starts_with("port:") && !port.starts_with("port:h");
    ["rpm_told", "rpm_marked"].map(|gauge| named.iter().filter(of_switch).map(|port| last(out, port, gauge)).sum())
}

#[test]
#[ignore = "nightly"]
fn every_signal_finds_its_ack() {
    let [hashed, symmetric] = ["flow", "symmetric"].map(|ecmp| signals(&run_plain(&fat_tree(ecmp))));
    println!("told ACKs and marked packets: {hashed:?} with a hash per node, {symmetric:?} with symmetric paths");
    assert!(hashed[1] > 20.0 && symmetric[0] > 20.0 && symmetric[1] == 0.0);
}

#[test]
fn runs_are_the_same_with_more_threads_and_as_bytes() {
    let text = fat_tree("symmetric");
    same_with_threads_and_as_bytes(&text, 2);
}
