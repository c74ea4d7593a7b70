//! What an acknowledgement means: RFC 9293 §3.10.7.4, RFC 5681, RFC 6675.

use midpath_core::packet::{Flags, Packet};
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::scoreboard::{Arrived, Sent, duplicate};
use super::{Extras, Phase, Sender, rates};
use crate::transport::cc::{Ack, Congestion, NetworkAssisted};
use crate::transport::ecn::{self, Agreed};
use crate::transport::segment::{coarse, from_coarse};

/// The least time between two answers to segments out of turn: Linux' `tcp_invalid_ratelimit`.
const CHALLENGES: Time = Time::from_ms(500);

/// RFC 7661, §4.4.3: the non-validated period.
const NON_VALIDATED: Time = Time::from_secs(300);

/// What the sender needs to know of an ACK after its numbers have been taken in.
#[derive(Clone, Copy)]
pub(super) struct News {
    pub now: Time,
    /// Bytes by which it moved SND.UNA.
    pub acked: u64,
    /// Bytes reported for the first time.
    pub delivered: u64,
    /// The round-trip time that it measured.
    pub rtt: Option<Time>,
    /// Bytes outstanding before it.
    pub flight: u64,
    /// It is a duplicate ACK.
    pub duplicate: bool,
    /// It reports marks.
    pub ece: bool,
    /// With accurate ECN: on how many packets.
    pub marks: u64,
    /// It has shown further loss.
    pub more_lost: bool,
    /// While that is repaired: it says by its timestamp that something has arrived that was sent after the last timeout.
    pub repeat_arrived: bool,
    /// What it reports to have arrived twice (RFC 2883).
    pub duplicated: Option<(u64, u64)>,
    /// The timestamp that it echoes.
    pub echo: Option<u32>,
}

/// What the scoreboard has made of an ACK.
struct Taken {
    /// The first whole segment that it acknowledges.
    first: Option<Sent>,
    /// Bytes that it acknowledges and that had been SACKed.
    passed: u64,
    /// Bytes that it SACKs for the first time.
    fresh: u64,
    /// It has SACK blocks, or the scoreboard had something to tell before.
    reordered: bool,
    /// Where the controller asks for samples: what this one begins with.
    rates: rates::News,
}

/// What an ACK reports for the first time, while it is taken in: a node takes in one at a time.
#[derive(Default)]
struct Arrivals(Vec<Arrived>);

