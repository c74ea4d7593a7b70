//! The sender's window. Handshake, ACKs and loss recovery are TCP's.

use midpath_core::packet::Packet;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations::{Path, State, said};
use super::header::{self, BoltFlags, BoltHeader, Notice};
use super::params::BoltParams;
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, ControllerTraits, NetworkAssisted, Opening,
    View, Window,
};

/// A window is at least so many of a full packet's payload: the artefact's `MinCwnd`, 15 B where packets are 1500.
const LEAST_WINDOW: f64 = 0.01;

/// The first window is at most so large unless it is given: the largest of the artefact's nine scenarios. Ours: without
/// it a fast host on a long path floods a slower link with what its own link holds.
pub(crate) const MOST_AT_FIRST: u64 = 100_000;

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct BoltConfig(pub BoltParams);

impl AssistedConfig for BoltConfig {
    type Controller = Bolt;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Bolt {
        Bolt {
            params: self.0,
            state: State { window: 0, fell: 0 },
            line: Rate::ZERO,
            rtt: Time::ZERO,
            srtt: Time::ZERO,
            round: None,
            wire: 1.0,
        }
    }
    fn traits(&self) -> AssistedTraits {
        let controller = ControllerTraits { paced: true, ..ControllerTraits::default() };
        let reflect = Some(header::reflect as _);
        AssistedTraits { controller, header: header::SIZE, reflect, own_network: true, ..AssistedTraits::default() }
    }
}

/// The sender's side.
#[derive(Debug, Clone, Copy)]
pub struct Bolt {
    params: BoltParams,
    state: State,
    /// The host's link.
    line: Rate,
    /// m_rtt: the newest round trip of data; zero before the first.
    rtt: Time,
    srtt: Time,
    /// AI: an ACK beyond it ends a round trip.
    round: Option<u32>,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Bolt {
    /// Payload that the host's link sends in a time, and a packet: whole ones alone go into a window, and those of the
    /// handshake take less time to be sent. Ours.
    fn sends(&self, time: Time, mss: u64) -> u64 {
        (self.line.bytes_in(time).0 as f64 / self.wire) as u64 + mss
    }

    fn path(&self, mss: u64) -> Path {
        let most = self.params.max_window.map_or_else(|| self.sends(self.srtt, mss), |bytes| bytes.0);
        let least = ((LEAST_WINDOW * mss as f64) as u64).max(1);
        let mtu = (mss as f64 * self.wire) as u64;
        Path { mss, mtu, line: self.line.as_f64(), least, most: most.max(mss) }
    }

    fn lose(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let path = self.path(window.mss);
        self.state.window = window.cwnd;
        self.state.lose(self.rtt.as_ns(), congestion.now.as_ns(), &path);
        self.state.window
    }
}

impl CongestionController for Bolt {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    /// `BoltOutboundMsg`: m_cwnd = GetBdp().
    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.wire = (window.mss + opening.overhead) as f64 / window.mss as f64;
        self.srtt = opening.srtt;
        let first =
            self.params.first_window.map_or_else(|| self.sends(opening.srtt, window.mss).min(MOST_AT_FIRST), |b| b.0);
        window.set(first.max(window.mss));
        self.state = State { window: window.cwnd, fell: opening.now.as_ns() };
    }

    fn on_delivery(&mut self, _window: &mut Window, ack: &Ack) {
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        self.srtt = ack.srtt;
    }

    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.lose(window, congestion)
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.lose(window, congestion)
    }
    /// Bolt has no marks; they are answered as a loss. Ours.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.lose(window, congestion)
    }

    /// `SendDown`: packets leave as the host's link sends them; below a packet rtt · mss / cwnd apart.
    fn pacing_rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        let rtt = if self.rtt.is_zero() { srtt } else { self.rtt };
        if window.cwnd >= window.mss || rtt.is_zero() {
            return (self.line > Rate::ZERO).then_some(self.line);
        }
        let bytes = window.cwnd as f64 * self.wire;
        Some(Rate(((8.0 * bytes / rtt.as_secs_f64()) as u64).max(1)))
    }
}

impl NetworkAssisted for Bolt {
    fn on_send(&mut self, packet: &mut Packet, view: &View, ctx: &mut EndpointCtx<'_>) {
        self.line = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        if packet.payload > 0 {
            let payload = u64::from(packet.payload);
            let left = view.to_send().saturating_add(payload);
            let marks = said(self.rtt.is_zero(), payload, left, self.state.window);
            packet.set_header(&BoltHeader { marks, sent: ctx.now.as_ns() as u32 });
        }
    }

    /// `HandleAck`, `HandleNack`.
    fn on_feedback(&mut self, packet: &Packet, window: &mut Window, view: &View, _ctx: &mut EndpointCtx<'_>) {
        self.state.window = window.cwnd;
        let Some(header) = packet.header::<BoltHeader>().filter(|h| h.marks.has(BoltFlags::RETURNS)) else { return };
        // The packet that is sent next tells of the next round trip.
        let additive = self.round.is_none_or(|sent| packet.ack.wrapping_sub(sent).cast_signed() > 0);
        if additive {
            self.round = Some(packet.ack.wrapping_add(view.flight as u32));
        }
        self.state.acknowledge(header.marks, additive, &self.path(view.mss));
        // RFC 7661, §4.4.1 (ours here): a window that is not used does not grow.
        if view.is_app_limited(window) {
            self.state.window = self.state.window.min(window.cwnd);
        }
        window.set(self.state.window);
    }

    /// `HandleBts`.
    fn on_notice(&mut self, packet: &Packet, window: &mut Window, view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(notice) = packet.header::<Notice>() else { return };
        let now = ctx.now.as_ns();
        let came_after = u64::from((now as u32).wrapping_sub(notice.sent));
        self.state.window = window.cwnd;
        let path = self.path(view.mss);
        self.state.tell(&notice, came_after, self.rtt.as_ns(), now, &path);
        window.set(self.state.window);
    }
}
