//! What must hold in every run, whatever the network, the queues, the schemes and the faults.

use crate::common::reads::texts_of;
use crate::common::scene::{Scene, scene};
use crate::common::{cases, run};
use midpath_core::queue::Limit;
use midpath_core::units::Rate;
use midpath_sim::{Column, RunOptions, RunOutput, Table};
use proptest::prelude::*;

/// Largest packet, IP header included: the default of all links.
const MTU: u64 = 1500;
/// Payload of a full TCP packet: MTU less IPv4, TCP and timestamps.
const MSS: u64 = 1448;
/// Payload of a full datagram: MTU less IPv4 and UDP.
const DATAGRAM: u64 = 1472;

fn with(text: &str, threads: usize) -> RunOutput {
    run(text, &RunOptions { threads, ..RunOptions::default() })
}

fn truths(table: &Table, name: &str) -> Vec<bool> {
    match table.column(name) {
        Some(Column::Bool(v)) => v.clone(),
        _ => panic!("{name} is a truth value"),
    }
}

fn sum(table: &Table, names: &[&str]) -> u64 {
    names.iter().map(|n| table.u64(n).iter().sum::<u64>()).sum()
}

/// Books that are kept twice, by flow, by port and by the engine, agree.
fn check_books(out: &RunOutput) {
    let (flows, ports) = (out.table("flows").unwrap(), out.table("ports").unwrap());
    let engine = |key: &str| out.run["invariants"][key].as_u64().unwrap();
    assert_eq!(sum(ports, &["packets"]), out.run["packet_hops"].as_u64().unwrap(), "a hop is a packet at a port");
    assert_eq!(sum(ports, &["marks"]), sum(flows, &["marked_packets"]));
    assert_eq!(sum(ports, &["corrupted"]), engine("corrupted"));
    let at_ports = sum(ports, &["drops_queue", "drops_aqm", "drops_fault", "drops_policy"]);
    assert_eq!(sum(flows, &["lost_packets"]), at_ports + engine("corrupted"));
    // The rest found nobody at its destination any more: it ended at a node, not at a port, and was
    // not lost.
    assert!(at_ports <= engine("dropped"), "{at_ports} of {}", engine("dropped"));
    assert!(ports.u64("bytes").iter().zip(ports.u64("packets")).all(|(b, p)| *b <= p * MTU));
}

/// No port sends more than its rate allows: transmissions do not overlap.
///
/// A packet counts if it starts before the end T (what a timetable has promised for after the end
/// is not counted). So a port has counted what it has sent by T, at most the integral of its rate,
/// and one packet that is being sent at T. When the rate changes, the packet being sent keeps the
/// old one.
///
/// A run that ends with its last delivery is no such case: its connections' closing is counted
/// beyond its end.
fn check_rates(scene: &Scene, out: &RunOutput) {
    if scene.stop_ms.is_none() && out.run["summary"]["completed"] == out.run["summary"]["flows"] {
        return;
    }
    let ports = out.table("ports").unwrap();
    let span = out.run["simulated_s"].as_f64().unwrap();
    let (nodes, peers) = (texts_of(ports, "node"), texts_of(ports, "peer"));
    for row in 0..ports.rows() {
        let own = Rate(ports.u64("rate_bps")[row]);
        let changes = scene.rate_changes(&nodes[row], &peers[row]);
        let mut bits = 0.0;
        let (mut since, mut rate) = (0.0, own.as_f64());
        for (at, new) in changes.iter().filter(|c| c.0 < span) {
            bits += rate * (at - since);
            (since, rate) = (*at, *new);
        }
        bits += rate * (span - since);
        let most = bits / 8.0 + (MTU * (1 + changes.len() as u64)) as f64;
        let sent = ports.u64("bytes")[row] as f64;
        assert!(sent <= most, "{} > {}: {sent} B, at most {most}", nodes[row], peers[row]);
    }
}

/// What waits never exceeds the limit (which does not count the packet being sent).
fn check_queues(scene: &Scene, out: &RunOutput) {
    let ports = out.table("ports").unwrap();
    for (row, most) in ports.u64("queue_max_bytes").iter().enumerate() {
        let limit = scene.limit().parse::<Limit>().unwrap().bound(Rate(ports.u64("rate_bps")[row]));
        assert!(*most <= limit.bytes.min(limit.packets.saturating_mul(MTU)), "row {row}: {most} of {limit:?}");
    }
}

/// One flow's figures against each other.
fn check_flows(scene: &Scene, out: &RunOutput) {
    let flows = out.table("flows").unwrap();
    let completed = truths(flows, "completed");
    let schemes = texts_of(flows, "scheme");
    for row in 0..flows.rows() {
        let (size, fct) = (flows.f64("size_bytes")[row] as u64, flows.f64("fct_s")[row]);
        let delivered = flows.u64("delivered_bytes")[row];
        assert_eq!(delivered == size, completed[row], "flow {row} delivered {delivered} of {size}");
        assert_eq!(fct.is_nan(), !completed[row]);
        assert!(delivered <= size);
        let (sent, again) = (flows.u64("sent_packets")[row], flows.u64("retransmitted_packets")[row]);
        let lost = flows.u64("lost_packets")[row];
        if schemes[row] == "udp" {
            assert_eq!(again, 0);
            check_datagrams(scene, (size, delivered), sent, lost);
        } else {
            check_tcp(scene, out, row, completed[row]);
        }
    }
}

/// Datagrams are sent once, whatever happens to them.
fn check_datagrams(scene: &Scene, (size, delivered): (u64, u64), sent: u64, lost: u64) {
    assert!(sent <= size.div_ceil(DATAGRAM));
    if scene.stop_ms.is_none() {
        assert_eq!(sent, size.div_ceil(DATAGRAM));
        assert!(delivered >= size.saturating_sub(lost * DATAGRAM), "{delivered} of {size}, {lost} lost");
        assert_eq!(lost == 0, delivered == size);
    }
}

