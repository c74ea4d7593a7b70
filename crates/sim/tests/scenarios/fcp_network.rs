//! FCP's network policies (§4.2, §4.3), by the numbers of the paper's figures 20, 22 and 23.

use crate::common::{run, run_plain};
use midpath_sim::{Column, RunOptions, RunOutput};

/// A metric of an entity over time: seconds and values.
fn track(out: &RunOutput, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let series = out.table("series").expect("measured");
    let is = |name: &str, wanted: &str| -> Vec<bool> {
        match series.column(name) {
            Some(Column::Str { dictionary, index }) => {
                index.iter().map(|i| dictionary[*i as usize] == wanted).collect()
            }
            _ => panic!("{name} is a text"),
        }
    };
    let (entities, metrics) = (is("entity", entity), is("metric", metric));
    let rows = (0..series.rows()).filter(|r| entities[*r] && metrics[*r]);
    let found: Vec<(f64, f64)> = rows.map(|r| (series.f64("time_s")[r], series.f64("value")[r])).collect();
    assert!(!found.is_empty(), "no {metric} of {entity}");
    found
}

/// The mean of a metric over a time.
fn mean(track: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let inside: Vec<f64> = track.iter().filter(|p| p.0 > from && p.0 <= to).map(|p| p.1).collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// The largest quotient of two values less than `span` seconds apart.
fn worst(track: &[(f64, f64)], span: f64) -> f64 {
    let mut worst: f64 = 1.0;
    for (i, a) in track.iter().enumerate() {
        for b in track[i..].iter().take_while(|b| b.0 - a.0 < span) {
            worst = worst.max((a.1 / b.1).max(b.1 / a.1));
        }
    }
    worst
}

fn close(x: f64, of: f64, share: f64) -> bool {
    (x / of - 1.0).abs() <= share
}

/// Payload of a full packet's bytes on the wire: 1500 of which 52 are TCP/IP's and 32 are FCP's.
const PAYLOAD: f64 = 1408.0 / 1500.0;

/// Figure 20: 100 Mbps, 100 ms. Flow 0 is the normal one, flow 1 wants stability, flow 2 and 3 are
/// the cross traffic.
fn figure_20(pricing: &str) -> String {
    format!(
        r#"
scheme = "fcp"
stop = "8 s"
[schemes.fcp]
network = {{ pricing = "{pricing}" }}
[schemes.fcp.hosts]
s2 = {{ budget = 50.0 }}
s3 = {{ budget = 50.0 }}
[schemes.fcp.groups.stable]
class = "stability"
ramp = {{ from = 0.01, factor = 2.0, every = "100 ms", start = "2 s" }}
[topology]
generate = "dumbbell"
pairs = 4
bottleneck = {{ rate = "100 Mbps", delay = "40 ms" }}
access = {{ rate = "1 Gbps", delay = "5 ms" }}
[queue]
limit = "100 ms"
[measure]
series = true
interval = "10 ms"
[[flow]]
from = "s0"
to = "d0"
start = "1 s"
[[flow]]
from = "s1"
to = "d1"
start = "2 s"
group = "stable"
[[flow]]
from = "s2"
to = "d2"
start = "3 s"
stop = "5 s"
[[flow]]
from = "s3"
to = "d3"
start = "7 s"
"#
    )
}

#[test]
fn figure_20_the_stability_price_moves_by_no_more_than_two_in_two_round_trips() {
    let out = run_plain(&figure_20("stability"));
    let price = |metric: &str| -> Vec<(f64, f64)> {
        track(&out, "port:r0>r1", metric).into_iter().filter(|p| p.0 > 2.5).collect()
    };
    let (stable, normal) = (price("stability_price"), price("price"));
    // Samples are 10 ms apart: up to 190 ms.
    assert!(worst(&stable, 0.195) <= 2.0 + 1e-6, "{}", worst(&stable, 0.195));
    assert!(worst(&normal, 0.2) > 20.0, "{}", worst(&normal, 0.2));
    let flow =
        |n: usize, from: f64, to: f64| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), from, to) / PAYLOAD;
    // Both have a budget of 1 when the ramp is over; the cross traffic has 50: 1/2, then 1/52 of
    // 100 Mbps each.
    for n in [0, 1] {
        assert!(close(flow(n, 6.3, 7.0), 50e6, 0.01), "flow {n}: {}", flow(n, 6.3, 7.0));
        assert!(close(flow(n, 4.3, 5.0), 100e6 / 52.0, 0.02), "flow {n}: {}", flow(n, 4.3, 5.0));
    }
    // The ramp doubles from 0.01 every 100 ms: 1 + 0.64 dollars share the link at 2.9 s, told and
    // spent 200 ms later at most.
    assert!((15e6..45e6).contains(&flow(1, 2.85, 2.95)), "{}", flow(1, 2.85, 2.95));
    // 300 ms after the cross traffic came and went the normal flow is where it has to be, the
    // stable one on its way.
    assert!(flow(0, 3.3, 3.4) < 2.5e6, "{}", flow(0, 3.3, 3.4));
    assert!(flow(1, 3.3, 3.4) > 20e6, "{}", flow(1, 3.3, 3.4));
    // It had announced that for two: the stable one is a factor of two further, 12 Mbps in place of 6.
    assert!(flow(0, 5.4, 5.5) > 80e6, "{}", flow(0, 5.4, 5.5));
    assert!(flow(1, 5.4, 5.5) < 20e6, "{}", flow(1, 5.4, 5.5));
    assert_eq!(out.summary("lost_packets"), Some(0.0));
}

