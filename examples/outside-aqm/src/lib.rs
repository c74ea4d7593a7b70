//! *blue*, an external AQM: BLUE (Feng, Shin, Kandlur and Saha: The BLUE active
//! queue management algorithms, 2002).
//!
//! One probability for the whole port. It grows when the queue is long and falls when the link is
//! idle. Any transport may run over it: `cubic+blue`.

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Ce, Discipline, Fifo, Queue, Verdict, View};
use midpath_core::rng::unit;
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::describe::{Gauge, Unit};
use midpath_schemes::params::require;
use midpath_schemes::{Built, Catalogue, Description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A port's state.
#[derive(Debug)]
struct Blue {
    params: BlueParams,
    probability: f64,
    changed: Time,
}

/// The probability after a look at the queue.
fn next_probability(now: f64, long: bool, params: &BlueParams) -> f64 {
    (now + if long { params.up } else { -params.down }).clamp(0.0, 1.0)
}

impl Aqm for Blue {
    fn enqueue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let long = view.backlog.bytes > view.rate.bytes_in(self.params.target).0;
        if view.now.saturating_sub(self.changed) > self.params.freeze && (long || !view.busy()) {
            self.probability = next_probability(self.probability, long, &self.params);
            self.changed = view.now;
        }
        if unit(view.rng) < self.probability { Verdict::Signal } else { Verdict::Pass }
    }

    fn reset(&mut self) {
        (self.probability, self.changed) = (0.0, Time::ZERO);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("mark_probability", self.probability));
    }
}

/// What `[schemes.blue]` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct BlueParams {
    /// A queue is long that takes longer than this to send: the authors' variant, which begins before
    /// the queue is full. Ours, in time at the port's rate.
    target: Time,
    /// δ₁: what a long queue adds to the probability; the smallest that the authors try.
    up: f64,
    /// δ₂: what an idle link takes off.
    down: f64,
    /// The least time between two steps.
    freeze: Time,
}

impl Default for BlueParams {
    fn default() -> BlueParams {
        BlueParams { target: Time::from_ms(20), up: 0.0025, down: 0.00025, freeze: Time::from_ms(10) }
    }
}

/// Ports under it, which mark who can be marked and drop others.
impl Network for BlueParams {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = port.queue.drop_tail()?.bound(port.link.rate);
        let aqm = Blue { params: *self, probability: 0.0, changed: Time::ZERO };
        Ok(Discipline::with_shortcuts(Queue::new(aqm, Fifo::new(bound), Ce)))
    }
}

/// A scheme of the network alone.
fn build(name: &str, params: BlueParams) -> Built {
    require(params.target > Time::ZERO, "target", "a time above 0")?;
    require(params.up > 0.0 && params.up <= 1.0, "up", "a number above 0, 1 at most")?;
    require(params.down > 0.0 && params.down <= 1.0, "down", "a number above 0, 1 at most")?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: None, network: Some(Arc::new(params)) }))
}

/// What tables and reports say of it.
fn description() -> Description {
    Description {
        title: "Blue",
        summary: "An AQM with one probability, which grows with long queues and falls when the link is idle.",
        routers: "blue",
        ports: vec![Gauge::new("mark_probability", Unit::Ratio, "Share of packets that it chooses")],
        ..Description::default()
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<BlueParams>("blue", build).described("blue", description())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_grows_by_one_step_and_falls_by_another_and_stays_one() {
        let next = |now, long| next_probability(now, long, &BlueParams::default());
        assert_eq!((next(0.5, true), next(0.5, false)), (0.5025, 0.49975));
        assert_eq!((next(1.0, true), next(0.0, false)), (1.0, 0.0));
    }
}
