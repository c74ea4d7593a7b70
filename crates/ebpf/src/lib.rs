//! Reverse Path congestion Marking (RPM) for the Linux kernel: the eBPF programs, and what user
//! space needs to load them and to look at them.
//!
//! The programs are C, in `bpf/`. `programs` holds them as they were compiled with this crate.
//! [`Loaded`] puts them into the kernel; [`Running`] finds the maps of programs that somebody
//! loaded before, by a program's number. Where packets meet the programs (devices, qdiscs, filters)
//! is for the caller: `midpathd` does it.

#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod layout;
mod programs;

#[cfg(target_os = "linux")]
mod batch;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod running;

pub use layout::{
    Aqm, Codel, Config, Dataplane, Entrance, Mode, Params, Port, RawParams, Register, RegisterFlags, Registers,
    SOJOURN_BUCKETS, Stats, TICK_NS, sojourn_bounds_ns,
};
#[cfg(target_os = "linux")]
pub use load::{Loaded, Program, RunPacket, RunResult, unsupported};
pub use programs::{Missing, dctcp, rpm};
#[cfg(target_os = "linux")]
pub use running::{MapSizes, Running};

/// What the kernel answered when something was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The programs were not compiled.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// What runs was loaded by a version of this crate that keeps other structures.
    #[error("what runs was started by another version of midpathd")]
    OtherVersion,
    /// A program, a map or a type could not be loaded.
    #[error("{what}: {why}")]
    Kernel {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        why: String,
    },
}
