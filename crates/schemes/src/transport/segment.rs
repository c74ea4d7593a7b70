//! What segments look like: numbers, clocks, windows, SACK blocks, resets.

use std::hash::Hasher;

use midpath_core::packet::{
    Flags, FlowId, IP_HEADER, Interfaces, Kind, MAX_SACK, NodeId, Options, Packet, SackBlock, Sequence, TCP_HEADER,
    TIMESTAMPS, comes_after, flow_key,
};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::Time;
use siphasher::sip::SipHasher24;

use super::params::TcpParams;

/// The largest shift of a window (RFC 7323, §2.3), and the largest window in units of it.
const MAX_SCALE: u8 = 14;
const MAX_UNITS: u64 = u16::MAX as u64;

/// The largest window that can be told: 64 KiB less one, times 2^14.
pub const MAX_RECEIVE_WINDOW: u64 = MAX_UNITS << MAX_SCALE;

/// A tick of the timestamp clock: 1 µs, as Linux has it for `tcp_usec_ts`. It wraps after 71
/// minutes.
const TICK: Time = Time::from_us(1);

/// How long a timestamp says which of two segments is newer: half of what the clock takes to wrap,
/// as Linux' `TCP_PAWS_WRAP`.
const TIMESTAMP_LIFE: Time = Time::from_secs(i32::MAX as u64 / 1_000_000);

/// In what units of picoseconds it is known when a timestamp came, or a window was needed: 2^32, which are 4.3 ms.
const COARSE: u32 = 32;

/// A time in units of 2^[`COARSE`] ps.
#[inline]
pub(crate) const fn coarse(at: Time) -> u32 {
    (at.0 >> COARSE) as u32
}

/// When such a unit begins.
#[inline]
pub(crate) const fn from_coarse(at: u32) -> Time {
    Time((at as u64) << COARSE)
}

/// One end's half of a connection: who talks to whom, in which numbers, by which clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The node at the other end. This end's node and flow are its context's.
    peer_node: NodeId,
    between: Interfaces,
    key: u32,
    /// What is asked for at first, then what both have agreed on: of [`TIMESTAMPED`] and so on.
    can: u8,
    /// The shift that this end's window is told with, and that of the windows that the peer tells.
    scale: u8,
    peer_scale: u8,
    /// The largest packet that is to come, headers included.
    pub mtu: u32,
    /// This end's numbers, and the peer's.
    pub own: Sequence,
    pub peer: Sequence,
    /// What this end's clock is ahead of the time.
    clock: u32,
    /// TS.Recent: the peer's TSval to echo (RFC 7323, §4.3), and when it came, as [`coarse`] has it.
    echo: u32,
    echo_at: u32,
}

const _: () = assert!(size_of::<Ends>() == 36);

/// Packets carry timestamps; ACKs carry SACK blocks; windows are scaled.
const TIMESTAMPED: u8 = 1;
const SACK: u8 = 2;
const SCALING: u8 = 4;
/// The window belongs to several connections together (RFC 8684, §3.3.4): this one alone keeps to none.
const SHARES_WINDOW: u8 = 8;

impl Ends {
    /// The ends of a connection that is not open yet.
    pub fn new(flow: FlowId, me: NodeId, peer: NodeId, between: Interfaces, mtu: u32, tcp: &TcpParams) -> Ends {
        debug_assert!(tcp.receive_window.0 <= MAX_RECEIVE_WINDOW.next_power_of_two(), "RFC 7323 can't express that");
        Ends {
            peer_node: peer,
            between,
            key: flow_key(flow, me, peer, between),
            can: SCALING | if tcp.timestamps { TIMESTAMPED } else { 0 } | if tcp.sack { SACK } else { 0 },
            mtu,
            scale: scale_for(tcp.receive_window.0),
            peer_scale: 0,
            own: Sequence::default(),
            peer: Sequence::default(),
            clock: 0,
            echo: 0,
            echo_at: 0,
        }
    }

    /// Whether packets carry timestamps.
    #[inline]
    pub fn timestamps(&self) -> bool {
        self.can & TIMESTAMPED != 0
    }

    /// Whether ACKs carry SACK blocks.
    #[inline]
    pub fn sack(&self) -> bool {
        self.can & SACK != 0
    }

    /// Several connections share the window from now on.
    pub fn share_window(&mut self) {
        self.can |= SHARES_WINDOW;
    }

    #[inline]
    fn shares_window(&self) -> bool {
        self.can & SHARES_WINDOW != 0
    }

    /// Says which interfaces the connection is between.
    pub fn between(&mut self, interfaces: Interfaces, flow: &FlowSpec) {
        (self.between, self.key) = (interfaces, flow_key(flow.id, flow.src, self.peer_node, interfaces));
    }

