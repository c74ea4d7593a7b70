//! RPM on one router among plain ones, under unmodified TCPs.

use crate::common::reads::{delivered, last, series};
use crate::common::{port, run_plain, same_with_threads_and_as_bytes};
use midpath_sim::{RunOptions, RunOutput};

/// One-way delays: of the sender's side up to the bottleneck's router, and from there to the
/// receiver, in ms.
const BEFORE: f64 = 6.0;
const BEHIND: f64 = 21.0;

/// s – r0 – r1 – r2 – d. The bottleneck is r1's port to r2, with RPM at r1 alone.
fn line(tcp: &str, mode: &str, params: &str, queue: &str, rest: &str) -> String {
    let (stop, interval) = if rest == ONE { (20, "250 us") } else { (10, "50 ms") };
    format!(
        r#"
scheme = "{tcp}"
stop = "{stop} s"
[schemes.{tcp}]
ecn = true
delayed_ack = false
[topology]
links = [
    {{ a = "s", b = "r0", rate = "1 Gbps", delay = "5 ms" }},
    {{ a = "r0", b = "r1", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "r1", b = "r2", rate = "10 Mbps", delay = "1 ms" }},
    {{ a = "r2", b = "d", rate = "1 Gbps", delay = "20 ms" }},
]
nodes = [{{ name = "s", kind = "host" }}, {{ name = "d", kind = "host" }}]
[queue]
limit = "1000 packets"
[queues.ours]
limit = "1000 packets"
{queue}
[[deploy]]
scheme = "rpm"
nodes = ["r1"]
queue = "ours"
params = {{ mode = "{mode}", {params} }}
{rest}
[measure]
series = true
interval = "{interval}"
points = 80000
"#
    )
}

const ONE: &str = "[[flow]]\nfrom = \"s\"\nto = \"d\"\n";

