//! Random streams that don't disturb each other.

use midpath_core::rng::mix;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator of every stream: fast, small, and equidistributed enough for 10⁸ draws.
pub(crate) type Stream = Xoshiro256PlusPlus;

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
pub(crate) fn stream(seed: u64, purpose: Purpose, index: usize) -> Stream {
    let entry = mix(mix(seed ^ mix(purpose as u64)) ^ index as u64);
    Stream::seed_from_u64(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rustc_hash::FxHashSet;

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let mut seen = FxHashSet::default();
        for seed in 0..20 {
            let five = [Purpose::FlowJitter, Purpose::Arrivals, Purpose::Sizes, Purpose::Matrix, Purpose::Pairs];
            for purpose in five.into_iter().chain([Purpose::Objects, Purpose::WriteSizes, Purpose::WriteTimes]) {
                for index in 0..20 {
                    assert!(seen.insert(stream(seed, purpose, index).next_u64()));
                }
            }
        }
    }
}
