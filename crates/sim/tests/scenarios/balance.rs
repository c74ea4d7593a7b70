//! Balancing by switches: LetFlow, DRILL and hashing by job, what they do to queues, rates and order; and hosts with
//! several NICs.

use crate::common::reads::texts;
use crate::common::{refused, run_plain, same_with_threads_and_as_bytes};
use midpath_sim::RunOutput;

/// Two leaves with four hosts each and four spines, all links of 10 Gbps.
fn fabric(routing: &str, more: &str) -> String {
    format!(
        r#"
[topology]
generate = "leaf-spine"
leaves = 2
spines = 4
per_leaf = 4
link = {{ rate = "10 Gbps", delay = "1 us" }}
[routing]
{routing}
{more}
"#
    )
}

/// Of the ports of a node towards others whose names begin so: a column.
fn towards(out: &RunOutput, node: &str, prefix: &str, column: &str) -> Vec<u64> {
    let (nodes, peers) = (texts(out, "ports", "node"), texts(out, "ports", "peer"));
    let values = out.table("ports").expect("ports").u64(column);
    let of = |i: &usize| nodes[*i] == node && peers[*i].starts_with(prefix);
    (0..values.len()).filter(of).map(|i| values[i]).collect()
}

fn used(values: &[u64]) -> usize {
    values.iter().filter(|value| **value > 0).count()
}

/// Datagrams a millisecond apart: with a gap below that each is a flowlet, above it all are one.
#[test]
fn a_flow_that_pauses_longer_than_the_gap_takes_another_path() {
    let flow = "[[flow]]\nscheme = \"udp\"\nfrom = \"h0\"\nto = \"h4\"\nwrite = \"1 kB\"\ninterval = \"1 ms\"\nstop = \"2 s\"\n";
    let packets = |gap: &str| {
        let out = run_plain(&fabric(&format!("ecmp = \"letflow\"\nflowlet_gap = \"{gap}\""), flow));
        towards(&out, "l0", "s", "packets")
    };
    let apart = packets("900 us");
    let mean = apart.iter().sum::<u64>() as f64 / 4.0;
    let unevenness: f64 = apart.iter().map(|n| (*n as f64 - mean).powi(2) / mean).sum();
    // Three degrees of freedom: above 16.3 once in a thousand.
    assert!(mean > 490.0 && unevenness < 16.3, "{apart:?}");
    assert_eq!(used(&packets("1100 us")), 1);
}

/// LetFlow's point (§2): flowlets on a slow path are long apart and short, so that it gets less, although each draws its
/// path blindly. Packets that draw get half there, and the rest waits for it.
#[test]
fn flowlets_leave_a_slow_path_to_itself() {
    let links = |balance: &str| {
        let mut links = String::new();
        for i in 0..8 {
            for (host, leaf) in [(format!("a{i}"), "l0"), (format!("b{i}"), "l1")] {
                links += &format!("{{ a = \"{host}\", b = \"{leaf}\", rate = \"2 Gbps\", delay = \"1 us\" }},\n");
            }
        }
        for (spine, rate) in [("fast", 8), ("slow", 2)] {
            for leaf in ["l0", "l1"] {
                links += &format!("{{ a = \"{leaf}\", b = \"{spine}\", rate = \"{rate} Gbps\", delay = \"5 us\" }},\n");
            }
        }
        let mut text =
            format!("stop = \"100 ms\"\nscheme = \"newreno\"\n[topology]\nlinks = [{links}]\n[routing]\n{balance}\n");
        for i in 0..8 {
            text += &format!(
                "[[flow]]\nfrom = \"a{i}\"\nto = \"b{i}\"\nwrite = \"200 kB\"\ninterval = {{ kind = \"exponential\", mean = \"2 ms\" }}\n"
            );
        }
        let out = run_plain(&text);
        let [fast, slow] = ["fast", "slow"].map(|spine| towards(&out, "l0", spine, "bytes")[0] as f64);
        (slow / (fast + slow), out.summary("goodput_total_bps").expect("some"))
    };
    let flowlets = links("ecmp = \"letflow\"\nflowlet_gap = \"100 us\"");
    let packets = links("ecmp = \"packet\"");
    println!("share of the slow path and goodput: {flowlets:?} by flowlet, {packets:?} by packet");
    assert!(flowlets.0 < 0.35 && (0.45..0.55).contains(&packets.0), "{flowlets:?} {packets:?}");
    assert!(flowlets.1 > 1.1 * packets.1, "{flowlets:?} {packets:?}");
}

