//! The sender's window. Everything else of the two ends is TCP's: handshake, ACKs, repair of
//! losses.

use std::collections::VecDeque;

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations::{Path, State};
use super::params::PowerTcpParams;
use crate::hpcc::endpoint::STALE;
use crate::hpcc::header::{self, IntHeader};
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, View, Window,
};

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct PowerTcpConfig(pub PowerTcpParams);

impl AssistedConfig for PowerTcpConfig {
    type Controller = PowerTcp;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> PowerTcp {
        PowerTcp {
            params: self.0,
            base_rtt: self.0.base_rtt.unwrap_or(Time::ZERO),
            state: State::new(f64::from(tcp.initial_window) * f64::from(mss)),
            windows: VecDeque::new(),
            last: IntHeader::default(),
            last_readings: Time::ZERO,
            repairing: false,
            wire: 1.0,
        }
    }
    fn traits(&self) -> AssistedTraits {
        let reflect = Some(header::reflect as _);
        AssistedTraits { header: header::SIZE, reflect, own_network: true, ..AssistedTraits::default() }
    }
}

/// The sender's side.
#[derive(Debug, Clone)]
pub struct PowerTcp {
    params: PowerTcpParams,
    /// τ; zero before it is known.
    base_rtt: Time,
    state: State,
    /// The windows of the last round trip: each holds for packets that end beyond the number.
    windows: VecDeque<(u32, f64)>,
    /// prevInt: the newest readings, and when they came.
    last: IntHeader,
    last_readings: Time,
    /// Fast recovery is under way: the window is TCP's.
    repairing: bool,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl PowerTcp {
    /// GETCWND: the window when the packet was sent that ends at `ack`; what is older is forgotten.
    fn window_at(&mut self, ack: u32) -> f64 {
        let before = |place: Option<&(u32, f64)>| place.is_some_and(|w| ack.wrapping_sub(w.0).cast_signed() > 0);
        while before(self.windows.get(1)) {
            self.windows.pop_front();
        }
        self.windows.front().filter(|w| before(Some(w))).map_or(self.state.window, |w| w.1)
    }

    /// The window was set by something else.
    fn restart(&mut self, window: f64) {
        self.state.window = window;
        self.windows.clear();
    }

    fn path(&self, mss: u64) -> Path {
        let slowest = self.last.readings().iter().map(|r| f64::from(r.rate)).fold(f64::INFINITY, f64::min);
        let fills = slowest / 8.0 * self.base_rtt.as_secs_f64() / self.wire;
        // §3.3: β = HostBw·τ/N. What the host's link would be for is here the slowest link's.
        let beta = fills / f64::from(self.params.flows);
        Path { gamma: self.params.gamma, beta, least: mss as f64, most: (fills + beta).max(mss as f64) }
    }
}

/// PowerTCP's networks lose little; RFC 5681's equation 4 answers what they lose.
fn half(window: &Window, congestion: &Congestion) -> u64 {
    (congestion.flight / 2).max(2 * window.mss)
}

impl CongestionController for PowerTcp {
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        if self.params.base_rtt.is_none()
            && let Some(rtt) = ack.rtt
        {
            self.base_rtt = if self.base_rtt.is_zero() { rtt } else { self.base_rtt.min(rtt) };
        }
    }
    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.repairing = true;
        half(window, congestion)
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.repairing = false;
        self.restart(window.mss as f64);
        half(window, congestion)
    }
    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.repairing = false;
        self.restart(window.cwnd as f64);
    }

    /// Line 5: rate = cwnd/τ, on the wire.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        let seconds = self.base_rtt.as_secs_f64();
        (seconds > 0.0).then(|| Rate(((8.0 * self.state.window * self.wire / seconds) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("power", self.state.power()));
    }
}

impl NetworkAssisted for PowerTcp {
    /// Data have room for readings.
    fn on_send(&mut self, packet: &mut Packet, _view: &View, _ctx: &mut EndpointCtx<'_>) {
        if packet.payload > 0 || packet.flags.has(Flags::SYN) {
            packet.set_header(&IntHeader::empty(false));
        }
    }

    /// NEWACK.
    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<IntHeader>().filter(|h| h.returns && !h.readings().is_empty()) else {
            return;
        };
        if self.base_rtt.is_zero() {
            self.base_rtt = view.srtt;
        }
        self.wire = (view.mss + view.overhead) as f64 / view.mss as f64;
        let before = std::mem::replace(&mut self.last, header);
        let fresh =
            ctx.now.saturating_sub(self.last_readings) < STALE && before.readings().len() == header.readings().len();
        self.last_readings = ctx.now;
        if !fresh || self.base_rtt.is_zero() {
            return;
        }
        self.state.measure(before.readings(), header.readings(), self.base_rtt.as_secs_f64());
        let old = self.window_at(packet.ack);
        if !self.repairing {
            self.state.adapt(&self.path(view.mss), old);
            window.set(self.state.window as u64);
        }
        self.windows.push_back((packet.ack.wrapping_add(view.flight as u32), self.state.window));
    }
}
