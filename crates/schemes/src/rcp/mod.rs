//! RCP, the Rate Control Protocol (Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005;
//! Dukkipati's thesis, 2007).
//!
//! Every port offers one rate R to all flows, and adapts it so that the link is full and the queue empty. Each
//! packet collects the smallest R of its path; the receiver returns it, and the sender paces at it.
//!
//! Implemented and omitted parts: `docs/schemes/rcp.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (the paper's equations), [`header`], [`endpoint`] (the sender's
//! rate; the rest is TCP), [`port`] (R).

mod describe;
pub mod endpoint;
mod equations;
pub mod header;
mod params;
pub mod port;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::RcpParams;
