//! One price for all packets (§4.1).

use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::price::{LinkPrice, Load, Meter, Rule};
use crate::fcp::pricing::{Arrival, Charge, Pricing};

/// The pricing of §4.1: equation (2) over everything that comes in.
pub struct Uniform {
    rule: Rule,
    meter: Meter,
    link: LinkPrice,
    catch_up: bool,
}

impl Uniform {
    /// The paper's. `rtt` is the round-trip time to reckon with while no packet has told one, s.
    pub fn new(rule: Rule, rtt: f64) -> Uniform {
        let meter = Meter::new(rtt).opening_apart().longest_age(rule.additions.longest_age);
        Uniform { rule, meter, link: LinkPrice::new(rule, rtt), catch_up: false }
    }

    /// With a window of at least `d`, s.
    #[must_use]
    pub fn at_least(self, d: f64) -> Uniform {
        Uniform { meter: self.meter.at_least(d), ..self }
    }

    /// Packets are told the price as they leave, if `yes`.
    #[must_use]
    pub fn on_departure(self, yes: bool) -> Uniform {
        Uniform { link: self.link.on_departure(yes), ..self }
    }

    /// With [`Meter::catch_up`], if `on`.
    #[must_use]
    pub fn catching_up(self, on: bool) -> Uniform {
        Uniform { catch_up: on, ..self }
    }

    /// The price after what has just come in.
    #[inline(always)]
    fn update(&mut self, arrival: &Arrival) {
        let sums = self.meter.sum_window(arrival.now, &self.rule);
        let d = self.meter.d(&self.rule);
        let capacity = self.meter.capacity(arrival.now, arrival.load.capacity, &sums, d, &self.rule);
        let load = Load { capacity, ..arrival.load };
        let income = self.meter.incoming_budget(&self.rule, &sums, d);
        let income = Meter::with_opening(&sums, income, self.rule.room(load, d), capacity);
        let price = self.rule.price(income, load, d);
        let caught = if self.catch_up { self.meter.catch_up(&sums, load, d) } else { 0.0 };
        let price = equations::at_least(caught, price) * arrival.factor;
        self.link.set(arrival.now, equations::at_least(price, self.rule.minimum));
    }
}

impl Pricing for Uniform {
    #[inline(always)]
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        let quoted = self.link.quoted(header, arrival.now);
        let charges = self.link.charges(header, quoted);
        // §5: the minimum of the link's own memory and of the balance.
        let pays = self.link.pays(header, quoted, arrival.now);
        self.meter.charge(arrival.now, header, size, equations::paid(pays, size.into()));
        self.update(arrival);
        Charge { quote: self.link.now(), quoted: charges }
    }

    fn tell(&mut self, _header: &FcpHeader, came: Time) -> f64 {
        self.link.tell(came)
    }

    #[inline(always)]
    fn pass(&mut self, size: u32, now: Time) {
        self.meter.pass(now, size);
    }

    fn reset(&mut self) {
        self.meter.reset();
        self.link.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("price", self.link.now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    const CAPACITY: f64 = 1e6;
    /// What the path costs, $/byte.
    const PATH: f32 = 1e-6;

    /// The price of a link of 1 MB/s after 0.2 s, d, in which each millisecond a packet of `paying`
    /// bytes comes that has been told the path's price before, and `unpaid` bytes that pay nothing.
    fn price(mut uniform: Uniform, paying: u32, unpaid: u32, queue: f64) -> f64 {
        for ms in 1..=200 {
            let arrival = Arrival { now: Time::from_ms(ms), load: Load { capacity: CAPACITY, queue }, factor: 1.0 };
            uniform.pass(unpaid, arrival.now);
            let mut header = FcpHeader { rtt: 0.1, balance: PATH, exchange: 1.0, ..FcpHeader::default() };
            uniform.charge(&mut header, paying, &arrival);
        }
        uniform.link.now()
    }

    fn with(additions: Additions) -> Uniform {
        Uniform::new(Rule { alpha: 0.0, window: 2.0, minimum: 1e-18, additions }, 0.1)
    }

    #[test]
    fn what_pays_nothing_makes_the_rest_dearer() {
        // The first 0.1 s pays the path's price, for this link has forgotten what it told.
        let found = |leave_unpaid| {
            let additions = Additions { leave_unpaid, trust_balance: true, ..Additions::NONE };
            price(with(additions), 500, 500, 0.0) / price(with(additions), 500, 0, 0.0)
        };
        assert!(found(true) > 1.9 && (found(false) - 1.0).abs() < 1e-9, "{} {}", found(true), found(false));
    }

    #[test]
    fn an_overloaded_link_that_costs_nothing_yet_catches_up() {
        // Twice the capacity comes: half of the path's price once more would halve it.
        let found = |catch_up| price(with(Additions::NONE).catching_up(catch_up), 2000, 0, 50e3);
        assert!((found(true) / f64::from(PATH) - 0.5).abs() < 0.05 && found(false) < 1e-15, "{}", found(true));
        // Not without a queue.
        assert!(price(with(Additions::NONE).catching_up(true), 2000, 0, 10e3) < 1e-15);
    }
}
