//! Arrivals over the last d seconds: the sums of equations (3) and (4), and d itself.

use midpath_core::units::Time;

use super::{Load, Opening, Payment, Rule, Terms, Window};
use crate::fcp::equations;
use crate::fcp::header::FcpHeader;
use crate::fcp::params::additions::{LEAST_INCOME, LONGEST_AGE};

/// The least share of the capacity that traffic without prices leaves to the pricing. Ours: so that
/// a link that others fill has a high price instead of an infinite one.
const LEAST_SHARE: f64 = 0.01;

/// The queue from which an overload counts as one that lasts, as a share of what the link carries
/// in d. Ours: an eighth, four packets of the shortest window; less is how packets of several flows
/// meet, and would move the prices that small budgets live on.
const QUEUE_SHARE: f64 = 0.125;

/// A sum over less than d is over an eighth of it at least: four packets of the shortest window.
/// Ours: a rate cannot be told from one.
const PARTS: u64 = 8;

/// What has come in over the last d seconds.
#[derive(Debug, Clone)]
pub struct Meter {
    window: Window,
    /// The average round-trip time of the packets in the window, s; while there is none, the last
    /// one known.
    rtt: f64,
    /// d is never below this, s.
    least: f64,
    /// What the newest packet paid, $.
    newest: f64,
    /// Whether flows that begin are counted apart.
    opens: bool,
    /// A round-trip time counts into the average for so many times the average at most.
    longest: f64,
    since: Option<Time>,
    /// What came until then is forgotten.
    cut: Time,
    /// Over how long the window has seen everything: d, or less where d has just grown.
    span: Time,
}

impl Meter {
    /// A meter that takes `rtt` for the average round-trip time until it knows better.
    pub fn new(rtt: f64) -> Meter {
        Meter {
            window: Window::default(),
            rtt: rtt.max(1e-6),
            least: 0.0,
            newest: 0.0,
            opens: false,
            longest: f64::INFINITY,
            since: None,
            cut: Time::ZERO,
            span: Time::from_secs(1),
        }
    }

    /// The same with a window of at least `d`, s. A sum over two or three packets says little about
    /// a rate; the paper's links carry tens of packets in a round trip.
    #[must_use]
    pub fn at_least(self, d: f64) -> Meter {
        Meter { least: d, ..self }
    }

    /// The same that counts flows which begin apart: see [`Meter::with_opening`].
    #[must_use]
    pub fn opening_apart(self) -> Meter {
        Meter { opens: true, ..self }
    }

    /// The same with or without the bound on a round-trip time (`longest_age`).
    #[must_use]
    pub fn longest_age(self, bounded: bool) -> Meter {
        Meter { longest: if bounded { LONGEST_AGE } else { f64::INFINITY }, ..self }
    }

    /// The average round-trip time, s.
    #[inline]
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// A packet that pays `paid` $ and announces `preload` times that for each of its round trips.
    #[inline]
    pub fn pay(&mut self, now: Time, paid: f64, preload: f64, rtt: f64) {
        // A SYN doesn't know its round-trip time: the average stands in. It isn't counted into the
        // average.
        let over = if rtt > 0.0 { rtt } else { self.rtt };
        self.newest = paid;
        self.push(
            now,
            &Payment { paid, preloaded: equations::preloaded(paid, preload, over), rtt, ..Payment::default() },
        );
    }

    /// A packet with this header that pays `paid` $ for this link, out of its balance for the whole
    /// path. For each hop of data: a call costs 20 instructions.
    #[inline(always)]
    pub fn charge(&mut self, now: Time, header: &FcpHeader, size: u32, paid: f64) {
        let rtt = f64::from(header.rtt);
        if rtt <= 0.0 {
            let (preload, most) = (f64::from(header.preload), header.opens_with());
            return self.begin(now, size, paid, (preload, most));
        }
        if self.since.is_none() {
            // Whoever has been told prices was there before this link: what came then isn't known.
            self.cut = Time(now.0.saturating_sub(1));
            self.since = Some(self.cut);
        }
        self.newest = paid;
        self.push(
            now,
            &Payment {
                paid,
                preloaded: equations::preloaded(paid, header.preload.into(), rtt),
                rtt: equations::at_most(rtt, self.longest * self.rtt),
                yielding: if header.balance > 0.0 { f64::from(size) / f64::from(header.balance) } else { 0.0 },
                bytes: size,
            },
        );
    }

