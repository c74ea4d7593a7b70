//! Flows through nodes, whose ports write prices, rates and feedback as packets leave, end as soon as in the simulator,
//! whose ports write as packets come. In virtual time, on scenarios drawn from two families. Fixed before the first run:
//! every flow ends; the geometric mean of the scenarios' ratios of mean completion times is within 10 %, each ratio within
//! 25 %; and at most two in a hundred packets more are sent again.

mod network;

use std::path::Path;

use midpath_core::packet::FlowId;
use midpath_core::rng::{Purpose, Stream, below, stream};
use midpath_core::units::Time;
use midpath_sim::{RunOptions, run_text};
use midpath_testing::drivers::hostile::{self, FaultModel};
use network::network;

const SCENARIOS: u64 = 8;
const OF_ALL: f64 = 1.1;
const OF_EACH: f64 = 1.25;
const MORE_REPEATS: f64 = 0.02;

/// A crowd that begins within two round trips on one link, in which a few flows are a hundred times as long.
fn crowd(rng: &mut Stream) -> (String, Vec<f64>) {
    let (mbps, ms, pairs) = (10 + below(rng, 90), 2 + below(rng, 20), 4 + below(rng, 20));
    let mut text = format!(
        "[topology]\ngenerate = \"dumbbell\"\npairs = {pairs}\nbottleneck = {{ rate = \"{mbps} Mbps\", delay = \"{ms} ms\" }}\n\
         access = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n[queue]\nlimit = \"100 ms\"\n"
    );
    let starts = (0..pairs).map(|i| {
        let kb = if i < 2 { 100 * mbps } else { mbps + below(rng, 4 * mbps) };
        let start = below(rng, 4 * ms) as f64 / 1000.0;
        text += &format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"{kb} kB\"\nstart = \"{start} s\"\n");
        start
    });
    let starts = starts.collect();
    (text, starts)
}

/// Three links in a row of unlike rates and delays: a flow over all of them, and others that come and go on each.
fn row(rng: &mut Stream) -> (String, Vec<f64>) {
    let mut links = Vec::new();
    let mut hosts =
        vec!["{ name = \"s\", kind = \"host\" }".to_owned(), "{ name = \"d\", kind = \"host\" }".to_owned()];
    let mut link = |a: &str, b: &str, mbps: u64, us: u64| {
        links.push(format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{mbps} Mbps\", delay = \"{us} us\" }}"));
    };
    let rates: [u64; 3] = std::array::from_fn(|_| 10 + below(rng, 70));
    (0..3).for_each(|i| link(&format!("r{i}"), &format!("r{}", i + 1), rates[i], 500 + below(rng, 15_000)));
    link("s", "r0", 1000, 500);
    link("r3", "d", 1000, 500);
    let least = *rates.iter().min().expect("three");
    let mut flows = format!("[[flow]]\nfrom = \"s\"\nto = \"d\"\nsize = \"{} kB\"\n", 150 * least);
    let mut starts = vec![0.0];
    for (i, rate) in rates.iter().enumerate() {
        for j in 0..2 + below(rng, 4) {
            let (from, to, start) = (format!("a{i}x{j}"), format!("b{i}x{j}"), below(rng, 1500) as f64 / 1000.0);
            hosts.extend([&from, &to].map(|name| format!("{{ name = \"{name}\", kind = \"host\" }}")));
            link(&from, &format!("r{i}"), 1000, 200 + below(rng, 10_000));
            link(&format!("r{}", i + 1), &to, 1000, 200);
            let kb = rate * (5 + below(rng, 40));
            flows +=
                &format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{kb} kB\"\nstart = \"{start} s\"\n");
            starts.push(start);
        }
    }
    let text = format!(
        "[topology]\nnodes = [{}]\nlinks = [{}]\n[queue]\nlimit = \"100 ms\"\n{flows}",
        hosts.join(", "),
        links.join(", ")
    );
    (text, starts)
}

/// Mean completion time, packets sent and those sent again.
struct Came {
    mean: f64,
    repeats: f64,
}

fn simulated(text: &str) -> Came {
    let out = run_text(text, Path::new("."), &RunOptions::default(), &mut |_| true).expect("runs").expect("ends");
    let flows = out.table("flows").expect("there are flows");
    let fct = flows.f64("fct_s");
    let sum = |name: &str| flows.u64(name).iter().sum::<u64>() as f64;
    Came {
        mean: fct.iter().sum::<f64>() / fct.len() as f64,
        repeats: sum("retransmitted_packets") / sum("sent_packets"),
    }
}

fn on_nodes(text: &str, starts: &[f64]) -> Came {
    let out = hostile::run(network(text), FaultModel::NONE, Time::from_secs(300));
    assert!(out.conserved(), "{out:?}");
    let (mut took, mut again, mut sent) = (0.0, 0, 0);
    for (i, start) in starts.iter().enumerate() {
        let report = out.flow(FlowId(i as u32));
        took += report.completed.expect("every flow ends").as_secs_f64() - start;
        again += report.retransmitted;
        sent += report.sent;
    }
    Came { mean: took / starts.len() as f64, repeats: again as f64 / sent as f64 }
}

fn check(scheme: &str, draw: fn(&mut Stream) -> (String, Vec<f64>)) {
    let mut ratios = Vec::new();
    for seed in 1..=SCENARIOS {
        let (rest, starts) = draw(&mut stream(seed, Purpose::Workload, 83));
        // Reports are by number, and the simulator numbers flows by their start.
        let mut by_start: Vec<usize> = (0..starts.len()).collect();
        by_start.sort_by(|a, b| starts[*a].total_cmp(&starts[*b]));
        let starts: Vec<f64> = by_start.iter().map(|i| starts[*i]).collect();
        let text = format!("scheme = \"{scheme}\"\nseed = {seed}\n{rest}");
        let (there, here) = (simulated(&text), on_nodes(&text, &starts));
        let ratio = here.mean / there.mean;
        assert!((1.0 / OF_EACH..OF_EACH).contains(&ratio), "{scheme}, {seed}: {ratio}\n{text}");
        assert!(here.repeats <= there.repeats + MORE_REPEATS, "{scheme}, {seed}: {} {}", here.repeats, there.repeats);
        ratios.push(ratio.ln());
    }
    let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
    println!("{scheme}: {mean:.3} of {ratios:.2?}");
    assert!((1.0 / OF_ALL..OF_ALL).contains(&mean), "{scheme}: {mean}, {ratios:?}");
}

#[test]
#[ignore = "nightly"]
fn crowds_end_as_soon_as_where_ports_write_on_arrival() {
    ["rcp", "xcp", "fcp"].iter().for_each(|scheme| check(scheme, crowd));
}

#[test]
#[ignore = "nightly"]
fn flows_that_come_and_go_end_as_soon_as_where_ports_write_on_arrival() {
    ["rcp", "xcp", "fcp"].iter().for_each(|scheme| check(scheme, row));
}
