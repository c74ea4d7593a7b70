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
}

/// One packet at a time at the link's rate. It is the driver's: a node on real packets has a device
/// in its place.
#[derive(Debug, Clone)]
pub struct LinkTransmitter {
    clock: TxClock,
    free_at: Time,
    up: bool,
    /// In place of a rate: what lets it send.
    pace: Option<Box<Pace>>,
}

impl LinkTransmitter {
    /// An idle transmitter of `rate`, up.
    pub fn new(rate: Rate) -> LinkTransmitter {
        LinkTransmitter { clock: TxClock::new(rate), free_at: Time::ZERO, up: true, pace: None }
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

    /// Whether it can take a packet now.
    #[inline]
    pub fn state(&self, now: Time) -> Transmitter {
        if !self.up {
            return Transmitter::Busy { until: None };
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
    }
}
