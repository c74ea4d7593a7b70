//! One price over time: the quoted price, and what a packet pays.

use midpath_core::units::Time;

use super::{History, Rule};
use crate::fcp::equations::{at_least, at_most};
use crate::fcp::header::FcpHeader;

/// One price of a link over time: what everybody pays (§4.1), or what one class of packets pays
/// (§4.2).
#[derive(Debug, Clone)]
pub struct LinkPrice {
    rule: Rule,
    history: History,
    price: f64,
    /// Packets are told the price as they leave.
    on_departure: bool,
    /// Of the last one that left, when it came.
    came: Time,
    /// When the packet was told that was [`LinkPrice::quoted`] a price last.
    asked: Time,
}

impl LinkPrice {
    /// A price that starts at the minimum. `rtt` is the longest round trip that is expected, s;
    /// longer ones are learned.
    pub fn new(rule: Rule, rtt: f64) -> LinkPrice {
        let history = History::new(Time::from_secs_f64(2.0 * rtt));
        LinkPrice { rule, history, price: rule.minimum, on_departure: false, came: Time::ZERO, asked: Time::ZERO }
    }

    /// The same; if `yes`, packets are told the price as they leave ([`LinkPrice::tell`]), not as they come.
    #[must_use]
    pub fn on_departure(self, yes: bool) -> LinkPrice {
        LinkPrice { on_departure: yes, ..self }
    }

    /// The price now, $/byte.
    #[inline]
    pub fn now(&self) -> f64 {
        self.price
    }

    /// The price is `price` from now on.
    #[inline(always)]
    pub fn set(&mut self, now: Time, price: f64) {
        self.price = price;
        if !self.on_departure {
            self.history.push(now, price);
        }
    }

    /// A packet that came at `came` leaves and is told the price. It is remembered under the time at which the
    /// packet came, for a sender's round trips are counted to that: p(t − rtt) is then what was told, however
    /// long it waited here.
    pub fn tell(&mut self, came: Time) -> f64 {
        self.tell_as(came, self.price)
    }

    /// The same of a price that is told in another currency.
    pub fn tell_as(&mut self, came: Time, price: f64) -> f64 {
        self.came = self.came.max(came);
        self.history.push(self.came, price);
        price
    }

    /// p(t − rtt(s)): what this link told the packet's sender, as far as it remembers. A SYN has
    /// been told nothing; it counts at the price that it is about to be told. For each hop of data, as
    /// [`LinkPrice::set`].
    #[inline(always)]
    pub fn quoted(&mut self, header: &FcpHeader, now: Time) -> f64 {
        if header.rtt <= 0.0 {
            return self.price;
        }
        self.asked = now.saturating_sub(Time::from_secs_f64(header.rtt.into()));
        self.history.at(self.asked, now).unwrap_or(self.rule.minimum)
    }

    /// What a packet is charged that was `quoted` this. In a crowd prices rise within an instant.
    /// Who has less than what is remembered was told less, if anybody was about then; than the minimum nobody
    /// was.
    ///
    /// To be asked after [`LinkPrice::quoted`], for the same packet.
    #[inline]
    pub fn charges(&self, header: &FcpHeader, quoted: f64) -> f64 {
        let left = f64::from(header.exchange) * header.left();
        if header.rtt <= 0.0 || quoted <= at_least(left, self.rule.minimum) {
            return quoted;
        }
        self.history.least(left).map_or(quoted, |least| at_most(quoted, at_least(least, left)))
    }

    /// What a packet pays for this link per byte that was `quoted` this: the minimum of that and of
    /// its balance (§5, "Implementation details"), so that neither a wrong round-trip time nor a
    /// forgotten price makes much of it.
    ///
    /// What it told before a restart, or longer ago than any round trip so far, a link doesn't know. At the minimum
    /// everybody's payment would be nothing, and the price fall until senders flood it; so it takes what other links on
    /// the way have left of the balance (`trust_balance`).
    ///
    /// To be asked after [`LinkPrice::quoted`], for the same packet.
    #[inline]
    pub fn pays(&self, header: &FcpHeader, quoted: f64, now: Time) -> f64 {
        // What is remembered at a time is so later, too.
        let may_be_older = header.rtt > 0.0 && !self.history.found(self.asked);
        if may_be_older && self.rule.additions.trust_balance && self.is_older(header, now) {
            return header.left().max(self.rule.minimum);
        }
        header.pays(quoted)
    }

    /// Whether the packet was told its price before what this link remembers: it has restarted, or the round trip has
    /// grown beyond all that were asked for, as behind a link that was down. A header's time has 24 bits.
    #[cold]
    fn is_older(&self, header: &FcpHeader, now: Time) -> bool {
        let quoted_at = now.saturating_sub(Time::from_secs_f64(f64::from(header.rtt) * (1.0 - 1e-6)));
        !self.history.found(quoted_at)
    }

