//! Repair where the network stores: what has been overtaken is lost, whatever the sender thinks of
//! the network.
//!
//! With stores the round trip grows to seconds, and a timeout with it. But a store keeps a flow's
//! order. So when something has arrived, all that was sent before has arrived, too, is lost, or
//! took a longer way. What stays overtaken for longer than packets are reordered is repeated, and a
//! repeat likewise: RFC 8985's reasoning, with the order of sending in place of its timer for each
//! segment. Where nothing comes back for longer than ACKs are apart, the first segment asks: at
//! first as a probe (RFC 8985's tail loss probe), which changes nothing else, then by a timeout.

use midpath_core::fifo::Fifo;
use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::Sender;
use super::scoreboard::{Arrived, Scoreboard, Sending, Sent};
use crate::transport::cc::NetworkAssisted;
use crate::transport::params::TcpParams;
use crate::transport::rtt::RttEstimator;

/// Reordering beyond this is not waited for: the least RTO of RFC 6298, after which other senders
/// repeat.
const MOST_REORDERING: Time = Time::from_secs(1);

/// A place in the order of sending: when, and of what left at the same time, which number.
type Place = (Time, u64);

/// What the sender knows of the order in which its segments arrive.
#[derive(Debug, Clone)]
pub(super) struct Overtaken {
    /// What was sent once and lies below has arrived or has been overtaken.
    frontier: u64,
    /// The newest segment that has arrived.
    newest: Place,
    /// The same with repeats that may have arrived. It counts for other repeats only: if it was the
    /// original that came, late, nothing but repeats is repeated in vain.
    newest_repeat: Place,
    /// What has been overtaken, and since when, in that order.
    suspects: Fifo<(Sending, Time)>,
    /// The longest reordering that was taken for loss.
    reordering: Time,
    /// When something arrived last, and how far apart arrivals are: RFC 6298's estimator, without a
    /// least value.
    last_ack: Time,
    gaps: RttEstimator,
    /// When the first segment asks if nothing arrives.
    probe_at: Time,
}

impl Overtaken {
    pub fn new() -> Overtaken {
        Overtaken {
            frontier: 0,
            newest: Place::default(),
            newest_repeat: Place::default(),
            suspects: Fifo::default(),
            reordering: Time::ZERO,
            last_ack: Time::ZERO,
            gaps: RttEstimator::NEW,
            probe_at: Time::MAX,
        }
    }

    /// The first segment is taken for lost without having been overtaken.
    fn give_up(&mut self, board: &mut Scoreboard) {
        board.lose(board.una());
        self.probe_at = Time::MAX;
    }

    /// A segment up to `end` sent at `at` has arrived: `sure` if there is no doubt that it was this
    /// sending of it.
    fn arrived(&mut self, at: Time, end: u64, sure: bool) {
        let newest = if sure { &mut self.newest } else { &mut self.newest_repeat };
        *newest = (at, end).max(*newest);
    }

    /// How long packets may be reordered: a round trip without queues, as RFC 8985's upper bound,
    /// or longer where that has been seen.
    fn window(&self, base: Time) -> Time {
        self.reordering.max(base)
    }

    /// A repeat was not needed: its original came `late` after it. A quarter of a round trip more
    /// is RFC 8985's step.
    fn was_reordered(&mut self, late: Time, base: Time) {
        let seen = self.window(base).saturating_add(late).saturating_add(Time(base.0 / 4));
        self.reordering = self.reordering.max(seen.min(MOST_REORDERING));
    }

    /// When something that has been overtaken becomes lost, or the first segment asks.
    #[inline]
    pub fn deadline(&self, base: Time) -> Time {
        self.suspects.front().map_or(Time::MAX, |s| s.1.saturating_add(self.window(base))).min(self.probe_at)
    }

    /// The first segment that has neither arrived nor been overtaken.
    #[inline]
    fn next(&self, board: &Scoreboard) -> Option<Sent> {
        // Mostly it is the first that is outstanding.
        if self.frontier <= board.una() { board.get(0) } else { board.of(self.frontier) }
    }

