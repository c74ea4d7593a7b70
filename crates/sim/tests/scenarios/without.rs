//! Links taken out of a network: the same flows go the other way, or the error says who is cut off.

use crate::common::{refused, run_plain};

fn ring(more: &str) -> String {
    format!(
        r#"
[topology]
generate = "ring"
n = 4
link = {{ rate = "10 Mbps", delay = "1 ms" }}
{more}
[[workload]]
matrix = {{ kind = "random" }}
sizes = {{ kind = "pareto", mean = "20 kB", shape = 1.5 }}
arrivals = {{ kind = "poisson", rate_per_s = 50.0 }}
flows = 40
"#
    )
}

#[test]
fn the_same_flows_take_the_links_that_are_left() {
    for routing in ["", "[routing]\necmp = \"symmetric\""] {
        let whole = run_plain(&format!("{}{routing}", ring("")));
        let cut = run_plain(&format!("{}{routing}", ring("without = [[\"r0\", \"r1\"]]")));
        for column in ["start_s", "bytes"] {
            let of = |run: &midpath_sim::RunOutput| run.table("flows").expect("flows").f64(column).to_vec();
            assert_eq!(of(&whole), of(&cut), "{column}");
        }
        assert_eq!(cut.summary("completed"), Some(40.0));
        assert!(cut.run["packet_hops"].as_u64() > whole.run["packet_hops"].as_u64(), "ways are longer");
    }
}

#[test]
fn flows_that_are_cut_off_are_named_with_the_cut() {
    for routing in ["", "[routing]\necmp = \"symmetric\""] {
        let error = refused(&format!("{}{routing}", ring("without = [[\"r0\", \"r1\"], [\"r2\", \"r3\"]]")));
        assert!(error.contains("topology.without: ") && error.contains("flows have no route: flow "), "{error}");
        assert!(error.contains("falls into 2 parts: cut off from the largest are `r1`, `r2`"), "{error}");
    }
}
