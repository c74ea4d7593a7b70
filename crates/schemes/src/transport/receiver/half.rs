//! The receiver as one half of an end whose other half sends ([`super::super::duplex`]).

use std::sync::Arc;

use midpath_core::packet::{Flags, IP_HEADER, MAX_SACK, Options, Packet, TCP_HEADER};
use midpath_core::roles::{EndpointCtx, FlowReport};
use midpath_core::units::Time;

use super::{HALF, Receiver, State};
use crate::transport::ecn::{self, Agreed};
use crate::transport::rtt::RttEstimator;
use crate::transport::segment::Ends;
use crate::transport::sender::time_wait::TimeWait;
use crate::transport::settings::Settings;

/// What SACK blocks take: two bytes of padding, kind and length, and each block.
const SACK: u32 = 4;
const BLOCK: u32 = 8;

/// The largest window that a SYN tells (RFC 7323, §2.2).
const UNSCALED: u64 = u16::MAX as u64;

impl Receiver {
    /// The half of an active end: it receives when the other half has opened the connection.
    pub(in crate::transport) fn of_active(ends: Ends, settings: Arc<Settings>) -> Receiver {
        Receiver::between(ends, settings).into_half()
    }

    /// Makes it a half: the FIN is the other half's to send.
    #[must_use]
    pub(in crate::transport) fn into_half(mut self) -> Receiver {
        self.put(HALF, true);
        self
    }

    /// The other half has opened the connection, by this SYN-ACK.
    pub(in crate::transport) fn join(&mut self, by: &Packet, ends: &Ends, (agreed, marked): (Agreed, bool)) {
        if self.settings.reflect.is_some() {
            self.see_header(by, None);
        }
        self.ends = *ends;
        self.state = State::Established;
        self.ecn = agreed;
        // RFC 9768, §3.2.2.1: a marked SYN-ACK is counted.
        self.marks = ecn::FIRST as u8 + u8::from(marked);
    }

    /// What the handshake has found out.
    pub(in crate::transport) fn found(&self) -> (&Ends, Agreed, RttEstimator) {
        (&self.ends, self.ecn, self.rtt())
    }

