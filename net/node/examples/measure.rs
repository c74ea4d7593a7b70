//! What this machine gives the loopback driver, by one command:
//!
//! `cargo run --release -p midpath-node --example measure -- [SECONDS]` (10 by default; as root also
//! at real-time priority). CPU of a packet-hop (a datagram sent and received, 1,500 B), what the shaper
//! keeps of 50 Mbps, how late datagrams leave; then what each scheme delivers over links of 1 and of
//! 4 Gbps, and what plain UDP does there at the best of its rates.

#[path = "../tests/network/mod.rs"]
mod network;

use std::process::Command;
use std::time::Duration;

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;
use midpath_testing::drivers::Network;
use midpath_testing::drivers::realtime::{Outcome, run};

/// How long each overload is, in seconds.
const OVERLOAD: u64 = 2;
/// What UDP is offered there, in thousandths of the links' rate for both flows.
const OFFERED: [u64; 6] = [100, 150, 200, 300, 400, 1000];

/// Two flows without end over a dumbbell. UDP's rate is in Mbps for each.
fn network(scheme: &str, mbps: u64, access: u64, rate: Option<u64>) -> Network {
    let rate = rate.map_or(String::new(), |r| format!("scheme = \"udp\"\nrate = \"{r} Mbps\"\n"));
    let flow = |i: u32| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"100 GB\"\n{rate}");
    let text = format!(
        "scheme = \"{scheme}\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"{mbps} Mbps\", delay = \"5 ms\" }}\n\
         access = {{ rate = \"{access} Mbps\", delay = \"1 ms\" }}\n[queue]\nlimit = \"100 ms\"\n{}{}",
        flow(0),
        flow(1)
    );
    network::network(&text)
}

/// The CPU that this process has used, in seconds: its 14th and 15th fields count hundredths.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    after.split(' ').skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What both flows have delivered, in Mbps.
fn delivered(out: &Outcome, seconds: f64) -> f64 {
    [0, 1].map(|i| out.flow(FlowId(i)).delivered).iter().sum::<u64>() as f64 * 8.0 / seconds / 1e6
}

/// CPU of a packet-hop in µs.
fn of_a_hop(out: &Outcome, before: f64) -> f64 {
    1e6 * (cpu() - before) / out.sent as f64
}

/// What an overload has cost: CPUs, one hop's time on them, how many datagrams go with a call, and
/// how many of the flows' packets were sent again.
fn cost(out: &Outcome, before: f64) -> String {
    let (cpus, calls) = ((cpu() - before) / OVERLOAD as f64, out.calls);
    let reports = [0, 1].map(|i| out.flow(FlowId(i)));
    let [sent, again] = [|r: &FlowReport| r.sent, |r: &FlowReport| r.retransmitted]
        .map(|of| reports.iter().map(of).sum::<u64>() as f64);
    let [row, again] = [calls.sent as f64 / calls.sends.max(1) as f64, 100.0 * again / sent.max(1.0)];
    format!("{cpus:.2} | {:.1} | {row:.1} | {again:.1}", of_a_hop(out, before))
}

/// UDP at 60 Mbps for 50. The first packet takes 7.4 ms to arrive.
fn shaped(priority: &str, seconds: u64) {
    let before = cpu();
    let out = run(network("udp", 50, 200, Some(30)), 2, Duration::from_secs(seconds)).expect("the loopback interface");
    let kept = delivered(&out, seconds as f64 - 0.0074) / 50.0;
    let late = [0.5, 0.99].map(|q| out.late.quantile_us(q).unwrap_or_default());
    println!(
        "| {priority} | {:.1} | {:.4} | {} | {} | {} |",
        of_a_hop(&out, before),
        kept * 1500.0 / PAYLOAD,
        late[0],
        late[1],
        out.late.most_us()
    );
}

/// What a UDP packet of 1,500 B carries.
const PAYLOAD: f64 = 1472.0;

/// Over links of so many Gbps.
fn overload(gbps: u64) {
    let limit = Duration::from_secs(OVERLOAD);
    let mut best: f64 = 0.0;
    println!(
        "| {gbps} Gbps | offered, Mbps | delivered, Mbps | of UDP's best | CPUs | CPU of a packet-hop, µs | datagrams a \
         call | repeated, % |\n|---|---|---|---|---|---|---|---|"
    );
    let mbps = 1000 * gbps;
    for offered in OFFERED.map(|thousandths| thousandths * gbps) {
        let before = cpu();
        let out = run(network("udp", mbps, mbps, Some(offered / 2)), 2, limit).expect("the loopback interface");
        let got = delivered(&out, OVERLOAD as f64);
        best = best.max(got);
        println!("| udp | {offered} | {got:.0} | | {} |", cost(&out, before));
    }
    for scheme in ["newreno", "cubic", "rcp", "fcp", "inrpp"] {
        let before = cpu();
        let out = run(network(scheme, mbps, mbps, None), 2, limit).expect("the loopback interface");
        let got = delivered(&out, OVERLOAD as f64);
        println!("| {scheme} | | {got:.0} | {:.2} | {} |", got / best, cost(&out, before));
    }
    println!();
}

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "10".to_owned());
    match argument.split_once(':') {
        Some(("shaped", seconds)) => shaped("real-time", seconds.parse().expect("seconds")),
        Some(("overload", gbps)) => overload(gbps.parse().expect("Gbps")),
        _ => {
            println!("# What the loopback driver does on this machine\n");
            println!(
                "Generated by `measure {argument}` ([README](README.md)) of Midpath {}.\n",
                env!("CARGO_PKG_VERSION")
            );
            println!(
                "| priority | CPU of a packet-hop, µs | kept of 50 Mbps | late, µs: p50 | p99 | most |\n|---|---|---|---|---|---|"
            );
            shaped("normal", argument.parse().expect("seconds"));
            let itself = std::env::current_exe().expect("this program");
            let realtime = |what: String| {
                Command::new("chrt").args(["-f", "10"]).arg(&itself).arg(what).status().is_ok_and(|s| s.success())
            };
            if !realtime(format!("shaped:{argument}")) {
                println!("| real-time | not permitted here | | | | |");
            }
            println!();
            for gbps in [1, 4] {
                if !realtime(format!("overload:{gbps}")) {
                    overload(gbps);
                }
            }
        }
    }
}
