//! BFC in networks: a flow alone, incasts that are paused in place of dropped, victims that are not, losses and restarts;
//! whatever the fabric, each byte arrives.

use proptest::prelude::*;

use crate::common::fabric::{self, all_arrived, flow, incast};
use crate::common::reads::{column, most, total};
use crate::common::{cases, port, run_plain, same_with_threads_and_as_bytes};

/// Payload of a packet of 1500 B: 52 of TCP and IP, and BFC's 8.
const MSS: u64 = 1440;

/// A fat-tree of 16 hosts at 100 Gbps, 1 us a link.
fn fabric(limit: &str, more: &str) -> String {
    format!(
        "scheme = \"bfc\"\nstop = \"100 ms\"\n[topology]\ngenerate = \"fat-tree\"\nk = 4\n\
        link = {{ rate = \"100 Gbps\", delay = \"1 us\" }}\n[queue]\nlimit = \"{limit}\"\n{more}"
    )
}

/// The handshake, then all packets back to back: 1500 B take 120 ns, and cross five more links and six delays. The first
/// window of a SYN-ACK is 64 kB (RFC 7323, §2.2), which is less than a round trip: the rest begins one later.
#[test]
fn a_flow_alone_leaves_at_its_hosts_rate() {
    let size = 4000 * MSS;
    let out = run_plain(&fabric("1 MB", &flow("h0", "h15", &format!("{size} B"))));
    all_arrived(&out, size);
    let fct = out.summary("fct_max_s").expect("it ends");
    let least = 4000.0 * 120e-9 + 5.0 * 120e-9 + 6.0 * 1e-6;
    println!("{fct} where {least} is the least");
    assert!((least..least + 30e-6).contains(&fct), "{fct} and not {least}, a handshake and a round trip");
    assert_eq!(total(&out, "flows", "retransmitted_packets"), 0);
}

/// Fifteen to one: nothing is dropped, the last link is never idle, and no port holds more than BFC lets it: of each flow
/// the threshold and what comes in until the pause is there, two hops' round trips (2.24 us, 28 kB) in all and a packet.
#[test]
fn an_incast_waits_upstream() {
    let size = 2_000_000;
    let out = same_with_threads_and_as_bytes(&fabric("1 MB", &incast(15, "2 MB")), 3);
    all_arrived(&out, size);
    assert_eq!(total(&out, "ports", "drops_queue") + total(&out, "flows", "retransmitted_packets"), 0);
    let least = 15.0 * (size as f64 / MSS as f64).ceil() * 120e-9;
    let fct = out.summary("fct_max_s").expect("it ends");
    println!("{fct} where {least} is the least");
    assert!(fct < 1.02 * least + 40e-6, "{fct} and not {least}");
    let edge = port(&out, "e0.0", "h0");
    let held = column(&out, "ports", "queue_max_bytes");
    println!("{} B wait at the last port, at most {:?} B", held[edge], held.iter().max());
    // Two queues upstream share the last port's fifteen flows.
    assert!(held[edge] < 15 * 57_500, "{}", held[edge]);
}

/// A thousand flows at once, many more than the 32 queues of a port. The bound is of after a first run, in which the last
/// ended after 1.06 times what the last link takes; each repeats its tail-loss probe (RFC 8985, §7), and nothing is lost.
#[test]
fn a_thousand_flows_at_once_lose_nothing() {
    let flows: String = (0..1000).map(|i| flow(&format!("h{}", 1 + i % 15), "h0", "64 kB")).collect();
    let out = run_plain(&fabric("2 MB", &format!("[host_queue]\nlimit = \"8 MB\"\n{flows}")));
    all_arrived(&out, 64_000);
    let least = 1000.0 * (64_000.0 / MSS as f64).ceil() * 120e-9;
    let fct = out.summary("fct_max_s").expect("it ends");
    println!("{fct} where {least} is the least");
    assert!(fct < 1.1 * least, "{fct} and not {least}");
    assert_eq!(total(&out, "ports", "drops_queue") + total(&out, "flows", "lost_packets"), 0);
    assert!(total(&out, "flows", "retransmitted_packets") <= 1000);
}

/// Two flows over one core link, the first to a host that 14 others send to as well, the second to an idle one.
fn victim(scheme: &str, more: &str) -> (f64, u64) {
    let flows = incast(14, "2 MB") + "group = \"incast\"\n" + &flow("h15", "h1", "2 MB");
    let text = fabric("1 MB", &(more.to_owned() + &flows)).replace("\"bfc\"", &format!("\"{scheme}\""));
    let out = run_plain(&text);
    let fct = *out.table("flows").expect("flows").f64("fct_s").last().expect("a flow");
    (fct, total(&out, "ports", "drops_queue"))
}

