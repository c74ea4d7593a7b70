//! The sender's window. Handshake, ACKs and loss recovery are TCP's.

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations::{Path, State};
use super::header::{self, IntHeader};
use super::params::{HpccParams, Int};
use super::telemetry::{Telemetry, half};
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Pause, Reflect, View,
    Window,
};

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct HpccConfig(pub HpccParams);

impl AssistedConfig for HpccConfig {
    type Controller = Hpcc;
    fn build(&self, tcp: &TcpParams, mss: u32, _flow: &FlowSpec) -> Hpcc {
        let window = f64::from(tcp.initial_window) * f64::from(mss);
        Hpcc {
            params: self.0,
            telemetry: Telemetry::new(self.0.base_rtt),
            state: State::new(window),
            round: None,
            repairing: false,
        }
    }
    fn traits(&self) -> AssistedTraits {
        let (header, reflect): (u32, Reflect) = match self.0.int {
            Int::Data => (header::SIZE, header::reflect),
            Int::Ack => (0, header::make_room),
        };
        AssistedTraits { header, reflect: Some(reflect), own_network: true, ..AssistedTraits::default() }
    }
}

/// The sender's side.
#[derive(Debug, Clone, Copy)]
pub struct Hpcc {
    params: HpccParams,
    telemetry: Telemetry,
    state: State,
    /// lastUpdateSeq: an ACK beyond it begins another round trip.
    round: Option<u32>,
    /// Fast recovery is under way: the window is TCP's.
    repairing: bool,
}

impl Hpcc {
    fn path(&self, mss: u64) -> Path {
        let fills = self.telemetry.fills();
        Path {
            eta: self.params.eta,
            max_stage: self.params.max_stage,
            // §3.3: N flows' W_AI together are what η leaves.
            increase: fills * (1.0 - self.params.eta) / f64::from(self.params.flows),
            least: mss as f64,
            most: fills.max(mss as f64),
        }
    }
}

impl CongestionController for Hpcc {
    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.telemetry.measured(ack);
    }

    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.repairing = true;
        half(window, congestion)
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.repairing = false;
        self.state.restart(window.mss as f64);
        half(window, congestion)
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd / 2
    }
    /// The paper is silent. The window is what the switches last said; the first ACK after the pause brings news. Ours.
    fn on_restart(&mut self, _window: &mut Window, _pause: &Pause) {}
    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.repairing = false;
        self.state.restart(window.cwnd as f64);
    }

    /// R = W/T, on the wire.
    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        self.telemetry.pacing_rate(self.state.window)
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("load", self.state.load()));
    }
}

impl NetworkAssisted for Hpcc {
    /// Where data bring the readings, they have room for them.
    fn on_send(&mut self, packet: &mut Packet, _view: &View, _ctx: &mut EndpointCtx<'_>) {
        if self.params.int == Int::Data && (packet.payload > 0 || packet.flags.has(Flags::SYN)) {
            packet.set_header(&IntHeader::empty(false));
        }
    }

    /// Algorithm 1, NewAck.
    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some((before, now)) = self.telemetry.take(packet, view, ctx.now) else { return };
        self.state.measure(before.readings(), now.readings(), self.telemetry.base_rtt());
        let first = self.round.is_none_or(|sent| packet.ack.wrapping_sub(sent).cast_signed() > 0);
        if first {
            self.round = Some(packet.ack.wrapping_add(view.flight as u32));
        }
        if !self.repairing {
            self.state.adapt(&self.path(view.mss), first);
            window.set(self.state.window as u64);
        }
    }
}
