//! The sender: a window that the network never changes. Handshake, ACKs and repair are TCP's.

use midpath_core::packet::Packet;
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::{Rate, Time};

use super::header::{self, BfcHeader};
use super::params::BfcParams;
use crate::transport::TcpParams;
use crate::transport::cc::{
    AssistedConfig, AssistedTraits, Congestion, CongestionController, NetworkAssisted, Opening, View, Window,
};

/// What a path holds of a flow at most, in round trips of its host's link: one under way, and at each hop two of the
/// hop's, up to the threshold and until the pause is there; ours, with one to spare.
const ROUND_TRIPS: u64 = 4;

/// Builds senders.
#[derive(Debug, Clone, Copy)]
pub struct BfcConfig(pub BfcParams);

impl AssistedConfig for BfcConfig {
    type Controller = Bfc;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Bfc {
        Bfc { params: self.0, line: Rate::ZERO, begun: false }
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits { header: header::SIZE, own_network: true, ..AssistedTraits::default() }
    }
}

/// The sender's side.
#[derive(Debug, Clone, Copy)]
pub struct Bfc {
    params: BfcParams,
    /// The host's link.
    line: Rate,
    /// The first packet of data has left.
    begun: bool,
}

impl CongestionController for Bfc {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        let time = Time(opening.srtt.0.saturating_mul(ROUND_TRIPS));
        let sends = self.params.window.map_or_else(|| self.line.bytes_in(time).0 + window.mss, |bytes| bytes.0);
        window.set(sends.max(window.mss));
    }

    /// Backpressure alone decides how fast it is sent.
    fn on_loss(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
    fn on_ecn(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        window.cwnd
    }
}

impl NetworkAssisted for Bfc {
    fn on_send(&mut self, packet: &mut Packet, _view: &View, ctx: &mut EndpointCtx<'_>) {
        self.line = ctx.links.first().map_or(Rate::ZERO, |link| link.rate);
        if packet.payload > 0 {
            packet.set_header(&BfcHeader { queue: None, first: !self.begun });
            self.begun = true;
        }
    }
}
