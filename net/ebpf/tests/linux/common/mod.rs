//! What the tests share: the vectors, frames, and whether programs can be loaded here.

pub mod frame;
pub mod vectors;

use midpath_ebpf::{Config, Error, Loaded, unsupported};
use midpath_testing::ignore;

/// Programs in the kernel; the test is ignored where it cannot have them. A kernel that could load programs, but refuses
/// ours, fails the test.
pub fn loaded(config: &Config) -> Loaded {
    match Loaded::new(config) {
        Ok(loaded) => loaded,
        Err(why @ Error::Missing(_)) => ignore(why.to_string()),
        Err(why) => match unsupported() {
            Some(reason) => ignore(reason),
            None => panic!("{why}"),
        },
    }
}

/// The flow's register under a hash key of 0, by the standard library's SipHash-1-3, which has the
/// same key.
pub fn place_of(flow: &frame::Tcp, mask: u32) -> u32 {
    hash_of(flow) as u32 & mask
}

/// The hash of `bpf/flow_hash.h`: addresses as they lie in memory, in the order in which packets
/// leave.
pub fn hash_of(flow: &frame::Tcp) -> u64 {
    use std::hash::Hasher;
    let words = |host: u8| -> Vec<u32> {
        let bytes =
            if flow.v6 { frame::address6(host).octets().to_vec() } else { frame::address4(host).octets().to_vec() };
        bytes.chunks(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect()
    };
    let (source, destination) = (words(flow.hosts.0), words(flow.hosts.1));
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let ports =
        pair(u32::from(flow.ports.0.to_be()) << 16 | u32::from(flow.ports.1.to_be()), if flow.v6 { 6 } else { 4 });
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(&pair(source[0], destination[0]).to_le_bytes());
    if flow.v6 {
        hasher.write(&pair(source[1], source[2]).to_le_bytes());
        hasher.write(&pair(source[3], destination[1]).to_le_bytes());
        hasher.write(&pair(destination[2], destination[3]).to_le_bytes());
    }
    hasher.write(&ports.to_le_bytes());
    hasher.finish()
}
