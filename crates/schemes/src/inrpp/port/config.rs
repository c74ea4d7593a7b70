//! Common configuration of a network's ports.

use midpath_core::queue::Limit;
use midpath_core::units::Time;

use crate::inrpp::auth::Keys;
use crate::inrpp::load::Gains;
use crate::inrpp::machine::Lasting;
use crate::inrpp::params::{Additions, Notify, Params, SHUFFLE};

/// Common configuration of a network's ports.
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) cache: Option<Limit>,
    pub(super) high: Option<Limit>,
    pub(super) low: f64,
    pub(super) buffer: Option<Limit>,
    pub(super) tcp_cache: Option<Limit>,
    pub(super) carry: bool,
    pub(super) backpressure: bool,
    pub(super) additions: Additions,
    pub(super) enforcement: bool,
    pub(super) notify: Notify,
    pub(super) gains: Gains,
    pub(super) decision: Time,
    pub(super) nonces: usize,
    pub(super) expiry: Time,
    pub(super) lasting: Lasting,
    pub(super) keys: Keys,
}

impl Config {
    /// From parameters that have been checked.
    pub fn new(p: &Params) -> Config {
        // The usual weight of a moving average that reaches back n intervals: 2/(n+1).
        let shuffle = if p.additions.shuffle { SHUFFLE } else { 0.0 };
        let weight = 2.0 / (f64::from(p.average) + 1.0);
        Config {
            cache: p.cache,
            high: p.high,
            low: p.low,
            buffer: p.buffer,
            tcp_cache: p.tcp_cache,
            carry: p.carry_tcp,
            backpressure: p.backpressure,
            additions: p.additions.settled(),
            enforcement: p.enforcement,
            notify: p.notify,
            gains: Gains { alpha: p.alpha, interval: p.probe_interval, weight, shuffle },
            decision: p.decision_interval,
            nonces: p.nonces,
            expiry: p.expiry,
            lasting: Lasting { state: p.linger, cancel: p.expiry },
            keys: Keys::new(p.auth, &p.secret).resume_after(p.first_number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An average over n intervals gives the newest 2/(n + 1).
    #[test]
    fn averages_reach_back_five_intervals() {
        let gains = Config::new(&Params::default()).gains;
        assert_eq!((gains.weight, gains.interval), (2.0 / 6.0, Time::from_ms(10)));
    }
}
