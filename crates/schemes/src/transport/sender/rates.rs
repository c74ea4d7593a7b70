//! Delivery-rate samples, for controllers that ask for them: draft-ietf-ccwg-bbr, "Detailed Delivery
//! Rate Sampling Algorithm".
//!
//! What the draft's packet P has beside its send time is on the scoreboard; where a controller has no
//! [`SAMPLES`], none of this is compiled in.
//!
//! [`SAMPLES`]: CongestionController::SAMPLES

use midpath_core::fifo::Fifo;
use midpath_core::packet::Packet;
use midpath_core::units::Time;

use super::Sender;
use super::scoreboard::{Arrived, Scoreboard, Sent};
use crate::transport::cc::{Ack, Lost, NetworkAssisted, Sample};

/// What was so when a segment was sent, of the draft's packet P. While it is outstanding, less than 2^31 bytes are
/// delivered or lost, for no window is larger than 2^30: of sums the lower bits tell which it was.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct AtSending {
    /// P.first_send_time, P.delivered_time.
    first_sent: Time,
    delivered_at: Time,
    /// P.delivered.
    delivered: u32,
    /// P.lost; above it, whether the controller was told that it is lost.
    lost: u32,
    /// P.tx_in_flight; above it, P.is_app_limited.
    in_flight: u32,
}

const _: () = assert!(size_of::<AtSending>() == 28);

/// What stands above a number.
const FLAG: u32 = 1 << 31;

impl AtSending {
    /// P.delivered, where C.delivered is `now`.
    fn delivered(&self, now: u64) -> u64 {
        now - u64::from((now as u32).wrapping_sub(self.delivered))
    }

    /// What has been lost since, where C.lost is `now`.
    fn lost_since(&self, now: u64) -> u64 {
        u64::from((now as u32).wrapping_sub(self.lost) & !FLAG)
    }

    fn told_lost(&self) -> bool {
        self.lost & FLAG != 0
    }

    fn app_limited(&self) -> bool {
        self.in_flight & FLAG != 0
    }

    fn in_flight(&self) -> u64 {
        u64::from(self.in_flight & !FLAG)
    }
}

/// The rate sample RS of the ACK that is being taken in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// The newest of the segments that this ACK reports.
    newest: Option<(Sent, AtSending)>,
    /// C.lost before this ACK.
    lost_before: u64,
}

/// The connection's state C.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    /// One for each segment that is outstanding, in the scoreboard's order.
    pub samples: Fifo<AtSending>,
    /// C.delivered, C.delivered_time, C.first_send_time, C.lost.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// C.app_limited: samples count as the application's until this much is delivered; 0: none do.
    app_limited: u64,
    /// One more than C.delivered when the window was full the last time; 0: it never was.
    full_after: u64,
    /// One past the last byte that was taken for lost; 0: none was.
    hole: u64,
}

