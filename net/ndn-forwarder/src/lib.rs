//! An NDN forwarder: tables, pipelines and management, without I/O and without a clock.
//!
//! Time comes with each call. The driver has the sockets: it hands in frames by
//! [`Forwarder::receive`], calls [`Forwarder::on_time`] when [`Forwarder::next_wake`] has come, and takes
//! out what is to be sent by [`Forwarder::sends`] and what else it is to do by
//! [`Forwarder::actions`] after each call.
//!
//! Names are bytes at the faces. Internally [`names`] gives each a number while a table entry holds it. [`pit`],
//! [`fib`], [`rib`], [`store`] and [`nonces`] are the tables, each bounded. [`forwarder`] has the pipelines,
//! [`management`] answers below `/localhost/nfd`.
//!
//! A packet that is forwarded keeps its bytes: only an Interest's HopLimit changes, and a nonce is
//! put into one that has none.

pub mod consumer;
mod control;
pub mod edge;
pub mod faces;
pub mod fib;
pub mod forwarder;
pub mod management;
pub mod name;
pub mod names;
pub mod nonces;
pub mod outbox;
pub mod pit;
pub mod rib;
pub mod shaped_face;
pub mod store;
pub mod strategy;
#[cfg(test)]
mod testing;
pub mod trust;

use midpath_core::units::Time;
use sha2::{Digest, Sha256};

pub use faces::{FaceId, FaceSpec, Persistency, Scope};
pub use forwarder::{Counters, Forwarder, Settings};
pub use shaped_face::Rated;

/// The SHA-256 of some bytes, one part after the other.
pub fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// A time in milliseconds that a packet says: any number.
fn millis(ms: u64) -> Time {
    // A year and more is as good as for ever.
    Time::from_ms(ms.min(1 << 33))
}
