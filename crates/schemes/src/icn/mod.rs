//! The ICN layer shared by `mircc` and `ndn`: forwarding, shaping, producers and consumers.
//!
//! [`header`] has the headers, [`path`] path identifiers and steering hints. [`pit`],
//! [`fib`], [`store`] and [`forwarder`] are a node's tables, [`shaper`] a port's Interest shaper,
//! [`above`] and [`awaited`] its outstanding Data, [`producer`] the producer. [`object`], [`segments`],
//! [`pending`] and [`round_trips`] are a consumer's state. The scheme decides when, and at what rate, a consumer
//! sends Interests.

pub mod above;
pub mod awaited;
pub mod fib;
pub mod forwarder;
pub mod header;
pub mod lines;
pub mod mean;
pub mod object;
pub mod params;
pub mod path;
pub mod pending;
pub mod pit;
pub mod producer;
pub mod round_trips;
pub mod segments;
pub mod shaper;
pub mod store;
mod table;
