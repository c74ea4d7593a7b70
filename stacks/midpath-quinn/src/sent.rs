//! What was so when packets were sent: draft-ietf-ccwg-bbr, "Delivery Rate Samples".

use std::collections::VecDeque;

use midpath_core::units::Time;
use midpath_schemes::controller::Sample;

/// What left at one time.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    /// Bytes that nothing has been heard of.
    left: u64,
    /// P.first_send_time, P.delivered_time, P.delivered, P.tx_in_flight, P.lost.
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
}

/// The connection's state C, and its packets P in flight.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    sent: VecDeque<Sent>,
    pub total: u64,
    pub lost: u64,
    pub in_flight: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples count as the application's until this much is delivered; 0: none do.
    app_limited: u64,
    /// C.delivered when the window was full the last time.
    full_at: Option<u64>,
    /// The newest packet that this batch of ACKs reports.
    newest: Option<Sent>,
    lost_before: u64,
}

impl Packets {
    /// OnPacketSent.
    pub fn on_sent(&mut self, bytes: u64, cwnd: u64, now: Time) {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.in_flight += bytes;
        if self.in_flight >= cwnd {
            self.full_at = Some(self.total);
        }
        let sent = Sent {
            at: now,
            left: bytes,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.total,
            in_flight: self.in_flight,
            lost: self.lost,
            app_limited: self.app_limited > 0,
        };
        match self.sent.back_mut().filter(|last| last.at == now) {
            Some(last) => (last.left, last.in_flight) = (last.left + bytes, self.in_flight),
            None => self.sent.push_back(sent),
        }
    }

    /// UpdateRateSample, for `bytes` that were sent at `at`.
    pub fn on_acked(&mut self, at: Time, bytes: u64, now: Time) {
        (self.total, self.delivered_at) = (self.total + bytes, now);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let place = self.sent.partition_point(|sent| sent.at < at);
        if let Some(sent) = self.sent.get_mut(place).filter(|sent| sent.at == at) {
            sent.left = sent.left.saturating_sub(bytes);
            if self.newest.is_none_or(|newest| newest.at <= at) {
                self.newest = Some(*sent);
                self.first_sent = at;
            }
        }
        self.forget();
    }

    /// `bytes` are lost that were sent at `until` or before: which, quinn does not say, so the oldest. What was so
    /// when the last of them was sent: P.tx_in_flight, P.lost, and whether the application was the limit.
    pub fn on_lost(&mut self, until: Time, bytes: u64) -> (u64, u64, bool) {
        self.lost += bytes;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let (mut left, mut then) = (bytes, (self.in_flight + bytes, self.lost - bytes, false));
        for sent in self.sent.iter_mut().take_while(|sent| sent.at <= until) {
            let of = left.min(sent.left);
            (left, sent.left) = (left - of, sent.left - of);
            if of > 0 {
                then = (sent.in_flight, sent.lost, sent.app_limited);
            }
        }
        self.forget();
        then
    }

    fn forget(&mut self) {
        while self.sent.front().is_some_and(|sent| sent.left == 0) {
            self.sent.pop_front();
        }
    }

    /// CheckIfApplicationLimited.
    pub fn note_app_limited(&mut self) {
        self.app_limited = (self.total + self.in_flight).max(1);
    }

    /// GenerateRateSample.
    pub fn generate(&mut self, now: Time) -> Option<Sample> {
        if self.app_limited > 0 && self.total > self.app_limited {
            self.app_limited = 0;
        }
        let newly_lost = self.lost - std::mem::replace(&mut self.lost_before, self.lost);
        let then = self.newest.take()?;
        let (sending, arriving) = (then.at.saturating_sub(then.first_sent), now.saturating_sub(then.delivered_at));
        Some(Sample {
            total: self.total,
            prior: then.delivered,
            interval: sending.max(arriving),
            rtt: Some(now.saturating_sub(then.at)),
            app_limited: then.app_limited,
            in_flight: then.in_flight,
            pipe: self.in_flight,
            lost: self.lost - then.lost,
            newly_lost,
            window_limited: self.full_at.is_some_and(|at| at >= then.delivered),
        })
    }
}
