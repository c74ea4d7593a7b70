use super::{Aqm, Verdict, View};
use crate::limit::Limit;
use crate::packet::Packet;
use crate::queue_spec::RedParams;
use crate::rng::unit;
use crate::units::{Rate, Time, TxClock};

/// Random early detection over an average of the bytes waiting.
#[derive(Debug, Clone)]
pub struct Red {
    params: RedParams,
    min: f64,
    max: f64,
    packets: bool,
    average: f64,
    /// Packets since the last one marked (−1: the average was below `min`).
    count: i64,
    typical: Time,
}

impl Red {
    /// RED on a port of `rate`.
    pub fn new(params: RedParams, rate: Rate) -> Red {
        let packets = matches!(params.max, Limit::Packets(_));
        let edge = |l: Limit| {
            let b = l.bound(rate);
            (if packets { b.packets } else { b.bytes }) as f64
        };
        Red {
            params,
            min: edge(params.min),
            max: edge(params.max),
            packets,
            average: 0.0,
            count: -1,
            // §11: "s, a typical transmission time for a small packet"; a full-sized one here, for
            // decay errs slow then.
            typical: TxClock::new(rate).time(1500),
        }
    }

    /// The average queue length: §4, the first half of the "detailed algorithm".
    fn update(&mut self, view: &View<'_>) {
        let q = (if self.packets { view.backlog.packets } else { view.backlog.bytes }) as f64;
        match view.idle_since {
            // m = f(time - q_time); avg <- (1 - w_q)^m avg
            Some(since) if q == 0.0 => {
                let m = (view.now - since).0 as f64 / self.typical.0 as f64;
                self.average *= (1.0 - self.params.weight).powf(m);
            }
            _ => self.average += self.params.weight * (q - self.average),
        }
    }

    /// The probability p_b before spacing, or `None` for "certainly".
    fn probability(&self) -> Option<f64> {
        let (avg, p) = (self.average, self.params.max_p);
        if avg < self.max {
            return Some(p * (avg - self.min) / (self.max - self.min));
        }
        (self.params.gentle && avg < 2.0 * self.max).then(|| p + (1.0 - p) * (avg - self.max) / self.max)
    }

    /// Whether this arrival is chosen.
    fn chooses(&mut self, view: &mut View<'_>) -> bool {
        if self.average < self.min {
            self.count = -1;
            return false;
        }
        self.count += 1;
        // p_a <- p_b / (1 - count p_b): spaces the marks evenly.
        let chosen = self.probability().is_none_or(|pb| {
            let rest = 1.0 - self.count as f64 * pb;
            rest <= 0.0 || unit(view.rng) < pb / rest
        });
        if chosen {
            self.count = 0;
        }
        chosen
    }
}

