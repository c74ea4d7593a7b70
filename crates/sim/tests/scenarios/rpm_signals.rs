//! RPM where its signal has a hard way: ACKs that are few, late or lost, two congested hops,
//! congestion on the way back.

use crate::common::reads::{last, series, series_after};
use crate::common::{port, run_plain};
use midpath_sim::RunOutput;

/// s – r0 – r1 – r2 – d with 12 ms of round trip, x beside d and y beside s. RPM at r1 and r2 (or
/// their CE marks); r1's port to r2 is the bottleneck.
struct Net<'a> {
    tcp: &'a str,
    delayed_ack: u32,
    mode: &'a str,
    params: &'a str,
    queue: &'a str,
    /// r2's rate to r1, which ACKs take; and r0's rate to s.
    back: &'a str,
    last_hop: &'a str,
    /// r2's rate to r3: a second bottleneck if it is small.
    second: &'a str,
    flows: &'a str,
}

const PLAIN: Net<'_> = Net {
    tcp: "newreno",
    delayed_ack: 1,
    mode: "rpm",
    params: "",
    queue: "kind = \"codel\"\ntarget = \"2 ms\"\ninterval = \"30 ms\"",
    back: "1 Gbps",
    last_hop: "1 Gbps",
    second: "1 Gbps",
    flows: "[[flow]]\nfrom = \"s\"\nto = \"d\"\n",
};

impl Net<'_> {
    fn text(&self) -> String {
        let Net { tcp, delayed_ack, mode, params, queue, back, last_hop, second, flows } = self;
        format!(
            r#"
scheme = "{tcp}"
stop = "20 s"
[schemes.{tcp}]
ecn = true
delayed_ack = {delayed_ack}
min_rto = "200 ms"
[topology]
links = [
    {{ a = "s", b = "r0", rate = "1 Gbps", rate_back = "{last_hop}", delay = "2 ms" }},
    {{ a = "y", b = "r0", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "r0", b = "r1", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "r1", b = "r2", rate = "10 Mbps", rate_back = "{back}", delay = "1 ms" }},
    {{ a = "r2", b = "r3", rate = "{second}", rate_back = "1 Gbps", delay = "1 ms" }},
    {{ a = "r3", b = "d", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "r2", b = "x", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "r1", b = "z", rate = "1 Gbps", delay = "1 ms" }},
]
[queue]
limit = "300 packets"
[queues.ours]
limit = "300 packets"
{queue}
[queues.few]
limit = "20 packets"
[[deploy]]
scheme = "rpm"
nodes = ["r1", "r2"]
queue = "ours"
params = {{ mode = "{mode}", {params} }}
{flows}
[measure]
series = true
interval = "500 us"
points = 80000
"#
        )
    }

    fn run(&self) -> RunOutput {
        run_plain(&self.text())
    }
}

fn of_port(out: &RunOutput, column: &str, node: &str, peer: &str) -> f64 {
    let (ports, at) = (out.table("ports").unwrap(), port(out, node, peer));
    ports.f64(column).get(at).copied().unwrap_or_else(|| ports.u64(column)[at] as f64)
}

/// Times at which a series rises, or falls.
fn steps(out: &RunOutput, entity: &str, metric: &str, up: bool) -> Vec<f64> {
    let moved = |w: &[(f64, f64)]| if up { w[1].1 > w[0].1 } else { w[1].1 < w[0].1 };
    series(out, entity, metric).windows(2).filter(|w| moved(w)).map(|w| w[1].0).collect()
}

const PORT: &str = "port:r1>r2";

