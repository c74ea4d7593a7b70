//! FCP while things change: flows that leave, many that start, a restart, an outage. Losses are
//! held against NewReno's on the same scenario.

use crate::common::run;
use midpath_sim::{RunOptions, RunOutput};

/// A dumbbell of `pairs`, and what happens on it.
fn dumbbell(pairs: usize, rate: &str, delay: &str, rest: &str) -> String {
    format!(
        r#"
stop = "10 s"
scheme = "fcp"
[topology]
generate = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "{rate}", delay = "{delay}" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}
[queue]
limit = "100 ms"
{rest}"#
    )
}

fn flows(n: usize, apart_ms: usize) -> String {
    let flow = |i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{} ms\"\n", i * apart_ms);
    (0..n).map(flow).collect()
}

fn with(text: &str, scheme: &str) -> RunOutput {
    run(text, &RunOptions { scheme: Some(scheme.into()), ..RunOptions::default() })
}

fn lost(out: &RunOutput) -> f64 {
    out.summary("lost_packets").expect("counted")
}

fn goodput(out: &RunOutput) -> f64 {
    out.summary("goodput_total_bps").expect("measured")
}

/// FCP loses at most what NewReno loses, and carries at least `least` of what that carries.
fn against_newreno(what: &str, text: &str, least: f64) {
    let (fcp, newreno) = (with(text, "fcp"), with(text, "newreno"));
    println!(
        "{what}: FCP loses {} and NewReno {}; goodput {:.3e} and {:.3e}",
        lost(&fcp),
        lost(&newreno),
        goodput(&fcp),
        goodput(&newreno)
    );
    assert!(lost(&fcp) <= lost(&newreno), "{what}");
    assert!(goodput(&fcp) >= least * goodput(&newreno), "{what}");
}

#[test]
fn a_large_budget_leaves() {
    let text = dumbbell(
        2,
        "100 Mbps",
        "18 ms",
        "[schemes.fcp]\nhosts = { s1 = { budget = 10.0 } }\n[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nstart = \"2 s\"\nsize = \"20 MB\"\n",
    );
    against_newreno("a large budget leaves", &text, 0.95);
    // The paper's equation (4) lets the price fall to the minimum.
    let paper = text.replace("[schemes.fcp]\n", "[schemes.fcp]\nnetwork = { additions = { least_income = 0.0 } }\n");
    assert!(lost(&with(&paper, "fcp")) > 1000.0);
}

#[test]
fn a_router_restarts() {
    let text = dumbbell(
        5,
        "100 Mbps",
        "18 ms",
        &format!("[[fault]]\nkind = \"restart\"\nat = \"4 s\"\nnode = \"r0\"\n{}", flows(5, 0)),
    );
    against_newreno("a router restarts", &text, 0.95);
    let paper = text.replace("[[fault]]", "[schemes.fcp.network.additions]\ntrust_balance = false\n[[fault]]");
    assert!(lost(&with(&paper, "fcp")) > 10_000.0);
}

/// What is lost when all has been sent is repaired at the flow's rate: repairs are data that need a
/// budget, too.
#[test]
fn the_end_of_a_flow_is_lost() {
    for (size, start) in [("500 kB", 100), ("500 kB", 120), ("500 kB", 140), ("1 MB", 160)] {
        let stop = start + 500;
        // Ten times what the link carries, from a host that pays nothing.
        let flood = format!(
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nscheme = \"udp\"\nrate = \"1 Gbps\"\nstart = \"{start} ms\"\nstop = \"{stop} ms\"\n"
        );
        let flow = format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nsize = \"{size}\"\n");
        let out = with(&dumbbell(2, "100 Mbps", "18 ms", &format!("{flow}{flood}")), "fcp");
        let flows = out.table("flows").expect("there");
        let (took, again) = (flows.f64("fct_s")[0], flows.u64("retransmitted_packets")[0]);
        println!("{size}, flooded from {start} ms: {took} s, {again} packets again");
        // The flood, a queue of 0.1 s, a timeout, and all of it once more with time to spare. With
        // a packet in two round trips it took 6 to 25 s.
        assert!(took < 2.0 && again > 50, "{size}, flooded from {start} ms: {took} s, {again} packets again");
    }
}

#[test]
fn a_link_is_down() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"3 s\"\nuntil = \"5 s\"\n";
    let text = dumbbell(4, "50 Mbps", "5 ms", &format!("{fault}{}", flows(4, 0)));
    against_newreno("a link is down", &text, 0.9);
}

#[test]
fn a_link_is_slower_for_a_while() {
    let fault = |at, rate| {
        format!("[[fault]]\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nat = \"{at} s\"\nrate = \"{rate} Mbps\"\n")
    };
    let text = dumbbell(4, "50 Mbps", "5 ms", &format!("{}{}{}", fault(3, 5), fault(6, 50), flows(4, 0)));
    against_newreno("a link is slower for a while", &text, 0.9);
}

#[test]
fn there_are_more_flows_than_packets_in_a_round_trip() {
    // A window of 32 packets is six of these round trips, and who has little to spend sends a
    // packet in several. A hundred flows have a twentieth of a packet each: they lose nothing, and
    // the price that they make together leaves most of the link empty.
    for (n, least) in [(20, 0.9), (40, 0.9), (100, 0.1)] {
        against_newreno(&format!("{n} flows"), &dumbbell(n, "10 Mbps", "1 ms", &flows(n, 1000 / n)), least);
    }
}

#[test]
fn flows_are_stopped() {
    let stopped = |i: usize| {
        let (start, stop) = (i * 100, 3000 + 500 * i);
        format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{start} ms\"\nstop = \"{stop} ms\"\n")
    };
    let text = (0..9).map(stopped).collect::<String>() + "[[flow]]\nfrom = \"s9\"\nto = \"d9\"\n";
    against_newreno("flows are stopped", &dumbbell(10, "50 Mbps", "5 ms", &text), 0.9);
}

/// Shorter than any timeout, longer than d: the first packets afterwards pay for one d what all had
/// paid before. Without `hold` they were told a small part of the price, and senders flooded the
/// link.
#[test]
fn an_outage_shorter_than_a_timeout() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"4 s\"\nuntil = \"4.7 s\"";
    for (rate, delay) in [("15 Mbps", "1 ms"), ("100 Mbps", "5 ms"), ("5 Mbps", "20 ms")] {
        let text = dumbbell(3, rate, delay, &format!("{}{fault}", flows(3, 300)));
        against_newreno(&format!("0.7 s without a link of {rate}, {delay}"), &text, 0.94); // 2.7 % are FCP's header
        let before = format!("{text}\n[schemes.fcp.network.additions]\nhold = false");
        println!("without `hold`: {} lost", lost(&with(&before, "fcp")));
    }
}