    /// Chooses where this end's numbers and clock begin: RFC 6528, §3, and RFC 7323, §5.4. Nobody
    /// else can tell, and the numbers of one connection after the other between the same ports
    /// rise.
    pub fn begin(&mut self, ctx: &EndpointCtx<'_>) {
        let hash = |what: u8| {
            let mut h = SipHasher24::new_with_keys(ctx.secret[0], ctx.secret[1]);
            h.write_u8(what);
            h.write_u32(ctx.node.0);
            h.write_u32(self.peer_node.0);
            h.write_u32(ctx.flow.0);
            h.write_u8(self.between.0);
            h.finish() as u32
        };
        let four_microseconds = (ctx.now.0 / Time::from_us(4).0) as u32;
        self.own = Sequence::after_syn(four_microseconds.wrapping_add(hash(0)));
        self.clock = hash(1);
    }

    /// This end's clock.
    #[inline]
    pub fn tick(&self, now: Time) -> u32 {
        ((now.0 / TICK.0) as u32).wrapping_add(self.clock)
    }

    /// Whether a packet echoes the timestamp of something that was sent at `at` or later.
    #[inline]
    pub fn echoes(&self, packet: &Packet, at: Time) -> bool {
        self.stamped(packet) && !comes_after(self.tick(at), packet.ts_ecr)
    }

    /// How long ago what a packet echoes was sent, by this end's clock.
    pub fn since_echoed(&self, packet: &Packet, now: Time) -> Option<Time> {
        let ticks = self.tick(now).wrapping_sub(packet.ts_ecr);
        (self.stamped(packet) && ticks < 1 << 31).then(|| Time::from_us(ticks.max(1).into()))
    }

    /// Whether a packet's timestamps count.
    #[inline]
    pub fn stamped(&self, packet: &Packet) -> bool {
        self.timestamps() && packet.options.has(Options::TIMESTAMPS)
    }

    /// Whether a packet was sent after all whose timestamp has been remembered.
    #[inline]
    pub fn is_newer(&self, packet: &Packet) -> bool {
        self.stamped(packet) && comes_after(packet.ts_val, self.echo)
    }

    /// Its timestamp says that a packet is older than the one whose timestamp is to be echoed.
    #[inline]
    pub fn is_older(&self, packet: &Packet, now: Time) -> bool {
        self.is_older_than(self.echo, packet, now)
    }

    /// RFC 7323, §5.3, R1: its timestamp says that a packet is an old duplicate, and not one that is
    /// `late` by so many ticks at most.
    #[inline]
    pub fn is_outdated(&self, packet: &Packet, late: u32, now: Time) -> bool {
        self.is_older_than(self.echo.wrapping_sub(late), packet, now)
    }

    fn is_older_than(&self, clock: u32, packet: &Packet, now: Time) -> bool {
        let known = || now.saturating_sub(from_coarse(self.echo_at)) < TIMESTAMP_LIFE;
        self.stamped(packet) && comes_after(clock, packet.ts_val) && known()
    }

    /// The packet's timestamp is to be echoed.
    #[inline]
    pub fn remember(&mut self, packet: &Packet, now: Time) {
        (self.echo, self.echo_at) = (packet.ts_val, coarse(now));
    }

    /// A packet to the peer with `payload` bytes that tells of a receive window, stamped, all else off.
    #[inline]
    pub fn packet(&self, payload: u32, window: u32, ctx: &EndpointCtx<'_>) -> Packet {
        let size = IP_HEADER + TCP_HEADER + payload;
        debug_assert_eq!(self.key, flow_key(ctx.flow, ctx.node, self.peer_node, self.between), "of another end");
        let mut p = Packet::between(ctx.flow, ctx.node, self.peer_node, self.between, self.key, size);
        p.payload = payload as u16;
        (p.window, p.ts_ecr) = self.says(window);
        if self.timestamps() {
            (p.ts_val, p.options) = (self.tick(ctx.now), Options::TIMESTAMPS);
            p.size += TIMESTAMPS;
        }
        p
    }

    /// What every packet says of this end: its window, and the timestamp that it echoes.
    #[inline]
    pub fn says(&self, window: u32) -> (u16, u32) {
        debug_assert!(u64::from(window) <= MAX_RECEIVE_WINDOW.next_power_of_two(), "a window of {window} bytes");
        let window = (window >> self.scale).min(MAX_UNITS as u32) as u16;
        (window, if self.timestamps() { self.echo } else { 0 })
    }

