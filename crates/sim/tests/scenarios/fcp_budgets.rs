//! What a flow spends is said by its key `budget`; what it is called in results says nothing about
//! that.

use crate::common::run_plain;
use midpath_sim::{RunOptions, RunOutput, run_text};

/// Four flows of one host through 10 Mbps; `more` has a line for each.
fn four(params: &str, more: [&str; 4]) -> String {
    let flow = |more: &str| format!("[[flow]]\nfrom = \"s0\"\nto = \"d0\"\n{more}\n");
    format!(
        "scheme = \"fcp\"\nstop = \"10 s\"\n{params}[topology]\ngenerate = \"chain\"\nn = 2\n\
         link = {{ rate = \"10 Mbps\", delay = \"5 ms\" }}\naccess = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n{}",
        more.map(flow).concat()
    )
}

/// Each flow's part of what all have.
fn shares(out: &RunOutput) -> Vec<f64> {
    let delivered = out.table("flows").expect("every run has flows").u64("delivered_bytes").to_vec();
    let all: u64 = delivered.iter().sum();
    delivered.iter().map(|d| *d as f64 / all as f64).collect()
}

fn near(got: &[f64], want: [f64; 4]) {
    assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 0.03 * w), "{got:?} is not {want:?}");
}

#[test]
fn a_label_is_for_results() {
    near(&shares(&run_plain(&four("", ["group = \"a\"", "", "", ""]))), [0.25; 4]);
    near(&shares(&run_plain(&four("", ["group = \"a\"", "group = \"b\"", "group = \"c\"", ""]))), [0.25; 4]);
}

#[test]
fn a_budget_is_named_by_its_own_key() {
    // `gold` has three times the part of the others' host budget; two flows split it.
    let gold = "[schemes.fcp.groups.gold]\nweight = 3.0\n";
    let out = run_plain(&four(gold, ["budget = \"gold\"", "group = \"x\"\nbudget = \"gold\"", "group = \"x\"", ""]));
    near(&shares(&out), [0.375, 0.375, 0.125, 0.125]);
    // One that no parameter speaks of has a part of its own.
    near(&shares(&run_plain(&four("", ["budget = \"mine\"", "", "", ""]))), [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]);
}

/// Scenarios from before the key: a group that parameters speak of is a budget, too, where a flow
/// says nothing else.
#[test]
fn a_group_that_parameters_speak_of_is_its_flows_budget() {
    let a = "[schemes.fcp.groups.a]\nweight = 3.0\n";
    near(&shares(&run_plain(&four(a, ["group = \"a\"", "", "", ""]))), [0.75, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0]);
    let other = ["group = \"a\"\nbudget = \"b\"", "group = \"a\"", "budget = \"b\"", "budget = \"b\""];
    near(&shares(&run_plain(&four(a, other))), [1.0 / 12.0, 0.75, 1.0 / 12.0, 1.0 / 12.0]);
}

#[test]
fn a_budget_that_nobody_spends_is_an_error() {
    let text = four("[schemes.fcp.groups.gold]\nweight = 3.0\n", ["", "", "", ""]);
    let error = run_text(&text, std::path::Path::new("."), &RunOptions::default(), &mut |_| true).expect_err("no flow");
    let error = error.to_string();
    assert!(error.contains("groups.gold") && error.contains("`budget`"), "{error}");
}
