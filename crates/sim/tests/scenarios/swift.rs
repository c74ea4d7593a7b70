//! Swift in networks: use, the target, and incasts of more flows than packets fit on the path.

use crate::common::rack::{self, seen};
use crate::common::{run_plain, same_with_threads_and_as_bytes};

fn dumbbell(pairs: usize, stop: &str, queue: &str, more: &str) -> String {
    rack::dumbbell("swift", pairs, stop, queue, more)
}

const QUEUE: &str = "limit = \"1 MB\"";

/// The round trip is kept at about the target: two shortest ones, and flow scaling for small windows.
#[test]
fn it_fills_the_link_and_keeps_the_target() {
    for n in [1, 4] {
        let out = run_plain(&dumbbell(n, "1 s", QUEUE, ""));
        let (used, waits) = seen(&out, 0.5);
        println!("{n} flows: {used:.3} of the link, {waits:.0} B wait");
        assert!(used > 0.95, "{n} flows use {used}");
        // Two round trips is a BDP that waits; small windows are allowed up to five more.
        assert!(waits > 2_000.0 && waits < 3.0 * 12_500.0, "{n} flows: {waits} B");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}

/// 200 flows, where eight packets fill the path: each has less than a packet, and hardly anything is lost.
#[test]
fn an_incast_of_more_flows_than_packets_fit_is_paced() {
    let text = dumbbell(200, "2 s", "limit = \"300 kB\"", "");
    let out = run_plain(&text);
    let (used, waits) = seen(&out, 1.0);
    let (drops, packets) = rack::lost(&out);
    println!("{used:.3} of the link, {waits:.0} B wait, {drops} of {packets} lost");
    assert!(used > 0.9 && waits < 8.0 * 12_500.0, "{used} {waits}");
    assert!((drops as f64) < 0.02 * packets as f64, "{drops} of {packets}");
}

#[test]
fn every_byte_arrives_over_short_queues_and_where_packets_are_lost() {
    rack::every_byte_arrives("swift");
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let text = dumbbell(3, "100 ms", QUEUE, "jitter = \"3 ms\"\nsize = \"1 MB\"");
    same_with_threads_and_as_bytes(&text, 3);
}