/// Hosts that send at nine tenths of their lines over as many paths: DRILL over all queues holds as few packets as come at
/// once; a path by hash is overloaded.
#[test]
fn drill_keeps_uplinks_short() {
    let mut flows = String::new();
    for i in 0..4 {
        flows += &format!(
            "[[flow]]\nscheme = \"udp\"\nfrom = \"h{i}\"\nto = \"h{}\"\nrate = \"9 Gbps\"\nstop = \"5 ms\"\nstart = \"{i} us\"\n",
            i + 4
        );
    }
    let most = |routing: &str| {
        let out = run_plain(&fabric(routing, &flows));
        let lost: u64 = out.table("flows").expect("flows").u64("lost_packets").iter().sum();
        (towards(&out, "l0", "s", "queue_max_bytes").into_iter().max().expect("ports"), lost)
    };
    let all = most("ecmp = \"drill\"\ndrill_samples = 4\ndrill_memory = 0");
    let two = most("ecmp = \"drill\"");
    let random = most("ecmp = \"packet\"");
    let hashed = most("ecmp = \"flow\"");
    println!(
        "most bytes that wait, and losses: {all:?} of all, {two:?} of two, {random:?} at random, {hashed:?} by flow"
    );
    assert!(all.0 <= 4 * 1500 && all.1 == 0, "{all:?}");
    assert!(two.0 <= 8 * 1500 && two.0 < random.0 && two.1 == 0, "{two:?} {random:?}");
    assert!(hashed.0 > 20 * random.0, "{hashed:?} {random:?}");
}

/// All messages of a job to a host take one path from a leaf; as flows they take several.
#[test]
fn a_job_has_one_path_to_a_host() {
    let job = |hosts: &str| {
        format!("[[job]]\ncollective = \"all-to-all\"\nhosts = {hosts}\nsize = \"40 kB\"\niterations = 20\n")
    };
    let ports = |ecmp: &str, hosts: &str| {
        let out = run_plain(&fabric(&format!("ecmp = \"{ecmp}\""), &job(hosts)));
        towards(&out, "l0", "s", "bytes")
    };
    let pair = "[\"h0\", \"h4\"]";
    assert_eq!(used(&ports("job", pair)), 1);
    assert!(used(&ports("flow", pair)) > 2, "forty flows by hash");
    // Destinations are hashed, too.
    assert!(used(&ports("job", "[\"h*\"]")) > 1);
}

/// A straggler's link is one that its packets took: none is named where they draw among several.
#[test]
fn no_link_is_named_where_packets_draw_their_paths() {
    let job = |hosts: &str| format!("[[job]]\ncollective = \"all-to-all\"\nhosts = {hosts}\nsize = \"40 kB\"\n");
    let named = |scheme: &str, ecmp: &str, hosts: &str| {
        let text = format!("scheme = \"{scheme}\"\n{}", fabric(&format!("ecmp = \"{ecmp}\""), &job(hosts)));
        let out = run_plain(&text);
        let found = !texts(&out, "iterations", "link_from")[0].is_empty();
        assert_eq!(found, !out.run["jobs"][0]["slowest"]["link"].is_null());
        found
    };
    let (apart, together) = ("[\"h0\", \"h4\"]", "[\"h0\", \"h1\"]");
    for (scheme, ecmp, several) in [
        ("newreno", "flow", true),
        ("newreno", "job", true),
        ("newreno", "packet", false),
        ("newreno", "letflow", false),
        ("newreno", "drill", false),
        ("uec", "flow", false),
        ("falcon", "flow", false),
    ] {
        assert_eq!(named(scheme, ecmp, apart), several, "{scheme}, {ecmp}");
        assert!(named(scheme, ecmp, together), "{scheme}, {ecmp}: one leaf, no choice");
    }
}

#[test]
fn the_same_with_threads_and_as_bytes() {
    let work = "[queue]\nlimit = \"100 kB\"\n[[workload]]\nsizes = { kind = \"fixed\", size = \"200 kB\" }\n\
        matrix = { kind = \"permutation\" }\narrivals = { kind = \"once\" }\n";
    let fault = "[[fault]]\nat = \"100 us\"\nkind = \"link-down\"\nlink = [\"l0\", \"s1\"]\nuntil = \"400 us\"\n";
    for ecmp in ["letflow", "drill", "job"] {
        for (routing, more) in [("", ""), ("reconverge = \"50 us\"", fault)] {
            let text = fabric(&format!("ecmp = \"{ecmp}\"\n{routing}"), &format!("{work}{more}"));
            let out = same_with_threads_and_as_bytes(&text, 3);
            assert_eq!(out.summary("completed"), Some(8.0), "{ecmp}");
        }
    }
}

