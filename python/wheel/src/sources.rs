//! The Rust sources that this extension was built from.

/// Paths from the workspace's root, and what the files hold.
pub(crate) const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
