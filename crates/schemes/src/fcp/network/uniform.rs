//! One price for all packets (§4.1).

use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::port::{Charge, Moment, Pricing};
use crate::fcp::price::{LinkPrice, Load, Meter, Rule};

/// The pricing of §4.1: equation (2) over everything that comes in.
pub struct Uniform {
    rule: Rule,
    meter: Meter,
    link: LinkPrice,
    catch_up: bool,
    /// When the last silence ended that flows have waited through, and the price before it.
    held: Option<(Time, f64)>,
}

impl Uniform {
    /// The paper's. `rtt` is the round-trip time to reckon with while no packet has told one, s.
    pub fn new(rule: Rule, rtt: f64) -> Uniform {
        Uniform {
            rule,
            meter: Meter::new(rtt).holding(rule.additions.hold),
            link: LinkPrice::new(rule, rtt),
            catch_up: false,
            held: None,
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

    /// The price from before a silence that flows have waited through, until the window has been
    /// filled again: nobody has said that he will pay less, and a sum over a few packets would say
    /// so for all.
    #[inline]
    fn held(&mut self, at: &Moment) -> f64 {
        let resumed = self.meter.resumed(at.now);
        self.held = match (resumed, self.held) {
            (Some(now), Some((before, price))) if now == before => Some((now, price)),
            (Some(now), _) => Some((now, self.link.now())),
            (None, _) => None,
        };
        self.held.map_or(0.0, |(_, price)| price)
    }

    /// The price after what has just come in.
    #[inline]
    fn update(&mut self, at: &Moment) {
        let sums = self.meter.settle(at.now, &self.rule);
        let d = self.meter.d(&self.rule);
        let capacity = self.meter.capacity(at.now, at.load.capacity, &sums, d);
        let load = Load { capacity, ..at.load };
        let price = self.rule.price(self.meter.income(&self.rule, &sums, d), load, d);
        let caught = if self.catch_up { self.meter.catch_up(&sums, load, d) } else { 0.0 };
        let least = caught.max(self.held(at));
        self.link.set(at.now, (price.max(least) * at.factor).max(self.rule.minimum));
    }
}

impl Pricing for Uniform {
    #[inline]
    fn charge(&mut self, header: &mut FcpHeader, size: u32, at: &Moment) -> Charge {
        let quoted = self.link.quoted(header, at.now);
        // §5: the minimum of the link's own memory and of the balance.
        let pays = self.link.pays(header, quoted, at.now);
        self.meter.charge(at.now, header, size, equations::paid(pays, size.into()));
        self.update(at);
        Charge { quote: self.link.now(), quoted }
    }

    fn pass(&mut self, size: u32, at: &Moment) {
        self.meter.pass(at.now, size);
    }

    fn reset(&mut self) {
        self.meter.reset();
        self.link.reset();
        self.held = None;
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("price", self.link.now()));
    }
}
