//! Scenarios (b), (c) and (d) that other simulators have run too: ours against ns-3's figures
//! (evidence/peers/ns3/RESULTS.md).
//!
//! What ns-3 3.48 does and we don't is listed there. Of it these matter here: ns-3 counts 1502 B
//! per packet (2 B of PPP) and its PRR counts SACKed bytes twice. `growth = "per-ack"` is ns-3's
//! NewReno.

use crate::common::{mean_sd, over_seeds, run, run_plain};
use midpath_sim::{RunOptions, RunOutput};

/// N long flows through 1 Gbps with a round trip of 20 ms; starts spread over 0.1 s, as in ns-3.
fn long_flows(pairs: u32, per_pair: u32, buffer: &str, stop: &str) -> String {
    let mut text = format!(
        r#"
stop = "{stop}"
[topology]
generate = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "1 Gbps", delay = "8 ms" }}
access = {{ rate = "10 Gbps", delay = "1 ms" }}
[queue]
limit = "{buffer}"
[host_queue]
limit = "100 MB"
[schemes.newreno]
growth = "per-ack"
receive_window = "8 MiB"
"#
    );
    for i in 0..pairs {
        text += &format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\ncount = {per_pair}\njitter = \"100 ms\"\n");
    }
    text
}

/// All payload delivered over the whole run, slow start included: what ns-3's program reports.
fn goodput_mbps(out: &RunOutput) -> f64 {
    out.summary("goodput_total_bps").expect("a run has a goodput") / 1e6
}

/// The most that 1 Gbps can carry of 1448 B in 1500 B.
const FULL: f64 = 1000.0 * 1448.0 / 1500.0;

/// Goodput in Mbps, packet-hops in millions and packets lost, each a mean over three draws of the
/// starts.
fn long_flow_figures(pairs: u32, per_pair: u32, buffer: &str) -> [f64; 3] {
    let runs = over_seeds(&long_flows(pairs, per_pair, buffer, "10 s"), 3);
    assert!(runs.iter().all(|r| goodput_mbps(r) < FULL && r.summary("timeouts") == Some(0.0)));
    let mean = |f: &dyn Fn(&RunOutput) -> f64| mean_sd(runs.iter().map(f)).0;
    let hops = mean(&|r| r.run["packet_hops"].as_f64().expect("a number") / 1e6);
    [mean(&goodput_mbps), hops, mean(&|r| r.summary("lost_packets").expect("a number"))]
}

/// Whether `got` is `want` to within a share.
fn near(got: f64, want: f64, share: f64) -> bool {
    (got / want - 1.0).abs() < share
}

#[test]
fn four_long_flows_do_as_in_ns3() {
    // ns-3: 944.7 Mbps, 3.681 M packet-hops, 1,665 drops. Ours over five draws of the starts: 945.0
    // ± 1.2 Mbps.
    let [goodput, hops, lost] = long_flow_figures(4, 1, "2500 kB");
    assert!(
        near(goodput, 944.7, 0.005) && near(hops, 3.681, 0.005) && near(lost, 1665.0, 0.02),
        "{goodput} {hops} {lost}"
    );
}

#[test]
#[ignore = "nightly"]
fn sixty_four_long_flows_do_as_in_ns3() {
    // ns-3: 955.5 Mbps, 3.75 M packet-hops. Ours over five draws of the starts: 949.7 ± 2.5 Mbps,
    // 0.6 % less.
    let [goodput, hops, _] = long_flow_figures(32, 2, "524288 B");
    assert!(near(goodput, 955.5, 0.01) && near(hops, 3.75, 0.01), "{goodput} {hops}");
}

/// Packets of a source that sends one every `gap` from zero on which have crossed `links` links of
/// `delay` by `stop`, all in nanoseconds: each is one gap on the wire and `delay` on the way per
/// link, and never waits.
fn crossed(links: u64, gap: u64, delay: u64, stop: u64) -> u64 {
    (stop - links * (gap + delay)).div_ceil(gap)
}

#[test]
fn a_chain_forwards_exactly_the_packets_that_arithmetic_says() {
    let out = run_plain(
        r#"
stop = "2 s"
[topology]
generate = "chain"
n = 8
link = { rate = "1 Gbps", delay = "1 ms" }
[queue]
limit = "1 MB"
[[flow]]
from = "s0"
to = "d0"
scheme = "udp"
rate = "1 Gbps"
"#,
    );
    let (delay, stop) = (1_000_000, 2_000_000_000);
    // We count a hop when the packet gets its place on the wire, that is when it has crossed the
    // links before.
    let exact: u64 = (0..9).map(|links| crossed(links, 12_000, delay, stop)).sum();
    assert_eq!(out.run["packet_hops"].as_u64(), Some(exact));
    // The same arithmetic gives ns-3's count: 1502 B take 12.016 us, and it counts a hop when the
    // packet has arrived.
    let ns3: u64 = (1..=9).map(|links| crossed(links, 12_016, delay, stop)).sum();
    assert_eq!(ns3, 1_494_217);
    let ports = out.table("ports").expect("every run has ports");
    assert!(ports.u64("drops_queue").iter().all(|d| *d == 0));
    assert!(ports.f64("delay_max_s").iter().all(|d| *d == 0.0), "nothing ever waits");
}

