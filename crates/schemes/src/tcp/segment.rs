//! What segments look like: sizes, timestamps, SACK blocks, resets.

use midpath_core::packet::{
    Flags, FlowId, IP_HEADER, Kind, MAX_SACK, NodeId, Options, Packet, SackBlock, TCP_HEADER, TIMESTAMPS,
};
use midpath_core::units::Time;

/// Who talks to whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub flow: FlowId,
    pub me: NodeId,
    pub peer: NodeId,
    /// Whether packets carry timestamps.
    pub timestamps: bool,
    /// Whether SYNs permit SACK.
    pub sack: bool,
    /// The largest packet that is to come, headers included.
    pub mtu: u32,
    /// The window that packets advertise.
    pub window: u64,
}

impl Ends {
    /// A packet to the peer with `payload` bytes, stamped, all else off.
    #[inline]
    pub fn packet(&self, payload: u32, now: Time, echo: Time) -> Packet {
        let mut p = Packet::new(self.flow, self.me, self.peer, IP_HEADER + TCP_HEADER + payload);
        p.payload = payload as u16;
        p.window = self.window;
        if self.timestamps {
            (p.ts_val, p.ts_ecr, p.options) = (stamp(now), echo, Options::TIMESTAMPS);
            p.size += TIMESTAMPS;
        }
        p
    }

    /// A SYN or SYN-ACK, with the options that Linux sends.
    pub fn syn(&self, flags: Flags, now: Time, echo: Time) -> Packet {
        let mut p = self.packet(0, now, echo);
        p.flags = flags;
        p.options = p.options.with(Options::MSS).with(Options::WINDOW_SCALE);
        // RFC 6691: without options, IP's or TCP's.
        p.mss = u16::try_from(self.mtu.saturating_sub(IP_HEADER + TCP_HEADER)).unwrap_or(u16::MAX);
        if self.sack {
            p.options = p.options.with(Options::SACK_PERMITTED);
        }
        p.measure();
        p
    }
}

/// RFC 7323's TSval, exact to the picosecond. One more than the clock, because an echo of zero means "none".
#[inline]
pub(super) fn stamp(now: Time) -> Time {
    now.saturating_add(Time(1))
}

/// The round trip that an echoed timestamp says; `None` when there is no echo, or one from the future.
#[inline]
pub(super) fn round_trip(now: Time, echo: Time) -> Option<Time> {
    (!echo.is_zero() && echo <= stamp(now)).then(|| stamp(now) - echo)
}

/// Whether a packet opens a connection: a SYN, no answer to one (RFC 9293, §3.10.7.2).
pub(crate) fn opens(packet: &Packet) -> bool {
    packet.kind == Kind::Segment && packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK)
}

/// The answer to a segment of a connection that isn't there, so that its sender stops: RFC 9293, §3.10.7.1. A reset gets none.
pub(crate) fn reset(packet: &Packet) -> Option<Packet> {
    if packet.kind != Kind::Segment || packet.flags.has(Flags::RST) {
        return None;
    }
    let mut reset = Packet::new(packet.flow, packet.dst, packet.src, IP_HEADER + TCP_HEADER);
    // Between the same two addresses of multihomed hosts (MPTCP): the way back has their ports swapped.
    reset.set_interfaces(packet.interfaces.reversed());
    // The number that the sender expects next, if it has said so; else what it has sent is acknowledged.
    if packet.flags.has(Flags::ACK) {
        (reset.flags, reset.seq) = (Flags::RST, packet.ack);
    } else {
        reset.flags = Flags::RST.with(Flags::ACK);
        reset.ack = packet.seq.saturating_add(u64::from(packet.payload));
    }
    Some(reset)
}

/// Puts SACK blocks on an ACK. RFC 2018, §3: 2 + 8n bytes of option, padded to 4 + 8n.
pub(super) fn put_sack(p: &mut Packet, blocks: &[(u64, u64)]) {
    let mut n = 0;
    for &(from, to) in blocks.iter().take(MAX_SACK) {
        let near = |at: u64| at.checked_sub(p.ack).and_then(|d| u32::try_from(d).ok());
        if let (Some(from), Some(to)) = (near(from), near(to)) {
            p.sack[n] = SackBlock { from, to };
            n += 1;
        }
    }
    if n > 0 {
        p.sack_len = n as u8;
        p.size += 4 + 8 * n as u32;
    }
}
