//! BBR version 3, as draft-ietf-ccwg-bbr specifies it: a sender that estimates the bandwidth and minimum RTT of its
//! path, and paces at that bandwidth.
//!
//! Implemented and omitted parts: `docs/schemes/bbr.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `constants.rs` (the draft's), `controller.rs` (callbacks, window and pace),
//! `model.rs` (the model of the path), `phases.rs` (the state machine), `probing.rs` (ProbeBW's cycle), `losses.rs`
//! (reactions to loss), `filter.rs` (windowed maxima), `expiry.rs` (our addition: falling rates). Names are the
//! draft's.

mod constants;
mod controller;
mod describe;
mod expiry;
mod filter;
mod losses;
mod model;
mod params;
mod phases;
mod probing;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::BbrParams;