/// The control: one price for all throws both flows about.
#[test]
fn figure_20_with_one_price_both_flows_are_thrown_about() {
    let out = run_plain(&figure_20("uniform"));
    let flow = |n: usize| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), 3.3, 3.4);
    assert!(flow(0) < 3e6 && flow(1) < 3e6, "{} {}", flow(0), flow(1));
}

#[test]
fn prices_repeat_byte_for_byte_on_any_number_of_threads() {
    let text = figure_20("stability").replace("stop = \"8 s\"", "stop = \"4 s\"");
    let one = run_plain(&text);
    let two = run(&text, &RunOptions { threads: 2, ..RunOptions::default() });
    assert!(one.repeatable() == two.repeatable());
}

/// Paris Metro Pricing: flow 1 pays ten times the price, flow 2 is of another scheme and fills the
/// standard queue.
fn metro(class: &str) -> String {
    format!(
        r#"
scheme = "fcp"
stop = "10 s"
[schemes.fcp]
network = {{ pricing = "metro" }}
[schemes.fcp.groups.first]
class = "{class}"
[topology]
generate = "dumbbell"
pairs = 3
bottleneck = {{ rate = "100 Mbps", delay = "15 ms" }}
access = {{ rate = "1 Gbps", delay = "5 ms" }}
[queue]
limit = "100 ms"
[measure]
series = true
interval = "10 ms"
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "s1"
to = "d1"
group = "first"
[[flow]]
from = "s2"
to = "d2"
start = "4 s"
scheme = "newreno"
"#
    )
}

#[test]
fn metro_sells_a_short_queue_at_ten_times_the_price() {
    let out = run_plain(&metro("priority"));
    let flow = |n: usize, from, to| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), from, to) / PAYLOAD;
    // Equal budgets, prices 1:10: 10/11 and 1/11 of the link.
    assert!(close(flow(0, 2.0, 4.0), 100e6 * 10.0 / 11.0, 0.02), "{}", flow(0, 2.0, 4.0));
    assert!(close(flow(1, 2.0, 4.0), 100e6 / 11.0, 0.02), "{}", flow(1, 2.0, 4.0));
    // NewReno fills the 100 ms of the standard queue. Whoever pays for priority doesn't wait there:
    // 50 ms and a packet's time.
    let rtt = |n: usize| mean(&track(&out, &format!("flow:{n}"), "srtt_s"), 8.0, 10.0);
    assert!(rtt(0) > 0.08, "{}", rtt(0));
    assert!((0.05..0.052).contains(&rtt(1)), "{}", rtt(1));
}

/// The control: without priority both wait.
#[test]
fn metro_without_priority_waits_with_everybody() {
    let out = run_plain(&metro("normal"));
    let rtt = |n: usize| mean(&track(&out, &format!("flow:{n}"), "srtt_s"), 8.0, 10.0);
    assert!(rtt(0) > 0.08 && rtt(1) > 0.08, "{} {}", rtt(0), rtt(1));
}

/// Figure 22: 100 Mbps, 2 ms. Flow 0 is best effort, flows 1 and 2 come at 0.1 s and flows 3 to 6
/// at 0.6 s, each with 700 kB, which at 30 Mbps are 198 ms.
fn figure_22(stop: &str) -> String {
    let mut text = format!(
        r#"
scheme = "fcp"
stop = "{stop}"
[schemes.fcp]
network = {{ pricing = "deadline" }}
[schemes.fcp.groups.urgent]
class = "deadline"
rate = "30 Mbps"
[topology]
generate = "dumbbell"
pairs = 7
bottleneck = {{ rate = "100 Mbps", delay = "600 us" }}
access = {{ rate = "1 Gbps", delay = "200 us" }}
[queue]
limit = "20 ms"
[measure]
series = true
interval = "10 ms"
[[flow]]
from = "s0"
to = "d0"
"#
    );
    for (n, at) in [(1, 100), (2, 100), (3, 600), (4, 600), (5, 600), (6, 600)] {
        text += &format!(
            "[[flow]]\nfrom = \"s{n}\"\nto = \"d{n}\"\nstart = \"{at} ms\"\nsize = \"700 kB\"\ngroup = \"urgent\"\n"
        );
    }
    text
}

