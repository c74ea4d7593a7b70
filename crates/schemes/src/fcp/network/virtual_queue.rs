//! Building blocks of the pricing policies.

use midpath_core::units::Time;

use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::price::{LinkPrice, Load, Meter, Rule, Terms};
use crate::fcp::pricing::Arrival;

/// What the parts of a pricing start from.
#[derive(Debug, Clone, Copy)]
pub struct Basis {
    /// The constants.
    pub rule: Rule,
    /// The round-trip time to reckon with while no packet has told one, s.
    pub rtt: f64,
    /// The least window, s.
    pub least: f64,
    /// Packets are told prices as they leave, not as they come.
    pub on_departure: bool,
}

impl Basis {
    /// The paper's: a window of any length.
    pub fn new(rule: Rule, rtt: f64) -> Basis {
        Basis { rule, rtt, least: 0.0, on_departure: false }
    }

    /// A meter that has seen nothing.
    pub fn meter(&self) -> Meter {
        Meter::new(self.rtt).at_least(self.least).longest_age(self.rule.additions.longest_age)
    }

    /// A price at the minimum.
    pub fn link(&self) -> LinkPrice {
        LinkPrice::new(self.rule, self.rtt).on_departure(self.on_departure)
    }
}

/// A virtual queue: one class of packets, what it brings in and what it is told. All lanes of a
/// link share its one FIFO.
pub struct VirtualQueue {
    /// What it brings in.
    pub meter: Meter,
    /// What it is told.
    pub link: LinkPrice,
    /// When the newest packet came, and what it paid, $.
    newest: (Time, f64),
}

impl VirtualQueue {
    /// A virtual queue that has seen nothing.
    pub fn new(basis: &Basis) -> VirtualQueue {
        VirtualQueue { meter: basis.meter(), link: basis.link(), newest: (Time::ZERO, 0.0) }
    }

    /// A packet of this class comes in. Returns what its sender had been told, $/byte.
    #[inline]
    pub fn take(&mut self, header: &FcpHeader, size: u32, now: Time) -> f64 {
        let quoted = self.link.quoted(header, now);
        let pays = self.link.pays(header, quoted, now);
        self.pay(header, size, equations::paid(pays, size.into()), now);
        quoted
    }

    /// A packet of this class pays `paid` $.
    #[inline]
    pub fn pay(&mut self, header: &FcpHeader, size: u32, paid: f64, now: Time) {
        self.meter.charge(now, header, size, paid);
        self.newest = (now, paid);
    }

    /// Forgets what is older than d. Returns what is left, and the income it makes, $/s.
    #[inline]
    pub fn sums_and_income(&mut self, now: Time, rule: &Rule) -> (Terms, f64) {
        let sums = self.meter.sum_window(now, rule);
        let d = self.meter.d(rule);
        let income = self.meter.incoming_budget(rule, &sums, d);
        // The meter leaves half of the newest packet out, which is right when it has just come.
        // Other queues' packets find this one at any moment, and then its sum has no half packet
        // too many.
        let behind = rule.additions.half_packet && now > self.newest.0 && sums.paid > 0.0;
        let half = if behind { self.newest.1 / 2.0 } else { 0.0 };
        (sums, income + half / d)
    }

    /// The link without what packets take that pay nothing, all of which this queue has seen.
    #[inline]
    pub fn rest(&self, sums: &Terms, arrival: &Arrival, rule: &Rule) -> Load {
        let capacity = self.meter.capacity(arrival.now, arrival.load.capacity, sums, self.meter.d(rule), rule);
        Load { capacity, ..arrival.load }
    }

    /// Forgets everything but round-trip times.
    pub fn reset(&mut self) {
        self.meter.reset();
        self.link.reset();
        self.newest = (Time::ZERO, 0.0);
    }
}

/// What senders spend by their balances, in their currency, as exchange rates reckon with it:
/// announced increases count, decreases when they are gone from the window. Ours: a flow's last
/// round trip would be next to nothing, and its currency be worth any amount.
pub fn spent(meter: &mut Meter, now: Time, rule: &Rule) -> f64 {
    let sums = meter.sum_window(now, rule);
    meter.incoming_budget(rule, &Terms { preloaded: sums.preloaded.max(0.0), ..sums }, meter.d(rule))
}

/// d for two meters together, s: the average round-trip time over both's packets, or that of the
/// first while neither has any.
#[inline]
pub fn common_d(basis: &Basis, first: (&Meter, &Terms), second: (&Meter, &Terms)) -> f64 {
    let packets = first.1.packets + second.1.packets;
    let rtt = if packets > 0.0 { (first.1.rtt + second.1.rtt) / packets } else { first.0.rtt() };
    (basis.rule.window * rtt).max(basis.least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    const RULE: Rule =
        Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions { half_packet: true, ..Additions::NONE } };

    fn header() -> FcpHeader {
        FcpHeader { rtt: 0.1, balance: 1.0, exchange: 1.0, ..FcpHeader::default() }
    }

    /// d = 0.2 s. The newest packet counts half when it has just come, and whole for who looks later.
    #[test]
    fn the_newest_packet_counts_half_at_its_own_time_alone() {
        let mut queue = VirtualQueue::new(&Basis::new(RULE, 0.1));
        let mut income = |ms| queue.sums_and_income(Time::from_ms(ms), &RULE).1;
        assert_eq!(income(1), 0.0);
        queue.pay(&header(), 1000, 3.0, Time::from_ms(2));
        let mut income = |ms| queue.sums_and_income(Time::from_ms(ms), &RULE).1;
        assert!((income(2) - 1.5 / 0.2).abs() < 1e-6 && (income(3) - 3.0 / 0.2).abs() < 1e-6);
    }

    #[test]
    fn a_restart_forgets_all_but_round_trips() {
        let basis = Basis::new(RULE, 0.1);
        let mut queue = VirtualQueue::new(&basis);
        queue.pay(&FcpHeader { rtt: 0.5, ..header() }, 1000, 3.0, Time::from_ms(2));
        queue.sums_and_income(Time::from_ms(2), &RULE);
        queue.link.set(Time::from_ms(2), 7.0);
        queue.reset();
        let (sums, income) = queue.sums_and_income(Time::from_ms(3), &RULE);
        assert_eq!((sums.paid, income, queue.link.now(), queue.newest), (0.0, 0.0, RULE.minimum, (Time::ZERO, 0.0)));
        assert!((queue.meter.rtt() - 0.5).abs() < 1e-6, "{}", queue.meter.rtt());
    }
}
