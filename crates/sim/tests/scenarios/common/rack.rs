//! A link of 1 Gbps between hosts of 10, for the schemes of data centres.

use midpath_sim::RunOutput;

use super::reads::mean_after;

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
