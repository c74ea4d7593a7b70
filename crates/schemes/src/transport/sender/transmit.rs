//! What is sent next, and when: RFC 6675's NextSeg, RFC 3042, the receiver's window, pacing.

use midpath_core::packet::Flags;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::{Bytes, Time};

use super::scoreboard::Sending;
use super::{Phase, Sender};
use crate::transport::PACING_CREDIT;
use crate::transport::cc::{Codepoints, NetworkAssisted, Pause};
use crate::transport::segment::coarse;

/// A segment about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    from: u64,
    payload: u64,
    fin: bool,
    /// It has been sent before.
    again: bool,
    /// It probes a closed window: nothing is repaired by it.
    probe: bool,
}

impl Segment {
    /// How many numbers it takes: the FIN has one.
    fn len(&self) -> u64 {
        self.payload + u64::from(self.fin)
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Sends whatever the window, the receiver and the pace allow, and starts the timer for what is
    /// outstanding.
    #[inline]
    pub(super) fn send(&mut self, ctx: &mut EndpointCtx<'_>) {
        if std::mem::take(&mut self.paused) && self.una() == self.nxt() {
            self.end_pause(ctx.now);
        }
        let mut pipe = self.pipe();
        let budget = self.budget();
        self.pace_from(ctx.now);
        self.pacing = false;
        self.limited = loop {
            if pipe >= budget && self.repeats_next() {
                self.note_full();
                break true; // without a look for the hole
            }
            let Some(segment) = self.next_segment(pipe) else {
                self.paused = self.needs_data();
                // An application that hands over at most one window is window-limited.
                break self.paused && pipe + self.window.mss > budget;
            };
            // RFC 6675, §5, step C: cwnd - pipe >= 1 SMSS, or as much as the segment has.
            if pipe + segment.payload > budget && !(C::OWN_WINDOW && pipe == 0) {
                self.note_full();
                break true;
            }
            if self.settings.tcp.pacing && ctx.now < self.pace.at && !self.within_quantum(&segment) {
                self.pacing = true;
                // An application that has written less than the window has room for is what limits the sender, however
                // far apart packets leave.
                let at_hand = self.handed_over().saturating_sub(self.nxt());
                break at_hand.saturating_add(pipe + self.window.mss) > budget;
            }
            self.emit(segment, ctx);
            pipe += segment.len();
        };
        self.start_timer(ctx.now);
    }

    /// Whether, in fast recovery, data are what is sent next, and have been before.
    #[inline]
    fn repeats_next(&self) -> bool {
        self.phase == Phase::Recovery
            && self.sack_on()
            && self.board.missing() > 0
            && self.nxt() <= self.end
            && !C::OWN_WINDOW
    }

    /// Nothing is in flight, for the application had nothing to send. If it has again, the controller is told.
    fn end_pause(&mut self, now: Time) {
        if self.nxt() == 0 || self.nxt() >= self.end || self.needs_data() {
            return;
        }
        let initial = u64::from(self.settings.initial_window) * self.window.mss;
        let idle = self.extras.supply().map_or(now, |supply| now.saturating_sub(supply.sent_at));
        let pause = Pause { now, idle, rto: self.rtt.rto(&self.settings.tcp), initial };
        self.control.on_restart(&mut self.window, &pause);
        if pause.idle > pause.rto {
            self.validated_at = coarse(now);
        }
        self.pace_again(now);
    }

    /// The next packet leaves now at the earliest. If it waited for its time it counts from then,
    /// however late the driver wakes this end, up to [`PACING_CREDIT`].
    #[inline]
    pub(super) fn pace_from(&mut self, now: Time) {
        if self.settings.tcp.pacing {
            let earliest = if self.pacing { now.saturating_sub(PACING_CREDIT) } else { now };
            let pace = &mut *self.pace;
            pace.at = pace.at.max(earliest);
        }
    }

    /// The most that may be in flight now.
    #[inline]
    pub(super) fn budget(&self) -> u64 {
        let dupacks = self.dupacks();
        if self.phase != Phase::Open || dupacks == 0 {
            return self.window.cwnd;
        }
        match (self.settings.tcp.limited_transmit, self.sack_on()) {
            (false, _) => 0,
            // RFC 6675, §5, step 3: the pipe has shrunk by what was SACKed.
            (true, true) => self.window.cwnd,
            // RFC 3042, §2: one segment for each of the first two duplicates.
            (true, false) => self.window.cwnd + u64::from(dupacks.min(2)) * self.window.mss,
        }
    }

    /// RFC 6298, (5.1): the timer runs while anything is outstanding. While the receiver's window
    /// is closed and nothing is, it is the persist timer (RFC 9293, §3.8.6.1).
    #[inline(always)]
    fn start_timer(&mut self, now: Time) {
        if self.rto_at == Time::MAX
            && (self.una() < self.nxt() || (self.nxt() <= self.end && !self.pacing && !self.needs_data()))
        {
            self.rto_at = now.saturating_add(self.patience());
        }
        self.schedule_probe(now);
    }

    #[inline]
    fn next_segment(&mut self, pipe: u64) -> Option<Segment> {
        match self.phase {
            // With RACK, what was sent before a repeat that is acknowledged has an ACK to come: not yet a loss to repair.
            Phase::Open if self.extras.overtaken().is_none() || self.board.is_quiet() => self.new_segment(pipe),
            Phase::Recovery if self.sack_on() => self.next_seg(pipe),
            Phase::Recovery => self.new_segment(pipe),
            Phase::Loss if self.tries_new_data() => self.new_segment(pipe),
            Phase::Open | Phase::Loss => match self.board.hole(self.most()) {
                Some(hole) => Some(self.segment_in(hole)),
                None => self.new_segment(pipe),
            },
        }
    }

    /// NextSeg() of RFC 6675, §4.
    fn next_seg(&mut self, pipe: u64) -> Option<Segment> {
        if let Some(hole) = self.board.hole(self.most()) {
            return Some(self.segment_in(hole)); // rule 1: the lowest lost hole
        }
        if let Some(new) = self.new_segment(pipe) {
            return Some(new); // rule 2: data never sent
        }
        if self.adapts() || self.more_may_come() {
            // With RACK nothing is repeated as a guess, for it may be late. And rule 2 is not exhausted while whoever
            // supplies the stream has yet to be asked.
            return None;
        }
        if let Some(hole) = self.board.hole_below_sacked(self.most()) {
            return Some(self.segment_in(hole)); // rule 3: the lowest hole, though not lost yet
        }
        // Rule 4: one rescue retransmission of the end of what is outstanding.
        if pipe + self.window.mss > self.window.cwnd {
            return None;
        }
        let (from, to) = self.board.rescue(self.most())?;
        let fin = u64::from(to > self.end);
        let start = from.max((to - fin).saturating_sub(self.window.mss));
        self.board.reports.repair.rack.get_or_insert_default().guesses(start, to);
        Some(self.segment_in((start, to)))
    }

    /// How many numbers a segment may take: the FIN has one.
    fn most(&self) -> u64 {
        self.window.mss + 1
    }

    /// The first segment of a hole in what was sent.
    pub(super) fn segment_in(&self, (from, to): (u64, u64)) -> Segment {
        let mut payload = self.window.mss.min(to.min(self.end) - from.min(self.end));
        if let Some(supply) = self.extras.supply() {
            payload = payload.min(supply.limit(from).saturating_sub(from));
        }
        let fin = from + payload == self.end && to > self.end;
        Segment { from, payload, fin, again: true, probe: false }
    }

    /// The next segment of data never sent, if there are any and the receiver has room.
    #[inline]
    pub(super) fn new_segment(&self, pipe: u64) -> Option<Segment> {
        let from = self.nxt();
        if from > self.end || self.needs_data() {
            return None;
        }
        let mut payload = self.window.mss.min(self.end - from);
        if let Some(supply) = self.extras.supply() {
            payload = payload.min(supply.limit(from).saturating_sub(from));
        }
        if payload > 0 && from + payload > self.edge() {
            // RFC 9293, §3.8.6.2.1: less than a full segment only when nothing is in flight that
            // would bring more room.
            let room = self.edge().saturating_sub(from);
            if room == 0 || pipe > 0 {
                return None;
            }
            payload = room;
        }
        let fin = from + payload == self.end;
        Some(Segment { from, payload, fin, again: false, probe: false })
    }

    /// Sends a segment where that is not one of many.
    #[inline(never)]
    pub(super) fn emit_one(&mut self, segment: Segment, ctx: &mut EndpointCtx<'_>) {
        self.emit(segment, ctx);
    }

    /// In line where data are sent: a call costs 20 instructions.
    #[inline(always)]
    fn emit(&mut self, segment: Segment, ctx: &mut EndpointCtx<'_>) {
        let mut p = self.numbered(segment.payload, segment.from, ctx);
        p.flags = if segment.fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK }.with(self.ace());
        if segment.again {
            self.count_repeat(segment, ctx.now);
        } else {
            self.count_new(segment, ctx.now);
        }
        if self.ecn.capable && segment.payload > 0 {
            let Codepoints { new, again } = self.settings.codepoints;
            p.ecn = if segment.again { again } else { new };
            if self.ecn.tell && !segment.again {
                self.ecn.tell = false;
                p.flags = p.flags.with(Flags::CWR); // RFC 3168, §6.1.2: on the first new data after the reduction
            }
        }
        self.note_sent(segment.from, segment.from + segment.len(), segment.again, ctx.now);
        self.tally.sent(segment.payload > 0);
        if let Some(supply) = self.extras.supply_mut() {
            supply.sent_at = ctx.now;
        }
        if self.phase == Phase::Recovery {
            self.sent_in_recovery(segment.payload);
        }
        if self.settings.tcp.pacing {
            // The controller's header comes onto it below.
            let size = p.size + self.settings.header;
            self.spend_quantum(size, ctx.now);
            let gap = self.spacing(size);
            let pace = &mut *self.pace;
            pace.last = (pace.at, size);
            pace.at = pace.at.saturating_add(gap);
        }
        self.dispatch_bytes(&mut p, segment.from, ctx);
    }