/// Backpressure by flow holds no flow back that does not go where the jam is.
#[test]
fn a_flow_beside_an_incast_is_not_held_back() {
    let (bfc, drops) = victim("bfc", "");
    let (pfc, _) = victim("fixed-window", "[pfc]\n[schemes.fixed-window]\nwindow = 400\n");
    let alone = (2_000_000f64 / MSS as f64).ceil() * 120e-9;
    println!("{bfc} with BFC, {pfc} with PFC, {alone} alone");
    assert_eq!(drops, 0);
    assert!(bfc < 2.2 * alone + 40e-6, "{bfc} and not {alone}: two flows share a link at most");
    assert!(pfc > 1.5 * bfc, "{pfc}: PFC stops whatever comes over the same links");
}

/// More flows than queues: they share, nothing is lost, and all end.
#[test]
fn flows_without_a_queue_of_their_own_share() {
    let text =
        fabric("1 MB", &("[schemes.bfc]\nqueues = 2\n[measure]\nseries = true\n".to_owned() + &incast(15, "300 kB")));
    let out = same_with_threads_and_as_bytes(&text, 2);
    all_arrived(&out, 300_000);
    assert_eq!(total(&out, "ports", "drops_queue"), 0);
    assert!(most(&out, "port:e0.0>h0", "queued_flows") > 2.0);
}

/// Frames that are lost, a router that restarts, a link that fails: flows end.
#[test]
fn every_byte_arrives_when_frames_are_lost_a_router_restarts_or_a_link_fails() {
    let faults = [
        "[[fault]]\nkind = \"restart\"\nnode = \"a0.0\"\nat = \"200 us\"\n",
        "[[fault]]\nkind = \"link-down\"\nlink = [\"e0.0\", \"a0.0\"]\nat = \"200 us\"\nuntil = \"400 us\"\n",
        "[[vary]]\nlink = [\"e0.0\", \"a0.0\"]\nloss = { p = \"100 %\", r = \"100 %\", good = \"2 %\", bad = \"2 %\" }\n",
    ];
    for fault in faults {
        let text =
            fabric("300 kB", &(fault.to_owned() + "[schemes.bfc]\nmin_rto = \"1 ms\"\n" + &incast(15, "500 kB")));
        let out = run_plain(&text.replace("stop = \"100 ms\"", "stop = \"5 s\""));
        all_arrived(&out, 500_000);
    }
}

/// Flows of others cross BFC's routers: they have queues there, and are not paused.
#[test]
fn others_flows_have_queues_and_their_own_control() {
    let flows = incast(7, "1 MB") + &incast(15, "1 MB").replace("size", "scheme = \"cubic\"\nsize");
    let out = run_plain(&fabric("300 kB", &flows).replace("stop = \"100 ms\"", "stop = \"5 s\""));
    all_arrived(&out, 1_000_000);
}

/// A fabric of leaves and spines, its queues, and who sends to whom.
fn fabrics() -> impl Strategy<Value = String> {
    let shape = (2usize..5, 1usize..4, 1usize..5, prop_oneof![Just(10u32), Just(100), Just(400)], 100u32..5000);
    let scheme =
        (1u32..40, prop_oneof![Just(""), Just("sticky = \"0 s\"\n"), Just("first_packet_first = true\n")], 20u32..800);
    let flows = prop::collection::vec((0usize..20, 0usize..20, 1u32..300_000, 0u32..30), 1..14);
    (shape, scheme, flows, any::<u16>()).prop_map(|(shape, scheme, flows, seed)| {
        let (leaves, spines, hosts, gbps, delay) = shape;
        let (queues, more, limit) = scheme;
        let link = format!("rate = \"{gbps} Gbps\", delay = \"{delay} ns\"");
        let links = fabric::links((leaves, spines, hosts), &link);
        let flows = fabric::flows(flows, leaves * hosts);
        format!(
            "seed = {seed}\nscheme = \"bfc\"\nstop = \"60 s\"\n[topology]\n{links}[queue]\nlimit = \"{limit} kB\"\n\
            [schemes.bfc]\nqueues = {queues}\n{more}{flows}"
        )
    })
}

proptest! {
    #![proptest_config(cases(16))]

    /// Every byte arrives once, and where a port has room for all of the windows nothing is dropped; the same with threads
    /// and as bytes.
    #[test]
    fn every_byte_arrives_once_whatever_is_paused(text in fabrics()) {
        prop_assume!(text.contains("[[flow]]"));
        let out = fabric::every_byte_arrives_once(&text);
        if total(&out, "ports", "drops_queue") == 0 {
            prop_assert_eq!(total(&out, "flows", "lost_packets"), 0, "{}", text);
        }
    }
}
