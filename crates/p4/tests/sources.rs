//! What is committed as compiled is of the sources beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The files that a compiled program says it was made of, with their hashes.
fn recorded(program: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder("compiled").join(program)).expect("readable");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    serde_json::from_value(file["midpath"]["sources"].clone()).expect("the sources' hashes")
}

fn hash(path: &Path) -> String {
    // A checkout may have other ends of lines.
    let text = std::fs::read_to_string(path).expect("readable").replace("\r\n", "\n");
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All P4 files below a folder, by their path from `p4/` on.
fn all(below: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(below).expect("a folder").map(|entry| entry.expect("an entry").path());
    let named = |path: PathBuf| {
        if path.is_dir() {
            return all(&path);
        }
        let inner = path.strip_prefix(folder("p4")).expect("below p4/");
        BTreeSet::from([inner.to_string_lossy().replace('\\', "/")])
    };
    entries.flat_map(named).collect()
}

#[test]
fn the_compiled_programs_are_of_these_sources() {
    let mut used = BTreeSet::new();
    for program in ["rpm_events.json", "rpm_switch.json"] {
        for (source, wanted) in recorded(program) {
            let got = hash(&folder("p4").join(&source));
            assert_eq!(got, wanted, "{source} has changed: run scripts/p4_compile.py, which needs p4c");
            used.insert(source);
        }
    }
    assert_eq!(used, all(&folder("p4")), "each source is part of a program");
}

#[test]
fn p4c_makes_the_same_of_them_again() {
    let compiler = std::env::var("MIDPATH_P4C").unwrap_or_else(|_| "p4c-bm2-ss".into());
    if let Err(why) = Command::new(&compiler).arg("--version").output() {
        writeln!(std::io::stderr(), "test p4c skipped: no p4c: {compiler}: {why}").expect("stderr can be written");
        return;
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let script = folder("../../scripts/p4_compile.py");
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
        assert!(read(out) == read(&folder("compiled")), "{program}");
    }
}
