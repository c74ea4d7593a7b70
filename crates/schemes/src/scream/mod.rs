//! SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2-01): congestion control of real-time media. A window that follows
//! losses, marks and the queue delay; an encoder's rate that follows the window.
//!
//! Implemented and omitted parts: `docs/schemes/scream.md`. Map from sections to files: `README.md`. Files: `params.rs`
//! (parameters), `window.rs` (network congestion control), `media.rs` (media rate control, pacing), `delay.rs` (the
//! queue delay), `control.rs` (all of it, report by report). The ends are those of `calls`.

mod control;
mod delay;
mod describe;
mod media;
mod params;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use midpath_core::roles::Parts;

use crate::calls::Calls;
pub(crate) use describe::schemes;
pub use params::ScreamParams;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: ScreamParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(Calls(params))), network: None }))
}
