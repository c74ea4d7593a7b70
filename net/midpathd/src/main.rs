//! `midpathd`: Midpath on a Linux router.

use std::process::ExitCode;

fn main() -> ExitCode {
    midpathd::main()
}