/// From a signal at the bottleneck after a quiet time to the sender's next smaller window, in ms,
/// once the link is full and ACKs come one by one: the median.
fn reaction(tcp: &str, mode: &str) -> f64 {
    let out = run_plain(&line(tcp, mode, "", "", ONE));
    assert_eq!(of_port(&out, "drops_queue", "r1", "r2"), 0, "it is the signal that lowers the window");
    let signals = if mode == "fwd" { "rpm_marked" } else { "rpm_signals" };
    let signals = series(&out, "port:r1>r2", signals);
    let cwnd = series(&out, "flow:0", "cwnd_bytes");
    let lowered: Vec<f64> = cwnd.windows(2).filter(|w| w[1].1 < w[0].1).map(|w| w[1].0).collect();
    let (mut quiet_since, mut took) = (2.0, Vec::new());
    for at in signals.windows(2).filter(|w| w[1].1 > w[0].1 && w[1].0 > 2.0).map(|w| w[1].0) {
        if at - quiet_since > 0.06
            && let Some(down) = lowered.iter().find(|down| **down >= at)
        {
            took.push(1e3 * (down - at));
        }
        quiet_since = at;
    }
    assert!(took.len() >= 3, "{tcp}, {mode}: {took:?}");
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

/// The paper's point: the way from the bottleneck to the receiver and back is saved. What comes on
/// top is the wait for the next ACK (up to a packet's 1.2 ms) or the marked packet's own 1.2 ms,
/// and samples of 0.25 ms.
#[test]
#[ignore = "nightly"]
fn the_sender_reacts_sooner_by_the_way_to_the_receiver_and_back() {
    for tcp in ["newreno", "cubic", "dctcp"] {
        let (rpm, fwd) = (reaction(tcp, "rpm"), reaction(tcp, "fwd"));
        println!("{tcp}: {rpm:.2} ms with RPM, {fwd:.2} ms with CE marks");
        assert!((BEFORE - 0.25..BEFORE + 1.75).contains(&rpm), "{tcp}: {rpm} ms");
        let whole = BEFORE + 2.0 * BEHIND;
        assert!((whole + 0.95..whole + 1.75).contains(&fwd), "{tcp}: {fwd} ms");
    }
}

fn mean_delay(out: &RunOutput, node: &str, peer: &str) -> f64 {
    out.table("ports").unwrap().f64("delay_mean_s")[port(out, node, peer)]
}

fn of_port(out: &RunOutput, column: &str, node: &str, peer: &str) -> u64 {
    out.table("ports").unwrap().u64(column)[port(out, node, peer)]
}

/// All modes, AQMs, schedulers and registers: what is sent arrives, and each kind of signal is used
/// where it is meant to be.
#[test]
fn every_mode_delivers_every_byte() {
    let flows = "[[flow]]\nfrom = \"s\"\nto = \"d\"\nsize = \"1 MB\"\ncount = 4\njitter = \"100 ms\"\n";
    let codel = "kind = \"codel\"\ntarget = \"2 ms\"\ninterval = \"30 ms\"\n";
    let queues = [
        String::new(),
        codel.to_owned(),
        format!("{codel}variant = \"data-plane\"\n"),
        format!("{codel}scheduler = \"drr\"\n"),
        "kind = \"delay-step\"\ntarget = \"3 ms\"\n".to_owned(),
        "kind = \"red\"\n".to_owned(),
    ];
    for (i, queue) in queues.iter().enumerate() {
        for mode in ["off", "drop", "fwd", "rpm", "both"] {
            for params in ["", "registers = \"plain\"", "aggregate = true", "size = 1"] {
                // A third of these will do.
                if !params.is_empty() && (i + params.len()) % 3 > 0 {
                    continue;
                }
                let tcp = ["newreno", "cubic", "dctcp"][(i + mode.len()) % 3];
                let out = run_plain(&line(tcp, mode, params, queue, flows));
                (0..4).for_each(|f| assert_eq!(delivered(&out, f), 1_000_000, "{tcp}, {mode}, {params}, {queue}"));
                let [marks, drops] = ["marks", "drops_aqm"].map(|c| of_port(&out, c, "r1", "r2"));
                let told = if matches!(mode, "rpm" | "both") { last(&out, "port:r1>r2", "rpm_told") } else { 0.0 };
                let seen = (marks > 0, drops > 0, told > 0.0);
                // Retransmissions are not ECN-capable, so an AQM may drop in any mode; a single
                // register collides.
                let expected = match mode {
                    "off" => (false, false, false),
                    "drop" => (false, true, false),
                    "fwd" => (true, seen.1, false),
                    "rpm" => (seen.0, seen.1, true),
                    _ => (true, seen.1, true),
                };
                assert_eq!(seen, expected, "{tcp}, {mode}, {params}, {queue}");
                if mode == "rpm" && params.is_empty() {
                    // Each flow's register is its own, and its ACKs come back.
                    assert_eq!(marks, 0, "{tcp}, {queue}");
                }
            }
        }
    }
}

/// Where ECE is part of a counter (RFC 9768), ACKs are left alone.
#[test]
fn accurate_ecn_is_told_forward() {
    let text = line("cubic", "rpm", "", "", "[[flow]]\nfrom = \"s\"\nto = \"d\"\ncount = 4\n");
    let out = run_plain(&text.replace("ecn = true", "ecn = \"accurate\""));
    assert_eq!((last(&out, "port:r1>r2", "rpm_told"), last(&out, "port:r1>r2", "rpm_signals")), (0.0, 0.0));
    assert!(last(&out, "port:r1>r2", "rpm_marked") > 20.0);
}

#[test]
fn a_run_is_the_same_with_more_threads_and_as_bytes() {
    let flows = "[[flow]]\nfrom = \"s\"\nto = \"d\"\ncount = 6\njitter = \"300 ms\"\n";
    let text = line("cubic", "rpm", "size = 4", "", flows);
    same_with_threads_and_as_bytes(&text, 3);
}

/// Two ways between a and e, chosen by hash there and back: about half of the flows come back
/// another way than they go.
fn diamond(mode: &str, params: &str) -> RunOutput {
    run_plain(&format!(
        r#"
scheme = "cubic"
stop = "20 s"
[schemes.cubic]
ecn = true
[topology]
links = [
    {{ a = "s", b = "a", rate = "1 Gbps", delay = "5 ms" }},
    {{ a = "a", b = "b", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "a", b = "c", rate = "1 Gbps", delay = "1 ms" }},
    {{ a = "b", b = "e", rate = "40 Mbps", delay = "1 ms" }},
    {{ a = "c", b = "e", rate = "40 Mbps", delay = "1 ms" }},
    {{ a = "e", b = "d", rate = "1 Gbps", delay = "5 ms" }},
]
nodes = [{{ name = "s", kind = "host" }}, {{ name = "d", kind = "host" }}]
[queue]
limit = "1000 packets"
[[deploy]]
scheme = "rpm"
nodes = ["b", "c"]
params = {{ mode = "{mode}", {params} }}
[[flow]]
from = "s"
to = "d"
count = 24
jitter = "1 s"
[measure]
series = true
"#
    ))
}

#[test]
fn flows_whose_acks_come_back_elsewhere_are_told_forward() {
    let (rpm, fwd) = (diamond("rpm", ""), diamond("fwd", ""));
    for node in ["b", "c"] {
        let (told, marked) =
            (last(&rpm, &format!("port:{node}>e"), "rpm_told"), last(&rpm, &format!("port:{node}>e"), "rpm_marked"));
        assert!(told > 20.0 && marked > 20.0, "{node}: {told} told, {marked} marked");
        let delays = [&rpm, &fwd].map(|out| mean_delay(out, node, "e"));
        println!("{node}: {told} told, {marked} marked; mean delay of RPM and FWD {delays:?} s");
        assert!(delays[0] < 1.5 * delays[1], "{node}: {delays:?}");
    }
    // As printed, algorithm 1 is silent towards them, and their queue fills.
    let plain = diamond("rpm", "registers = \"plain\"");
    let worst = ["b", "c"].map(|node| mean_delay(&plain, node, "e") / mean_delay(&rpm, node, "e"));
    println!("plain registers: {worst:?} times the delay");
    assert!(worst.iter().all(|times| *times > 3.0), "{worst:?}");
}

/// Flows that share the few registers there are with others are told forward: the queue is as
/// short.
#[test]
fn flows_without_a_register_are_told_forward() {
    let flows = "[[flow]]\nfrom = \"s\"\nto = \"d\"\ncount = 16\njitter = \"300 ms\"\n";
    let outs = ["size = 65536", "size = 4"].map(|size| run_plain(&line("newreno", "rpm", size, "", flows)));
    let collisions = outs.each_ref().map(|out| last(out, "port:r1>r2", "rpm_collisions"));
    assert!(collisions[0] == 0.0 && collisions[1] > 20.0, "{collisions:?}");
    let delays = outs.each_ref().map(|out| mean_delay(out, "r1", "r2"));
    println!("{collisions:?} collisions, mean delays {delays:?} s");
    assert!(delays[1] < 1.5 * delays[0], "{delays:?}");
}

#[test]
fn what_has_no_effect_is_refused() {
    let error = |text: &str| {
        midpath_sim::run_text(text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true)
            .map(|_| ())
            .expect_err(text)
            .to_string()
    };
    let e = error(&line("cubic", "backward", "", "", ONE));
    assert!(e.contains("params.mode") && e.contains("fwd"), "{e}");
    let e = error(&line("cubic", "rpm", "size = 0", "", ONE));
    assert!(e.contains("params.size: must be from 1"), "{e}");
    let e = error(&line("cubic", "rpm", "", "kind = \"codel\"\nsignal = \"drop\"", ONE));
    assert!(e.contains("queues.ours.signal: must be \"ce\""), "{e}");
}
