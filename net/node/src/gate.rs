//! A link over a TCP connection: its rate, and its backpressure.

use std::net::SocketAddr;

use midpath_core::units::{Rate, Time};

/// How long is looked at for each answer. Ours: a round trip of a long path.
const INTERVAL: Time = Time::from_ms(50);
/// A connection that had no room for less of an interval carries all it is given.
const SHUT: f64 = 0.1;
/// How much of the way to what an interval says is gone.
const GAIN: f64 = 0.25;
/// By how much more is tried after an interval in which all was carried. Ours: twice in .35 s.
const MORE: f64 = 1.1;

/// What is between a port and its connection.
#[derive(Debug, Clone)]
pub struct Gate {
    /// Where the neighbour is.
    pub leads_to: Option<SocketAddr>,
    configured: Rate,
    /// What it carries, in bit/s.
    rate: f64,
    since: Time,
    /// Bytes given to it in this interval, and for how long it took none.
    bytes: u64,
    shut_for: Time,
    /// Since when it has had no room, as far as that is not in `shut_for`.
    shut: Option<Time>,
}

impl Gate {
    /// Open, at its rate.
    pub fn new(leads_to: Option<SocketAddr>, configured: Rate) -> Gate {
        let (rate, since, shut_for) = (configured.0 as f64, Time::ZERO, Time::ZERO);
        Gate { leads_to, configured, rate, since, bytes: 0, shut_for, shut: None }
    }

    /// Takes another rate at most.
    pub fn configure(&mut self, rate: Rate) {
        (self.configured, self.rate) = (rate, rate.0 as f64);
    }

    /// So much was given to the connection.
    pub fn gave(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Whether it takes more.
    pub fn has_room(&self) -> bool {
        self.shut.is_none()
    }

    /// Whether it takes more from now on.
    pub fn set_room(&mut self, room: bool, now: Time) {
        self.count(now);
        self.shut = if room { None } else { self.shut.or(Some(now)) };
    }

    /// The rate that it carries, at most the configured one.
    pub fn rate(&self) -> Rate {
        Rate((self.rate as u64).clamp(1, self.configured.0))
    }

    /// Called at [`Gate::next_wake`] or at any time.
    pub fn poll(&mut self, now: Time) {
        self.count(now);
        let took = now.saturating_sub(self.since);
        if took < INTERVAL {
            return;
        }
        let carried = self.bytes as f64 * 8.0 / took.as_secs_f64();
        if self.shut_for.as_secs_f64() > SHUT * took.as_secs_f64() {
            self.rate += GAIN * (carried - self.rate);
        } else {
            self.rate *= MORE;
        }
        self.rate = self.rate.clamp(1.0, self.configured.0 as f64);
        (self.since, self.bytes, self.shut_for) = (now, 0, Time::ZERO);
    }

    /// When there may be news.
    pub fn next_wake(&self) -> Time {
        let news = self.shut.is_some() || self.rate() < self.configured;
        if news { self.since.saturating_add(INTERVAL) } else { Time::MAX }
    }

    fn count(&mut self, now: Time) {
        if let Some(since) = &mut self.shut {
            self.shut_for += now.saturating_sub(*since);
            *since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that takes four packets at once, at 8 Mbps over time, of a link of 50.
    #[test]
    fn the_rate_is_what_is_carried_and_comes_back() {
        let mut gate = Gate::new(None, Rate::from_mbps(50));
        for burst in 0..500 {
            let at = Time::from_ms(6 * burst);
            gate.set_room(true, at);
            gate.gave(6000);
            gate.set_room(false, at + Time::from_us(960));
            gate.poll(at + Time::from_us(960));
        }
        let rate = gate.rate().0 as f64;
        assert!((rate - 8e6).abs() < 0.1 * 8e6, "{rate}");
        assert!(!gate.has_room() && gate.next_wake() <= Time::from_secs(3) + INTERVAL);
        gate.set_room(true, Time::from_secs(3));
        (0..40).for_each(|i| gate.poll(Time::from_secs(3) + Time::from_ms(50 * i)));
        assert_eq!((gate.rate(), gate.next_wake()), (Rate::from_mbps(50), Time::MAX));
    }

    /// Nothing to carry is no reason to be slow.
    #[test]
    fn an_idle_gate_keeps_its_rate() {
        let mut gate = Gate::new(None, Rate::from_mbps(50));
        (0..40).for_each(|i| gate.poll(Time::from_ms(50 * i)));
        assert_eq!(gate.rate(), Rate::from_mbps(50));
        gate.configure(Rate::from_mbps(20));
        assert_eq!(gate.rate(), Rate::from_mbps(20));
    }
}
