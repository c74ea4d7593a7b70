//! What decides a run's figures beside the schemes is said: timers, queues that do not mark, links that stay empty.

use midpath_sim::RunOutput;

use crate::common::icn::{flow, topology};
use crate::common::run_plain;

/// What a run warns of, in one text.
fn said(out: &RunOutput) -> String {
    let all = out.run["warnings"].as_array().expect("a list");
    let text = |w: &serde_json::Value, key: &str| w[key].as_str().unwrap_or_default().to_owned();
    all.iter().map(|w| format!("{}: {} {}\n", text(w, "scheme"), text(w, "message"), w["ports"])).collect()
}

/// `senders` hosts send to one at once over 1 Gbps.
fn incast(senders: usize, size: &str, more: &str) -> String {
    let hosts: Vec<String> = (0..senders).map(|i| format!("p{i}")).collect();
    let link = |host| (host, "sw", 1000.0, 0.01);
    let links: Vec<_> = hosts.iter().map(|host| link(host.as_str())).chain([link("c")]).collect();
    let flows: String = hosts.iter().map(|host| flow(host, "c", &format!("size = \"{size}\""))).collect();
    format!("{}[queue]\nlimit = \"30 kB\"\n{more}\n{flows}", topology(&links))
}

const TAIL: &str = "timeouts explain the tail";

#[test]
fn a_tail_of_timeouts_is_said_with_min_rto() {
    let out = run_plain(&incast(40, "10 kB", ""));
    assert!(out.summary("timeouts").is_some_and(|n| n > 0.0));
    let found = said(&out);
    assert!(found.contains(&format!("newreno: {TAIL}")) && found.contains("`min_rto` (1 s)"), "{found}");
}

#[test]
fn a_tail_that_timers_do_not_explain_is_not() {
    // Timers of a millisecond are of the order of the round trip with a full queue.
    let short = "[schemes.newreno]\nmin_rto = \"1 ms\"\n";
    let out = run_plain(&incast(40, "10 kB", short));
    assert!(out.summary("timeouts").is_some_and(|n| n > 0.0) && !said(&out).contains(TAIL), "{}", said(&out));
    let out = run_plain(&incast(2, "10 kB", ""));
    assert!(out.summary("timeouts").is_some_and(|n| n == 0.0) && !said(&out).contains(TAIL), "{}", said(&out));
    // A second of more than four.
    let outage = "[[fault]]\nat = \"1 s\"\nkind = \"link-down\"\nlink = [\"sw\", \"c\"]\nuntil = \"2.5 s\"\n";
    let out = run_plain(&incast(1, "400 MB", outage));
    assert!(out.summary("timeouts").is_some_and(|n| n > 0.0) && !said(&out).contains(TAIL), "{}", said(&out));
}

/// MIRCC's consumers ask again after two round trips where an object's last Data are lost. That is a timeout, and
/// waits for no `min_rto`.
#[test]
fn probes_are_no_waits_for_min_rto() {
    let lost =
        "[[vary]]\nlink = [\"p\", \"c\"]\nloss = { p = \"100 %\", r = \"100 %\", good = \"10 %\", bad = \"10 %\" }\n";
    let flows: String = (0..20).map(|i| flow("p", "c", &format!("size = \"10 kB\"\nstart = \"{i} s\""))).collect();
    let out = run_plain(&format!("scheme = \"mircc\"\n{}{lost}{flows}", topology(&[("p", "c", 10.0, 5.0)])));
    let table = out.table("flows").expect("there");
    let probed = table.u64("timeouts").iter().zip(table.f64("fct_s")).filter(|(n, fct)| **n > 0 && **fct < 1.0).count();
    assert!(probed > 3 && !said(&out).contains(TAIL), "{probed}: {}", said(&out));
}

/// Two flows of a scheme from 100 Mbps to 10 Mbps, `queue` and more.
fn narrow(scheme: &str, queue: &str, more: &str) -> String {
    let links = [("p0", "r0", 100.0, 1.0), ("p1", "r0", 100.0, 1.0), ("r0", "r1", 10.0, 5.0), ("r1", "c", 100.0, 1.0)];
    let flows = flow("p0", "c", "") + &flow("p1", "c", "");
    let head = format!("scheme = \"{scheme}\"\nstop = \"4 s\"\n");
    head + &topology(&links) + &format!("[queue]\nlimit = \"200 kB\"\n{queue}\n{more}\n") + &flows
}

