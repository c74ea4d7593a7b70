//! BBR version 3, as draft-ietf-ccwg-bbr specifies it: a sender that measures what its path delivers
//! and how long it is without queues, and sends at that rate.
//!
//! What is implemented and what is left out stands in `docs/schemes/bbr.md`, from which section in
//! `README.md`.
//! Files: `params.rs` (parameters), `constants.rs` (the draft's), `controller.rs` (what the sender
//! calls, and what it sends by), `model.rs` (what is known of the path), `phases.rs` (the state
//! machine), `probing.rs` (ProbeBW's cycle), `losses.rs` (what losses mean), `filter.rs` (windowed
//! maxima), `expiry.rs` (an addition of ours: rates that fall). Names are the draft's.

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

pub(crate) use describe::bbr as describe;
pub use params::{BbrParams, UNREAD};
