//! FCP while things change: flows that leave, many that start, a restart, an outage. Losses are
//! held against NewReno's on the same scenario.

use crate::common::reads::{delivered, last, series_after};
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
    let paper = text.replace("[schemes.fcp]\n", "[schemes.fcp]\nwithout = [\"least_income\"]\n");
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
    let paper = text.replace("[[fault]]", "[schemes.fcp]\nwithout = [\"trust_balance\"]\n[[fault]]");
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

/// A flow that began while its host's link was slow takes what the link has later: with the rate of its
/// beginning it got 1.07 of 20 Mbps through an overlay, whose links begin slowly.
#[test]
fn the_hosts_own_link_becomes_faster() {
    let fault = |link: &str| format!("[[fault]]\nkind = \"rate\"\nlink = [{link}]\nat = \"2 s\"\nrate = \"40 Mbps\"\n");
    let faults = fault("\"s0\", \"r0\"") + &fault("\"r1\", \"d0\"");
    let text = dumbbell(1, "100 Mbps", "18 ms", &format!("{faults}{}", flows(1, 0)));
    let text = text.replace("access = { rate = \"1 Gbps\"", "access = { rate = \"10 Mbps\"");
    against_newreno("the host's link becomes faster", &text, 0.8);
}

#[test]
fn there_are_more_flows_than_packets_in_a_round_trip() {
    // A window of 32 packets is six of these round trips, and who has little to spend sends a
    // packet in several. A hundred flows have a twentieth of a packet each.
    for (n, least) in [(20, 0.9), (40, 0.9), (100, 0.9)] {
        against_newreno(&format!("{n} flows"), &dumbbell(n, "10 Mbps", "1 ms", &flows(n, 1000 / n)), least);
    }
}

/// What the bottleneck sends, as a share of its rate, and what queues drop, as a share of what
/// senders send.
fn used_and_lost(text: &str, scheme: &str) -> (f64, f64) {
    let out = with(text, scheme);
    let table = out.table("ports").expect("measured");
    let used = table.f64("utilisation").iter().copied().fold(0.0, f64::max);
    (used, lost(&out) / out.summary("sent_packets").expect("counted"))
}

fn without(text: &str, addition: &str) -> String {
    format!("{text}\n[schemes.fcp]\nwithout = [\"{addition}\"]\n")
}

/// A share of 3.5 packets a second, less than a tenth of one in a round trip. Each SYN raised the
/// price by what ten packets cost at it, to many times what all could pay.
#[test]
fn a_crowd_begins_at_once() {
    let text = dumbbell(48, "2 Mbps", "8 ms", &flows(48, 0));
    let ((used, lost), newreno) = (used_and_lost(&text, "fcp"), used_and_lost(&text, "newreno"));
    let off = used_and_lost(&without(&text, "opening_budget"), "fcp");
    println!("used and lost: {used:.3}, {lost:.3}; NewReno {newreno:.3?}; without `opening_budget` {off:.3?}");
    assert!(used >= 0.9 && lost <= newreno.1 + 0.01);
    assert!(off.1 > newreno.1 + 0.01);
}

/// A share of a packet in 12 s. A packet a second from each would be twelve times what the link
/// carries.
#[test]
fn a_share_is_far_below_a_packet_a_second() {
    let text = dumbbell(500, "500 kbps", "8 ms", &flows(500, 10)).replace("10 s", "60 s");
    let ((used, lost), newreno) = (used_and_lost(&text, "fcp"), used_and_lost(&text, "newreno"));
    let off = used_and_lost(&without(&text, "patience"), "fcp");
    println!("used and lost: {used:.3}, {lost:.3}; NewReno {newreno:.3?}; without `patience` {off:.3?}");
    // What it uses in this minute, five packets of a share, is less than NewReno's: the page says so.
    assert!(lost <= newreno.1 + 0.01 && off.1 > 1.5 * lost);
}

/// A fifth of what comes back is lost. Where that is a SYN-ACK both ends repeat theirs after 10 ms, and TCP knows no round
/// trip of what is answered then: flows were open without a budget, and sent their second packet four seconds later.
#[test]
fn a_flow_whose_handshake_is_repeated_has_a_budget() {
    let flow = |i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"20 kB\"\nstart = \"{} ms\"\n", 20 * i);
    let lossy = r#"