    /// Finds what has been overtaken.
    #[inline]
    fn find_overtaken(&mut self, board: &mut Scoreboard, now: Time) {
        self.frontier = self.frontier.max(board.una());
        while let Some(sent) = self.next(board) {
            if !sent.again() && (sent.at, self.frontier) >= self.newest {
                break;
            }
            if !sent.again() && !sent.is_sacked() {
                self.suspects.push((Sending { from: self.frontier, to: sent.end(), at: sent.at }, now));
            }
            self.frontier = sent.end();
        }
        let newest = self.newest.max(self.newest_repeat);
        while let Some(repeat) = board.reports.repeats.front().copied().filter(|r| (r.at, r.from) < newest) {
            board.reports.repeats.pop_front();
            self.suspects.push((repeat, now));
        }
    }

    /// What has been overtaken for long enough is lost. Whether anything is.
    #[inline]
    fn expire(&mut self, base: Time, board: &mut Scoreboard, now: Time) -> bool {
        let window = self.window(base);
        while let Some((sending, _)) = self.suspects.front().filter(|s| s.1.saturating_add(window) <= now) {
            self.suspects.skip(1);
            if let Some((from, _)) = board.latest(&sending) {
                board.lose(from);
            }
        }
        board.missing() > 0
    }

    /// Something has arrived, and nothing was repeated by a timeout meanwhile.
    fn hear(&mut self, now: Time) {
        if self.last_ack > Time::ZERO {
            self.gaps.sample(now.saturating_sub(self.last_ack));
        }
        self.last_ack = now;
    }

    /// How much later than what has arrived the next segment was sent that is on its way.
    fn later(&self, board: &Scoreboard) -> Time {
        let original = self.next(board).filter(|sent| !sent.again()).map(|sent| sent.at);
        let repeat = board.reports.get().and_then(|reports| reports.repeats.front()).map(|repeat| repeat.at);
        let next = match (original, repeat) {
            (Some(original), Some(repeat)) => original.min(repeat),
            (original, repeat) => original.or(repeat).unwrap_or_default(),
        };
        next.saturating_sub(self.newest.max(self.newest_repeat).0)
    }

    /// Something has arrived, and more is on its way: when to ask if that does not come.
    fn expect(&mut self, base: Time, board: &Scoreboard, tcp: &TcpParams) {
        self.probe_at = self.last_ack.saturating_add(self.silence(base, tcp)).saturating_add(self.later(board));
    }

    /// Something is sent while nothing is on its way: when to ask if that does not arrive. A round trip
    /// is known, of the handshake's at least; the least RTO may be thousands of it.
    pub fn expect_first(&mut self, base: Time, now: Time, tcp: &TcpParams) {
        self.probe_at = if base.is_zero() { Time::MAX } else { now.saturating_add(self.silence(base, tcp)) };
    }

    /// How long nothing comes before the first segment asks: two round trips without queues, as RFC
    /// 8985 has it with smoothed ones, and what ACKs are apart, where that is known.
    fn silence(&self, base: Time, tcp: &TcpParams) -> Time {
        let apart = if self.gaps.sampled() { self.gaps.rto_from(Time::ZERO, tcp) } else { Time::ZERO };
        Time(base.0.saturating_mul(2)).saturating_add(apart)
    }

