//! Random streams: each component has its own, derived from the run's one seed and the component's
//! name.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator in use everywhere: xoshiro256++ (Blackman and Vigna, 2019).
pub type Stream = Xoshiro256PlusPlus;

/// SplitMix64's output function (Steele et al., 2014): spreads a counter over 64 bits.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What a stream is for. Streams of different purposes never coincide, so adding one leaves the
/// others' draws alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// A node's ports.
    Ports = 1,
    /// Corruption on one direction of a link.
    Corruption = 2,
    /// A workload's arrivals and sizes.
    Workload = 3,
    /// A generated topology.
    Topology = 4,
    /// Faults drawn at random.
    Fault = 5,
    /// A node's forwarders.
    Forwarders = 6,
    /// The endpoints on a node.
    Endpoints = 7,
    /// Bursts of loss on one direction of a link.
    Bursts = 8,
    /// Jitter on one direction of a link.
    Jitter = 9,
    /// Loss of ECN-capable packets on one direction of a link.
    EctLoss = 10,
    /// Bleaching of the ECN field on one direction of a link.
    Bleaching = 11,
    /// What a node's peers must not foresee.
    Secrets = 12,
}

/// The streams of one node: what one of its parts draws leaves the others' draws alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// Of its ports.
    pub ports: Stream,
    /// Of its forwarders.
    pub forwarders: Stream,
    /// Of the endpoints on it.
    pub endpoints: Stream,
    /// What its peers do not know: the key of its hashes.
    pub secret: [u64; 2],
}

impl Streams {
    /// Those of node `node` under the run's `seed`.
    pub fn of(seed: u64, node: u64) -> Streams {
        let part = |purpose| stream(seed, purpose, node);
        let mut secret = part(Purpose::Secrets);
        Streams {
            ports: part(Purpose::Ports),
            forwarders: part(Purpose::Forwarders),
            endpoints: part(Purpose::Endpoints),
            secret: [secret.next_u64(), secret.next_u64()],
        }
    }
}

/// The stream of component `index` for `purpose` under the run's `seed`.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> Stream {
    Stream::seed_from_u64(mix(mix(mix(seed) ^ purpose as u64) ^ index))
}

/// A uniform float in [0, 1) with 53 bits.
#[inline]
pub fn unit(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// A uniform integer below `n` (Lemire's multiplication; the bias is below n/2⁶⁴).
#[inline]
pub fn below(stream: &mut Stream, n: u64) -> u64 {
    ((u128::from(stream.next_u64()) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_apart() {
        let draw = |seed, p, i| stream(seed, p, i).next_u64();
        assert_eq!(draw(1, Purpose::Ports, 0), draw(1, Purpose::Ports, 0));
        let all = [
            draw(1, Purpose::Ports, 0),
            draw(1, Purpose::Ports, 1),
            draw(1, Purpose::Workload, 0),
            draw(2, Purpose::Ports, 0),
        ];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
        let Streams { mut ports, mut forwarders, mut endpoints, secret } = Streams::of(1, 0);
        let draws = [ports.next_u64(), forwarders.next_u64(), endpoints.next_u64()];
        assert!(draws[0] != draws[1] && draws[1] != draws[2] && draws[2] != draws[0]);
        assert!(secret[0] != secret[1] && secret.iter().all(|half| !draws.contains(half)));
        assert_ne!(secret, Streams::of(1, 1).secret);
    }

    #[test]
    fn unit_and_below_stay_in_range_and_average_out() {
        let mut s = stream(7, Purpose::Ports, 0);
        let n = 20_000;
        let mean = (0..n).map(|_| unit(&mut s)).inspect(|x| assert!((0.0..1.0).contains(x))).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / n as f64).sqrt(), "{mean}");
        assert!((0..n).all(|_| below(&mut s, 7) < 7));
    }
}
