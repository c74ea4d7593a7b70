//! The same flows under the simulator, under a driver that is late, bursty and unwilling, and in
//! real time: every byte arrives, every packet is somewhere, and the time that it takes is
//! explained by how badly the driver behaves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::network::network;
use midpath_core::node::EndId;
use midpath_core::packet::FlowId;
use midpath_core::roles::Ended;
use midpath_core::units::Time;
use midpath_sim::{RunOptions, run_text};
use midpath_testing::drivers::hostile::carry;
use midpath_testing::drivers::hostile::{FaultModel, Outcome, run};
use midpath_testing::drivers::{LossModel, Transfers, realtime};

const BYTES: u64 = 2_000_000;

/// Two flows over one bottleneck.
fn scenario(scheme: &str) -> String {
    scenario_of(scheme, BYTES)
}

/// The same of so many bytes each.
fn scenario_of(scheme: &str, bytes: u64) -> String {
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
size = "{bytes} B"
[[flow]]
from = "s1"
to = "d1"
size = "{bytes} B"
start = "200 ms"
"#
    )
}

/// When each flow's last byte arrived, in seconds.
fn completions(out: &Outcome) -> [f64; 2] {
    [0, 1].map(|f| {
        let report = out.flow(FlowId(f));
        assert_eq!(report.delivered, BYTES, "flow {f}: {report:?}");
        report.completed.unwrap_or_else(|| panic!("flow {f} is complete")).as_secs_f64()
    })
}

fn hostile(text: &str, malice: FaultModel) -> Outcome {
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
        let pulled = completions(&hostile(&text, FaultModel::NONE));
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
        let well = completions(&hostile(&text, FaultModel::NONE));
        for seed in 0..4 {
            let malice = FaultModel { late: Time::from_us(500), burst: Time::from_us(300), refuse: 0.2, seed };
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
    at_once(&["newreno", "dctcp", "fcp", "inrpp"], |scheme| {
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
    });
}

/// Real time passes for all of them together.
fn at_once(schemes: &[&str], test: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for scheme in schemes {
            scope.spawn(|| test(scheme));
        }
    });
}

#[test]
fn a_hostile_run_repeats() {
    let text = scenario("inrpp");
    let malice = FaultModel { late: Time::from_ms(2), burst: Time::from_ms(1), refuse: 0.3, seed: 9 };
    assert_eq!(hostile(&text, malice), hostile(&text, malice));
}

/// What flows carry: no two pages of it are alike.
fn files(bytes: u64) -> BTreeMap<FlowId, Vec<u8>> {
    let file = |flow: u32| {
        let word = |i: u64| (i ^ u64::from(flow) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let file: Vec<u8> = (0..bytes.div_ceil(8)).flat_map(word).take(bytes as usize).collect();
        (FlowId(flow), file)
    };
    (0..2).map(file).collect()
}

/// A wire that does all of it on every hop.
const CHAOS: LossModel = LossModel { lose: 0.01, twice: 0.01, late: 0.02, by: Time::from_ms(3), corrupt: 0.01 };

/// Bytes of a flow whose time doesn't matter.
const SHORT: u64 = 500_000;

/// Those whose packets carry bytes. (Of MPTCP nobody knows where in the stream a subflow's are.)
const CARRY: [&str; 5] = ["newreno", "cubic", "rcp", "fcp", "inrpp"];

/// Both ends of every flow say that it is complete, and what came out is what went in.
fn assert_carried(delivered: &midpath_testing::drivers::Delivered, files: &BTreeMap<FlowId, Vec<u8>>, what: &str) {
    for (flow, file) in files {
        let got = delivered.files.get(flow).map_or(&[][..], |f| &f[..]);
        let same = got.iter().zip(file).take_while(|(a, b)| a == b).count();
        assert_eq!((got.len(), same), (file.len(), file.len()), "{what}: {flow:?} differs at {same}");
    }
    let ends: Vec<&Ended> =
        delivered.ends.iter().filter(|(end, _)| files.contains_key(&end.flow)).map(|e| e.1).collect();
    assert_eq!(ends, vec![&Ended::Complete; 2 * files.len()], "{what}");
    assert!(delivered.ends.keys().any(|end| end.peer == EndId::ANYONE));
}

#[test]
fn files_are_carried_byte_for_byte_however_badly_driver_and_wires_behave() {
    for scheme in CARRY {
        let text = scenario_of(scheme, SHORT);
        for seed in 0..3 {
            let malice = FaultModel { late: Time::from_us(500), burst: Time::from_us(300), refuse: 0.1, seed };
            let load = Transfers { files: files(SHORT), chaos: CHAOS };
            let (out, delivered) = carry(network(&text), malice, load.clone(), Time::from_secs(1000));
            assert!(out.conserved(), "{out:?}");
            assert!(out.dropped > 20, "{scheme}: only {} lost", out.dropped);
            assert_carried(&delivered, &load.files, scheme);
        }
    }
}

/// The same over sockets. Without chaos first, so that the time that it takes means something.
#[test]
fn files_are_carried_byte_for_byte_over_sockets() {
    at_once(&CARRY, |scheme| {
        for chaos in [LossModel::default(), CHAOS] {
            let load = Transfers { files: files(SHORT), chaos };
            let limit = Duration::from_secs(120);
            let out =
                realtime::carry(network(&scenario_of(scheme, SHORT)), 2, &load, limit).expect("the loopback interface");
            assert_carried(&out.delivered, &load.files, scheme);
            assert_eq!(out.refused > 0, chaos.corrupt > 0.0, "{scheme}: {} refused", out.refused);
            let last = [0, 1].map(|f| out.flow(FlowId(f)).completed.expect("complete").as_secs_f64());
            println!("{scheme}, {chaos:?}: {last:.2?} s, {} packets sent", out.sent);
        }
    });
}
