//! The sender's callbacks. Handshake, ACKs and repair are TCP's.

use midpath_core::packet::Packet;
use midpath_core::rng::below;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::equations::{Config, Signals, State};
use super::header::{self, FalconHeader};
use super::params::FalconParams;
use crate::swift::equations::Scaling;
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, AssistedConfig, AssistedTraits, Congestion, CongestionController, ControllerTraits, NetworkAssisted, Opening,
    View, Window, shortest,
};

/// Both windows begin with this: `kInitialFlowFcwnd` of isekai, in packets. Ours for ncwnd.
const FIRST_WINDOW: u32 = 32;
/// `fabric_base_delay` of isekai.
const BASE_DELAY: Time = Time::from_us(25);
/// Of the shortest fabric delay, where that makes a longer target. Ours.
const LEAST_TARGET: f64 = 1.25;
/// isekai's factors and bounds.
const BETA: f64 = 0.8;
const MOST_DECREASE: f64 = 0.5;
const LEAST_FABRIC: f64 = 0.01;
const RETRANSMIT_LIMIT: u32 = 3;
const SCALED: [f64; 2] = [0.1, 256.0];
const PLB_DELAY: f64 = 1.01;
const PLB_SHARE: f64 = 0.5;

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct FalconConfig(pub FalconParams);

impl AssistedConfig for FalconConfig {
    type Controller = Falcon;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Falcon {
        let first = f64::from(FIRST_WINDOW).min(self.0.max_window);
        Falcon {
            params: self.0,
            state: State::new(first, first),
            seen: None,
            least: Time::ZERO,
            srtt: Time::ZERO,
            retransmits: 0,
            entropy: None,
            moves: 0,
            wire: 1.0,
        }
    }
    fn traits(&self) -> AssistedTraits {
        let first = (f64::from(FIRST_WINDOW).min(self.0.max_window)) as u32;
        let controller = ControllerTraits { paced: true, initial_window: Some(first), ..ControllerTraits::default() };
        AssistedTraits {
            controller,
            header: header::SIZE,
            reflect: Some(header::reflect),
            stamp: Some(header::stamp),
            draws_paths: true,
            ..AssistedTraits::default()
        }
    }
}

/// What the newest ACK has said.
#[derive(Debug, Clone, Copy)]
struct Seen {
    rtt: Time,
    delay: Time,
    hops: u8,
    level: u8,
}

/// The sender's side.
#[derive(Debug, Clone, Copy)]
pub struct Falcon {
    params: FalconParams,
    state: State,
    seen: Option<Seen>,
    /// The shortest fabric delay measured; zero before the first.
    least: Time,
    srtt: Time,
    /// `retransmit_count`.
    retransmits: u32,
    /// That of its path now; `None` before the first packet.
    entropy: Option<u16>,
    /// How often PLB took another path.
    moves: u64,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Falcon {
    fn config(&self) -> Config {
        let p = &self.params;
        let least = Time((self.least.0 as f64 * LEAST_TARGET) as u64);
        Config {
            fabric: [LEAST_FABRIC, p.max_window],
            nic: [1.0, p.max_window],
            increase: 1.0,
            beta: BETA,
            most_decrease: MOST_DECREASE,
            level: p.target_level,
            base: p.base_delay.unwrap_or_else(|| BASE_DELAY.max(least)).as_secs_f64(),
            per_hop: p.per_hop.as_secs_f64(),
            scaling: Scaling { range: p.max_flow_scaling.as_secs_f64(), least: SCALED[0], most: SCALED[1] },
            retransmit_limit: RETRANSMIT_LIMIT,
            plb_delay: PLB_DELAY,
            plb_share: PLB_SHARE,
            plb_rounds: p.plb_rounds,
        }
    }

    fn bytes(&self, window: &Window) -> u64 {
        (self.state.window() * window.mss as f64) as u64
    }

    fn retransmit(&mut self, window: &Window, now: Time) -> u64 {
        self.retransmits += 1;
        let config = self.config();
        self.state.retransmit(&config, self.retransmits, now.as_secs_f64(), self.srtt.as_secs_f64());
        self.bytes(window)
    }
}

impl CongestionController for Falcon {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.wire = (window.mss + opening.overhead) as f64 / window.mss as f64;
        (self.least, self.srtt) = (opening.srtt, opening.srtt);
        window.set(self.bytes(window));
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt;
        let Some(Seen { rtt, delay, hops, level }) = self.seen.take() else { return };
        self.retransmits = 0;
        self.least = shortest(self.least, delay);
        // RFC 7661, §4.4.1 (ours here): a window that is not used does not grow.
        let before = self.state;
        let signals = Signals {
            now: ack.now.as_secs_f64(),
            rtt: rtt.as_secs_f64(),
            delay: delay.as_secs_f64(),
            hops: hops.into(),
            acked: ack.delivered as f64 / window.mss as f64,
            level,
        };
        let moves = self.state.acknowledge(&self.config(), &signals);
        if ack.app_limited {
            self.state.fcwnd = self.state.fcwnd.min(before.fcwnd);
            self.state.ncwnd = self.state.ncwnd.min(before.ncwnd);
        }
        if moves && self.params.plb {
            (self.entropy, self.moves) = (None, self.moves + 1);
        }
        window.set(self.bytes(window));
    }

    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.retransmits = 0; // an early retransmission follows an ACK
        self.retransmit(window, congestion.now)
    }
    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.retransmit(window, congestion.now)
    }
    /// Falcon's Swift has no marks; they are answered as a loss. Ours.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.on_loss(window, congestion)
    }

    /// ComputeInterPacketGap: rtt/fcwnd below a packet; above, packets leave as ACKs come.
    fn pacing_rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        if self.state.fcwnd >= 1.0 || srtt.is_zero() {
            return Some(Rate(u64::MAX));
        }
        let bytes = self.state.fcwnd * window.mss as f64 * self.wire;
        Some(Rate(((8.0 * bytes / srtt.as_secs_f64()) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let target = self.config().target(self.state.fcwnd, 0);
        out.extend([
            ("fcwnd_packets", self.state.fcwnd),
            ("ncwnd_packets", self.state.ncwnd),
            ("target_s", target),
            ("moves", self.moves as f64),
        ]);
    }
}

impl NetworkAssisted for Falcon {
    fn on_send(&mut self, packet: &mut Packet, _view: &View, ctx: &mut EndpointCtx<'_>) {
        if packet.payload > 0 {
            let entropy = *self.entropy.get_or_insert_with(|| below(ctx.rng, 1 << 16) as u16);
            let sent = ctx.now.as_ns() as u32;
            header::put_on(packet, &FalconHeader { entropy, sent, ..FalconHeader::default() });
        }
    }

    /// §10.1: rtt = T4 − T1; fabric_delay = rtt − (T3 − T2).
    fn on_feedback(&mut self, packet: &Packet, _window: &mut Window, _view: &View, ctx: &mut EndpointCtx<'_>) {
        let Some(header) = packet.header::<FalconHeader>().filter(|header| header.returns) else { return };
        let waited = ctx.received.map_or(Time::ZERO, |received| received.waited);
        let rtt = (ctx.now.saturating_sub(waited).as_ns() as u32).wrapping_sub(header.sent);
        let delay = rtt.saturating_sub(header.waited).max(1);
        let time = |ns: u32| Time::from_ns(ns.into());
        self.seen = Some(Seen { rtt: time(rtt), delay: time(delay), hops: header.hops, level: header.level });
    }
}
