//! Aggregate congestion control (§4.3): each group of flows has a currency, and bandwidth by the
//! group's weight.
//!
//! A group's currency is worth more with its weight, and less the more of it comes in. The paper's
//! exchange rate is E_G = (w_G/Σw) / (I_G/ΣI), with I_G in the group's currency from the balances.
//! Prices are told in the sender's currency.
//!
//! The paper's formula for that is price += p·E_G. It is upside down: a group of budget I_G would
//! send I_G/(p·E_G) ∝ I_G²/w_G, more for the lighter and richer one. What costs p in the link's
//! currency costs p/E_G in one of which a unit is worth E_G; then a group sends I_G·E_G/p ∝ w_G.
//! The text and figure 23 agree with the division. We divide.
//!
//! The factor ΣI/Σw is the same for all groups. It is but the unit of the link's currency, and
//! would make every price jump when one group's income does. We leave it out: E_G = w_G/I_G. All
//! that a group spends is then worth w_G per second.
//!
//! The link's price p is equation (2) over "its own link's price history": what packets were told,
//! in the link's currency. An announcement has to be worth what it will be worth when it is spent.
//! The group's currency loses by it; and what a group's first flow was told before the link knew
//! its currency says nothing. So what is announced counts at the exchange rate of now, and what is
//! sent counts for what was told, or for less if the currency has lost since.

use std::collections::BTreeMap;

use midpath_core::units::Time;

use crate::fcp::header::{FcpHeader, MAX_EXCHANGE};
use crate::fcp::price::{LinkPrice, Load, Meter, Rule};
use crate::fcp::pricing::{Arrival, Charge, Pricing};

use super::virtual_queue::{Basis, VirtualQueue, spent};

/// What a group counts for at most, in multiples of its weight. Ours: what it announces and what it
/// sends are worth its weight together; equation (4) counts an announcement up to 1.5 times, for
/// half a window of the new traffic is there before it is out of the window.
const MOST: f64 = 1.5;

/// From which loss on a group's traffic counts for less than it was told. Ours: far above a
/// window's noise.
const LOSS: f64 = 0.9;

/// One group at one link.
struct Group {
    weight: f64,
    /// What its packets spend, all their paths together, in its currency.
    spends: Meter,
    /// What they pay here, in the link's currency.
    queue: VirtualQueue,
    /// What they pay and announce here, in their own.
    own_currency: Meter,
    /// What they are told, in their own.
    quoted: LinkPrice,
    /// E_G: what a unit of its currency is worth in the link's. While nobody has spent any, as much
    /// as can be: the first flow finds a price of nearly nothing, as on an idle path, and announces
    /// what it is going to spend.
    exchange: f64,
    /// What it counts for in equation (2), in the link's currency, $/s.
    income: f64,
}

impl Group {
    /// What it counts for, in the link's currency, $/s. Renews the exchange rate.
    fn update_income(&mut self, now: Time, rule: &Rule) -> f64 {
        let spent = spent(&mut self.spends, now, rule);
        // Nothing spent is infinity, which is clamped.
        self.exchange = (self.weight / spent).clamp(1.0 / MAX_EXCHANGE, MAX_EXCHANGE);
        let ((quoted, sent), own_currency) =
            (self.queue.sums_and_income(now, rule), self.own_currency.sum_window(now, rule));
        let now_worth = own_currency.paid * self.exchange;
        let left = if now_worth < LOSS * quoted.paid { now_worth / quoted.paid } else { 1.0 };
        (sent * left + own_currency.preloaded * self.exchange).max(0.0)
    }
}

/// The pricing.
pub struct Aggregate {
    basis: Basis,
    /// Round-trip times, and packets that pay nothing.
    all: Meter,
    /// p in the link's currency.
    price: LinkPrice,
    /// Groups by number; the last one is of those that have no weight in the scenario.
    numbers: BTreeMap<u16, usize>,
    groups: Vec<Group>,
    /// Σ of what the groups count for.
    income: f64,
    /// The group that is looked at next.
    next: usize,
}

