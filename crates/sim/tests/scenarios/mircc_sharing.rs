//! What sharing is worth on Abilene: three repositories, consumers everywhere else, objects asked
//! for by Zipf's law. Prints the table of `evidence/papers/mircc/README.md`:
//! `cargo test --release -p midpath-sim --test scenarios mircc_sharing:: -- --nocapture`.

use crate::common::icn::{hardly_any_dropped, no_data_dropped};
use crate::common::over_seeds;
use crate::common::reads::texts;
use midpath_sim::RunOutput;

/// The hosts of Chicago, Atlanta and Sunnyvale, and those of the eight other cities.
const REPOSITORIES: [u32; 3] = [8, 7, 1];
const CONSUMERS: [u32; 8] = [0, 2, 3, 4, 5, 6, 9, 10];

/// About 60 flows of 500 kB in 20 s over links of 20 Mbps.
fn abilene(params: &str, objects: &str) -> String {
    let pairs: Vec<String> =
        REPOSITORIES.iter().flat_map(|r| CONSUMERS.map(|c| format!("[\"h{r}\", \"h{c}\"]"))).collect();
    format!(
        "scheme = \"mircc\"\n[schemes.mircc]\n{params}\n\
         [topology]\nbuiltin = \"abilene\"\nrate = \"20 Mbps\"\nhosts = {{ per_node = 1, rate = \"1 Gbps\", delay = \"100 us\" }}\n\
         [[workload]]\nsizes = {{ kind = \"fixed\", size = \"500 kB\" }}\n{objects}\n\
         arrivals = {{ kind = \"poisson\", rate_per_s = 3 }}\nuntil = \"20 s\"\n\
         matrix = {{ kind = \"pairs\", pairs = [{}] }}\n",
        pairs.join(", ")
    )
}

/// Mean time to fetch an object, s, and MB that the backbone's links carried, over the seeds.
fn measure(params: &str, objects: &str) -> (f64, f64) {
    let runs = over_seeds(&abilene(params, objects), 3);
    let n = runs.len() as f64;
    let (mut fct, mut carried) = (0.0, 0.0);
    for out in &runs {
        hardly_any_dropped(out);
        let times = out.table("flows").expect("there").f64("fct_s").to_vec();
        assert!(times.iter().all(|t| t.is_finite()), "every object is fetched");
        fct += times.iter().sum::<f64>() / times.len() as f64 / n;
        let ports = out.table("ports").expect("there");
        let ends = texts(out, "ports", "node").into_iter().zip(texts(out, "ports", "peer"));
        let core = ends.zip(ports.u64("bytes")).filter(|((a, b), _)| !a.starts_with('h') && !b.starts_with('h'));
        carried += core.map(|(_, bytes)| *bytes as f64).sum::<f64>() / 1e6 / n;
    }
    (fct, carried)
}

#[test]
#[ignore = "nightly"]
fn what_sharing_is_worth_on_abilene() {
    let shared = "objects = { count = 10, popularity = 0.8 }";
    let rows = [
        ("each its own", "", ""),
        ("shared", "", shared),
        ("shared, store of 2 MB", "store = \"2 MB\"", shared),
        ("shared, store of 20 MB", "store = \"20 MB\"", shared),
        ("each its own, stretch 1.5", "stretch = 1.5", ""),
        ("shared, store of 20 MB, stretch 1.5", "stretch = 1.5\nstore = \"20 MB\"", shared),
    ];
    let measured = rows.map(|(name, params, objects)| {
        let (fct, carried) = measure(params, objects);
        println!("| {name} | {fct:.3} | {carried:.1} |");
        (fct, carried)
    });
    assert!(measured[1].1 <= measured[0].1, "aggregation carries no more");
    assert!(measured[3].1 < 0.8 * measured[0].1, "the store takes load off the backbone");
    assert!(measured[3].0 < measured[0].0, "and objects come sooner");
}

/// Answers come from stores and from far producers, at different times: a queue of half a round
/// trip overflows. Not where awaited Data are bounded by it: however they come, none is dropped,
/// and objects come no later than a tenth after.
#[test]
fn no_data_are_dropped_where_they_are_awaited_within_the_queue() {
    let text = |params: &str| {
        let params = format!("stretch = 1.5\nstore = \"20 MB\"\n{params}");
        let text = abilene(&params, "objects = { count = 10, popularity = 0.8 }");
        format!("{text}[queue]\nlimit = \"25 ms\"\n")
    };
    // By timeouts, and by the text's secondary class: with later Data that tell what was dropped, or rates that follow
    // sooner, less is lost by drops, and the bound costs more (a third with both).
    let by_text = "without = [\"repair\"]\nsecondary_packets = 0";
    let [free, within] = ["booked", "queue"]
        .map(|outstanding| over_seeds(&text(&format!("outstanding = \"{outstanding}\"\n{by_text}")), 3));
    let dropped = |out: &RunOutput| out.table("ports").expect("there").u64("drops_queue").iter().sum::<u64>();
    assert!(free.iter().map(dropped).sum::<u64>() > 0, "else there is nothing to bound");
    within.iter().for_each(no_data_dropped);
    let time = |runs: &[RunOutput]| {
        runs.iter().flat_map(|out| out.table("flows").expect("there").f64("fct_s").to_vec()).sum::<f64>()
    };
    assert!(time(&within) < 1.1 * time(&free), "{} s, {} s", time(&within), time(&free));
}
