//! `afct_bound_s`: no scheme's mean completion time is below it, and where one link decides it is
//! what the best order comes to.

use crate::common::{cases, run, run_plain};
use midpath_sim::{RunOptions, RunOutput};
use proptest::prelude::*;

const SCHEMES: [&str; 10] = ["ideal", "newreno", "cubic", "dctcp", "mptcp", "rcp", "xcp", "fcp", "inrpp", "mircc"];

fn value(out: &RunOutput, key: &str) -> f64 {
    out.summary(key).unwrap_or_else(|| panic!("no {key}: {}", out.run["summary"]))
}

#[test]
fn on_one_bottleneck_it_is_shortest_first() {
    let flows = |n: u32| format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\nscheme = \"newreno\"\nsize = \"{n} MB\"\n");
    let out = run_plain(&format!(
        r#"
[topology]
generate = "chain"
n = 2
link = {{ rate = "10 Mbps", delay = "7 ms" }}
access = {{ rate = "100 Mbps", delay = "1 ms" }}
{}{}{}"#,
        flows(3),
        flows(1),
        flows(2)
    ));
    // Full packets of 1500 bytes carry 1448. Shortest first: one, then three, then six megabytes.
    let wire = |mb: f64| (mb * 1e6 + (mb * 1e6 / 1448.0).ceil() * 52.0) * 8.0 / 10e6;
    let exact = (3.0 * wire(1.0) + 2.0 * wire(2.0) + wire(3.0)) / 3.0 + 0.009;
    assert!((value(&out, "afct_bound_s") - exact).abs() < 1e-9, "{} is not {exact}", value(&out, "afct_bound_s"));
}

/// Where there is a way round, only what a flow must cross counts: its hosts' own links.
#[test]
fn a_link_with_a_way_round_it_does_not_count() {
    let text = |detour: &str| {
        format!(
            r#"
scheme = "newreno"
[topology]
links = [
  {{ a = "s", b = "r0", rate = "40 Mbps", delay = "1 ms" }}, {{ a = "r0", b = "r1", rate = "10 Mbps", delay = "1 ms" }},
  {{ a = "r1", b = "d", rate = "40 Mbps", delay = "1 ms" }}, {detour}
]
[[flow]]
from = "s"
to = "d"
size = "1448 kB"
"#
        )
    };
    let round = r#"{ a = "r0", b = "r2", rate = "10 Mbps", delay = "1 ms" }, { a = "r2", b = "r1", rate = "10 Mbps", delay = "1 ms" }"#;
    let [line, ring] = [text(""), text(round)].map(|text| value(&run_plain(&text), "afct_bound_s"));
    assert!((line - (1.2 + 0.003)).abs() < 1e-9, "{line}");
    assert!((ring - (0.3 + 0.002)).abs() < 1e-9, "{ring}");
}

fn flow() -> impl Strategy<Value = String> {
    (0u32..3, 0u32..3, 3u32..400, 0u32..900, prop::option::of(1000u32..3000)).prop_map(|(from, to, kb, start, stop)| {
        let stop = stop.map_or(String::new(), |at| format!("stop = \"{at} ms\"\n"));
        format!("[[flow]]\nfrom = \"s{from}\"\nto = \"d{to}\"\nsize = \"{kb} kB\"\nstart = \"{start} ms\"\n{stop}")
    })
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn no_scheme_is_below_it(
        flows in prop::collection::vec(flow(), 1..8),
        ring in any::<bool>(),
        fault in prop::option::of((100u32..900, prop::bool::ANY)),
        scheme in prop::sample::select(SCHEMES.to_vec()),
    ) {
        let mut links = String::from(r#"{ a = "r0", b = "r1", rate = "5 Mbps", delay = "4 ms" }, { a = "r1", b = "r2", rate = "8 Mbps", delay = "2 ms" }"#);
        if ring {
            links += r#", { a = "r2", b = "r0", rate = "3 Mbps", delay = "9 ms" }"#;
        }
        let mut nodes = Vec::new();
        for i in 0..3 {
            for (host, router) in [("s", i), ("d", 2 - i)] {
                links += &format!(", {{ a = \"{host}{i}\", b = \"r{router}\", rate = \"20 Mbps\", delay = \"{} ms\" }}", i + 1);
                nodes.push(format!("{{ name = \"{host}{i}\", kind = \"host\" }}"));
            }
        }
        let fault = fault.map_or(String::new(), |(at, down)| match down {
            true => format!("[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"{at} ms\"\nuntil = \"{} ms\"\n", at + 300),
            false => format!("[[fault]]\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nat = \"{at} ms\"\nrate = \"9 Mbps\"\n"),
        });
        let text = format!("stop = \"30 s\"\n[topology]\nlinks = [{links}]\nnodes = [{}]\n{}{fault}", nodes.join(", "), flows.concat());
        let out = run(&text, &RunOptions { scheme: Some(scheme.into()), ..RunOptions::default() });
        if let (Some(afct), Some(bound)) = (out.summary("afct_s"), out.summary("afct_bound_s")) {
            // A nanosecond for sums of picoseconds.
            prop_assert!(bound <= afct + 1e-9, "{scheme}: {afct} is below {bound}");
            prop_assert!(bound > 0.0);
        }
    }
}
