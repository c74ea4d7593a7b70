//! A link's stamping rates R_p(t) and R_s(t): the counters, and when the equations are applied.
//!
//! A state machine without I/O. Inputs: Interests, RTTs and the time. Outputs: the rates to stamp, and its next
//! deadline. R for a single class (§3) is R_p with primary Interests alone: §4.2 says that both are identical then.

use midpath_core::units::{Bytes, Rate, Time};

use super::equations::{self as eq, Load, RcpGains, Target};
use super::mean::Rtts;
use super::params::{Capacity, Drain, Gain, Interval, RateParams, Reading, RttOf, RttSource, Update};
use crate::explicit::{at_least, at_most, real};
use crate::icn::header::{Class, Stamps};
use crate::icn::mean::Mean;

/// Whether both rates differ by no more than rounding.
fn about(a: Stamps, b: Stamps) -> bool {
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
    same(a.primary, b.primary) && same(a.secondary, b.secondary)
}

/// Bytes as a real number: whatever peers say, no more than signed ones hold.
#[inline]
fn amount(bytes: u64) -> f64 {
    real(bytes.min(i64::MAX as u64))
}

/// One class's rate: the averages of (5), and y(t−T) of (8) and (14).
#[derive(Debug, Clone, Copy)]
struct ClassRate {
    base: f64,
    excess: f64,
    y_before: f64,
}

impl ClassRate {
    fn new(rate: f64) -> ClassRate {
        ClassRate { base: rate, excess: 0.0, y_before: 0.0 }
    }

    /// R(t), (5).
    #[inline]
    fn rate(&self) -> f64 {
        eq::stamping_rate(self.base, self.excess)
    }

    /// (3)–(5) with footnote 3's averages; N̂ is `n`.
    fn update(&mut self, link: Target, load: Load, n: f64, beta: f64, weight: f64) {
        let beta = eq::self_tuned_beta(beta, load.y, self.y_before);
        let excess = eq::excess_rate(self.rate(), load.y, n);
        self.base = eq::ewma(self.base, eq::base_rate(link, beta, load, n), weight);
        self.excess = eq::ewma(self.excess, excess, weight);
        self.y_before = load.y;
    }

    /// Sets R(t). Only the sum of both averages matters, so the base takes what is missing.
    fn set(&mut self, rate: f64) {
        self.excess = if self.excess.is_finite() { self.excess } else { 0.0 };
        self.base = rate - self.excess;
    }
}

/// The rates of one link, kept by the node that sends Interests into it.
#[derive(Debug, Clone)]
pub struct LinkRates {
    params: RateParams,
    /// Bits per second that the link carries towards this node.
    capacity: f64,
    primary: ClassRate,
    secondary: ClassRate,
    /// What both are, within their bounds.
    stamps: Stamps,
    whole: [u64; 2],
    /// Data that the Interests of this interval ask for, by class, and Interests that came in over
    /// the link, in bytes.
    offered: [u64; 2],
    opposite: u64,
    rtts: Rtts,
    /// Mean size of the Data asked for, in bits.
    size: Mean,
    /// Bytes of Data that the Interests of this interval found waiting, at the least.
    least_queue: u64,
    /// The running interval, if one is running: the rates of an idle link that have come to rest
    /// need no clock.
    running: Option<Running>,
}

/// What (6)–(16) are applied to: y(t) of both classes, C, q(t) and d(t).
#[derive(Debug, Clone, Copy)]
struct Seen {
    y: [f64; 2],
    c: f64,
    q: f64,
    d: f64,
}

/// T and d(t), in seconds.
#[derive(Debug, Clone, Copy)]
struct Span {
    period: f64,
    d: f64,
}

/// [t−T, t).
#[derive(Debug, Clone, Copy)]
struct Running {
    began: Time,
    /// T is settled when an interval begins.
    ends: Time,
}

/// What is kept for a primary class that R_p limits, as a share of C, beside one Data in T: its own steps leave a little
/// of ηC. Ours: R_p is up to 2 % low on random networks, and on a thin link a Data in T is more than that.
const LEFT_TO_STEPS: f64 = 0.015;

/// With `secondary_packets`, how far above its cap (5) may take a rate, while the cap is stamped. Ours, a Data in ten:
/// flows that fill a link at its cap ask for one more or less in T, and R cut off there rests 1 to 2 % below it.
const ABOVE_CAP: f64 = 1.1;

/// R_p limits nobody from here on, as a share of ηC: the middle of where R_p of a link that is just full moves.
const UNLIMITED: f64 = 1.05;

/// Weight of an Interest in the mean size of Data, which only the least T depends on. Ours.
const SIZE_WEIGHT: f64 = 1.0 / 16.0;