#[test]
fn keys_without_effect_are_refused() {
    for (routing, why) in [
        ("flowlet_gap = \"1 ms\"", "routing.flowlet_gap: applies to ecmp = \"letflow\""),
        ("ecmp = \"letflow\"\ndrill_memory = 1", "routing.drill_memory: applies to ecmp = \"drill\""),
        ("ecmp = \"drill\"\ndrill_samples = 0", "routing.drill_samples: at least 1"),
    ] {
        let error = refused(&fabric(routing, "[[flow]]\nfrom = \"h0\"\nto = \"h4\"\nsize = \"1 MB\"\n"));
        assert!(error.contains(why), "{error}");
    }
    for scheme in ["mircc", "ndn", "mptcp"] {
        let flow = "[[flow]]\nfrom = \"h0\"\nto = \"h4\"\nsize = \"1 MB\"\n";
        let error = refused(&format!("scheme = \"{scheme}\"\n{}", fabric("ecmp = \"drill\"", flow)));
        assert!(error.contains(&format!("routing.ecmp: `{scheme}` chooses its own paths")), "{error}");
    }
}

/// Sixteen GPUs in four servers of two blocks: what a rail fabric's user expects of where traffic goes.
#[test]
fn traffic_of_a_rail_stays_on_it() {
    let rail = |cross: &str, flow: (usize, usize)| {
        let (from, to) = flow;
        let text = format!(
            r#"
[topology]
generate = "rail"
n = 4
rails = 4
per_leaf = 2
spines = 2
cross = "{cross}"
access = {{ rate = "100 Gbps", delay = "1 us" }}
link = {{ rate = "100 Gbps", delay = "1 us" }}
nvlink = {{ rate = "900 Gbps", delay = "100 ns" }}
[[flow]]
from = "h{from}"
to = "h{to}"
size = "1 MB"
"#
        );
        let out = run_plain(&text);
        assert_eq!(out.summary("completed"), Some(1.0));
        let nodes = texts(&out, "ports", "node");
        let bytes = out.table("ports").expect("ports").u64("bytes");
        let sent = |prefix: char| -> u64 {
            (0..nodes.len()).filter(|i| nodes[*i].starts_with(prefix)).map(|i| bytes[i]).sum()
        };
        [sent('v'), sent('l'), sent('s')].map(|sent| sent > 1_000_000)
    };
    for cross in ["spine", "nvlink"] {
        assert_eq!(rail(cross, (0, 1)), [true, false, false], "{cross}: in a server");
        assert_eq!(rail(cross, (0, 4)), [false, true, false], "{cross}: on a rail");
        assert_eq!(rail(cross, (0, 8)), [false, true, true], "{cross}: on a rail of another block");
    }
    assert_eq!(rail("spine", (0, 5)), [false, true, true], "to another rail");
    assert_eq!(rail("nvlink", (0, 5)), [true, true, false], "to another rail");
}

/// Two planes: a flow takes the NIC of one, packets that draw take both, and both are used to the full.
#[test]
fn each_plane_has_a_nic() {
    let flows = |ecmp: &str| {
        let text = fabric(&format!("ecmp = \"{ecmp}\""), "[[flow]]\nfrom = \"h0\"\nto = \"h4\"\nsize = \"20 MB\"\n");
        let out = run_plain(&text.replace("per_leaf = 4\n", "per_leaf = 4\nplanes = 2\n"));
        assert_eq!(out.summary("completed"), Some(1.0));
        (towards(&out, "h0", "p", "bytes"), out.summary("fct_max_s").expect("it ends"))
    };
    let (one, all) = (flows("flow"), flows("drill"));
    assert_eq!((one.0.len(), used(&one.0), used(&all.0)), (2, 1, 2), "{one:?} {all:?}");
    println!("{:.2} ms over one plane, {:.2} ms over two", 1e3 * one.1, 1e3 * all.1);
    assert!(one.1 > 0.016 && all.1 < 0.6 * one.1, "{one:?} {all:?}");
}