fn check_tcp(scene: &Scene, out: &RunOutput, row: usize, completed: bool) {
    let flows = out.table("flows").unwrap();
    let size = flows.f64("size_bytes")[row] as u64;
    let (sent, again) = (flows.u64("sent_packets")[row], flows.u64("retransmitted_packets")[row]);
    let lost = flows.u64("lost_packets")[row];
    if completed {
        // Every byte was sent for the first time exactly once, in full packets but for the last.
        assert_eq!(sent - again, size.div_ceil(MSS), "flow {row}: {sent} sent, {again} again");
        // Without faults to its links a flow is never faster than on an empty path. (One whose
        // packets take several paths is, where these are slower than the links to them.)
        if !scene.changes_links() && scene.ecmp != 1 {
            let (fct, ideal) = (flows.f64("fct_s")[row], flows.f64("ideal_fct_s")[row]);
            assert!(fct >= ideal * (1.0 - 1e-12), "flow {row}: {fct} below {ideal}");
        }
    } else {
        assert!(scene.stop_ms.is_some(), "flow {row} has not completed: {lost} lost");
    }
    // One path keeps order, so nothing looks lost that is not; and below RFC 6298's second nothing
    // times out.
    let rtt_max = flows.f64("rtt_max_s")[row];
    if lost == 0 && scene.ecmp != 1 && scene.faults.is_empty() && rtt_max < 0.9 {
        // But for a tail's probes, where a round trip is more than twice what it was (RFC 8985, §7.2).
        assert!(again <= 2, "flow {row} repeated {again} although nothing was lost");
        assert_eq!(flows.u64("timeouts")[row], 0);
    }
    if scene.lossless_wires()
        && scene.faults.is_empty()
        && sum(out.table("ports").unwrap(), &["drops_queue", "drops_aqm"]) == 0
    {
        assert_eq!(out.run["invariants"]["corrupted"], 0);
    }
}

fn check(scene: &Scene, out: &RunOutput) {
    check_books(out);
    check_rates(scene, out);
    check_queues(scene, out);
    check_flows(scene, out);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn hold_in_every_run(scene in scene()) {
        let out = with(&scene.text(false), 1);
        check(&scene, &out);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// Byte for byte, on repetition, on any number of threads and in any number of parts, with time
    /// series too.
    #[test]
    fn the_result_is_the_same_on_any_number_of_threads(scene in scene()) {
        let text = scene.text(true);
        let one = with(&text, 1).repeatable();
        for (threads, parts) in [(1, 0), (2, 0), (3, 0), (64, 0), (1, 4), (2, 5)] {
            let again = run(&text, &RunOptions { threads, parts, ..RunOptions::default() }).repeatable();
            let how = format!("{threads} threads, {parts} parts");
            prop_assert!(one == again, "{how}: {}\n{text}", first_difference(&one, &again));
        }
    }

    /// Who measures does not disturb.
    #[test]
    fn time_series_change_nothing_else(scene in scene(), threads in 1usize..3) {
        let (plain, sampled) = (with(&scene.text(false), 1), with(&scene.text(true), threads));
        for table in ["flows", "ports"] {
            prop_assert_eq!(format!("{:?}", plain.table(table)), format!("{:?}", sampled.table(table)));
        }
        prop_assert_eq!(&plain.run["summary"], &sampled.run["summary"]);
    }
}

/// The text around the first place where two differ.
fn first_difference(a: &str, b: &str) -> String {
    let at = a.bytes().zip(b.bytes()).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    let around =
        |s: &str| String::from_utf8_lossy(&s.as_bytes()[at.saturating_sub(200)..(at + 100).min(s.len())]).into_owned();
    format!("at {at}:\n{}\n--\n{}", around(a), around(b))
}

/// The nodes in `paths` of a run's only flow, and the ports that put data onto a wire.
fn path_and_ports(src: &str, dst: &str) -> (Vec<String>, Vec<(String, String)>) {
    let out = with(
        &format!(
            r#"
scheme = "udp"
[topology]
generate = "fat-tree"
k = 4
link = {{ rate = "1 Gbps", delay = "1 us" }}
access = {{ rate = "1 Gbps", delay = "1 us" }}
[[flow]]
from = "{src}"
to = "{dst}"
size = "100 kB"
rate = "10 Mbps"
[measure]
series = true
"#
        ),
        1,
    );
    let ports = out.table("ports").unwrap();
    let (nodes, peers) = (texts_of(ports, "node"), texts_of(ports, "peer"));
    let used = ports.u64("packets").iter().enumerate().filter(|(_, p)| **p > 0);
    let path = &out.run["paths"];
    assert_eq!((path.as_array().map(Vec::len), path[0]["flow"].as_u64()), (Some(1), Some(0)));
    let names = path[0]["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned());
    (names.collect(), used.map(|(i, _)| (nodes[i].clone(), peers[i].clone())).collect())
}

/// Datagrams go one way only, so the ports that sent anything are the path: here among equal ones.
#[test]
fn paths_are_where_packets_go() {
    for dst in ["h1", "h2", "h5", "h8", "h11", "h15"] {
        let (path, mut ports) = path_and_ports("h0", dst);
        let mut hops: Vec<_> = path.windows(2).map(|w| (w[0].clone(), w[1].clone())).collect();
        hops.sort();
        ports.sort();
        assert_eq!(hops, ports, "{path:?}");
        assert_eq!((path[0].as_str(), path[path.len() - 1].as_str()), ("h0", dst));
    }
}