[schemes.fcp]
initial_rto = "10 ms"
min_rto = "10 ms"
[[vary]]
link = ["r1", "r0"]
one_way = true
loss = { p = "100 %", r = "100 %", good = "20 %", bad = "20 %" }
"#;
    let text = (0..40).map(flow).fold(dumbbell(40, "1 Gbps", "5 us", lossy), |text, flow| text + &flow);
    // With the jitter a repeated SYN comes before the SYN-ACK is repeated, or after.
    let text = format!("host_jitter = \"2 us\"{}", text.replace("\"1 ms\"", "\"5 us\""));
    for seed in 1..=3 {
        let out = run(&text, &RunOptions { seed: Some(seed), ..RunOptions::default() });
        let times = out.table("flows").expect("flows").f64("fct_s");
        assert!(times.iter().all(|time| *time < 1.0), "seed {seed}: {times:?}");
    }
}

/// Who found a queue was told a high price, and came back when all did who had found one.
#[test]
fn packets_of_small_shares_do_not_come_in_step() {
    let text = dumbbell(60, "20 Mbps", "6 ms", &flows(60, 0));
    let (on, off) = (used_and_lost(&text, "fcp"), used_and_lost(&without(&text, "spread"), "fcp"));
    println!("used and lost: {on:.3?}; without `spread` {off:.3?}");
    assert!(on.0 >= 0.95 && off.0 < on.0 - 0.02);
}

/// The last round of a flow has less to send than its budget pays for, so it spends less. When the
/// price has risen since, what it spends pays for a packet in more than a second.
#[test]
fn a_flow_whose_last_round_the_price_has_stretched_gets_on() {
    let text = dumbbell(20, "20 Mbps", "10 ms", &flows(20, 0).replace("[[flow]]", "[[flow]]\nsize = \"60 kB\""));
    let longest =
        |text: &str| with(text, "fcp").table("flows").expect("there").f64("fct_s").iter().copied().fold(0.0, f64::max);
    let (on, off) = (longest(&text), longest(&without(&text, "keep_pace")));
    println!("the last of twenty flows is done after {on:.3} s; without `keep_pace` {off:.3} s");
    assert!(on < 0.8 && off > 1.0);
}

/// Two long round trips meet on 0.94 Mbps: flow 0 loses a window, and links forget it. It went on
/// announcing a few per cent of what was left, and took ten seconds from then on.
#[test]
fn who_begins_again_announces_all_that_is_left() {
    let text = r#"
scheme = "fcp"
stop = "12 s"
queue = { limit = "200 ms" }
[schemes.fcp.hosts]
s0 = { budget = 21.7533 }
s1 = { budget = 9.52798 }
s2 = { budget = 0.08632 }
[measure]
series = true
interval = "1 s"
[topology]
links = [
  { a = "r0", b = "r2", rate = "3.71 Mbps", delay = "40.522 ms" },
  { a = "r1", b = "r2", rate = "3.5 Mbps", delay = "0.365 ms" },
  { a = "r1", b = "r4", rate = "0.94 Mbps", delay = "34.464 ms" },
  { a = "s0", b = "r4", rate = "50 Mbps", delay = "95.263 ms" },
  { a = "d0", b = "r0", rate = "50 Mbps", delay = "0.1 ms" },
  { a = "s1", b = "r0", rate = "50 Mbps", delay = "30.137 ms" },
  { a = "d1", b = "r2", rate = "50 Mbps", delay = "0.1 ms" },
  { a = "s2", b = "r1", rate = "50 Mbps", delay = "1.167 ms" },
  { a = "d2", b = "r2", rate = "50 Mbps", delay = "0.1 ms" },
]
nodes = [
  { name = "s0", kind = "host" }, { name = "d0", kind = "host" }, { name = "s1", kind = "host" },
  { name = "d1", kind = "host" }, { name = "s2", kind = "host" }, { name = "d2", kind = "host" },
]
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "s1"
to = "d1"
[[flow]]
from = "s2"
to = "d2"
"#;
    let out = with(text, "fcp");
    let (timeouts, late) = (out.table("flows").expect("there").u64("timeouts")[0], last(&out, "flow:0", "budget"));
    println!("{timeouts} timeouts, then {late} $/s");
    assert!(timeouts > 0 && late > 0.9 * 21.75);
}

