//! NDN with a window at the consumer, as its users run it today: the baseline beside
//! [`mircc`](crate::mircc).
//!
//! [`window`] has AIMD and CUBIC, [`fetch`] the consumer around them, [`scheme`] all of it
//! together. Forwarders and producers are those of [`icn`](crate::icn), without MIRCC's ports: what
//! congestion there is shows in the scenario's queues, which mark or drop.

mod describe;
pub mod fetch;
pub mod params;
pub mod scheme;
pub mod window;

pub(crate) use describe::ndn as describe;
pub use params::NdnParams;
pub use scheme::build;
