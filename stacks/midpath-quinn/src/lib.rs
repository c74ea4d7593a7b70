//! Midpath's congestion controllers as quinn's: the value that was simulated is the one that ships.
//!
//! ```
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(midpath_quinn::cubic());
//! ```
//!
//! What quinn does not offer a controller: a pacing rate (quinn paces at 1.25 windows per round trip, BBR's and Swift's
//! rates are not used), the number of marked packets (each ACK that reports a mark counts as marked whole), and ECT(1)
//! (Prague marks as a classic flow does, so L4S queues take it for one). Losses that turn out to be late are not undone.

mod adapter;
mod sent;

use std::sync::Arc;

pub use adapter::{Adapter, Factory};
use midpath_schemes::controller::{AssistedConfig, TcpTable};
use midpath_schemes::controllers::{BbrParams, CubicParams, NewRenoParams, PragueParams, SwiftParams};
use quinn_proto::congestion::ControllerFactory;

/// What a transport configuration takes.
pub type Boxed = Arc<dyn ControllerFactory + Send + Sync>;

/// A controller of these parameters, ours or yours.
///
/// # Panics
/// If the parameters are out of their ranges, or if the controller has a header of its own, for which QUIC has no place.
pub fn with<P: TcpTable>(params: P) -> Boxed
where
    P::Config: AssistedConfig,
    <P::Config as AssistedConfig>::Controller: Clone + Sync,
{
    let (tcp, config) = params.split().expect("parameters within their ranges");
    assert_eq!(config.traits().header, 0, "the controller has a header of its own, for which QUIC has no place");
    Arc::new(Factory { tcp, config })
}

/// RFC 5681.
pub fn newreno() -> Boxed {
    with(NewRenoParams::default())
}

/// RFC 9438, with HyStart++ (RFC 9406).
pub fn cubic() -> Boxed {
    with(CubicParams::default())
}

/// BBR, version 3 (draft-ietf-ccwg-bbr).
pub fn bbr() -> Boxed {
    with(BbrParams::default())
}

/// Prague: answers the share of marked ACKs.
pub fn prague() -> Boxed {
    with(PragueParams::default())
}

/// Swift: keeps the round-trip time at a target.
pub fn swift() -> Boxed {
    with(SwiftParams::default())
}
