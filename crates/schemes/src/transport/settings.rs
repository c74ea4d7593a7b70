//! What the two ends of a TCP share.

use super::cc::{Acknowledged, Codepoints, Echo, Reflect, Stamp};
use super::ecn::EcnMode;
use super::params::TcpParams;

/// What the endpoints of one scheme share: parameters with everything resolved.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The common parameters.
    pub tcp: TcpParams,
    /// The ECN that is asked for and granted.
    pub ecn: EcnMode,
    /// How receivers echo marks where they don't count them.
    pub echo: Echo,
    /// What packets with payload say where both ends have ECN.
    pub codepoints: Codepoints,
    /// Segments to start with.
    pub initial_window: u32,
    /// Bytes of the controller's own header on every packet.
    pub header: u32,
    /// How receivers reflect that header.
    pub reflect: Option<Reflect>,
    /// How they say in it what the packet met at their host.
    pub stamp: Option<Stamp>,
    /// The same where ACKs go apart from data.
    pub reflect_apart: Option<Reflect>,
    /// Whether that header asks and answers at once.
    pub asks_and_answers: bool,
    /// Who is told of receivers' ACKs.
    pub acknowledged: Option<Acknowledged>,
    /// Whether the network stores what it cannot send yet.
    pub stores: bool,
    /// Whether what has been overtaken is repeated at any time.
    pub overtaken: bool,
    /// Whether losses are found as RFC 8985 has it. Where the network stores, time says less.
    pub rack_tlp: bool,
    /// Whether ACKs without SACK blocks say nothing beside what TCP's header has, and nobody is told of them.
    pub plain_acks: bool,
}

impl Settings {
    /// The receive window: 1 GiB at most.
    #[inline]
    pub fn receive_window(&self) -> u32 {
        self.tcp.receive_window.0 as u32
    }

    /// Whether ACKs go apart from data that go the same way.
    pub fn answers_apart(&self) -> bool {
        self.reflect.is_some() && !self.asks_and_answers
    }

    /// Bytes of headers on every packet but a SYN.
    pub fn overhead(&self) -> u32 {
        self.tcp.overhead() + self.header
    }

    /// By how many ticks of a microsecond a segment may be older than one that came before it and still
    /// be none from before the numbers went round (RFC 7323, §5): the tick of the slowest clock that §5.4
    /// allows, a second, where packets are reordered as far as that; so a segment that a repeat has
    /// overtaken, its own or another's, looks as new as the repeat. An old duplicate can pass for new only
    /// where half of all numbers are used within that time, at 17 Gbps. Else that of the finest clock, a
    /// millisecond.
    pub fn most_late(&self) -> u32 {
        if self.rack_tlp { 1_000_000 } else { 1_000 }
    }

    /// Whether the network tells the rate, so that the window is never the limit.
    pub fn is_rate_based(&self) -> bool {
        self.initial_window == UNLIMITED
    }

    /// Payload of a full packet on a path with this MTU.
    pub fn mss(&self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.overhead()).clamp(1, u32::from(u16::MAX))
    }
}

/// The window of a sender that the network tells its rate, in segments: never the limit, far below
/// overflow.
pub(crate) const UNLIMITED: u32 = 1 << 24;