/// The ACK that was told is lost, by a burst on the last hop back: the sender hears of nothing, the
/// queue goes on, and the AQM chooses again.
#[test]
#[ignore = "nightly"]
fn a_lost_ack_is_a_lost_signal_and_the_aqm_says_it_again() {
    let one = Net { last_hop: "20 Mbps\", queue = \"few", ..PLAIN };
    let plain = one.run();
    // A signal of congestion avoidance: the last one before it is long ago.
    let signals = steps(&plain, PORT, "rpm_told", true);
    let at = signals.windows(2).find(|w| w[0] > 2.0 && w[1] - w[0] > 0.08).expect("the saw-tooth is slow")[1];
    let fell = |out: &RunOutput| steps(out, "flow:0", "cwnd_bytes", false).into_iter().find(|t| *t > at - 1e-3);
    let before = fell(&plain).expect("the sender reacts") - at;
    // The ACK is at r0 a millisecond later. 270 datagrams at once leave it no room there.
    let flows = format!(
        "{}[[flow]]\nfrom = \"y\"\nto = \"s\"\nscheme = \"udp\"\nrate = \"900 Mbps\"\nsize = \"400 kB\"\nstart = \"{} us\"\n",
        one.flows,
        (1e6 * (at - 0.0020)) as u64
    );
    let cut = Net { flows: &flows, ..one }.run();
    assert!(of_port(&cut, "drops_queue", "r0", "s") > 0.0);
    let same =
        |out: &RunOutput| series(out, PORT, "rpm_told").into_iter().filter(|v| v.0 < at - 0.003).collect::<Vec<_>>();
    assert!(same(&cut) == same(&plain), "until then it is the same run");
    let told: Vec<f64> = steps(&cut, PORT, "rpm_told", true).into_iter().filter(|t| *t > at - 1e-3).collect();
    let after = fell(&cut).expect("the sender reacts in the end") - at;
    println!(
        "window falls {:.1} ms after the signal, {:.1} ms if its ACK is lost; told at {told:.4?}",
        1e3 * before,
        1e3 * after
    );
    assert!(before < 0.0055, "{before}");
    // CoDel's next mark is an interval of 30 ms away.
    assert!(after > before + 0.01 && after < 0.1, "{after}");
}

/// With an ACK per two packets each told ACK speaks for two: DCTCP's fraction is twice the AQM's.
#[test]
fn dctcp_counts_twice_the_fraction_with_an_ack_per_two_packets() {
    let share = |delayed_ack: u32, mode: &str| {
        let queue = "kind = \"step\"\nthreshold = \"12 packets\"";
        let out = Net { tcp: "dctcp", delayed_ack, queue, mode, ..PLAIN }.run();
        let counter = if mode == "fwd" { "rpm_marked" } else { "rpm_signals" };
        let chosen = last(&out, PORT, counter);
        let packets = out.table("flows").unwrap().u64("sent_packets")[0] as f64;
        (
            chosen / packets,
            of_port(&out, "queue_mean_bytes", "r1", "r2") / 1500.0,
            of_port(&out, "utilisation", "r1", "r2"),
        )
    };
    let [each, two, fwd] = [share(1, "rpm"), share(2, "rpm"), share(2, "fwd")];
    println!(
        "share chosen, packets waiting, utilisation: RPM with each packet acknowledged {each:.3?}, every other {two:.3?}; forward {fwd:.3?}"
    );
    // The window that DCTCP settles at needs one told fraction: half of it has to be chosen.
    assert!(two.0 < 0.75 * each.0, "{two:?} {each:?}");
    assert!(two.0 < 0.75 * fwd.0, "{two:?} {fwd:?}");
    assert!(two.2 > 0.97 * fwd.2, "{two:?} {fwd:?}");
}

/// Above one choice in two there are not enough ACKs: signals pile up, and the paper's counters tell them when
/// congestion is long over. Guarded registers let them go with their queue; `register_max = 1` ends that, too.
#[test]
#[ignore = "nightly"]
fn signals_pile_up_above_one_choice_in_two_and_go_with_their_queue() {
    // At 18 s the bottleneck is none any more.
    const OVER: f64 = 18.0;
    let after = |params: &str| {
        let flows = "[[flow]]\nfrom = \"s\"\nto = \"d\"\ncount = 30\n[[fault]]\nat = \"18 s\"\nkind = \"rate\"\n\
            link = [\"r1\", \"r2\"]\nrate = \"2 Gbps\"\n";
        let queue = "kind = \"step\"\nthreshold = \"5 packets\"";
        let out = Net { tcp: "dctcp", delayed_ack: 2, queue, params, flows, ..PLAIN }.run();
        let at = |metric: &str, time: f64| series(&out, PORT, metric).into_iter().rfind(|v| v.0 <= time).unwrap().1;
        let late = at("rpm_told", 20.0) - at("rpm_told", OVER);
        let goodput = series_after(&out, "group:flows", "goodput_bps", OVER + 0.1);
        let mean = goodput.iter().map(|g| g.1).sum::<f64>() / goodput.len() as f64;
        (at("rpm_signals", OVER) / at("rpm_told", OVER), late, mean / 1e6)
    };
    let counters = after("registers = \"plain\"");
    for params in ["", "register_max = 1"] {
        let bounded = after(params);
        println!(
            "chosen per told, told late, Mbps when the link is free: plain {counters:.2?}, {params:?} {bounded:.2?}"
        );
        assert!(counters.0 > 1.5 && bounded.0 > 1.5, "more is chosen than can be told");
        assert!(counters.1 > 1000.0 && bounded.1 <= 90.0, "{params:?}: {counters:?} {bounded:?}");
        assert!(bounded.2 > 5.0 * counters.2, "{params:?}: {counters:?} {bounded:?}");
    }
}

