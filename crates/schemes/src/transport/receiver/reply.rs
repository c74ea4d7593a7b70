//! What a receiver says: ACKs, SACK blocks, echoes of congestion marks.

use midpath_core::packet::{Ecn, Flags, MAX_SACK, Packet, SackBlock, comes_after};
use midpath_core::roles::{EndpointCtx, Received};
use midpath_core::units::Time;

use super::{ECHO, Extras, MARKED, RECENT, Receiver, Reflected, State};
use crate::transport::cc::{Echo, Seen};
use crate::transport::ecn::{self, Agreed};
use crate::transport::segment::Ends;

/// Marks after which an ACK must not wait (RFC 9768, §3.2.2.5.1: n SHOULD be 2).
const MARKS_PER_ACK: u8 = 2;

impl Receiver {
    /// RFC 2018, §4: the range that holds the newest segment, which holds `at`, goes to the front
    /// of those to be reported.
    pub(super) fn remember(&mut self, at: u64) {
        let extras = &mut *self.extras;
        let newest = if at < self.next { None } else { extras.held.containing(at) };
        let newest = newest.map(|(from, to)| self.ends.block(from, to));
        let mut kept = [SackBlock::default(); RECENT];
        let mut n = 0;
        if let Some(newest) = newest {
            (kept[0], n) = (newest, 1);
        }
        // What was reported is held as it was, has become a part of the newest range, or has been
        // delivered.
        let next = self.ends.peer.wire(self.next);
        for &old in &extras.recent[..extras.recent_len] {
            let merged = newest.is_some_and(|newest| newest.holds(old.from));
            if n < RECENT && comes_after(old.from, next) && !merged {
                kept[n] = old;
                n += 1;
            }
        }
        (extras.recent, extras.recent_len) = (kept, n);
    }

    /// RFC 2883, §4: what of a segment has come before. The first contiguous part of it is reported.
    pub(super) fn note_duplicate(&mut self, from: u64, to: u64) {
        if !self.ends.sack() || !self.settings.rack_tlp {
            return;
        }
        let known = if from < self.next { Some((from, self.next)) } else { self.extras.held.overlap(from, to) };
        if known.is_none() && self.extras.get().is_none_or(|extras| extras.twice.is_none()) {
            return; // mostly
        }
        self.extras.twice = known.map(|(from, until)| self.ends.block(from, until.min(to)));
    }

    /// Puts what has come out of order on a packet, behind what has come twice, in at most `most` blocks.
    #[inline]
    pub(super) fn put_blocks(&self, p: &mut Packet, most: usize) {
        let reports = |extras: &&Extras| !extras.held.is_empty() || extras.twice.is_some();
        let Some(extras) = self.extras.get().filter(reports) else { return };
        if !self.ends.sack() {
            return;
        }
        let held = if extras.held.is_empty() { &[] } else { &extras.recent[..extras.recent_len] };
        let mut blocks = [SackBlock::default(); RECENT + 1];
        let mut n = 0;
        for block in extras.twice.iter().chain(held).take(most) {
            blocks[n] = *block;
            n += 1;
        }
        if n > 0 {
            Ends::put_sack(p, &blocks[..n]);
        }
    }

    /// What the mark on a data packet, or that there is none, means for what ACKs say. Whether it
    /// must be said at once.
    pub(super) fn see_mark(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) -> bool {
        let marked = packet.ecn == Ecn::Ce;
        if self.ecn == Agreed::Accurate {
            return self.count_mark(marked);
        }
        match self.settings.echo {
            // RFC 3168, §6.1.3: from a mark until CWR. A marked packet with CWR starts a new echo.
            Echo::UntilCwr => self.put(ECHO, marked || (self.is(ECHO) && !packet.flags.has(Flags::CWR))),
            // RFC 8257, §3.2, figure 1: what was received before the change is acknowledged first,
            // with the old echo.
            Echo::Exact => {
                if marked != self.is(ECHO) && self.pending > 0 {
                    self.acknowledge(ctx);
                }
                self.put(ECHO, marked);
            }
        }
        false
    }

