//! Paris Metro Pricing (§4.2): a priority queue whose price is a multiple of the standard one.
//!
//! "The end-host will only use the priority queue when it is worth it and necessary making the
//! priority queue see much less traffic than the standard one." What it is worth is a queue of its
//! own that is served first, so the port holds two FIFOs: a virtual queue would have the price and
//! nothing to sell.
//!
//! Priority traffic pays m·p. With I_n and I_p the budgets of both, rates I_n/p and I_p/(m·p) fill
//! the link when p = (I_n + I_p/m) / C: equation (2), where a priority packet counts a m-th of what
//! it pays. The paper doesn't say so; with all of I_p in the numerator the link would stand idle in
//! part.

use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::price::{LinkPrice, Rule};
use crate::fcp::pricing::{Arrival, Charge, Pricing};

use super::virtual_queue::{Basis, VirtualQueue};

/// The pricing.
pub struct Metro {
    rule: Rule,
    factor: f64,
    queue: VirtualQueue,
    /// Where packets are told prices as they leave, what priority packets are told, as the standard price: they
    /// overtake the others, so that each kind leaves in order by itself.
    priority: Option<LinkPrice>,
}

impl Metro {
    /// `factor` is the priority price in multiples of the standard one.
    pub fn new(basis: Basis, factor: f64) -> Metro {
        let priority = basis.on_departure.then(|| basis.link());
        Metro { rule: basis.rule, factor, queue: VirtualQueue::new(&basis), priority }
    }

    fn update(&mut self, arrival: &Arrival) {
        let (sums, income) = self.queue.sums_and_income(arrival.now, &self.rule);
        let load = self.queue.rest(&sums, arrival, &self.rule);
        let price = self.rule.price(income, load, self.queue.meter.d(&self.rule));
        self.queue.link.set(arrival.now, price);
        self.priority.iter_mut().for_each(|link| link.set(arrival.now, price));
    }

    /// The standard price, as packets of `class` are told it.
    fn link(&mut self, class: Class) -> &mut LinkPrice {
        self.priority.as_mut().filter(|_| class == Class::Priority).unwrap_or(&mut self.queue.link)
    }

    /// What a packet of `class` pays when the standard price is `price`. The minimum counts as
    /// zero, and so do its multiples (§5).
    fn of(&self, class: Class, price: f64) -> f64 {
        if class == Class::Priority && price > self.rule.minimum { self.factor * price } else { price }
    }
}

impl Pricing for Metro {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        let standard = self.link(header.class).quoted(header, arrival.now);
        let quoted = self.of(header.class, standard);
        let share = header.pays(quoted) / quoted;
        let paid = equations::paid(share * standard, size.into());
        self.queue.pay(header, size, paid, arrival.now);
        self.update(arrival);
        Charge { quote: self.of(header.class, self.queue.link.now()), quoted }
    }

    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64 {
        let standard = self.link(header.class).tell(came);
        self.of(header.class, standard)
    }

    fn pass(&mut self, size: u32, now: Time) {
        self.queue.meter.pass(now, size);
    }

    fn reset(&mut self) {
        self.queue.reset();
        self.priority.iter_mut().for_each(LinkPrice::reset);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let price = self.queue.link.now();
        out.extend([("price", price), ("priority_price", self.of(Class::Priority, price))]);
    }
}
