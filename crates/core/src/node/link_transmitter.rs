//! A simulated transmitter, for drivers in virtual time.

use std::sync::Arc;

use super::opportunities::{Opportunities, Turn};
use super::token_bucket::TokenBucket;
use crate::roles::Transmitter;
use crate::units::{Rate, Time, TxClock};

#[derive(Debug, Clone)]
enum Pace {
    Opportunities(Turn),
    Bucket(TokenBucket),
    /// Frames begin at multiples of this.
    Frames(Option<Time>),
}

/// One packet at a time at the link's rate. It is the driver's: a node on real packets has a device
/// in its place.
#[derive(Debug, Clone)]
pub struct LinkTransmitter {
    clock: TxClock,
    free_at: Time,
    up: bool,
    /// It is up, and packets may start at any time.
    usual: bool,
    /// In place of a rate: what lets it send.
    pace: Option<Box<Pace>>,
}

impl LinkTransmitter {
    /// An idle transmitter of `rate`, up.
    pub fn new(rate: Rate) -> LinkTransmitter {
        LinkTransmitter { clock: TxClock::new(rate), free_at: Time::ZERO, up: true, usual: true, pace: None }
    }

    /// The same transmitter with delivery opportunities in place of its rate.
    #[must_use]
    pub fn with_opportunities(mut self, all: Arc<Opportunities>) -> LinkTransmitter {
        self.pace = Some(Box::new(Pace::Opportunities(Turn::new(all))));
        self
    }

    /// The same transmitter with a token bucket before it.
    #[must_use]
    pub fn with_bucket(mut self, bucket: TokenBucket) -> LinkTransmitter {
        self.pace = Some(Box::new(Pace::Bucket(bucket)));
        self
    }

    /// The same transmitter for a driver that gathers packets into frames, which begin at multiples of `slot` if there is one:
    /// packets take no time, and the driver says when it is [occupied](Self::occupy).
    #[must_use]
    pub fn with_frames(mut self, slot: Option<Time>) -> LinkTransmitter {
        self.pace = Some(Box::new(Pace::Frames(slot)));
        self.usual = slot.is_none();
        self
    }

    /// Whether packets leave at the link's rate, and nothing else decides when.
    pub fn goes_by_rate(&self) -> bool {
        self.pace.is_none()
    }

    fn slot(&self) -> Option<Time> {
        match self.pace.as_deref()? {
            Pace::Frames(slot) => *slot,
            _ => None,
        }
    }

    /// It is busy with a frame until then.
    pub fn occupy(&mut self, until: Time) {
        self.free_at = until;
    }

    /// When a frame may begin, from `now` on, if the link is up.
    pub fn next_frame(&self, now: Time) -> Time {
        let from = self.free_at.max(now);
        self.slot().map_or(from, |slot| Time(from.0.div_ceil(slot.0).saturating_mul(slot.0)))
    }

    /// A transmitter that is down, or whose frames have slots.
    #[cold]
    fn unusual_state(&self, now: Time) -> Transmitter {
        match self.next_frame(now) {
            _ if !self.up => Transmitter::Busy { until: None },
            at if at <= now => Transmitter::Idle { since: self.free_at },
            at => Transmitter::Busy { until: Some(at) },
        }
    }

    /// Whether it can take a packet now.
    #[inline]
    pub fn state(&self, now: Time) -> Transmitter {
        if !self.usual {
            return self.unusual_state(now);
        }
        if self.free_at <= now {
            Transmitter::Idle { since: self.free_at }
        } else {
            Transmitter::Busy { until: Some(self.free_at) }
        }
    }

    /// Takes a packet of `size` bytes now; says when its last bit leaves.
    #[inline(always)] // a call costs each hop as much as it does
    pub fn start(&mut self, size: u32, now: Time) -> Time {
        let Some(pace) = &mut self.pace else {
            self.free_at = now + self.clock.time(size);
            return self.free_at;
        };
        let end;
        (end, self.free_at) = match pace.as_mut() {
            Pace::Opportunities(turn) => {
                let end = turn.send(size, now);
                (end, end)
            }
            Pace::Bucket(bucket) => bucket.send(size, now),
            Pace::Frames(_) => (now, self.free_at),
        };
        end
    }

    /// The next packet is sent at another rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.clock = TxClock::new(rate);
    }

    /// The link goes up or down. A packet that is being sent is the wire's to lose.
    pub fn set_up(&mut self, up: bool) {
        self.up = up;
        self.usual = up && self.slot().is_none();
    }
}