    /// RFC 9768, §3.2.2.5.1: an ACK at once when marks begin, and for every second one.
    fn count_mark(&mut self, marked: bool) -> bool {
        let begins = marked && !self.is(MARKED);
        self.put(MARKED, marked);
        self.marks = self.marks.wrapping_add(marked.into());
        self.unreported = self.unreported.saturating_add(marked.into());
        begins || self.unreported >= MARKS_PER_ACK
    }

    /// What every segment says of ECN.
    pub(super) fn ecn_flags(&self) -> Flags {
        match self.ecn {
            Agreed::Accurate => ecn::flags(self.marks.into()),
            _ if self.is(ECHO) => Flags::ECE,
            _ => Flags(0),
        }
    }

    /// An ACK of all that has come in order.
    #[inline]
    pub(super) fn ack(&self, ctx: &EndpointCtx<'_>) -> Packet {
        let mut p = self.ends.packet(0, self.window(), ctx);
        (p.seq, p.ack) = (self.ends.own.wire(0), self.ends.peer.wire(self.next));
        p.flags = if self.state == State::LastAck { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        p.flags = p.flags.with(self.ecn_flags());
        p
    }

    /// An ACK goes: the peer knows what room there is, and what has come twice.
    #[inline]
    pub(super) fn has_said_all(&mut self) {
        if let Some(extras) = self.extras.get_mut() {
            (extras.twice, extras.told) = (None, extras.edge);
        }
    }

    /// Sends an ACK of all that has come in order, with what has come beyond it.
    #[inline]
    pub(super) fn acknowledge(&mut self, ctx: &mut EndpointCtx<'_>) {
        let more = self.extras.get().is_some_and(|extras| !extras.held.is_empty() || extras.twice.is_some());
        if more || !self.settings.plain_acks {
            self.send_ack(ctx);
        } else {
            // As it is made, without a way through memory.
            let p = self.ack(ctx);
            ctx.send_bytes(&p, 0);
        }
        self.unacknowledged = 0;
        self.has_said_all();
        self.no_ack_is_due();
    }

    /// Sends an ACK with all that there may be to say.
    #[inline(never)]
    fn send_ack(&mut self, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.ack(ctx);
        self.put_blocks(&mut p, MAX_SACK);
        self.reflect(&mut p);
        if let Some(acknowledged) = self.settings.acknowledged {
            acknowledged(&p, ctx);
        }
        if let Some(how) = self.settings.tcp.receiver {
            self.misbehave(how, &mut p, ctx);
        }
        ctx.send_bytes(&p, 0);
    }

    /// Nothing waits to be acknowledged.
    #[inline]
    pub(super) fn no_ack_is_due(&mut self) {
        (self.pending, self.unreported) = (0, 0);
        if !self.repeats() {
            self.due_at = Time::MAX;
        }
    }

    /// Remembers the headers of a packet, for the acknowledgement of it.
    pub(in crate::transport) fn see_header(&mut self, packet: &Packet, received: Option<&Received>) {
        let Seen { syn, hops, headers } = Seen::of(packet);
        let seen = match &mut self.extras.0.seen {
            Some(seen) if seen.headers.len() == headers.len() => {
                (seen.syn, seen.hops) = (syn, hops);
                seen.headers.copy_from_slice(headers);
                seen
            }
            seen => seen.insert(Reflected { syn, hops, headers: headers.into() }),
        };
        if let (Some(stamp), Some(received)) = (self.settings.stamp, received) {
            stamp(&mut seen.headers, received);
        }
    }

    /// Reflects the header that the acknowledged packet brought.
    #[inline]
    pub(super) fn reflect(&self, ack: &mut Packet) {
        if let (Some(reflect), Some(seen)) = (self.settings.reflect, self.extras.seen()) {
            reflect(Seen { syn: seen.syn, hops: seen.hops, headers: &seen.headers }, ack);
        }
    }
}