impl Aggregate {
    /// `weights` by group; groups not named have one currency together, of weight 1.
    pub fn new(basis: Basis, weights: &BTreeMap<u16, f64>) -> Aggregate {
        let group = |weight: f64| Group {
            weight,
            spends: basis.meter(),
            queue: VirtualQueue::new(&basis),
            own_currency: basis.meter(),
            exchange: MAX_EXCHANGE,
            quoted: basis.link(),
            income: 0.0,
        };
        Aggregate {
            basis,
            all: basis.meter(),
            price: basis.link(),
            numbers: weights.keys().enumerate().map(|(i, number)| (*number, i)).collect(),
            groups: weights.values().copied().chain([1.0]).map(group).collect(),
            income: 0.0,
            next: 0,
        }
    }

    fn group(&self, header: &FcpHeader) -> usize {
        self.numbers.get(&header.tenant).copied().unwrap_or(self.groups.len() - 1)
    }

    /// Takes in what a packet pays. Returns what it had been told, in its currency.
    fn take(&mut self, n: usize, header: &FcpHeader, size: u32, arrival: &Arrival) -> f64 {
        let group = &mut self.groups[n];
        let worth = self.price.quoted(header, arrival.now);
        // A SYN is told the price of a moment later, and nothing of the group's.
        let quoted = if header.rtt > 0.0 { group.quoted.quoted(header, arrival.now) } else { worth };
        // It pays that part of what it was told that its balance covers.
        let (bytes, paid) = (f64::from(size), header.pays(quoted));
        group.own_currency.charge(arrival.now, header, size, paid * bytes);
        let quiet = FcpHeader { preload: 0.0, ..*header };
        group.queue.pay(&quiet, size, paid / quoted * worth * bytes, arrival.now);
        // "To estimate the input budget for each group of flows, we use the balance field."
        group.spends.charge(arrival.now, header, size, header.local_balance() * bytes);
        self.all.charge(arrival.now, header, size, 0.0);
        quoted
    }

    /// A price in a group's currency. The minimum counts as zero in any (§5).
    fn quote(&self, n: usize, price: f64) -> f64 {
        let minimum = self.basis.rule.minimum;
        if price > minimum { (price / self.groups[n].exchange).max(minimum) } else { minimum }
    }

    /// What a group counts for now.
    ///
    /// The paper updates groups by timers when packets leave the window. We look at the sender's
    /// own and at one other group with each packet, in turn, so that nobody's income outlasts its
    /// window by more packets than there are groups.
    fn update_group(&mut self, n: usize, arrival: &Arrival) {
        let group = &mut self.groups[n];
        let income = group.update_income(arrival.now, &self.basis.rule).min(MOST * group.weight);
        self.income += income - group.income;
        group.income = income;
    }

    fn update_next_group(&mut self, arrival: &Arrival) {
        self.next = (self.next + 1) % self.groups.len();
        self.update_group(self.next, arrival);
        if self.next == 0 {
            // Summed anew now and then, so that rounding does not add up.
            self.income = self.groups.iter().map(|g| g.income).sum();
        }
    }

    /// Equation (2) in the link's currency.
    fn update(&mut self, arrival: &Arrival) {
        let rule = &self.basis.rule;
        let sums = self.all.sum_window(arrival.now, rule);
        let d = self.all.d(rule);
        let capacity = self.all.capacity(arrival.now, arrival.load.capacity, &sums, d, &self.basis.rule);
        let price = rule.price(self.income, Load { capacity, ..arrival.load }, d);
        self.price.set(arrival.now, price);
    }
}

impl Pricing for Aggregate {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        let n = self.group(header);
        let quoted = self.take(n, header, size, arrival);
        self.update_next_group(arrival);
        self.update_group(n, arrival);
        self.update(arrival);
        let quote = self.quote(n, self.price.now());
        self.groups[n].quoted.set(arrival.now, quote);
        Charge { quote, quoted }
    }

    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64 {
        let (n, price) = (self.group(header), self.price.tell(came));
        let quote = self.quote(n, price);
        self.groups[n].quoted.tell_as(came, quote)
    }

    fn pass(&mut self, size: u32, now: Time) {
        self.all.pass(now, size);
    }

    fn reset(&mut self) {
        self.all.reset();
        self.price.reset();
        self.income = 0.0;
        for group in &mut self.groups {
            group.spends.reset();
            group.queue.reset();
            group.own_currency.reset();
            group.quoted.reset();
            group.exchange = MAX_EXCHANGE;
            group.income = 0.0;
        }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("price", self.price.now()));
    }
}