    #[inline(always)]
    fn count_new(&mut self, segment: Segment, now: Time) {
        if self.una() == self.nxt()
            && let Some(overtaken) = self.extras.overtaken_mut()
        {
            overtaken.expect_first(self.tally.rtt_min, now, &self.settings.tcp);
        }
        self.board.sent(self.nxt() + segment.len(), now);
        self.probes_moved();
        if self.dupacks() > 0 && self.phase == Phase::Open {
            self.board.reports.repair.limited_transmit += segment.payload;
        }
    }

    fn count_repeat(&mut self, segment: Segment, now: Time) {
        self.board.reports.repair.retransmitted += u64::from(segment.payload > 0);
        let (from, to) = (segment.from, segment.from + segment.len());
        if !segment.probe {
            return self.note_repeat(from, to, now);
        }
        self.board.sent_again(from, to, now);
        if self.extras.overtaken().is_some() {
            self.board.reports.repeats.push_back(Sending { from, to, at: now });
        }
    }

    /// Sends the first unacknowledged segment again, whatever the window says.
    pub(super) fn retransmit_first(&mut self, ctx: &mut EndpointCtx<'_>) {
        let segment = self.segment_in(self.board.first_hole(self.most()));
        self.pace_from(ctx.now);
        self.emit_one(segment, ctx);
    }

