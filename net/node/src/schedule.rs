//! Departure times of a link's packets, independent of wake-up times.

use midpath_core::roles::Transmitter;
use midpath_core::units::{Time, TxClock};

/// By how much a packet's transmission may begin before the thread woke: up to that, lateness is made
/// up. More is lost, as a device loses what it was too slow for; else a thread that slept for long
/// would send all at once. Ours.
pub const CREDIT: Time = Time::from_ms(1);

/// A link's transmitter: busy for as long as a packet takes at the link's rate.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    clock: TxClock,
    busy: bool,
    /// Nothing has waited since the last packet ended.
    idle: bool,
    /// When the last packet has been sent.
    planned: Time,
}

impl Schedule {
    /// Nothing has been sent.
    pub fn new(clock: TxClock) -> Schedule {
        Schedule { clock, busy: false, idle: true, planned: Time::ZERO }
    }

    /// The link has this rate from the next packet on.
    pub fn set_clock(&mut self, clock: TxClock) {
        self.clock = clock;
    }

    /// Whether a packet is being sent.
    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// As a node is told.
    pub fn state(&self) -> Transmitter {
        if self.busy { Transmitter::Busy { until: None } } else { Transmitter::Idle { since: self.planned } }
    }

    /// A packet of `size` bytes is sent at `now`: when it ends, and for how long the link stood still
    /// while it waited. One that had waited for the transmitter starts where the last one ended, not
    /// where the thread woke. One that found it idle starts now: it was not there before.
    pub fn begin(&mut self, now: Time, size: u32) -> (Time, Time) {
        let start = self.planned.max(if self.idle { now } else { now.saturating_sub(CREDIT) });
        let lost = if self.idle { Time::ZERO } else { start.saturating_sub(self.planned) };
        (self.busy, self.idle, self.planned) = (true, false, start + self.clock.time(size));
        (self.planned, lost)
    }

    /// When the packet that is being sent ends; never, if there is none.
    pub fn ends(&self) -> Time {
        if self.busy { self.planned } else { Time::MAX }
    }

    /// That packet has been sent.
    pub fn end(&mut self) {
        self.busy = false;
    }

    /// Nothing waits to be sent next.
    pub fn rest(&mut self) {
        self.idle = true;
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::units::Rate;

    use super::*;

    /// 1,500 B take 1 ms, and a packet has ended at 10 ms.
    fn schedule() -> Schedule {
        let clock = TxClock::new(Rate::from_mbps(12));
        Schedule { idle: false, planned: Time::from_ms(10), ..Schedule::new(clock) }
    }

    /// A thread that is woken late for each packet loses nothing of the rate, and no more than the
    /// credit is ever sent at once.
    #[test]
    fn lateness_is_made_up_within_the_credit() {
        let (us, ms) = (Time::from_us, Time::from_ms);
        let (mut schedule, mut planned) = (schedule(), ms(10));
        for n in 0..1000 {
            let woken = planned + us(150 + n % 700);
            let (end, lost) = schedule.begin(woken, 1500);
            assert_eq!((end.saturating_sub(schedule.clock.time(1500)), lost), (planned, Time::ZERO));
            planned = end;
        }
        assert!(planned.saturating_sub(ms(1010)) < us(1), "a thousand packets take a second: {planned:?}");
        let asleep = ms(5000);
        let (end, lost) = schedule.begin(asleep, 1500);
        assert_eq!(end, asleep.saturating_sub(CREDIT) + schedule.clock.time(1500));
        assert_eq!(lost, asleep.saturating_sub(CREDIT).saturating_sub(planned));
    }

    /// Nothing leaves before it has come: a link that was idle is no shorter by the credit.
    #[test]
    fn what_finds_an_idle_transmitter_starts_now() {
        let (mut schedule, now) = (schedule(), Time::from_us(10_400));
        schedule.rest();
        assert_eq!(schedule.begin(now, 1500), (now + schedule.clock.time(1500), Time::ZERO));
    }
}
