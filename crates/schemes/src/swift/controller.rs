//! The controller's callbacks.

use std::sync::Arc;

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Rate, Time};

use super::equations::{Path, Scaling, State, smoothed};
use super::header::SwiftHeader;
use super::params::SwiftParams;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, Opening, View, Window, shortest};

/// The target and its range, in shortest round trips, where none is given.
const TARGET: f64 = 2.0;
const RANGE: f64 = 5.0;

/// Windows that keep the fabric's delay at a target, and the hosts'.
#[derive(Debug, Clone)]
pub struct Swift {
    params: Arc<SwiftParams>,
    /// fcwnd, or the only window.
    fabric: State,
    /// With a target for it.
    endpoint: Option<Box<Endpoint>>,
    /// The shortest delay of the fabric; zero before the first.
    least: Time,
    srtt: Time,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

/// §3.3: the window for the hosts' delay.
#[derive(Debug, Clone)]
struct Endpoint {
    /// The target.
    target: Time,
    /// ecwnd.
    window: State,
    /// endpoint-delay, smoothed; `None` before the first.
    delay: Option<f64>,
    /// That of the newest ACK.
    newest: Time,
}

impl Swift {
    pub(super) fn new(params: Arc<SwiftParams>) -> Swift {
        let new = |target| Box::new(Endpoint { target, window: State::new(1.0), delay: None, newest: Time::ZERO });
        let endpoint = params.endpoint_target.map(new);
        Swift { params, fabric: State::new(1.0), endpoint, least: Time::ZERO, srtt: Time::ZERO, wire: 1.0 }
    }

    fn path(&self) -> Path {
        let (p, least) = (&self.params, self.least.as_secs_f64());
        Path {
            increase: p.ai,
            beta: p.beta,
            most_decrease: p.max_mdf,
            target: p.target.map_or(TARGET * least, Time::as_secs_f64),
            scaling: Scaling {
                range: p.fs_range.map_or(RANGE * least, Time::as_secs_f64),
                least: p.fs_min_cwnd,
                most: p.fs_max_cwnd,
            },
            most: p.max_cwnd(),
        }
    }

    /// The effective window: min(fcwnd, ecwnd).
    fn cwnd(&self) -> f64 {
        self.endpoint.as_ref().map_or(self.fabric.cwnd, |endpoint| endpoint.window.cwnd.min(self.fabric.cwnd))
    }

    fn bytes(&self, window: &Window) -> u64 {
        (self.cwnd() * window.mss as f64) as u64
    }

    /// "Both windows follow Algorithm 1": on a loss and a timeout, too.
    fn each(&mut self, mut react: impl FnMut(&mut State, &Path)) {
        let path = self.path();
        react(&mut self.fabric, &path);
        if let Some(endpoint) = &mut self.endpoint {
            let path = endpoint.path(path);
            react(&mut endpoint.window, &path);
        }
    }
}

impl Endpoint {
    /// The same algorithm with a target that is not scaled (§3.5 scales the fabric's).
    fn path(&self, fabric: Path) -> Path {
        Path { target: self.target.as_secs_f64(), scaling: Scaling::NONE, ..fabric }
    }
}

impl CongestionController for Swift {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.fabric = State::new(window.segments());
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.window = self.fabric;
        }
        self.wire = (window.mss + opening.overhead) as f64 / window.mss as f64;
        (self.least, self.srtt) = (opening.srtt, opening.srtt);
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt;
        let Some(rtt) = ack.rtt else { return };
        // §3.3: fabric-delay = RTT − endpoint-delay.
        let at_hosts = self.endpoint.as_ref().map_or(Time::ZERO, |endpoint| endpoint.newest);
        let fabric = rtt.saturating_sub(at_hosts);
        self.least = shortest(self.least, fabric);
        // RFC 7661, §4.4.1 (ours here): a window that is not used does not grow.
        let packets = if ack.app_limited { 0.0 } else { ack.acked as f64 / window.mss as f64 };
        let (now, srtt, path) = (ack.now.as_secs_f64(), ack.srtt.as_secs_f64(), self.path());
        self.fabric.acknowledge(&path, fabric.as_secs_f64(), packets, now, srtt);
        if let Some(endpoint) = &mut self.endpoint {
            let delay = smoothed(endpoint.delay, at_hosts.as_secs_f64(), self.params.endpoint_gain);
            endpoint.delay = Some(delay);
            let path = endpoint.path(path);
            endpoint.window.acknowledge(&path, delay, packets, now, srtt);
        }
        window.set(self.bytes(window));
    }

    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let (now, srtt) = (congestion.now.as_secs_f64(), self.srtt.as_secs_f64());
        self.each(|state, path| state.lose(path, now, srtt));
        self.bytes(window)
    }

    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let (now, srtt) = (congestion.now.as_secs_f64(), self.srtt.as_secs_f64());
        self.each(|state, path| state.time_out(path, now, srtt));
        self.bytes(window)
    }

    /// Swift has no marks; they are answered as a loss. Ours.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.on_loss(window, congestion)
    }

    /// pacing_delay = rtt/cwnd below a packet; above, packets leave as ACKs come.
    fn pacing_rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        let cwnd = self.cwnd();
        if cwnd >= 1.0 || srtt.is_zero() {
            return Some(Rate(u64::MAX));
        }
        let bytes = cwnd * window.mss as f64 * self.wire;
        Some(Rate(((8.0 * bytes / srtt.as_secs_f64()) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("target_s", self.fabric.target(&self.path())));
        if let Some(endpoint) = &self.endpoint {
            out.extend([
                ("fcwnd_packets", self.fabric.cwnd),
                ("ecwnd_packets", endpoint.window.cwnd),
                ("endpoint_delay_s", endpoint.delay.unwrap_or(0.0)),
            ]);
        }
    }
}

impl NetworkAssisted for Swift {
    fn on_send(&mut self, packet: &mut Packet, _view: &View, _ctx: &mut EndpointCtx<'_>) {
        if self.endpoint.is_some() && packet.payload > 0 {
            packet.set_header(&SwiftHeader::default());
        }
    }

    /// §3.3: endpoint-delay = remote-queuing + (t6 − t5).
    fn on_feedback(&mut self, packet: &Packet, _window: &mut Window, _view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        if let Some(remote) = packet.header::<SwiftHeader>().and_then(|header| header.remote) {
            let local = ctx.received.map_or(Time::ZERO, |received| received.waited);
            endpoint.newest = Time::from_ns(remote.into()).saturating_add(local);
        }
    }
}