    /// A SYN, which doesn't know its round-trip time: the average stands in, and it isn't counted
    /// into the average. It has no balance; in its place it tells what its flow may spend, if it
    /// does (`opening_budget`).
    #[inline(never)]
    fn begin(&mut self, now: Time, size: u32, paid: f64, (preload, most): (f64, f64)) {
        self.newest = paid;
        let mut payment = Payment { paid, bytes: size, ..Payment::default() };
        if most <= 0.0 {
            payment.preloaded = equations::preloaded(paid, preload, self.rtt);
        } else if self.opens {
            // The SYN itself is part of that.
            payment.paid = 0.0;
            let opening = Opening { opening: preload * f64::from(size) / self.rtt, budget: most };
            self.since.get_or_insert(now);
            return self.window.push_opening(now, &payment, opening);
        } else {
            payment.preloaded = equations::preloaded(paid, preload, self.rtt).min(most);
        }
        self.push(now, &payment);
    }

    /// What comes in, $/s, with the flows that begin: each brings what its first packets cost at the
    /// price that all make together, and not more than it may spend. `income` is the others', `room`
    /// the denominator of equation (2).
    ///
    /// The queue of a crowd's SYNs is gone before the crowd's packets come. So it makes nothing dearer
    /// than what all may spend on the whole link.
    ///
    /// Ours: a SYN announces *packets*. Counted at the price that the link has, a crowd of SYNs
    /// raises it by a factor with each, from the minimum to many times what all can pay. The price p
    /// with p·room = income + min(p·R, B), for first packets at R bytes per second and budgets of B,
    /// needs no such steps.
    #[inline]
    pub fn with_opening(sums: &Terms, income: f64, room: f64, capacity: f64) -> f64 {
        let spent = equations::at_least((income + sums.opening_budget) * room / capacity, income);
        if sums.opening < room { equations::at_most(income * room / (room - sums.opening), spent) } else { spent }
    }

    /// The price that would bring an overloaded link down to its capacity if the other links'
    /// prices stayed as they are, $/byte; zero for a link that isn't overloaded. Ours.
    ///
    /// A sender divides by the sum b over its path, so a rise by δ takes r·δ/b off its rate r;
    /// Newton's step for the link is δ = (y − C) / Σ r/b. Equation (2) only multiplies the link's
    /// own price by y/C, and a preload is a multiple of that price: a link at the minimum of
    /// 10^-18, on a path that is priced elsewhere, takes a dozen round trips with a growing queue
    /// until it counts. Where the link is its senders' only bottleneck the step is below equation
    /// (2) (p·(2 − C/y) ≤ p·y/C), and at y = C both are p: neither a single bottleneck nor any
    /// equilibrium sees this.
    #[inline]
    pub fn catch_up(&self, sums: &Terms, load: Load, d: f64) -> f64 {
        let over = sums.bytes - load.capacity * d;
        if over > 0.0 && load.queue > QUEUE_SHARE * load.capacity * d && sums.yielding > 0.0 {
            sums.paid / sums.bytes + over / sums.yielding
        } else {
            0.0
        }
    }

