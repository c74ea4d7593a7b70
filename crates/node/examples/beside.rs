//! The same flows on sockets and in the simulator: how long they take, side by side.
//!
//! `cargo run --release -p midpath-node --example beside -- [RATES [SEEDS [SCHEMES]]]`, by default
//! `20,50,200 10 newreno,cubic,rcp,fcp,inrpp`. Each seed is two flows of its own sizes and starts
//! over a dumbbell of four hosts and two routers. A run whose datagrams left later than a
//! millisecond in the 99th percentile is invalid: the machine was too busy. So is a row of which
//! more than a fifth is invalid. Margins, fixed before: 5 % up to 50 Mbps, 15 % above, of the median.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use midpath_core::packet::FlowId;
use midpath_core::rng::{Purpose, below, stream};
use midpath_node::{Chaos, Link, Load, Network, realtime};
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, run_text};

/// The latest that is valid, in microseconds.
const LATE: u64 = 1024;

/// Two flows, of about half a second each at the bottleneck's rate.
struct Case {
    text: String,
    sizes: [u64; 2],
    starts: [f64; 2],
}

fn case(scheme: &str, mbps: u64, seed: u64) -> Case {
    let mut rng = stream(seed, Purpose::Workload, mbps);
    let whole = mbps * 1_000_000 / 8 / 2;
    let sizes = [0; 2].map(|_| whole / 2 + below(&mut rng, whole / 2));
    let starts = [0.05, 0.05 + below(&mut rng, 200) as f64 / 1000.0];
    let access = 4 * mbps;
    let flow = |i: usize| {
        let (size, start) = (sizes[i], starts[i]);
        format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"{size} B\"\nstart = \"{start} s\"\n")
    };
    let text = format!(
        r#"
scheme = "{scheme}"
seed = {seed}
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "{mbps} Mbps", delay = "5 ms" }}
access = {{ rate = "{access} Mbps", delay = "1 ms" }}
[queue]
limit = "100 ms"
{}{}"#,
        flow(0),
        flow(1)
    );
    Case { text, sizes, starts }
}

fn simulated(case: &Case) -> [f64; 2] {
    let out = run_text(&case.text, Path::new("."), &RunOptions::default(), &mut |_| true);
    let out = out.expect("a scenario").expect("not cancelled");
    let fct = out.table("flows").expect("there are flows").f64("fct_s").to_vec();
    [fct[0], fct[1]]
}

/// The same on sockets: how long each flow took, and how late datagrams left. What is carried is
/// compared byte for byte.
fn real(case: &Case) -> ([f64; 2], u64) {
    let options = RunOptions::default();
    let setup = midpath_sim::prepare(&case.text, Path::new("."), &options, &Catalogue::standard());
    let built = setup.expect("a scenario").network().expect("its ports can be built");
    let link = |l: &midpath_sim::engine::NetLink| Link { from: l.from, to: l.to, rate: l.rate, delay: l.delay };
    let network = Network { links: built.links.iter().map(link).collect(), nodes: built.nodes };
    let file = |i: usize| (0..case.sizes[i]).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect();
    let files: BTreeMap<FlowId, Vec<u8>> = (0..2).map(|i| (FlowId(i as u32), file(i))).collect();
    let load = Load { files, chaos: Chaos::default() };
    let out = realtime::carry(network, 2, &load, Duration::from_secs(120)).expect("the loopback interface");
    assert!(out.delivered.files == load.files, "what came out is what went in");
    let took = |i: usize| out.flow(FlowId(i as u32)).completed.map_or(f64::NAN, |t| t.as_secs_f64() - case.starts[i]);
    ([took(0), took(1)], out.late.quantile_us(0.99))
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, usual: &str| arguments.get(i).cloned().unwrap_or_else(|| usual.to_owned());
    let rates: Vec<u64> = argument(0, "20,50,200").split(',').map(|r| r.parse().expect("a rate in Mbps")).collect();
    let seeds: u64 = argument(1, "10").parse().expect("a number of seeds");
    println!("| scheme | Mbps | runs | invalid | real ÷ simulated: median | least | most | late p99, µs | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for scheme in argument(2, "newreno,cubic,rcp,fcp,inrpp").split(',') {
        for mbps in &rates {
            let (mut ratios, mut invalid, mut latest) = (Vec::new(), 0, 0);
            for seed in 1..=seeds {
                let case = case(scheme, *mbps, seed);
                let (there, (here, late)) = (simulated(&case), real(&case));
                latest = latest.max(late);
                if late > LATE {
                    invalid += 1;
                    continue;
                }
                ratios.extend(here.iter().zip(there).map(|(here, there)| here / there));
            }
            let (middle, margin) = (median(&mut ratios), if *mbps <= 50 { 0.05 } else { 0.15 });
            let verdict = match () {
                () if 5 * invalid > seeds => "invalid: machine too busy",
                () if (middle - 1.0).abs() <= margin => "within",
                () => "outside",
            };
            let (least, most) =
                (ratios.first().copied().unwrap_or(f64::NAN), ratios.last().copied().unwrap_or(f64::NAN));
            println!(
                "| {scheme} | {mbps} | {seeds} | {invalid} | {middle:.3} | {least:.3} | {most:.3} | {latest} | {verdict} |"
            );
        }
    }
}
