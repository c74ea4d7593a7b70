//! The network by names that `mircc` and `ndn` share: packets by name are forwarded, shaped,
//! produced and fetched here.
//!
//! [`header`] has what packets carry, [`path`] path identifiers and steering hints. [`pit`],
//! [`fib`], [`store`] and [`forwarder`] are a node's tables, [`shaper`] a port's Interest shaper,
//! [`above`] and [`awaited`] the Data that it has asked for, [`producer`] the producer. [`object`], [`segments`],
//! [`pending`] and [`round_trips`] are what a consumer keeps of what it fetches. When a consumer asks, and at what
//! rate, is its scheme's.

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
