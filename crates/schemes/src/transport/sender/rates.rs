//! Delivery-rate samples, for controllers that ask for them: draft-ietf-ccwg-bbr, "Detailed Delivery
//! Rate Sampling Algorithm".
//!
//! A record per segment, beside the send times that every sender keeps; where a controller has no
//! [`SAMPLES`], none of this is compiled in.
//!
//! [`SAMPLES`]: CongestionController::SAMPLES

use std::collections::VecDeque;

use midpath_core::packet::Packet;
use midpath_core::units::Time;

use super::Sender;
use crate::transport::cc::{Ack, Lost, NetworkAssisted, Sample};

/// What a segment is thought to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    Lost,
    Delivered,
}

/// A segment that is outstanding, as the draft's packet P.
#[derive(Debug, Clone, Copy)]
struct Record {
    from: u64,
    end: u64,
    fate: Fate,
    again: bool,
    app_limited: bool,
    /// P.send_time, P.first_send_time, P.delivered_time.
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    /// P.delivered, P.tx_in_flight, P.lost.
    delivered: u64,
    in_flight: u64,
    lost: u64,
}

/// The connection's state C, and the rate sample RS of the ACK that is being taken in.
#[derive(Debug, Default)]
pub(super) struct Rates {
    records: VecDeque<Record>,
    /// C.delivered, C.delivered_time, C.first_send_time, C.lost.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// C.app_limited: samples count as the application's until this much is delivered; 0: none do.
    app_limited: u64,
    /// C.delivered when the window was full the last time.
    full_at: Option<u64>,
    /// The newest of the segments that this ACK reports.
    newest: Option<Record>,
    /// C.lost before this ACK.
    lost_before: u64,
    /// One past the last byte that was taken for lost.
    hole: Option<u64>,
}

impl Rates {
    /// OnPacketSent, with `pipe` bytes in flight, this segment's included.
    fn sent(&mut self, from: u64, end: u64, again: bool, pipe: u64, now: Time) {
        if pipe <= end - from {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            from,
            end,
            fate: Fate::InFlight,
            again,
            app_limited: self.app_limited > 0,
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            in_flight: pipe,
            lost: self.lost,
        };
        if !again {
            return self.records.push_back(record);
        }
        let first = self.place(from);
        for old in self.records.range_mut(first..) {
            if old.from >= end {
                break;
            }
            if old.fate != Fate::Delivered {
                *old = Record { from: old.from, end: old.end, ..record };
            }
        }
    }

    /// An ACK has come: what was lost before is no news of it.
    fn begin(&mut self) {
        self.lost_before = self.lost;
    }

    /// Where the segment that holds the byte at `from` stands.
    fn place(&self, from: u64) -> usize {
        self.records.partition_point(|r| r.end <= from)
    }

    /// UpdateRateSample, for the segments that end in what is reported for the first time.
    fn arrived(&mut self, from: u64, to: u64, now: Time) {
        for i in self.place(from)..self.records.len() {
            let record = &mut self.records[i];
            if record.end > to {
                break;
            }
            if record.fate == Fate::Delivered {
                continue;
            }
            record.fate = Fate::Delivered;
            let record = *record;
            self.delivered += record.end - record.from;
            self.delivered_at = now;
            if self.newest.is_none_or(|n| (record.sent, record.end) > (n.sent, n.end)) {
                self.newest = Some(record);
                self.first_sent = record.sent;
            }
        }
    }

    /// All below `una` is acknowledged.
    fn forget_below(&mut self, una: u64) {
        while self.records.front().is_some_and(|r| r.end <= una) {
            self.records.pop_front();
        }
    }

    /// The first segment from the `i`th on that begins below `to`, is in flight, and was sent once
    /// unless `again`: it is lost.
    fn lose(&mut self, i: &mut usize, to: u64, again: bool, now: Time) -> Option<Lost> {
        while let Some(record) = self.records.get_mut(*i).filter(|r| r.from < to) {
            *i += 1;
            if record.fate != Fate::InFlight || (record.again && !again) {
                continue;
            }
            record.fate = Fate::Lost;
            let record = *record;
            let (bytes, follows) = (record.end - record.from, Some(record.from) == self.hole);
            self.lost += bytes;
            self.hole = Some(record.end);
            return Some(Lost {
                now,
                bytes,
                in_flight: record.in_flight,
                lost: self.lost - record.lost,
                total: self.delivered,
                app_limited: record.app_limited,
                follows,
            });
        }
        None
    }

