//! The packet-level simulator of Midpath: it owns [`midpath_core::node::Node`]s and runs them in virtual time.
pub mod engine;
