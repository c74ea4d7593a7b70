//! Repair where the network stores: what has been overtaken is lost, whatever the sender thinks of
//! the network.
//!
//! With stores the round trip grows to seconds, and a timeout with it. But a store keeps a flow's
//! order. So when something has arrived, all that was sent before has arrived, too, is lost, or
//! took a longer way. What stays overtaken for longer than packets are reordered is repeated, and a
//! repeat likewise: RFC 8985's reasoning, with the order of sending in place of its timer for each
//! segment. Where nothing comes back for longer than ACKs are apart, the first segment asks: at
//! first as a probe (RFC 8985's tail loss probe), which changes nothing else, then by a timeout.

use std::collections::VecDeque;

use midpath_core::packet::Packet;
use midpath_core::ranges::RangeSet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::Sender;
use super::record::{SendRecord, Timed};
use crate::transport::cc::NetworkAssisted;
use crate::transport::params::TcpParams;
use crate::transport::rtt::RttEstimator;
use crate::transport::scoreboard::blocks;

/// Reordering beyond this is not waited for: the least RTO of RFC 6298, after which other senders
/// repeat.
const MOST_REORDERING: Time = Time::from_secs(1);

/// A segment that has been sent.
#[derive(Debug, Clone, Copy)]
struct Mark {
    from: u64,
    /// When it was sent. If it has been sent again since, this mark says nothing.
    sent: Time,
}

/// A place in the order of sending: when, and of what left at the same time, which number.
type Place = (Time, u64);

/// What the sender knows of the order in which its segments arrive.
#[derive(Debug)]
pub(super) struct Overtaken {
    /// What was sent once and lies below has arrived or has been overtaken.
    frontier: u64,
    /// The newest segment that has arrived.
    newest: Place,
    /// The same with repeats that may have arrived. It counts for other repeats only: if it was the
    /// original that came, late, nothing but repeats is repeated in vain.
    newest_repeat: Place,
    /// Repeats on their way, in the order of sending.
    repeats: VecDeque<Mark>,
    /// What has been overtaken, and since when, in that order.
    suspects: VecDeque<(Mark, Time)>,
    /// What is lost and has not been repeated.
    lost: RangeSet,
    /// The longest reordering that was taken for loss.
    reordering: Time,
    /// When something arrived last, and how far apart arrivals are: RFC 6298's estimator, without a
    /// least value.
    last_ack: Time,
    gaps: RttEstimator,
    /// When the first segment asks if nothing arrives.
    probe_at: Time,
    /// The least RTO, and the largest.
    bounds: (Time, Time),
}

impl Overtaken {
    pub fn new(tcp: &TcpParams) -> Overtaken {
        Overtaken {
            frontier: 0,
            newest: Place::default(),
            newest_repeat: Place::default(),
            repeats: VecDeque::new(),
            suspects: VecDeque::new(),
            lost: RangeSet::new(),
            reordering: Time::ZERO,
            last_ack: Time::ZERO,
            gaps: RttEstimator::new(&TcpParams { min_rto: Time::ZERO, ..*tcp }),
            probe_at: Time::MAX,
            bounds: (tcp.min_rto, tcp.max_rto),
        }
    }

