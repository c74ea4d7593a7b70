//! Falcon's congestion control (OCP Falcon Transport Protocol, revision 0.9, §10): Swift with a window for the fabric, by
//! its delay, and one for the receiver's network card, by its buffer; and PLB, which takes another path after rounds of
//! congestion.
//!
//! Implemented and omitted parts: `docs/schemes/falcon.md`. Map from sections to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (§10.3, §10.4), `header.rs` (timestamps, hops, buffer level),
//! `endpoint.rs` (the sender's callbacks).

mod describe;
pub(crate) mod endpoint;
pub(crate) mod equations;
pub(crate) mod header;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::FalconParams;
