//! FCP's multicast (§4.2, §6.3, figure 21): the tree's price is the sum of its links', against the
//! optimum that this defines.

use crate::common::{run, run_plain};
use midpath_sim::{Column, RunOptions, RunOutput};

/// Figure 24 (b): a source above four receivers, whose links carry 10, 20, 40 and 100 Mbps, behind
/// two routers; three unicast flows share the first three links.
fn figure_21(stop: &str, more: &str) -> String {
    let mut text = format!("scheme = \"fcp\"\nstop = \"{stop}\"\n[queue]\nlimit = \"100 ms\"\n[topology]\nlinks = [\n");
    let mut link = |a: &str, b: &str, rate: u32| {
        text += &format!("  {{ a = \"{a}\", b = \"{b}\", rate = \"{rate} Mbps\", delay = \"5 ms\" }},\n");
    };
    link("s", "top", 100);
    link("top", "left", 100);
    link("top", "right", 100);
    for (i, (router, rate)) in [("left", 10), ("left", 20), ("right", 40), ("right", 100)].into_iter().enumerate() {
        link(router, &format!("d{}", i + 1), rate);
        if i < 3 {
            link(&format!("u{}", i + 1), router, 100);
        }
    }
    text += "]\n[[flow]]\nfrom = \"s\"\nto = \"d1\"\ngroup = \"tree\"\nstart = \"1 s\"\n";
    for i in 1..4 {
        text += &format!(
            "[[flow]]\nfrom = \"u{i}\"\nto = \"d{i}\"\ngroup = \"unicast\"\nstart = \"{} ms\"\n",
            1500 + 500 * i
        );
    }
    text + "[schemes.fcp.groups.tree]\nmulticast = [\"d1\", \"d2\", \"d3\", \"d4\"]\n" + more
}

fn flow_u64(out: &RunOutput, column: &str) -> Vec<u64> {
    match out.table("flows").and_then(|t| t.column(column)) {
        Some(Column::U64(values)) => values.clone(),
        other => panic!("{column}: {other:?}"),
    }
}

/// Mbps on the wire of each flow between two times: a multicast packet has 64 bytes of headers, a
/// unicast one 84.
fn rates(more: &str, from: u64, to: u64) -> Vec<f64> {
    let until = |s: u64| flow_u64(&run_plain(&figure_21(&format!("{s} s"), more)), "delivered_bytes");
    let wire = |i: usize, bytes: u64| bytes as f64 * 1500.0 / if i == 0 { 1428.0 } else { 1408.0 };
    let (a, b) = (until(from), until(to));
    (0..a.len()).map(|i| wire(i, b[i] - a[i]) * 8e-6 / (to - from) as f64).collect()
}

/// The weighted proportionally fair rate m of a tree that shares links of `capacities` with a flow
/// of weight 1 each: max log m + Σ log(C − m), so 1/m = Σ 1/(C − m). By bisection.
fn optimum(capacities: &[f64]) -> f64 {
    let (mut low, mut high) = (0.0, capacities.iter().copied().fold(f64::MAX, f64::min));
    for _ in 0..100 {
        let m = (low + high) / 2.0;
        if 1.0 / m > capacities.iter().map(|c| 1.0 / (c - m)).sum() { low = m } else { high = m }
    }
    low
}

#[test]
fn the_tree_pays_the_sum_of_its_links() {
    let m = optimum(&[10.0, 20.0, 40.0]);
    assert!((m - 3.93).abs() < 0.01, "{m}");
    let rates = rates("", 10, 30);
    let best = [m, 10.0 - m, 20.0 - m, 40.0 - m];
    println!("{rates:.3?} Mbps, optimum {best:.3?}");
    for (rate, best) in rates.iter().zip(best) {
        assert!((rate / best - 1.0).abs() < 0.03, "{rates:?} instead of {best:?}");
    }
}

fn ports_u64(out: &RunOutput, node: &str, peer: &str, column: &str) -> u64 {
    match out.table("ports").and_then(|t| t.column(column)) {
        Some(Column::U64(values)) => values[crate::common::port(out, node, peer)],
        other => panic!("{column}: {other:?}"),
    }
}

#[test]
fn no_link_carries_more_acks_than_packets() {
    let out = run_plain(&figure_21("10 s", ""));
    let sent = ports_u64(&out, "s", "top", "packets");
    assert!(sent > 3000, "{sent}");
    for (child, parent) in [("top", "s"), ("left", "top"), ("right", "top"), ("d4", "right")] {
        let acks = ports_u64(&out, child, parent, "packets");
        assert!(acks <= sent && acks > sent * 9 / 10, "{child} to {parent}: {acks} ACKs of {sent} packets");
    }
}

#[test]
fn a_receiver_that_vanishes_stops_nobody_for_long() {
    // d2's link fails for good at 10 s: 3 s later nobody waits for it, and the tree pays two shared
    // links.
    let fault = "[[fault]]\nat = \"10 s\"\nkind = \"link-down\"\nlink = [\"left\", \"d2\"]\n";
    let m = optimum(&[10.0, 40.0]);
    let rates = rates(fault, 20, 40);
    println!("{rates:.3?} Mbps, optimum of the tree {m:.3}");
    assert!((rates[0] / m - 1.0).abs() < 0.03, "{rates:?} instead of {m}");
}

#[test]
fn a_node_that_restarts_learns_its_trees_again() {
    let fault = "[[fault]]\nat = \"8 s\"\nkind = \"restart\"\nnode = \"left\"\n";
    let m = optimum(&[10.0, 20.0, 40.0]);
    let rates = rates(fault, 12, 30);
    assert!((rates[0] / m - 1.0).abs() < 0.03, "{rates:?} instead of {m}");
}

#[test]
fn enforcement_refuses_nothing_of_a_tree() {
    let out = run_plain(&figure_21("20 s", "[schemes.fcp.network]\nenforcement = true\n"));
    match out.table("ports").and_then(|t| t.column("drops_policy")) {
        Some(Column::U64(drops)) => assert_eq!(drops.iter().sum::<u64>(), 0),
        other => panic!("{other:?}"),
    }
    assert_eq!(flow_u64(&out, "delivered_bytes"), flow_u64(&run_plain(&figure_21("20 s", "")), "delivered_bytes"));
}

#[test]
fn trees_are_the_same_on_any_number_of_threads() {
    let text = figure_21("6 s", "[measure]\nseries = true\n");
    let with = |threads| run(&text, &RunOptions { threads, ..RunOptions::default() }).repeatable();
    let one = with(1);
    assert!(one == with(2) && one == with(3));
}

#[test]
fn a_sized_transfer_ends() {
    let text = figure_21("20 s", "").replace("group = \"tree\"\n", "group = \"tree\"\nsize = \"2 MB\"\n");
    let out = run_plain(&text);
    assert_eq!(flow_u64(&out, "delivered_bytes")[0], 2_000_000);
}

#[test]
fn receivers_must_be_there() {
    let text = figure_21("1 s", "").replace("\"d4\"]\n", "\"d9\"]\n");
    let error = midpath_sim::run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).err();
    let message = error.expect("no such node").to_string();
    assert!(message.contains("d9"), "{message}");
}
