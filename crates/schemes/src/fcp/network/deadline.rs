//! Deadlines after D³ (§4.2): a fixed price for flows whose rate fits, best effort for the others.
//!
//! A deadline flow asks by the preload of one packet for all the rate that it needs. The link
//! grants that, at the fixed price, while all that it has granted fits its share of the link. Else
//! the packet becomes a normal one, here and on the links behind, and its echo tells the sender so.
//! Best effort is priced for what the deadline flows leave.
//!
//! There is no state for single flows: what is granted is what deadline flows send (`requiredBW` of
//! the pseudocode: at a fixed price, budget over price is bytes), and what they have announced to
//! send or no longer to send. Equation (4) would count an announcement for d, beginning to end,
//! although the flow's packets fill the window only after a round trip and d more: a third flow
//! that asked between would find half a flow's room that isn't there. So an announcement counts in
//! full for a round trip, and fades while the packets take its place (ours).
//!
//! The pseudocode demotes when the required bandwidth exceeds the link's capacity, its text and
//! figure 22 when it exceeds the deadline queue's share. We take the share for packets that ask,
//! and the middle between the share and the link for those that don't: what was granted isn't lost
//! to the window's noise, and senders that take without asking never take all.

use std::collections::VecDeque;

use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::price::{Load, Meter};
use crate::fcp::pricing::{Arrival, Charge, Pricing};

use super::virtual_queue::{Basis, VirtualQueue, common_d};

/// The least share of the link that best effort is priced for. Ours: keeps its price finite.
const LEAST: f64 = 0.01;

/// The pricing.
pub struct Deadline {
    basis: Basis,
    share: f64,
    best_effort: VirtualQueue,
    /// Bytes of deadline packets in place of $: their price is fixed.
    deadline: Meter,
    announced: Announcements,
    ended: Announcements,
}

impl Deadline {
    /// `share` is how much of the link deadline flows get at most.
    pub fn new(basis: Basis, share: f64) -> Deadline {
        Deadline {
            basis,
            share,
            best_effort: VirtualQueue::new(&basis),
            deadline: basis.meter(),
            announced: Announcements::default(),
            ended: Announcements::default(),
        }
    }

    /// The fixed price, $/byte. §6.3: "we use the minimum price".
    fn fixed(&self) -> f64 {
        self.basis.rule.minimum
    }

    /// What deadline flows send and will send, bytes per second.
    fn required(&mut self, now: Time) -> f64 {
        let sums = self.deadline.sum_window(now, &self.basis.rule);
        let d = self.deadline.d(&self.basis.rule);
        (sums.paid / d + self.announced.sum(now, d) - self.ended.sum(now, d)).max(0.0)
    }

    /// Takes a deadline packet in, if what it asks for fits.
    fn grants(&mut self, header: &FcpHeader, size: u32, arrival: &Arrival) -> bool {
        let average = self.deadline.rtt();
        let rtt = if header.rtt > 0.0 { f64::from(header.rtt) } else { average };
        let change = f64::from(header.preload) * f64::from(size) / rtt;
        let load = self.load(arrival);
        let share = if change > 0.0 { self.share } else { (1.0 + self.share) / 2.0 };
        if self.required(arrival.now) + change.max(0.0) > share * load.capacity {
            return false;
        }
        if change > 0.0 {
            // Its packets come a round trip from now; nobody holds room for long by telling a long
            // one.
            self.announced.add(
                arrival.now.saturating_add(Time::from_secs_f64(rtt.min(2.0 * average))),
                change,
                average,
            );
        } else {
            // No packet gives back more than its own rate.
            self.ended.add(arrival.now, (-change).min(f64::from(size) / rtt), average);
        }
        self.deadline.pay(arrival.now, size.into(), 0.0, header.rtt.into());
        true
    }

    /// A deadline packet that finds no room is a normal one from here on.
    fn demote(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        header.class = Class::Normal;
        // The pseudocode counts it with its preload ("updateBestEffortInputBudget"). We leave the
        // preload out: it is a rate that the flow hoped to get for nothing, and at the best-effort
        // price a multiple of any budget. Two refused flows of figure 22 made the price rise
        // thirtyfold. Like a SYN the packet has not been told the price, and counts at the one that
        // it is told now.
        let paid = equations::paid(self.best_effort.link.now(), size.into());
        self.best_effort.pay(&FcpHeader { preload: 0.0, ..*header }, size, paid, arrival.now);
        self.update(arrival);
        Charge { quote: self.best_effort.link.now(), quoted: self.fixed() }
    }

