//! Phase effects are said, and a small random delay at hosts takes them away.

use std::fmt::Write;

use midpath_sim::{RunOptions, RunOutput};

use crate::common::{refused, run, run_plain};

/// Endless flows on a star of 1 Gbps links of 25 us, from each of `n` hosts to one more.
fn star(scheme: &str, n: usize, more: &str, rest: &str) -> String {
    let (mut links, mut flows) = (String::new(), String::new());
    for i in 0..=n {
        writeln!(links, "{{ a = \"h{i}\", b = \"sw\", rate = \"1 Gbps\", delay = \"25 us\" }},").unwrap();
    }
    for i in 0..n {
        writeln!(flows, "[[flow]]\nfrom = \"h{i}\"\nto = \"h{n}\"").unwrap();
    }
    format!(
        "scheme = \"{scheme}\"\nstop = \"1 s\"\n{more}\n[topology]\nlinks = [\n{links}]\n\
         nodes = [{{ name = \"sw\", kind = \"router\" }}]\n{rest}\n{flows}"
    )
}

const SHORT: &str = "[queue]\nlimit = \"5 ms\"";
const MARKS: &str = "[queue]\nkind = \"step\"\nthreshold = \"65 packets\"\nlimit = \"5 ms\"";

/// What a run says of phase effects, with the ports.
fn said(out: &RunOutput) -> Vec<String> {
    let all = out.run["warnings"].as_array().expect("a list");
    let phase = all.iter().filter(|w| w["message"].as_str().is_some_and(|m| m.starts_with("phase effects")));
    phase.map(|w| format!("{} {}", w["ports"], w["message"].as_str().unwrap_or_default())).collect()
}

fn jain(out: &RunOutput) -> f64 {
    let shares = out.table("flows").expect("flows").f64("goodput_bps");
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn alike_flows_with_unlike_shares_are_said_and_jitter_at_hosts_makes_them_alike() {
    for (scheme, queue) in [("newreno", SHORT), ("cubic", SHORT), ("dctcp", MARKS)] {
        // Who is hit is the queue's doing; how it is found out adds chance of its own.
        let queue = &format!("{queue}\n[schemes.{scheme}]\nloss_detection = \"rfc6675\"");
        let out = run_plain(&star(scheme, 2, "", queue));
        let found = said(&out);
        assert!(jain(&out) < 0.95 && found.len() == 1, "{scheme}: {} {found:?}", jain(&out));
        for part in [r#"["sw>h2"]"#, "flows 0 (h0>h2), 1 (h1>h2)", "`host_jitter = \"12 us\"`"] {
            assert!(found[0].contains(part), "{scheme}: {} lacks {part}", found[0]);
        }
        let with = run_plain(&star(scheme, 2, "host_jitter = \"1 us\"", queue));
        assert!(jain(&with) > 0.98 && said(&with).is_empty(), "{scheme}: {} {:?}", jain(&with), said(&with));
    }
}

#[test]
fn flows_that_are_not_alike_are_not_said() {
    let two = star("newreno", 2, "", SHORT);
    let other = two.replacen("\"25 us\"", "\"60 us\"", 1);
    assert_eq!(said(&run_plain(&other)), [""; 0], "round trips of 70 us and a packet of 12 us more");
    assert_eq!(
        said(&run_plain(&star("newreno", 2, "", "[queue]\nlimit = \"5 ms\"\nscheduler = \"drr\""))),
        [""; 0],
        "fair queues"
    );
    assert_eq!(
        said(&run_plain(&star("newreno", 2, "", "[queue]\nkind = \"red\"\nlimit = \"5 ms\""))),
        [""; 0],
        "chance"
    );
    let vary =
        "[queue]\nlimit = \"5 ms\"\n[[vary]]\nlink = [\"h0\", \"sw\"]\njitter = { law = \"uniform\", max = \"1 us\" }";
    assert_eq!(said(&run_plain(&star("newreno", 2, "", vary))), [""; 0], "a way with jitter");
}

#[test]
fn a_hosts_delays_are_in_order_and_of_the_seed_on_any_number_of_threads() {
    let text = star("newreno", 4, "host_jitter = \"12 us\"", SHORT);
    let with = |threads, seed| run(&text, &RunOptions { threads, seed: Some(seed), ..RunOptions::default() });
    let one = with(1, 1);
    for threads in [2, 3] {
        assert_eq!(with(threads, 1).repeatable(), one.repeatable());
    }
    assert_ne!(
        with(1, 2).table("flows").expect("flows").f64("goodput_bps"),
        one.table("flows").expect("flows").f64("goodput_bps")
    );
    // One flow alone: what comes out of order would be repeated.
    let alone = run_plain(&star("newreno", 1, "host_jitter = \"12 us\"", "[queue]\nlimit = \"10 s\""));
    assert_eq!(alone.table("flows").expect("flows").u64("retransmitted_packets"), [0]);
}

#[test]
fn a_delay_without_effect_is_refused() {
    let error = refused(&star("newreno", 2, "host_jitter = \"0 s\"", ""));
    assert!(error.contains("host_jitter: must be above zero"), "{error}");
    let all: String = (0..=2)
        .map(|i| format!("[[vary]]\nlink = [\"h{i}\", \"sw\"]\njitter = {{ law = \"uniform\", max = \"1 us\" }}\n"))
        .collect();
    let error = refused(&star("newreno", 2, "host_jitter = \"1 us\"", &all));
    assert!(error.contains("host_jitter: changes nothing"), "{error}");
}
