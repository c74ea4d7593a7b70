//! Bandwidth stability (§4.2): a separate price for flows that do not tolerate sudden changes.
//!
//! Two virtual queues. While the link's price, equation (2) over all that comes in, stays in a
//! range, both pay it. When it leaves the range, stability flows pay the range's edge; what they
//! then take of the link is fixed by their budgets, and normal flows are priced for the rest.
//!
//! The paper's pseudocode leaves three things open. (1)
//! `requiredBW = stabilityInputBudget/stabilityPrice/avgRTT/d` is in bytes per second if the input
//! budget is the sum in $ over the window and d the window in round trips; with I in $/s it is
//! I/price. (2) It computes the normal price only when the price is in range, where nothing needs
//! to be stolen; we compute it whenever the range's edge is charged, and in range both are the
//! same: I_n/(C − I_s/p) = p if p = (I_n + I_s)/C. (3) It doesn't say what happens when all of the
//! link is not enough at the bounded price. Then nothing is left to steal, and the bound gives way.

use std::collections::VecDeque;

use midpath_core::units::Time;

use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::price::Load;
use crate::fcp::pricing::{Arrival, Charge, Pricing};

use super::virtual_queue::{Basis, VirtualQueue, common_d};

/// The bound, and over how many average round trips it holds (§4.2: "during a time window of twice
/// the average RTT is bounded by a factor of two").
const FACTOR: f64 = 2.0;
const ROUND_TRIPS: f64 = 2.0;

/// The most of the link that stability flows take at a bounded price. Ours: what is left keeps the
/// normal price finite.
const MOST: f64 = 0.99;

/// The pricing.
pub struct Stability {
    basis: Basis,
    normal: VirtualQueue,
    stable: VirtualQueue,
    range: Range,
}

impl Stability {
    /// Both prices at the minimum.
    pub fn new(basis: Basis) -> Stability {
        Stability {
            basis,
            normal: VirtualQueue::new(&basis),
            stable: VirtualQueue::new(&basis),
            range: Range::default(),
        }
    }

    /// Both prices after what has just come in.
    fn update(&mut self, arrival: &Arrival) {
        let rule = &self.basis.rule;
        let (normal_sums, normal_income) = self.normal.sums_and_income(arrival.now, rule);
        let (stable_sums, stable_income) = self.stable.sums_and_income(arrival.now, rule);
        let d = common_d(&self.basis, (&self.normal.meter, &normal_sums), (&self.stable.meter, &stable_sums));
        let load = self.normal.rest(&normal_sums, arrival, rule);
        let price = rule.price(normal_income + stable_income, load, d);
        // Where no stability flow has sent for a window, nobody's price needs to be held; the first
        // one finds the link's.
        if stable_sums.paid <= 0.0 {
            self.range.clear();
        }
        let span = (ROUND_TRIPS * d / rule.window).max(self.basis.least);
        self.range.expire(arrival.now.saturating_sub(Time::from_secs_f64(span)));
        // §4.2: "it steals bandwidth from the normal queue to bound the price increase"; not more
        // than there is.
        let least = stable_income / (MOST * load.capacity);
        let stable = self.range.bound(price).max(least.min(price)).max(rule.minimum);
        let normal = if stable == price { price } else { self.rest(normal_income, stable_income / stable, load, d) };
        self.range.push(arrival.now, stable);
        self.stable.link.set(arrival.now, stable);
        self.normal.link.set(arrival.now, normal);
    }

    /// The normal price when stability flows take `required` bytes per second of the link.
    fn rest(&self, income: f64, required: f64, load: Load, d: f64) -> f64 {
        let capacity = (load.capacity - required).max((1.0 - MOST) * load.capacity);
        self.basis.rule.price(income, Load { capacity, ..load }, d)
    }
}

impl Pricing for Stability {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        let stable = header.class == Class::Stability;
        let quoted = if stable { &mut self.stable } else { &mut self.normal }.take(header, size, arrival.now);
        self.update(arrival);
        let queue = if stable { &self.stable } else { &self.normal };
        Charge { quote: queue.link.now(), quoted }
    }

    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64 {
        let stable = self.stable.link.tell(came);
        let normal = self.normal.link.tell(came);
        if header.class == Class::Stability { stable } else { normal }
    }

    fn pass(&mut self, size: u32, now: Time) {
        self.normal.meter.pass(now, size);
    }

    fn reset(&mut self) {
        self.normal.reset();
        self.stable.reset();
        self.range.clear();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([("price", self.normal.link.now()), ("stability_price", self.stable.link.now())]);
    }
}

/// The least and the greatest price of a sliding window, in constant amortised time: of each kind,
/// the prices that no later one outdoes, oldest first.
#[derive(Debug, Default)]
struct Range {
    low: VecDeque<(Time, f64)>,
    high: VecDeque<(Time, f64)>,
}

impl Range {
    /// The price closest to `price` that leaves no two prices of the window further apart than the
    /// factor.
    fn bound(&self, price: f64) -> f64 {
        let (Some(low), Some(high)) = (self.low.front(), self.high.front()) else { return price };
        // high ≤ FACTOR·low holds for all that were bounded, but for rounding and where the bound
        // gave way.
        price.max(high.1 / FACTOR).min(FACTOR * low.1)
    }

    fn push(&mut self, now: Time, price: f64) {
        while self.low.back().is_some_and(|e| e.1 >= price) {
            self.low.pop_back();
        }
        self.low.push_back((now, price));
        while self.high.back().is_some_and(|e| e.1 <= price) {
            self.high.pop_back();
        }
        self.high.push_back((now, price));
    }

    /// Forgets prices that were replaced at `from` or before.
    fn expire(&mut self, from: Time) {
        for prices in [&mut self.low, &mut self.high] {
            while prices.front().is_some_and(|e| e.0 <= from) {
                prices.pop_front();
            }
        }
    }

    fn clear(&mut self) {
        *self = Range::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A price that holds is one entry, and is remembered for as long as it was told last.
    #[test]
    fn a_price_that_stays_is_remembered_once() {
        let mut range = Range::default();
        (0..1000).for_each(|ms| range.push(Time::from_ms(ms), 2.0));
        assert_eq!((range.low.len(), range.high.len()), (1, 1));
        range.expire(Time::from_ms(998));
        assert_eq!((range.bound(9.0), range.bound(0.1)), (4.0, 1.0));
        range.expire(Time::from_ms(999));
        assert_eq!(range.bound(9.0), 9.0);
    }
}
