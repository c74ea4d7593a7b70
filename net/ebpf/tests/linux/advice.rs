//! "Install clang and the kernel's headers, and build again": the next build has the programs, and nothing is
//! compiled again after that.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What includes the programs, as the crate does.
const MAIN: &str = r#"
#[repr(C, align(8))]
struct Aligned<const N: usize>([u8; N]);
#[allow(dead_code)]
impl<const N: usize> Aligned<N> {
    const fn as_bytes(&'static self) -> &'static [u8] { &self.0 }
}
include!(concat!(env!("OUT_DIR"), "/programs.rs"));
fn main() { print!("{} {} {MISSING:?}", RPM.is_some(), DCTCP.is_some()); }
"#;
/// A clang that compiles where there are headers.
const CLANG: &str = r#"#!/bin/sh
[ -e "$(dirname "$0")/../headers" ] || { echo "fatal error: 'asm/types.h' file not found" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
echo object > "$2"
"#;

/// A crate with the same build script, and a path without clang.
struct Built {
    folder: PathBuf,
}

impl Built {
    fn new() -> Built {
        let built = Built { folder: std::env::temp_dir().join(format!("midpath-ebpf-advice-{}", std::process::id())) };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["src", "bpf", "bin"] {
            fs::create_dir_all(built.folder.join(name)).expect("a folder");
        }
        let manifest = "[package]\nname = \"t\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(built.folder.join("Cargo.toml"), manifest).expect("a file");
        fs::write(built.folder.join("src/main.rs"), MAIN).expect("a file");
        fs::copy(here.join("build.rs"), built.folder.join("build.rs")).expect("the build script");
        for file in fs::read_dir(here.join("bpf")).expect("sources").map(|entry| entry.expect("an entry")) {
            fs::copy(file.path(), built.folder.join("bpf").join(file.file_name())).expect("a source");
        }
        // All programs of this machine but clang.
        for folder in std::env::split_paths(&std::env::var_os("PATH").expect("a path")) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if !entry.file_name().to_string_lossy().starts_with("clang") {
                    let _ = symlink(entry.path(), built.folder.join("bin").join(entry.file_name()));
                }
            }
        }
        built
    }

    /// Builds again; what it prints, and whether anything was compiled.
    fn again(&self) -> (String, bool) {
        let cargo = Path::new(env!("CARGO"));
        let mut command = Command::new(cargo);
        command.args(["build", "--offline"]).current_dir(&self.folder).env("PATH", self.folder.join("bin"));
        command.env_remove("MIDPATH_CLANG").env("CARGO_TARGET_DIR", self.folder.join("target"));
        command.env("RUSTC", cargo.with_file_name("rustc"));
        let done = command.output().expect("cargo starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        let ran = Command::new(self.folder.join("target/debug/t")).output().expect("it starts");
        (String::from_utf8_lossy(&ran.stdout).into_owned(), said.contains("Compiling"))
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn what_is_installed_afterwards_is_found_by_the_next_build() {
    let built = Built::new();
    let (said, _) = built.again();
    assert!(said.starts_with("false false") && said.contains("cannot start clang"), "{said}");
    // clang comes, to a folder that was on the path already.
    let clang = built.folder.join("bin/clang");
    fs::write(&clang, CLANG).expect("a file");
    fs::set_permissions(&clang, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (said, _) = built.again();
    assert!(said.starts_with("false false") && said.contains("asm/types.h"), "{said}");
    // The headers come.
    fs::write(built.folder.join("headers"), "").expect("a file");
    assert_eq!(built.again(), ("true true \"\"".to_owned(), true));
    assert_eq!(built.again(), ("true true \"\"".to_owned(), false), "nothing is to be done");
}

midpath_testing::tests!(what_is_installed_afterwards_is_found_by_the_next_build,);