impl LinkRates {
    /// Rates of a link that carries Data at `capacity`.
    pub fn new(params: &RateParams, capacity: Rate, now: Time) -> LinkRates {
        let mut link = LinkRates {
            params: *params,
            capacity: 0.0,
            primary: ClassRate::new(0.0),
            secondary: ClassRate::new(0.0),
            stamps: Stamps { primary: 0.0, secondary: 0.0 },
            whole: [0; 2],
            offered: [0; 2],
            opposite: 0,
            rtts: Rtts::new(params.max_interval, now),
            size: Mean::new(SIZE_WEIGHT),
            least_queue: u64::MAX,
            running: None,
        };
        link.set_capacity(capacity);
        // R(0). Ours: where an idle link's rate goes anyway.
        link.begin_at(params.eta * link.capacity);
        link
    }

    /// Sets R(0) of both classes.
    pub(super) fn begin_at(&mut self, rate: f64) {
        (self.primary, self.secondary) = (ClassRate::new(rate), ClassRate::new(rate));
        self.bound();
    }

    /// Called when the link's rate has changed. Rates that it no longer allows come down at once.
    pub fn set_capacity(&mut self, capacity: Rate) {
        // A link that stands still has a bit per second: nothing is divided by zero.
        self.capacity = capacity.as_f64().max(1.0);
        self.bound();
    }

    /// Called when an Interest is offered to the shaper, whether that lets it go, queues it or
    /// Nacks it: y(t) counts all (§3.1.1). `data` is the expected size of its Data.
    #[inline]
    pub fn on_interest(&mut self, now: Time, class: Class, data: Bytes) {
        self.size.add_whole(8.0 * data.as_f64());
        self.begin(now);
        let count = &mut self.offered[class as usize];
        *count = count.saturating_add(data.0);
    }

    /// Called when an Interest is offered, with what those ask for that wait at the shaper.
    #[inline]
    pub fn on_waiting(&mut self, queued: u64) {
        self.least_queue = self.least_queue.min(queued);
    }

    /// Called when an Interest has come in over the link: it took part of what the link carries
    /// towards this node.
    #[inline]
    pub fn on_opposite_interest(&mut self, now: Time, size: Bytes) {
        self.begin(now);
        self.opposite = self.opposite.saturating_add(size.0);
    }

    /// Called with the RTT that a packet of this link told, or that it showed: see [`RttSource`].
    #[inline]
    pub fn on_rtt(&mut self, now: Time, rtt: Time) {
        let first = self.rtts.is_empty();
        self.rtts.add(now, rtt);
        // `initial_rtt` was only a guess.
        if first && let Some(running) = self.running {
            self.running = Some(self.interval_from(running.began));
        }
    }

    /// Whether it has been told a round trip.
    #[inline]
    pub fn has_rtt(&self) -> bool {
        !self.rtts.is_empty()
    }

