//! RPM when the network changes: joins, leaves, outages, restarts, steps of rate, loss, unlike
//! round trips. Each beside CE marks on the same network.

use crate::common::reads::{last, series};
use crate::common::run_plain;
use midpath_sim::RunOutput;

/// Eight pairs of hosts over 20 Mbps; the round trips are from 14 ms to `spread` times that.
fn network(mode: &str, spread: f64, corruption: &str, flows: &str, faults: &str) -> RunOutput {
    let mut links =
        format!("{{ a = \"r0\", b = \"r1\", rate = \"20 Mbps\", delay = \"1 ms\", corruption = \"{corruption}\" }},\n");
    for i in 0..8 {
        let behind = 3.0 + (spread - 1.0) * f64::from(i);
        links += &format!("{{ a = \"s{i}\", b = \"r0\", rate = \"1 Gbps\", delay = \"3 ms\" }},\n");
        links += &format!("{{ a = \"r1\", b = \"d{i}\", rate = \"1 Gbps\", delay = \"{behind:.3} ms\" }},\n");
    }
    run_plain(&format!(
        r#"
scheme = "cubic"
stop = "20 s"
[schemes.cubic]
ecn = true
min_rto = "200 ms"
[topology]
links = [{links}]
[queue]
limit = "100 ms"
[queues.ours]
kind = "codel"
target = "2 ms"
interval = "30 ms"
limit = "100 ms"
[[deploy]]
scheme = "rpm"
nodes = ["r0"]
queue = "ours"
params = {{ mode = "{mode}" }}
{flows}
{faults}
[measure]
series = true
interval = "20 ms"
"#
    ))
}

fn flow(i: usize, more: &str) -> String {
    format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\n{more}\n")
}

fn all(more: &str) -> String {
    (0..8).map(|i| flow(i, more)).collect()
}

const PORT: &str = "port:r0>r1";

/// Milliseconds of queue at the bottleneck, over time.
fn queue(out: &RunOutput, mbps: f64) -> Vec<(f64, f64)> {
    series(out, PORT, "queue_bytes").into_iter().map(|(t, b)| (t, b * 8.0 / mbps / 1e3)).collect()
}

fn mean(values: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let v: Vec<f64> = values.iter().filter(|v| v.0 > from && v.0 <= to).map(|v| v.1).collect();
    v.iter().sum::<f64>() / v.len() as f64
}

/// Seconds after `from` from which on the mean queue of any half second stays below `limit` ms.
fn settles(values: &[(f64, f64)], from: f64, to: f64, limit: f64) -> f64 {
    let steps = ((to - from - 0.5) / 0.1) as u32;
    let high = (0..=steps).map(|i| from + 0.1 * f64::from(i)).rfind(|t| mean(values, *t, t + 0.5) > limit);
    high.map_or(0.0, |t| t + 0.1 - from)
}

fn lost(out: &RunOutput) -> f64 {
    out.summary("lost_packets").unwrap()
}

/// What must hold of RPM in each case, against the same case with CE: as short a queue within the
/// same second, no more losses, as full a link.
fn compare(name: &str, run: impl Fn(&str) -> RunOutput, change: f64, mbps: f64) -> [RunOutput; 2] {
    let outs = ["rpm", "fwd"].map(run);
    let figures = outs.each_ref().map(|out| {
        let q = queue(out, mbps);
        let used = mean(&series(out, PORT, "utilisation"), change + 2.0, 20.0);
        (settles(&q, change, 20.0, 10.0), mean(&q, change, 20.0), used, lost(out))
    });
    println!(
        "{name}: settled after s, mean queue in ms, utilisation, lost: RPM {:.2?}, CE {:.2?}",
        figures[0], figures[1]
    );
    let [rpm, fwd] = figures;
    assert!(rpm.0 <= fwd.0 + 1.0 && rpm.0 < 4.0, "{name}: settles after {} s, with CE {}", rpm.0, fwd.0);
    assert!(rpm.1 < 1.2 * fwd.1 + 0.5, "{name}: {} ms wait, with CE {}", rpm.1, fwd.1);
    assert!(rpm.2 > 0.95 * fwd.2, "{name}: {} used, with CE {}", rpm.2, fwd.2);
    // Losses are slow start's overshoot and what faults take.
    assert!(rpm.3 <= 1.2 * fwd.3 + 50.0, "{name}: {} lost, with CE {}", rpm.3, fwd.3);
    outs
}

