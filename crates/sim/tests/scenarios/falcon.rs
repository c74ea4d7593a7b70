//! Falcon in networks: queues at its target, a slow host apart from a busy fabric, other paths, losses.

use crate::common::fabric;
use crate::common::rack::{self, seen};
use crate::common::reads::{mean_after as mean, most};
use crate::common::{run_plain, same_with_threads_and_as_bytes};

const QUEUE: &str = "limit = \"4 MB\"";

/// 100 us there and back without queues. The target is five quarters of the shortest fabric delay and what flow scaling and
/// hops add; the queue is what is above that path, 12.5 kB a 100 us.
#[test]
fn it_fills_the_link_with_a_queue_at_its_target() {
    for n in [1, 4, 16] {
        let out = run_plain(&rack::dumbbell("falcon", n, "500 ms", QUEUE, ""));
        let (used, waits) = seen(&out, 0.1);
        let target = mean(&out, "flow:0", "target_s", 0.1);
        let room = (target + 3e-6 - 100e-6) * 125e6;
        println!("{n} flows: {used:.3} of the link, {waits:.0} B wait, target {target}, {room:.0} B above the path");
        assert!(used > 0.95, "{n} flows use {used}");
        assert!(waits < 1.2 * room + 3000.0, "{n} flows: {waits} B");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}

/// The receiver takes 500 Mbps of a link of 1 Gbps: ncwnd keeps its buffer of 100 kB near the middle, and fcwnd, whose delay
/// is the fabric's alone, does not fall.
#[test]
fn a_slow_host_is_told_from_a_busy_fabric() {
    let slow = rack::dumbbell("falcon", 1, "500 ms", QUEUE, "")
        + "[[host]]\nnodes = [\"d0\"]\nrate = \"500 Mbps\"\nbuffer = \"100 kB\"\n";
    let out = run_plain(&slow);
    let windows = |name| mean(&out, "flow:0", name, 0.2);
    let (fcwnd, ncwnd) = (windows("fcwnd_packets"), windows("ncwnd_packets"));
    let held = most(&out, "port:d0>r1", "host_bytes");
    let goodput = mean(&out, "flow:0", "goodput_bps", 0.2);
    println!("fcwnd {fcwnd:.1}, ncwnd {ncwnd:.1}, at most {held} B in the card, {:.0} Mbps", goodput / 1e6);
    assert!(fcwnd > 2.0 * ncwnd, "{fcwnd} {ncwnd}");
    // Level 15 of 32 begins at 46,875 B.
    assert!((40_000.0..75_000.0).contains(&held), "{held}");
    assert!(goodput > 0.93 * 500e6, "{goodput}");
    assert_eq!(out.summary("lost_packets"), Some(0.0));
}

/// Two leaves behind eight spines, eight hosts a leaf: each flow alone on a spine would have its host's whole link. Hashing
/// puts several on one; PLB parts them.
fn spines(key: &str) -> String {
    let links = fabric::links((2, 8, 8), "rate = \"10 Gbps\", delay = \"1 us\"");
    let mut text = format!("scheme = \"falcon\"\nstop = \"100 ms\"\n[topology]\n{links}");
    text += &format!("[queue]\nlimit = \"1 MB\"\n[schemes.falcon]\n{key}\n");
    let flow = |host| format!("[[flow]]\nfrom = \"host{host}\"\nto = \"host{}\"\nsize = \"20 MB\"\n", host + 8);
    text.extend((0..8).map(flow));
    text + "[measure]\nseries = true\ninterval = \"1 ms\"\n"
}

#[test]
fn flows_that_share_a_path_leave_it() {
    let [with, without] = ["plb = true", "plb = false"].map(|key| {
        let out = same_with_threads_and_as_bytes(&spines(key), 2);
        assert_eq!(out.summary("completed"), Some(8.0));
        let moves: f64 = (0..8).map(|flow| most(&out, &format!("flow:{flow}"), "moves")).sum();
        (out.summary("fct_max_s").expect("all end"), moves)
    });
    println!("slowest {:.4} s with {} moves, {:.4} s without", with.0, with.1, without.0);
    assert!(with.1 > 0.0 && without.1 == 0.0, "{with:?} {without:?}");
    assert!(with.0 < 0.75 * without.0, "{with:?} {without:?}");
}

#[test]
fn an_incast_of_more_flows_than_packets_fit_is_paced() {
    let out = run_plain(&rack::dumbbell("falcon", 200, "2 s", QUEUE, ""));
    let (used, waits) = seen(&out, 1.0);
    println!("{used:.3} of the link, {waits:.0} B wait, window {}", most(&out, "flow:0", "fcwnd_packets"));
    assert!(used > 0.9 && waits < 200.0 * 1500.0, "{used} {waits}");
}

#[test]
fn every_byte_arrives() {
    rack::every_byte_arrives("falcon");
}

/// A card whose buffer is full drops; what it dropped is sent again.
#[test]
fn what_a_full_card_drops_is_sent_again() {
    let text = rack::dumbbell("falcon", 4, "5 s", QUEUE, "size = \"2 MB\"")
        + "[[host]]\nrate = \"100 Mbps\"\nbuffer = \"10 kB\"\n";
    let out = run_plain(&text.replace("to = \"d1\"", "to = \"d0\"").replace("to = \"d2\"", "to = \"d0\""));
    assert_eq!(out.summary("completed"), Some(4.0));
    assert!(out.table("flows").expect("flows").u64("retransmitted_packets").iter().sum::<u64>() > 0);
}
