//! The daemon as a process: what it says, serves, leaves behind.
#![expect(clippy::disallowed_methods, reason = "a test of real processes waits for them")]

#[cfg(target_os = "linux")]
mod check;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod node;
#[cfg(target_os = "linux")]
mod priority;
#[cfg(target_os = "linux")]
mod up_down;

/// Tests of Linux: elsewhere there are none.
#[cfg(not(target_os = "linux"))]
const TESTS: &[&[midpath_testing::Test]] = &[];
#[cfg(target_os = "linux")]
const TESTS: &[&[midpath_testing::Test]] =
    &[check::TESTS, log::TESTS, metrics::TESTS, node::TESTS, priority::TESTS, up_down::TESTS];

fn main() -> std::process::ExitCode {
    midpath_testing::run_waiting(TESTS)
}
