//! What is lost by its time of sending: RACK (RFC 8985, §6) on the scoreboard's records, one for each segment.
//!
//! Segments that were sent once stand in the order of sending, so one edge on the scoreboard separates those that are
//! lost from the others. Repeats have an order of their own, which the scoreboard keeps, too. So no list of all segments
//! in order of time is needed (RFC 8985, §6.2, step 5), and each ACK looks at what has become lost and one more.
//!
//! With `loss_detection = "rfc6675"` only repeats are looked at in this way, for RFC 6675 leaves them to the timer.
//! Where the network stores, repeats wait beside others, and send times say less.

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::ack::News;
use super::scoreboard::{Arrived, RETRANS, Scoreboard, Sending, Sent};
use super::{Phase, Sender, State};
use crate::transport::cc::NetworkAssisted;

/// §6.2, step 4: recoveries without a D-SACK after which the reordering window is as it was.
const PERSIST: u32 = 16;
/// Linux's bound of `reo_wnd_steps`. SRTT bounds the window long before.
const MOST_STEPS: u32 = 255;

/// What RACK knows of a connection in which something arrived out of order.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: of what has arrived, the segment that was sent last.
    newest: (Time, u64),
    /// RACK.rtt: its round trip.
    rtt: Time,
    /// RACK.fack: one past the highest byte that has arrived.
    highest: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// An ACK has come that others had overtaken.
    acks_overtaken: bool,
    /// RACK.dsack_round: D-SACKs count again when this is acknowledged.
    dsack_round: u64,
    /// RACK.reo_wnd_mult and RACK.reo_wnd_persist.
    steps: u32,
    persist: u32,
    /// When more will be lost if it has not arrived (§6.2, step 5). RFC 8985 waits for the last segment that this can
    /// be said of, this for the first: what is lost is known sooner.
    pub due: Time,
    /// What the last rescue repeated (RFC 6675, NextSeg, rule 4). It was a guess: what arrives of
    /// it is most likely the original, and says nothing of what was sent before the repeat.
    guess: (u64, u64),
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            highest: 0,
            reordering_seen: false,
            acks_overtaken: false,
            dsack_round: 0,
            steps: 1,
            persist: 0,
            due: Time::MAX,
            guess: (0, 0),
        }
    }
}

impl Rack {
    /// `[from, to)` is about to be repeated though nothing says that it is lost.
    pub fn guesses(&mut self, from: u64, to: u64) {
        self.guess = (from, to);
    }

    /// A repeat was in vain: packets are reordered by more than was waited for.
    pub fn see_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// §6.2, steps 2 and 3: a segment has arrived; all up to `highest` had before.
    fn arrived(&mut self, sent: Sent, highest: u64, now: Time) {
        if (sent.at, sent.end()) > self.newest {
            (self.newest, self.rtt) = ((sent.at, sent.end()), now.saturating_sub(sent.at));
        }
        self.highest = self.highest.max(sent.end());
        self.reordering_seen |= sent.end() < highest && !sent.again();
    }

