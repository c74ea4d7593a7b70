//! Available memory, so that a run that cannot fit is refused rather than killed.

/// What a flow takes from the list to its row of the result, if it is over before most others
/// begin. Measured: 158 B, of ten million flows of one packet with NewReno; 162 B where each waits for another one and has
/// a group of its own (`evidence/bench/MEASURED.md`).
pub const PER_FLOW: u64 = 200;

/// What a flow takes at most while it is under way, without packets. `tests/flow_memory.rs` holds it to what the dearest
/// scheme takes.
pub const PER_ACTIVE_FLOW: u64 = 2_300;

/// The same of the fluid, whose flows are made when they arrive. Measured: 136 B, of one and of three million flows of one
/// packet; 760 B, of 20,000 and 60,000 between 4,000 hosts that all begin at once.
pub const PER_FLUID_FLOW: [u64; 2] = [150, 1_000];

/// What is taken to be free where the system does not say. Ours: room for fifty million flows.
pub const UNKNOWN: u64 = 10_000_000_000;

/// What a run in a browser tab may take in all (`scripts/web.py`).
#[cfg(target_arch = "wasm32")]
const TAB: u64 = 1 << 30;

/// Bytes that this tab may still take: memory of WebAssembly grows in pages of 64 KiB.
#[cfg(target_arch = "wasm32")]
pub fn free() -> Option<u64> {
    Some(TAB.saturating_sub((core::arch::wasm32::memory_size(0) as u64) << 16))
}

#[cfg(not(target_arch = "wasm32"))]
pub use system::free;

/// What the system leaves to a process.
#[cfg(not(target_arch = "wasm32"))]
mod system {
    use std::fs;

    /// Bytes that this process may still take; `None` where the system does not say.
    pub fn free() -> Option<u64> {
        let available = number_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:").map(|kib| kib * 1024);
        [available, below_limit(), below_group_limit()].into_iter().flatten().min()
    }

    /// What `ulimit -v` leaves.
    fn below_limit() -> Option<u64> {
        let limit = number_of(&fs::read_to_string("/proc/self/limits").ok()?, "Max address space")?;
        let taken = number_of(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")? * 1024;
        Some(limit.saturating_sub(taken))
    }

    /// What a container's limit leaves (cgroup v2).
    fn below_group_limit() -> Option<u64> {
        let number = |file| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    }

    /// The first number after `name` in a file of the kernel's; `None` for "unlimited".
    fn number_of(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_kernels_files_are_read() {
            assert_eq!(number_of("MemFree:  1 kB\nMemAvailable:    8123 kB\n", "MemAvailable:"), Some(8123));
            assert_eq!(number_of("Max address space   unlimited   unlimited   bytes", "Max address space"), None);
            if cfg!(target_os = "linux") {
                assert!(free().is_some_and(|bytes| bytes > 1 << 20));
            }
        }
    }
}
