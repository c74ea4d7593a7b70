//! Tunnels: a link between two nodes whose underlay is a TCP connection over plain routers (INRPP's
//! paper, §V-B).
//!
//! One direction of a tunnel is a [`Pipe`] between a port and the two ends of a connection:
//!
//! ```text
//!  the scheme's port ── TunnelPort ──> pipe ──> Entrance ~~ segments over plain routers ~~> Exit ──> the port there
//! ```
//!
//! The stream is the packets, each behind its length in two bytes (as in RFC 4571). A packet leaves the tunnel when
//! its last byte has arrived in order, after any retransmission. A port is asked for a packet only while little of
//! its data is unsent. So excess packets wait at the port, where the scheme counts them.

mod ends;
mod pipe;
mod port;

pub use ends::{Entrance, Exit};
pub use pipe::{Pipe, PipeReport, SharedPipe, UNSENT};
pub use port::TunnelPort;
