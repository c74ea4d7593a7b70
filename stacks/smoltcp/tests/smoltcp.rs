//! smoltcp on simulated networks: slow start against its closed form, the same again, and with our TCP at the other end.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput};
use midpath_stack::run;

/// 1 Gbps, so that a window's packets take no time, and a round trip of 100 ms.
fn path(rate: &str, queue: &str, more: &str) -> String {
    format!(
        r#"
scheme = "smoltcp"
stop = "120 s"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "{rate}", delay = "48 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}

[queue]
limit = "{queue}"
{more}"#
    )
}

fn with(text: &str, options: &RunOptions) -> RunOutput {
    let catalogue = Catalogue::standard().joined(stack_smoltcp::schemes()).expect("names that nobody has");
    run(text, Path::new("."), options, &catalogue).unwrap_or_else(|error| panic!("{error}"))
}

fn fct(out: &RunOutput) -> Vec<f64> {
    out.table("flows").expect("flows").f64("fct_s").to_vec()
}

const FLOW: &str = "[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n";

#[test]
fn flows_end_and_are_the_same_again_on_two_threads_and_over_bytes() {
    for controller in ["none", "reno", "cubic"] {
        let keys = format!("{FLOW}size = \"2 MB\"\n[schemes.smoltcp]\ncontroller = \"{controller}\"\n");
        let text = path("20 Mbps", "1 MB", &keys);
        let once = with(&text, &RunOptions::default());
        println!("{controller}: {:?} {}", fct(&once), once.run["summary"]);
        assert_eq!(once.summary("completed"), Some(1.0), "{controller}: {}", once.run["summary"]);
        for options in [
            RunOptions { threads: 2, parts: 2, ..RunOptions::default() },
            RunOptions { wire: true, ..RunOptions::default() },
        ] {
            assert!(with(&text, &options).repeatable() == once.repeatable(), "{controller}: {options:?}");
        }
    }
}
