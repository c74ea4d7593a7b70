//! The sender's window. Handshake, ACKs and loss recovery are TCP's.

use std::collections::VecDeque;

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations::{Path, State};
use super::params::PowerTcpParams;
use crate::hpcc::header::{self, IntHeader};
use crate::hpcc::telemetry::{Telemetry, half};
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Pause, View, Window,
};

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct PowerTcpConfig(pub PowerTcpParams);

impl AssistedConfig for PowerTcpConfig {
    type Controller = PowerTcp;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> PowerTcp {
        PowerTcp {
            params: self.0,
            telemetry: Telemetry::new(self.0.base_rtt),
            state: State::new(f64::from(tcp.initial_window) * f64::from(mss)),
            windows: VecDeque::new(),
            repairing: false,
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
    telemetry: Telemetry,
    state: State,
    /// The windows of the last round trip: each holds for packets that end beyond the number.
    windows: VecDeque<(u32, f64)>,
    /// Fast recovery is under way: the window is TCP's.
    repairing: bool,
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
        let fills = self.telemetry.fills();
        // §3.3: β = HostBw·τ/N. What the host's link would be for is here the slowest link's.
        let beta = fills / f64::from(self.params.flows);
        Path { gamma: self.params.gamma, beta, least: mss as f64, most: (fills + beta).max(mss as f64) }
    }
}

impl CongestionController for PowerTcp {
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.telemetry.measured(ack);
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
    /// The paper is silent. The window is what the switches last said; the first ACK after the pause brings news. Ours.
    fn on_restart(&mut self, _window: &mut Window, _pause: &Pause) {}
    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.repairing = false;
        self.restart(window.cwnd as f64);
    }

    /// Line 5: rate = cwnd/τ, on the wire.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        self.telemetry.pacing_rate(self.state.window)
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
        let Some((before, now)) = self.telemetry.take(packet, view, ctx.now) else { return };
        self.state.measure(before.readings(), now.readings(), self.telemetry.base_rtt());
        let old = self.window_at(packet.ack);
        if !self.repairing {
            self.state.adapt(&self.path(view.mss), old);
            window.set(self.state.window as u64);
        }
        self.windows.push_back((packet.ack.wrapping_add(view.flight as u32), self.state.window));
    }
}