#[test]
fn figure_22_what_fits_is_in_time_and_the_rest_is_best_effort() {
    let out = run_plain(&figure_22("1400 ms"));
    let fct = out.table("flows").expect("flows").f64("fct_s").to_vec();
    let rate = |n: usize, from, to| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), from, to) / PAYLOAD;
    // 198 ms at 30 Mbps, and three round trips of handshake, asking and last ACK.
    for n in [1, 2] {
        assert!((0.200..0.210).contains(&fct[n]), "flow {n}: {}", fct[n]);
        assert!(close(rate(n, 0.12, 0.28), 30e6, 0.01), "flow {n}: {}", rate(n, 0.12, 0.28));
    }
    // Best effort has what they leave, and has it all again when they are gone.
    assert!(close(rate(0, 0.12, 0.28), 40e6, 0.06), "{}", rate(0, 0.12, 0.28));
    assert!(close(rate(0, 0.35, 0.55), 100e6, 0.03), "{}", rate(0, 0.35, 0.55));
    // Of the four, two fit into 80 Mbps. The others share the rest with flow 0.
    let granted: Vec<usize> = (3..7).filter(|n| fct[*n] < 0.210).collect();
    assert_eq!(granted.len(), 2, "{fct:?}");
    for n in 3..7 {
        let expected = if granted.contains(&n) { 30e6 } else { 40e6 / 3.0 };
        assert!(close(rate(n, 0.65, 0.78), expected, 0.08), "flow {n}: {}", rate(n, 0.65, 0.78));
    }
    assert!(close(rate(0, 0.65, 0.78), 40e6 / 3.0, 0.12), "{}", rate(0, 0.65, 0.78));
    assert_eq!(out.summary("lost_packets"), Some(0.0));
}

/// The control: with one price for all, six flows of equal budgets share the link and none is in
/// time.
#[test]
fn figure_22_without_deadlines_none_of_the_four_is_in_time() {
    let text = figure_22("1400 ms").replace("\"deadline\" }", "\"uniform\" }");
    let fct = run_plain(&text).table("flows").expect("flows").f64("fct_s").to_vec();
    // NaN is a flow that isn't done.
    assert!(!fct[3..7].iter().any(|t| *t < 0.24), "{fct:?}");
}

/// Figure 23: 20 servers with two virtual machines each around a switch, links of 1 Gbps. Group 0
/// (weight 1) has one flow from 1 s on, group 1 (weight 2) flows of different machines from 1.5 s
/// on, all to the same server.
fn figure_23(budget: &str) -> String {
    let mut text = format!(
        r#"
scheme = "fcp"
stop = "3500 ms"
[schemes.fcp.network]
pricing = "aggregate"
tenants = {{ 0 = 1.0, 1 = 2.0 }}
[schemes.fcp.groups.zero]
tenant = 0
[schemes.fcp.groups.one]
tenant = 1
{budget}
[queue]
limit = "10 ms"
[measure]
series = true
interval = "20 ms"
[topology]
links = [
"#
    );
    for n in 0..20 {
        text += &format!("  {{ a = \"server{n}\", b = \"tor\", rate = \"1 Gbps\", delay = \"100 us\" }},\n");
        for group in ["a", "b"] {
            text += &format!("  {{ a = \"{group}{n}\", b = \"server{n}\", rate = \"10 Gbps\", delay = \"10 us\" }},\n");
        }
    }
    text += "]\n[[flow]]\nfrom = \"a0\"\nto = \"a19\"\nstart = \"1 s\"\ngroup = \"zero\"\n";
    for n in 1..5 {
        let start = 1000 + 500 * n;
        text += &format!("[[flow]]\nfrom = \"b{n}\"\nto = \"b19\"\nstart = \"{start} ms\"\ngroup = \"one\"\n");
    }
    text
}

fn check_figure_23(text: &str) {
    let out = run_plain(text);
    let rate = |n: usize, from, to| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), from, to) / PAYLOAD;
    assert!(close(rate(0, 1.2, 1.5), 1e9, 0.02), "{}", rate(0, 1.2, 1.5));
    for (flows, from) in [(1, 1.7), (2, 2.2), (3, 2.7), (4, 3.2)] {
        let (zero, to) = (rate(0, from, from + 0.28), from + 0.28);
        assert!(close(zero, 1e9 / 3.0, 0.03), "{flows} flows: {zero}");
        for n in 1..=flows {
            let expected = 2e9 / 3.0 / flows as f64;
            assert!(close(rate(n, from, to), expected, 0.03), "flow {n} of {flows}: {}", rate(n, from, to));
        }
    }
    assert_eq!(out.summary("lost_packets"), Some(0.0));
}

