//! DCQCN in networks: use, and the queue between the lengths at which marking begins and ends.

use crate::common::rack::{self, seen};
use crate::common::reads::mean_after;
use crate::common::{run_plain, same_with_threads_and_as_bytes};

fn dumbbell(pairs: usize, stop: &str, queue: &str, more: &str) -> String {
    rack::dumbbell("dcqcn", pairs, stop, queue, more)
}

const QUEUE: &str = "limit = \"1 MB\"\nkind = \"red\"\nmin = \"5 kB\"\nmax = \"50 kB\"\nmax_p = \"10 %\"\nweight = \"100 %\"\ngentle = false";

#[test]
fn it_fills_the_link_with_a_queue_where_marks_are() {
    for n in [1, 4, 16] {
        let out = run_plain(&dumbbell(n, "2 s", QUEUE, ""));
        let (used, waits) = seen(&out, 1.0);
        println!("{n} flows: {used:.3} of the link, {waits:.0} B wait");
        assert!(used > 0.9, "{n} flows use {used}");
        assert!(waits < 60_000.0, "{n} flows: {waits} B");
        assert_eq!(out.summary("lost_packets"), Some(0.0));
    }
}

/// Flows that start apart come to equal shares: marks fall on who sends most.
#[test]
fn flows_share_in_the_end() {
    let out = run_plain(&dumbbell(4, "4 s", QUEUE, "jitter = \"500 ms\""));
    let share = |i: usize| mean_after(&out, &format!("flow:{i}"), "goodput_bps", 2.0);
    let shares: Vec<f64> = (0..4).map(share).collect();
    let (all, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|s| s * s).sum::<f64>());
    let jain = all * all / (4.0 * squares);
    println!("{shares:.0?}, Jain {jain:.3}");
    assert!(jain > 0.9, "{shares:?}");
}

#[test]
fn every_byte_arrives_over_short_queues_and_where_packets_are_lost() {
    rack::every_byte_arrives("dcqcn");
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let text = dumbbell(3, "100 ms", QUEUE, "jitter = \"3 ms\"\nsize = \"1 MB\"");
    same_with_threads_and_as_bytes(&text, 3);
}