    /// When [`LinkRates::tick`] wants to be called. `None` while the link is idle and its rates at
    /// rest.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        self.running.map(|running| running.ends)
    }

    /// Starts the clock, if it doesn't run.
    #[inline]
    fn begin(&mut self, now: Time) {
        if self.running.is_none() {
            self.running = Some(self.interval_from(now));
        }
    }

    fn interval_from(&self, now: Time) -> Running {
        Running { began: now, ends: now.saturating_add(self.interval()) }
    }

    /// Called at [`LinkRates::next_tick`], or later: computes the rates for the next interval.
    /// `queued` is what the Interests in the shaper ask for, both classes together (§4.2: "q(t)
    /// includes all the queued Interests, regardless of class").
    pub fn tick(&mut self, now: Time, queued: Bytes) {
        let Some(running) = self.running.filter(|running| running.began < now) else { return };
        let (period, mean) = (now.saturating_sub(running.began).as_secs_f64(), self.mean_rtt());
        let per_second = |bytes: u64| 8.0 * amount(bytes) / period;
        let y = self.offered.map(per_second);
        let c = self.capacity_left(per_second(self.opposite));
        let before = self.stamps();
        self.update(c, y, queued, Span { period, d: mean.as_secs_f64() });
        self.bound();
        let idle = self.offered == [0; 2] && self.opposite == 0 && queued == Bytes::ZERO;
        let rests = idle && about(self.stamps(), before);
        self.running = (!rests).then(|| Running { began: now, ends: now.saturating_add(self.interval_of(mean)) });
        (self.offered, self.opposite, self.least_queue) = ([0; 2], 0, u64::MAX);
    }

    /// R_p(t) and R_s(t), to be stamped on Data and Nacks that come in over the link.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        self.stamps
    }

    /// The same in whole bits per second.
    #[inline]
    pub fn whole_stamps(&self) -> [u64; 2] {
        self.whole
    }

    /// d(t).
    pub fn mean_rtt(&self) -> Time {
        self.rtts.mean().unwrap_or(self.params.initial_rtt)
    }

    /// T.
    pub fn interval(&self) -> Time {
        self.interval_of(self.mean_rtt())
    }

    /// The same where d(t) is this.
    fn interval_of(&self, mean: Time) -> Time {
        let wanted = match self.params.interval {
            Interval::Fixed(time) => time,
            Interval::Of(RttOf::Mean) => mean,
            Interval::Of(RttOf::Largest) => self.rtts.largest().unwrap_or(self.params.initial_rtt),
        };
        let size = self.size.get().unwrap_or(0.0);
        let packets = self.params.min_packets * size / self.capacity;
        // A T that is given as a time is that.
        let ours = self.params.update == Update::Mircc && matches!(self.params.interval, Interval::Of(_));
        let gap = if self.params.sparse && ours { eq::interest_gap(self.primary.rate(), size) } else { 0.0 };
        let longest = self.params.max_interval.as_secs_f64();
        wanted
            .max(Time::from_secs_f64(at_most(at_least(packets, gap), longest)))
            .clamp(Time::from_us(1), self.params.max_interval)
    }

    /// C of the equations.
    fn capacity_left(&self, opposite: f64) -> f64 {
        match self.params.capacity {
            Capacity::Link => self.capacity,
            Capacity::Left => (self.capacity - opposite).max(1.0),
        }
    }

    /// d(t) where it divides q: the wait in this link's shaper belongs to an average RTT, but not
    /// to the least one.
    fn drained_in(&self, c: f64, q: f64, Span { period, d }: Span) -> f64 {
        let d = if self.params.rtt == RttSource::Least { d + q / c } else { d };
        match self.params.drain {
            Drain::Interval => at_least(d, period),
            Drain::RoundTrip => d,
        }
    }

    fn update(&mut self, c: f64, y: [f64; 2], queued: Bytes, span: Span) {
        let p = self.params;
        let (q, least_q) = (8.0 * amount(queued.0), 8.0 * amount(self.least_queue.min(queued.0)));
        let link = Target { eta: p.eta, capacity: c };
        let d = self.drained_in(c, q, span);
        let load = |y: f64| Load { y, q, d };
        if p.update == Update::Rcp {
            // RCP's d and T/d; it knows no classes.
            let load = |y: f64| Load { d: self.drained_in(c, q, Span { period: 0.0, ..span }), ..load(y) };
            let gains = RcpGains { alpha: p.rcp_alpha, beta: p.rcp_beta };
            let rate = eq::rcp_rate(self.primary.rate(), link, load(y[0] + y[1]), gains, span.period);
            self.primary.set(rate);
            self.secondary.set(0.0);
            return;
        }
        // Ours: with `secondary_packets` β drains what stands, not what only passes. The primary class would leave
        // β q/d of that for the secondary one to take.
        let q = if p.secondary_packets > 0.0 { least_q } else { q };
        let load = |y: f64| Load { y, q, d };
        // (6)–(10)
        let r_p = self.primary.rate();
        let n = eq::full_rate_flows(c, y[0], r_p);
        let weight = self.weight(span);
        self.primary.update(link, load(y[0]), n, p.beta, weight);
        self.update_secondary((span, weight), Seen { y, c, q, d }, r_p);
    }

    /// α of footnote 3.
    fn weight(&self, Span { period, d }: Span) -> f64 {
        match self.params.gain {
            Gain::Printed => self.params.weight,
            Gain::Scaled => eq::scaled_weight(self.params.weight, period, d),
        }
    }

    /// (11)–(16) with this α; `r_p` is R_p(t−T).
    fn update_secondary(&mut self, (span, weight): (Span, f64), seen: Seen, r_p: f64) {
        let p = self.params;
        if p.secondary_packets > 0.0 {
            return self.steady_secondary((span, weight), seen, r_p);
        }
        let Seen { y, c, q, d } = seen;
        let link = Target { eta: p.eta, capacity: c };
        // (11)
        let c_s = match p.residual {
            Reading::Printed => eq::secondary_capacity(c, y[0]),
            Reading::Corrected => eq::secondary_capacity_derated(link, y[0]),
        };
        // (12)–(16)
        let r = match p.secondary_count {
            Reading::Printed => r_p,
            Reading::Corrected => self.secondary.rate(),
        };
        let n = eq::full_rate_flows_secondary(c_s, y[1], r);
        // What the primary class leaves to drain the queue is for that, and not for this class.
        let load = Load { y: y[1], q, d };
        self.secondary.update(Target { capacity: c_s, ..link }, load, n, p.beta, weight);
    }

    /// The same, ours, for a class that has one Interest in an interval, or none.
    fn steady_secondary(&mut self, (span, weight): (Span, f64), seen: Seen, r_p: f64) {
        let p = self.params;
        let Seen { y, c, q, d } = seen;
        let link = Target { eta: p.eta, capacity: c };
        let (size, seconds) = (self.size.get().unwrap_or(0.0), span.period);
        // By (11) as printed this class has a part of every full link.
        let limited = p.residual == Reading::Corrected && r_p < UNLIMITED * link.full();
        // (11), below zero where the primary class was above its share: cut off there, the mean is too large.
        let (left, kept) = match p.residual {
            Reading::Printed => (p.eta * (c - y[0]), 0.0),
            Reading::Corrected => (link.full() - y[0], if limited { LEFT_TO_STEPS * c + size / seconds } else { 0.0 }),
        };
        let beta = eq::self_tuned_beta(p.beta, y[1], self.secondary.y_before);
        self.secondary.y_before = y[1];
        let spare = left - beta * q / d - y[1] - kept;
        let least = p.secondary_packets * size / seconds;
        let room = at_least(at_least(at_least(left / p.eta, y[1]), least), 1.0);
        // (12): a step is a part of R_s, or of R_p as printed. Zero stays zero.
        let rate = self.secondary.rate();
        let r = match p.secondary_count {
            Reading::Printed => r_p,
            Reading::Corrected => rate,
        };
        self.secondary.set(eq::even_step(rate, spare / room * (r / at_least(rate, 1e-9)), weight));
    }

    /// Holds both rates between their floors and what the cap allows.
    fn bound(&mut self) {
        let p = &self.params;
        let largest = p.largest_rate.as_f64();
        let cap = if p.cap > 0.0 { at_most(p.cap * p.eta * self.capacity, largest) } else { largest };
        let above = if p.update == Update::Mircc && p.secondary_packets > 0.0 { ABOVE_CAP } else { 1.0 };
        let capacity = self.capacity;
        for (class, floor) in [(&mut self.primary, p.floor), (&mut self.secondary, p.secondary_floor)] {
            let rate = class.rate();
            let held = eq::bounded(rate, floor * capacity, above * cap);
            if held.to_bits() != rate.to_bits() {
                class.set(held);
            }
        }
        let stamps =
            Stamps { primary: at_most(self.primary.rate(), cap), secondary: at_most(self.secondary.rate(), cap) };
        // Most links stand at their cap.
        if stamps != self.stamps {
            (self.stamps, self.whole) = (stamps, stamps.to_bps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Time = Time::from_ms;
    const C: Rate = Rate(10_000_000);

    /// The paper's text, with T = 100 ms and R(0) = ηC = 9.
    fn printed() -> RateParams {
        RateParams {
            eta: 0.9,
            interval: Interval::Fixed(MS(100)),
            min_packets: 0.0,
            secondary_packets: 0.0,
            sparse: false,
            drain: Drain::RoundTrip,
            rtt: RttSource::Average,
            residual: Reading::Printed,
            capacity: Capacity::Link,
            ..RateParams::default()
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} is not {b}");
    }

    /// Closer than whole bytes per interval can be.
    fn near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a} is not {b}");
    }

    /// `mbps` of Data of one class asked for in the interval that begins at `now`.
    fn offer(link: &mut LinkRates, now: Time, class: Class, mbps: f64) {
        link.on_interest(now, class, Bytes((mbps * 1e6 * 0.1 / 8.0) as u64));
    }

    #[test]
    fn one_overloaded_interval_by_hand() {
        let mut link = LinkRates::new(&printed(), C, Time::ZERO);
        close(link.stamps().primary, 9e6);
        link.on_rtt(Time::ZERO, MS(100));
        offer(&mut link, Time::ZERO, Class::Primary, 20.0);
        assert_eq!(link.next_tick(), Some(MS(100)));
        // q = 100 kbit, q/d = 1 Mbit/s, β = 1 (all of y is new): base = (9 − 1)·9/20 = 3.6, excess
        // = 0. base_ewma = (9 + 3.6)/2, excess_ewma = 0.
        link.tick(MS(100), Bytes(12_500));
        close(link.stamps().primary, 6.3e6);
        // y = 10: β = 0.1, N̂ = 10/6.3; base = 9·0.63 = 5.67, excess = 0; base_ewma = (6.3 +
        // 5.67)/2.
        offer(&mut link, MS(100), Class::Primary, 10.0);
        link.tick(MS(200), Bytes::ZERO);
        close(link.stamps().primary, 5.985e6);
        // y = 5: N̂ = 10/5.985; base = 9·0.5985 = 5.3865, excess = 5.985 − 5·0.5985 = 2.9925;
        // base_ewma = (5.985 + 5.3865)/2 = 5.68575, excess_ewma = 1.49625.
        offer(&mut link, MS(200), Class::Primary, 5.0);
        link.tick(MS(300), Bytes::ZERO);
        close(link.stamps().primary, 7.182e6);
    }

    /// The repair, ours: with a round trip of two intervals, half the weight.
    #[test]
    fn a_scaled_gain_moves_less_where_round_trips_are_long() {
        let after_one = |gain| {
            let mut link = LinkRates::new(&RateParams { gain, ..printed() }, C, Time::ZERO);
            link.on_rtt(Time::ZERO, MS(200));
            offer(&mut link, Time::ZERO, Class::Primary, 20.0);
            link.tick(MS(100), Bytes(12_500));
            link.stamps().primary
        };
        // q/d = 0.5 Mbit/s, β = 1: base = (9 − 0.5)·9/20 = 3.825, excess = 0. Footnote 3's α = 0.5
        // gives (9 + 3.825)/2, and 0.25 gives 0.75·9 + 0.25·3.825.
        close(after_one(Gain::Printed), 6.4125e6);
        close(after_one(Gain::Scaled), 7.70625e6);
    }

    #[test]
    fn the_secondary_class_by_hand() {
        let mut link = LinkRates::new(&printed(), C, Time::ZERO);
        offer(&mut link, Time::ZERO, Class::Primary, 4.0);
        offer(&mut link, Time::ZERO, Class::Secondary, 12.0);
        // C_s = 6, y_s = 12, R_s = 9: N̂_s = 12/9; base = 0.9·6·9/12 = 4.05, excess = 9 − 12·9/12 =
        // 0; base_ewma = (9 + 4.05)/2.
        link.tick(MS(100), Bytes::ZERO);
        close(link.stamps().secondary, 6.525e6);
    }

    #[test]
    fn the_single_class_is_the_primary_one_alone() {
        let mut both = LinkRates::new(&printed(), C, Time::ZERO);
        let mut alone = both.clone();
        for i in 0..50 {
            let mbps = [3.0, 20.0, 9.0, 0.0, 12.0][i % 5];
            let now = MS(100) * i as u64;
            offer(&mut both, now, Class::Primary, mbps);
            offer(&mut alone, now, Class::Primary, mbps);
            offer(&mut both, now, Class::Secondary, 7.0);
            both.tick(now + MS(100), Bytes(500));
            alone.tick(now + MS(100), Bytes(500));
            assert_eq!(both.stamps().primary.to_bits(), alone.stamps().primary.to_bits());
        }
    }

    #[test]
    fn flows_that_obey_at_once_share_the_target() {
        // y = N·R: the loop without delay ends at R = ηC/N.
        let mut link = LinkRates::new(&printed(), C, Time::ZERO);
        for i in 0..100 {
            let mbps = 4.0 * link.stamps().primary / 1e6;
            offer(&mut link, MS(100) * i, Class::Primary, mbps);
            link.tick(MS(100) * (i + 1), Bytes::ZERO);
        }
        near(link.stamps().primary, 9e6 / 4.0);
    }

    #[test]
    fn what_the_primary_class_leaves_goes_to_the_secondary_one() {
        let rate_at_rest = |residual| {
            let mut link = LinkRates::new(&RateParams { residual, ..printed() }, C, Time::ZERO);
            for i in 0..300 {
                offer(&mut link, MS(100) * i, Class::Primary, 9.0);
                let mbps = link.stamps().secondary / 1e6;
                offer(&mut link, MS(100) * i, Class::Secondary, mbps);
                link.tick(MS(100) * (i + 1), Bytes::ZERO);
            }
            link.stamps().secondary
        };
        // As printed η(1 − η)C = 0.9 Mbit/s, corrected nothing but the floor.
        assert!((rate_at_rest(Reading::Printed) / 0.9e6 - 1.0).abs() < 1e-3);
        assert!(rate_at_rest(Reading::Corrected) < 1e-4 * 1e6);
    }

    #[test]
    fn an_idle_link_comes_to_rest_at_its_cap_and_wakes_with_traffic() {
        let mut link = LinkRates::new(&printed(), C, Time::ZERO);
        link.begin_at(9e3);
        assert_eq!(link.next_tick(), None);
        link.on_interest(MS(5), Class::Primary, Bytes(1000));
        let mut ticks = 0;
        while let Some(at) = link.next_tick() {
            link.tick(at, Bytes::ZERO);
            ticks += 1;
        }
        close(link.stamps().primary, 9e6);
        close(link.stamps().secondary, 9e6);
        // From 0.001 by 1.45 a tick: ln(1000)/ln(1.45) = 18.6, and two to see that nothing changes.
        assert!((19..=23).contains(&ticks), "{ticks}");
        link.on_interest(Time::from_secs(100), Class::Primary, Bytes(1000));
        assert_eq!(link.next_tick(), Some(Time::from_secs(100) + MS(100)));
    }

    #[test]
    fn without_a_cap_the_rate_grows_to_the_producers() {
        let mut link = LinkRates::new(&RateParams { cap: 0.0, ..printed() }, C, Time::ZERO);
        for i in 0..100 {
            offer(&mut link, MS(100) * i, Class::Primary, 3.0);
            link.tick(MS(100) * (i + 1), Bytes::ZERO);
        }
        close(link.stamps().primary, RateParams::default().largest_rate.as_f64());
    }

    #[test]
    fn zero_is_absorbing_and_a_floor_is_not() {
        let run = |floor| {
            let mut link = LinkRates::new(&RateParams { floor, ..printed() }, C, Time::ZERO);
            // A queue of ten seconds: far more than base_rate can bear.
            link.on_rtt(Time::ZERO, MS(10));
            offer(&mut link, Time::ZERO, Class::Primary, 50.0);
            link.tick(MS(100), Bytes(12_500_000));
            let hit = link.stamps().primary;
            for i in 1..60 {
                offer(&mut link, MS(100) * i, Class::Primary, 1.0);
                link.tick(MS(100) * (i + 1), Bytes::ZERO);
            }
            (hit, link.stamps().primary)
        };
        assert_eq!(run(0.0), (0.0, 0.0));
        let (hit, after) = run(1e-4);
        close(hit, 1e3);
        close(after, 9e6);
    }

    #[test]
    fn opposite_interests_are_left_out_of_c() {
        let params = RateParams { capacity: Capacity::Left, ..printed() };
        let mut link = LinkRates::new(&params, C, Time::ZERO);
        for i in 0..100 {
            // They take 1.43 of 10 Mbit/s: η(C − 1.43) is left for two flows.
            link.on_opposite_interest(MS(100) * i, Bytes(17_875));
            let mbps = 2.0 * link.stamps().primary / 1e6;
            offer(&mut link, MS(100) * i, Class::Primary, mbps);
            link.tick(MS(100) * (i + 1), Bytes::ZERO);
        }
        near(link.stamps().primary, 0.9 * 8.57e6 / 2.0);
    }

    /// The mean of R_s over what three flows can have of it, whose Interests are whole: 0.6 of 10
    /// Mbps, one of 1250 B in four intervals T of 15 ms.
    fn share_of_the_secondary_class(secondary_packets: f64) -> f64 {
        let params = RateParams {
            secondary_packets,
            interval: Interval::Fixed(MS(15)),
            residual: Reading::Corrected,
            ..printed()
        };
        let mut link = LinkRates::new(&params, C, Time::ZERO);
        link.on_rtt(Time::ZERO, MS(15));
        let (mut credits, mut sum) = ([0.0, 3e3, 6e3, 1e3], 0.0);
        for now in (0..20_000).map(MS) {
            while link.next_tick().is_some_and(|at| at <= now) {
                link.tick(link.next_tick().unwrap_or(now), Bytes::ZERO);
            }
            let r_s = link.stamps().secondary;
            for (credit, rate) in credits.iter_mut().zip([8.4e6, r_s, r_s, r_s]) {
                *credit += rate * 1e-3;
            }
            for (i, credit) in credits.iter_mut().enumerate() {
                let class = if i == 0 { Class::Primary } else { Class::Secondary };
                while *credit >= 1e4 {
                    *credit -= 1e4;
                    link.on_interest(now, class, Bytes(1250));
                }
            }
            sum += if now >= MS(5000) { r_s } else { 0.0 };
        }
        sum / 15_000.0 / 0.2e6
    }

    #[test]
    fn the_secondary_class_has_what_is_left_however_rare_its_interests_are() {
        let [text, ours] = [0.0, 10.0].map(share_of_the_secondary_class);
        assert!((ours - 1.0).abs() < 0.02, "{ours}");
        assert!((text - 1.0).abs() > 0.05, "else there is nothing to mend: {text}");
    }

    /// A link of ten Data in T, full of one flow's primary ones, stamps next to nothing for the secondary class after 100
    /// T. With what is kept of C alone it would stamp .47 of it.
    #[test]
    fn a_thin_link_that_is_full_leaves_the_secondary_class_nothing_soon() {
        let c = 200e3;
        let params = RateParams {
            secondary_packets: 10.0,
            interval: Interval::Fixed(MS(500)),
            residual: Reading::Corrected,
            ..printed()
        };
        let mut link = LinkRates::new(&params, Rate(200_000), Time::ZERO);
        let mut now = Time::ZERO;
        for _ in 0..100 {
            let asked = link.stamps().primary * 0.5;
            (0..10).for_each(|_| link.on_interest(now, Class::Primary, Bytes((asked / 80.0) as u64)));
            now += MS(500);
            link.tick(now, Bytes::ZERO);
        }
        assert!(link.stamps().secondary < 0.01 * c, "{}", link.stamps().secondary);
    }

    /// The mean of R_p over what a flow that is alone can have, which asks for 13 or 14 Data in T.
    fn share_of_a_flow_alone(secondary_packets: f64) -> f64 {
        let params = RateParams { secondary_packets, interval: Interval::Fixed(MS(15)), ..printed() };
        let mut link = LinkRates::new(&RateParams { cap: 1.0, ..params }, C, Time::ZERO);
        link.on_rtt(Time::ZERO, MS(15));
        let (mut credit, mut sum) = (0.0, 0.0);
        for now in (0..20_000).map(MS) {
            while link.next_tick().is_some_and(|at| at <= now) {
                link.tick(link.next_tick().unwrap_or(now), Bytes::ZERO);
            }
            let r_p = link.stamps().primary;
            credit += r_p * 1e-3;
            while credit >= 1e4 {
                credit -= 1e4;
                link.on_interest(now, Class::Primary, Bytes(1250));
            }
            sum += if now >= MS(5000) { r_p } else { 0.0 };
        }
        sum / 15_000.0 / 9e6
    }

    #[test]
    fn a_flow_that_fills_a_link_at_its_cap_has_all_of_it() {
        let [text, ours] = [0.0, 10.0].map(share_of_a_flow_alone);
        assert!((0.998..=1.0).contains(&ours), "{ours}");
        assert!(text < 0.995, "else there is nothing to mend: {text}");
    }

    /// T of sparse flows is their gap; T that is given as a time is that.
    #[test]
    fn the_interval_is_a_sparse_flows_gap_unless_it_is_given() {
        let interval = |interval, sparse| {
            let params = RateParams { interval, sparse, floor: 1e-4, ..printed() };
            let mut link = LinkRates::new(&params, C, Time::ZERO);
            link.primary.set(100e3);
            link.on_interest(Time::ZERO, Class::Primary, Bytes(1250));
            link.on_rtt(Time::ZERO, MS(20));
            link.interval()
        };
        // 1250 B at 100 kbps.
        assert_eq!(interval(Interval::Of(RttOf::Mean), true), MS(100));
        assert_eq!(interval(Interval::Of(RttOf::Mean), false), MS(20));
        assert_eq!(interval(Interval::Fixed(MS(40)), true), MS(40));
    }

    #[test]
    fn the_interval_follows_what_it_is_told_to() {
        let interval = |of, min_packets| {
            let params = RateParams { interval: Interval::Of(of), min_packets, ..printed() };
            let mut link = LinkRates::new(&params, C, Time::ZERO);
            assert_eq!(link.interval(), MS(100));
            link.on_interest(Time::ZERO, Class::Primary, Bytes(1250));
            link.on_rtt(Time::ZERO, MS(30));
            link.on_rtt(Time::ZERO, MS(20));
            link.interval()
        };
        // 15/16 of 30 ms and 1/16 of 20.
        assert_eq!(interval(RttOf::Mean, 0.0), Time::from_us(29_375));
        assert_eq!(interval(RttOf::Largest, 0.0), MS(30));
        // 50 Data of 1250 B take 50 ms.
        assert_eq!(interval(RttOf::Mean, 50.0), MS(50));
        assert_eq!(interval(RttOf::Mean, 1e6), Time::from_secs(1));
    }

    #[test]
    fn where_shares_are_small_the_interval_is_a_flows_gap() {
        let interval = |sparse| {
            let params = RateParams { sparse, interval: Interval::Of(RttOf::Mean), ..printed() };
            let mut link = LinkRates::new(&params, C, Time::ZERO);
            link.begin_at(90e3);
            link.on_rtt(Time::ZERO, MS(20));
            link.on_interest(Time::ZERO, Class::Primary, Bytes(1125));
            link.interval()
        };
        // R = 90 kbit/s is a Data of 1125 B in 100 ms.
        assert_eq!((interval(true), interval(false)), (MS(100), MS(20)));
    }

    #[test]
    fn an_interval_drains_no_more_than_waits() {
        let rate = |drain| {
            let mut link = LinkRates::new(&RateParams { drain, ..printed() }, C, Time::ZERO);
            link.on_rtt(Time::ZERO, MS(10));
            offer(&mut link, Time::ZERO, Class::Primary, 10.0);
            link.tick(MS(100), Bytes::ZERO);
            offer(&mut link, MS(100), Class::Primary, 10.0);
            link.tick(MS(200), Bytes(12_500));
            link.stamps().primary
        };
        // In 100 ms, β q is a tenth of 100 kbit or a tenth of ten times as many: 0.1 and 1 of 9 Mbit/s.
        let (interval, trip) = (rate(Drain::Interval), rate(Drain::RoundTrip));
        close(interval, 9e6 * 0.5 * (0.5 + 0.5 * 0.9) + 0.5 * 9e6 * (0.5 + 0.5 * 0.9) * 0.89);
        close(trip, 9e6 * 0.5 * (0.5 + 0.5 * 0.9) + 0.5 * 9e6 * (0.5 + 0.5 * 0.9) * 0.8);
    }

    #[test]
    fn rcp_moves_by_t_over_d() {
        let params = RateParams { update: Update::Rcp, ..printed() };
        let mut link = LinkRates::new(&params, C, Time::ZERO);
        link.on_rtt(Time::ZERO, Time::from_secs(1));
        offer(&mut link, Time::ZERO, Class::Primary, 14.0);
        offer(&mut link, Time::ZERO, Class::Secondary, 5.0);
        // 9 (1 + 0.1 · 0.4 (9 − 19)/10).
        link.tick(MS(100), Bytes::ZERO);
        close(link.stamps().primary, 8.64e6);
        close(link.stamps().secondary, 10.0);
    }

    #[test]
    fn a_slower_link_lowers_its_rates_at_once() {
        let mut link = LinkRates::new(&printed(), C, Time::ZERO);
        link.set_capacity(Rate::from_mbps(1));
        close(link.stamps().primary, 0.9e6);
    }

    fn any_params() -> impl Strategy<Value = RateParams> {
        let choice = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3u8);
        (choice, 0.5..1.0f64, 0.01..1.0f64, prop_oneof![Just(0.0), Just(1.0), Just(3.0)]).prop_map(
            |((rcp, scaled, left, residual, count, t), eta, weight, cap)| RateParams {
                update: if rcp { Update::Rcp } else { Update::Mircc },
                gain: if scaled { Gain::Scaled } else { Gain::Printed },
                capacity: if left { Capacity::Left } else { Capacity::Link },
                residual: if residual { Reading::Corrected } else { Reading::Printed },
                secondary_count: if count { Reading::Corrected } else { Reading::Printed },
                interval: [Interval::Of(RttOf::Mean), Interval::Of(RttOf::Largest), Interval::Fixed(MS(10))]
                    [t as usize],
                eta,
                weight,
                cap,
                ..RateParams::default()
            },
        )
    }

    proptest! {
        /// Whatever traffic and peers do, rates are numbers between floor and cap, and T is between
        /// its bounds.
        #[test]
        fn rates_stay_within_bounds(
            params in any_params(),
            steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), 1..10_000_000u64), 1..60),
        ) {
            prop_assert_eq!(params.check(), Ok(()));
            let mut link = LinkRates::new(&params, C, Time::ZERO);
            let mut now = Time::ZERO;
            let cap = if params.cap > 0.0 { params.cap * params.eta * 1e7 } else { params.largest_rate.as_f64() };
            for (primary, secondary, queued, rtt, wait) in steps {
                link.on_interest(now, Class::Primary, Bytes(primary));
                link.on_interest(now, Class::Secondary, Bytes(secondary));
                link.on_opposite_interest(now, Bytes(secondary));
                link.on_rtt(now, Time(rtt));
                now += Time::from_ns(wait);
                link.tick(now, Bytes(queued));
                for rate in [link.stamps().primary, link.stamps().secondary] {
                    prop_assert!((10.0 * 0.999_999..=cap * 1.000_001).contains(&rate), "{} {}", rate, cap);
                }
                prop_assert!((Time::from_us(1)..=params.max_interval).contains(&link.interval()));
            }
        }
    }

    /// Steps that are even (`secondary_packets`), (11) and (12) as printed: what the primary class leaves is counted
    /// from C, and steps are a part of R_p.
    #[test]
    fn even_steps_of_the_secondary_class_by_hand() {
        let params = RateParams { secondary_packets: 0.1, secondary_count: Reading::Printed, ..printed() };
        let mut link = LinkRates::new(&params, C, Time::ZERO);
        link.secondary.set(3e6);
        link.on_rtt(Time::ZERO, MS(100));
        offer(&mut link, Time::ZERO, Class::Primary, 4.0);
        offer(&mut link, Time::ZERO, Class::Secondary, 12.0);
        link.tick(MS(100), Bytes::ZERO);
        // Left: 0.9 (10 − 4) = 5.4, and y_s = 12 more than without: −6.6 of 12, in parts of R_p = 9 over R_s = 3. A step
        // down divides.
        let r_s = 3.0 / (1.0 + 0.5 * 6.6 / 12.0 * 9.0 / 3.0);
        near(link.stamps().secondary, 1e6 * r_s);
        offer(&mut link, MS(100), Class::Primary, 4.0);
        offer(&mut link, MS(100), Class::Secondary, 5.0);
        let r_p = link.primary.rate() / 1e6;
        // q = 100 kbit, q/d = 1 Mbit/s, β = 0.1, for y_s has fallen: 5.4 − 0.1 − 5 = 0.3 of max(5.4/0.9, 5).
        link.tick(MS(200), Bytes(12_500));
        near(link.stamps().secondary, 1e6 * (r_s + 0.5 * 0.3 / 6.0 * r_p));
    }
}