    /// Whether the connection is open.
    pub(in crate::transport) fn is_open(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Whether the peer's FIN has come, and all before it.
    pub(in crate::transport) fn is_done(&self) -> bool {
        self.state == State::CloseWait
    }

    /// What is left of the end in TIME-WAIT, until a time and for so long after each repeat of the
    /// peer's FIN; its own numbers end at `nxt`.
    pub(in crate::transport) fn time_wait(
        &self,
        nxt: u64,
        (until, linger): (Time, Time),
        report: FlowReport,
    ) -> TimeWait<FlowReport> {
        let flags = Flags::ACK.with(self.ecn_flags());
        // One past the FIN is expected.
        let window = self.window();
        let (fin, nxt) = (self.ends.peer.wire(self.next - 1), self.ends.own.wire(nxt));
        TimeWait { until, linger, ends: self.ends, window, fin, nxt, flags, report }
    }

    /// When it wants to be woken.
    pub(in crate::transport) fn wants(&self) -> Time {
        self.due_at
    }

    /// Takes over what the application has room for now.
    pub(in crate::transport) fn look_for_room(&mut self, ctx: &EndpointCtx<'_>) {
        self.take_room(ctx);
    }

    /// Whether what a segment acknowledges counts. RFC 9293, §3.10.7.4 asks that it lies in the
    /// window. As in Linux, it may also lie before it, up to what was acknowledged last: so an ACK
    /// counts that data have overtaken. And so does a keep-alive's, one number before that.
    pub(in crate::transport) fn heeds(&mut self, packet: &Packet, now: Time) -> bool {
        let Some(at) = self.ends.peer.offset(packet.seq, self.next) else { return false };
        let len = u64::from(packet.payload) + u64::from(packet.flags.has(Flags::FIN));
        let in_window = at <= self.next + self.ends.receive_window(self.window()) && at + len + 1 >= self.last_ack();
        let counts = in_window && !self.ends.is_outdated(packet, self.settings.most_late(), now);
        // RFC 7323, §4.3, (2), for a segment without data; on_segment has the others.
        if counts && len == 0 && at <= self.last_ack() && self.ends.stamped(packet) && !self.ends.is_older(packet, now)
        {
            self.ends.remember(packet, now);
        }
        counts
    }

    /// Makes a packet of the other half say what this one has to say: what it expects, its window,
    /// the peer's clock, marks, and what has come out of order as far as there is room. Where ACKs go apart (the packet
    /// doesn't `acknowledge`), nothing that no ACK has said.
    pub(in crate::transport) fn speak_on(&self, p: &mut Packet, opening: bool, acknowledge: bool) {
        if p.flags.has(Flags::RST) {
            return;
        }
        if p.flags.has(Flags::SYN) {
            p.window = u64::from(self.window()).min(UNSCALED) as u16;
            return;
        }
        let (window, ts_ecr) = self.ends.says(self.window());
        let acknowledged = if acknowledge { self.next } else { self.last_ack() };
        (p.ack, p.window, p.ts_ecr) = (self.ends.peer.wire(acknowledged), window, ts_ecr);
        // What goes with the handshake says how that arrived, not how many marks there were.
        if !opening {
            let accurate = if self.ecn == Agreed::Accurate { ecn::flags(7) } else { Flags(0) };
            p.flags = Flags(p.flags.0 & !accurate.0).with(self.ecn_flags());
        }
        if !acknowledge {
            return;
        }
        self.reflect(p);
        let room = self.ends.mtu.saturating_sub(p.size + SACK) / BLOCK;
        self.put_blocks(p, MAX_SACK.min(room as usize));
    }

    /// Whether ACKs go apart from the other half's data.
    pub(in crate::transport) fn answers_apart(&self) -> bool {
        self.is(HALF) && self.settings.answers_apart()
    }

    /// An ACK must go now: with the other half's data, if it has any to send in this call.
    #[inline]
    pub(super) fn acknowledge_or_let(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.is(HALF) {
            self.due_at = ctx.now;
        } else {
            self.acknowledge(ctx);
        }
    }

    /// The other half has sent what this one had to say.
    pub(in crate::transport) fn has_spoken(&mut self) {
        self.unacknowledged = 0;
        self.has_said_all();
        self.no_ack_is_due();
    }
}

/// The largest packet that the sender of a SYN takes (RFC 9293, §3.7.1: 536 bytes of payload, if it
/// doesn't say).
pub(in crate::transport) fn largest(syn: &Packet) -> u32 {
    const LEAST: u32 = 536;
    let mss = if syn.options.has(Options::MSS) { u32::from(syn.mss) } else { LEAST };
    mss + IP_HEADER + TCP_HEADER
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{Interfaces, Options};
    use midpath_core::units::Bytes;

    use super::*;
    use crate::tcp::newreno::NewRenoConfig;
    use crate::tcp::tests::harness::{FLOW, HOSTS};
    use crate::transport::{Tcp, TcpParams};

    /// A half that has acknowledged 1000 bytes.
    fn half(window: u64) -> Receiver {
        let tcp = TcpParams { receive_window: Bytes(window), ..TcpParams::default() };
        let settings = Tcp::new("test", tcp, NewRenoConfig).expect("valid").settings;
        let half = Receiver::of_active(Ends::new(FLOW, HOSTS[0], HOSTS[1], Interfaces::ANY, 1500, &tcp), settings);
        Receiver { state: State::Established, next: 1000, ..half }
    }

    /// Whether an ACK without data counts, with its number as an offset and the peer's clock.
    fn heeds(half: &mut Receiver, at: u64, clock: u32) -> bool {
        let mut ack = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
        (ack.seq, ack.flags, ack.ts_val, ack.options) =
            (half.ends.peer.wire(at), Flags::ACK, clock, Options::TIMESTAMPS);
        half.heeds(&ack, Time::from_ms(1))
    }

    /// RFC 1122, §4.2.3.6: a keep-alive's number is one before what was acknowledged.
    #[test]
    fn an_ack_counts_from_a_keep_alive_s_number_on() {
        let found = [1000, 999, 998].map(|at| heeds(&mut half(1 << 20), at, 0));
        assert_eq!(found, [true, true, false]);
    }

    /// RFC 7323, §4.3, (2): that of an ACK without data, too, unless others have overtaken it.
    #[test]
    fn the_newest_timestamp_is_echoed() {
        let mut half = half(1 << 20);
        for (clock, echoed) in [(5000, 5000), (4000, 5000), (6000, 6000)] {
            assert!(heeds(&mut half, 1000, clock));
            let mut data = Packet::new(FLOW, HOSTS[0], HOSTS[1], 1500);
            half.speak_on(&mut data, false, true);
            assert_eq!(data.ts_ecr, echoed);
        }
    }

    /// RFC 7323, §2.2: a SYN's window is not scaled.
    #[test]
    fn a_syn_tells_as_much_of_the_window_as_it_can() {
        for (window, told) in [(10_000, 10_000), (1 << 20, u16::MAX)] {
            let mut syn = Packet::new(FLOW, HOSTS[0], HOSTS[1], 60);
            syn.flags = Flags::SYN;
            half(window).speak_on(&mut syn, true, true);
            assert_eq!(syn.window, told);
        }
    }
}
