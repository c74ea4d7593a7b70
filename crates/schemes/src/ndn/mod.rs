//! NDN with a consumer window, as deployed today: the baseline for
//! [`mircc`](crate::mircc).
//!
//! [`window`] has AIMD and CUBIC, [`fetch`] the consumer around them, [`scheme`] all of it
//! together. Forwarders and producers are those of [`icn`](crate::icn), without MIRCC's ports: congestion shows in
//! the scenario's queues, which mark or drop.

mod describe;
pub mod fetch;
pub mod params;
pub mod scheme;
pub mod window;

pub(crate) use describe::schemes;
pub use params::NdnParams;
pub use scheme::build;
