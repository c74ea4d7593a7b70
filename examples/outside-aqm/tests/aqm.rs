//! An AQM from outside, deployed at one router.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

fn catalogue() -> Catalogue {
    Catalogue::standard().joined(outside_aqm::schemes()).expect("names that nobody has")
}

/// Flows over one bottleneck, whose router has the scheme at hand; 250 ms may wait.
fn run(scheme: &str, flows: u32, ecn: bool, queue: &str) -> RunOutput {
    let text = format!(
        r#"
scheme = "cubic"
stop = "30 s"
[schemes.cubic]
ecn = {ecn}
[topology]
generate = "dumbbell"
pairs = 4
bottleneck = {{ rate = "20 Mbps", delay = "10 ms" }}
access = {{ rate = "100 Mbps", delay = "5 ms" }}
[queue]
limit = "250 ms"
{queue}
[[deploy]]
scheme = "{scheme}"
nodes = ["r0"]
[[flow]]
from = "s0"
to = "d0"
count = {flows}
jitter = "1 s"
"#
    );
    let out = run_with(&text, Path::new("."), &RunOptions::default(), &catalogue(), &mut |_| true);
    let out = out.expect("a good scenario").expect("not cancelled");
    assert_eq!(out.run["invariants"]["conserved"], true);
    out
}

/// Of the bottleneck's port: mean delay in s, share of the link used, CE marks, packets that the
/// AQM dropped.
fn bottleneck(out: &RunOutput) -> (f64, f64, u64, u64) {
    let ports = out.table("ports").unwrap();
    let (rates, bytes) = (ports.u64("rate_bps"), ports.u64("bytes"));
    let row = (0..rates.len()).max_by_key(|i| (rates[*i] == 20_000_000, bytes[*i])).unwrap();
    let used = bytes[row] as f64 * 8.0 / 20e6 / 30.0;
    (ports.f64("delay_mean_s")[row], used, ports.u64("marks")[row], ports.u64("drops_aqm")[row])
}

#[test]
fn blue_holds_the_queue_short_with_any_signal() {
    let (full, ..) = bottleneck(&run("none", 32, true, ""));
    assert!(full > 0.1, "drop-tail alone lets {full} s wait");
    // SYNs and repeats are not ECN-capable: dropped.
    let (delay, used, marks, drops) = bottleneck(&run("blue", 32, true, ""));
    assert!(delay < 0.04 && used > 0.9 && marks > 20 && drops < 20, "{delay} s, {used}, {marks} marks, {drops} drops");
    // Windows of a few packets wait for timeouts where losses tell.
    let (delay, used, marks, drops) = bottleneck(&run("blue", 32, false, ""));
    assert!(delay < 0.04 && used > 0.4 && marks == 0 && drops > 20, "{delay} s, {used}, {marks} marks, {drops} drops");
}

#[test]
fn a_larger_target_means_a_longer_queue_and_bad_keys_are_named() {
    let with = |target: &str| run("blue", 32, true, &format!("[schemes.blue]\ntarget = \"{target}\""));
    let (short, long) = (bottleneck(&with("20 ms")).0, bottleneck(&with("80 ms")).0);
    assert!(long > 1.3 * short, "{short} and {long}");
    let error = |keys: &str| {
        let text = format!(
            "scheme = \"cubic+blue\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 1\n\
             bottleneck = {{ rate = \"20 Mbps\", delay = \"10 ms\" }}\naccess = {{ rate = \"100 Mbps\", delay = \"5 ms\" }}\n\
             [[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[schemes.blue]\n{keys}\n"
        );
        let found = run_with(&text, Path::new("."), &RunOptions::default(), &catalogue(), &mut |_| true);
        found.expect_err("it is refused").to_string()
    };
    let (bad, unknown) = (error("up = 2"), error("lift = 1"));
    assert!(bad.contains("schemes.blue.up") && unknown.contains("lift"), "{bad} {unknown}");
}
