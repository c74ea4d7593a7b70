//! TCP: one sender and one receiver, with any congestion controller.
//!
//! What is implemented, from which RFC, and what is left out stands in `docs/schemes/tcp.md`, with
//! the table from RFC section to file. Where to start reading: [`sender`], [`receiver`], and [`cc`]
//! for adding a congestion controller of your own.
//!
//! **Sequence numbers** have 32 bits on the wire, begin at random and wrap. Here they are offsets
//! of 64 bits that don't ([`Sequence`] translates): 0 is the first byte of data, one after the SYN;
//! the FIN has the number after the last byte, so that it is retransmitted and acknowledged as a
//! byte would be. The other direction carries no data: its FIN is at 0.
//!
//! [`Sequence`]: midpath_core::packet::Sequence

pub mod cc;
pub mod cubic;
pub mod dctcp;
pub(crate) mod describe;
pub mod ecn;
mod equations;
pub mod fixed;
pub mod hystart;
pub mod newreno;
pub mod params;
pub mod prr;
pub mod receiver;
pub mod rtt;
mod scheme;
pub mod scoreboard;
pub(crate) mod segment;
pub mod sender;
mod settings;
#[cfg(test)]
mod tests;

pub use cubic::CubicParams;
pub use dctcp::DctcpParams;
pub use fixed::FixedWindowParams;
pub use newreno::NewRenoParams;
pub use params::TcpParams;
pub use scheme::{Tcp, TcpTable, build};
