//! What the tests share: the vectors, frames, and whether programs can be loaded here.
#![allow(dead_code)] // Each test file uses a part of it.

pub mod frame;
pub mod vectors;

use std::io::Write;

#[cfg(target_os = "linux")]
use midpath_ebpf::{Config, Error, Loaded, unsupported};

/// Programs in the kernel, or `None` with the reason on stderr where tests cannot have them. A
/// kernel that could load programs, but refuses ours, fails the test.
#[cfg(target_os = "linux")]
pub fn loaded(test: &str, config: &Config) -> Option<Loaded> {
    match Loaded::new(config) {
        Ok(loaded) => Some(loaded),
        Err(why @ Error::Missing(_)) => skip(test, &why.to_string()),
        Err(why) => match unsupported() {
            Some(reason) => skip(test, &reason),
            None => panic!("{why}"),
        },
    }
}

/// Says why a test is skipped, past the test harness, which would keep it to itself.
pub fn skip<T>(test: &str, why: &str) -> Option<T> {
    writeln!(std::io::stderr(), "test {test} skipped: {why}").expect("stderr can be written");
    None
}

/// The flow's register under a hash key of 0, by the standard library's SipHash-1-3, which has the
/// same key.
#[cfg(target_os = "linux")]
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