    /// RFC 9293, §3.8.6.1: one byte into a closed window, again and again, so that its opening is
    /// not missed.
    pub(super) fn probe_window(&mut self, ctx: &mut EndpointCtx<'_>) {
        let again = self.una() < self.nxt();
        let payload = u64::from(self.una() < self.end);
        let fin = payload == 0 || self.una() + payload == self.end && (!again || self.nxt() > self.end);
        self.pace_from(ctx.now);
        self.emit_one(Segment { from: self.una(), payload, fin, again, probe: true }, ctx);
        self.start_timer(ctx.now);
    }

    /// Whether a segment may leave with what has left before its time.
    #[inline]
    fn within_quantum(&self, segment: &Segment) -> bool {
        self.control.send_quantum() > 0 && self.pace.quantum >= segment.payload + u64::from(self.settings.overhead())
    }

    /// A packet leaves: from its time on the quantum is whole again.
    #[inline]
    fn spend_quantum(&mut self, size: u32, now: Time) {
        let whole = self.control.send_quantum();
        if whole > 0 {
            let left = if now >= self.pace.at { whole } else { self.pace.quantum };
            self.pace.quantum = left.saturating_sub(size.into());
        }
    }

    /// A gap, or [`Self::longest_wait`], which no RTO is below, and few gaps come near.
    #[inline]
    fn bounded(&self, gap: Time) -> Time {
        let tcp = &self.settings.tcp;
        let least = tcp.min_rto.min(tcp.initial_rto).min(tcp.max_rto);
        if gap <= least { gap } else { gap.min(self.longest_wait()) }
    }

    /// How long a packet of `size` bytes occupies the pace.
    #[inline]
    pub(super) fn spacing(&self, size: u32) -> Time {
        if let Some(rate) = self.control.pacing_rate(&self.window, self.rtt.srtt()) {
            return self.bounded(rate.time_for(Bytes(size.into())));
        }
        // There is no slow start, and less than a segment is a pace.
        if C::OWN_WINDOW {
            let gap = self.rtt.srtt().mul_f64(f64::from(size) / self.window.cwnd.max(1) as f64);
            return self.bounded(gap);
        }
        let tcp = &self.settings.tcp;
        // Linux's tcp_update_pacing_rate: the gain of slow start applies below half the threshold.
        let early = self.window.cwnd < self.window.ssthresh / 2;
        let gain = if early { tcp.pacing_slow_start } else { tcp.pacing_avoidance };
        self.rtt.srtt().mul_f64(f64::from(size) / (gain * self.window.cwnd as f64))
    }
}
