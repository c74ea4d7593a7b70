//! The same flows under the simulator, under a driver that is late, bursty and unwilling, and in
//! real time: every byte arrives, every packet is somewhere, and the time that it takes is
//! explained by how badly the driver behaves.

use std::path::Path;
use std::time::Duration;

use midpath_core::packet::FlowId;
use midpath_core::units::Time;
use midpath_node::hostile::{Malice, Outcome, run};
use midpath_node::{Link, Network, realtime};
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, run_text};

const BYTES: u64 = 2_000_000;

/// Two flows over one bottleneck.
fn scenario(scheme: &str) -> String {
    format!(
        r#"
scheme = "{scheme}"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = {{ rate = "20 Mbps", delay = "5 ms" }}
access = {{ rate = "100 Mbps", delay = "1 ms" }}
[schemes.inrpp]
cache = "1 MB"
[[flow]]
from = "s0"
to = "d0"
size = "{BYTES} B"
[[flow]]
from = "s1"
to = "d1"
size = "{BYTES} B"
start = "200 ms"
"#
    )
}

/// The scenario's network for a driver of ours.
fn network(text: &str) -> Network {
    let options = RunOptions::default();
    let setup = midpath_sim::prepare(text, Path::new("."), &options, &Catalogue::standard()).expect("a scenario");
    let built = setup.network().expect("its ports can be built");
    let link = |l: &midpath_sim::engine::NetLink| Link { from: l.from, to: l.to, rate: l.rate, delay: l.delay };
    Network { links: built.links.iter().map(link).collect(), nodes: built.nodes }
}

/// When each flow's last byte arrived, in seconds.
fn completions(out: &Outcome) -> [f64; 2] {
    [0, 1].map(|f| {
        let report = out.flow(FlowId(f));
        assert_eq!(report.delivered, BYTES, "flow {f}: {report:?}");
        report.completed.unwrap_or_else(|| panic!("flow {f} is complete")).as_secs_f64()
    })
}

fn hostile(text: &str, malice: Malice) -> Outcome {
    let out = run(network(text), malice, Time::from_secs(100));
    assert!(out.conserved(), "{out:?}");
    out
}

const SCHEMES: [&str; 8] = ["newreno", "cubic", "dctcp", "rcp", "xcp", "fcp", "inrpp", "mptcp"];

#[test]
fn a_driver_that_behaves_gives_the_simulators_times() {
    for scheme in SCHEMES {
        let text = scenario(scheme);
        let simulated = run_text(&text, Path::new("."), &RunOptions::default(), &mut |_| true);
        let simulated = simulated.expect("a scenario").expect("not cancelled");
        let (fct, start) = (simulated.table("flows").unwrap().f64("fct_s").to_vec(), [0.0, 0.2]);
        let pulled = completions(&hostile(&text, Malice::NONE));
        for f in [0, 1] {
            let (here, there) = (pulled[f] - start[f], fct[f]);
            // What happens at one picosecond may happen in another order, so queues that are full
            // may drop another packet.
            assert!((here / there - 1.0).abs() < 0.1, "{scheme}: flow {f} took {here} s, in the simulator {there} s");
        }
    }
}

#[test]
fn every_byte_arrives_however_badly_the_driver_behaves() {
    for scheme in SCHEMES {
        let text = scenario(scheme);
        let well = completions(&hostile(&text, Malice::NONE));
        for seed in 0..4 {
            let malice = Malice { late: Time::from_us(500), burst: Time::from_us(300), refuse: 0.2, seed };
            let out = hostile(&text, malice);
            assert!(out.refusals > 1000, "{scheme}: {} refusals", out.refusals);
            let badly = completions(&out);
            // A refusal costs a quarter of a millisecond on average, and a full packet takes 0.6
            // ms: a quarter of .2/.8 of them.
            for (bad, good) in badly.iter().zip(well) {
                assert!(*bad < 1.5 * good + 0.5, "{scheme}, seed {seed}: {bad} s, {good} s when it behaves");
            }
        }
    }
}

/// The same nodes on sockets, in real time. What is certain on a busy machine: every byte arrives,
/// and none sooner than links allow.
#[test]
fn every_byte_arrives_in_real_time_over_bytes() {
    for scheme in ["newreno", "dctcp", "fcp", "inrpp"] {
        let out =
            realtime::run(network(&scenario(scheme)), 2, Duration::from_secs(60)).expect("the loopback interface");
        let completed = [0, 1].map(|f| {
            let report = out.flow(FlowId(f));
            assert_eq!(report.delivered, BYTES, "{scheme}, flow {f}: {report:?}");
            report.completed.expect("complete").as_secs_f64()
        });
        println!("{scheme}: both flows end after {completed:.2?} s, {} packets sent", out.sent);
        // Both share 20 Mbps; the second begins 0.2 s later.
        let least = 2.0 * BYTES as f64 * 8.0 / 20e6;
        assert!(completed[0].max(completed[1]) > least, "{scheme}: {completed:?}");
        assert_eq!(out.refused, 0, "{scheme}");
    }
}

#[test]
fn a_hostile_run_repeats() {
    let text = scenario("inrpp");
    let malice = Malice { late: Time::from_ms(2), burst: Time::from_ms(1), refuse: 0.3, seed: 9 };
    assert_eq!(hostile(&text, malice), hostile(&text, malice));
}
