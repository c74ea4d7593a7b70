//! The scheme fills a link, holds its target, and lives beside Midpath's own.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{Column, RunOptions, RunOutput, Table, run_with};

const DUMBBELL: &str = r#"
scheme = "aimd"
stop = "20 s"

[topology]
generate = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "5 ms" }

[queue]
limit = "200 ms"

[[flow]]
from = "s0"
to = "d0"

[[flow]]
from = "s1"
to = "d1"
start = "1 s"
"#;

fn catalogue() -> Catalogue {
    Catalogue::standard().joined(outside_scheme::schemes()).expect("names that nobody has")
}

fn run(text: &str) -> Result<RunOutput, String> {
    run_with(text, Path::new("."), &RunOptions::default(), &catalogue(), &mut |_| true)
        .map(|out| out.expect("not cancelled"))
        .map_err(|e| e.to_string())
}

fn bottleneck_delay(out: &RunOutput) -> f64 {
    let ports = out.table("ports").unwrap();
    let busiest =
        ports.u64("bytes").iter().enumerate().max_by_key(|(i, b)| (ports.u64("rate_bps")[*i] == 10_000_000, **b));
    ports.f64("delay_mean_s")[busiest.unwrap().0]
}

#[test]
fn it_fills_the_link_and_holds_its_target() {
    let out = run(DUMBBELL).unwrap();
    assert!(out.summary("utilisation_max").unwrap() > 0.95, "{}", out.run["summary"]);
    assert!(out.summary("jain_goodput").unwrap() > 0.9, "{}", out.run["summary"]);
    let delay = bottleneck_delay(&out);
    // Between the depth of its saw-tooth and the target and one packet per flow above it.
    assert!((0.002..0.009).contains(&delay), "{delay}");
    assert_eq!(out.run["invariants"]["conserved"], true);
}

#[test]
fn a_larger_target_means_a_longer_queue() {
    let longer = run(&format!("{DUMBBELL}\n[schemes.aimd]\ntarget = \"40 ms\"\n")).unwrap();
    assert!(bottleneck_delay(&longer) > 3.0 * bottleneck_delay(&run(DUMBBELL).unwrap()));
}

#[test]
fn it_shares_a_network_with_tcp_and_finishes_what_it_begins() {
    let text = format!("{DUMBBELL}\n[[flow]]\nfrom = \"s2\"\nto = \"d2\"\nsize = \"500 kB\"\nscheme = \"newreno\"\n");
    let out = run(&text).unwrap();
    assert_eq!(out.summary("completed"), Some(1.0));
}

#[test]
fn it_is_refused_where_no_port_stamps() {
    let text = DUMBBELL.replace("scheme = \"aimd\"\n", "");
    let error = run(&format!("{text}\n[[flow]]\nfrom = \"s2\"\nto = \"d2\"\nscheme = \"aimd\"\n")).unwrap_err();
    assert!(error.contains("flow[2].scheme: `aimd` needs `aimd` in the network, which is not deployed"), "{error}");
}

#[test]
fn its_parameters_are_checked_like_any_other() {
    let error = run(&format!("{DUMBBELL}\n[schemes.aimd]\nspeed = \"fast\"\n")).unwrap_err();
    assert!(
        error.contains("speed") && ["decrease", "increase", "target"].iter().all(|key| error.contains(key)),
        "{error}"
    );
    let error = run(&format!("{DUMBBELL}\n[schemes.aimd]\ndecrease = 2\n")).unwrap_err();
    assert!(error.contains("decrease") && error.contains("between 0 and 1"), "{error}");
}

#[test]
fn it_ends_its_flows_where_packets_are_lost() {
    let lossy = DUMBBELL.replace("delay = \"10 ms\" }", "delay = \"10 ms\", corruption = \"1 %\" }");
    let lossy = lossy
        .replace("to = \"d0\"", "to = \"d0\"\nsize = \"300 kB\"")
        .replace("to = \"d1\"", "to = \"d1\"\nsize = \"300 kB\"");
    let out = run(&lossy.replace("stop = \"20 s\"", "stop = \"120 s\"")).unwrap();
    assert_eq!(out.summary("completed"), Some(2.0), "{}", out.run["summary"]);
    assert_eq!(out.run["invariants"]["conserved"], true);
}

#[test]
fn it_is_the_same_over_bytes_and_on_any_number_of_threads() {
    let with = |threads, wire| {
        let options = RunOptions { threads, wire, ..RunOptions::default() };
        let run = run_with(DUMBBELL, Path::new("."), &options, &catalogue(), &mut |_| true);
        run.expect("a good scenario").expect("not cancelled").repeatable()
    };
    let plain = with(1, false);
    assert!(with(1, true) == plain);
    assert!(with(3, true) == plain);
}

/// A column of texts.
fn texts<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    match table.column(name) {
        Some(Column::Str { dictionary, index }) => index.iter().map(|i| dictionary[*i as usize].as_str()).collect(),
        other => panic!("{name} is no column of texts: {other:?}"),
    }
}

#[test]
fn its_results_say_what_it_is_and_what_its_gauges_show() {
    let out = run(&format!("{DUMBBELL}\n[measure]\nseries = true\n")).unwrap();
    let own = &out.run["schemes"]["aimd"];
    // tests/python/test_schemes.py draws a report of a run that says this.
    let said = include_str!("described.json");
    let mut said = serde_json::from_str::<serde_json::Value>(said).expect("JSON");
    // TCP's parameters are beside its own.
    assert_eq!(own["parameters"]["target"], "5 ms");
    said["parameters"] = own["parameters"].clone();
    assert_eq!(*own, said, "described.json says something else");
    let series = out.table("series").unwrap();
    let (entities, metrics) = (texts(series, "entity"), texts(series, "metric"));
    for (of, key) in [("port:", "ports"), ("flow:", "flows")] {
        for gauge in own[key].as_array().expect("a list") {
            let shown = entities.iter().zip(&metrics).any(|(e, m)| e.starts_with(of) && gauge["name"] == **m);
            assert!(shown, "{gauge} is described and never shown");
        }
    }
}
