//! RCP, the Rate Control Protocol (Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005;
//! Dukkipati's thesis, 2007).
//!
//! Every port keeps one rate R that it offers to every flow, and adapts it so that the link is full
//! and the queue empty. Each packet takes the smallest R of its path along; the receiver returns
//! it, and the sender paces at it.
//!
//! What is implemented and what is left out stands in `docs/schemes/rcp.md`, from which equation in
//! `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (what the paper prints), [`header`] (what
//! packets carry), [`endpoint`] (the sender's rate; all else of the ends is TCP's), [`port`] (R).

mod describe;
pub mod endpoint;
mod equations;
pub mod header;
mod params;
pub mod port;
#[cfg(test)]
mod tests;

pub(crate) use describe::rcp as describe;
pub use params::{RcpParams, UNREAD};
