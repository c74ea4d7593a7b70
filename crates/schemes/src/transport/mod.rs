//! Transport over TCP's segments: one sender and one receiver, under whatever says how fast
//! ([`cc`]). The TCPs, RCP, XCP, HPCC, FCP and INRPP are controllers of it; MPTCP's subflows are
//! such connections.
//!
//! Where to start reading: [`sender`], [`receiver`], and [`cc`] for adding a congestion controller
//! of your own. From RFC section to file: `docs/schemes/tcp.md`. Tests: `tcp/tests`.
//!
//! **Sequence numbers** have 32 bits on the wire, begin at random and wrap. Here they are offsets
//! of 64 bits that don't ([`Sequence`] translates): 0 is the first byte of data, one after the SYN;
//! the FIN has the number after the last byte, so that it is retransmitted and acknowledged as a
//! byte would be. The other direction carries no data: its FIN is at 0.
//!
//! Where a driver carries bytes, [`Transport::both_ways`] makes ends that are a sender and a receiver
//! each: `duplex.rs`.
//!
//! [`Transport::both_ways`]: midpath_core::roles::Transport::both_ways
//! [`Sequence`]: midpath_core::packet::Sequence

pub mod cc;
mod duplex;
pub mod ecn;
pub mod growth;
pub mod hystart;
pub(crate) mod lazy_box;
pub mod params;
pub mod prr;
pub mod receiver;
pub mod rtt;
mod scheme;
pub(crate) mod segment;
pub mod sender;
mod settings;
pub(crate) mod unread;

use midpath_core::units::Time;
pub use params::TcpParams;
pub use scheme::{Tcp, TcpTable, build};
pub(crate) use settings::UNLIMITED;

/// By how much a packet that waited for its time may be late and still count as sent in time, so
/// that those after it make up for that. Ours: about as late as an operating system's timer wakes a
/// thread of normal priority, and a burst that any queue takes.
pub(crate) const PACING_CREDIT: Time = Time::from_ms(1);
