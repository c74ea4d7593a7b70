//! `stacks FILE [--seed N] [--threads N] [--wire] [--out FOLDER]`: runs a scenario whose flows may be stacks, and prints
//! its result as one line of JSON. Captures go to the folder. A stack that misbehaves: exit code 1 and one line.
//!
//! `stacks test [--junit] [--qlog FOLDER] SCHEME…`: holds schemes to bounds from RFCs, and prints TAP or JUnit's XML; exit
//! code 1 if one is not kept. quinn's qlogs go to `FOLDER/SCHEME/CASE`.
//! `stacks scenario [CASE SCHEME]`: prints the scenario of one, or all names.
//! `stacks judge [--junit] < FIGURES`: the same bounds for what was measured elsewhere, in Linux say.

mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use midpath_quinn::{bbr, cubic, newreno, prague, swift};
use midpath_schemes::Catalogue;
use midpath_sim::{Column, RunOptions, RunOutput, Table};
use midpath_stack::{RunError, run};
use serde_json::{Value, json};
use stack_quinn::{QuinnParams, with_controller};

/// All stacks; `quinn-midpath-…` has a controller of ours.
fn catalogue() -> Catalogue {
    let ours = Catalogue::empty()
        .with_params::<QuinnParams>("quinn-midpath-newreno", |name, params| with_controller(name, params, newreno()))
        .with_params::<QuinnParams>("quinn-midpath-cubic", |name, params| with_controller(name, params, cubic()))
        .with_params::<QuinnParams>("quinn-midpath-bbr", |name, params| with_controller(name, params, bbr()))
        .with_params::<QuinnParams>("quinn-midpath-prague", |name, params| with_controller(name, params, prague()))
        .with_params::<QuinnParams>("quinn-midpath-swift", |name, params| with_controller(name, params, swift()));
    let stacks = [stack_quinn::schemes(), stack_smoltcp::schemes(), stack_str0m::schemes(), ours];
    stacks.into_iter().fold(Catalogue::standard(), |all, more| all.joined(more).expect("names that nobody has"))
}

struct Args {
    file: PathBuf,
    options: RunOptions,
    out: Option<PathBuf>,
}

fn arguments() -> Option<Args> {
    let mut args = std::env::args().skip(1);
    let file = args.next().filter(|first| !["test", "scenario", "judge"].contains(&first.as_str()))?;
    let mut read = Args { file: file.into(), options: RunOptions::default(), out: None };
    while let Some(key) = args.next() {
        match key.as_str() {
            "--wire" => read.options.wire = true,
            "--seed" => read.options.seed = Some(args.next()?.parse().ok()?),
            "--threads" => {
                let threads = args.next()?.parse().ok()?;
                (read.options.threads, read.options.parts) = (threads, threads);
            }
            "--out" => read.out = Some(args.next()?.into()),
            _ => return None,
        }
    }
    Some(read)
}

/// A column of text.
fn texts(table: &Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Some(Column::Str { dictionary, index }) => index.iter().map(|i| dictionary[*i as usize].clone()).collect(),
        _ => Vec::new(),
    }
}

/// What a reader wants of the flows, which are in the order of their starts.
fn flows(out: &RunOutput) -> Value {
    let table = out.table("flows").expect("flows");
    let floats = ["fct_s", "goodput_bps"].map(|name| (name, json!(table.f64(name))));
    let counts = ["delivered_bytes", "sent_packets", "retransmitted_packets", "marked_packets"];
    let counts = counts.map(|name| (name, json!(table.u64(name))));
    let from = [("src", json!(texts(table, "src")))];
    from.into_iter().chain(floats).chain(counts).map(|(name, values)| (name.to_owned(), values)).collect()
}

/// Series as rows of entity, metric, time in s and value; none without `measure.series`.
fn series(out: &RunOutput) -> Value {
    let Some(table) = out.table("series") else { return Value::Null };
    let names = texts(table, "entity").into_iter().zip(texts(table, "metric"));
    let values = table.f64("time_s").iter().zip(table.f64("value"));
    names.zip(values).map(|((entity, metric), (at, value))| json!([entity, metric, at, value])).collect()
}

/// Prints it; whether all bounds are kept.
fn verdict(all: &[suite::Verdict<'_>], junit: bool) -> ExitCode {
    print!("{}", if junit { suite::junit(all) } else { suite::tap(all) });
    if all.iter().all(suite::Verdict::is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `test`, `scenario` and `judge`.
fn suite() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first()? {
        (command, mut schemes) if command == "test" => {
            let (mut junit, mut qlog) = (false, None);
            loop {
                schemes = match schemes {
                    [key, rest @ ..] if key == "--junit" => {
                        junit = true;
                        rest
                    }
                    [key, folder, rest @ ..] if key == "--qlog" => {
                        qlog = Some(Path::new(folder));
                        rest
                    }
                    [] => return None,
                    _ => break,
                };
            }
            Some(verdict(&suite::judge(schemes, &catalogue(), qlog), junit))
        }
        (command, options) if command == "judge" && options.iter().all(|option| option == "--junit") => {
            let lines = std::io::read_to_string(std::io::stdin()).ok()?;
            Some(verdict(&suite::judge_measured(&lines)?, !options.is_empty()))
        }
        (command, []) if command == "scenario" => {
            suite::CASES.iter().for_each(|case| println!("{}", case.name));
            Some(ExitCode::SUCCESS)
        }
        (command, [case, scheme]) if command == "scenario" => {
            print!("{}", suite::CASES.iter().find(|one| one.name == case)?.scenario(scheme));
            Some(ExitCode::SUCCESS)
        }
        _ => None,
    }
}

fn main() -> ExitCode {
    if let Some(code) = suite() {
        return code;
    }
    let Some(Args { file, options, out: folder }) = arguments() else {
        eprintln!("usage: stacks FILE [--seed N] [--threads N] [--wire] [--out FOLDER]");
        eprintln!("       stacks test [--junit] [--qlog FOLDER] SCHEME…, stacks scenario [CASE SCHEME], stacks judge");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let base = file.parent().unwrap_or(Path::new("."));
    let out = match run(&text, base, &options, &catalogue()) {
        Ok(out) => out,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(if matches!(error, RunError::Stack(_)) { 1 } else { 2 });
        }
    };
    if let Some(folder) = folder {
        for (name, bytes) in &out.files {
            let path = folder.join(name);
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            if let Err(error) = made.and_then(|()| std::fs::write(&path, bytes)) {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{}", json!({ "flows": flows(&out), "series": series(&out), "run": out.run }));
    ExitCode::SUCCESS
}
