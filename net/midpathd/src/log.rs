//! The log of a running process: one line per event on standard error.
//!
//! A command's output goes to standard output; its error is the last line of standard error.

use std::env;
use std::io::{IsTerminal, stderr};
use std::str::FromStr;

use clap::{ArgAction, Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::Error;

/// What is written, unless an option says otherwise.
const VARIABLE: &str = "RUST_LOG";

/// Options of all commands.
#[derive(Debug, Clone, Copy, Args)]
pub struct Log {
    /// Log more: twice for everything. RUST_LOG says it by part, such as `warn,midpathd::ndn=debug`.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// How a process that runs writes its log.
    #[arg(long = "log", value_name = "FORMAT", global = true, value_enum, default_value = "text")]
    format: Format,
}

/// `--log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for people; without the time where the journal writes it.
    Text,
    /// An object a line.
    Json,
}

impl Log {
    /// Begins to log.
    pub fn start(self) -> Result<(), Error> {
        // Colours are a feature that is off; the journal has its own clock.
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(stderr);
        let layer: Box<dyn Layer<Registry> + Send + Sync> = match self.format {
            Format::Json => lines.json().flatten_event(true).boxed(),
            Format::Text if env::var_os("JOURNAL_STREAM").is_some() && !stderr().is_terminal() => {
                lines.without_time().boxed()
            }
            Format::Text => lines.boxed(),
        };
        tracing_subscriber::registry().with(layer.with_filter(self.filter()?)).init();
        Ok(())
    }

    fn filter(self) -> Result<Targets, Error> {
        let level = [LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE][usize::from(self.verbose.min(2))];
        match env::var(VARIABLE) {
            Ok(said) if !said.is_empty() => parse(&said),
            _ => Ok(Targets::new().with_default(level)),
        }
    }

    /// Says why a command has failed: as the log does, where machines read it.
    pub fn log_fatal(self, error: &Error) {
        match self.format {
            Format::Text => eprintln!("midpathd: {error}"),
            Format::Json => tracing::error!("{error}"),
        }
    }
}

/// Levels by part; one alone is of all.
fn parse(said: &str) -> Result<Targets, Error> {
    Targets::from_str(said)
        .map_err(|e| Error::Usage(format!("{VARIABLE}: {e}; write `info` or `warn,midpathd::ndn=debug`")))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_is_by_part() {
        let filter = parse("warn,midpathd::ndn=debug").expect("it is right");
        assert!(filter.would_enable("midpathd::ndn::event_loop", &Level::DEBUG));
        assert!(!filter.would_enable("midpathd::node", &Level::INFO));
        assert!(parse("midpathd=loud").expect_err("there is none").to_string().starts_with("RUST_LOG: "));
    }
}
