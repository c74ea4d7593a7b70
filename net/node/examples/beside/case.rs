//! One run: two flows on sockets, and the same two in the simulator.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use midpath_core::packet::FlowId;
use midpath_core::rng::{Purpose, below, stream};
use midpath_sim::{RunOptions, run_text};
use midpath_testing::drivers::{LossModel, Transfers, realtime};

use crate::busy::Meter;
use crate::network::network;

/// A run is invalid, "machine too busy", if a hundredth of its datagrams left a hop later than this
/// after their time. Ours, fixed before the first run: a millisecond is the credit within which
/// lateness is made up; what is later than that is lost, and no scheme's doing.
pub const LATE_P99_US: u64 = 1024;
/// The same of a single datagram: a round trip is 14 ms, and a pause that is longer than that may
/// start a timeout.
pub const LATE_MOST_US: u64 = 20_000;

/// Where flows run. Both have four hosts, round trips of 14 ms, and access links of four times the
/// bottleneck's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Two routers.
    Dumbbell,
    /// Four routers in a square with one diagonal, which is the bottleneck: there are two ways
    /// around it of two links each, at the same rate.
    Square,
}

impl Place {
    pub const ALL: [Place; 2] = [Place::Dumbbell, Place::Square];

    pub fn name(self) -> &'static str {
        match self {
            Place::Dumbbell => "dumbbell",
            Place::Square => "square",
        }
    }

    fn links(self, mbps: u64) -> String {
        let rates = [4 * mbps, mbps];
        let link = |a: &str, b: &str, core: bool, ms: u32| {
            format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{} Mbps\", delay = \"{ms} ms\" }}", rates[usize::from(core)])
        };
        let mut links = vec![link("a", "b", true, 5)];
        if self == Place::Square {
            links.extend([("a", "c"), ("c", "b"), ("a", "d"), ("d", "b")].map(|(x, y)| link(x, y, true, 3)));
        }
        links.extend([("s0", "a"), ("s1", "a"), ("b", "d0"), ("b", "d1")].map(|(x, y)| link(x, y, false, 1)));
        links.join(",\n    ")
    }
}

/// Two flows, of about a third of a second each at the bottleneck's rate.
pub struct Case {
    pub text: String,
    sizes: [u64; 2],
    pub starts: [f64; 2],
}

/// The flows' sizes and starts are the seed's.
pub fn case(scheme: &str, place: Place, mbps: u64, seed: u64) -> Case {
    let mut rng = stream(seed, Purpose::Workload, mbps);
    let whole = mbps * 1_000_000 / 8 / 3;
    let sizes = [0; 2].map(|_| whole / 2 + below(&mut rng, whole / 2));
    let starts = [0.02, 0.02 + below(&mut rng, 100) as f64 / 1000.0];
    let host = |name: &str| format!("{{ name = \"{name}\", kind = \"host\" }}");
    let hosts = ["s0", "s1", "d0", "d1"].map(host).join(", ");
    let flow = |i: usize| {
        let (size, start) = (sizes[i], starts[i]);
        format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nsize = \"{size} B\"\nstart = \"{start} s\"\n")
    };
    let (links, flows) = (place.links(mbps), flow(0) + &flow(1));
    let text = format!(
        "scheme = \"{scheme}\"\nseed = {seed}\n[topology]\nnodes = [{hosts}]\nlinks = [\n    {links},\n]\n\
         [queue]\nlimit = \"100 ms\"\n{flows}"
    );
    Case { text, sizes, starts }
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// How long each flow took, in seconds.
    pub took: [f64; 2],
    /// Packets sent again.
    pub repeats: u64,
    /// How late datagrams left, in µs: p50, p99, the most.
    pub late: [u64; 3],
    /// This process's share of all processors' time while the flows ran, of 1.
    pub busy: f64,
}

impl Run {
    pub fn invalid(&self) -> bool {
        self.late[1] > LATE_P99_US || self.late[2] > LATE_MOST_US
    }

    /// Both flows' mean.
    pub fn mean(&self) -> f64 {
        (self.took[0] + self.took[1]) / 2.0
    }
}

pub fn simulated(case: &Case) -> Run {
    let out = run_text(&case.text, Path::new("."), &RunOptions::default(), &mut |_| true);
    let out = out.expect("a scenario").expect("not cancelled");
    let flows = out.table("flows").expect("there are flows");
    let (fct, repeats) = (flows.f64("fct_s").to_vec(), flows.u64("retransmitted_packets").iter().sum());
    Run { took: [fct[0], fct[1]], repeats, late: [0; 3], busy: 0.0 }
}

/// The same on sockets. What is carried is compared byte for byte.
pub fn real(case: &Case) -> Run {
    let file = |i: usize| (0..case.sizes[i]).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect();
    let files: BTreeMap<FlowId, Vec<u8>> = (0..2).map(|i| (FlowId(i as u32), file(i))).collect();
    let load = Transfers { files, chaos: LossModel::default() };
    let meter = Meter::start();
    let out = realtime::carry(network(&case.text), 2, &load, Duration::from_secs(60)).expect("the loopback interface");
    let reports = [0, 1].map(|i| out.flow(FlowId(i)));
    let took = [0, 1].map(|i| reports[i].completed.map_or(f64::NAN, |t| t.as_secs_f64() - case.starts[i]));
    assert!(took.iter().any(|t| t.is_nan()) || out.delivered.files == load.files, "what came out is what went in");
    let late = [out.late.quantile_us(0.5), out.late.quantile_us(0.99), Some(out.late.most_us())]
        .map(Option::unwrap_or_default);
    let ended = (0..2).map(|i| case.starts[i] + took[i]).fold(0.0, f64::max);
    let busy = meter.busiest(ended - case.starts[0]);
    Run { took, repeats: reports.iter().map(|r| r.retransmitted).sum(), late, busy }
}