/// A budget that grows by half a thousandth, in steps.
#[test]
fn changes_too_small_to_matter_are_not_announced() {
    let grows = "[measure]\nseries = true\ninterval = \"20 ms\"\n[schemes.fcp.groups.grows]\nramp = { from = 0.9995, factor = 1.0001, every = \"50 ms\", start = \"1 s\" }\n";
    let flow = "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\ngroup = \"grows\"\n";
    let text = dumbbell(1, "10 Mbps", "5 ms", &format!("{flow}{grows}")).replace("10 s", "3 s");
    let budget = |text: &str| last(&with(text, "fcp"), "flow:0", "budget");
    let (on, off) = (budget(&text), budget(&without(&text, "noise")));
    println!("{on} $/s are announced; without `noise` {off}");
    assert!((on - 0.9995).abs() < 1e-6 && (off - 1.0).abs() < 1e-6);
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

/// What of the link is not used while one of two flows ends at 4 s, in seconds.
fn idle_after(how: &str) -> (f64, u64) {
    let flow = |i: u32, more: &str| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}\n");
    let measure = "[measure]\nseries = true\ninterval = \"5 ms\"\npoints = 1000\nports = 1\nflows = 0\n";
    let text = dumbbell(2, "100 Mbps", "10 ms", &format!("{measure}{}{}", flow(0, how), flow(1, "")));
    let out = with(&text.replace("stop = \"10 s\"", "stop = \"5 s\""), "fcp");
    let around = series_after(&out, "port:r0>r1", "throughput_bps", 3.9).into_iter().filter(|(at, _)| *at < 4.6);
    (around.map(|(_, bps)| (1.0 - bps / 100e6).max(0.0) * 0.005).sum(), delivered(&out, 0))
}

/// §4.1: "a flow preloads −1 when it is terminating". What a flow leaves that stops is taken as soon as what
/// one leaves whose data run out: 7 ms of the link, 6 after a size. While stops were not announced it was 27.
#[test]
fn who_stops_hands_over_as_who_has_sent_all() {
    let (stop, bytes) = idle_after("stop = \"4 s\"");
    let (size, _) = idle_after(&format!("size = \"{bytes} B\""));
    println!("idle for {stop:.4} s after a stop, {size:.4} after a size");
    assert!(stop < 1.25 * size + 0.001);
}

/// Shorter than any timeout, longer than d: the link has forgotten what all paid, and the first
/// packets afterwards are told a small part of the price. Senders that believe it flood the link.
#[test]
fn an_outage_shorter_than_a_timeout() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"4 s\"\nuntil = \"4.7 s\"";
    for (rate, delay) in [("15 Mbps", "1 ms"), ("100 Mbps", "5 ms"), ("5 Mbps", "20 ms")] {
        let text = dumbbell(3, rate, delay, &format!("{}{fault}", flows(3, 300)));
        // 2.7 % are FCP's header.
        against_newreno(&format!("0.7 s without a link of {rate}, {delay}"), &text, 0.94);
        let stopped = text.replace("stop = \"10 s\"", "stop = \"4.7 s\"");
        assert_eq!(lost(&with(&stopped, "fcp")), lost(&with(&text, "fcp")), "none is lost afterwards");
        assert!(lost(&with(&without(&text, "restart"), "fcp")) > lost(&with(&text, "fcp")) + 200.0);
    }
}

/// The answers to all that senders repeated come together when the link is there again, with the
/// price of them all. Each made a flow wait twice as long as the one before: 32 s in place of 4, and
/// 14 of 32 flows had not ended 54 s after the outage. The first wait is 4 s at most.
#[test]
fn flows_that_begin_while_the_link_is_down_end_soon_after() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"1 s\"\nuntil = \"6 s\"\n";
    let flow = |i| {
        let start = 1000 + 150 * i;
        format!("[[flow]]\nfrom = \"s{0}\"\nto = \"d{0}\"\nsize = \"20 kB\"\nstart = \"{start} ms\"\n", i % 8)
    };
    let text = dumbbell(8, "20 Mbps", "5 ms", &format!("{fault}{}", (0..32).map(flow).collect::<String>()));
    let out = with(&text.replace("stop = \"10 s\"", "stop = \"12 s\""), "fcp");
    println!("{:?} of 32 flows ended", out.summary("completed"));
    assert_eq!(out.summary("completed"), Some(32.0), "six seconds after the outage");
}