impl Rates {
    /// OnPacketSent, with `pipe` bytes in flight, these `bytes` included.
    fn sent(&mut self, bytes: u64, pipe: u64, now: Time) -> AtSending {
        debug_assert!(pipe < FLAG.into(), "{pipe} bytes in flight");
        if pipe <= bytes {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        AtSending {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered as u32,
            lost: self.lost as u32 & !FLAG,
            in_flight: pipe as u32 | if self.app_limited > 0 { FLAG } else { 0 },
        }
    }

    /// The same where that was sent before.
    #[cold]
    fn sent_again(&mut self, board: &Scoreboard, from: u64, end: u64, then: AtSending) {
        for i in board.within(from, end) {
            if let Some(old) = self.samples.get_mut(i).filter(|_| !board.at(i).is_sacked()) {
                *old = then;
            }
        }
    }

    /// An ACK has come: what was lost before is no news of it.
    fn begin(&self) -> News {
        News { newest: None, lost_before: self.lost }
    }

    /// UpdateRateSample, for a segment that is reported for the first time.
    fn arrived(&mut self, arrived: &Arrived, news: &mut News, now: Time) {
        let Arrived { begin, sent, then: Some(then) } = *arrived else { return };
        self.delivered += sent.end() - begin;
        self.delivered_at = now;
        if news.newest.is_none_or(|(newest, _)| (sent.at, sent.end()) > (newest.at, newest.end())) {
            news.newest = Some((sent, then));
            self.first_sent = sent.at;
        }
    }

    /// The first segment from the `i`th on that begins below `to`, is in flight, and was sent once
    /// unless `again`: it is lost.
    fn lose(&mut self, board: &Scoreboard, i: &mut usize, to: u64, again: bool, now: Time) -> Option<Lost> {
        while let Some(sent) = board.get(*i) {
            let (begin, Some(then)) = (board.begin_of(*i), self.samples.get_mut(*i)) else { break };
            if begin >= to {
                break;
            }
            *i += 1;
            if sent.is_sacked() || then.told_lost() || (sent.again() && !again) {
                continue;
            }
            then.lost |= FLAG;
            let (bytes, follows) = (sent.end() - begin, begin > 0 && begin == self.hole);
            self.lost += bytes;
            self.hole = sent.end();
            return Some(Lost {
                now,
                bytes,
                in_flight: then.in_flight(),
                lost: then.lost_since(self.lost),
                total: self.delivered,
                app_limited: then.app_limited(),
                follows,
            });
        }
        None
    }

    /// GenerateRateSample, with `pipe` bytes in flight; `echoed` says whether the ACK answers what was
    /// sent then.
    fn generate(&mut self, news: &News, pipe: u64, now: Time, echoed: impl Fn(Time) -> bool) -> Option<Sample> {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newly_lost = self.lost - news.lost_before;
        let (sent, then) = news.newest?;
        let (sending, prior) = (sent.at.saturating_sub(then.first_sent), then.delivered(self.delivered));
        let arriving = self.delivered_at.saturating_sub(then.delivered_at);
        let certain = !sent.again() || echoed(sent.at);
        Some(Sample {
            total: self.delivered,
            prior,
            interval: sending.max(arriving),
            rtt: certain.then(|| now.saturating_sub(sent.at)),
            app_limited: then.app_limited(),
            in_flight: then.in_flight(),
            pipe,
            lost: then.lost_since(self.lost),
            newly_lost,
            window_limited: self.full_after > prior,
        })
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// CheckIfApplicationLimited: called before anything changes that could have data sent.
    #[inline(always)]
    pub(super) fn note_app_limited(&mut self) {
        if C::SAMPLES && (self.nxt() > self.end || self.needs_data()) {
            self.mark_app_limited();
        }
    }

    #[cold]
    fn mark_app_limited(&mut self) {
        let (pipe, cwnd) = (self.pipe(), self.window.cwnd);
        let unrepaired = self.flight() - self.board.sacked() > pipe;
        if let Some(rates) = self.pace.rates()
            && pipe < cwnd
            && !unrepaired
        {
            rates.app_limited = (rates.delivered + pipe).max(1);
        }
    }

    /// A segment has been sent and counted.
    #[inline(always)]
    pub(super) fn note_sent(&mut self, from: u64, end: u64, again: bool, now: Time) {
        if !C::SAMPLES || from >= end {
            return;
        }
        let pipe = self.pipe();
        let Some(rates) = self.pace.rates() else { return };
        let then = rates.sent(end - from, pipe, now);
        if !again {
            rates.samples.push(then);
            debug_assert_eq!(rates.samples.len(), self.board.len());
        } else {
            rates.sent_again(&self.board, from, end, then);
        }
    }

    /// The window is full.
    #[inline]
    pub(super) fn note_full(&mut self) {
        if C::SAMPLES
            && let Some(rates) = self.pace.rates()
        {
            rates.full_after = rates.delivered + 1;
        }
    }

    /// Called when an ACK has come, with what it reports for the first time.
    #[inline]
    pub(super) fn note_delivered(&mut self, arrived: &[Arrived], now: Time) -> News {
        if !C::SAMPLES {
            return News::default();
        }
        let Some(rates) = self.pace.rates() else { return News::default() };
        let mut news = rates.begin();
        arrived.iter().for_each(|arrived| rates.arrived(arrived, &mut news, now));
        news
    }

    /// What is in flight and begins in `[from, to)` is lost; what has been repeated only if `again`.
    #[inline]
    pub(super) fn note_lost(&mut self, from: u64, to: u64, again: bool, now: Time) {
        if !C::SAMPLES || from >= to {
            return;
        }
        let Some(rates) = self.pace.rates() else { return };
        let mut i = self.board.place(from);
        while let Some(lost) = rates.lose(&self.board, &mut i, to, again, now) {
            self.control.on_lost(&mut self.window, &lost);
        }
    }

    /// Called when an ACK has been taken in and answered in all else but by sending.
    #[inline]
    pub(super) fn note_sample(&mut self, packet: &Packet, ack: &Ack, news: &News) {
        if !C::SAMPLES {
            return;
        }
        let pipe = self.pipe();
        let (Some(rates), ends) = (self.pace.rates(), &self.ends) else { return };
        if let Some(sample) = rates.generate(news, pipe, ack.now, |sent| ends.echoes(packet, sent)) {
            self.control.on_sample(&mut self.window, ack, &sample);
        }
        self.pace_again(ack.now);
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{SackBlock, Sequence};

    use super::*;
    use crate::tcp::tests::harness::{FLOW, HOSTS};

    const MS: fn(u64) -> Time = Time::from_ms;

    /// Sums go round in what is kept of them; what has come since does not.
    #[test]
    fn sums_are_told_by_their_lower_bits() {
        for from in [0, 1448, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 5 << 32 | 7] {
            for since in [0, 1, 1448, 1 << 30, (1 << 31) - 1] {
                let mut rates = Rates { delivered: from, lost: from, app_limited: since, ..Rates::default() };
                let mut then = rates.sent(1000, 1 << 30, MS(7));
                assert_eq!((then.in_flight(), then.app_limited(), then.told_lost()), (1 << 30, since > 0, false));
                then.lost |= FLAG;
                (rates.delivered, rates.lost) = (from + since, from + since);
                assert_eq!((then.delivered(rates.delivered), then.lost_since(rates.lost)), (from, since));
                assert!(then.told_lost());
            }
        }
    }

    /// The connection's state with the scoreboard that it goes with.
    #[derive(Default)]
    struct Bench {
        rates: Rates,
        board: Scoreboard,
        news: News,
    }

    impl Bench {
        fn sent(&mut self, from: u64, end: u64, again: bool, pipe: u64, now: Time) {
            let then = self.rates.sent(end - from, pipe, now);
            if again {
                self.board.sent_again(from, end, now);
                let place = self.board.place(from);
                *self.rates.samples.get_mut(place).expect("outstanding") = then;
            } else {
                self.board.sent(end, now);
                self.rates.samples.push(then);
            }
        }
        fn sacked(&mut self, from: u64, to: u64, now: Time) {
            let (mut packet, mut arrived) = (Packet::new(FLOW, HOSTS[1], HOSTS[0], 52), Vec::new());
            packet.sack_len = 1;
            let own = Sequence::after_syn(0);
            packet.sack_mut()[0] = SackBlock { from: own.wire(from), to: own.wire(to) };
            self.board.update(&packet, own, Some(&mut self.rates.samples), &mut arrived);
            self.arrived(&arrived, now);
        }
        fn acknowledged(&mut self, to: u64, now: Time) {
            let mut arrived = Vec::new();
            self.board.acknowledged(to, Some(&mut self.rates.samples), &mut arrived);
            self.arrived(&arrived, now);
        }
        fn arrived(&mut self, arrived: &[Arrived], now: Time) {
            arrived.iter().for_each(|arrived| self.rates.arrived(arrived, &mut self.news, now));
        }
        /// Another ACK comes.
        fn begin(&mut self) {
            self.news = self.rates.begin();
        }
        fn lose(&mut self, i: &mut usize, to: u64, again: bool, now: Time) -> Option<Lost> {
            self.rates.lose(&self.board, i, to, again, now)
        }
        fn sample(&mut self, now: Time) -> Option<Sample> {
            let sample = self.rates.generate(&self.news, 0, now, |_| false);
            self.news.newest = None;
            sample
        }
    }

    /// Four segments of 1000 bytes sent at 0, 1, 2, 3 ms.
    fn four() -> Bench {
        let mut bench = Bench::default();
        (0..4).for_each(|i| bench.sent(i * 1000, (i + 1) * 1000, false, (i + 1) * 1000, MS(i)));
        bench
    }

    /// By hand, from the draft's pseudo-code. The first segment's sample covers the whole round trip;
    /// one that is sent when that is acknowledged covers what arrives within the next.
    #[test]
    fn a_sample_is_what_was_delivered_while_the_newest_packet_was_on_its_way() {
        let mut bench = four();
        bench.acknowledged(1000, MS(10));
        let first = bench.sample(MS(10)).expect("a sample");
        assert_eq!((first.delivered(), first.interval, first.rtt), (1000, MS(10), Some(MS(10))));
        bench.sent(4000, 5000, false, 4000, MS(10));
        for i in 1..4 {
            bench.acknowledged((i + 1) * 1000, MS(10 + 2 * i));
            assert_eq!(bench.sample(MS(10 + 2 * i)).map(|s| s.interval), Some(MS(10 + 2 * i)));
        }
        bench.acknowledged(5000, MS(20));
        let last = bench.sample(MS(20)).expect("a sample");
        // 4000 bytes from 10 to 20 ms; the segment before was sent 7 ms earlier.
        assert_eq!((last.prior, last.delivered(), last.interval, last.in_flight), (1000, 4000, MS(10), 4000));
        assert_eq!(last.rate(MS(10)).map(|r| r.0), Some(3_200_000));
        assert_eq!(last.rate(MS(11)), None, "shorter than any round trip");
        assert_eq!(bench.sample(MS(21)), None, "nothing new");
    }

    /// The longer of the two intervals: three segments sent over 3 ms whose ACKs come at once were not
    /// delivered within no time.
    #[test]
    fn compressed_acks_do_not_raise_the_rate_beyond_that_of_sending() {
        let mut bench = four();
        bench.acknowledged(1000, MS(10));
        bench.sample(MS(10));
        (4..8).for_each(|i| bench.sent(i * 1000, (i + 1) * 1000, false, 7000, MS(10 + 3 * (i - 4))));
        bench.acknowledged(8000, MS(20));
        let all = bench.sample(MS(20)).expect("a sample");
        assert_eq!((all.delivered(), all.interval), (7000, MS(19)));
    }

    #[test]
    fn one_ack_counts_each_segment_once_however_it_is_reported() {
        let mut bench = four();
        bench.sacked(2000, 3000, MS(10));
        assert_eq!(bench.sample(MS(10)).map(|s| s.total), Some(1000));
        bench.acknowledged(4000, MS(12));
        assert_eq!(bench.sample(MS(12)).map(|s| s.total), Some(4000));
    }

    #[test]
    fn what_is_lost_says_what_was_in_flight_and_what_else_was_lost() {
        let mut bench = four();
        bench.sacked(3000, 4000, MS(10));
        let (mut i, mut lost) = (0, Vec::new());
        while let Some(l) = bench.lose(&mut i, 3000, false, MS(10)) {
            lost.push((l.bytes, l.in_flight, l.lost, l.follows));
        }
        assert_eq!(lost, [(1000, 1000, 1000, false), (1000, 2000, 2000, true), (1000, 3000, 3000, true)]);
        assert_eq!(bench.sample(MS(10)).map(|s| (s.lost, s.newly_lost)), Some((3000, 3000)));
        // Repeated, a segment is lost again only if that is said of repeats.
        bench.sent(0, 1000, true, 1000, MS(11));
        assert_eq!(bench.lose(&mut 0, 1000, false, MS(12)), None);
        assert_eq!(bench.lose(&mut 0, 1000, true, MS(12)).map(|l| (l.bytes, l.lost)), Some((1000, 1000)));
    }

    /// What a timeout gave up is not lost once more by the next ACK.
    #[test]
    fn newly_lost_is_what_this_ack_has_made_so() {
        let mut bench = four();
        while bench.lose(&mut 0, 2000, true, MS(500)).is_some() {}
        bench.begin();
        bench.sacked(2000, 3000, MS(510));
        bench.lose(&mut 3, 4000, true, MS(510));
        assert_eq!(bench.sample(MS(510)).map(|s| (s.lost, s.newly_lost)), Some((3000, 1000)));
        // A duplicate without anything new gives no sample; the next ACK doesn't tell of its loss.
        bench.sent(0, 1000, true, 1000, MS(511));
        bench.begin();
        bench.lose(&mut 0, 1000, true, MS(520));
        assert_eq!(bench.sample(MS(520)), None);
        bench.begin();
        bench.sacked(1000, 2000, MS(530));
        assert_eq!(bench.sample(MS(530)).map(|s| s.newly_lost), Some(0));
    }

    #[test]
    fn a_repeat_has_no_round_trip_unless_its_timestamp_comes_back() {
        for echoed in [false, true] {
            let mut bench = four();
            bench.lose(&mut 0, 1000, false, MS(10));
            bench.sent(0, 1000, true, 4000, MS(11));
            bench.acknowledged(1000, MS(25));
            let sample =
                bench.rates.generate(&bench.news, 0, MS(25), |sent| echoed && sent == MS(11)).expect("a sample");
            assert_eq!(sample.rtt, echoed.then_some(MS(14)));
        }
    }

    #[test]
    fn samples_are_the_applications_until_what_was_in_flight_is_delivered() {
        let mut bench = four();
        bench.rates.app_limited = 4000;
        bench.sent(4000, 5000, false, 5000, MS(5));
        bench.acknowledged(4000, MS(10));
        assert_eq!(bench.sample(MS(10)).map(|s| s.app_limited), Some(false), "sent before");
        bench.sent(5000, 6000, false, 2000, MS(10));
        bench.acknowledged(5000, MS(15));
        assert_eq!(bench.sample(MS(15)).map(|s| s.app_limited), Some(true));
        bench.sent(6000, 7000, false, 2000, MS(15));
        bench.acknowledged(7000, MS(25));
        assert_eq!(bench.sample(MS(25)).map(|s| s.app_limited), Some(false), "the newest was sent after");
    }
}
