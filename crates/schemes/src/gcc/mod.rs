//! Google congestion control (draft-ietf-rmcat-gcc-02, and libwebrtc where that departs from it): calls whose rate
//! follows the trend of one-way delays, and losses.
//!
//! Implemented and omitted parts: `docs/schemes/gcc.md`. Map from sections to files: `README.md`. Files: `params.rs`
//! (parameters), `arrivals.rs` (groups of data units), `filter.rs` (the trend of their delays), `detector.rs` (its
//! threshold), `aimd.rs` (delay-based rate), `loss.rs` (loss-based rate), `throughput.rs` (what arrives), `control.rs`
//! (all of it, report by report), `probe.rs` (bursts that find the capacity). The ends are those of `calls`.

mod aimd;
mod arrivals;
mod control;
mod describe;
mod detector;
mod filter;
mod loss;
mod params;
mod probe;
#[cfg(test)]
mod tests;
mod throughput;

use std::sync::Arc;

use midpath_core::roles::Parts;

use crate::calls::Calls;
pub(crate) use describe::schemes;
pub use params::GccParams;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: GccParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(Calls(params))), network: None }))
}
