//! Which scheme runs where is a table: several in one network, each at its nodes, with every byte
//! delivered and every packet accounted for.

use std::path::Path;
use std::sync::Arc;

use crate::common::reads::{delivered, last, most, texts};
use crate::common::run_plain;
use midpath_core::queue::{Discipline, Limit, QueueSpec};
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};

/// Four hosts on either side of a line of routers r0 to r5, all links but the last of 20 Mbps.
fn line(tables: &str) -> String {
    let mut t = String::from("stop = \"60 s\"\n[topology]\nlinks = [\n");
    for i in 0..5 {
        let rate = if i == 4 { 10 } else { 20 };
        t += &format!("{{ a = \"r{i}\", b = \"r{}\", rate = \"{rate} Mbps\", delay = \"2 ms\" }},\n", i + 1);
    }
    for i in 0..4 {
        t += &format!("{{ a = \"s{i}\", b = \"r0\", rate = \"40 Mbps\", delay = \"1 ms\" }},\n");
        t += &format!("{{ a = \"d{i}\", b = \"r5\", rate = \"40 Mbps\", delay = \"1 ms\" }},\n");
    }
    t += "]\nnodes = [{ name = \"r2\", class = \"middle\" },\n";
    for i in 0..4 {
        t += &format!("{{ name = \"s{i}\", kind = \"host\" }}, {{ name = \"d{i}\", kind = \"host\" }},\n");
    }
    format!("{t}]\n[measure]\nseries = true\nports = 60\ninterval = \"20 ms\"\n{tables}")
}

/// Flows of 3 MB of the run's scheme.
fn plain_flows(n: usize) -> String {
    (0..n).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"3 MB\"\n")).collect()
}

/// A flow of 3 MB of each scheme.
fn flows(schemes: &[&str]) -> String {
    let one = |(i, scheme): (usize, &&str)| {
        format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"3 MB\"\nscheme = \"{scheme}\"\n")
    };
    schemes.iter().enumerate().map(one).collect()
}

fn everything_arrived(out: &RunOutput, flows: usize) {
    (0..flows).for_each(|f| assert_eq!(delivered(out, f), 3_000_000, "flow {f}"));
    assert_eq!(out.run["invariants"]["conserved"], true, "{}", out.run["invariants"]);
    assert_eq!(out.run["invariants"]["stored"], 0);
}

fn error_with(catalogue: &Catalogue, text: &str) -> String {
    let run = run_with(text, Path::new("."), &RunOptions::default(), catalogue, &mut |_| true);
    run.map(|_| ()).expect_err(text).to_string()
}

fn error(tables: &str) -> String {
    let e = error_with(&Catalogue::standard(), &line(&format!("{tables}{}", flows(&["newreno"]))));
    assert!(e.starts_with("line "), "{e}");
    e
}

#[test]
fn a_row_without_a_place_is_the_same_as_none() {
    for scheme in ["inrpp", "fcp", "mptcp", "dctcp"] {
        let text = |row: &str| format!("scheme = \"{scheme}\"\n{}", line(&format!("{row}{}", flows(&[scheme]))));
        let (with, without) = (run_plain(&text("[[deploy]]\n")), run_plain(&text("")));
        for table in ["flows", "ports", "series"] {
            let [with, without] = [&with, &without].map(|out| format!("{:?}", out.table(table)));
            assert!(with == without, "{scheme}: {table}");
        }
    }
}

/// An INRPP domain, a CoDel link, and two FCP domains of different currencies, one after the other,
/// under flows of four transports.
#[test]
fn a_scheme_over_another_is_a_row_for_all() {
    let queue = "[schemes.cubic]\necn = true\n[schemes.rpm.queue]\nkind = \"codel\"\nlimit = \"100 ms\"\n";
    let short = run_plain(&format!("scheme = \"cubic+rpm\"\n{}", line(&format!("{queue}{}", plain_flows(2)))));
    let row = "[[deploy]]\nscheme = \"rpm\"\n";
    let long = run_plain(&format!("scheme = \"cubic\"\n{}", line(&format!("{queue}{row}{}", plain_flows(2)))));
    assert_eq!(short.run["scheme"], "cubic+rpm");
    assert_eq!(short.run["deployment"], long.run["deployment"]);
    assert_eq!(short.run["summary"], long.run["summary"]);
    assert!(last(&short, "port:r4>r5", "rpm_signals") > 0.0);
    let asked = RunOptions { scheme: Some("cubic+rpm".into()), ..RunOptions::default() };
    let text = line(&format!("{queue}{}", plain_flows(2)));
    let out = run_with(&text, Path::new("."), &asked, &Catalogue::standard(), &mut |_| true).unwrap().unwrap();
    assert_eq!(out.run["summary"], long.run["summary"]);
}

