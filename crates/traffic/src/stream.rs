//! Random streams that don't disturb each other.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use midpath_core::rng::mix;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{SeedableRng, TryRng};

/// The seed of a run, which knows whether anything was drawn from it.
#[derive(Debug, Clone, Default)]
pub struct Seed {
    number: u64,
    used: Arc<AtomicBool>,
}

impl Seed {
    /// Whether a stream of it has been drawn from: another seed may give another run.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

impl From<u64> for Seed {
    fn from(number: u64) -> Seed {
        Seed { number, used: Arc::default() }
    }
}

/// A random stream of a seed. Its generator is fast, small, and equidistributed enough for 10⁸ draws.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    generator: Xoshiro256PlusPlus,
    used: Arc<AtomicBool>,
}

impl Stream {
    /// Its generator, for a draw that decides nothing.
    pub fn undecided(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.generator
    }

    fn draws(&self) {
        // Threads that draw share the line: it is written once.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

impl TryRng for Stream {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.draws();
        self.generator.try_next_u32()
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.draws();
        self.generator.try_next_u64()
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.draws();
        self.generator.try_fill_bytes(bytes)
    }
}

/// What a stream is drawn for. The numbers are part of what a seed means: never change one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Start jitter of a `[[flow]]`.
    FlowJitter = 1,
    /// Times of arrival of a `[[workload]]`.
    Arrivals = 2,
    /// Its flow sizes, or burst durations.
    Sizes = 3,
    /// The pairs that its matrix consists of.
    Matrix = 4,
    /// Which of these pairs an arrival takes.
    Pairs = 5,
    /// Which object of its sender a flow moves.
    Objects = 6,
    /// Sizes of a `[[client]]`'s requests.
    RequestSizes = 7,
    /// Sizes of its replies.
    ReplySizes = 8,
    /// How long it thinks.
    ThinkTimes = 9,
    /// How long its servers take.
    ServiceTimes = 10,
    /// Which servers it asks.
    Servers = 11,
    /// When its loops begin.
    ClientJitter = 12,
    /// How long ranks of a `[[job]]` compute.
    ComputeTimes = 13,
    /// Bytes of the writes of a flow's application.
    WriteSizes = 14,
    /// Times between them, and its on and off periods.
    WriteTimes = 15,
    /// Which ranks of a `[[job]]` receive how much.
    Experts = 16,
    /// Which host has which rank.
    Placement = 17,
    /// Which servers a `[[client]]` asks again.
    Copies = 18,
    /// How long it waits before it does.
    Backoffs = 19,
}

/// The stream of entry `index` for `purpose` under the run's `seed`.
pub(crate) fn stream(seed: &Seed, purpose: Purpose, index: usize) -> Stream {
    let entry = mix(mix(seed.number ^ mix(purpose as u64)) ^ index as u64);
    Stream { generator: Xoshiro256PlusPlus::seed_from_u64(entry), used: seed.used.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rustc_hash::FxHashSet;

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let mut seen = FxHashSet::default();
        for seed in 0..20_u64 {
            let five = [Purpose::FlowJitter, Purpose::Arrivals, Purpose::Sizes, Purpose::Matrix, Purpose::Pairs];
            for purpose in five.into_iter().chain([Purpose::Objects, Purpose::WriteSizes, Purpose::WriteTimes]) {
                for index in 0..20 {
                    assert!(seen.insert(stream(&seed.into(), purpose, index).next_u64()));
                }
            }
        }
    }

    #[test]
    fn a_seed_is_used_once_a_stream_of_it_is_drawn_from() {
        let seed = Seed::from(3);
        let mut first = stream(&seed, Purpose::Sizes, 0);
        assert!(!seed.is_used());
        first.next_u64();
        assert!(seed.is_used() && seed.clone().is_used() && !Seed::from(3).is_used());
    }
}