/// ACKs that wait on their way back bring either signal late, but RPM's only by the part of the way
/// that is before its switch.
#[test]
fn congestion_on_the_way_back_behind_the_switch_does_not_delay_rpm() {
    let delay = |mode: &str, from: &str, back: &str, last_hop: &str| {
        // A tenth of the link more than fits, with ACKs.
        let (to, rate) = if from == "x" { ("z", "1.9 Mbps") } else { ("s", "1.9 Mbps") };
        let flows = format!(
            "{}[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nscheme = \"udp\"\nrate = \"{rate}\"\nstart = \"1 s\"\n",
            PLAIN.flows
        );
        let out = Net { mode, back, last_hop, flows: &flows, ..PLAIN }.run();
        (1e3 * of_port(&out, "delay_mean_s", "r1", "r2"), of_port(&out, "utilisation", "r1", "r2"))
    };
    // Between r2 and r1: ACKs are told as they come in at r1, so they have that behind them.
    // Between r0 and s: both signals wait.
    for (where_, from, back, last_hop) in [("r2 to r1", "x", "2 Mbps", "1 Gbps"), ("r0 to s", "y", "1 Gbps", "2 Mbps")]
    {
        let (rpm, fwd) = (delay("rpm", from, back, last_hop), delay("fwd", from, back, last_hop));
        println!("congestion from {where_}: mean delay and utilisation with RPM {rpm:.2?}, with CE {fwd:.2?}");
        assert!(rpm.0 < 1.15 * fwd.0 + 0.5, "{where_}: {rpm:?} {fwd:?}");
        assert!(rpm.1 > 0.95 * fwd.1, "{where_}: {rpm:?} {fwd:?}");
    }
}

/// A long flow over two congested hops, one flow across each: both switches tell the long flow, and
/// none of the signals is lost on the other.
#[test]
#[ignore = "nightly"]
fn two_congested_hops_in_a_row_both_tell() {
    let run = |mode: &str| {
        let flows = "[[flow]]\nfrom = \"s\"\nto = \"d\"\n[[flow]]\nfrom = \"s\"\nto = \"x\"\n[[flow]]\nfrom = \"x\"\nto = \"d\"\n";
        let out = Net { tcp: "cubic", mode, second: "10 Mbps", flows, ..PLAIN }.run();
        let goodput = out.table("flows").unwrap().f64("goodput_bps").to_vec();
        let delays = [("r1", "r2"), ("r2", "r3")].map(|(a, b)| 1e3 * of_port(&out, "delay_mean_s", a, b));
        let used = [("r1", "r2"), ("r2", "r3")].map(|(a, b)| of_port(&out, "utilisation", a, b));
        (out, goodput[0] / (goodput[1] + goodput[2]) * 2.0, delays, used)
    };
    let (rpm, fwd) = (run("rpm"), run("fwd"));
    println!(
        "long over short flows, mean delays in ms, utilisations: RPM {:.2?}, CE {:.2?}",
        (rpm.1, rpm.2, rpm.3),
        (fwd.1, fwd.2, fwd.3)
    );
    for port in [PORT, "port:r2>r3"] {
        let (signals, told) = (last(&rpm.0, port, "rpm_signals"), last(&rpm.0, port, "rpm_told"));
        assert!(told > 20.0 && signals - told <= 3.0, "{port}: {told} of {signals} told");
        assert_eq!(last(&rpm.0, port, "rpm_marked"), 0.0, "{port}");
    }
    for i in 0..2 {
        assert!(rpm.2[i] < 1.2 * fwd.2[i] + 0.5 && rpm.3[i] > 0.95 * fwd.3[i], "{:?} {:?}", rpm.2, fwd.2);
    }
}
