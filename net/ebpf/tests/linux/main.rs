//! The programs in the kernel and in user space, and their build.

#[cfg(target_os = "linux")]
mod advice;
#[cfg(target_os = "linux")]
mod common;
#[cfg(target_os = "linux")]
mod core_vectors;
#[cfg(target_os = "linux")]
mod kernel_frames;
#[cfg(target_os = "linux")]
mod kernel_vectors;
#[cfg(target_os = "linux")]
mod running;

/// Tests of Linux: elsewhere there are none.
#[cfg(not(target_os = "linux"))]
const TESTS: &[&[midpath_testing::Test]] = &[];
#[cfg(target_os = "linux")]
const TESTS: &[&[midpath_testing::Test]] =
    &[advice::TESTS, core_vectors::TESTS, kernel_frames::TESTS, kernel_vectors::TESTS, running::TESTS];

fn main() -> std::process::ExitCode {
    midpath_testing::run(TESTS)
}