#[test]
fn a_scheme_over_another_is_refused_beside_a_table_and_over_what_runs_nothing() {
    let with = |scheme: &str, tables: &str| {
        let text = format!("scheme = \"{scheme}\"\n{}", line(&format!("{tables}{}", plain_flows(1))));
        error_with(&Catalogue::standard(), &text)
    };
    let both = with("cubic+rpm", "[[deploy]]\nscheme = \"rpm\"\nnodes = [\"r1\"]\n");
    assert!(both.contains("line 1: scheme: both `cubic+rpm` and [[deploy]] define what the network runs"), "{both}");
    let nothing = with("cubic+newreno", "");
    assert!(nothing.contains("`newreno` carries flows and runs nothing in the network"), "{nothing}");
    let unknown = with("cubic+rmp", "");
    assert!(unknown.contains("`rmp`") && unknown.contains("rpm"), "{unknown}");
}

#[test]
fn domains_of_several_schemes_lie_side_by_side() {
    let tables = r#"
[schemes.inrpp]
cache = "4 MB"
high = "1 MB"
[queues.controlled]
kind = "codel"
[[deploy]]
scheme = "inrpp"
nodes = ["s*", "r0", "r1"]
[[deploy]]
scheme = "fcp"
nodes = ["r3"]
[[deploy]]
scheme = "fcp"
name = "dear"
nodes = ["r4", "r5"]
params = { minimum_price = 1e-9, without = ["catch_up"] }
[[deploy]]
scheme = "none"
nodes = ["middle"]
queue = "controlled"
"#;
    let text = line(&format!("{tables}{}", flows(&["inrpp", "fcp", "newreno", "dctcp"])));
    let out = run_plain(&text);
    everything_arrived(&out, 4);
    // Each port shows what it is: INRPP's have a state, FCP's a price, which never falls below its
    // own instance's minimum.
    assert!(last(&out, "port:r0>r1", "state") >= 0.0 && last(&out, "port:r1>r2", "state") >= 0.0);
    assert!(most(&out, "port:r4>r5", "price") >= 1e-9 && last(&out, "port:r3>r4", "price") < 1e-9);
    let threads = RunOptions { threads: 3, ..RunOptions::default() };
    assert_eq!(crate::common::run(&text, &threads).repeatable(), out.repeatable());
}

/// Three rows match the port from r1 to r2: the last one decides, with a queue of its own.
#[test]
fn the_last_row_that_matches_a_port_decides() {
    let tables = r#"
[queues.short]
limit = "2 packets"
[[deploy]]
scheme = "fcp"
[[deploy]]
scheme = "none"
nodes = ["r1", "r2"]
[[deploy]]
scheme = "fcp"
ports = ["r1>r2"]
queue = "short"
"#;
    let out = run_plain(&line(&format!("{tables}{}", flows(&["fcp"]))));
    everything_arrived(&out, 1);
    let (entities, metrics) = (texts(&out, "series", "entity"), texts(&out, "series", "metric"));
    let priced = |port: &str| entities.iter().zip(&metrics).any(|(e, m)| e == port && m == "price");
    assert_eq!(["port:r0>r1", "port:r1>r2", "port:r2>r3"].map(priced), [true, true, false]);
    assert!(most(&out, "port:r1>r2", "queue_bytes") <= 3000.0);
}

