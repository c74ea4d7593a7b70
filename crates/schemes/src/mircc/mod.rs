//! MIRCC (Mahdian, Arianfar, Gibson, Oran, ICN 2016): a rate per link, in two classes, stamped on
//! returning Data.
//!
//! [`equations`] has the paper's equations, [`rates`] the state machine of a link's two rates,
//! [`link`] that with the link's shaper, [`port`] a node's ports around it. [`consumer`] is a consumer's use of
//! returned rates, [`asking`] its Interests, [`fetch`] the consumer, [`scheme`] the scheme. The ICN layer, with
//! headers, paths and the Interest shaper, is [`icn`](crate::icn). `README.md` maps the paper to functions.

pub mod asking;
pub mod consumer;
mod describe;
pub mod equations;
pub mod fetch;
pub mod link;
pub mod mean;
pub mod params;
pub mod port;
pub mod rates;
pub mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use describe::schemes;
pub use params::MirccParams;
pub use scheme::build;
