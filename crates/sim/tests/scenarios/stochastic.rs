//! `stochastic` of a run: false only where every seed gives the same run, and true where something is drawn.

use midpath_sim::{RunOptions, RunOutput};

use crate::common::run;

const NODES: &str = r#"
stop = "300 ms"
[topology]
nodes = [{ name = "r", kind = "router" }, { name = "t", kind = "router" }]
links = [
    { a = "a", b = "r", rate = "20 Mbps", delay = "1 ms" },
    { a = "b", b = "r", rate = "20 Mbps", delay = "1 ms" },
    { a = "r", b = "t", rate = "5 Mbps", delay = "1 ms" },
    { a = "t", b = "c", rate = "20 Mbps", delay = "1 ms" },
    { a = "t", b = "d", rate = "20 Mbps", delay = "2 ms" },
]
"#;
const FLOWS: &str = r#"
[[flow]]
from = "a"
to = "c"
size = "90 kB"
[[flow]]
from = "b"
to = "d"
size = "60 kB"
start = "3 ms"
"#;
const WAXMAN: &str =
    "stop = \"9 s\"\n[topology]\ngenerate = \"waxman\"\nn = 8\nlink = { rate = \"9 Mbps\", delay = \"2 ms\" }\n";
const FLOW: &str = "[[flow]]\nfrom = \"h0\"\nto = \"h5\"\nsize = \"90 kB\"\n";
const CLIENT: &str = "[[client]]\nfrom = [\"a\"]\nto = [\"c\", \"d\"]\nrequests = 9\n\
                      request_sizes = { kind = \"fixed\", size = \"1 kB\" }\n";
const JOB: &str = "[[job]]\ncollective = \"all-to-all\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nsize = \"90 kB\"\n";

fn with_seed(text: &str, seed: u64) -> RunOutput {
    run(text, &RunOptions { seed: Some(seed), ..RunOptions::default() })
}

/// The flows' rows, and whether the run calls itself stochastic.
fn drawn(text: &str, seed: u64) -> (Vec<f64>, bool) {
    let out = with_seed(text, seed);
    let fct = out.table("flows").expect("there").f64("fct_s").iter().map(|fct| fct.max(-1.0)).collect();
    (fct, out.run["stochastic"].as_bool().expect("said"))
}

#[test]
fn a_run_says_whether_anything_was_drawn_from_its_seed() {
    let vary = |what: &str| format!("{NODES}[[vary]]\nlink = [\"r\", \"t\"]\n{what}\n{FLOWS}");
    let random = [
        format!("{NODES}{FLOWS}jitter = \"9 ms\"\n"),
        format!("{NODES}{FLOWS}write = {{ kind = \"exponential\", mean = \"3 kB\" }}\ninterval = \"9 ms\"\n"),
        vary("jitter = { law = \"uniform\", max = \"2 ms\" }"),
        vary("loss = { p = \"10 %\", r = \"50 %\", bad = \"30 %\" }"),
        format!("{NODES}{CLIENT}reply_sizes = {{ kind = \"exponential\", mean = \"9 kB\" }}\n"),
        format!("{NODES}{CLIENT}reply_sizes = {{ kind = \"fixed\", size = \"9 kB\" }}\n"),
        format!("{NODES}{JOB}skew = 1.0\n"),
        format!("{NODES}{JOB}placement = \"random\"\n").replace("all-to-all", "all-reduce"),
        format!("{WAXMAN}{FLOW}"),
        format!("{WAXMAN}seed = 3\nhosts = {{ homes = 2 }}\n{FLOW}"),
    ];
    for text in random {
        let runs = [1, 2, 3].map(|seed| drawn(&text, seed));
        assert!(runs.iter().all(|(_, stochastic)| *stochastic), "{text}");
        assert!(runs[0].0 != runs[1].0 || runs[0].0 != runs[2].0, "seeds give one run of\n{text}");
    }
    // An AQM that has drawn may have chosen the same packets.
    let pie = format!("{NODES}[queue]\nkind = \"pie\"\n{FLOWS}").replace("90 kB", "900 kB").replace("300 ms", "2 s");
    assert!(drawn(&pie, 1).1);
    let fixed = [
        format!("{NODES}{FLOWS}"),
        format!("{NODES}[queue]\nkind = \"codel\"\n{FLOWS}"),
        format!("{NODES}{FLOWS}write = \"3 kB\"\ninterval = \"9 ms\"\n"),
        format!("{NODES}{CLIENT}reply_sizes = {{ kind = \"fixed\", size = \"9 kB\" }}\n").replace(", \"d\"", ""),
        format!("{NODES}{JOB}"),
        format!("{WAXMAN}seed = 3\n{FLOW}"),
    ];
    for text in fixed {
        let runs = [1, 2, 3].map(|seed| drawn(&text, seed));
        assert!(runs.iter().all(|run| *run == runs[0] && !run.1), "{text}");
    }
}

/// Of every scheme's run: what does not call itself stochastic is the same with each seed.
#[test]
fn schemes_that_draw_say_so() {
    for scheme in
        ["newreno", "cubic", "bbr", "dctcp", "fcp", "inrpp", "mircc", "ndn", "rcp", "xcp", "cubic+rpm", "ideal"]
    {
        let text = format!("scheme = \"{scheme}\"\n{NODES}{FLOWS}");
        let runs = [1, 2, 3].map(|seed| drawn(&text, seed));
        println!("{scheme}: stochastic {}", runs[0].1);
        assert!(runs[0].1 || runs.iter().all(|run| *run == runs[0]), "{scheme}");
    }
    assert!(!drawn(&format!("{NODES}{FLOWS}"), 1).1);
}
