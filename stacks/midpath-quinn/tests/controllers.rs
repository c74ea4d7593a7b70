//! The controllers in quinn: they take the same steps as in our TCP, and their flows end.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_quinn::{Adapter, Boxed};
use midpath_schemes::Catalogue;
use midpath_schemes::controller::{
    self, Ack, Congestion, CongestionController, ControllerConfig, NetworkAssisted, TcpParams, TcpTable, Window,
};
use midpath_schemes::controllers::{CubicParams, SwiftParams};
use midpath_sim::RunOptions;
use midpath_stack::run;
use quinn_proto::congestion::Controller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stack_quinn::QuinnParams;

type Config = <CubicParams as TcpTable>::Config;
type Cubic = <Config as ControllerConfig>::Controller;

/// What our TCP has asked CUBIC, and the windows before and after.
#[derive(Debug, Clone, Copy)]
enum Step {
    Ack(Ack, u64, u64),
    Unlimited(Ack),
    Loss(Congestion, u64, u64),
}

static STEPS: Mutex<Vec<(FlowId, Step)>> = Mutex::new(Vec::new());

struct Recorded {
    inner: Cubic,
    flow: FlowId,
}

impl Recorded {
    fn note(&self, step: Step) {
        STEPS.lock().expect("nobody panics with it").push((self.flow, step));
    }
}

impl NetworkAssisted for Recorded {}

impl CongestionController for Recorded {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let before = window.cwnd;
        self.inner.on_ack(window, ack);
        self.note(Step::Ack(*ack, before, window.cwnd));
    }
    fn on_unlimited_ack(&mut self, ack: &Ack) {
        self.inner.on_unlimited_ack(ack);
        self.note(Step::Unlimited(*ack));
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let threshold = self.inner.on_loss(window, congestion);
        self.note(Step::Loss(*congestion, window.cwnd, threshold));
        threshold
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct RecordedParams {
    #[serde(flatten)]
    cubic: CubicParams,
}

struct RecordedConfig(Config);

impl TcpTable for RecordedParams {
    type Config = RecordedConfig;
    fn split(self) -> Result<(TcpParams, RecordedConfig), SpecError> {
        self.cubic.split().map(|(tcp, config)| (tcp, RecordedConfig(config)))
    }
}

impl ControllerConfig for RecordedConfig {
    type Controller = Recorded;
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Recorded {
        Recorded { inner: self.0.build(tcp, mss, flow), flow: flow.id }
    }
}

type Factory = fn() -> Boxed;

const DUMBBELL: &str = r#"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "20 Mbps", delay = "30 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }

[queue]
limit = "150 kB"

[[flow]]
from = "s0"
to = "d0"
size = "30 MB"

[[flow]]
from = "s1"
to = "d1"
size = "8 MB"
start = "3 s"
"#;

#[test]
fn our_cubic_in_quinn_takes_the_same_steps_as_in_our_tcp() {
    let catalogue = Catalogue::standard().with_params::<RecordedParams>("recorded", controller::build);
    let text = format!("scheme = \"recorded\"\n{DUMBBELL}");
    run(&text, Path::new("."), &RunOptions::default(), &catalogue).unwrap_or_else(|error| panic!("{error}"));
    let steps = std::mem::take(&mut *STEPS.lock().expect("nobody panicked with it"));
    let steps: Vec<Step> = steps.into_iter().filter(|(flow, _)| *flow == FlowId(0)).map(|(_, step)| step).collect();

    let (tcp, config) = CubicParams::default().split().expect("good parameters");
    #[expect(clippy::disallowed_methods, reason = "nothing depends on which time it is")]
    let base = Instant::now();
    let at = |time: Time| base + Duration::from_nanos(time.as_ns());
    // Its MTU is what our TCP calls its segment: 1,500 bytes without headers.
    let mut adapter = Adapter::new(&config, &tcp, base, 1448);
    let (mut known, mut acks, mut losses) = (0, 0, 0);
    for step in steps {
        match step {
            Step::Ack(ack, before, after) => {
                assert_eq!(adapter.state().cwnd, before, "before {ack:?}");
                // What our TCP has sent since: rounds are counted by it.
                adapter.on_sent(at(ack.now), ack.nxt.saturating_sub(known), 0);
                known = known.max(ack.nxt);
                let sent = ack.now.saturating_sub(ack.rtt.unwrap_or(Time::ZERO));
                adapter.acked(ack.now, sent, ack.acked, false, ack.srtt);
                adapter.on_end_acks(at(ack.now), ack.nxt - ack.una, false, None);
                assert_eq!(adapter.state().cwnd, after, "after {ack:?}");
                acks += 1;
            }
            Step::Unlimited(ack) => {
                adapter.acked(ack.now, ack.now, ack.acked, true, ack.srtt);
                adapter.end_acks(ack.now);
            }
            Step::Loss(congestion, before, threshold) => {
                assert_eq!(adapter.state().cwnd, before, "before {congestion:?}");
                // What was in flight before the ACK, by our TCP's book: it repairs by itself.
                adapter.on_end_acks(at(congestion.now), congestion.flight, false, None);
                adapter.congested(congestion.now, congestion.now, false, 1448);
                assert_eq!(adapter.state().cwnd, threshold, "after {congestion:?}");
                losses += 1;
            }
        }
    }
    assert!(acks > 5_000 && losses > 3, "{acks} ACKs, {losses} losses");
}

#[test]
fn each_flow_ends_alone_beside_our_cubic_and_where_packets_are_lost() {
    let controllers: [(&str, Factory); 5] = [
        ("newreno", midpath_quinn::newreno),
        ("cubic", midpath_quinn::cubic),
        ("bbr", midpath_quinn::bbr),
        ("prague", midpath_quinn::prague),
        ("swift", midpath_quinn::swift),
    ];
    let lossy = DUMBBELL.replace("delay = \"30 ms\"", "delay = \"30 ms\", corruption = \"0.5 %\"");
    let beside = DUMBBELL.replace("start = \"3 s\"", "start = \"3 s\"\nscheme = \"cubic\"");
    let marking = DUMBBELL.replace("limit = \"150 kB\"", "limit = \"150 kB\"\nkind = \"codel\"");
    for (name, factory) in controllers {
        let catalogue = Catalogue::standard()
            .with("ours", move |_| stack_quinn::with_controller("ours", QuinnParams::default(), factory()));
        let run = |text: &str, threads| {
            let options = RunOptions { threads, parts: threads, ..RunOptions::default() };
            let text = format!("scheme = \"ours\"\nstop = \"300 s\"\n{text}");
            run(&text, Path::new("."), &options, &catalogue).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        for (what, text) in [("two", DUMBBELL), ("beside", &beside), ("lossy", &lossy), ("marking", &marking)] {
            let out = run(text, 1);
            let fct = out.table("flows").expect("flows").f64("fct_s").to_vec();
            println!("{name}, {what}: {fct:?}");
            assert_eq!(out.summary("completed"), Some(2.0), "{name}, {what}: {}", out.run["summary"]);
            assert!(run(text, 2).repeatable() == out.repeatable(), "{name}, {what}");
        }
    }
}

#[test]
#[should_panic(expected = "a header of its own")]
fn a_controller_that_needs_a_header_is_refused() {
    let params = SwiftParams { endpoint_target: Some(Time::from_us(100)), ..SwiftParams::default() };
    let _ = midpath_quinn::with(params);
}
