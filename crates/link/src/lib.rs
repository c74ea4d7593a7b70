//! Links between nodes over networks that are not ours: datagrams that neighbours authenticate and
//! encrypt, reports of what arrived, the rate that follows from them, and the largest datagram that
//! comes through.
//!
//! State machines without I/O. Whoever drives them owns the socket and the clock, hands in each
//! datagram and the time, and sends what comes out.
//!
//! | file | what | source |
//! |---|---|---|
//! | [`key`] | a node's key, and its neighbours' | X25519 (RFC 7748) |
//! | [`datagram`] | the bytes outside: version, kind, index, counter | ours |
//! | [`endpoint`] | who is a neighbour, handshakes, sessions, floods | Noise IK (revision 34, §7.5), WireGuard's cookies and timers |
//! | [`frame`] | the bytes inside | ours |
//! | [`replay`] | each datagram counts once | RFC 6479 |
//! | [`governor`] | how fast we may send | RFC 8085 §3.1, RFC 8084 |
//! | [`mtu`] | the largest datagram | RFC 8899 |
//! | [`parts`] | packets that are larger | ours, as RFC 8200 §4.5 and NDNLPv2 have it |
//! | [`unconfirmed`] | packets that may have been too large | ours |
//! | [`LinkId`] | a way to a neighbour: UDP, or a connection | ours |
//! | [`stream`] | datagrams over TCP connections | RFC 4571 |
//!
//! **What it does not do**: hide who talks to whom, how much and when; protect against a neighbour
//! that lies in what it sends (prices, nonces), which is the schemes' business.

pub mod datagram;
mod due;
pub mod endpoint;
pub mod frame;
pub mod governor;
pub mod key;
mod link_id;
pub mod mtu;
pub mod parts;
pub mod replay;
mod session;
pub mod stream;
pub mod unconfirmed;

pub use due::Due;
pub use endpoint::{Counters, Endpoint, Event, NotUp, Output, PeerId, PeerSpec};
pub use frame::Frame;
pub use governor::{Arrivals, Governor, Report};
pub use key::{KeyError, PublicKey, SecretKey};
pub use link_id::LinkId;
pub use mtu::MtuSearch;
pub use parts::Reassembly;
pub use unconfirmed::Unconfirmed;