#[test]
fn what_cannot_be_deployed_is_refused_with_key_and_line() {
    let e = error("[[deploy]]\nscheme = \"cubic\"\n");
    assert!(e.contains("deploy[0].scheme: `cubic` carries flows and runs nothing in the network"), "{e}");
    let e = error("[[deploy]]\nscheme = \"cubik\"\n");
    assert!(e.contains("deploy[0].scheme: there is no scheme `cubik`"), "{e}");
    let e = error("[[deploy]]\nnodes = [\"r0\", \"x*\"]\nscheme = \"fcp\"\n");
    assert!(e.contains("deploy[0].nodes[1]: no node, and no class of nodes, is called `x*`"), "{e}");
    let e = error("[[deploy]]\nports = [\"r0>r5\"]\nscheme = \"fcp\"\n");
    assert!(e.contains("deploy[0].ports[0]: there is no port `r0>r5`"), "{e}");
    let e = error("[[deploy]]\nscheme = \"fcp\"\nparams = { alfa = 1.0 }\n");
    assert!(e.contains("deploy[0].params.alfa: is not a parameter here"), "{e}");
    let e = error("[[deploy]]\nscheme = \"fcp\"\nqueue = \"deep\"\n");
    assert!(e.contains("deploy[0].queue: there is no queue `deep`"), "{e}");
    let e = error("[queues.c]\nkind = \"codel\"\n[[deploy]]\nscheme = \"fcp\"\nqueue = \"c\"\n");
    assert!(e.contains("queues.c.kind: must be \"drop-tail\""), "{e}");
    let twice = "[[deploy]]\nscheme = \"fcp\"\n[[deploy]]\nscheme = \"fcp\"\nparams = { alpha = 1.0 }\n";
    assert!(error(twice).contains("deploy[1]: the instance `fcp` takes `params` from its first row"));
    let other = "[[deploy]]\nscheme = \"fcp\"\nname = \"a\"\n[[deploy]]\nscheme = \"rcp\"\nname = \"a\"\n";
    assert!(error(other).contains("deploy[1]: the instance `a` runs `fcp` in an earlier row"));
    let e = error("[[deploy]]\nscheme = \"fcp\"\nnode = [\"r0\"]\n");
    assert!(e.contains("deploy[0].node: unknown field"), "{e}");
}

#[test]
fn flows_need_their_network_somewhere() {
    let text = |row: &str| line(&format!("{row}{}", flows(&["newreno", "fcp"])));
    let e = error_with(&Catalogue::standard(), &text(""));
    assert!(e.contains("flow[1].scheme: `fcp` needs `fcp` in the network, which is not deployed"), "{e}");
    everything_arrived(&run_plain(&text("[[deploy]]\nscheme = \"fcp\"\nnodes = [\"routers\"]\n")), 2);
    // The run's scheme, which flows that name none have.
    let run =
        format!("scheme = \"rcp\"\n{}", line("[[deploy]]\nscheme = \"fcp\"\n[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n"));
    let e = error_with(&Catalogue::standard(), &run);
    assert!(e.starts_with("line 1: scheme: `rcp` needs `rcp` in the network"), "{e}");
}

/// A scheme of routers alone: short queues, whatever the scenario says.
struct Short;

impl Network for Short {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(QueueSpec::fifo(Limit::Packets(3)).build(port.link.rate))
    }
}

#[test]
fn a_network_scheme_runs_under_other_schemes_flows_and_carries_none() {
    let catalogue = Catalogue::standard().with("short", |_| {
        Ok(Arc::new(Parts { name: "short".to_owned(), transport: None, network: Some(Arc::new(Short)) }))
    });
    let text = line(&format!("[[deploy]]\nscheme = \"short\"\nnodes = [\"r4\"]\n{}", flows(&["newreno"])));
    let run = |text: &str| run_with(text, Path::new("."), &RunOptions::default(), &catalogue, &mut |_| true);
    let longest = |text: &str| {
        let out = run(text).expect("valid").expect("ran");
        everything_arrived(&out, 1);
        most(&out, "port:r4>r5", "queue_bytes")
    };
    assert!(longest(&text) <= 4500.0 && longest(&line(&flows(&["newreno"]))) > 4500.0);
    let e = error_with(&catalogue, &line(&flows(&["short"])));
    assert!(e.contains("flow[0].scheme: `short` runs in the network and carries no flows"), "{e}");
    let run = format!("scheme = \"short\"\n{}", line("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n"));
    let e = error_with(&catalogue, &run);
    assert!(e.starts_with("line 1: scheme: `short` runs in the network and carries no flows"), "{e}");
}
