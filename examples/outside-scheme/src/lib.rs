//! *aimd*, an external congestion-control scheme.
//!
//! Every port writes the path's largest queueing delay so far into the packet, and the receiver echoes it. Once per round trip the sender's window grows by a constant while the delay is below
//! a target (additive increase), and shrinks by a factor above it (multiplicative decrease). The rest of the ends is TCP.

use std::sync::Arc;

use midpath_core::packet::{Header, Packet, shim_size};
use midpath_core::queue::{Aqm, Discipline, Fifo, Loss, Queue, Verdict, View};
use midpath_core::roles::{EndpointCtx, FlowSpec, Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use midpath_schemes::controller::{self, AssistedConfig, AssistedTraits, Congestion, CongestionController};
use midpath_schemes::controller::{NetworkAssisted, TcpParams, TcpTable, Window};
use midpath_schemes::describe::{Gauge, Unit};
use midpath_schemes::params::require;
use midpath_schemes::{Catalogue, Description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a packet carries: the longest queueing delay so far; on an ACK, the data packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading(Time);

impl Header for Reading {
    const TAG: u8 = 64;

    fn body_len(&self) -> usize {
        8
    }
    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0.as_ns().to_be_bytes());
    }
    fn get(body: &[u8]) -> Option<Reading> {
        let ns = u64::from_be_bytes(body.try_into().ok()?);
        // More than an hour is no queueing delay but a hostile packet.
        (ns < 3_600_000_000_000).then(|| Reading(Time::from_ns(ns)))
    }
}

/// The receiver's part: the reading of a data packet goes back on its ACK.
fn echo(seen: controller::Seen<'_>, ack: &mut Packet) {
    if let Some(reading) = seen.header::<Reading>() {
        ack.set_header(&reading);
    }
}

/// Writes the queueing delay into the scheme's data packets. Others pass untouched.
#[derive(Debug, Default)]
struct Stamp {
    /// What the last packet of the scheme found waiting.
    found: Time,
}

impl Aqm for Stamp {
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if packet.payload > 0
            && let Some(Reading(so_far)) = packet.header::<Reading>()
        {
            self.found = view.rate.time_for(Bytes(view.backlog.bytes));
            packet.set_header(&Reading(so_far.max(self.found)));
        }
        Verdict::Pass
    }
    fn reset(&mut self) {
        *self = Stamp::default();
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("found_s", self.found.as_secs_f64()));
    }
}

/// Puts such a port, with the scenario's limit, where the scheme runs.
struct Stamps;

impl Network for Stamps {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let limit = port.queue.drop_tail()?.bound(port.link.rate);
        Ok(Queue::new(Stamp::default(), Fifo::new(limit), Loss).discipline())
    }
}

/// The sender's window.
struct Aimd {
    params: AimdParams,
    /// When the window may change again: once per round trip.
    review_at: Time,
    /// The last reading that came back.
    reading: Time,
}

/// The window after a round trip that ended with `reading`, in bytes.
fn next_window(window: &Window, reading: Time, params: &AimdParams) -> u64 {
    let (cwnd, mss) = (window.cwnd as f64, window.mss as f64);
    let next = if reading < params.target { cwnd + params.increase * mss } else { cwnd * params.decrease };
    next.max(mss) as u64
}

impl CongestionController for Aimd {
    // Losses halve the window, as TCP's (RFC 5681, equation 4); so do marks, unless we say otherwise.
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd / 2
    }
    fn on_rto(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd / 2
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("reading_s", self.reading.as_secs_f64()));
    }
}

impl NetworkAssisted for Aimd {
    fn on_send(&mut self, packet: &mut Packet, _view: &controller::View, _ctx: &mut EndpointCtx<'_>) {
        if packet.payload > 0 {
            packet.set_header(&Reading(Time::ZERO));
        }
    }
    fn on_feedback(&mut self, ack: &Packet, window: &mut Window, view: &controller::View, ctx: &mut EndpointCtx<'_>) {
        let Some(Reading(reading)) = ack.header() else { return };
        self.reading = reading;
        if ctx.now >= self.review_at {
            self.review_at = ctx.now + view.srtt;
            window.set(next_window(window, reading, &self.params));
        }
    }
}

/// What `[schemes.aimd]` takes, beside what every TCP takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct AimdParams {
    /// What all TCPs share.
    #[serde(flatten)]
    tcp: TcpParams,
    /// The queueing delay to hold. Ours: a tenth of a round trip of 50 ms, as windows shrink by.
    target: Time,
    /// Packets that the window grows by in a round trip below the target: Reno's (RFC 5681, §3.1).
    increase: f64,
    /// What the window is multiplied by above it. Ours: shallow, for a delay is an early signal.
    decrease: f64,
}

impl Default for AimdParams {
    fn default() -> AimdParams {
        AimdParams { tcp: TcpParams::default(), target: Time::from_ms(5), increase: 1.0, decrease: 0.9 }
    }
}

impl TcpTable for AimdParams {
    type Config = AimdParams;
    fn split(self) -> Result<(TcpParams, AimdParams), SpecError> {
        require(self.target > Time::ZERO, "target", "a time above 0")?;
        require(self.increase > 0.0 && self.increase.is_finite(), "increase", "a number above 0")?;
        require(self.decrease > 0.0 && self.decrease < 1.0, "decrease", "a number between 0 and 1")?;
        Ok((self.tcp, self))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(Arc::new(Stamps))
    }
}

impl AssistedConfig for AimdParams {
    type Controller = Aimd;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Aimd {
        Aimd { params: *self, review_at: Time::ZERO, reading: Time::ZERO }
    }
    fn traits(&self) -> AssistedTraits {
        // Without stamps the sender would take every queue for empty: it needs its own network.
        AssistedTraits { header: shim_size(8), reflect: Some(echo), own_network: true, ..AssistedTraits::default() }
    }
}

/// What tables and reports say of it.
fn description() -> Description {
    Description {
        title: "Aimd",
        summary: "Ports write the longest queueing delay into packets; windows grow below a target and shrink above.",
        hosts: "aimd",
        routers: "aimd",
        ports: vec![Gauge::new("found_s", Unit::Seconds, "Queueing delay that the last packet found")],
        flows: vec![Gauge::new("reading_s", Unit::Seconds, "Queueing delay that the last ACK told of")],
        ..Description::default()
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with_params::<AimdParams>("aimd", controller::build)
        .described("aimd", description())
        .with_header::<Reading>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_below_the_target_and_shrinks_at_it() {
        let (window, params) = (Window::new(10, 1000), AimdParams::default());
        assert_eq!(next_window(&window, Time::from_ms(4), &params), 11_000);
        assert_eq!(next_window(&window, Time::from_ms(5), &params), 9_000);
        assert_eq!(next_window(&Window::new(1, 1000), Time::from_secs(1), &params), 1000);
    }

    #[test]
    fn a_header_is_read_as_written_and_hostile_bytes_are_refused() {
        let (reading, mut body) = (Reading(Time::from_ms(5)), [0; 8]);
        reading.put(&mut body);
        assert_eq!(Reading::get(&body), Some(reading));
        assert_eq!(Reading::get(&[0xff; 8]), None);
    }
}
