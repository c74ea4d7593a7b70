//! What has come in over the last d seconds: the sums of equations (3) and (4), and d itself.

use midpath_core::units::Time;

use super::{Load, Payment, Rule, Terms, Window};
use crate::fcp::equations;
use crate::fcp::header::FcpHeader;

/// The least share of the capacity that traffic without prices leaves to the pricing. Ours: so that
/// a link that others fill has a high price instead of an infinite one.
const LEAST_SHARE: f64 = 0.01;

/// The queue from which an overload counts as one that lasts, as a share of what the link carries
/// in d. Ours: an eighth, four packets of the shortest window; less is how packets of several flows
/// meet, and would move the prices that small budgets live on.
const QUEUE_SHARE: f64 = 0.125;

/// When a price was told that is as old as `age`, s.
fn price_at(now: Time, age: f64) -> Time {
    now.saturating_sub(Time::from_secs_f64(age))
}

/// What has come in over the last d seconds.
#[derive(Debug, Clone)]
pub struct Meter {
    window: Window,
    /// The average round-trip time of the packets in the window, s; while there is none, the last
    /// one known.
    rtt: f64,
    /// d is never below this, s.
    least: f64,
    /// What the newest packet paid, $, and when it came.
    newest: f64,
    last: Time,
    /// When the last silence ended that flows have waited through, where that is looked for.
    holds: bool,
    resumed: Option<Time>,
    since: Option<Time>,
    /// The last d.
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
            last: Time::ZERO,
            holds: false,
            resumed: None,
            since: None,
            span: Time::from_secs(1),
        }
    }

    /// The same with a window of at least `d`, s. A sum over two or three packets says little about
    /// a rate; the paper's links carry tens of packets in a round trip.
    #[must_use]
    pub fn at_least(self, d: f64) -> Meter {
        Meter { least: d, ..self }
    }

    /// The same that looks for silences which flows have waited through, if `on`.
    #[must_use]
    pub fn holding(self, on: bool) -> Meter {
        Meter { holds: on, ..self }
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
    /// path.
    #[inline]
    pub fn charge(&mut self, now: Time, header: &FcpHeader, size: u32, paid: f64) {
        let mut rtt = f64::from(header.rtt);
        let over = if rtt > 0.0 { rtt } else { self.rtt };
        self.newest = paid;
        if self.holds {
            self.notice_silence(now, rtt);
            rtt = if self.has_waited(now, rtt) { self.rtt } else { rtt }; // the silence is no part of a round trip
        }
        self.push(
            now,
            &Payment {
                paid,
                preloaded: equations::preloaded(paid, header.preload.into(), over),
                rtt,
                yielding: if header.balance > 0.0 { f64::from(size) / f64::from(header.balance) } else { 0.0 },
                bytes: size,
            },
        );
    }

    /// A packet comes that pays a price as old as `age`, s. If nothing has come for longer than d,
    /// and the price was told before that, its flow has waited through the silence, because the
    /// link was down. Ours.
    #[inline]
    fn notice_silence(&mut self, now: Time, age: f64) {
        if self.since.is_some() && now.saturating_sub(self.last) > self.span {
            self.resumed = (age > 0.0 && price_at(now, age) < self.last).then_some(now);
        }
        self.last = now;
    }

    /// Whether a packet's price was told before the end of that silence.
    #[inline]
    fn has_waited(&self, now: Time, age: f64) -> bool {
        age > 0.0 && self.resumed.is_some_and(|at| price_at(now, age) < at)
    }

    /// When the last silence ended that flows have waited through, for one d.
    #[inline]
    pub fn resumed(&self, now: Time) -> Option<Time> {
        self.resumed.filter(|at| now.saturating_sub(*at) < self.span)
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
    #[inline]
    pub fn pass(&mut self, now: Time, bytes: u32) {
        // Where nobody pays, nobody settles: ACKs alone must not fill the window.
        self.window.expire(now.saturating_sub(self.span));
        self.since.get_or_insert(now);
        self.window.push_unpaid(now, bytes);
    }

    #[inline]
    fn push(&mut self, now: Time, packet: &Payment) {
        self.since.get_or_insert(now);
        self.window.push(now, packet);
    }

    /// d of equations (2) to (4), s: that of the packets that [`Meter::settle`] has summed, or the
    /// one that follows from their round trips.
    #[inline]
    pub fn d(&self, rule: &Rule) -> f64 {
        if rule.additions.summed_span { self.span.as_secs_f64() } else { self.next_d(rule) }
    }

    #[inline]
    fn next_d(&self, rule: &Rule) -> f64 {
        (rule.window * self.rtt).max(self.least)
    }

    /// Forgets what is older than d, and averages the round-trip times of the rest.
    #[inline]
    pub fn settle(&mut self, now: Time, rule: &Rule) -> Terms {
        self.span = Time::from_secs_f64(self.next_d(rule));
        self.window.expire(now.saturating_sub(self.span));
        let sums = self.window.sums();
        if sums.packets > 0.0 {
            self.rtt = (sums.rtt / sums.packets).max(1e-6);
        }
        sums
    }

    /// I(t) of equation (4), $/s: what the packets of the window paid per second, and what they
    /// preloaded. Announced decreases can outweigh what was paid, for they are told at the price of
    /// a round trip ago; `least_income` bounds how far they count.
    ///
    /// The sum is taken when a packet has just come, so it has half a packet too many on average:
    /// (t − d, t] has ⌊d/s⌋ + 1 of packets that are s apart. Half of the newest one is left out.
    #[inline]
    pub fn income(&self, rule: &Rule, sums: &Terms, d: f64) -> f64 {
        let half = if rule.additions.half_packet { self.newest / 2.0 } else { 0.0 };
        let (sum, least) = (sums.paid - half, rule.additions.least_income);
        equations::income(sum, sums.preloaded, d).max(least * equations::income_paid(sum, d)).max(0.0)
    }

    /// C of equation (2) less what packets take that pay nothing, bytes per second. The paper has
    /// no such packets; ours because acknowledgements and other schemes share the link.
    #[inline]
    pub fn capacity(&self, now: Time, link: f64, sums: &Terms, d: f64) -> f64 {
        if sums.unpaid == 0.0 {
            return link;
        }
        // The window is shorter than d at first.
        let seen = self.since.map_or(d, |s| (now - s).as_secs_f64()).clamp(d / 16.0, d);
        (link - sums.unpaid / seen).max(LEAST_SHARE * link)
    }

    /// Forgets everything but the round-trip time.
    pub fn reset(&mut self) {
        *self = Meter::new(self.rtt).at_least(self.least).holding(self.holds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::params::Additions;

    const RULE: Rule =
        Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions { half_packet: true, ..Additions::NONE } };

    #[test]
    fn equation_4_by_hand() {
        let mut meter = Meter::new(0.1);
        // Two packets in a window of 0.2 s: 3 $ without preload, 1 $ with a preload of 4 over 0.1
        // s.
        meter.pay(Time::from_ms(1), 3.0, 0.0, 0.1);
        meter.pay(Time::from_ms(2), 1.0, 4.0, 0.1);
        let sums = meter.settle(Time::from_ms(3), &RULE);
        // (3·1 + 1·(1 + 4·0.2/0.1)) / 0.2 = (3 + 9) / 0.2, less half of the newest packet's 1 $:
        // 57.5.
        assert!((meter.income(&RULE, &sums, meter.d(&RULE)) - 57.5).abs() < 1e-9);
        // Out of the window after d = 0.2 s.
        let sums = meter.settle(Time::from_ms(202), &RULE);
        assert_eq!((sums.paid, sums.preloaded), (0.0, 0.0));
    }

    /// Silent for a second with d = 0.2 s. Who was told a price before that has waited; who was
    /// told it later, or nothing, has not.
    #[test]
    fn a_silence_that_flows_have_waited_through_is_no_part_of_a_round_trip() {
        let header = |age: f32| FcpHeader { rtt: age, balance: 1.0, exchange: 1.0, ..FcpHeader::default() };
        let after = |age: f32, holds: bool| {
            let mut meter = Meter::new(0.1).holding(holds);
            for ms in [10, 20] {
                meter.charge(Time::from_ms(ms), &header(0.1), 1000, 1.0);
                meter.settle(Time::from_ms(ms), &RULE);
            }
            let now = Time::from_ms(1_020);
            meter.charge(now, &header(age), 1000, 1.0);
            meter.settle(now, &RULE);
            (meter.rtt(), meter.resumed(now).is_some(), meter.resumed(Time::from_ms(1_300)).is_some())
        };
        let about = |(rtt, resumed, later): (f64, bool, bool)| ((rtt * 1e3).round(), resumed, later);
        assert_eq!(about(after(1.1, true)), (100.0, true, false));
        assert_eq!(about(after(0.9, true)), (900.0, false, false));
        assert_eq!(about(after(0.0, true)), (100.0, false, false));
        assert_eq!(about(after(1.1, false)), (1100.0, false, false));
    }

    #[test]
    fn the_window_follows_the_round_trips() {
        let mut meter = Meter::new(0.1);
        meter.pay(Time::from_ms(1), 1.0, 0.0, 0.3);
        meter.pay(Time::from_ms(1), 1.0, 0.0, 0.5);
        meter.settle(Time::from_ms(1), &RULE);
        assert!((meter.d(&RULE) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn announced_decreases_count_up_to_a_bound() {
        let income = |least_income, preload| {
            let rule = Rule { additions: Additions { least_income, ..Additions::NONE }, ..RULE };
            let mut meter = Meter::new(0.1);
            // 10 $ in 0.2 s, and 8 $ that say that nothing follows: 8·(−1)/0.1 s.
            meter.pay(Time::from_ms(1), 10.0, 0.0, 0.1);
            meter.pay(Time::from_ms(2), 8.0, preload, 0.1);
            let sums = meter.settle(Time::from_ms(3), &rule);
            meter.income(&rule, &sums, meter.d(&rule))
        };
        assert!((income(0.3, -0.5) - (90.0 - 40.0)).abs() < 1e-9);
        assert!((income(0.3, -1.0) - 27.0).abs() < 1e-9);
        assert!((income(0.0, -1.0) - 10.0).abs() < 1e-9);
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
            let sums = meter.settle(Time::from_ms(3), &rule);
            meter.income(&rule, &sums, meter.d(&rule))
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
        assert!(meter.window.len() <= 10_001, "{}", meter.window.len());
    }
}