const UNMARKED: &str = "no queue marked a packet of its flows";

#[test]
fn schemes_that_need_marks_get_them_or_it_is_said() {
    for (scheme, aqm) in [("dctcp", "its own step"), ("prague", "its own DualPI2"), ("dcqcn", "its own RED")] {
        let default = run_plain(&narrow(scheme, "", ""));
        assert!(default.summary("marks").is_some_and(|n| n > 0.0), "{scheme}");
        assert!(!said(&default).contains(UNMARKED), "{}", said(&default));
        let equipment = default.run["equipment"].to_string();
        assert!(equipment.contains(aqm), "{equipment}");
        for queue in ["kind = \"codel\"\nsignal = \"drop\"\n", "scheduler = \"drr\"\n"] {
            let found = said(&run_plain(&narrow(scheme, queue, "")));
            assert!(
                found.contains(&format!("{scheme}: {UNMARKED}")) && found.contains(aqm),
                "{scheme} {queue}: {found}"
            );
        }
        // Over another scheme's ports.
        let other = narrow("cubic", "", "").replace("to = \"c\"", &format!("to = \"c\"\nscheme = \"{scheme}\""));
        let found = said(&run_plain(&other));
        assert!(found.contains(&format!("{scheme}: {UNMARKED}")), "{found}");
        assert!(!said(&run_plain(&narrow("cubic", "", ""))).contains(UNMARKED));
    }
}

#[test]
fn a_queue_that_is_shorter_than_the_default_thresholds_marks_all_the_same() {
    for scheme in ["prague", "dcqcn"] {
        let out = run_plain(&narrow(scheme, "", "").replace("200 kB", "20 kB"));
        assert!(out.summary("marks").is_some_and(|n| n > 0.0), "{scheme}: {}", said(&out));
    }
}

#[test]
fn an_empty_l_queue_is_said_of_ports_that_were_congested() {
    let found = said(&run_plain(&narrow("cubic", "kind = \"dualpi2\"", "")));
    let line = found.lines().find(|line| line.contains("L queue stayed empty")).expect("it is said");
    assert!(line.ends_with("[\"r0>r1\"]"), "{line}");
}

/// One flow without end over 50 ms each way, at so many Mbps.
fn wan(scheme: &str, mbps: f64, stop_s: u32, more: &str) -> String {
    let links = [("p", "r0", mbps, 1.0), ("r0", "r1", mbps, 48.0), ("r1", "c", mbps, 1.0)];
    format!("scheme = \"{scheme}\"\nstop = \"{stop_s} s\"\n{}{}", topology(&links), flow("p", "c", more))
}

const UNDER: &str = "under half of the ideal";

#[test]
fn a_scheme_that_leaves_half_of_a_wan_unused_is_said() {
    for scheme in ["swift", "timely", "dcqcn", "bolt"] {
        let out = run_plain(&wan(scheme, 1000.0, 10, ""));
        let goodput = out.summary("goodput_total_bps").unwrap();
        let found = said(&out);
        assert_eq!(found.contains(&format!("{scheme}: {UNDER}")), goodput < 0.45e9, "{scheme}: {goodput} {found}");
    }
    let out = run_plain(&wan("cubic", 1000.0, 10, "[schemes.cubic]\nreceive_window = \"1 MB\"\n"));
    assert!(said(&out).contains("limited by a receiver's window or random loss"), "{}", said(&out));
}

#[test]
fn a_flow_that_fills_its_path_or_has_a_rate_is_not() {
    for text in [
        wan("cubic", 100.0, 20, ""),
        wan("udp", 1000.0, 10, "rate = \"10 Mbps\""),
        // Eight flows have less than half of their path each, and fill it together.
        wan("cubic", 100.0, 20, &flow("p", "c", "").repeat(7)),
        // Too short to say.
        wan("swift", 1000.0, 4, ""),
    ] {
        let found = said(&run_plain(&text));
        assert!(!found.contains(UNDER), "{text}: {found}");
    }
}
