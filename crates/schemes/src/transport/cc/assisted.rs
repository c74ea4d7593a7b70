//! What senders need beyond a controller when the network takes part: headers, feedback, other flows
//! of the host, networks that store.

use midpath_core::packet::{Flags, Header, Packet, header_among};
use midpath_core::roles::{EndpointCtx, FlowSpec, Received};
use midpath_core::units::Time;

use super::{CongestionController, ControllerConfig, ControllerTraits, Window};
use crate::transport::params::TcpParams;

/// Headers alone are at least this far apart. Ours: on short paths with many flows a question per
/// round trip would fill the link.
pub const ASK_INTERVAL: Time = Time::from_ms(50);

/// What a controller that talks with the network may know of its sender.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Time,
    /// The shortest round-trip time measured, which has least of queues in it; zero before the
    /// first sample.
    pub base_rtt: Time,
    /// Payload of a full packet.
    pub mss: u64,
    /// Bytes of headers on a packet with payload.
    pub overhead: u64,
    /// Payload never sent so far, without what is just being sent; `u64::MAX` while nobody knows
    /// the end.
    pub unsent: u64,
    /// The same of what the application has handed over so far: nothing while it is silent.
    pub at_hand: u64,
    /// Bytes sent and not yet acknowledged.
    pub flight: u64,
    /// Those of them that are thought to be in the network.
    pub pipe: u64,
    /// Those of them that are thought to be lost and have not been sent again.
    pub lost: u64,
}

impl View {
    /// Payload that is still to be sent, repairs included; `u64::MAX` while nobody knows the end.
    pub const fn to_send(&self) -> u64 {
        self.unsent.saturating_add(self.lost)
    }

    /// Whether all that an application has written is sent, and the window has room for more.
    pub const fn is_app_limited(&self, window: &Window) -> bool {
        self.unsent == u64::MAX && self.at_hand == 0 && self.pipe + self.mss <= window.cwnd
    }
}

