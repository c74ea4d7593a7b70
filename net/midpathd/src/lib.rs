//! `midpathd`: Midpath on a Linux router. A library only for tests and fuzz targets of the configuration parsers.

mod cli;
pub mod error;
mod log;
mod quantity;

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod free;
#[cfg(target_os = "linux")]
pub mod metrics;
#[cfg(target_os = "linux")]
pub mod ndn;
#[cfg(target_os = "linux")]
mod net;
#[cfg(target_os = "linux")]
pub mod node;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
pub mod priority;
#[cfg(target_os = "linux")]
mod random;
#[cfg(target_os = "linux")]
mod rpm;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod source;
#[cfg(target_os = "linux")]
mod stop;

use std::process::ExitCode;

use clap::Parser;

/// What the program does.
pub fn main() -> ExitCode {
    // Clap ends the process itself: 2 for a bad command line, 0 after help.
    let cli = cli::Cli::parse();
    let log = cli.log;
    match log.start().and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.log_fatal(&error);
            error.code().into()
        }
    }
}

#[cfg(target_os = "linux")]
fn run(cli: cli::Cli) -> Result<(), error::Error> {
    run::run(cli)
}

#[cfg(not(target_os = "linux"))]
fn run(_: cli::Cli) -> Result<(), error::Error> {
    Err(error::Error::Machine("works on Linux only".into()))
}
