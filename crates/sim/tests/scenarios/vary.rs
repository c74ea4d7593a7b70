//! Links that vary: against closed forms, and under every scheme.

use crate::common::{CARRIERS, cases, port, refused, run_plain, with_scheme};
use midpath_sim::RunOutput;
use proptest::prelude::*;

/// Datagrams at a steady rate over one link that varies.
fn datagrams(rate: &str, vary: &str) -> String {
    format!(
        r#"
stop = "10 s"
[topology]
generate = "chain"
n = 2
link = {{ rate = "10 Mbps", delay = "10 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}
[queue]
limit = "20 kB"
[[flow]]
from = "s0"
to = "d0"
scheme = "udp"
rate = "{rate}"
[[vary]]
link = ["r0", "r1"]
{vary}
"#
    )
}

fn sent(out: &RunOutput, node: &str, peer: &str) -> f64 {
    out.table("ports").expect("ports").u64("bytes")[port(out, node, peer)] as f64 * 8.0
}

fn utilisation(out: &RunOutput, node: &str, peer: &str) -> f64 {
    out.table("ports").expect("ports").f64("utilisation")[port(out, node, peer)]
}

#[test]
fn a_schedule_that_repeats_carries_the_integral_of_its_rate() {
    // Rounds of 1 s: 0.25 s at 10 Mbps, 0.5 s at 2, 0.25 s at 4: 4.5 Mb each.
    let steps = r#"steps = [{ at = "250 ms", rate = "2 Mbps" }, { at = "750 ms", rate = "4 Mbps" }, { at = "0 s", rate = "10 Mbps" }]"#;
    let error = refused(&datagrams("20 Mbps", steps));
    assert!(error.contains("vary[0].steps[2].at: ") && error.contains("is not later"), "{error}");
    let steps = r#"steps = [{ at = "0 s", rate = "10 Mbps" }, { at = "250 ms", rate = "2 Mbps" }, { at = "750 ms", rate = "4 Mbps" }]
repeat = "1 s""#;
    let out = run_plain(&datagrams("20 Mbps", steps));
    let packet = 12_000.0;
    // It begins when the first datagram has come over the access link; a packet at each step may go
    // on at its old rate.
    assert!((sent(&out, "r0", "r1") - 45e6).abs() < 30.0 * packet, "{}", sent(&out, "r0", "r1"));
    assert!(utilisation(&out, "r0", "r1") > 0.99);
    let ideal = with_scheme(&datagrams("20 Mbps", steps), "ideal", 1);
    assert!((sent(&ideal, "r0", "r1") / 45e6 - 1.0).abs() < 0.01, "{}", sent(&ideal, "r0", "r1"));
}

#[test]
fn one_direction_varies_alone_if_asked() {
    let one = r#"one_way = true
steps = [{ at = "1 s", rate = "2 Mbps" }]"#;
    let there = run_plain(&datagrams("8 Mbps", one));
    assert!((sent(&there, "r0", "r1") - (8e6 + 9.0 * 2e6)).abs() < 300e3, "{}", sent(&there, "r0", "r1"));
    let back = run_plain(&datagrams("8 Mbps", one).replace("[\"r0\", \"r1\"]", "[\"r1\", \"r0\"]"));
    assert!((sent(&back, "r0", "r1") - 80e6).abs() < 100e3, "{}", sent(&back, "r0", "r1"));
}

/// One datagram every 100 ms: when each arrives tells the delay that it met.
#[test]
fn delays_follow_the_schedule() {
    let ping = |vary: &str| {
        let flows: String = (0..10)
            .map(|i| {
                format!(
                    "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"udp\"\nsize = \"100 B\"\nstart = \"{} ms\"\n",
                    100 * i + 50
                )
            })
            .collect();
        let text = datagrams("1 Mbps", vary);
        let at = text.find("[[flow]]").expect("there is a flow");
        let end = text.find("[[vary]]").expect("there is a link that varies");
        run_plain(&format!("{}{flows}{}", &text[..at], &text[end..]))
            .table("flows")
            .expect("flows")
            .f64("fct_s")
            .to_vec()
    };
    let still = ping("steps = [{ at = \"9 s\", delay = \"10 ms\" }]");
    let moved = ping(
        "steps = [{ at = \"100 ms\", delay = \"15 ms\" }, { at = \"200 ms\", delay = \"7 ms\" }]\nrepeat = \"300 ms\"",
    );
    let expected = [0.0, 5.0, -3.0, -3.0, 5.0, -3.0, -3.0, 5.0, -3.0, -3.0];
    for (i, more) in expected.iter().enumerate() {
        assert!((moved[i] - still[i] - more * 1e-3).abs() < 1e-9, "{i}: {} after {}", moved[i], still[i]);
    }
}

#[test]
fn loss_in_bursts_has_its_mean_in_a_run() {
    // p/(p+r) = 1/21 in the bad state, where half is lost: 2.38 %.
    let out = run_plain(&datagrams("9 Mbps", "one_way = true\nloss = { p = \"1 %\", r = \"20 %\", bad = \"50 %\" }"));
    let ports = out.table("ports").expect("ports");
    let row = port(&out, "r0", "r1");
    let (packets, lost) = (ports.u64("packets")[row] as f64, ports.u64("corrupted")[row] as f64);
    // 7,500 packets; bursts of 5 make the spread of the share √(2·5·0.5) times that of single
    // losses or less: 0.4 %. Four of these.
    assert!((lost / packets - 0.5 / 21.0).abs() < 4.0 * 0.004, "{lost} of {packets}");
    assert_eq!(ports.u64("corrupted")[port(&out, "r1", "r0")], 0);
}

/// A trace of 1,200 opportunities in a second, unevenly: 14.4 Mbps in the mean.
fn trace(name: &str) -> String {
    let file = std::env::temp_dir().join(format!("midpath-{}-{name}.trace", std::process::id()));
    let lines: String = (0..1200u64).map(|i| format!("{}\n", 1 + 999 * i * i / (1199 * 1199))).collect();
    std::fs::write(&file, lines).expect("a folder for temporary files");
    file.display().to_string()
}

#[test]
fn a_trace_delivers_one_full_packet_per_opportunity() {
    // Each round begins faster than 40 Mbps: 108 packets more than come by then, which must wait in
    // the queue.
    let text = datagrams("40 Mbps", &format!("one_way = true\ntrace = {:?}", trace("full")));
    let text = text.replace("20 kB", "200 kB");
    let out = run_plain(&text);
    // 12,000 opportunities in 10 s, less those 108 in the first round and those before the first
    // packet came.
    let packets = out.table("ports").expect("ports").u64("packets")[port(&out, "r0", "r1")];
    assert!((11_850..=12_000).contains(&packets), "{packets}");
    assert!(utilisation(&out, "r0", "r1") > 0.985, "{}", utilisation(&out, "r0", "r1"));
    // With little to send, most opportunities pass unused.
    let idle = run_plain(&text.replace("40 Mbps", "1440 kbps"));
    assert!((utilisation(&idle, "r0", "r1") - 0.1).abs() < 0.01, "{}", utilisation(&idle, "r0", "r1"));
}

fn varying(extra: &str) -> String {
    format!(
        r#"
stop = "8 s"
[topology]
generate = "dumbbell"
pairs = 3
n = 3
bottleneck = {{ rate = "10 Mbps", delay = "20 ms" }}
access = {{ rate = "100 Mbps", delay = "2 ms" }}
[queue]
limit = "60 kB"
[[workload]]
matrix = {{ kind = "random" }}
sizes = {{ kind = "fixed", size = "60 kB" }}
arrivals = {{ kind = "poisson", rate_per_s = 6.0 }}
flows = 12
[[vary]]
link = ["r0", "r1"]
steps = [{{ at = "200 ms", rate = "3 Mbps", delay = "35 ms" }}, {{ at = "500 ms", rate = "12 Mbps" }}, {{ at = "700 ms", delay = "14 ms" }}]
repeat = "900 ms"
jitter = {{ law = "exponential", mean = "2 ms", max = "20 ms"{extra} }}
[[vary]]
link = ["r1", "r2"]
trace = {:?}
loss = {{ p = "0.5 %", r = "40 %" }}
"#,
        trace("dumbbell")
    )
}

/// 10 Mbps, 4 Mbps from 4 s to 8 s, 10 Mbps again until 12 s, as a trace that is the same over and over.
fn steps_as_trace() -> String {
    let file = std::env::temp_dir().join(format!("midpath-{}-steps.trace", std::process::id()));
    // One packet in 1.2 ms, or in 3 ms; a trace has whole milliseconds.
    let fast = |from: u64| (1..=3333).map(move |i| from + i * 6 / 5);
    let all = fast(0).chain((1..=1333).map(|i| 4000 + 3 * i)).chain(fast(8000));
    let lines: String = all.map(|ms| format!("{ms}\n")).collect();
    std::fs::write(&file, lines).expect("a folder for temporary files");
    file.display().to_string()
}

/// Whatever changes a capacity, each scheme that reckons with it follows. Bounds fixed before the
/// first run: .8 of the capacity is used, 1 % of the packets are lost, and packets wait for 50 ms in
/// the mean; where the network stores them (INRPP), for 400 ms. By a trace, use and wait are those of
/// the same steps within .1 and 25 ms (INRPP: 100 ms), for what has changed is known a window later.
#[test]
fn explicit_schemes_follow_a_capacity_whatever_changes_it() {
    let fault = |at: u64, rate: &str| {
        format!("[[fault]]\nat = \"{at} s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"{rate}\"\n")
    };
    let vary = "[[vary]]\nlink = [\"r0\", \"r1\"]\n";
    let steps = "steps = [{ at = \"4 s\", rate = \"4 Mbps\" }, { at = \"8 s\", rate = \"10 Mbps\" }]\n";
    let causes = [
        ("steps", format!("{vary}{steps}")),
        ("faults", fault(4, "4 Mbps") + &fault(8, "10 Mbps")),
        ("a trace", format!("{vary}trace = {:?}\n", steps_as_trace())),
    ];
    let mut wrong = Vec::new();
    for scheme in ["rcp", "xcp", "hpcc", "fcp", "inrpp", "mircc"] {
        let (most, apart) = if scheme == "inrpp" { (0.4, 0.1) } else { (0.05, 0.025) };
        let mut by_steps = None;
        for (cause, table) in &causes {
            let text = format!(
                "stop = \"12 s\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 2\n\
                 bottleneck = {{ rate = \"10 Mbps\", delay = \"10 ms\" }}\naccess = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n\
                 [queue]\nlimit = \"200 kB\"\n[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n{table}"
            );
            let out = with_scheme(&text, scheme, 1);
            let (ports, row) = (out.table("ports").expect("ports"), port(&out, "r0", "r1"));
            let (used, waited) = (ports.f64("utilisation")[row], ports.f64("delay_mean_s")[row]);
            let lost = ports.u64("drops_queue")[row] as f64 / ports.u64("packets")[row] as f64;
            let (used_by_steps, waited_by_steps) = *by_steps.get_or_insert((used, waited));
            let same = (used - used_by_steps).abs() <= 0.1 && waited - waited_by_steps <= apart;
            println!("{scheme}, {cause}: used {used:.3}, waited {:.1} ms, lost {lost:.4}", 1e3 * waited);
            if used < 0.8 || waited > most || lost > 0.01 || !same {
                wrong.push(format!("{scheme} under {cause}: used {used:.3}, waited {waited:.3} s, lost {lost:.4}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Nobody's packets are lost without being counted (`run` sees to it), all flows end, the same on
/// one, two and three threads.
#[test]
fn every_scheme_copes_with_links_that_vary() {
    for scheme in CARRIERS.iter().copied().chain(["ideal"]) {
        for extra in ["", ", reorder = true"] {
            let text = varying(extra);
            let one = with_scheme(&text, scheme, 1);
            // Datagrams are not repeated.
            if !["udp", "gcc", "scream", "fixed-window"].contains(&scheme) {
                assert_eq!(one.summary("completed"), Some(12.0), "{scheme}{extra}");
            }
            for row in 0..one.table("ports").expect("ports").rows() {
                let used = one.table("ports").expect("ports").f64("utilisation")[row];
                assert!((0.0..=1.0).contains(&used), "{scheme}: {used}");
            }
            if scheme != "ideal" {
                for threads in [2, 3] {
                    assert_eq!(
                        one.repeatable(),
                        with_scheme(&text, scheme, threads).repeatable(),
                        "{scheme} on {threads}"
                    );
                }
            }
        }
    }
}

/// Jitter that keeps the order and one that does not: what is sent as a burst arrives in order, or
/// not.
#[test]
fn jitter_keeps_the_order_unless_it_may_not() {
    let retransmitted = |extra: &str| {
        let vary = format!("jitter = {{ law = \"uniform\", max = \"40 ms\"{extra} }}");
        let text = datagrams("1 Mbps", &vary).replace("scheme = \"udp\"\nrate = \"1 Mbps\"", "size = \"400 kB\"");
        let out = run_plain(&text.replace("limit = \"20 kB\"", "limit = \"1 MB\""));
        (out.summary("completed"), out.summary("retransmitted_packets"))
    };
    assert_eq!(retransmitted(""), (Some(1.0), Some(0.0)));
    let (completed, retransmitted) = retransmitted(", reorder = true");
    assert!(completed == Some(1.0) && retransmitted > Some(0.0), "{retransmitted:?}");
}

proptest! {
    #![proptest_config(cases(8))]
    /// Any schedule on any link: packets are conserved and threads agree.
    #[test]
    fn schedules_do_not_depend_on_threads(
        steps in prop::collection::vec((1u64..300, 1u64..40, 0usize..4), 1..6), repeat in any::<bool>(), seed in 0u64..1000,
    ) {
        let (mut at, mut list) = (0, Vec::new());
        for (gap, rate, delay) in steps {
            at += gap;
            let delay = ["700 us", "3 ms", "10 ms", "40 ms"][delay];
            list.push(format!("{{ at = \"{at} ms\", rate = \"{rate} Mbps\", delay = \"{delay}\" }}"));
        }
        let text = format!(
            "seed = {seed}\nstop = \"2 s\"\n[topology]\ngenerate = \"ring\"\nn = 5\nlink = {{ rate = \"20 Mbps\", delay = \"8 ms\" }}\n\
             [[workload]]\nmatrix = {{ kind = \"random\" }}\nsizes = {{ kind = \"fixed\", size = \"50 kB\" }}\n\
             arrivals = {{ kind = \"poisson\", rate_per_s = 20.0 }}\nflows = 20\n[[vary]]\nlink = [\"r0\", \"r1\"]\nsteps = [{}]\n{}",
            list.join(", "), if repeat { format!("repeat = \"{} ms\"\n", at + 100) } else { String::new() },
        );
        let one = with_scheme(&text, "cubic", 1);
        for threads in [2, 3] {
            prop_assert_eq!(one.repeatable(), with_scheme(&text, "cubic", threads).repeatable());
        }
    }
}