    /// §6.2, step 4, for an ACK that reports a duplicate: the window grows, once a round trip.
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen && una >= self.dsack_round {
            self.dsack_round = nxt;
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.persist = PERSIST;
        }
    }

    /// §6.2, step 4: fast recovery, or the repair after a timeout, is over.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// §6.2, step 5: when a segment that was sent at `at` is lost.
    fn deadline(&self, at: Time, window: Time) -> Time {
        at.saturating_add(self.rtt).saturating_add(window)
    }

    /// The next repeat that was sent longer than `window` before something that has arrived. With `timer`, a round
    /// trip and that ago is enough.
    fn overdue(&mut self, board: &mut Scoreboard, window: Time, timer: bool, now: Time) -> Option<Sending> {
        let Sending { at, to, .. } = *board.reports.repeats.front()?;
        let lost = if timer {
            (at, to) < self.newest && self.deadline(at, window) <= now
        } else {
            at < self.newest.0.saturating_sub(window)
        };
        if !lost && timer && (at, to) < self.newest {
            self.due = self.due.min(self.deadline(at, window));
        }
        if lost { board.reports.repeats.pop_front() } else { None }
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// What RACK knows, if anything strange has happened.
    #[inline]
    fn rack(&self) -> Option<&Rack> {
        self.board.reports.get()?.repair.rack.as_deref()
    }

    /// When the reordering timer expires.
    #[inline]
    pub(super) fn reordered_at(&self) -> Time {
        self.rack().map_or(Time::MAX, |rack| rack.due)
    }

    /// `[from, to)` has been sent again, in order to repair a loss.
    pub(super) fn note_repeat(&mut self, from: u64, to: u64, now: Time) {
        if self.board.retrans() == 0 && self.extras.overtaken().is_none() {
            self.board.reports.repeats.clear();
        }
        self.board.retransmitted(from, to, now, self.pace.rates().map(|rates| &mut rates.samples));
        if self.sack_on() || self.extras.overtaken().is_some() {
            self.board.reports.repeats.push_back(Sending { from, to, at: now });
        }
        if let Some(undo) = &mut self.board.reports.repair.undo {
            undo.repeated(from, to, now);
        }
    }

    /// Whether packets or ACKs of this connection have been reordered.
    #[inline]
    pub(super) fn is_reordered(&self) -> bool {
        self.rack().is_some_and(|rack| rack.reordering_seen || rack.acks_overtaken) && self.adapts()
    }

    /// Called with an ACK that others have overtaken: whether its blocks say anything.
    pub(super) fn reads_old_ack(&mut self, packet: &Packet) -> bool {
        let adapts = self.adapts();
        if adapts {
            self.board.reports.repair.rack.get_or_insert_default().acks_overtaken = true;
        }
        adapts && packet.sack_len > 0
    }

    /// Called when an ACK has come, with what it reports for the first time. SND.UNA was `una` before.
    pub(super) fn note_evidence(&mut self, una: u64, arrived: &[Arrived], now: Time) {
        let base = self.tally.rtt_min;
        let repair = &mut self.board.reports.repair;
        let outstanding = if self.phase == Phase::Loss { repair.recover } else { 0 };
        let (rack, undo) = (repair.rack.get_or_insert_default(), &mut repair.undo);
        let (guess, highest) = (rack.guess, rack.highest.max(una));
        for Arrived { sent, .. } in arrived {
            // §6.2, step 2: what comes within less than a round trip of its repeat is the
            // original. Where queues grew, the least round trip is far below today's: so not from a
            // guess, which may follow its original at once.
            let guessed = guess.0 < sent.end() && sent.end() <= guess.1;
            if !sent.again() || (now.saturating_sub(sent.at) >= base && !guessed) {
                rack.arrived(*sent, highest, now);
            }
            if let Some(undo) = undo.as_mut().filter(|_| !sent.again() && sent.end() <= outstanding) {
                undo.original_arrived();
            }
        }
    }

    /// §6.2, step 4: how long segments may be reordered.
    fn reordering_window(&self, rack: &Rack) -> Time {
        let tcp = &self.settings.tcp;
        if !self.adapts() {
            return Time(self.tally.rtt_min.0 / 4);
        }
        if !rack.reordering_seen
            && (self.phase != Phase::Open || self.board.many_sacked(tcp.dup_thresh, self.window.mss))
        {
            return Time::ZERO;
        }
        Time((self.tally.rtt_min.0 / 4).saturating_mul(rack.steps.into())).min(self.rtt.srtt())
    }

    /// §6.2, step 5, for what was sent once: raises the scoreboard's edge over what was sent before something that has
    /// arrived, by a round trip and a reordering window. What is next in that order sets the timer.
    pub(super) fn find_lost_by_time(&mut self, now: Time) {
        let Some(mut rack) = self.board.reports.repair.rack.take() else { return };
        let window = self.reordering_window(&rack);
        rack.due = Time::MAX;
        if self.board.sacked() == 0 && self.phase == Phase::Open {
            // All that has arrived is acknowledged. What was sent before a repeat among that has an ACK to come, which
            // may be delayed.
            self.board.reports.repair.rack = Some(rack);
            return;
        }
        let before = self.board.edge();
        let (mut edge, first) = (before, self.board.place(before));
        let (mut begin, mut lost) = (self.board.begin_of(first), None);
        for i in first.. {
            let Some(sent) = self.board.get(i) else { break };
            let begins = std::mem::replace(&mut begin, sent.end());
            if sent.is_sacked() {
                // What is repeated, and stands between, is lost only if something behind it is.
                edge = if begins <= edge { sent.end() } else { edge };
                continue;
            }
            let (due, overtaken) = (rack.deadline(sent.at, window), (sent.at, sent.end()) < rack.newest);
            if overtaken && due <= now && !sent.has(RETRANS) {
                (edge, lost) = (sent.end(), Some(i + 1));
            } else if !sent.again() {
                // Those sent again are in an order of their own.
                rack.due = if overtaken { due } else { Time::MAX };
                break;
            }
        }
        if before < edge {
            self.board.raise_edge(edge, first..lost.unwrap_or(first));
        }
        self.board.reports.repair.rack = Some(rack);
    }

    /// Whether something has arrived that was sent after the first repeat.
    #[inline]
    fn overtook_repeats(&self) -> bool {
        let first = self.board.reports.get().and_then(|reports| reports.repeats.front());
        first.zip(self.rack()).is_some_and(|(first, rack)| (first.at, first.to) < rack.newest)
    }

    /// The same for repeats. Whether any is lost.
    pub(super) fn find_lost_again(&mut self, now: Time) -> bool {
        if self.board.retrans() == 0 || self.settings.stores || !self.overtook_repeats() {
            return false;
        }
        let Some(mut rack) = self.board.reports.repair.rack.take() else { return false };
        let (window, timer) = (self.reordering_window(&rack), self.adapts());
        let mut lost = 0;
        while let Some(repeat) = rack.overdue(&mut self.board, window, timer, now) {
            if let Some((from, i)) = self.board.latest(&repeat) {
                lost += self.board.lost_again_from(i, from, repeat.to);
                self.note_lost(from, repeat.to, true, now);
            }
        }
        self.board.reports.repair.rack = Some(rack);
        lost > 0
    }

    /// §6.3: the reordering timer has expired, and what was waited for is lost. Whether anything is to be sent.
    pub(super) fn on_reordering_timer(&mut self, ctx: &mut EndpointCtx<'_>) -> bool {
        if let Some(rack) = &mut self.board.reports.repair.rack {
            rack.due = Time::MAX;
        }
        let (state, more) = (self.state, self.find_lost(ctx.now));
        let again = self.find_lost_again(ctx.now);
        if state != State::Open || !(more || again) {
            return false;
        }
        let news = News::nothing(ctx.now, self.flight());
        match self.phase {
            Phase::Open if self.loss_shown() => self.enter_recovery(&news, ctx),
            // Linux's tcp_rack_reo_timeout sends one segment at least.
            Phase::Recovery => self.proportion(&news, true),
            Phase::Open | Phase::Loss => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §6.2, step 4: a D-SACK widens the window, once a round trip, and sixteen recoveries without one undo that.
    #[test]
    fn the_reordering_window_grows_with_each_round_of_dsacks_and_is_reset() {
        let mut rack = Rack::default();
        rack.on_dsack(500, 1000);
        assert_eq!(rack.steps, 1, "nothing was reordered");
        rack.see_reordering();
        for (una, nxt, steps) in [(500, 1000, 2), (999, 2000, 2), (1000, 2000, 3), (2500, 3000, 4)] {
            rack.on_dsack(una, nxt);
            assert_eq!(rack.steps, steps, "at {una}");
        }
        (1..PERSIST).for_each(|_| rack.recovered());
        assert_eq!(rack.steps, 4);
        rack.recovered();
        assert_eq!(rack.steps, 1);
    }
}
