//! Links between nodes over third-party networks: authenticated and encrypted datagrams, reports of arrivals, rate
//! control, and path MTU discovery.
//!
//! State machines without I/O. The driver owns the socket and the clock, passes in each datagram and the time, and
//! sends the output.
//!
//! | file | what | source |
//! |---|---|---|
//! | [`key`] | a node's key, and its neighbours' | X25519 (RFC 7748) |
//! | [`datagram`] | the bytes outside: version, kind, index, counter | ours |
//! | [`endpoint`] | neighbours, handshakes, sessions, floods | Noise IK (revision 34, §7.5), WireGuard's cookies and
//! timers |
//! | [`frame`] | the bytes inside | ours |
//! | [`replay`] | each datagram counts once | RFC 6479 |
//! | [`rate_controller`] | how fast we may send | RFC 8085 §3.1, RFC 8084 |
//! | [`mtu`] | the largest datagram | RFC 8899 |
//! | [`fragments`] | fragmentation of larger packets | ours, as RFC 8200 §4.5 and NDNLPv2 have it |
//! | [`unconfirmed`] | packets that may have been too large | ours |
//! | [`LinkId`] | a way to a neighbour: UDP, or a connection | ours |
//! | [`stream`] | datagrams over TCP connections | RFC 4571 |
//!
//! **Not provided**: hiding who talks to whom, how much and when; protection against a neighbour that sends false
//! prices or nonces, which is up to the schemes.

pub mod datagram;
mod due;
pub mod endpoint;
pub mod fragments;
pub mod frame;
pub mod key;
mod link_id;
pub mod mtu;
pub mod rate_controller;
pub mod replay;
mod session;
pub mod stream;
pub mod unconfirmed;

pub use due::Due;
pub use endpoint::{Counters, Endpoint, Event, NotUp, Output, PeerId, PeerSpec};
pub use fragments::Reassembly;
pub use frame::Frame;
pub use key::{KeyError, PublicKey, SecretKey};
pub use link_id::LinkId;
pub use mtu::MtuSearch;
pub use rate_controller::{Arrivals, LinkRateController, Report};
pub use unconfirmed::Unconfirmed;
