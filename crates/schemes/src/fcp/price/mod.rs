//! The price of a link: equations (2) to (4) of §4.1 (`equations.rs`), at every packet.
//!
//! [`Meter`] has the arrivals (the sums of equation 4 over a sliding window), [`LinkPrice`] the quoted prices, and
//! [`Rule`] the constants. Network policies (§4.2) combine the same parts in other ways.

mod history;
mod link;
mod meter;
mod window;

pub use history::History;
pub use link::LinkPrice;
pub use meter::Meter;
pub use window::{Opening, Payment, Terms, Window};

use super::equations;
use super::header::MAX_PRICE;
use super::params::Additions;

/// The constants of the pricing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// α of equation (2).
    pub alpha: f64,
    /// d as a multiple of the average round-trip time.
    pub window: f64,
    /// The least price, $/byte (§5).
    pub minimum: f64,
    /// What we add.
    pub additions: Additions,
}

/// The state of the link that a price is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// C: bytes per second.
    pub capacity: f64,
    /// q(t): bytes that wait.
    pub queue: f64,
}

impl Rule {
    /// The denominator of equation (2), bytes per second.
    #[inline]
    pub fn room(&self, load: Load, d: f64) -> f64 {
        equations::room(load.capacity, self.alpha, load.queue, d)
    }

    /// Equation (2), from the budget that comes in ($/s). Never below the minimum.
    #[inline]
    pub fn price(&self, income: f64, load: Load, d: f64) -> f64 {
        let price = equations::price(income, load.capacity, self.alpha, load.queue, d);
        equations::at_most(equations::at_least(price, self.minimum), MAX_PRICE)
    }

    /// A price as it enters a sum: the minimum counts as zero (§5).
    #[inline]
    pub fn counted(&self, price: f64) -> f64 {
        if price > self.minimum { price } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions::NONE };

    #[test]
    fn no_price_is_below_the_minimum() {
        let load = Load { capacity: 1000.0, queue: 20.0 };
        assert_eq!(RULE.price(400.0, load, 0.2), 0.5);
        assert_eq!(RULE.price(0.0, load, 0.2), 1e-18);
    }
}
