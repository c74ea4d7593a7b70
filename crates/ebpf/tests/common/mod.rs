//! What the tests share: the vectors, frames, and whether programs can be loaded here.
#![allow(dead_code)] // Each test file uses a part of it.

pub mod frame;
pub mod vectors;

use std::io::Write;

use midpath_ebpf::{Config, Error, Loaded};

/// Programs in the kernel, or `None` with the reason on stderr where tests cannot have them.
pub fn loaded(test: &str, config: &Config) -> Option<Loaded> {
    match Loaded::new(config) {
        Ok(loaded) => Some(loaded),
        Err(why @ Error::Missing(_)) => skip(test, &why.to_string()),
        Err(why) if !root() => skip(test, &format!("needs root ({why})")),
        Err(why) => panic!("{why}"),
    }
}

/// Says why a test is skipped, past the test harness, which would keep it to itself.
pub fn skip<T>(test: &str, why: &str) -> Option<T> {
    writeln!(std::io::stderr(), "test {test} skipped: {why}").expect("stderr can be written");
    None
}

fn root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0").trim();
    // CAP_BPF (39) and CAP_NET_ADMIN (12), or CAP_SYS_ADMIN (21) on older kernels.
    let all = u64::from_str_radix(effective, 16).unwrap_or(0);
    all >> 21 & 1 == 1 || (all >> 39 & 1 == 1 && all >> 12 & 1 == 1)
}
