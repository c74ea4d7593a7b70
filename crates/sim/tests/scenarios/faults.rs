//! Links that fail, exactly at the times that matter; and paths that are too long.

use crate::common::run_plain;
use midpath_sim::RunOutput;

/// One datagram of 1028 B (8.224 ms on the wire) from `s0` at 1 s; its first link fails at `down`,
/// for a second.
fn datagram(down: &str) -> RunOutput {
    run_plain(&format!(
        r#"
[topology]
generate = "chain"
n = 1
link = {{ rate = "1 Mbps", delay = "20 ms" }}
[[flow]]
from = "s0"
to = "d0"
scheme = "udp"
size = "1 kB"
start = "1 s"
[[fault]]
at = "{down}"
kind = "link-down"
link = ["s0", "r0"]
until = "2500 ms"
"#
    ))
}

fn fct(out: &RunOutput) -> f64 {
    out.table("flows").expect("every run has flows").f64("fct_s")[0]
}

#[test]
fn what_is_being_sent_when_a_link_fails_is_lost() {
    for down in ["1000001 us", "1004 ms", "1008223 us"] {
        let out = datagram(down);
        assert_eq!((out.summary("completed"), out.summary("lost_packets")), (Some(0.0), Some(1.0)), "{down}");
    }
}

#[test]
fn what_is_on_the_way_when_a_link_fails_arrives() {
    for down in ["1008224 us", "1020 ms"] {
        assert!((fct(&datagram(down)) - 2.0 * 0.028224).abs() < 1e-9, "{down}");
    }
}

#[test]
fn what_comes_while_a_link_is_down_waits_until_it_is_back() {
    assert!((fct(&datagram("999 ms")) - 1.5 - 2.0 * 0.028224).abs() < 1e-9);
}

#[test]
fn what_starts_as_its_link_fails_does_not_arrive() {
    // Its first bit and the failure are at the same time; what arrives comes first, so that it has
    // started.
    let out = datagram("1 s");
    assert_eq!((out.summary("completed"), out.summary("lost_packets")), (Some(0.0), Some(1.0)));
}

#[test]
fn a_path_of_any_length_is_run_or_refused() {
    let text = r#"
[topology]
generate = "chain"
n = 64
link = { rate = "1 Gbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
size = "10 kB"
"#;
    let options = midpath_sim::RunOptions::default();
    let run = midpath_sim::run_text(text, std::path::Path::new("."), &options, &mut |_| true);
    assert!(run.is_err() || run.is_ok_and(|out| out.is_some_and(|out| out.summary("completed") == Some(1.0))));
}
