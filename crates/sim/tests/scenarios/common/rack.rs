//! A link of 1 Gbps between hosts of 10, for the schemes of data centres.

use midpath_sim::RunOutput;

use super::reads::mean_after;
use super::{port, run_plain};

/// Pairs of hosts over it; 100 us there and back, which 12.5 kB fill.
pub fn dumbbell(scheme: &str, pairs: usize, stop: &str, queue: &str, more: &str) -> String {
    let flows: String = (0..pairs).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}\n")).collect();
    format!(
        r#"
scheme = "{scheme}"
stop = "{stop}"
[topology]
generate = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "1 Gbps", delay = "30 us" }}
access = {{ rate = "10 Gbps", delay = "10 us" }}
[queue]
{queue}
[schemes.{scheme}]
min_rto = "10 ms"
{flows}
[measure]
series = true
interval = "1 ms"
points = 2000
"#
    )
}

/// Use of the bottleneck, and the bytes that wait there on average, after `from` seconds.
pub fn seen(out: &RunOutput, from: f64) -> (f64, f64) {
    let mean = |metric| mean_after(out, "port:r0>r1", metric, from);
    (mean("utilisation"), mean("queue_bytes"))
}

/// Packets that the bottleneck has dropped, and those that it has sent.
pub fn lost(out: &RunOutput) -> (u64, u64) {
    let (row, ports) = (port(out, "r0", "r1"), out.table("ports").expect("ports"));
    (ports.u64("drops_queue")[row], ports.u64("packets")[row])
}

/// Three flows end over a queue of six packets, where one packet in a hundred is corrupted.
pub fn every_byte_arrives(scheme: &str) {
    let text = dumbbell(scheme, 3, "60 s", "limit = \"6 packets\"", "size = \"2 MB\"")
        .replace("delay = \"30 us\"", "delay = \"30 us\", corruption = \"1 %\"");
    assert_eq!(run_plain(&text).summary("completed"), Some(3.0));
}
