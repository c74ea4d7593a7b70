//! How a test program reports tests that pass, fail, and lack something: it runs itself.

use std::process::{Command, ExitCode};

use midpath_testing::{Test, ignore, run};

/// Says that this process is the program that is looked at.
const INSIDE: &str = "MIDPATH_TESTING_INSIDE";

fn passes() {}

fn lacks_a_tool() {
    ignore("needs a tool");
}

fn fails() {
    assert_eq!(1, 2, "one is not two");
}

fn a_missing_tool_is_reported_as_ignored_with_its_reason() {
    let (said, success) = inside(&["--skip", "fails"]);
    assert!(success, "{said}");
    assert!(said.contains("lacks_a_tool ... ignored (needs a tool)"), "{said}");
    assert!(said.contains("1 passed; 0 failed; 1 ignored"), "{said}");
}

fn a_failure_is_a_failure() {
    let (said, success) = inside(&["fails"]);
    assert!(!success && said.contains("one is not two"), "{said}");
}

/// What this program says inside, with these arguments, and whether it succeeds.
fn inside(arguments: &[&str]) -> (String, bool) {
    let program = std::env::current_exe().expect("a program has a path");
    let done = Command::new(program).args(arguments).env(INSIDE, "1").output().expect("it starts");
    let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (said, done.status.success())
}

midpath_testing::tests!(a_missing_tool_is_reported_as_ignored_with_its_reason, a_failure_is_a_failure);

fn main() -> ExitCode {
    let inside: &[Test] = &[("passes", passes), ("lacks_a_tool", lacks_a_tool), ("fails", fails)];
    run(&[if std::env::var_os(INSIDE).is_some() { inside } else { TESTS }])
}