#[test]
fn figure_23_groups_share_one_to_two_whatever_the_number_of_flows() {
    check_figure_23(&figure_23(""));
}

/// Each tenant gives budgets as it likes.
#[test]
fn figure_23_with_a_thousand_times_the_budget_is_the_same() {
    let hosts: String = (0..20).map(|n| format!("[schemes.fcp.hosts.b{n}]\nbudget = 1000.0\n")).collect();
    check_figure_23(&figure_23(&hosts));
}

/// Three hosts send over one link of domain `p`: s0 of domain `a`, s1 and s2 of domain `c`, s3 of
/// `p` itself. `weights` are what `p` gives its neighbours; `budget_a` is what `a` calls its host's
/// budget.
fn domains(weights: &str, budget_a: f64, budget_c: f64) -> String {
    format!(
        r#"
scheme = "fcp"
stop = "8 s"
[schemes.fcp.domains]
a = {{ nodes = ["s0", "ra"] }}
c = {{ nodes = ["s1", "s2", "rc"] }}
p = {{ nodes = ["s3", "in", "out", "d0", "d1", "d2", "d3"], weights = {weights} }}
[schemes.fcp.hosts]
s0 = {{ budget = {budget_a} }}
s1 = {{ budget = {budget_c} }}
s2 = {{ budget = {budget_c} }}
[queue]
limit = "50 ms"
[measure]
series = true
interval = "20 ms"
[topology]
links = [
  {{ a = "s0", b = "ra", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "s1", b = "rc", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "s2", b = "rc", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "s3", b = "in", rate = "1 Gbps", delay = "3 ms" }},
  {{ a = "ra", b = "in", rate = "1 Gbps", delay = "2 ms" }},
  {{ a = "rc", b = "in", rate = "1 Gbps", delay = "2 ms" }},
  {{ a = "in", b = "out", rate = "100 Mbps", delay = "5 ms" }},
  {{ a = "out", b = "d0", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "out", b = "d1", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "out", b = "d2", rate = "1 Gbps", delay = "1 ms" }},
  {{ a = "out", b = "d3", rate = "1 Gbps", delay = "1 ms" }},
]
[[flow]]
from = "s0"
to = "d0"
start = "1 s"
[[flow]]
from = "s1"
to = "d1"
start = "2 s"
[[flow]]
from = "s2"
to = "d2"
start = "3 s"
[[flow]]
from = "s3"
to = "d3"
start = "4 s"
"#
    )
}

/// Rates at the end, in shares of the link.
fn shares(text: &str) -> Vec<f64> {
    let out = run_plain(text);
    let rate = |n: usize| mean(&track(&out, &format!("flow:{n}"), "goodput_bps"), 6.0, 8.0) / PAYLOAD / 100e6;
    (0..4).map(rate).collect()
}

fn check_shares(shares: &[f64], expected: &[f64]) {
    for (share, expected) in shares.iter().zip(expected) {
        assert!(close(*share, *expected, 0.04), "{shares:?}, not {expected}");
    }
}

/// One to two to one (a host of its own): 1/4, 2/4 among two hosts, 1/4.
#[test]
fn domains_share_by_weight_whatever_they_call_their_budgets() {
    let expected = [0.25, 0.25, 0.25, 0.25];
    check_shares(&shares(&domains("{ a = 1.0, c = 2.0 }", 1.0, 1.0)), &expected);
    check_shares(&shares(&domains("{ a = 1.0, c = 2.0 }", 1000.0, 1.0)), &expected);
    check_shares(&shares(&domains("{ a = 1.0, c = 2.0 }", 1.0, 0.001)), &expected);
    check_shares(&shares(&domains("{ a = 3.0, c = 1.0 }", 1.0, 1000.0)), &[0.6, 0.1, 0.1, 0.2]);
}

#[test]
fn a_domain_that_inflates_its_budgets_gains_nothing() {
    let (honest, inflated) = (domains("{ a = 1.0, c = 2.0 }", 1.0, 1.0), domains("{ a = 1.0, c = 2.0 }", 1e6, 1.0));
    let (honest, inflated) = (shares(&honest), shares(&inflated));
    assert!(inflated[0] <= honest[0] * 1.02, "{inflated:?} {honest:?}");
    for n in 1..4 {
        assert!(inflated[n] >= honest[n] * 0.97, "{inflated:?} {honest:?}");
    }
    // The control: in one domain it takes nearly all.
    let text = domains("{ a = 1.0, c = 2.0 }", 1e6, 1.0);
    let (before, after) = text.split_once("[schemes.fcp.domains]").expect("there");
    let (_, after) = after.split_once("[schemes.fcp.hosts]").expect("there");
    assert!(shares(&format!("{before}[schemes.fcp.hosts]{after}"))[0] > 0.95);
}
