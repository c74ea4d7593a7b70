//! XCP, the eXplicit Control Protocol (Katabi, Handley, Rohrs, SIGCOMM 2002;
//! draft-falk-xcp-spec-03, 2007).
//!
//! Each packet states its sender's throughput and RTT, and requests more. Every port computes once per mean RTT how
//! much its aggregate should grow or shrink (efficiency), divides this over packets so that flows converge
//! (fairness), and lowers the packet's feedback to its own. The receiver returns it, and the sender adjusts its window.
//!
//! Implemented and omitted parts: `docs/schemes/xcp.md`. Map from sections and equations to files: `README.md`.
//! Files: `params.rs` (parameters), `equations.rs` (the paper's equations), [`header`], [`endpoint`] (the sender's
//! window; the rest is TCP), [`port`] (both controllers), `queue.rs` (the persistent queue).

mod describe;
pub mod endpoint;
mod equations;
pub mod header;
mod params;
pub mod port;
mod queue;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::XcpParams;