    /// The link without what packets take that pay nothing.
    fn load(&mut self, arrival: &Arrival) -> Load {
        let (sums, _) = self.best_effort.sums_and_income(arrival.now, &self.basis.rule);
        self.best_effort.rest(&sums, arrival, &self.basis.rule)
    }

    /// The best-effort price, for what deadline flows leave.
    fn update(&mut self, arrival: &Arrival) {
        let required = self.required(arrival.now);
        let (sums, income) = self.best_effort.sums_and_income(arrival.now, &self.basis.rule);
        let load = self.best_effort.rest(&sums, arrival, &self.basis.rule);
        let deadline = self.deadline.sum_window(arrival.now, &self.basis.rule);
        let d = common_d(&self.basis, (&self.best_effort.meter, &sums), (&self.deadline, &deadline));
        let capacity = (load.capacity - required).max(LEAST * load.capacity);
        let price = self.basis.rule.price(income, Load { capacity, ..load }, d);
        self.best_effort.link.set(arrival.now, price);
    }
}

impl Pricing for Deadline {
    fn charge(&mut self, header: &mut FcpHeader, size: u32, arrival: &Arrival) -> Charge {
        if header.class != Class::Deadline {
            let quoted = self.best_effort.take(header, size, arrival.now);
            self.update(arrival);
            return Charge { quote: self.best_effort.link.now(), quoted };
        }
        if !self.grants(header, size, arrival) {
            return self.demote(header, size, arrival);
        }
        self.update(arrival);
        Charge { quote: self.fixed(), quoted: self.fixed() }
    }

    fn tell(&mut self, header: &FcpHeader, came: Time) -> f64 {
        if header.class == Class::Deadline {
            return self.fixed();
        }
        self.best_effort.link.tell(came)
    }

    fn pass(&mut self, size: u32, now: Time) {
        self.best_effort.meter.pass(now, size);
    }

    fn reset(&mut self) {
        self.best_effort.reset();
        self.deadline.reset();
        (self.announced, self.ended) = Default::default();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("price", self.best_effort.link.now()));
    }
}

/// Parts of a round trip that announcements are told apart by. Ours: bounds what is kept of many
/// small ones.
const PARTS: f64 = 8.0;

/// Announced rates: each counts in full until a time of its own, then fades within d.
#[derive(Debug, Default)]
struct Announcements {
    /// From when each fades, in order, and bytes per second.
    entries: VecDeque<(Time, f64)>,
}

impl Announcements {
    fn add(&mut self, from: Time, rate: f64, rtt: f64) {
        if rate <= 0.0 {
            return;
        }
        let from = self.entries.back().map_or(from, |last| from.max(last.0));
        match self.entries.back_mut() {
            Some(last) if (from - last.0).as_secs_f64() * PARTS < rtt => last.1 += rate,
            _ => self.entries.push_back((from, rate)),
        }
    }

    /// What they come to now, bytes per second.
    fn sum(&mut self, now: Time, d: f64) -> f64 {
        let left = |from: Time| 1.0 - now.saturating_sub(from).as_secs_f64() / d;
        while self.entries.front().is_some_and(|e| left(e.0) <= 0.0) {
            self.entries.pop_front();
        }
        self.entries.iter().map(|(from, rate)| rate * left(*from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However little each asks for: each counts in full until its time, and fades within d.
    #[test]
    fn small_announcements_add_up() {
        let mut announced = Announcements::default();
        (0..1000).for_each(|ms| announced.add(Time::from_ms(ms), 0.5, 0.1));
        assert!(announced.entries.len() <= 80, "{}", announced.entries.len());
        assert_eq!(announced.sum(Time::ZERO, 0.2), 500.0);
        assert_eq!(announced.sum(Time::from_ms(1200), 0.2), 0.0);
    }
}
