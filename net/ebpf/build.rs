//! Compiles the programs with clang. Without clang the crate builds all the same, without programs,
//! and says so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Constant in `programs.rs`, source.
const PROGRAMS: [(&str, &str); 2] = [("RPM", "rpm.bpf.c"), ("DCTCP", "dctcp.bpf.c")];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=MIDPATH_CLANG");
    println!("cargo::rerun-if-env-changed=PATH");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (mut constants, mut missing) = (String::new(), None);
    for (name, source) in PROGRAMS {
        let object = out.join(source).with_extension("o");
        let bytes = match compile(Path::new("bpf").join(source).as_path(), &object) {
            Ok(()) => {
                let bytes = fs::metadata(&object).expect("clang has written it").len();
                constants +=
                    &format!("static {name}_OBJECT: Aligned<{bytes}> = Aligned(*include_bytes!({object:?}));\n");
                format!("Some({name}_OBJECT.as_bytes())")
            }
            Err(why) => {
                missing = Some(why);
                "None".to_owned()
            }
        };
        constants += &format!("static {name}: Option<&[u8]> = {bytes};\n");
    }
    if let Some(why) = &missing {
        println!(
            "cargo::warning=midpath-ebpf is built without its eBPF programs: {why}; install clang to \
            include them"
        );
        // Cargo takes a file that is not there for one that has changed: the next build tries again, by then perhaps
        // with clang and the headers.
        if is_for_linux() {
            println!("cargo::rerun-if-changed={}", out.join("no-programs-yet").display());
        }
    }
    constants += &format!("const MISSING: &str = {:?};\n", missing.unwrap_or_default());
    fs::write(out.join("programs.rs"), constants).expect("cargo's OUT_DIR can be written");
}

/// Compiles `source`, or says why not.
fn compile(source: &Path, object: &Path) -> Result<(), String> {
    if !is_for_linux() {
        return Err("they are for Linux".into());
    }
    let clang = env::var_os("MIDPATH_CLANG").unwrap_or_else(|| "clang".into());
    let mut command = Command::new(&clang);
    // -g: the types of maps are read from debug information.
    command.args(["-target", "bpf", "-mcpu=v2", "-O2", "-g", "-Wall", "-Wextra", "-c"]);
    command.args(include_flags()).arg(source).arg("-o").arg(object);
    match command.output() {
        Err(error) => Err(format!("cannot start {}: {error}", clang.display())),
        Ok(done) if done.status.success() => {
            // Another clang may warn of what this one does not. That is no reason to leave the
            // programs out.
            String::from_utf8_lossy(&done.stderr).lines().for_each(|line| println!("cargo::warning={line}"));
            Ok(())
        }
        // A compiler that is there and refuses is a defect of ours or of its installation: show
        // what it said.
        Ok(done) => Err(format!("{} failed: {}", source.display(), String::from_utf8_lossy(&done.stderr).trim_end())),
    }
}

fn is_for_linux() -> bool {
    env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux")
}

/// Debian and its kin keep `asm/types.h` in a directory that is named after the machine.
fn include_flags() -> Vec<String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let directory = format!("/usr/include/{arch}-linux-gnu");
    if Path::new(&directory).is_dir() { vec!["-idirafter".into(), directory] } else { Vec::new() }
}