    /// A packet that pays nothing: another scheme's, or an acknowledgement.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, bytes: u32) {
        // Where nobody pays, nobody sums: ACKs alone must not fill the window.
        self.cut = self.cut.max(now.saturating_sub(self.span));
        self.window.forget(self.cut);
        self.since.get_or_insert(now);
        self.window.push_unpaid(now, bytes);
    }

    #[inline]
    fn push(&mut self, now: Time, packet: &Payment) {
        self.since.get_or_insert(now);
        self.window.push(now, packet);
    }

    /// d of equations (2) to (4), s: that of the packets that [`Meter::sum_window`] has summed, or the
    /// one that follows from their round trips.
    #[inline]
    pub fn d(&self, rule: &Rule) -> f64 {
        if rule.additions.summed_span { self.span.short_secs_f64() } else { self.next_d(rule) }
    }

    #[inline]
    fn next_d(&self, rule: &Rule) -> f64 {
        equations::at_least(rule.window * self.rtt, self.least)
    }

    /// Forgets what is older than d, and averages the round-trip times of the rest. What is
    /// forgotten stays forgotten when d grows: the sum is then over less than d for a while.
    #[inline(always)]
    pub fn sum_window(&mut self, now: Time, rule: &Rule) -> Terms {
        let d = Time::from_secs_f64(self.next_d(rule));
        self.cut = self.cut.max(now.saturating_sub(d));
        self.window.expire(self.cut);
        let all = self.since.is_none_or(|since| self.cut < since);
        self.span = if all { d } else { now.saturating_sub(self.cut).max(Time(d.0 / PARTS)) };
        let sums = self.window.sums();
        if sums.packets > 0.0 {
            self.rtt = equations::at_least(sums.rtt / sums.packets, 1e-6);
        }
        sums
    }

    /// What comes in, $/s: equation (4) of the window's sums ([`equations::income`]), with what we add
    /// around it. Announced decreases can outweigh what was paid, for they are told at the price of
    /// a round trip ago; `least_income` bounds how far they count.
    ///
    /// The sum is taken when a packet has just come, so it has half a packet too many on average:
    /// (t − d, t] has ⌊d/s⌋ + 1 of packets that are s apart. Half of the newest one is left out.
    #[inline]
    pub fn incoming_budget(&self, rule: &Rule, sums: &Terms, d: f64) -> f64 {
        let half = if rule.additions.half_packet { self.newest / 2.0 } else { 0.0 };
        let least = if rule.additions.least_income { LEAST_INCOME } else { 0.0 };
        let sum = sums.paid - half;
        let income = equations::income(sum, sums.preloaded, d);
        equations::at_least(equations::at_least(income, least * equations::income_paid(sum, d)), 0.0)
    }

    /// C of equation (2) less what packets take that pay nothing, bytes per second. The paper has
    /// no such packets; ours because acknowledgements and other schemes share the link.
    #[inline]
    pub fn capacity(&self, now: Time, link: f64, sums: &Terms, d: f64, rule: &Rule) -> f64 {
        if sums.unpaid == 0.0 || !rule.additions.leave_unpaid {
            return link;
        }
        // The window is shorter than d at first.
        let seen = self.since.map_or(d, |s| (now - s).as_secs_f64()).clamp(d / 16.0, d);
        (link - sums.unpaid / seen).max(LEAST_SHARE * link)
    }

    /// Forgets everything but the round-trip time.
    pub fn reset(&mut self) {
        let Meter { rtt, least, opens, longest, .. } = *self;
        *self = Meter { least, opens, longest, ..Meter::new(rtt) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    const RULE: Rule =
        Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions { half_packet: true, ..Additions::NONE } };

    #[test]
    fn half_of_the_newest_packet_is_left_out_of_equation_4() {
        let mut meter = Meter::new(0.1);
        // Two packets in a window of 0.2 s: 3 $ without preload, 1 $ with a preload of 4 over 0.1
        // s.
        meter.pay(Time::from_ms(1), 3.0, 0.0, 0.1);
        meter.pay(Time::from_ms(2), 1.0, 4.0, 0.1);
        let sums = meter.sum_window(Time::from_ms(3), &RULE);
        // (3·1 + 1·(1 + 4·0.2/0.1)) / 0.2 = (3 + 9) / 0.2, less half of the newest packet's 1 $:
        // 57.5.
        assert!((meter.incoming_budget(&RULE, &sums, meter.d(&RULE)) - 57.5).abs() < 1e-9);
        // Out of the window after d = 0.2 s.
        let sums = meter.sum_window(Time::from_ms(202), &RULE);
        assert_eq!((sums.paid, sums.preloaded), (0.0, 0.0));
    }

    /// The same of packets with headers: 3 $ of data, then 1 $ of data or of a SYN.
    #[test]
    fn half_of_the_newest_packet_with_a_header_is_left_out() {
        for rtt in [0.1, 0.0] {
            let mut meter = Meter::new(0.1);
            let header = |rtt| FcpHeader { rtt, balance: 1.0, exchange: 1.0, ..FcpHeader::default() };
            meter.charge(Time::from_ms(1), &header(0.1), 1500, 3.0);
            meter.charge(Time::from_ms(2), &FcpHeader { balance: 0.0, ..header(rtt) }, 1500, 1.0);
            let sums = meter.sum_window(Time::from_ms(3), &RULE);
            let income = meter.incoming_budget(&RULE, &sums, meter.d(&RULE));
            assert!((income - (3.0 + 1.0 - 0.5) / 0.2).abs() < 1e-6, "{income}");
        }
    }

    /// d grows from 0.2 s to 2 s at once: the sum is over 0.2 s and what comes.
    #[test]
    fn a_window_that_grows_has_seen_no_more_than_before() {
        let rule = Rule { additions: Additions { summed_span: true, ..Additions::NONE }, ..RULE };
        let mut meter = Meter::new(0.1);
        let mut income = |ms, rtt| {
            meter.pay(Time::from_ms(ms), 1.0, 0.0, rtt);
            let sums = meter.sum_window(Time::from_ms(ms), &rule);
            meter.incoming_budget(&rule, &sums, meter.d(&rule))
        };
        // 1 $ in 10 ms.
        (1..200).for_each(|n| assert!(income(10 * n, 0.1) <= 100.0 + 1e-9));
        for n in 200..600 {
            let income = income(10 * n, 1.0);
            assert!((95.0..=101.0).contains(&income), "{n}: {income}");
        }
    }

    /// Ten packets of 1000 bytes in 0.1 s are 100 kB/s: 10 $/s at a price of 10^-4, and more than
    /// 1 $/s from 10^-5 on.
    #[test]
    fn who_begins_counts_for_no_more_than_it_may_spend() {
        let syn = |balance| FcpHeader { preload: 100.0, balance, exchange: 1.0, ..FcpHeader::default() };
        let begin = |mut meter: Meter, balance, price: f64| {
            meter.charge(Time::from_ms(1), &syn(balance), 100, price * 100.0);
            meter.sum_window(Time::from_ms(1), &RULE)
        };
        let preloaded = |balance, price| begin(Meter::new(0.1), balance, price).preloaded;
        assert!((preloaded(1.0, 1e-6) - 0.1).abs() < 1e-9);
        assert!((preloaded(1.0, 1e-4) - 1.0).abs() < 1e-9);
        // Who tells nothing counts as the paper says.
        assert!((preloaded(0.0, 1e-4) - 10.0).abs() < 1e-9);
        let together = |income, room| {
            let sums = begin(Meter::new(0.1).opening_apart(), 1.0, 1e-4);
            (sums.paid, sums.preloaded, Meter::with_opening(&sums, income, room, room))
        };
        // Half of 200 kB/s is taken by first packets: the others' 0.2 $/s fill the other half.
        assert_eq!(together(0.2, 200e3), (0.0, 0.0, 0.4));
        // There, they would cost more than 1 $/s; and on 50 kB/s there is no room for them.
        assert_eq!(together(2.0, 200e3).2, 3.0);
        assert_eq!(together(0.0, 50e3).2, 1.0);
        assert_eq!(together(0.0, 200e3).2, 0.0);
    }

    /// A hundred SYNs wait where (2) has room for half of 100 kB/s. Who is there already is told a
    /// price of twice as much; all together are told what they may spend over 100 kB/s.
    #[test]
    fn the_queue_of_a_crowds_syns_makes_nothing_dearer_for_the_crowd() {
        let price = |income, budgets| {
            let sums = Terms { opening: 1e9, opening_budget: budgets, ..Terms::default() };
            Meter::with_opening(&sums, income, 50e3, 100e3) / 50e3
        };
        assert!((price(0.0, 100.0) - 100.0 / 100e3).abs() < 1e-12);
        assert!((price(10.0, 5.0) - 10.0 / 50e3).abs() < 1e-12);
        assert!((price(10.0, 90.0) - 100.0 / 100e3).abs() < 1e-12);
    }

    #[test]
    fn a_price_of_long_ago_says_little_of_how_soon_senders_follow() {
        let d = |bounded| {
            let mut meter = Meter::new(0.1).longest_age(bounded);
            for (ms, rtt) in [(1, 0.1), (2, 0.1), (3, 0.1), (4, 8.1)] {
                meter.charge(Time::from_ms(ms), &FcpHeader { rtt, balance: 1.0, ..FcpHeader::default() }, 1, 1.0);
            }
            meter.sum_window(Time::from_ms(4), &RULE);
            meter.d(&RULE)
        };
        // (0.3 + 8.1) / 4, twice; (0.3 + 0.4) / 4, twice.
        assert!((d(false) - 4.2).abs() < 1e-6 && (d(true) - 0.35).abs() < 1e-6, "{} {}", d(false), d(true));
    }

    #[test]
    fn the_window_follows_the_round_trips() {
        let mut meter = Meter::new(0.1);
        meter.pay(Time::from_ms(1), 1.0, 0.0, 0.3);
        meter.pay(Time::from_ms(1), 1.0, 0.0, 0.5);
        meter.sum_window(Time::from_ms(1), &RULE);
        assert!((meter.d(&RULE) - 0.8).abs() < 1e-12);
    }

    /// A link that has restarted: the first packet pays a price from before. It counts over an
    /// eighth of d, not over a d of which nothing is known; a SYN's is a link's first packet.
    #[test]
    fn who_was_told_a_price_was_there_before_the_link() {
        let rule = Rule { additions: Additions { summed_span: true, ..Additions::NONE }, ..RULE };
        let income = |rtt| {
            let mut meter = Meter::new(0.1);
            let header = FcpHeader { rtt, balance: 1.0, exchange: 1.0, ..FcpHeader::default() };
            meter.charge(Time::from_ms(1), &header, 1, 1.0);
            let sums = meter.sum_window(Time::from_ms(1), &rule);
            meter.incoming_budget(&rule, &sums, meter.d(&rule))
        };
        assert!((income(0.1) - 8.0 / 0.2).abs() < 1e-6);
        assert!((income(0.0) - 1.0 / 0.2).abs() < 1e-6);
    }

    #[test]
    fn what_pays_nothing_is_left_its_part() {
        let left = |leave_unpaid| {
            let rule = Rule { additions: Additions { leave_unpaid, ..Additions::NONE }, ..RULE };
            let mut meter = Meter::new(0.1);
            (0..200).for_each(|ms| meter.pass(Time::from_ms(ms), 100));
            let sums = meter.sum_window(Time::from_ms(200), &rule);
            meter.capacity(Time::from_ms(200), 1e6, &sums, 0.2, &rule)
        };
        assert!((left(true) - 0.9e6).abs() < 1e4 && left(false) == 1e6);
    }

    #[test]
    fn announced_decreases_count_up_to_a_bound() {
        let income = |least_income, preload| {
            let rule = Rule { additions: Additions { least_income, ..Additions::NONE }, ..RULE };
            let mut meter = Meter::new(0.1);
            // 10 $ in 0.2 s, and 8 $ that say that nothing follows: 8·(−1)/0.1 s.
            meter.pay(Time::from_ms(1), 10.0, 0.0, 0.1);
            meter.pay(Time::from_ms(2), 8.0, preload, 0.1);
            let sums = meter.sum_window(Time::from_ms(3), &rule);
            meter.incoming_budget(&rule, &sums, meter.d(&rule))
        };
        assert!((income(true, -0.5) - (90.0 - 40.0)).abs() < 1e-9);
        assert!((income(true, -1.0) - 27.0).abs() < 1e-9);
        assert!((income(false, -1.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_sum_is_divided_by_its_own_span() {
        let income = |summed_span| {
            let rule = Rule { additions: Additions { summed_span, ..Additions::NONE }, ..RULE };
            let mut meter = Meter::new(0.1);
            // 10 $ in the last 0.2 s, the newest with a round trip of 0.3 s: d is 0.4 s from here
            // on.
            meter.pay(Time::from_ms(1), 5.0, 0.0, 0.1);
            meter.pay(Time::from_ms(2), 5.0, 0.0, 0.3);
            let sums = meter.sum_window(Time::from_ms(3), &rule);
            meter.incoming_budget(&rule, &sums, meter.d(&rule))
        };
        assert!((income(true) - 50.0).abs() < 1e-9);
        assert!((income(false) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn acknowledgements_alone_do_not_fill_the_window() {
        let mut meter = Meter::new(0.1);
        for us in 0..3_000_000 / 100 {
            meter.pass(Time::from_us(100 * us), 84);
        }
        // Those of the second at hand, and those of the one before until the last of them goes.
        assert!(meter.window.len() <= 20_002, "{}", meter.window.len());
        meter.sum_window(Time::from_secs(3), &RULE);
        assert!(meter.window.len() <= 10_001, "{}", meter.window.len());
    }

    /// Newton's step for a link that is overloaded and has a queue, and nothing for any other.
    #[test]
    fn only_an_overload_that_lasts_catches_up() {
        let sums = Terms { bytes: 250e3, paid: 0.5, yielding: 0.1, ..Terms::default() };
        let catches = |sums: &Terms, capacity, queue| Meter::new(0.1).catch_up(sums, Load { capacity, queue }, 0.2);
        // 250 kB in 0.2 s of 1 MB/s are 50 kB too many; an eighth of 200 kB waits.
        assert_eq!(catches(&sums, 1e6, 25_001.0), 0.5 / 250e3 + 50e3 / 0.1);
        assert_eq!(catches(&sums, 1e6, 25_000.0), 0.0);
        assert_eq!(catches(&sums, 2e6, 1e6), 0.0);
        assert_eq!(catches(&Terms { yielding: 0.0, ..sums }, 1e6, 1e6), 0.0);
    }
}
