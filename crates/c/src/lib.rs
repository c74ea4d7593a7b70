//! Sessions for C and C++: [`midpath_sim::Session`] behind functions of C. `include/midpath.h` says what they do.
//!
//! The semantics are those of astra-sim's `AstraNetworkAPI` (`sim_send`, `sim_recv`, `sim_schedule`, `sim_get_time`).
//! No panic crosses into C.

mod abi;
mod error;

pub use abi::*;