/// A fat-tree of 16 hosts at 10 Gbps, each sending `size` to one other and receiving from one
/// other.
fn permutation(ecmp: &str, size: &str) -> String {
    format!(
        r#"
scheme = "dctcp"
[topology]
generate = "fat-tree"
k = 4
link = {{ rate = "10 Gbps", delay = "1 us" }}
[routing]
ecmp = "{ecmp}"
[queue]
kind = "step"
limit = "1500 kB"
threshold = "65 packets"
[schemes.dctcp]
min_rto = "10 ms"
delack_timeout = "1 ms"
loss_detection = "rfc6675" # ns-3's
[[workload]]
sizes = {{ kind = "fixed", size = "{size}" }}
matrix = {{ kind = "permutation" }}
arrivals = {{ kind = "once" }}
"#
    )
}

fn permuted(ecmp: &str, seed: u64) -> RunOutput {
    run(&permutation(ecmp, "20 MB"), &RunOptions { seed: Some(seed), ..RunOptions::default() })
}

/// Mean and largest FCT in ms.
fn fcts(out: &RunOutput) -> (f64, f64) {
    let ms = |key: &str| out.summary(key).expect("all complete") * 1e3;
    (ms("afct_s"), ms("fct_max_s"))
}

#[test]
#[ignore = "nightly"]
fn a_permutation_on_single_paths_of_a_fat_tree() {
    // All take the first of the equal paths. The permutation decides: k flows on one link take k
    // times 17.2 ms. Seeds 1 and 2 are like the two that ns-3 was run with: four flows meet, and
    // there are as many packet-hops (1.872 M). ns-3: mean 51.7 to 52.0 ms (60 in another
    // permutation), largest 71.5 to 73.1, no drops. Ours: 52.2 and 52.4; 71.0 and 75.0.
    let mut largest = 0.0;
    for seed in [1, 2] {
        let out = permuted("off", seed);
        let (mean, max) = fcts(&out);
        assert!(near(mean, 51.99, 0.02), "{mean}");
        assert!(near(out.run["packet_hops"].as_f64().expect("a number"), 1_871_652.0, 0.002));
        assert_eq!((out.summary("lost_packets"), out.summary("retransmitted_packets")), (Some(0.0), Some(0.0)));
        largest += max / 2.0;
    }
    assert!(near(largest, 73.1, 0.02), "{largest}");
}

#[test]
#[ignore = "nightly"]
fn the_last_flow_of_a_fat_tree_ends_soon_after_the_busiest_link() {
    // It cannot end before the link that carries most has sent it all, be it three flows' or
    // four's. How much later it ends is measured: 4.6 to 7.6 % over seeds 1 to 10, but for 11.1 %
    // with seed 2.
    for seed in [1, 3, 4] {
        let out = permuted("off", seed);
        let bytes = *out.table("ports").expect("every run has ports").u64("bytes").iter().max().expect("ports");
        let busy = bytes as f64 * 8.0 / 10e9 * 1e3;
        let (_, max) = fcts(&out);
        assert!((1.0..1.08).contains(&(max / busy)), "seed {seed}: {max} ms, busy {busy} ms");
    }
}

#[test]
#[ignore = "nightly"]
fn a_permutation_sprayed_over_a_fat_tree() {
    // Every packet draws a path: nothing is dropped, but what overtakes looks like loss. ns-3: mean
    // 23.4 to 23.7 ms, largest 24.2 to 24.8, 44,922 retransmissions, 2.9 to 3.1 M packet-hops.
    // Ours: mean 27.7, largest 31.7 to 33.1, 1,700 retransmissions, 2.08 M packet-hops: 18 %
    // slower, with 4 % of the retransmissions. The reason: RFC 8257, section 3.5 answers a loss
    // like any TCP, with half of the window; ns-3's DCTCP falls by alpha/2 only
    // (evidence/peers/ns3/RESULTS.md, item 8), so reordering costs it nothing but the repeats. Verified by
    // making ours do the same for once: mean 22.2 ms, largest 24.2, 27,500 retransmissions, 2.65 M
    // packet-hops.
    for seed in [1, 2] {
        let out = permuted("packet", seed);
        let (mean, max) = fcts(&out);
        assert!((27.0..28.5).contains(&mean) && (30.5..34.0).contains(&max), "{mean} {max}");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
        assert!(near(out.summary("retransmitted_packets").expect("a number"), 1760.0, 0.1));
    }
}

/// With RACK what overtakes is waited for: the mean is 20 ms in place of 28, where an empty path takes 17.2 ms.
#[test]
#[ignore = "nightly"]
fn a_permutation_that_is_sprayed_costs_little_with_rack() {
    for seed in [1, 2] {
        let text = permutation("packet", "20 MB").replace("\"rfc6675\"", "\"rack-tlp\"");
        let out = run(&text, &RunOptions { seed: Some(seed), ..RunOptions::default() });
        let (mean, max) = fcts(&out);
        assert!(mean < 17.2 * 1.25 && max < 17.2 * 1.5, "{mean} {max}");
        assert_eq!((out.summary("lost_packets"), out.summary("timeouts")), (Some(0.0), Some(0.0)));
    }
}