/// A controller that the network assists. Each method has a default that does nothing: write the ones
/// that the scheme needs, none for a controller that no network assists.
pub trait NetworkAssisted: CongestionController {
    /// Called just before any packet of the active end leaves (SYN, data, repeat, pure ACK): the
    /// place to put a header on it.
    fn on_send(&mut self, _packet: &mut Packet, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called with every valid packet that comes back (SYN-ACK included) when its numbers have been
    /// taken in, before the window is adapted: the place to read the network's feedback off it.
    fn on_feedback(&mut self, _packet: &Packet, _window: &mut Window, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called with a datagram of this flow: what a node on the way says of its own accord, without the other end
    /// (Bolt's notices). Nothing is sent before the next ACK, or the next packet's time.
    fn on_notice(&mut self, _packet: &Packet, _window: &mut Window, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when all has been acknowledged, and again when the endpoint goes: what it holds in
    /// common with the host's other flows is to be given back.
    fn on_close(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    /// Called when the endpoint is woken by a poke from another flow of its host.
    fn on_poke(&mut self, _view: &View, _ctx: &mut EndpointCtx<'_>) {}
    /// Called where the network stores, when something outstanding turns out to be lost: what is
    /// left in the network.
    fn on_overtaken(&mut self, _window: &mut Window, _pipe: u64) {}
    /// How far apart two packets may be at its pace, where that may be more than the RTO.
    #[inline]
    fn longest_gap(&self) -> Time {
        Time::ZERO
    }
    /// Called when the connection is open: how long its first packet waits, where the sender paces.
    fn waits(&mut self, _view: &View, _ctx: &mut EndpointCtx<'_>) -> Time {
        Time::ZERO
    }
    /// Whether the network has admitted the flow: said what it may send to begin with. Where data go both ways none are
    /// sent before.
    #[inline]
    fn is_admitted(&self) -> bool {
        true
    }
    /// Once nothing has been sent for this long, a header alone asks the network. `None`: never. A flow that is not
    /// admitted has lost the answer to its SYN.
    #[inline]
    fn asks_after(&self, view: &View) -> Option<Time> {
        (!self.is_admitted()).then(|| view.srtt.max(ASK_INTERVAL))
    }
}

/// What a receiver keeps of the newest packet that brought a header to reflect.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Whether it was a SYN.
    pub syn: bool,
    /// Its hop limit.
    pub hops: u8,
    /// Its headers, as [`Packet::headers`] gives them.
    pub headers: &'a [u8],
}

impl<'a> Seen<'a> {
    /// What is kept of a packet.
    pub fn of(packet: &'a Packet) -> Seen<'a> {
        Seen { syn: packet.flags.has(Flags::SYN), hops: packet.hops, headers: packet.headers() }
    }

    /// Its header `H`, if it had one that is valid.
    #[inline]
    pub fn header<H: Header>(&self) -> Option<H> {
        header_among(self.headers)
    }
}

/// How a receiver turns the header of the newest packet with payload (or of the SYN) into that of
/// an acknowledgement. With [`AssistedTraits::asks_and_answers`] that may have a header which asks itself.
pub type Reflect = fn(seen: Seen<'_>, ack: &mut Packet);

/// Writes into the headers that a receiver keeps for its ACK how the packet was received, on a host that takes its time.
pub type Stamp = fn(headers: &mut [u8], received: &Received);

/// Told of each ACK that a receiver sends: for hosts whose senders share a link with them.
pub type Acknowledged = fn(ack: &Packet, ctx: &mut EndpointCtx<'_>);

/// A configuration value that builds controllers which the network assists. Each [`ControllerConfig`]
/// is one, of controllers that it does not.
pub trait AssistedConfig: Send + Sync + 'static {
    /// What it builds.
    type Controller: NetworkAssisted;
    /// Called once per connection.
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Self::Controller;
    /// What its connections are like.
    fn traits(&self) -> AssistedTraits;
}

impl<K: ControllerConfig> AssistedConfig for K {
    type Controller = K::Controller;
    fn build(&self, tcp: &TcpParams, mss: u32, flow: &FlowSpec) -> Self::Controller {
        ControllerConfig::build(self, tcp, mss, flow)
    }
    fn traits(&self) -> AssistedTraits {
        AssistedTraits { controller: ControllerConfig::traits(self), ..AssistedTraits::default() }
    }
}

/// How the connections of a controller that the network assists differ from TCP's.
#[derive(Debug, Clone, Copy, Default)]
pub struct AssistedTraits {
    /// What any controller may say.
    pub controller: ControllerTraits,
    /// Bytes that the controller's own header takes on every packet.
    pub header: u32,
    /// How receivers reflect that header.
    pub reflect: Option<Reflect>,
    /// How they say in it what the packet met at their host.
    pub stamp: Option<Stamp>,
    /// Whether one header asks for its own direction and answers for the other, so that data bring acknowledgements where
    /// they go both ways. To answer twice must be the same as once. Else ACKs go apart from data, and a SYN-ACK asks as a
    /// SYN does: an ACK behind it is the answer.
    pub asks_and_answers: bool,
    /// What such an ACK carries in place of what `reflect` makes, where the SYN-ACK is known by its flag.
    pub reflect_apart: Option<Reflect>,
    /// Who is told of receivers' ACKs.
    pub acknowledged: Option<Acknowledged>,
    /// Whether the network tells the rate: packets are paced at it, and no window limits the sender
    /// but the receiver's.
    pub rate_based: bool,
    /// Whether the network stores what it cannot send yet. What nothing later has overtaken is then
    /// not lost but waits: a timeout repeats the first segment and the holes below what was
    /// reported by SACK, and the window is what `on_rto` says.
    pub stores: bool,
    /// Where the network stores: whether what has been overtaken is lost and repeated at any time,
    /// not only after a timeout.
    pub overtaken: bool,
    /// Whether its flows make no sense unless the network scheme of the same name runs somewhere.
    pub own_network: bool,
    /// Whether it puts an entropy value on packets, by which ECMP hashes in place of the flow.
    pub draws_paths: bool,
}
