//! MIRCC (Mahdian, Arianfar, Gibson, Oran, ICN 2016): a rate per link, in two classes, stamped on returning Data.
//!
//! So far the parts that need no packets. [`equations`] has the paper's equations, [`rates`] the state machine of a link's
//! two rates, [`shaper`] a port's Interest shaper, [`path`] path identifiers and steering hints, [`consumer`] what a
//! consumer makes of the rates that come back. Ports, endpoints and forwarders are not there yet; `README.md` says what
//! they need, and maps the paper to functions.

pub mod consumer;
pub mod equations;
pub mod mean;
pub mod params;
pub mod path;
pub mod rates;
pub mod shaper;
