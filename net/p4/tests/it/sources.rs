//! What is committed as compiled is of the sources beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