    /// Back to the minimum.
    pub fn reset(&mut self) {
        let LinkPrice { rule, on_departure, came, .. } = *self;
        let history = History::new(self.history.span());
        *self = LinkPrice { rule, history, price: rule.minimum, on_departure, came, asked: Time::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    const RULE: Rule =
        Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions { half_packet: true, ..Additions::NONE } };

    #[test]
    fn a_packet_pays_what_it_was_told_but_not_more_than_its_balance() {
        let mut link = LinkPrice::new(RULE, 1.0);
        for (ms, price) in [(0, 1.0), (10, 2.0), (20, 3.0)] {
            link.set(Time::from_ms(ms), price);
        }
        let header = FcpHeader { rtt: 0.010, balance: 9.0, exchange: 1.0, ..FcpHeader::default() };
        let mut pays = |header: &FcpHeader| {
            let quoted = link.quoted(header, Time::from_ms(25));
            link.pays(header, quoted, Time::from_ms(25))
        };
        assert_eq!(pays(&header), 2.0);
        assert_eq!(pays(&FcpHeader { balance: 1.5, ..header }), 1.5);
        // Before all that is remembered: the oldest.
        assert_eq!(pays(&FcpHeader { rtt: 0.5, ..header }), 1.0);
        assert_eq!(pays(&FcpHeader { rtt: 0.0, balance: 0.0, ..header }), 3.0);
    }

    #[test]
    fn who_comes_in_a_crowd_is_charged_no_more_than_it_was_told() {
        let mut link = LinkPrice::new(RULE, 1.0);
        // The first of a hundred SYNs is told 1, the last one 100: all within 10 µs of 1 s.
        link.set(Time::ZERO, 1.0);
        (1..=100).for_each(|n| link.set(Time(1_000_000_000_000 + n * 100_000), n as f64));
        link.set(Time::from_ms(1_200), 50.0);
        let header = FcpHeader { rtt: 0.3, balance: 1.0, exchange: 1.0, ..FcpHeader::default() };
        let quoted = link.quoted(&header, Time::from_ms(1_301));
        assert_eq!((quoted, link.charges(&header, quoted)), (100.0, 1.0));
        assert_eq!(link.charges(&FcpHeader { rtt: 0.0, ..header }, quoted), 100.0, "a SYN was told nothing before");
        let later = FcpHeader { rtt: 0.05, ..header };
        let quoted = link.quoted(&later, Time::from_ms(1_301));
        assert_eq!((quoted, link.charges(&later, quoted)), (50.0, 50.0));
    }

    #[test]
    fn a_link_that_has_restarted_takes_what_others_have_left() {
        let mut link = LinkPrice::new(Rule { additions: Additions::default(), ..RULE }, 1.0);
        link.set(Time::from_ms(5), 7.0);
        link.reset();
        let header = FcpHeader { rtt: 0.020, balance: 9.0, charged: 4.0, exchange: 1.0, ..FcpHeader::default() };
        let mut pays = |rtt, ms| {
            let header = FcpHeader { rtt, ..header };
            let quoted = link.quoted(&header, Time::from_ms(ms));
            let pays = link.pays(&header, quoted, Time::from_ms(ms));
            link.set(Time::from_ms(ms), 3.0);
            pays
        };
        assert_eq!(pays(0.020, 10), 5.0);
        // Told at 10 ms, when it was there again; told before.
        assert_eq!((pays(0.020, 30), pays(0.021, 30)), (3.0, 5.0));
    }

    /// A link is down for a second and sees repeated SYNs alone. What comes then was told its price before.
    #[test]
    fn what_was_told_longer_ago_than_is_remembered_pays_what_it_has() {
        let charged = |trust_balance| {
            let rule = Rule { additions: Additions { trust_balance, ..Additions::NONE }, ..RULE };
            let mut link = LinkPrice::new(rule, 0.02);
            link.set(Time::ZERO, 7.0);
            // Room is made in the memory now and then, so a few stay that could go.
            (0..200).for_each(|i| link.set(Time::from_ms(800 + i), RULE.minimum));
            let header = FcpHeader { rtt: 0.980, balance: 9.0, charged: 2.0, exchange: 1.0, ..FcpHeader::default() };
            let mut pays = |now| {
                let quoted = link.quoted(&header, now);
                link.pays(&header, quoted, now)
            };
            // The memory reaches back as far from here on, but what has gone has gone.
            [pays(Time::from_ms(1_000)), pays(Time::from_ms(1_001))]
        };
        assert_eq!(charged(true), [7.0; 2]);
        assert_eq!(charged(false), [RULE.minimum; 2]);
    }
}