    /// Bytes that are lost and not yet repeated.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost.bytes()
    }

    /// The first run of bytes to repeat.
    #[inline]
    pub fn first(&self) -> Option<(u64, u64)> {
        self.lost.first()
    }

    /// The first segment is taken for lost without having been overtaken.
    fn give_up(&mut self, una: u64, times: &SendRecord, sacked: &RangeSet) {
        let end = times.of(una).map_or(una, |s| s.0);
        sacked.missing(una, end).for_each(|(from, to)| {
            self.lost.insert(from, to);
        });
        self.probe_at = Time::MAX;
    }

    /// `[from, to)` has been sent again.
    pub fn repeated(&mut self, from: u64, to: u64, now: Time) {
        self.lost.remove(from, to);
        self.repeats.push_back(Mark { from, sent: now });
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

    /// Finds what has been overtaken.
    #[inline]
    fn find_overtaken(&mut self, una: u64, times: &SendRecord, sacked: &RangeSet, now: Time) {
        self.lost.remove_below(una);
        self.frontier = self.frontier.max(una);
        while let Some((end, timed)) = times.of(self.frontier) {
            if !timed.again && (timed.at, self.frontier) >= self.newest {
                break;
            }
            if !timed.again && sacked.containing(self.frontier).is_none() {
                self.suspects.push_back((Mark { from: self.frontier, sent: timed.at }, now));
            }
            self.frontier = end;
        }
        let newest = self.newest.max(self.newest_repeat);
        while let Some(mark) = self.repeats.front().copied().filter(|m| (m.sent, m.from) < newest) {
            self.repeats.pop_front();
            self.suspects.push_back((mark, now));
        }
    }

    /// What has been overtaken for long enough is lost. Whether anything is.
    #[inline]
    fn expire(&mut self, una: u64, base: Time, times: &SendRecord, sacked: &RangeSet, now: Time) -> bool {
        let window = self.window(base);
        while let Some((mark, _)) = self.suspects.front().copied().filter(|s| s.1.saturating_add(window) <= now) {
            self.suspects.pop_front();
            if let Some((end, timed)) = times.of(mark.from.max(una))
                && timed.at == mark.sent
            {
                sacked.missing(mark.from.max(una), end).for_each(|(from, to)| {
                    self.lost.insert(from, to);
                });
            }
        }
        !self.lost.is_empty()
    }

    /// Something has arrived, and nothing was repeated by a timeout meanwhile.
    fn hear(&mut self, now: Time) {
        if self.last_ack > Time::ZERO {
            self.gaps.sample(now.saturating_sub(self.last_ack));
        }
        self.last_ack = now;
    }

    /// How much later than what has arrived the next segment was sent that is on its way.
    fn later(&self, times: &SendRecord) -> Time {
        let original = times.of(self.frontier).filter(|(_, t)| !t.again).map(|(_, t)| t.at);
        let next = original.into_iter().chain(self.repeats.front().map(|m| m.sent)).min().unwrap_or_default();
        next.saturating_sub(self.newest.max(self.newest_repeat).0)
    }

    /// Something has arrived, and more is on its way: when to ask if that does not come.
    fn expect(&mut self, base: Time, times: &SendRecord) {
        self.probe_at = self.last_ack.saturating_add(self.silence(base)).saturating_add(self.later(times));
    }

    /// Something is sent while nothing is on its way: when to ask if that does not arrive. A round trip
    /// is known, of the handshake's at least; the least RTO may be thousands of it.
    pub fn expect_first(&mut self, base: Time, now: Time) {
        self.probe_at = if base.is_zero() { Time::MAX } else { now.saturating_add(self.silence(base)) };
    }

    /// How long nothing comes before the first segment asks: two round trips without queues, as RFC
    /// 8985 has it with smoothed ones, and what ACKs are apart, where that is known.
    fn silence(&self, base: Time) -> Time {
        let apart = if self.gaps.sampled() { self.gaps.rto() } else { Time::ZERO };
        Time(base.0.saturating_mul(2)).saturating_add(apart)
    }

    /// How long nothing may arrive before it is a timeout, the `retries`th. What was overtaken is
    /// repeated a round trip later, and that takes another to be heard of.
    fn patience(&self, retries: u32, base: Time, times: &SendRecord) -> Option<Time> {
        let (least, most) = self.bounds;
        let once = self.gaps.rto().max(least).max(Time(base.0.saturating_mul(2)));
        let doubled = Time(once.0.saturating_mul(1 << retries.min(30))).min(most);
        // What a timeout has repeated is the next to arrive, and was sent just now.
        let later = if retries == 0 { self.later(times) } else { Time::ZERO };
        self.gaps.sampled().then(|| doubled.saturating_add(later))
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Called before an ACK's numbers are taken in: what it reports for the first time has arrived.
    pub(super) fn note_arrivals(&mut self, packet: &Packet, ack: u64, now: Time) {
        let Some(overtaken) = &mut self.overtaken else { return };
        let (una, nxt, base, sacked) = (self.una, self.nxt, self.stats.rtt_min, self.board.reported());
        let mut news = ack > una;
        for (from, to) in sacked.missing(una, ack) {
            for (end, timed) in self.record.within(from, to) {
                // Karn's algorithm, unless the timestamp says that the repeat has arrived.
                if !timed.again || self.ends.echoes(packet, timed.at) {
                    overtaken.arrived(timed.at, end, true);
                }
            }
        }
        for (from, to) in blocks(packet, self.ends.own, una, nxt) {
            for (from, to) in sacked.missing(from.max(ack), to) {
                news = true;
                overtaken.lost.remove(from, to);
                for (end, timed) in self.record.within(from, to) {
                    if !timed.again || now.saturating_sub(timed.at) >= base {
                        overtaken.arrived(timed.at, end, !timed.again);
                    }
                }
            }
        }
        if news && self.retries == 0 {
            overtaken.hear(now);
        } else if news {
            overtaken.last_ack = now;
        }
    }

    /// Called when SND.UNA has moved over a segment that had been repeated and whose repeat has not
    /// arrived.
    pub(super) fn note_reordered(&mut self, timed: Timed, now: Time) {
        let base = self.stats.rtt_min;
        // What a timeout has repeated was not reordered but waited.
        if timed.at != self.gave_up.0
            && let Some(overtaken) = &mut self.overtaken
        {
            overtaken.was_reordered(now.saturating_sub(timed.at), base);
        }
    }

    /// Called after an ACK's numbers have been taken in, and when time has passed. Whether anything
    /// is to be repeated.
    #[inline]
    pub(super) fn find_overtaken(&mut self, now: Time) -> bool {
        let Some(overtaken) = &mut self.overtaken else { return false };
        let (base, sacked) = (self.stats.rtt_min, self.board.reported());
        overtaken.find_overtaken(self.una, &self.record, sacked, now);
        if now >= overtaken.probe_at {
            self.gave_up = (now, self.nxt);
            self.rto_at = Time::MAX; // RFC 8985, §7.3: the timer starts anew with a probe
            overtaken.give_up(self.una, &self.record, sacked);
        } else if overtaken.last_ack == now {
            overtaken.expect(base, &self.record);
        }
        if self.una == self.nxt {
            overtaken.probe_at = Time::MAX;
        }
        // Controllers hear of losses before anything is repeated: the window may be what the
        // network had room for.
        let before = overtaken.lost();
        let any = overtaken.expire(self.una, base, &self.record, sacked, now);
        if overtaken.lost() > before {
            let pipe = self.pipe();
            self.control.on_overtaken(&mut self.window, pipe);
        }
        any
    }

    /// When something that has been overtaken is to be repeated.
    #[inline]
    pub(super) fn repeat_at(&self) -> Time {
        self.overtaken.as_ref().map_or(Time::MAX, |o| o.deadline(self.stats.rtt_min))
    }

    /// How long to wait for an ACK before the first segment is repeated: the RTO, or where the
    /// network stores, how far apart ACKs are. Where the pace is slower than that, the repeat waits
    /// as any packet does.
    #[inline]
    pub(super) fn patience(&self) -> Time {
        let gaps = self.overtaken.as_ref().and_then(|o| o.patience(self.retries, self.stats.rtt_min, &self.record));
        gaps.unwrap_or_else(|| self.longest_wait())
    }

    /// The RTO, or how far apart packets are where the pace is slower than that.
    #[inline]
    pub(super) fn longest_wait(&self) -> Time {
        self.rtt.rto().max(self.control.longest_gap())
    }

    /// Nothing has arrived for longer than that: the first segment asks, and the controller says
    /// what may follow it.
    pub(super) fn ask(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.lower_threshold(ctx.now);
        self.gave_up = (ctx.now, self.nxt);
        self.board.forget_if_reneged(self.una);
        if let Some(overtaken) = &mut self.overtaken {
            overtaken.give_up(self.una, &self.record, self.board.reported());
        }
        // What waits fills the window; the first segment is repeated all the same.
        self.window.set(self.window.ssthresh.max(self.pipe() + self.window.mss));
        self.pace_at = ctx.now;
        self.send(ctx);
    }
}
