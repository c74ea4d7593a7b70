//! Random conversations with Linux's TCP. `evidence/peers/kernel-tcp` has a thousand.

use std::process::{Command, ExitCode};

/// From this one on losses are frequent, and each side lacks something that the other offers.
const FIRST: &str = "32";
/// The program's exit code where it has no right to a network namespace, or no TUN device.
const SKIPPED: i32 = 77;

fn linux_understands_our_tcp_and_we_understand_its() {
    let output = Command::new(env!("CARGO_BIN_EXE_midpath-tcp-interop")).args(["32", FIRST]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(SKIPPED) {
        midpath_testing::ignore(said.trim());
    }
    assert!(output.status.success(), "{said}");
}

midpath_testing::tests!(linux_understands_our_tcp_and_we_understand_its);

fn main() -> ExitCode {
    midpath_testing::run(&[TESTS])
}
