//! The P4 compiler makes what is committed of the sources of `net/p4`.

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

fn p4c_makes_the_same_of_them_again() {
    let compiler = std::env::var("MIDPATH_P4C").unwrap_or_else(|_| "p4c-bm2-ss".into());
    if let Err(why) = Command::new(&compiler).arg("--version").output() {
        midpath_testing::ignore(format!("no p4c: {compiler}: {why}"));
    }
    let (own, out) = (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let script = own.join("../../scripts/p4_compile.py");
    let done = Command::new("python3").arg(script).arg(out).output().expect("Python");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for program in ["rpm_events.json", "rpm_switch.json"] {
        let read = |folder: &Path| -> Value {
            let text = std::fs::read_to_string(folder.join(program)).expect("readable");
            let mut file: Value = serde_json::from_str(&text).expect("JSON");
            // Another release may number differently; what it says of itself is no difference.
            file["midpath"]["p4c"].take();
            file["__meta__"].take();
            file
        };
        assert!(read(out) == read(&own.join("../p4/compiled")), "{program}");
    }
}

midpath_testing::tests!(p4c_makes_the_same_of_them_again);

fn main() -> ExitCode {
    midpath_testing::run(&[TESTS])
}
