//! A signal from outside with Midpath's other parts, deployed at one router.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

fn catalogue() -> Catalogue {
    Catalogue::standard().joined(outside_parts::schemes()).expect("names that nobody has")
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
fn the_reverse_signal_takes_the_place_of_marks_under_any_aqm() {
    for queue in ["kind = \"codel\"", "kind = \"red\"", "kind = \"codel\"\nscheduler = \"drr\""] {
        let (delay, used, marks, drops) = bottleneck(&run("reverse-ece", 4, true, queue));
        assert!(delay < 0.08 && used > 0.9, "{queue}: {delay} s, {used}");
        assert_eq!((marks, drops), (0, 0), "{queue}");
        // Who doesn't understand ECE is told by a loss.
        let (delay, _, marks, drops) = bottleneck(&run("reverse-ece", 4, false, queue));
        assert!(delay < 0.08 && marks == 0 && drops > 20, "{queue}: {delay} s, {marks} marks, {drops} drops");
    }
}