    /// GenerateRateSample, with `pipe` bytes in flight; `echoed` says whether the ACK answers what was
    /// sent then.
    fn generate(&mut self, pipe: u64, now: Time, echoed: impl Fn(Time) -> bool) -> Option<Sample> {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newly_lost = self.lost - self.lost_before;
        let newest = self.newest.take()?;
        let sending = newest.sent.saturating_sub(newest.first_sent);
        let arriving = self.delivered_at.saturating_sub(newest.delivered_at);
        let certain = !newest.again || echoed(newest.sent);
        Some(Sample {
            total: self.delivered,
            prior: newest.delivered,
            interval: sending.max(arriving),
            rtt: certain.then(|| now.saturating_sub(newest.sent)),
            app_limited: newest.app_limited,
            in_flight: newest.in_flight,
            pipe,
            lost: self.lost - newest.lost,
            newly_lost,
            window_limited: self.full_at.is_some_and(|at| at >= newest.delivered),
        })
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// CheckIfApplicationLimited: called before anything changes that could have data sent.
    #[inline]
    pub(super) fn note_app_limited(&mut self) {
        if !C::SAMPLES {
            return;
        }
        let nothing_unsent = self.nxt > self.end || self.needs_data();
        let (pipe, cwnd) = (self.pipe(), self.window.cwnd);
        let unrepaired = self.flight() - self.board.sacked() > pipe;
        if let Some(rates) = &mut self.rates
            && nothing_unsent
            && pipe < cwnd
            && !unrepaired
        {
            rates.app_limited = (rates.delivered + pipe).max(1);
        }
    }

    /// A segment has been sent and counted.
    #[inline]
    pub(super) fn note_sent(&mut self, from: u64, end: u64, again: bool, now: Time) {
        if !C::SAMPLES || from >= end {
            return;
        }
        let pipe = self.pipe();
        if let Some(rates) = &mut self.rates {
            rates.sent(from, end, again, pipe, now);
        }
    }

    /// The window is full.
    #[inline]
    pub(super) fn note_full(&mut self) {
        if let Some(rates) = self.rates.as_mut().filter(|_| C::SAMPLES) {
            rates.full_at = Some(rates.delivered);
        }
    }

    /// Called before an ACK's numbers are taken in: what it reports for the first time.
    #[inline]
    pub(super) fn note_delivered(&mut self, packet: &Packet, ack: u64, now: Time) {
        let Some(rates) = self.rates.as_mut().filter(|_| C::SAMPLES) else { return };
        let sacked = self.board.reported();
        rates.begin();
        rates.arrived(self.una, ack, now);
        if self.ends.sack {
            for (from, to) in self.board.news(packet, self.ends.own, self.una, self.nxt) {
                for (from, to) in sacked.missing(from.max(ack), to) {
                    rates.arrived(from, to, now);
                }
            }
        }
        rates.forget_below(ack);
    }

    /// What is in flight and begins in `[from, to)` is lost; what has been repeated only if `again`.
    #[inline]
    pub(super) fn note_lost(&mut self, from: u64, to: u64, again: bool, now: Time) {
        if !C::SAMPLES || from >= to {
            return;
        }
        let Some(rates) = &mut self.rates else { return };
        let mut i = rates.place(from);
        while let Some(lost) = rates.lose(&mut i, to, again, now) {
            self.control.on_lost(&mut self.window, &lost);
        }
    }

    /// Called when an ACK has been taken in and answered in all else but by sending.
    #[inline]
    pub(super) fn note_sample(&mut self, packet: &Packet, ack: &Ack) {
        if !C::SAMPLES {
            return;
        }
        let pipe = self.pipe();
        let (Some(rates), ends) = (&mut self.rates, &self.ends) else { return };
        if let Some(sample) = rates.generate(pipe, ack.now, |sent| ends.echoes(packet, sent)) {
            self.control.on_sample(&mut self.window, ack, &sample);
            self.pace_again(ack.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    /// Four segments of 1000 bytes sent at 0, 1, 2, 3 ms.
    fn four() -> Rates {
        let mut rates = Rates::default();
        (0..4).for_each(|i| rates.sent(i * 1000, (i + 1) * 1000, false, (i + 1) * 1000, MS(i)));
        rates
    }

    fn sample(rates: &mut Rates, now: Time) -> Option<Sample> {
        rates.generate(0, now, |_| false)
    }

    /// By hand, from the draft's pseudo-code. The first segment's sample covers the whole round trip;
    /// one that is sent when that is acknowledged covers what arrives within the next.
    #[test]
    fn a_sample_is_what_was_delivered_while_the_newest_packet_was_on_its_way() {
        let mut rates = four();
        rates.arrived(0, 1000, MS(10));
        let first = sample(&mut rates, MS(10)).expect("a sample");
        assert_eq!((first.delivered(), first.interval, first.rtt), (1000, MS(10), Some(MS(10))));
        rates.sent(4000, 5000, false, 4000, MS(10));
        for i in 1..4 {
            rates.arrived(i * 1000, (i + 1) * 1000, MS(10 + 2 * i));
            assert_eq!(sample(&mut rates, MS(10 + 2 * i)).map(|s| s.interval), Some(MS(10 + 2 * i)));
        }
        rates.arrived(4000, 5000, MS(20));
        let last = sample(&mut rates, MS(20)).expect("a sample");
        // 4000 bytes from 10 to 20 ms; the segment before was sent 7 ms earlier.
        assert_eq!((last.prior, last.delivered(), last.interval, last.in_flight), (1000, 4000, MS(10), 4000));
        assert_eq!(last.rate(MS(10)).map(|r| r.0), Some(3_200_000));
        assert_eq!(last.rate(MS(11)), None, "shorter than any round trip");
        assert_eq!(sample(&mut rates, MS(21)), None, "nothing new");
    }

    /// The longer of the two intervals: three segments sent over 3 ms whose ACKs come at once were not
    /// delivered within no time.
    #[test]
    fn compressed_acks_do_not_raise_the_rate_beyond_that_of_sending() {
        let mut rates = four();
        rates.arrived(0, 1000, MS(10));
        sample(&mut rates, MS(10));
        (4..8).for_each(|i| rates.sent(i * 1000, (i + 1) * 1000, false, 7000, MS(10 + 3 * (i - 4))));
        rates.arrived(1000, 8000, MS(20));
        let all = sample(&mut rates, MS(20)).expect("a sample");
        assert_eq!((all.delivered(), all.interval), (7000, MS(19)));
    }

    #[test]
    fn one_ack_counts_each_segment_once_however_it_is_reported() {
        let mut rates = four();
        rates.arrived(2000, 3000, MS(10));
        assert_eq!(sample(&mut rates, MS(10)).map(|s| s.total), Some(1000));
        rates.arrived(0, 4000, MS(12));
        rates.forget_below(4000);
        assert_eq!(sample(&mut rates, MS(12)).map(|s| s.total), Some(4000));
        assert!(rates.records.is_empty());
    }

    #[test]
    fn what_is_lost_says_what_was_in_flight_and_what_else_was_lost() {
        let mut rates = four();
        rates.arrived(3000, 4000, MS(10));
        let (mut i, mut lost) = (0, Vec::new());
        while let Some(l) = rates.lose(&mut i, 3000, false, MS(10)) {
            lost.push((l.bytes, l.in_flight, l.lost, l.follows));
        }
        assert_eq!(lost, [(1000, 1000, 1000, false), (1000, 2000, 2000, true), (1000, 3000, 3000, true)]);
        assert_eq!(sample(&mut rates, MS(10)).map(|s| (s.lost, s.newly_lost)), Some((3000, 3000)));
        // Repeated, a segment is lost again only if that is said of repeats.
        rates.sent(0, 1000, true, 1000, MS(11));
        assert_eq!(rates.lose(&mut 0, 1000, false, MS(12)), None);
        assert_eq!(rates.lose(&mut 0, 1000, true, MS(12)).map(|l| (l.bytes, l.lost)), Some((1000, 1000)));
    }

    /// What a timeout gave up is not lost once more by the next ACK.
    #[test]
    fn newly_lost_is_what_this_ack_has_made_so() {
        let mut rates = four();
        while rates.lose(&mut 0, 2000, true, MS(500)).is_some() {}
        rates.begin();
        rates.arrived(2000, 3000, MS(510));
        rates.lose(&mut 3, 4000, true, MS(510));
        assert_eq!(sample(&mut rates, MS(510)).map(|s| (s.lost, s.newly_lost)), Some((3000, 1000)));
        // A duplicate without anything new gives no sample; the next ACK doesn't tell of its loss.
        rates.sent(0, 1000, true, 1000, MS(511));
        rates.begin();
        rates.lose(&mut 0, 1000, true, MS(520));
        assert_eq!(sample(&mut rates, MS(520)), None);
        rates.begin();
        rates.arrived(1000, 2000, MS(530));
        assert_eq!(sample(&mut rates, MS(530)).map(|s| s.newly_lost), Some(0));
    }

    #[test]
    fn a_repeat_has_no_round_trip_unless_its_timestamp_comes_back() {
        for echoed in [false, true] {
            let mut rates = four();
            rates.lose(&mut 0, 1000, false, MS(10));
            rates.sent(0, 1000, true, 4000, MS(11));
            rates.arrived(0, 1000, MS(25));
            let sample = rates.generate(0, MS(25), |sent| echoed && sent == MS(11)).expect("a sample");
            assert_eq!(sample.rtt, echoed.then_some(MS(14)));
        }
    }

    #[test]
    fn samples_are_the_applications_until_what_was_in_flight_is_delivered() {
        let mut rates = four();
        rates.app_limited = 4000;
        rates.sent(4000, 5000, false, 5000, MS(5));
        rates.arrived(0, 4000, MS(10));
        assert_eq!(sample(&mut rates, MS(10)).map(|s| s.app_limited), Some(false), "sent before");
        rates.sent(5000, 6000, false, 2000, MS(10));
        rates.arrived(4000, 5000, MS(15));
        assert_eq!(sample(&mut rates, MS(15)).map(|s| s.app_limited), Some(true));
        rates.sent(6000, 7000, false, 2000, MS(15));
        rates.arrived(5000, 7000, MS(25));
        assert_eq!(sample(&mut rates, MS(25)).map(|s| s.app_limited), Some(false), "the newest was sent after");
    }
}
