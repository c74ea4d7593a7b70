//! One price for all packets (§4.1).

use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::price::{LinkPrice, Load, Meter, Rule};
use crate::fcp::pricing::{Charge, Moment, Pricing};

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
        Uniform {
            rule,
            meter: Meter::new(rtt).opening_apart().longest_age(rule.additions.longest_age),
            link: LinkPrice::new(rule, rtt),
            catch_up: false,
        }
    }

    /// With a window of at least `d`, s.
    #[must_use]
    pub fn at_least(self, d: f64) -> Uniform {
        Uniform { meter: self.meter.at_least(d), ..self }
    }

    /// With [`Meter::catch_up`], if `on`.
    #[must_use]
    pub fn catching_up(self, on: bool) -> Uniform {
        Uniform { catch_up: on, ..self }
    }

    /// The price after what has just come in.
    #[inline]
    fn update(&mut self, at: &Moment) {
        let sums = self.meter.settle(at.now, &self.rule);
        let d = self.meter.d(&self.rule);
        let capacity = self.meter.capacity(at.now, at.load.capacity, &sums, d, &self.rule);
        let load = Load { capacity, ..at.load };
        let income = self.meter.income(&self.rule, &sums, d);
        let income = Meter::with_opening(&sums, income, self.rule.room(load, d), capacity);
        let price = self.rule.price(income, load, d);
        let caught = if self.catch_up { self.meter.catch_up(&sums, load, d) } else { 0.0 };
        self.link.set(at.now, (price.max(caught) * at.factor).max(self.rule.minimum));
    }
}

impl Pricing for Uniform {
    #[inline]
    fn charge(&mut self, header: &mut FcpHeader, size: u32, at: &Moment) -> Charge {
        let quoted = self.link.quoted(header, at.now);
        let charges = self.link.charges(header, quoted);
        // §5: the minimum of the link's own memory and of the balance.
        let pays = self.link.pays(header, quoted, at.now);
        self.meter.charge(at.now, header, size, equations::paid(pays, size.into()));
        self.update(at);
        Charge { quote: self.link.now(), quoted: charges }
    }

    fn pass(&mut self, size: u32, at: &Moment) {
        self.meter.pass(at.now, size);
    }

    fn reset(&mut self) {
        self.meter.reset();
        self.link.reset();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("price", self.link.now()));
    }
}
