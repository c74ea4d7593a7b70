//! What a network scheme would ignore of the queue that a scenario asks for is refused, with key
//! and line.

use std::path::Path;

use crate::common::reads::series;
use crate::common::run_plain;
use midpath_sim::{RunOptions, run_text};

const HEAD: &str = r#"stop = "2 s"
[topology]
links = [
    { a = "s", b = "r", rate = "40 Mbps", delay = "1 ms" },
    { a = "r", b = "d", rate = "10 Mbps", delay = "1 ms", queue = "narrow" },
]
nodes = [{ name = "s", kind = "host" }, { name = "d", kind = "host" }]
[[flow]]
from = "s"
to = "d"
"#;

fn error(scheme: &str, tables: &str) -> Option<String> {
    let text = format!("{HEAD}{tables}");
    let options = RunOptions { scheme: Some(scheme.to_owned()), ..RunOptions::default() };
    run_text(&text, Path::new("."), &options, &mut |_| true).err().map(|e| e.to_string())
}

#[test]
fn schemes_with_ports_of_their_own_take_drop_tail_only() {
    for kind in ["codel", "pie", "dualpi2", "red", "drr"] {
        let tables = format!("[queues.narrow]\nkind = \"{kind}\"\n");
        for scheme in ["fcp", "rcp", "xcp", "inrpp"] {
            let e = error(scheme, &tables).unwrap_or_else(|| panic!("{scheme} ignores {kind}"));
            assert!(e.starts_with("line 12: queues.narrow.kind: must be \"drop-tail\""), "{e}");
            assert!(e.contains(kind) && e.contains(&format!("[schemes.{scheme}.queue]")), "{e}");
        }
        for scheme in ["newreno", "dctcp", "mptcp"] {
            assert_eq!(error(scheme, &tables), None, "{scheme} has {kind} queues");
        }
    }
}

#[test]
fn each_table_is_named_and_a_schemes_own_queue_is_the_way_out() {
    let narrow = "[queues.narrow]\n";
    let e = error("fcp", &format!("{narrow}[queue]\nkind = \"codel\"\n")).expect("refused");
    assert!(e.starts_with("line 13: queue.kind: must be"), "{e}");
    let e = error("fcp", &format!("{narrow}[host_queue]\nkind = \"drr\"\n")).expect("refused");
    assert!(e.starts_with("line 13: host_queue.kind: must be"), "{e}");
    let own = "[schemes.fcp]\nqueue = { limit = \"100 packets\" }\n";
    assert_eq!(error("fcp", &format!("{narrow}[queue]\nkind = \"codel\"\n{own}")), None);
}

/// 10 Mbps for 40 ms are 50 kB, which is what fits in front of the cache; the rest of what comes at
/// 40 Mbps is cached.
#[test]
fn inrpps_buffer_is_the_scenarios_queue_unless_it_has_its_own() {
    let backlog = |tables: &str| {
        let cache = "cache = \"4 MB\"\nhigh = \"2 MB\"\n";
        let text = format!(
            "scheme = \"inrpp\"\n{HEAD}[queues.narrow]\n{tables}{cache}[measure]\nseries = true\ninterval = \"1 ms\"\npoints = 4000\n"
        );
        let out = run_plain(&text);
        let [waiting, cached] = ["queue_bytes", "cache_bytes"].map(|metric| series(&out, "port:r>d", metric));
        // What waits while nothing is in the cache yet is in the buffer. In a millisecond between
        // samples comes 3.75 kB more than goes.
        let buffered = waiting.iter().zip(&cached).filter(|(_, c)| c.1 == 0.0).map(|(w, _)| w.1);
        buffered.fold(0.0, f64::max)
    };
    let said = backlog("limit = \"40 ms\"\n[schemes.inrpp]\n");
    assert!((44e3..=50e3).contains(&said), "{said}");
    let own = backlog("limit = \"40 ms\"\n[schemes.inrpp]\nbuffer = \"8 ms\"\n");
    assert!((6e3..=10e3).contains(&own), "{own}");
    let neither = backlog("[schemes.inrpp]\n");
    assert!((56e3..=62.5e3).contains(&neither), "{neither}");
}