impl News {
    /// No ACK, but a timer.
    pub(super) fn nothing(now: Time, flight: u64) -> News {
        News {
            now,
            acked: 0,
            delivered: 0,
            rtt: None,
            flight,
            duplicate: false,
            ece: false,
            marks: 0,
            more_lost: false,
            repeat_arrived: false,
            duplicated: None,
            echo: None,
        }
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Called with every segment from the peer while the connection is open.
    #[inline]
    pub(super) fn on_ack(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        if !self.is_in_turn(packet) {
            return self.challenge(ctx);
        }
        // RFC 9293, §3.10.7.4: an ACK of what was never sent tells nothing, and an old one only by its blocks: RFC 2883
        // has each duplicate reported once, maybe on an ACK that others have overtaken.
        let said = self.ends.own.offset(packet.ack, self.una()).filter(|ack| *ack <= self.nxt());
        let (Some(said), true) = (said, packet.flags.has(Flags::ACK)) else { return };
        if said < self.una() && !self.reads_old_ack(packet) {
            return;
        }
        let before = self.una();
        if said > before && self.is_plain(packet) {
            self.on_plain_ack::<false>(packet, said, ctx);
        } else {
            self.on_other_ack(packet, (said, before), ctx);
        }
        self.send(ctx);
    }

    /// The same of one that has more to say, or is watched by who reasons about the order of sending.
    #[inline(never)]
    fn on_other_ack(&mut self, packet: &Packet, (said, before): (u64, u64), ctx: &mut EndpointCtx<'_>) {
        // Such a sender is told of one arrival in a short way.
        let watched = |extras: &Extras| extras.overtaken.is_some() && extras.supply.is_none();
        if self.extras.get().is_some_and(watched) && self.board.is_first(said) && self.is_quiet(packet) {
            return self.on_plain_ack::<true>(packet, said, ctx);
        }
        self.on_any_ack(packet, (said, before), ctx);
    }

    /// Whether an ACK that moves SND.UNA says nothing else, and nobody waits for more: as most do.
    #[inline]
    fn is_plain(&self, packet: &Packet) -> bool {
        let watched = |extras: &Extras| extras.overtaken.is_some() || extras.supply.is_some();
        self.is_quiet(packet) && !self.extras.get().is_some_and(watched)
    }

    /// The same, but for who waits for more.
    #[inline]
    fn is_quiet(&self, packet: &Packet) -> bool {
        #[cfg(test)]
        if !crate::testing::PLAIN_ACKS.get() {
            return false;
        }
        let unmarked = match self.ecn.agreed {
            Agreed::None => true,
            Agreed::Classic => !packet.flags.has(Flags::ECE),
            Agreed::Accurate => false,
        };
        unmarked
            && !C::SAMPLES
            && packet.sack_len == 0
            && self.phase == Phase::Open
            && self.board.is_quiet()
            && self.awaited_probe().is_none()
    }

    /// Such an ACK, of all below `ack`: what [`Sender::on_any_ack`] comes to. `WATCHED`: the order of sending matters, and
    /// it is of one segment.
    #[inline]
    fn on_plain_ack<const WATCHED: bool>(&mut self, packet: &Packet, ack: u64, ctx: &mut EndpointCtx<'_>) {
        let (now, before) = (ctx.now, self.una());
        let acked = ack - before;
        let first = self.board.pass(ack);
        if WATCHED && let Some(sent) = first {
            self.note_arrivals(packet, (ack, before), &[Arrived { begin: before, sent, then: None }], now);
        }
        self.board.widen(ack + self.ends.send_window(packet), acked);
        self.note_stamp(packet, now);
        let rtt = self.advance(packet, ack, first, now);
        ctx.acknowledged(ack.min(self.end));
        self.on_probe_answer(packet, now);
        if WATCHED {
            self.find_overtaken(now);
        }
        self.feedback(packet, ctx);
        let ack = Ack {
            now,
            acked,
            delivered: acked,
            una: ack,
            nxt: self.nxt(),
            rtt,
            srtt: self.rtt.srtt(),
            reordered: self.is_reordered(),
            app_limited: self.paused && !self.limited,
            ..Ack::default()
        };
        self.control.on_delivery(&mut self.window, &ack);
        self.moved_on();
        self.grow(&ack);
        debug_assert!(!WATCHED || !self.loss_shown(), "where the order of sending matters, loss is no phase");
    }

    /// Any ACK of all below `said`. SND.UNA was `before`.
    #[inline(never)]
    fn on_any_ack(&mut self, packet: &Packet, (said, before): (u64, u64), ctx: &mut EndpointCtx<'_>) {
        let taken = self.take_in(packet, said.max(before), ctx);
        let mut news = self.read_numbers(packet, (said, before), &taken, ctx.now);
        self.take_numbers(packet, (said, before), &taken, &mut news);
        if news.acked > 0 {
            ctx.acknowledged(self.una().min(self.end));
        }
        self.on_probe_answer(packet, ctx.now);
        self.on_probe_ack(packet, &news);
        if self.extras.overtaken().is_some() {
            self.find_overtaken(ctx.now);
        }
        self.feedback(packet, ctx);
        if news.delivered > 0 || news.ece {
            let ack = self.describe(&news);
            self.control.on_delivery(&mut self.window, &ack);
        }
        // In recovery nobody asks, but for samples.
        let asked = C::SAMPLES || self.phase != Phase::Recovery;
        let ack = if asked { self.describe(&news) } else { Ack::default() };
        match self.phase {
            Phase::Open => self.ack_in_open(&news, &ack, ctx),
            Phase::Recovery => self.ack_in_recovery(&mut news, ctx),
            Phase::Loss => self.ack_in_loss(&news, &ack, ctx),
        }
        if news.ece {
            self.on_ecn_echo(&news);
        }
        self.note_sample(packet, &ack, &taken.rates);
    }

    /// RFC 7323, §4.3: the peer's numbers never move, so every segment is the next.
    #[inline]
    fn note_stamp(&mut self, packet: &Packet, now: Time) {
        if self.ends.stamped(packet) && !self.ends.is_older(packet, now) {
            self.ends.remember(packet, now);
        }
    }

    /// SND.UNA has moved, and nothing is repaired.
    #[inline]
    fn moved_on(&mut self) {
        self.forget_duplicates();
        self.probes_moved();
        self.rto_at = Time::MAX; // restarted by what is outstanding: RFC 6298, (5.3)
    }

    /// Whether a segment has the number that is expected next, or the one after the peer's FIN. RFC
    /// 9293, §3.10.7.4 lets pass all of the receive window, but this end takes no data, and who
    /// guesses numbers should have to guess both (RFC 5961, §5).
    #[inline]
    fn is_in_turn(&self, packet: &Packet) -> bool {
        packet.seq.wrapping_sub(self.ends.peer.wire(self.peer_next())) <= 1
    }

    /// Answers a segment out of turn, which may be a keep-alive (RFC 9293, §3.10.7.4), but not each
    /// that somebody makes up (RFC 5961, §7).
    #[cold]
    fn challenge(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.board.reports.repair.challenged.is_none_or(|at| ctx.now >= at.saturating_add(CHALLENGES)) {
            self.board.reports.repair.challenged = Some(ctx.now);
            self.acknowledge(ctx);
        }
    }

    /// The scoreboard learns what an ACK of all below `ack` says (RFC 6675, §5, step A), and all who reason about the
    /// order of sending learn what has arrived.
    #[inline]
    fn take_in(&mut self, packet: &Packet, ack: u64, ctx: &mut EndpointCtx<'_>) -> Taken {
        let watch = self.phase != Phase::Open || C::SAMPLES || self.extras.overtaken().is_some();
        if packet.sack_len == 0 && !watch && self.board.is_quiet() {
            let first = if ack > self.una() { self.board.pass(ack) } else { None };
            return Taken { first, passed: 0, fresh: 0, reordered: false, rates: rates::News::default() };
        }
        let arrived = &mut ctx.shared.get::<Arrivals>().0;
        let taken = self.take_in_order(packet, ack, arrived, ctx.now);
        arrived.clear();
        taken
    }

    /// The same where something is lost, or the order of sending matters.
    fn take_in_order(&mut self, packet: &Packet, ack: u64, arrived: &mut Vec<Arrived>, now: Time) -> Taken {
        let reordered = packet.sack_len > 0 || !self.board.is_empty();
        let (repeats, sacked) = (self.board.retrans() > 0, self.board.sacked());
        let (mut first, mut passed, mut fresh) = (None, 0, 0);
        let mut samples = self.pace.rates().map(|rates| &mut rates.samples);
        let before = self.board.una();
        if ack > before {
            first = self.board.acknowledged(ack, samples.as_deref_mut(), arrived);
            passed = sacked - self.board.sacked();
        }
        if packet.sack_len > 0 && self.ends.sack() {
            fresh = self.board.update(packet, self.ends.own, samples, arrived);
        }
        self.note_arrivals(packet, (ack, before), arrived, now);
        let evidence = repeats || self.phase == Phase::Loss || reordered && self.adapts();
        if evidence && self.extras.overtaken().is_none() {
            self.note_evidence(before, arrived, now);
        }
        Taken { first, passed, fresh, reordered, rates: self.note_delivered(arrived, now) }
    }

    /// What acknowledgement number and window say by themselves; `before` is where SND.UNA was.
    #[inline]
    fn read_numbers(&self, packet: &Packet, (ack, before): (u64, u64), taken: &Taken, now: Time) -> News {
        let (flight, acked) = (self.nxt() - before, ack.saturating_sub(before));
        // SND.UNA has moved, and the window's edge has not.
        let (known, edge) = (self.edge() - acked, ack + self.ends.send_window(packet));
        // RFC 5681, §2: a duplicate moves neither the number nor the window, carries nothing, and
        // data are outstanding.
        let repeats = acked == 0 && flight > 0 && packet.payload == 0 && !packet.flags.has(Flags::FIN);
        News {
            now,
            acked,
            delivered: acked - taken.passed + taken.fresh,
            rtt: None,
            flight,
            // RFC 6675, §2: with SACK, a duplicate is an ACK that reports something new above
            // SND.UNA.
            duplicate: if self.sack_on() { acked == 0 && taken.fresh > 0 } else { repeats && edge == known },
            ece: self.ecn.agreed == Agreed::Classic && packet.flags.has(Flags::ECE),
            marks: 0,
            more_lost: false,
            repeat_arrived: self.phase == Phase::Loss
                && acked > 0
                && self.ends.echoes(packet, self.board.reports.repair.gave_up.0),
            duplicated: if packet.sack_len > 0 { duplicate(packet, self.ends.own, ack) } else { None },
            echo: self.ends.stamped(packet).then_some(packet.ts_ecr),
        }
    }

    /// Takes them in.
    #[inline]
    fn take_numbers(&mut self, packet: &Packet, (ack, before): (u64, u64), taken: &Taken, news: &mut News) {
        let (acked, now) = (news.acked, news.now);
        let newer = self.ends.is_newer(packet);
        let edge = self.board.widen(ack + self.ends.send_window(packet), acked);
        self.note_stamp(packet, now);
        if edge <= before {
            self.forget_retries(); // RFC 9293, §3.8.6.1: a closed window is probed for as long as the receiver answers
        }
        if acked > 0 {
            news.rtt = self.advance(packet, ack, taken.first, now);
        }
        if let Some(duplicated) = news.duplicated {
            self.on_duplicate(duplicated);
        }
        if taken.reordered || self.phase != Phase::Open {
            let more = self.find_lost(now);
            let again = self.find_lost_again(now);
            news.more_lost = more || again;
        }
        if self.ecn.agreed == Agreed::Accurate && (news.delivered > 0 || newer) {
            self.count_marks(packet, news);
        }
    }

    /// What the receiver's count of marked packets says, on an ACK that no newer one has overtaken
    /// (RFC 9768, §3.2.2.2).
    fn count_marks(&mut self, packet: &Packet, news: &mut News) {
        let ace = ecn::number(packet.flags);
        if !self.extras.heard && ace == 0 {
            // §3.2.2.4: the counter begins at 5. Somebody on the way clears it, or the receiver
            // doesn't count.
            (self.ecn.capable, self.extras.unheeded) = (false, true);
        }
        self.extras.heard = true;
        let packets = news.delivered.div_ceil(self.window.mss);
        let marks = self.extras.marks.report(ace, packets, self.board.una(), self.board.nxt());
        if !self.extras.unheeded {
            (news.marks, news.ece) = (marks, marks > 0);
        }
    }

    /// SND.UNA has moved; `first` is the first whole segment below it. Returns the round-trip time that this has
    /// measured.
    #[inline(always)]
    fn advance(&mut self, packet: &Packet, ack: u64, first: Option<Sent>, now: Time) -> Option<Time> {
        debug_assert_eq!(self.una(), ack, "the scoreboard has taken it in");
        if let Some(supply) = self.extras.supply_mut() {
            supply.forget_below(ack);
        }
        if let Some(repair) = self.board.reports.repair() {
            (repair.retries, repair.limited_transmit) = (0, 0);
        }
        // Karn's algorithm (RFC 6298, §3), unless the timestamp says that it is the repeat that has
        // arrived.
        let first = first?;
        let rtt = if first.again() && !self.ends.echoes(packet, first.at) {
            self.note_reordered(first.at, now);
            // The original has arrived. RFC 7323, §4.1: its timestamp says when it was sent.
            self.ends.since_echoed(packet, now).filter(|_| self.reads_timestamps())?
        } else {
            now.saturating_sub(first.at)
        };
        self.measured(rtt);
        Some(rtt)
    }

    /// What is lost by the scoreboard and was not before: the controller is told. Whether anything is.
    pub(super) fn find_lost(&mut self, now: Time) -> bool {
        let (edge, lost) = (self.board.edge(), self.board.lost());
        match self.phase {
            _ if self.extras.overtaken().is_some() => {}
            Phase::Loss => self.board.all_lost(self.board.reports.repair.recover),
            _ if self.adapts() => self.find_lost_by_time(now),
            _ => self.board.find_lost(self.settings.tcp.dup_thresh, self.window.mss),
        }
        let more = self.board.lost() > lost;
        if more {
            self.note_lost(edge, self.board.edge(), false, now);
        }
        more
    }

    #[inline]
    fn describe(&self, news: &News) -> Ack {
        let (marks, marked) = match self.ecn.agreed {
            Agreed::Accurate => (news.marks, news.marks * self.window.mss),
            _ if news.ece => (news.delivered.div_ceil(self.window.mss), news.delivered),
            _ => (0, 0),
        };
        Ack {
            app_limited: self.paused && !self.limited,
            now: news.now,
            acked: news.acked,
            delivered: news.delivered,
            una: self.una(),
            nxt: self.nxt(),
            rtt: news.rtt,
            srtt: self.rtt.srtt(),
            ece: news.ece,
            marks,
            marked,
            after_rto: self.phase == Phase::Loss,
            reordered: self.is_reordered(),
        }
    }

    #[inline]
    fn ack_in_open(&mut self, news: &News, ack: &Ack, ctx: &mut EndpointCtx<'_>) {
        if news.acked > 0 {
            self.moved_on();
        } else if self.extras.overtaken().is_some() {
            // Any arrival shows that the path works.
            self.rto_at = if news.delivered > 0 { Time::MAX } else { self.rto_at };
        } else if news.duplicate {
            self.board.reports.repair.dupacks += 1;
        }
        if ack.reordered {
            // Linux's tcp_may_raise_cwnd: what has come out of order counts when it comes, not when a gap is filled.
            if news.delivered > 0 {
                self.grow(&Ack { acked: news.delivered, ..*ack });
            }
        } else if news.acked > 0 {
            self.grow(ack);
        }
        if news.duplicated.is_some() {
            self.try_undo(news);
        }
        if self.loss_shown() {
            self.enter_recovery(news, ctx);
        }
    }

    /// Lets the controller grow the window. RFC 3168, §6.1.2: not on an ACK with ECN-Echo. RFC
    /// 7661, §4.4.1 and RFC 9438, §5.8: not when the window was not what limited the sender.
    #[inline]
    pub(super) fn grow(&mut self, ack: &Ack) {
        if ack.ece {
            return;
        }
        if self.limited {
            self.control.on_ack(&mut self.window, ack);
            self.validated_at = coarse(ack.now);
        } else {
            self.control.on_unlimited_ack(ack);
            self.validate(ack.acked, ack.now);
        }
    }

    /// RFC 7661, §4.4.3: a window that half of was enough for five minutes is halved.
    fn validate(&mut self, acked: u64, now: Time) {
        if 2 * (self.flight() + acked) >= self.window.cwnd {
            self.validated_at = coarse(now);
        } else if !C::OWN_WINDOW && now > from_coarse(self.validated_at).saturating_add(NON_VALIDATED) {
            let initial = u64::from(self.settings.initial_window) * self.window.mss;
            self.window.restart((self.window.cwnd / 2).max(initial));
            self.validated_at = coarse(now);
        }
    }

    /// RFC 6675, §5, steps 1 and 2; RFC 6582, §3.2, step 1. With RACK time alone shows it.
    #[inline]
    pub(super) fn loss_shown(&self) -> bool {
        if self.sack_on() && self.board.is_empty() {
            return false; // mostly
        }
        let enough = self.dupacks() >= self.settings.tcp.dup_thresh && !self.adapts();
        if self.sack_on() {
            return enough || self.board.edge() > self.una();
        }
        enough && (self.una() > self.board.reports.repair.recover || self.board.reports.repair.recover == 0)
    }

    /// RFC 3168, §6.1.2: lowers the window, once per window of data.
    fn on_ecn_echo(&mut self, news: &News) {
        if self.phase != Phase::Open || self.una() <= self.extras.answered {
            return;
        }
        let congestion = self.congestion(news.now, news.flight);
        self.window.ssthresh = self.control.on_ecn(&self.window, &congestion).max(self.least_threshold());
        self.window.set(self.window.ssthresh);
        self.answered(true);
    }

    /// RFC 5681, equation 4: no threshold is lower.
    #[inline]
    pub(super) fn least_threshold(&self) -> u64 {
        if C::OWN_WINDOW { 0 } else { 2 * self.window.mss }
    }

    /// The window was lowered: marks on what is outstanding are answered, and the receiver is told
    /// by CWR.
    pub(super) fn answered(&mut self, by_mark: bool) {
        if self.ecn.agreed != Agreed::None {
            (self.extras.answered, self.extras.by_mark) = (self.nxt(), by_mark);
        }
        // RFC 9768, §3.1.5: with accurate ECN the flag is a part of the counter.
        self.ecn.tell = self.ecn.agreed == Agreed::Classic;
    }

    /// What a controller is told of congestion.
    pub(super) fn congestion(&self, now: Time, flight: u64) -> Congestion {
        Congestion {
            now,
            // RFC 6675, §5, step 4.2: what limited transmit sent does not count.
            flight: flight.saturating_sub(self.board.reports.repair.limited_transmit),
            ecn_reduced: self.ecn.agreed != Agreed::None && self.extras.by_mark && self.una() <= self.extras.answered,
        }
    }
}
