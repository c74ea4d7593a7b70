//! Packs the sources that this extension is built from into it: `midpath new scheme` gives them to
//! crates outside, so that a scheme of one's own needs neither a checkout nor a registry of
//! Midpath's crates. `midpath example` prints the scenarios among them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The simulator, this binding, and the example that new schemes begin with. Folders are taken with
/// all below them.
const PACKED: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "crates/core",
    "crates/ideal",
    "net/ndn",
    "net/ndn-forwarder",
    "crates/python",
    "crates/schemes",
    "crates/sim",
    "crates/topo",
    "crates/traffic",
    "python/wheel",
    "examples/outside-aqm/src",
    "examples/outside-controller/src",
    "examples/outside-scheme/src",
];
/// Folders of crates.
const CRATES: &[&str] = &["crates", "net", "python"];
/// Integration tests of crates are not needed to build them.
const LEFT_OUT: &[&str] = &["tests", "proptest-regressions", "README.md", "target"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the folder of the workspace");
    let mut files = Vec::new();
    for path in PACKED.iter().map(|part| root.join(part)) {
        println!("cargo::rerun-if-changed={}", path.display());
        collect(&path, CRATES.iter().any(|below| path.starts_with(root.join(below))), &mut files);
    }
    let examples = root.join("examples");
    println!("cargo::rerun-if-changed={}", examples.display());
    let entries = fs::read_dir(&examples).expect("examples").map(|entry| entry.expect("a readable folder").path());
    files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "toml")));
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).expect("below the root").to_str().expect("a name in UTF-8");
        writeln!(table, "    ({name:?}, include_str!({:?})),", file.to_str().expect("a path in UTF-8"))
            .expect("a string");
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("sources.rs");
    fs::write(out, table).expect("writing into OUT_DIR");
}

/// The files at and below `path`.
fn collect(path: &Path, of_a_crate: bool, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        return files.push(path.to_owned());
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for entry in entries.map(|entry| entry.expect("a readable folder")) {
        let top = path.join("Cargo.toml").is_file();
        let name = entry.file_name();
        if !(of_a_crate && top && LEFT_OUT.iter().any(|out| name == *out)) {
            collect(&entry.path(), of_a_crate, files);
        }
    }
}
