//! MIRCC (Mahdian, Arianfar, Gibson, Oran, ICN 2016): a rate per link, in two classes, stamped on returning Data.
//!
//! [`equations`] has the paper's equations, [`rates`] the state machine of a link's two rates, [`shaper`] a port's Interest shaper, [`path`]
//! path identifiers and steering hints, [`consumer`] what a consumer makes of the rates that come back. Around these, the network by
//! names: [`header`] has what packets carry, [`pit`], [`fib`], [`store`] and [`forwarder`] a node's tables, [`port`] its ports, [`fetch`] the consumer,
//! [`producer`] the producer, [`scheme`] all of it together. `README.md` maps the paper to functions.

pub mod consumer;
pub mod equations;
pub mod fetch;
pub mod fib;
pub mod forwarder;
pub mod header;
pub mod mean;
pub mod params;
pub mod path;
pub mod pit;
pub mod port;
pub mod producer;
pub mod rates;
pub mod scheme;
pub mod shaper;
pub mod store;

pub use params::MirccParams;
pub use scheme::build;