impl Aqm for Red {
    #[inline]
    fn enqueue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        self.update(view);
        if self.chooses(view) { Verdict::Signal } else { Verdict::Pass }
    }

    fn reset(&mut self) {
        self.average = 0.0;
        self.count = -1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::{FlowId, NodeId};
    use crate::rng::{Purpose, Stream, stream};
    use crate::roles::Backlog;

    const RATE: Rate = Rate::from_mbps(12);

    fn red(weight: f64, gentle: bool) -> Red {
        let (min, max) = (Limit::Bytes(10_000), Limit::Bytes(30_000));
        Red::new(RedParams { min, max, max_p: 0.1, weight, gentle }, RATE)
    }

    /// One arrival that finds `bytes` waiting (or an idle transmitter, since when); whether it is
    /// chosen.
    fn arrive(red: &mut Red, bytes: u64, now: Time, idle_since: Option<Time>, rng: &mut Stream) -> bool {
        let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500);
        let backlog = Backlog { packets: bytes / 1500, bytes };
        let (lane, sojourn) = (backlog, Time::ZERO);
        let mut view = View { now, backlog, lane, rate: RATE, mtu: 1500, idle_since, sojourn, rng };
        red.enqueue(&mut packet, &mut view) == Verdict::Signal
    }

    /// Packets from one mark to the next with a queue that stays at `bytes` (weight 1: the average
    /// is the queue).
    fn gaps(bytes: u64, gentle: bool, packets: usize) -> Vec<usize> {
        let (mut red, mut rng) = (red(1.0, gentle), stream(3, Purpose::Ports, 0));
        let marked = (0..packets).filter(|_| arrive(&mut red, bytes, Time::ZERO, None, &mut rng)).collect::<Vec<_>>();
        marked.windows(2).map(|w| w[1] - w[0]).collect()
    }

    /// Mean and variance of the gap that the paper's algorithm gives: the n-th packet after a mark
    /// is marked with p_b/(1 − n p_b), if none before it was.
    fn expected(pb: f64) -> (f64, f64) {
        let (mut left, mut mean, mut square) = (1.0, 0.0, 0.0);
        for n in 1..1000 {
            let rest = 1.0 - f64::from(n) * pb;
            let p = if rest <= 0.0 { 1.0 } else { (pb / rest).min(1.0) };
            mean += left * p * f64::from(n);
            square += left * p * f64::from(n * n);
            left *= 1.0 - p;
        }
        (mean, square - mean * mean)
    }

    #[test]
    fn marks_come_as_often_as_the_formula_says() {
        // p_b = max_p (avg − min)/(max − min): 0.025, 0.05, 0.09; and gentle: max_p + (1 −
        // max_p)(avg − max)/max: 0.19, 0.28.
        for (bytes, gentle, pb) in [
            (15_000, false, 0.025),
            (20_000, false, 0.05),
            (28_000, true, 0.09),
            (33_000, true, 0.19),
            (36_000, true, 0.28),
        ] {
            let gaps = gaps(bytes, gentle, 100_000);
            let (mean, variance) = expected(pb);
            let got = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
            let deviation = (variance / gaps.len() as f64).sqrt();
            assert!(
                (got - mean).abs() < 4.0 * deviation,
                "p_b {pb}: a mark each {got} packets, expected {mean} ± {deviation}"
            );
            // Marks are spaced: never more than 1/p_b packets apart.
            assert!(gaps.iter().all(|g| *g as f64 <= 1.0 / pb + 1e-6), "p_b {pb}: {:?}", gaps.iter().max());
        }
    }

    #[test]
    fn nothing_below_the_minimum_and_everything_above_the_maximum() {
        assert!(gaps(9_999, true, 1000).is_empty());
        assert!(gaps(30_000, false, 1000).iter().all(|g| *g == 1));
        assert!(gaps(60_000, true, 1000).iter().all(|g| *g == 1));
    }

    #[test]
    fn an_idle_link_lets_the_average_decay_by_a_packet_time_each() {
        let (mut red, mut rng) = (red(0.1, true), stream(3, Purpose::Ports, 0));
        for _ in 0..200 {
            arrive(&mut red, 20_000, Time::ZERO, None, &mut rng);
        }
        assert!((red.average - 20_000.0).abs() < 1.0);
        // 1500 B take 1 ms; idle from 1 ms to 8 ms: avg (1 − w)^7.
        arrive(&mut red, 0, Time::from_ms(8), Some(Time::from_ms(1)), &mut rng);
        assert!((red.average / (20_000.0 * 0.9f64.powi(7)) - 1.0).abs() < 1e-4, "{}", red.average);
    }

    /// §4: count is −1 below the minimum, so that the first packet above it is the 0th.
    #[test]
    fn packets_are_counted_from_the_minimum_on() {
        let (mut red, mut rng) = (red(1.0, true), stream(3, Purpose::Ports, 0));
        // At the minimum p_b is zero: none is chosen.
        let mut counts = [9_999, 10_000, 10_000, 9_999, 10_000].map(|bytes| {
            assert!(!arrive(&mut red, bytes, Time::ZERO, None, &mut rng));
            red.count
        });
        assert_eq!(counts, [-1, 0, 1, -1, 0]);
        counts = [60_000, 60_000, 10_000, 10_000, 9_999].map(|bytes| {
            arrive(&mut red, bytes, Time::ZERO, None, &mut rng);
            red.count
        });
        assert_eq!(counts, [0, 0, 1, 2, -1], "from each that was chosen");
    }

    #[test]
    fn a_reset_one_is_as_new() {
        let (mut red, mut rng) = (red(1.0, true), stream(3, Purpose::Ports, 0));
        (0..10).for_each(|_| {
            arrive(&mut red, 20_000, Time::ZERO, None, &mut rng);
        });
        red.reset();
        assert_eq!((red.average, red.count), (0.0, -1));
    }

    proptest! {
        #[test]
        fn the_average_is_the_exponentially_weighted_one(
            queue in prop::collection::vec((0u64..100_000, 0u64..20), 1..100), weight in 0.001f64..1.0,
        ) {
            let (mut red, mut rng) = (red(weight, true), stream(3, Purpose::Ports, 0));
            let (mut average, mut now) = (0.0, Time::ZERO);
            for (bytes, idle_ms) in queue {
                now += Time::from_ms(idle_ms);
                let since = (idle_ms > 0).then(|| now - Time::from_ms(idle_ms));
                let bytes = if idle_ms > 0 { 0 } else { bytes };
                arrive(&mut red, bytes, now, since, &mut rng);
                // An idle millisecond counts as one packet that found an empty queue.
                let steps = idle_ms.max(1);
                (0..steps).for_each(|_| average = (1.0 - weight) * average + weight * bytes as f64);
                prop_assert!((red.average - average).abs() <= 1e-6 * (1.0 + average), "{} against {average}", red.average);
            }
        }
    }
}
