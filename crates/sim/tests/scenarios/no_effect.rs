//! What a scenario asks for and a run does not show is said, and nothing else is.

use midpath_sim::{RunOptions, RunOutput};

use crate::common::{run, run_plain};

/// What a run warns of, in one text.
fn said(out: &RunOutput) -> String {
    let all = out.run["warnings"].as_array().expect("a list");
    all.iter()
        .map(|w| {
            format!("{}: {}\n", w["scheme"].as_str().unwrap_or_default(), w["message"].as_str().unwrap_or_default())
        })
        .collect()
}

/// Two hosts at each side of 10 Mbps, and a link beside that no shortest path has.
fn scenario(more: &str) -> String {
    format!(
        r#"
stop = "4 s"
[topology]
nodes = [{{ name = "r0", kind = "router" }}, {{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}]
links = [
    {{ a = "a", b = "r0", rate = "100 Mbps", delay = "1 ms" }},
    {{ a = "b", b = "r0", rate = "100 Mbps", delay = "1 ms" }},
    {{ a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" }},
    {{ a = "r0", b = "r2", rate = "20 Mbps", delay = "5 ms" }},
    {{ a = "r2", b = "r1", rate = "20 Mbps", delay = "5 ms" }},
    {{ a = "r1", b = "c", rate = "100 Mbps", delay = "1 ms" }},
]
{more}
"#
    )
}

const FLOW: &str = "[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"2 MB\"\n";

#[test]
fn a_fault_or_a_variation_where_no_packet_comes_is_said() {
    let beside = [
        "[[fault]]\nat = \"1 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r2\"]\n",
        "[[fault]]\nat = \"1 s\"\nkind = \"restart\"\nnode = \"r2\"\n",
        "[[vary]]\nlink = [\"r2\", \"r1\"]\nsteps = [{ at = \"1 s\", rate = \"5 Mbps\" }]\n",
    ];
    for text in beside {
        let found = said(&run_plain(&scenario(&format!("{text}{FLOW}"))));
        assert!(found.contains("[0] changes nothing: no packet crosses r"), "{text}: {found}");
        let on_the_way = text.replace("\"r2\", \"r1\"", "\"r0\", \"r1\"").replace("\"r0\", \"r2\"", "\"r0\", \"r1\"");
        let on_the_way = on_the_way
            .replace("node = \"r2\"", "node = \"r1\"")
            .replace("kind = \"link-down\"", "kind = \"link-down\"\nuntil = \"2 s\"");
        let found = said(&run_plain(&scenario(&format!("{on_the_way}{FLOW}"))));
        assert!(!found.contains("changes nothing"), "{on_the_way}: {found}");
    }
    // Where routes follow the network nothing crosses a link that is down from the start, because it is down.
    let away = "routing = { reconverge = \"1 ms\" }\n";
    let text = scenario(
        "[[fault]]\nat = \"0 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\n[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"1 MB\"\nstart = \"1 s\"\n",
    );
    let found = said(&run_plain(&format!("{away}{text}")));
    assert!(!found.contains("changes nothing"), "{found}");
}

#[test]
fn an_aqm_that_never_chose_is_said() {
    let codel = "[queue]\nkind = \"codel\"\nlimit = \"200 kB\"\n";
    let idle = said(&run_plain(&scenario(&format!("{codel}[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"20 kB\"\n"))));
    assert!(idle.contains("CoDel of 5 ms marked and dropped nothing"), "{idle}");
    let busy = said(&run_plain(&scenario(&format!("{codel}{FLOW}"))));
    assert!(!busy.contains("marked and dropped nothing"), "{busy}");
}

#[test]
fn rpm_over_flows_without_ecn_is_said() {
    let options = RunOptions { scheme: Some("cubic+rpm".into()), ..RunOptions::default() };
    let codel = "[queue]\nkind = \"codel\"\nlimit = \"200 kB\"\n";
    let without = said(&run(&scenario(&format!("{codel}{FLOW}")), &options));
    assert!(without.contains("rpm: nothing was signalled"), "{without}");
    let with = said(&run(&scenario(&format!("{codel}[schemes.cubic]\necn = true\n{FLOW}")), &options));
    assert!(!with.contains("nothing was signalled"), "{with}");
    // ACKs are never ECN-capable: a port where they alone wait says nothing of their flows.
    let acks = scenario(&format!("{codel}[schemes.cubic]\necn = true\n{FLOW}"));
    let acks = acks.replacen("rate = \"10 Mbps\"", "rate = \"10 Mbps\", rate_back = \"100 kbps\"", 1);
    let out = run(&acks, &options);
    let ports = out.table("ports").expect("ports");
    let slow = ports.u64("rate_bps").iter().position(|rate| *rate == 100_000).expect("the way back");
    assert!(ports.u64("drops_aqm")[slow] > 0, "CoDel has chosen ACKs");
    assert!(!said(&out).contains("nothing was signalled"), "{}", said(&out));
}

#[test]
fn dualpi2_without_l4s_senders_is_said() {
    let dual = "[queue]\nkind = \"dualpi2\"\nlimit = \"200 kB\"\n";
    for ecn in ["", "[schemes.newreno]\necn = true\n"] {
        let out = run_plain(&scenario(&format!("{dual}{ecn}{FLOW}")));
        assert!(said(&out).contains("DualPI2's L queue stayed empty"), "{}", said(&out));
        // Its delay is kept all the same.
        let ports = out.table("ports").expect("ports");
        let row = crate::common::port(&out, "r0", "r1");
        assert!(ports.u64("drops_aqm")[row] + ports.u64("marks")[row] > 0);
        assert!(ports.f64("delay_mean_s")[row] < 0.04, "{}", ports.f64("delay_mean_s")[row]);
    }
}

#[test]
fn a_load_that_goes_elsewhere_is_said() {
    let workload = |load_of: &str, to: &str| {
        format!(
            "seed = 3\n{}",
            scenario(&format!(
                "[[workload]]\nuntil = \"4 s\"\narrivals = {{ kind = \"poisson\", load = \"80 %\", load_of = \"{load_of}\" }}\n\
                 sizes = {{ kind = \"fixed\", size = \"20 kB\" }}\nmatrix = {{ kind = \"pairs\", pairs = [[\"a\", \"{to}\"]] }}\n"
            ))
        )
    };
    for load_of in ["link:r0>r1", "10 Mbps"] {
        let (there, elsewhere) = (said(&run_plain(&workload(load_of, "c"))), said(&run_plain(&workload(load_of, "b"))));
        assert!(!there.contains("its flows go elsewhere"), "{load_of}: {there}");
        assert!(elsewhere.contains(&format!("asks for 80.000 % of {load_of}, and ")), "{load_of}: {elsewhere}");
    }
}
