//! A controller and nothing else fills a link, holds its target, and lives beside TCP.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

const DUMBBELL: &str = r#"
scheme = "pacer"
stop = "20 s"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "5 ms" }

[queue]
limit = "200 ms"

[[flow]]
from = "s0"
to = "d0"
"#;

const SHORT: &str = "\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"300 kB\"\n";

fn run(text: &str, options: &RunOptions) -> RunOutput {
    let catalogue = Catalogue::standard().joined(outside_controller::schemes()).expect("names that nobody has");
    let out = run_with(text, Path::new("."), options, &catalogue, &mut |_| true);
    out.expect("a good scenario").expect("not cancelled")
}

fn plain(text: &str) -> RunOutput {
    run(text, &RunOptions::default())
}

#[test]
fn it_fills_the_link_and_a_larger_target_means_a_longer_queue() {
    let out = plain(DUMBBELL);
    assert!(out.summary("utilisation_max").unwrap() > 0.9, "{}", out.run["summary"]);
    assert_eq!(out.run["invariants"]["conserved"], true);
    let delay = |out: &RunOutput| out.summary("queue_delay_p99_s").unwrap();
    let longer = plain(&format!("{DUMBBELL}\n[schemes.pacer]\ntarget = \"40 ms\"\n"));
    assert!(delay(&longer) > 2.0 * delay(&out), "{} and {}", delay(&longer), delay(&out));
}

#[test]
fn its_flows_end_beside_tcp_and_where_packets_are_lost() {
    let beside = format!("{DUMBBELL}{SHORT}scheme = \"newreno\"\n");
    assert_eq!(plain(&beside).summary("completed"), Some(1.0));
    let lossy = DUMBBELL.replace("delay = \"10 ms\" }", "delay = \"10 ms\", corruption = \"1 %\" }");
    assert_eq!(plain(&format!("{lossy}{SHORT}")).summary("completed"), Some(1.0));
}

#[test]
fn it_is_the_same_over_bytes_and_on_any_number_of_threads() {
    let with = |threads, wire| run(DUMBBELL, &RunOptions { threads, wire, ..RunOptions::default() }).repeatable();
    let once = with(1, false);
    assert!(with(1, true) == once && with(3, true) == once);
}
