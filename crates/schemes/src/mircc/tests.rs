//! A link's rates once more, from the paper's text and with nothing shared, beside what runs.

use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::params::{Capacity, Drain, Gain, Interval, RateParams, Reading, RttSource, Update};
use super::rates::LinkRates;
use crate::icn::header::Class;

/// Of one class: base_rate's average, excess_rate's, and y(t − T).
#[derive(Clone, Copy)]
struct Averages {
    base: f64,
    excess: f64,
    before: f64,
}

impl Averages {
    fn rate(&self) -> f64 {
        self.base + self.excess
    }

    /// Held between a floor and a cap; the base takes what is missing.
    fn hold(&mut self, floor: f64, cap: f64) {
        let rate = self.rate();
        if rate < floor || rate > cap {
            self.base = rate.clamp(floor, cap) - self.excess;
        }
    }
}

/// What a link has counted in an interval: bit/s by class and of Interests the other way, bits that
/// wait, and T and d in seconds.
struct Seen {
    primary: f64,
    secondary: f64,
    opposite: f64,
    queued: f64,
    period: f64,
    rtt: f64,
}

struct Paper {
    p: RateParams,
    link: f64,
    classes: [Averages; 2],
    mean_rtt: Option<f64>,
}

impl Paper {
    fn new(p: RateParams, link: f64, first: f64) -> Paper {
        let classes = [Averages { base: first, excess: 0.0, before: 0.0 }; 2];
        let mut paper = Paper { p, link, classes, mean_rtt: None };
        paper.hold();
        paper
    }

    fn hold(&mut self) {
        let largest = self.p.largest_rate.as_f64();
        let cap = if self.p.cap > 0.0 { largest.min(self.p.cap * self.p.eta * self.link) } else { largest };
        self.classes[0].hold(self.p.floor * self.link, cap);
        self.classes[1].hold(self.p.secondary_floor * self.link, cap);
    }

    fn tick(&mut self, seen: &Seen) {
        let p = self.p;
        // d(t), an EWMA by sixteenths.
        let rtt = self.mean_rtt.map_or(seen.rtt, |mean| mean + (seen.rtt - mean) / 16.0);
        self.mean_rtt = Some(rtt);
        let c = if p.capacity == Capacity::Left { (self.link - seen.opposite).max(1.0) } else { self.link };
        let d = if p.rtt == RttSource::Least { rtt + seen.queued / c } else { rtt };
        let [primary, secondary] = [self.classes[0].rate(), self.classes[1].rate()];
        if p.update == Update::Rcp {
            let y = seen.primary + seen.secondary;
            let spare = p.rcp_alpha * (p.eta * c - y) - p.rcp_beta * seen.queued / d;
            let rate = primary * (1.0 + seen.period / d * spare / c);
            self.classes = [rate, 0.0].map(|rate| Averages { base: rate, excess: 0.0, before: 0.0 });
        } else {
            let d = if p.drain == Drain::Interval { d.max(seen.period) } else { d };
            let weight = if p.gain == Gain::Scaled { p.weight * (seen.period / rtt).min(1.0) } else { p.weight };
            let class = |a: &mut Averages, c: f64, y: f64, n: f64| {
                let grown = if y > 0.0 { (y - a.before) / y } else { 0.0 };
                let base = (p.eta * c - p.beta.max(grown) * seen.queued / d) / n;
                let excess = a.rate() - y / n;
                a.base += weight * (base - a.base);
                a.excess += weight * (excess - a.excess);
                a.before = y;
            };
            let n = c.max(seen.primary) / primary;
            class(&mut self.classes[0], c, seen.primary, n);
            let taken = if p.residual == Reading::Corrected { seen.primary / p.eta } else { seen.primary };
            let left = (c - taken).max(0.0);
            let of = if p.secondary_count == Reading::Corrected { secondary } else { primary };
            let n = (left.max(seen.secondary) / of).max(1.0);
            class(&mut self.classes[1], left, seen.secondary, n);
        }
        self.hold();
    }
}

fn params() -> impl Strategy<Value = RateParams> {
    let readings = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (0.5..1.0f64, 0.05..1.0f64, 0.05..0.5f64, prop_oneof![Just(0.0), Just(1.0), Just(3.0)]);
    let floors = (1e-5..1e-2f64, 1e-5..1e-2f64);
    (readings, numbers, floors, prop_oneof![3 => Just(Update::Mircc), 1 => Just(Update::Rcp)]).prop_map(
        |(
            (scaled, left, residual, count, least, drain),
            (eta, weight, beta, cap),
            (floor, secondary_floor),
            update,
        )| {
            let reading = |corrected| if corrected { Reading::Corrected } else { Reading::Printed };
            RateParams {
                update,
                gain: if scaled { Gain::Scaled } else { Gain::Printed },
                capacity: if left { Capacity::Left } else { Capacity::Link },
                residual: reading(residual),
                secondary_count: reading(count),
                drain: if drain { Drain::Interval } else { Drain::RoundTrip },
                rtt: if least { RttSource::Least } else { RttSource::Average },
                interval: Interval::Fixed(Time::from_ms(50)),
                min_packets: 0.0,
                secondary_packets: 0.0,
                largest_rate: Rate::from_mbps(60),
                eta,
                weight,
                beta,
                cap,
                floor,
                secondary_floor,
                ..RateParams::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_link_stamps_what_the_equations_say(
        params in params(),
        first in 0.01..1.0f64,
        steps in prop::collection::vec(
            (0..200_000u64, 0..200_000u64, 0..30_000u64, prop_oneof![Just(0u64), 0..60_000u64], 1..300u64, 1..200u64),
            1..20,
        ),
    ) {
        const LINK: Rate = Rate::from_mbps(20);
        let first = first * params.eta * LINK.as_f64();
        let (mut runs, mut paper) = (LinkRates::new(&params, LINK, Time::ZERO), Paper::new(params, LINK.as_f64(), first));
        runs.begin_at(first);
        let mut now = Time::ZERO;
        for (primary, secondary, opposite, queued, rtt, period) in steps {
            // In halves, for what is counted is a sum.
            for part in [primary / 2, primary - primary / 2] {
                runs.on_interest(now, Class::Primary, Bytes(part));
            }
            runs.on_interest(now, Class::Secondary, Bytes(secondary / 3));
            runs.on_interest(now, Class::Secondary, Bytes(secondary - secondary / 3));
            runs.on_opposite_interest(now, Bytes(opposite));
            runs.on_opposite_interest(now, Bytes(1));
            runs.on_rtt(now, Time::from_ms(rtt));
            now += Time::from_ms(period);
            runs.tick(now, Bytes(queued));
            let seconds = 1e-3 * period as f64;
            let rate = |bytes: u64| 8.0 * bytes as f64 / seconds;
            paper.tick(&Seen {
                primary: rate(primary),
                secondary: rate(secondary),
                opposite: rate(opposite + 1),
                queued: 8.0 * queued as f64,
                period: seconds,
                rtt: 1e-3 * rtt as f64,
            });
            let stamps = runs.stamps();
            for (ours, papers) in [(stamps.primary, &paper.classes[0]), (stamps.secondary, &paper.classes[1])] {
                prop_assert!((ours - papers.rate()).abs() <= 1e-6 * papers.rate() + 1e-3, "{} {}", ours, papers.rate());
            }
        }
    }
}