#[test]
fn joins() {
    let flows: String = flow(0, "") + &(1..8).map(|i| flow(i, "start = \"8 s\"")).collect::<String>();
    compare("seven flows join one", |mode| network(mode, 1.0, "0 %", &flows, ""), 8.0, 20.0);
}

#[test]
fn leaves() {
    let flows: String = flow(0, "") + &(1..8).map(|i| flow(i, "stop = \"8 s\"")).collect::<String>();
    let [rpm, _] = compare("seven of eight flows leave", |mode| network(mode, 1.0, "0 %", &flows, ""), 8.0, 20.0);
    // Nothing that was counted for those who left is told to the one who stays.
    let (signals, told) = (last(&rpm, PORT, "rpm_signals"), last(&rpm, PORT, "rpm_told"));
    assert!(told <= signals && signals - told <= 8.0, "{told} of {signals} told");
}

#[test]
fn an_outage() {
    let fault = "[[fault]]\nat = \"8 s\"\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nuntil = \"8500 ms\"\n";
    compare("an outage of 0.5 s", |mode| network(mode, 1.0, "0 %", &all(""), fault), 8.5, 20.0);
}

#[test]
fn a_restart_of_the_switch() {
    let fault = "[[fault]]\nat = \"8 s\"\nkind = \"restart\"\nnode = \"r0\"\n";
    let [rpm, _] = compare("the switch restarts", |mode| network(mode, 1.0, "0 %", &all(""), fault), 8.0, 20.0);
    // It knows of no ACKs at first, and learns: both kinds of signal have been used.
    let told = series(&rpm, PORT, "rpm_told");
    assert!(told.last().unwrap().1 > told.iter().find(|v| v.0 > 9.0).unwrap().1 + 10.0, "ACKs are told again");
}

#[test]
fn the_rate_falls_and_rises() {
    let step =
        |rate: &str| format!("[[fault]]\nat = \"8 s\"\nkind = \"rate\"\nlink = [\"r0\", \"r1\"]\nrate = \"{rate}\"\n");
    for (rate, mbps) in [("5 Mbps", 5.0), ("80 Mbps", 80.0)] {
        let run = |mode: &str| network(mode, 1.0, "0 %", &all(""), &step(rate));
        let outs = ["rpm", "fwd"].map(run);
        let q = outs.each_ref().map(|out| queue(out, mbps));
        let found = [0, 1].map(|i| (settles(&q[i], 8.0, 20.0, 15.0), mean(&q[i], 9.0, 20.0), lost(&outs[i])));
        let rates = outs.each_ref().map(|out| mean(&series(out, PORT, "throughput_bps"), 10.0, 20.0) / mbps / 1e6);
        println!(
            "to {rate}: settled after s, mean queue in ms, lost: RPM {:.2?}, CE {:.2?}; used {rates:.3?}",
            found[0], found[1]
        );
        assert!(found[0].0 <= found[1].0 + 1.0 && found[0].1 < 1.2 * found[1].1 + 0.5, "{rate}: {found:?}");
        assert!(found[0].2 <= 1.2 * found[1].2 + 50.0, "{rate}: {found:?}");
        assert!(rates[0] > 0.95 * rates[1], "{rate}: {rates:?}");
    }
}

#[test]
fn losses_on_the_wire_both_ways() {
    // 1 %: told ACKs are among the lost, too.
    compare("1 % of all packets corrupted", |mode| network(mode, 1.0, "1 %", &all(""), ""), 2.0, 20.0);
}

#[test]
fn round_trips_a_hundred_times_as_long_as_others() {
    compare("round trips of 14 ms to 1.4 s", |mode| network(mode, 100.0, "0 %", &all(""), ""), 5.0, 20.0);
}
