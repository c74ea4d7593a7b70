//! The queue delay: one-way delay above its base (§4.2.1.4, RFC 6817, §4.2). Clocks of sender and receiver need not agree.

use std::collections::VecDeque;

use crate::calls::feedback::NTP;

/// The base is the least of so many periods of so many seconds: `kBaseOwdHistSize`, `kBaseDelayUpdateInterval_ntp` in
/// the authors' implementation. RFC 6817 has ten minutes.
const PERIODS: usize = 50;
const PERIOD_S: f64 = 10.0;

/// Base delays, period by period.
#[derive(Debug, Clone, Default)]
pub struct BaseDelay {
    /// The first delay measured: others are differences to it, so that clocks may wrap.
    first: Option<u32>,
    /// Least difference of each period, newest last.
    least: VecDeque<i32>,
    began: f64,
}

impl BaseDelay {
    /// A data unit took this long by the two clocks, in 1/65,536 s: its queue delay in seconds.
    pub fn qdelay(&mut self, took: u32, now: f64) -> f64 {
        let difference = took.wrapping_sub(*self.first.get_or_insert(took)) as i32;
        if self.least.is_empty() || now - self.began >= PERIOD_S {
            self.began = now;
            self.least.push_back(difference);
            if self.least.len() > PERIODS {
                self.least.pop_front();
            }
        }
        if let Some(least) = self.least.back_mut() {
            *least = difference.min(*least);
        }
        let base = self.least.iter().copied().min().unwrap_or(difference);
        f64::from(difference.wrapping_sub(base).max(0)) / f64::from(NTP)
    }
}
