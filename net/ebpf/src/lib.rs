//! Reverse Path congestion Marking (RPM) for the Linux kernel: the eBPF programs, and user-space code to load and
//! inspect them.
//!
//! The programs are C, in `bpf/`. `programs` holds the compiled programs. [`Loaded`] loads them into the kernel;
//! [`Running`] finds the maps of loaded programs by a program's id. The caller attaches them (devices, qdiscs,
//! filters): `midpathd` does.

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
    #[error("the running instance was started by another version of midpathd")]
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
