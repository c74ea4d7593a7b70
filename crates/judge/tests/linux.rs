//! Random conversations with Linux's TCP. `checks/kernel-tcp` has a thousand.

use std::io::Write;
use std::process::Command;

/// From this one on losses are frequent, and each side lacks something that the other offers.
const FIRST: &str = "32";

#[test]
fn linux_understands_our_tcp_and_we_understand_its() {
    let output = Command::new(env!("CARGO_BIN_EXE_midpath-judge")).args(["32", FIRST]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(77) {
        // Not by `print`, which a test that passes keeps to itself.
        let _ = writeln!(std::io::stderr(), "TCP against the kernel: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
}
