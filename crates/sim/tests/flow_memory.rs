//! Memory of an active flow by scheme: both its ends and what nodes keep for them, without packets.
//!
//! `cargo test -p midpath-sim --test flow_memory -- --nocapture` prints the table.

use std::fmt::Write;

use cap::Cap;
use midpath_schemes::Catalogue;
use midpath_sim::{Listener, PER_ACTIVE_FLOW, Phase, RunOptions, run_in_pieces};

#[global_allocator]
static ALLOCATED: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Flows of each pair of hosts in the smaller run; the larger one has twice as many. Tables that grow by doubling are
/// full to three quarters in both, as they are on average.
const FLOWS: usize = 48;
const PAIRS: usize = 8;

/// Scheme, the most bytes per flow: what it takes now, and the goal. MPTCP over one path has none of its own.
const BOUNDS: [(&str, usize, usize); 11] = [
    ("newreno", 512, 512),
    ("cubic", 512, 512),
    ("dctcp", 712, 800),
    ("bbr", 1030, 800),
    ("rcp", 560, 800),
    ("fcp", 870, 1200),
    ("inrpp", 1020, 1200),
    ("mircc", 1115, 1200),
    ("prague", 752, 800),
    ("xcp", 647, 800),
    ("mptcp", 1945, 1945),
];

/// Flows without end that lose nothing: four segments each are in the network, or what routers allot.
fn scenario(scheme: &str, flows: usize) -> String {
    let least = format!("[schemes.{scheme}]\nreceive_window = \"5792 B\"\n");
    let (window, jitter, stop) = match scheme {
        "rcp" | "xcp" | "fcp" | "mircc" => (String::new(), 1000, 2000),
        // Its routers store what they cannot send yet: without a bound, windows of records are what is counted.
        "inrpp" => (least, 1000, 2000),
        _ => (least, 100, 500),
    };
    let mut text = format!(
        "scheme = \"{scheme}\"\nstop = \"{stop} ms\"\n{window}\
         [topology]\ngenerate = \"dumbbell\"\npairs = {PAIRS}\n\
         bottleneck = {{ rate = \"1 Gbps\", delay = \"8 ms\" }}\naccess = {{ rate = \"10 Gbps\", delay = \"1 ms\" }}\n\
         [queue]\nlimit = \"1 GB\"\n[host_queue]\nlimit = \"1 GB\"\n"
    );
    for pair in 0..PAIRS {
        let _ =
            writeln!(text, "[[flow]]\nfrom = \"s{pair}\"\nto = \"d{pair}\"\ncount = {flows}\njitter = \"{jitter} ms\"");
    }
    text
}

/// Bytes that a run has allocated for its flows when it ends, while all are active; and for its packets.
fn measure(scheme: &str, flows: usize) -> (usize, usize) {
    let (mut before, mut after) = (0, 0);
    let mut watch = |phase| {
        match phase {
            Phase::Simulate => before = ALLOCATED.allocated(),
            Phase::Collect => after = ALLOCATED.allocated(),
            Phase::Build => {}
        }
        true
    };
    let mut listener =
        Listener { clock: &|| std::time::Duration::ZERO, progress: &mut |_| true, watch: &mut watch, rows: None };
    let text = scenario(scheme, flows);
    let out =
        run_in_pieces(&text, std::path::Path::new("."), &RunOptions::default(), &Catalogue::standard(), &mut listener)
            .unwrap_or_else(|e| panic!("{scheme}: {e}"))
            .expect("nobody ends it");
    let again = out.summary("retransmitted_packets").expect("always there");
    // A router that stores may let a start wait, and refuses Interests: that is how these two begin.
    let stores = ["inrpp", "mircc"].contains(&scheme);
    assert!(again == 0.0 || stores, "{scheme}: {again} packets were sent again: not the steady state");
    let all = after - before;
    (all - out.packet_bytes, out.packet_bytes)
}

#[test]
fn an_active_flow_takes_no_more_memory_than_it_did() {
    let mut table = String::from("scheme       each  bound   goal  packets\n");
    let (mut over, mut largest) = (Vec::new(), 0);
    for (scheme, bound, goal) in BOUNDS {
        let ((fewer, fewer_packets), (many, many_packets)) = (measure(scheme, FLOWS), measure(scheme, 2 * FLOWS));
        let flows = FLOWS * PAIRS;
        let (each, packets) = ((many - fewer) / flows, many_packets.saturating_sub(fewer_packets) / flows);
        let _ = writeln!(table, "{scheme:<10} {each:>6} {bound:>6} {goal:>6} {packets:>8}");
        largest = largest.max(each as u64);
        over.extend((each > bound).then_some(scheme));
    }
    println!("{table}");
    assert!(over.is_empty(), "more than their bounds: {over:?}\n{table}");
    // What a run is refused by is the most that any scheme takes, and not much more.
    assert!((largest..=largest * 5 / 4).contains(&PER_ACTIVE_FLOW), "{PER_ACTIVE_FLOW} where {largest} are taken");
}