    /// How long nothing may arrive before it is a timeout, the `retries`th. What was overtaken is
    /// repeated a round trip later, and that takes another to be heard of.
    fn patience(&self, retries: u32, base: Time, board: &Scoreboard, tcp: &TcpParams) -> Option<Time> {
        let once = self.gaps.rto_from(Time::ZERO, tcp).max(tcp.min_rto).max(Time(base.0.saturating_mul(2)));
        let doubled = Time(once.0.saturating_mul(1 << retries.min(30))).min(tcp.max_rto);
        // What a timeout has repeated is the next to arrive, and was sent just now.
        let later = if retries == 0 { self.later(board) } else { Time::ZERO };
        self.gaps.sampled().then(|| doubled.saturating_add(later))
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Called when an ACK of all below `ack` has come, before SND.UNA moves: what it reports for the first time has
    /// arrived.
    #[inline]
    pub(super) fn note_arrivals(&mut self, packet: &Packet, (ack, before): (u64, u64), arrived: &[Arrived], now: Time) {
        let Some(overtaken) = self.extras.overtaken_mut() else { return };
        let base = self.tally.rtt_min;
        for Arrived { sent, .. } in arrived {
            // Karn's algorithm, unless the timestamp says that the repeat has arrived.
            let acked = sent.end() <= ack;
            let sure = !sent.again() || acked && self.ends.echoes(packet, sent.at);
            if sure || !acked && now.saturating_sub(sent.at) >= base {
                overtaken.arrived(sent.at, sent.end(), sure);
            }
        }
        let news = ack > before || !arrived.is_empty();
        if news && self.board.reports.repair.retries == 0 {
            overtaken.hear(now);
        } else if news {
            overtaken.last_ack = now;
        }
    }

    /// Called when SND.UNA has moved over a segment that had been repeated and whose repeat has not
    /// arrived.
    pub(super) fn note_reordered(&mut self, at: Time, now: Time) {
        let base = self.tally.rtt_min;
        // What a timeout has repeated was not reordered but waited.
        if at != self.board.reports.repair.gave_up.0
            && let Some(overtaken) = self.extras.overtaken_mut()
        {
            overtaken.was_reordered(now.saturating_sub(at), base);
        }
    }

    /// Called after an ACK's numbers have been taken in, and when time has passed. Whether anything
    /// is to be repeated.
    #[inline]
    pub(super) fn find_overtaken(&mut self, now: Time) -> bool {
        let Some(overtaken) = self.extras.overtaken_mut() else { return false };
        let base = self.tally.rtt_min;
        overtaken.find_overtaken(&mut self.board, now);
        if now >= overtaken.probe_at {
            self.board.reports.repair.gave_up = (now, self.board.nxt());
            self.rto_at = Time::MAX; // RFC 8985, §7.3: the timer starts anew with a probe
            overtaken.give_up(&mut self.board);
        } else if overtaken.last_ack == now {
            overtaken.expect(base, &self.board, &self.settings.tcp);
        }
        if self.board.flight() == 0 {
            overtaken.probe_at = Time::MAX;
        }
        // Controllers hear of losses before anything is repeated: the window may be what the
        // network had room for.
        let before = self.board.missing();
        let any = overtaken.expire(base, &mut self.board, now);
        if self.board.missing() > before {
            let pipe = self.pipe();
            self.control.on_overtaken(&mut self.window, pipe);
        }
        any
    }

    /// When something that has been overtaken is to be repeated.
    #[inline]
    pub(super) fn repeat_at(&self) -> Time {
        self.extras.overtaken().map_or(Time::MAX, |o| o.deadline(self.tally.rtt_min))
    }

    /// How long to wait for an ACK before the first segment is repeated: the RTO, or where the
    /// network stores, how far apart ACKs are. Where the pace is slower than that, the repeat waits
    /// as any packet does.
    #[inline]
    pub(super) fn patience(&self) -> Time {
        let (base, tcp) = (self.tally.rtt_min, &self.settings.tcp);
        let gaps =
            self.extras.overtaken().and_then(|o| o.patience(self.board.reports.repair.retries, base, &self.board, tcp));
        gaps.unwrap_or_else(|| self.longest_wait())
    }

    /// The RTO, or how far apart packets are where the pace is slower than that.
    #[inline]
    pub(super) fn longest_wait(&self) -> Time {
        self.rtt.rto(&self.settings.tcp).max(self.control.longest_gap())
    }

    /// Nothing has arrived for longer than that: the first segment asks, and the controller says
    /// what may follow it.
    pub(super) fn ask(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.lower_threshold(ctx.now);
        self.board.reports.repair.gave_up = (ctx.now, self.nxt());
        self.board.forget_if_reneged();
        if let Some(overtaken) = self.extras.overtaken_mut() {
            overtaken.give_up(&mut self.board);
        }
        // What waits fills the window; the first segment is repeated all the same.
        self.window.set(self.window.ssthresh.max(self.pipe() + self.window.mss));
        self.leaves_at(ctx.now);
        self.send(ctx);
    }
}