    /// A SYN or SYN-ACK, with the options that Linux sends, as far as they are on.
    pub fn syn(&self, flags: Flags, window: u32, ctx: &EndpointCtx<'_>) -> Packet {
        let mut p = self.packet(0, window, ctx);
        (p.flags, p.seq) = (flags, self.own.isn());
        if flags.has(Flags::ACK) {
            p.ack = self.peer.wire(0);
        }
        p.options = p.options.with(Options::MSS);
        // RFC 6691: without options, IP's or TCP's.
        p.mss = u16::try_from(self.mtu.saturating_sub(IP_HEADER + TCP_HEADER)).unwrap_or(u16::MAX);
        // RFC 7323, §2.2: the window of a SYN is not scaled.
        p.window = window.min(MAX_UNITS as u32) as u16;
        if self.can & SCALING != 0 {
            (p.options, p.window_scale) = (p.options.with(Options::WINDOW_SCALE), self.scale);
        }
        if self.sack() {
            p.options = p.options.with(Options::SACK_PERMITTED);
        }
        p.measure();
        p
    }

    /// Takes in the peer's SYN or SYN-ACK: where its numbers begin, and what both sides can.
    pub fn agree(&mut self, syn: &Packet, now: Time) {
        self.peer = Sequence::after_syn(syn.seq);
        for (option, flag) in
            [(Options::TIMESTAMPS, TIMESTAMPED), (Options::SACK_PERMITTED, SACK), (Options::WINDOW_SCALE, SCALING)]
        {
            if !syn.options.has(option) {
                self.can &= !flag;
            }
        }
        if self.can & SCALING != 0 {
            self.peer_scale = syn.window_scale.min(MAX_SCALE); // RFC 7323, §2.3
        } else {
            self.scale = 0;
        }
        self.remember(syn, now);
    }

    /// Whether a SYN can tell less than the window is.
    pub fn syn_tells_less(&self) -> bool {
        self.scale > 0
    }

    /// The window that the peer tells: bytes above its acknowledgement.
    #[inline]
    pub fn told_window(&self, packet: &Packet) -> u64 {
        // RFC 7323, §2.2: a SYN's is not scaled.
        if packet.flags.has(Flags::SYN) { packet.window.into() } else { u64::from(packet.window) << self.peer_scale }
    }

    /// The window that this connection alone keeps to: bytes above the peer's acknowledgement.
    #[inline]
    pub fn send_window(&self, packet: &Packet) -> u64 {
        if self.shares_window() { MAX_RECEIVE_WINDOW } else { self.told_window(packet) }
    }

    /// Bytes beyond the next one that may come, where the receive window is this.
    #[inline]
    pub fn receive_window(&self, window: u32) -> u64 {
        if self.shares_window() { MAX_RECEIVE_WINDOW } else { window.into() }
    }

    /// What came from the peer, as a SACK block says it.
    pub fn block(&self, from: u64, to: u64) -> SackBlock {
        SackBlock { from: self.peer.wire(from), to: self.peer.wire(to) }
    }

    /// Puts SACK blocks on an ACK, as many as fit.
    pub fn put_sack(p: &mut Packet, blocks: &[SackBlock]) {
        let n = blocks.len().min(MAX_SACK);
        p.sack_mut()[..n].copy_from_slice(&blocks[..n]);
        p.sack_len = n as u8;
        p.measure();
    }
}

/// The smallest shift that lets 16 bits tell the window: RFC 7323, §2.3.
fn scale_for(window: u64) -> u8 {
    (0..MAX_SCALE).find(|s| window >> s <= MAX_UNITS).unwrap_or(MAX_SCALE)
}

/// Whether a packet opens a connection: a SYN, no answer to one (RFC 9293, §3.10.7.2).
pub(crate) fn opens(packet: &Packet) -> bool {
    packet.kind == Kind::Segment && packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK)
}

/// The answer to a segment of a connection that isn't there, so that its sender stops: RFC 9293,
/// §3.10.7.1. A reset gets none.
pub(crate) fn reset(packet: &Packet) -> Option<Packet> {
    if packet.kind != Kind::Segment || packet.flags.has(Flags::RST) {
        return None;
    }
    let mut reset = Packet::new(packet.flow, packet.dst, packet.src, IP_HEADER + TCP_HEADER);
    // Between the same two addresses of multihomed hosts (MPTCP): the way back has their ports
    // swapped.
    reset.set_interfaces(packet.interfaces.reversed());
    // The number that the sender expects next, if it has said so; else what it has sent is
    // acknowledged.
    if packet.flags.has(Flags::ACK) {
        (reset.flags, reset.seq) = (Flags::RST, packet.ack);
    } else {
        reset.flags = Flags::RST.with(Flags::ACK);
        let controls = u32::from(packet.flags.has(Flags::SYN)) + u32::from(packet.flags.has(Flags::FIN));
        reset.ack = packet.seq.wrapping_add(u32::from(packet.payload) + controls);
    }
    Some(reset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_told_in_the_finest_units() {
        assert_eq!([0, 65_535, 65_536, 131_071, 131_072].map(scale_for), [0, 0, 1, 1, 2]);
        assert_eq!((scale_for(MAX_RECEIVE_WINDOW), scale_for(u64::MAX)), (14, 14));
        assert_eq!(MAX_RECEIVE_WINDOW, 65_535 << 14);
    }
}
