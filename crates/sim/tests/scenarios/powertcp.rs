//! PowerTCP in networks: its equilibrium, shares, losses.

use crate::common::reads::mean_after as mean;
use crate::common::{run_plain, same_with_threads_and_as_bytes};
/// Pairs of hosts over one link of 100 Mbps and 10 ms.
fn dumbbell(scheme: &str, pairs: usize, stop: &str, more: &str) -> String {
    let flows: String = (0..pairs).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}\n")).collect();
    format!(
        r#"
scheme = "{scheme}"
stop = "{stop}"
[topology]
generate = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "100 Mbps", delay = "3 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}
[queue]
limit = "100 ms"
{flows}
[measure]
series = true
interval = "1 ms"
points = 6000
"#
    )
}

/// Γ = 1 + β/cwnd: the link is full, and each flow keeps β, a hundredth of a BDP, in the queue.
#[test]
fn it_fills_the_link_and_each_flow_keeps_beta_in_the_queue() {
    for n in [1, 4] {
        let out = run_plain(&dumbbell("powertcp", n, "4 s", ""));
        let (used, waits) =
            (mean(&out, "port:r0>r1", "utilisation", 2.0), mean(&out, "port:r0>r1", "queue_bytes", 2.0));
        let beta = 100e6 / 8.0 * 0.01 / 100.0;
        println!("{n} flows: {used:.4} of the link, {waits:.0} B wait, {:.0} are theirs", beta * n as f64);
        assert!(used > 0.96, "{n} flows use {used}");
        assert!(waits < 4.0 * beta * n as f64 + 1500.0, "{n} flows: {waits} B");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}

#[test]
fn flows_share_equally_in_the_end() {
    let out = run_plain(&dumbbell("powertcp", 4, "6 s", "jitter = \"500 ms\""));
    let shares: Vec<f64> = (0..4).map(|i| mean(&out, &format!("flow:{i}"), "goodput_bps", 4.0)).collect();
    let fair = shares.iter().sum::<f64>() / 4.0;
    println!("{shares:.0?}");
    assert!(shares.iter().all(|s| (s / fair - 1.0).abs() < 0.15), "{shares:?}");
}

#[test]
fn every_byte_arrives_over_short_queues_and_where_packets_are_lost() {
    let text = dumbbell("powertcp", 3, "60 s", "size = \"2 MB\"")
        .replace("limit = \"100 ms\"", "limit = \"8 packets\"")
        .replace("delay = \"3 ms\"", "delay = \"3 ms\", corruption = \"0.5 %\"");
    assert_eq!(run_plain(&text).summary("completed"), Some(3.0));
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let text = dumbbell("powertcp", 3, "2 s", "jitter = \"300 ms\"\nsize = \"3 MB\"");
    same_with_threads_and_as_bytes(&text, 3);
}
