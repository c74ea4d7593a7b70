//! Scenarios of packets by name, and what their results say.

use std::fmt::Write;

use midpath_sim::RunOutput;

use super::reads::{series_after, texts};

/// η.
pub const ETA: f64 = 0.95;

/// Mean of a series in (from, to] seconds.
pub fn mean(out: &RunOutput, entity: &str, metric: &str, from: f64, to: f64) -> f64 {
    let values: Vec<f64> =
        series_after(out, entity, metric, from).into_iter().filter(|v| v.0 <= to).map(|v| v.1).collect();
    assert!(!values.is_empty(), "{entity} has no {metric} from {from} to {to} s");
    values.iter().sum::<f64>() / values.len() as f64
}

/// Data that a flow gets, in Mbps on the wire, with `headers` bytes of them on each packet of 1500
/// bytes.
pub fn data(out: &RunOutput, flow: usize, headers: f64, from: f64, to: f64) -> f64 {
    mean(out, &format!("flow:{flow}"), "goodput_bps", from, to) * 1500.0 / (1500.0 - headers) / 1e6
}

/// What its Interests ask for in a class, in Mbps.
pub fn asked(out: &RunOutput, flow: usize, class: &str, from: f64, to: f64) -> f64 {
    mean(out, &format!("flow:{flow}"), &format!("{class}_rate_bps"), from, to) / 1e6
}

pub fn near(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want, "{what}: {got} is not {want}");
}

/// Packets that a queue or a policy refused, by port.
fn refused(out: &RunOutput) -> Vec<((String, String), u64)> {
    assert_eq!(out.run["invariants"]["conserved"], true);
    let ports = out.table("ports").expect("every run has ports");
    let dropped = ports.u64("drops_queue").iter().zip(ports.u64("drops_policy")).map(|(a, b)| a + b);
    let names = texts(out, "ports", "node").into_iter().zip(texts(out, "ports", "peer"));
    names.zip(dropped).filter(|(_, dropped)| *dropped > 0).collect()
}

/// Nothing was refused by a queue or a policy, and every packet is accounted for.
pub fn no_data_dropped(out: &RunOutput) {
    let at = refused(out);
    assert!(at.is_empty(), "dropped at {at:?}");
}

/// No more than one packet in a thousand was: links that Data fill both ways drop a few
/// (docs/schemes/mircc.md, Limits).
pub fn hardly_any_dropped(out: &RunOutput) {
    let at = refused(out);
    let dropped: u64 = at.iter().map(|(_, dropped)| dropped).sum();
    println!("dropped at {at:?}");
    let sent = out.run["invariants"]["sent"].as_u64().expect("counted");
    assert!(1000 * dropped <= sent, "{dropped} of {sent}");
}

/// Links as (a, b, Mbps, delay in ms); hosts are those that begin with c (consumers) or p
/// (producers).
pub fn topology(links: &[(&str, &str, f64, f64)]) -> String {
    let mut text = String::from("[topology]\nlinks = [\n");
    let mut hosts: Vec<&str> = Vec::new();
    for (a, b, rate, delay) in links {
        let kbps = rate * 1e3;
        writeln!(text, "{{ a = \"{a}\", b = \"{b}\", rate = \"{kbps} kbps\", delay = \"{delay} ms\" }},").unwrap();
        hosts.extend([*a, *b].into_iter().filter(|n| n.starts_with(['c', 'p'])));
    }
    hosts.sort_unstable();
    hosts.dedup();
    let nodes: Vec<String> = hosts.iter().map(|h| format!("{{ name = \"{h}\", kind = \"host\" }}")).collect();
    format!("{text}]\nnodes = [{}]\n", nodes.join(", "))
}

pub fn flow(from: &str, to: &str, more: &str) -> String {
    format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
}

pub fn scenario(scheme: &str, stop_s: u32, params: &str, rest: &str) -> String {
    let measure = "[measure]\nseries = true\ninterval = \"250 ms\"\npoints = 4000\n";
    format!("scheme = \"{scheme}\"\nstop = \"{stop_s} s\"\n[schemes.{scheme}]\n{params}\n{measure}{rest}")
}

/// Figure 5. Producer 2 is behind `shared`.
pub fn slingshot(shared: &str) -> String {
    let links = [
        ("c1", "e1", 1000.0, 0.5),
        ("c2", "e1", 1000.0, 0.5),
        ("e1", "x", 15.0, 4.0),
        ("x", "e2", 12.0, 4.0),
        ("x", "e3", 9.0, 4.0),
        ("e2", "y", 1000.0, 3.0),
        ("e3", "y", 1000.0, 3.0),
        ("p1", "y", 1000.0, 0.5),
        ("p2", shared, 1000.0, 3.5),
    ];
    topology(&links) + &flow("p1", "c1", "") + &flow("p2", "c2", "start = \"20 s\"\nstop = \"60 s\"")
}

/// Bytes that a port has sent.
pub fn bytes(out: &RunOutput, node: &str, peer: &str) -> u64 {
    let ports = out.table("ports").expect("every run has ports");
    let names = texts(out, "ports", "node").into_iter().zip(texts(out, "ports", "peer"));
    let found = names.zip(ports.u64("bytes")).find(|((n, p), _)| n == node && p == peer);
    *found.unwrap_or_else(|| panic!("there is no port {node}>{peer}")).1
}
