//! XCP, the eXplicit Control Protocol (Katabi, Handley, Rohrs, SIGCOMM 2002;
//! draft-falk-xcp-spec-03, 2007).
//!
//! Each packet says its sender's throughput and round trip, and asks for more. Every port decides
//! once per mean round trip by how much all of its traffic together should grow or shrink
//! (efficiency), shares that out over the packets so that flows come closer to each other
//! (fairness), and writes the least change of the path into the packet. The receiver returns it,
//! and the sender changes its window by it.
//!
//! What is implemented and what is left out stands in `docs/schemes/xcp.md`, from which equation in
//! `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (what the paper prints), [`header`] (what
//! packets carry), [`endpoint`] (the sender's window; all else of the ends is TCP's), [`port`]
//! (both controllers), `queue.rs` (the persistent queue).

mod describe;
pub mod endpoint;
mod equations;
pub mod header;
mod params;
pub mod port;
mod queue;
#[cfg(test)]
mod tests;

pub(crate) use describe::xcp as describe;
pub use params::{UNREAD, XcpParams};
