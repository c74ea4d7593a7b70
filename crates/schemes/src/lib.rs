//! The congestion-control schemes of Midpath, one folder each, all of the same shape: parameters, endpoints, ports,
//! a README with scope and limits, tests beside the code. [`icn`] is no scheme: it has what the schemes by name share.
//!
//! [`Catalogue`] turns a name and a table of parameters into a [`midpath_core::roles::Scheme`]. A scheme of your own
//! needs no change here: implement that trait in your crate and add a builder with [`Catalogue::with`]. What each scheme is,
//! needs and shows, it says itself: [`Description`].

mod catalogue;
pub mod describe;
pub mod fcp;
pub mod hpcc;
pub mod icn;
pub mod inrpp;
pub mod mircc;
pub mod mptcp;
pub mod ndn;
pub mod params;
pub mod rcp;
pub mod rpm;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod udp;
pub mod xcp;

pub use catalogue::{Built, CONSTANT_RATE, Catalogue, DEFAULT};
pub use describe::Description;
