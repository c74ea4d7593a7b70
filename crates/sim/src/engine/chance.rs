//! Random effects on a wire: bursty loss and jitter.

use midpath_core::rng::{Stream, unit};
use midpath_core::units::Time;
use midpath_topo::graph::MAX_DELAY;
use rand_distr::{Distribution, Exp, Normal, Pareto};

/// Loss in bursts: a chain of two states, which moves once per packet (Gilbert 1960, Elliott 1963).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// From good to bad, per packet.
    pub p: f64,
    /// From bad to good, per packet.
    pub r: f64,
    /// Share of packets lost in the good state.
    pub good: f64,
    /// Share of packets lost in the bad state.
    pub bad: f64,
}

impl Bursts {
    /// The share of time in the bad state: π_B = p / (p + r).
    pub fn share_bad(self) -> f64 {
        self.p / (self.p + self.r)
    }

    /// The share of packets lost in the long run: π_B · bad + π_G · good.
    pub fn mean(self) -> f64 {
        self.share_bad() * self.bad + (1.0 - self.share_bad()) * self.good
    }
}

/// The chain, under way.
pub(super) struct Chain {
    bursts: Bursts,
    is_bad: bool,
    stream: Stream,
}

impl Chain {
    /// Starts in either state with its share in the long run, so that the mean holds from the first
    /// packet on.
    pub fn new(bursts: Bursts, mut stream: Stream) -> Chain {
        Chain { bursts, is_bad: unit(&mut stream) < bursts.share_bad(), stream }
    }

    /// Whether the next packet is lost. After it the chain moves.
    pub fn loses(&mut self) -> bool {
        let (loss, change) =
            if self.is_bad { (self.bursts.bad, self.bursts.r) } else { (self.bursts.good, self.bursts.p) };
        let lost = unit(&mut self.stream) < loss;
        self.is_bad ^= unit(&mut self.stream) < change;
        lost
    }
}

/// A law of the delay that is added to a link's own. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Between zero and the most.
    Uniform,
    /// With this mean.
    Exponential(Exp<f64>),
    /// With a mean and a standard deviation; what would be below zero is zero.
    Normal(Normal<f64>),
    /// From a scale on, with a shape.
    Pareto(Pareto<f64>),
}

/// How much later than the link's own delay each packet arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// The law.
    pub law: Law,
    /// More is this much.
    pub most: Time,
    /// Packets may overtake each other.
    pub reorder: bool,
}

impl Jitter {
    /// A draw.
    pub(super) fn draw(&self, stream: &mut Stream) -> Time {
        let seconds = match self.law {
            Law::Uniform => unit(stream) * self.most.as_secs_f64(),
            Law::Exponential(law) => law.sample(stream),
            Law::Normal(law) => law.sample(stream),
            Law::Pareto(law) => law.sample(stream),
        };
        Time::from_secs_f64(seconds.clamp(0.0, MAX_DELAY.as_secs_f64())).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::rng::{Purpose, stream};

    /// Of 20 chains, so that the spread of the estimate is known without the chain's correlation.
    #[test]
    fn the_mean_loss_is_that_of_the_closed_form() {
        for bursts in [
            Bursts { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 },
            Bursts { p: 0.1, r: 0.1, good: 0.01, bad: 0.5 },
            Bursts { p: 0.002, r: 0.05, good: 0.001, bad: 0.8 },
        ] {
            let packets = 100_000;
            let losses: Vec<f64> = (0..20)
                .map(|seed| {
                    let mut chain = Chain::new(bursts, stream(seed, Purpose::Bursts, 0));
                    (0..packets).filter(|_| chain.loses()).count() as f64 / f64::from(packets)
                })
                .collect();
            let mean = losses.iter().sum::<f64>() / 20.0;
            let sd = (losses.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 19.0).sqrt();
            assert!((mean - bursts.mean()).abs() < 4.0 * sd / 20f64.sqrt(), "{mean} is not {} ± {sd}", bursts.mean());
        }
    }

    /// A burst of the Gilbert model (loss in the bad state only, and always) has 1/r packets in the
    /// mean.
    #[test]
    fn bursts_are_as_long_as_the_way_back_says() {
        let mut chain = Chain::new(Bursts { p: 0.02, r: 0.2, good: 0.0, bad: 1.0 }, stream(3, Purpose::Bursts, 0));
        let lost: Vec<bool> = (0..400_000).map(|_| chain.loses()).collect();
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let length = lost.iter().filter(|l| **l).count() as f64 / bursts;
        // The lengths are geometric: their spread is √(1 − r)/r = 4.5, over some 7,000 bursts.
        assert!((length - 5.0).abs() < 4.0 * 4.5 / bursts.sqrt(), "{length}");
    }

    #[test]
    fn jitter_has_the_mean_that_its_law_says() {
        let ms = 1e-3;
        let laws = [
            (Law::Uniform, Time::from_ms(20), 10.0, 20.0 / 12f64.sqrt()),
            (Law::Exponential(Exp::new(1.0 / (10.0 * ms)).expect("a rate")), MAX_DELAY, 10.0, 10.0),
            (Law::Normal(Normal::new(10.0 * ms, 1.0 * ms).expect("a spread")), MAX_DELAY, 10.0, 1.0),
            // Shape 3: the mean is 3/2 of the scale, the spread mean/√3.
            (
                Law::Pareto(Pareto::new(10.0 * ms * 2.0 / 3.0, 3.0).expect("a scale")),
                MAX_DELAY,
                10.0,
                10.0 / 3f64.sqrt(),
            ),
        ];
        for (law, most, mean, sd) in laws {
            let (jitter, n) = (Jitter { law, most, reorder: false }, 40_000);
            let mut stream = stream(1, Purpose::Jitter, 0);
            let sum: f64 = (0..n).map(|_| jitter.draw(&mut stream).as_secs_f64() / ms).sum();
            assert!(
                (sum / f64::from(n) - mean).abs() < 4.0 * sd / f64::from(n).sqrt(),
                "{law:?}: {}",
                sum / f64::from(n)
            );
        }
    }
}
