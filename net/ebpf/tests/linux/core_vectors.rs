//! The algorithm, built for user space, against the vectors.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::vectors::{self, Event, Vectors, ecn_bits, flag_bits};
use midpath_ebpf::Params;
use midpath_testing::ignore;

const WAYS: [&str; 3] = ["pass", "drop", "mark"];
const SANITIZE: [&str; 2] = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
const COUNTED: [&str; 6] = ["counted", "saturated", "collision", "no-acks", "accecn", "strange"];

/// The program of tests/harness; the test is ignored where there is no C compiler.
fn harness(test: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harness/core.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("core-{test}"));
    let compiler = compiler();
    let mut compile = Command::new(&compiler);
    compile.args(["-O1", "-g", "-Wall", "-Wextra"]);
    match has_sanitizer(&compiler) {
        // `the_sanitizer_is_at_work` says so.
        Ok(has_sanitizer) => drop(compile.args(SANITIZE.iter().filter(|_| has_sanitizer))),
        Err(error) => ignore(format!("no C compiler: {compiler}: {error}")),
    }
    let done = compile.arg("-o").arg(&program).arg(source).output().expect("it was just started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".into())
}

/// Whether the compiler comes with the library that the sanitizer needs.
fn has_sanitizer(compiler: &str) -> io::Result<bool> {
    let mut compile = Command::new(compiler);
    compile.args(SANITIZE).args(["-x", "c", "-", "-o", "/dev/null"]);
    let mut child = compile.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().expect("it is piped").write_all(b"int main(void) { return 0; }")?;
    Ok(child.wait()?.success())
}

/// What the program answers.
fn answers(program: &Path, input: &str) -> Vec<String> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn params_line(p: &Params) -> String {
    let numbers = format!("{} {} {} {} {}", p.target_ns, p.interval_ns, p.mtu_bytes, p.age_ticks, p.register_max);
    let kinds = format!("{} {} {} {}", p.aqm as u8, p.mode as u8, p.registers as u8, u8::from(p.aggregate));
    format!("params {numbers} {kinds} {}\n", p.window_mib)
}

/// A flow's tag: any number but 0 that no other flow has.
fn tag(file: &Vectors, flow: &str) -> usize {
    1 + file.flows.keys().position(|name| name == flow).expect("the file names its flows")
}

fn input_of(file: &Vectors) -> String {
    let mut input = params_line(&file.params);
    for event in &file.events {
        input += &match event {
            Event::Out(o) => format!(
                "out {} {} {} {} {} {} {} {} {}\n",
                o.t,
                o.sojourn,
                o.behind,
                file.flows[&o.flow],
                tag(file, &o.flow),
                ecn_bits(&o.ecn),
                u8::from(o.tcp),
                flag_bits(&o.flags),
                o.seq
            ),
            Event::In(i) => {
                let (place, tag, flags) = (file.flows[&i.flow], tag(file, &i.flow), flag_bits(&i.flags));
                format!("in {} {place} {tag} {flags} {}\n", i.t, i.ack)
            }
        };
    }
    input
}

fn wanted(event: &Event) -> String {
    match event {
        Event::Out(o) => {
            let way = WAYS.iter().position(|way| *way == o.verdict).expect("a verdict");
            let counted = o.counted.as_deref().map_or(-1, |c| COUNTED.iter().position(|n| *n == c).unwrap() as i32);
            format!("{} {way} {counted} {}", u8::from(o.signal), o.register)
        }
        Event::In(i) => format!("{} {}", u8::from(i.ece), i.register),
    }
}

fn the_sanitizer_is_at_work() {
    let compiler = compiler();
    match has_sanitizer(&compiler) {
        Ok(true) => (),
        other => ignore(format!("undefined behaviour is not looked for: no UBSan with {compiler}: {other:?}")),
    }
}

fn the_algorithm_passes_the_vectors() {
    let program = harness("vectors");
    for file in vectors::all() {
        let got = answers(&program, &input_of(&file));
        assert_eq!(got.len(), file.events.len(), "{}", file.name);
        for (at, (event, got)) in file.events.iter().zip(got).enumerate() {
            assert_eq!(got, wanted(event), "{}, event {at}: {event:?}", file.name);
        }
    }
}

fn the_control_law_is_exact_to_nine_digits() {
    let program = harness("root");
    let mut input = String::new();
    let counts: Vec<u32> =
        (1..5000).chain((12..32).flat_map(|k| [(1u32 << k) - 1, 1 << k, (1 << k) + 1])).chain([u32::MAX]).collect();
    let intervals = [1_000_000, 20_000_000, 100_000_000, 2_147_483_647u64];
    for interval in intervals {
        for count in &counts {
            input += &format!("root {interval} {count}\n");
        }
    }
    let got = answers(&program, &input);
    let all = intervals.iter().flat_map(|interval| counts.iter().map(move |count| (*interval, *count)));
    for ((interval, count), got) in all.zip(got) {
        let exact = interval as f64 / f64::from(count).sqrt();
        let error = (got.parse::<f64>().unwrap() - exact).abs();
        // The bound that the function states, and a nanosecond for rounding down.
        assert!(error <= exact / f64::from(1 << 28) + 1.0, "{interval}/sqrt({count}): {got}, not {exact}");
    }
}

midpath_testing::tests!(
    the_sanitizer_is_at_work,
    the_algorithm_passes_the_vectors,
    the_control_law_is_exact_to_nine_digits,
);
