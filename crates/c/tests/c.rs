//! A program in C drives a session: its ring takes as long as the scenario's own collective, and its mistakes are refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use midpath_sim::{RunOptions, run_text};

/// The library of C's beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let folder = test.parent().expect("a folder");
    let all = std::fs::read_dir(folder).expect("the folder of this test").filter_map(|entry| Some(entry.ok()?.path()));
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libmidpath_c") && name.ends_with(".a")
    };
    let newest = all.filter(is_library).max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    newest.unwrap_or_else(|| panic!("no libmidpath_c*.a in {}", folder.display()))
}

#[test]
fn a_program_in_c_drives_a_session() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler `cc` here");
        return;
    }
    let program = std::env::temp_dir().join(format!("midpath-ring-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-D_POSIX_C_SOURCE=200809L", "-o"])
        .args([&program, &here.join("tests/ring.c")])
        .arg(format!("-I{}", here.join("include").display()))
        .arg(library())
        .args(["-lm", "-lpthread", "-ldl"])
        .output()
        .expect("cc runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));

    let (n, share) = (8u64, 125_000u64);
    for scheme in ["dctcp", "uec"] {
        let wire = "{ rate = \"100 Gbps\", delay = \"500 ns\", mtu = 4150 }";
        let star = format!("scheme = \"{scheme}\"\n[topology]\ngenerate = \"star\"\nn = {n}\naccess = {wire}\n");
        let job = format!("[[job]]\ncollective = \"all-reduce\"\nhosts = [\"h*\"]\nsize = \"{} B\"\n", n * share);
        let out = run_text(&(star.clone() + &job), Path::new("."), &RunOptions::default(), &mut |_| true);
        let out = out.expect("it runs").expect("to its end");
        let flows = out.table("flows").expect("flows");
        let ends = flows.f64("start_s").iter().zip(flows.f64("fct_s")).map(|(start, took)| start + took);
        let own = (ends.fold(0.0, f64::max) * 1e12).round() as u64;

        let run = Command::new(&program).args([&star, &share.to_string()]).output().expect("it runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let printed: u64 = String::from_utf8_lossy(&run.stdout).trim().parse().expect("picoseconds");
        assert!(printed.abs_diff(own) <= 1, "{scheme}: {printed} and {own} ps");
    }
    let _ = std::fs::remove_file(program);
}
