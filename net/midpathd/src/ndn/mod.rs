//! `midpathd ndn`: an NDN forwarder.

mod config;
mod event_loop;
mod fetch;
mod metrics;
mod output;
mod stream;
mod udp;
mod up;

use crate::error::Error;
pub use config::Config;
pub use fetch::{fetch, trust};
pub use up::{check, up};

/// Says one word to a forwarder that runs; returns its answer.
pub fn tell(config: &Config, word: &str) -> Result<serde_json::Value, Error> {
    crate::control::tell(&config.control, word)
}

/// Stops a forwarder that runs.
pub fn down(config: &Config) -> Result<(), Error> {
    crate::control::stop(&config.control)
}

/// Serves what a forwarder that runs has to say to Prometheus.
pub fn serve_metrics(config: &Config, listen: &str) -> Result<(), Error> {
    crate::metrics::serve(&crate::metrics::listen(listen)?, || Ok(metrics::render(&tell(config, "status")?)))
}
