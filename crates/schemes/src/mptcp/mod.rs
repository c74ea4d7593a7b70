//! MPTCP, Multipath TCP (RFC 8684): one stream of data over several TCP subflows, with coupled
//! windows (RFC 6356, OLIA).
//!
//! Each subflow is a TCP of its own ([`crate::transport`]) with its own sequence numbers, losses and
//! window, between one of the source's and one of the destination's addresses. Above them there is
//! one stream with data sequence numbers, one receive buffer, and a scheduler that says which
//! subflow carries the next segment.
//!
//! | file | holds |
//! |---|---|
//! | `describe.rs` | description: equipment, costs, gauges |
//! | `params.rs` | parameters and origins of their defaults |
//! | `address.rs` | one address per port, and pairs of them |
//! | `keys.rs` | keys, tokens, HMACs |
//! | `hello.rs` | the options of handshakes |
//! | `announce.rs` | ADD_ADDR, and its acknowledgements |
//! | `header.rs` | the DSS option |
//! | `coupling.rs` | how windows grow: LIA, OLIA |
//! | `sender.rs`, `sender/` | the stream's source: subflows, scheduler, reinjection |
//! | `receiver.rs`, `receiver/stream.rs` | the shared buffer |
//! | `forwarder.rs` | forwarding by address |

pub mod address;
pub mod announce;
pub mod coupling;
mod describe;
pub mod forwarder;
pub mod header;
pub mod hello;
pub mod keys;
mod params;
pub mod receiver;
mod scheme;
pub mod sender;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::{Coupling, MptcpParams, Scheduler};
pub use scheme::build;

/// Most subflows of a connection, those that have died counted. Our choice: RFC 8684 allows 256
/// addresses, Linux 8 subflows.
pub const MAX_SUBFLOWS: usize = 8;
