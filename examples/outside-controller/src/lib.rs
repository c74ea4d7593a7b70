//! *pacer*, an external congestion controller that uses only ACKs.
//!
//! It sends at a rate, not by a window. Once per RTT it measures the delivery rate. While the queueing delay is below a target, it sends a step faster than that; above the target it sends slower by a factor. TCP opens, acknowledges and repairs.

use midpath_core::roles::FlowSpec;
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_schemes::controller::{self, Ack, Congestion, CongestionController, ControllerConfig, ControllerTraits};
use midpath_schemes::controller::{NetworkAssisted, Opening, Sample, TcpParams, TcpTable, Window};
use midpath_schemes::describe::{Gauge, Unit};
use midpath_schemes::params::require;
use midpath_schemes::{Catalogue, Description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sender's rate.
struct Pacer {
    params: PacerParams,
    /// The rate to send at, in bytes of payload per second.
    rate: f64,
    /// The shortest round trip.
    base: Time,
    /// The packet whose ACK ends the present round trip is sent when this much is delivered.
    round_ends: u64,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

/// The rate after a round trip, from that at which data were delivered, and what round trips are long
/// beyond the shortest.
fn next_rate(delivered: f64, queueing: Time, rtt: Time, mss: f64, params: &PacerParams) -> f64 {
    let step = params.increase * mss / rtt.as_secs_f64();
    if queueing < params.target { delivered + step } else { delivered * params.decrease }
}

impl NetworkAssisted for Pacer {}

impl CongestionController for Pacer {
    const SAMPLES: bool = true;
    // TCP's fast recovery and slow start would move the window.
    const OWN_WINDOW: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.wire = (window.mss + opening.overhead) as f64 / window.mss as f64;
        self.base = opening.srtt.max(Time::from_us(1));
        self.rate = window.cwnd as f64 / self.base.as_secs_f64();
    }

    fn on_sample(&mut self, window: &mut Window, _ack: &Ack, sample: &Sample) {
        let Some(rtt) = sample.rtt else { return };
        self.base = self.base.min(rtt);
        if sample.prior >= self.round_ends && !sample.app_limited {
            self.round_ends = sample.total;
            if let Some(rate) = sample.rate(self.base) {
                let (delivered, mss) = (rate.as_f64() / 8.0, window.mss as f64);
                self.rate = next_rate(delivered, rtt - self.base, rtt, mss, &self.params).max(mss);
            }
        }
        // The rate is the control; the window only ends what goes wrong.
        window.set((2.0 * self.rate * rtt.as_secs_f64()) as u64 + 4 * window.mss);
    }

    // A loss says nothing that the delivered rate does not.
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }

    // Nothing comes back: a packet asks.
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.mss
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        Some(Rate((8.0 * self.rate * self.wire) as u64))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("rate_bps", 8.0 * self.rate));
    }
}

/// What `[schemes.pacer]` takes, beside what every TCP takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct PacerParams {
    /// What all TCPs share.
    #[serde(flatten)]
    tcp: TcpParams,
    /// The queueing delay to hold. Ours: a tenth of a round trip of 50 ms.
    target: Time,
    /// Packets per round trip by which the rate is above the delivered one below the target: Reno's
    /// step (RFC 5681, §3.1).
    increase: f64,
    /// What the delivered rate is multiplied by above it. Ours: shallow, for a delay is an early signal.
    decrease: f64,
}

impl Default for PacerParams {
    fn default() -> PacerParams {
        PacerParams { tcp: TcpParams::default(), target: Time::from_ms(5), increase: 1.0, decrease: 0.9 }
    }
}

impl TcpTable for PacerParams {
    type Config = PacerParams;
    fn split(self) -> Result<(TcpParams, PacerParams), SpecError> {
        require(self.target > Time::ZERO, "target", "a time above 0")?;
        require(self.increase > 0.0 && self.increase.is_finite(), "increase", "a number above 0")?;
        require(self.decrease > 0.0 && self.decrease < 1.0, "decrease", "a number between 0 and 1")?;
        Ok((self.tcp, self))
    }
}

impl ControllerConfig for PacerParams {
    type Controller = Pacer;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Pacer {
        Pacer { params: *self, rate: 0.0, base: Time::ZERO, round_ends: 0, wire: 1.0 }
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { paced: true, ..ControllerTraits::default() }
    }
}

/// What tables and reports say of it.
fn description() -> Description {
    Description {
        title: "Pacer",
        summary: "Sends a step faster than the path has delivered, and slower where round trips grow.",
        hosts: "pacer",
        flows: vec![Gauge::new("rate_bps", Unit::Bps, "The rate that it sends payload at")],
        ..Description::default()
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<PacerParams>("pacer", controller::build).described("pacer", description())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_grows_below_the_target_and_shrinks_at_it() {
        let next = |queueing| next_rate(1e6, queueing, Time::from_ms(50), 1000.0, &PacerParams::default());
        assert_eq!(next(Time::from_ms(4)), 1e6 + 20_000.0);
        assert_eq!(next(Time::from_ms(5)), 9e5);
    }
}
