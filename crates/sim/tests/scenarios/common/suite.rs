//! Scenarios for what must hold in all runs: the shipped ones under every scheme, those of the
//! papers, and random ones.

use std::path::{Path, PathBuf};

use midpath_core::units::Time;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::scene;

const SCHEMES: [&str; 11] =
    ["newreno", "cubic", "dctcp", "rcp", "xcp", "fcp", "inrpp", "mircc", "mptcp", "hpcc", "bbr"];

/// Schemes whose ports take any queue; the others' take drop-tail.
const ANY_QUEUE: [&str; 5] = ["newreno", "cubic", "dctcp", "mptcp", "bbr"];

/// A scenario to be run.
pub struct Case {
    /// What it is called in messages.
    pub name: String,
    pub text: String,
    /// Where its files are.
    pub base: PathBuf,
    /// In place of its own default scheme.
    pub scheme: Option<&'static str>,
}

/// The scenario's text, ending at `stop` in place of its own end.
pub fn shortened(text: &str, stop: &str) -> String {
    let rest = text.lines().filter(|l| !l.trim_start().starts_with("stop =") && !l.trim_start().starts_with("stop="));
    format!("stop = \"{stop}\"\n{}\n", rest.collect::<Vec<_>>().join("\n"))
}

/// All files below `folder` that are scenarios, in order.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the repository has it").map(|e| e.expect("readable").path()) {
        if entry.is_dir() {
            found.extend(scenarios(&entry));
        } else if entry.extension().is_some_and(|e| e == "toml") && !entry.ends_with("claim.toml") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

fn read(file: &Path, stop: &str) -> (String, String, PathBuf) {
    let name = file.file_stem().and_then(|s| s.to_str()).expect("a name").to_owned();
    let text = shortened(&std::fs::read_to_string(file).expect("readable"), stop);
    (name, text, file.parent().expect("a folder").to_owned())
}

/// When a shipped scenario of a data centre has seen enough.
pub fn in_a_rack(name: &str) -> Option<&'static str> {
    match name {
        "all_reduce" => Some("20 ms"),
        "incast" | "rpc_fan_out" => Some("4 ms"),
        _ => None,
    }
}

/// The shipped examples under every scheme; some refuse it.
pub fn examples() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = scenarios(&folder).into_iter().filter(|f| f.parent() == Some(&folder));
    let cases = files.flat_map(|file| {
        let name = file.file_stem().and_then(|s| s.to_str()).expect("a name");
        let (name, text, base) = read(&file, in_a_rack(name).unwrap_or("2100 ms"));
        SCHEMES.map(|s| Case { name: format!("{name} {s}"), text: text.clone(), base: base.clone(), scheme: Some(s) })
    });
    cases.collect()
}

/// Where a scenario says that it ends.
fn end_of(text: &str) -> Option<&str> {
    text.lines().take_while(|l| !l.starts_with('[')).find_map(|l| l.strip_prefix("stop = \"")?.split('"').next())
}

/// Four fifths of the packets of the papers' scenarios are theirs: a tenth of the time is hundreds of round trips.
const BUSIEST: [&str; 9] = [
    "schemes/powertcp/tails/racks",
    "schemes/dcqcn/pfc/victim",
    "schemes/dcqcn/pfc/unfair",
    "schemes/dcqcn/fixed_point/star",
    "schemes/bolt/arrivals/fat-tree-64",
    "schemes/bolt/arrivals/fat-tree-32",
    "schemes/bolt/incast/incast",
    "schemes/hpcc/tails/racks",
    "schemes/swift/tail/star",
];

/// The papers' scenarios up to `stop`, or to their own end: those of data centres are of milliseconds.
pub fn papers(stop: Time) -> Vec<Case> {
    let time = |text: &str| text.parse::<Time>().expect("a time");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/midpath/papers");
    let cases = scenarios(&folder).into_iter().map(|file| {
        let whole = std::fs::read_to_string(&file).expect("readable");
        let own = end_of(&whole).map_or(stop, time).min(stop);
        let name = file.strip_prefix(&folder).expect("below").with_extension("").display().to_string();
        let end = if BUSIEST.contains(&name.as_str()) { Time(own.0 / 10) } else { own };
        let (_, text, base) = read(&file, &format!("{} ps", end.0));
        Case { name, text, base, scheme: None }
    });
    cases.collect()
}

/// So many random ones, the schemes taking turns. The same each time.
pub fn random(cases: usize) -> impl Iterator<Item = Case> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = scene::scene();
    (0..cases).map(move |case| {
        let scene = strategy.new_tree(&mut runner).expect("a scene").current();
        let scheme = SCHEMES[case % SCHEMES.len()];
        let text = scene.text(case % 2 == 0);
        let text = match ANY_QUEUE.contains(&scheme) {
            false => plain_queue(&text),
            // Every second round of the schemes has RPM at all routers.
            true if (case / SCHEMES.len()).is_multiple_of(2) => with_rpm(&text),
            true => text,
        };
        Case { name: format!("random-{case} {scheme}"), text, base: PathBuf::from("."), scheme: Some(scheme) }
    })
}

/// The same scenario with RPM at all routers, in each of its modes that uses registers, under TCPs
/// with ECN.
fn with_rpm(text: &str) -> String {
    let mode = if text.len().is_multiple_of(2) { "rpm" } else { "both" };
    let ecn: String = ["newreno", "cubic", "mptcp", "bbr"].map(|s| format!("[schemes.{s}]\necn = true\n")).concat();
    format!(
        "{text}\n{ecn}[[deploy]]\nscheme = \"rpm\"\nnodes = [\"routers\"]\nparams = {{ mode = \"{mode}\", size = 16 }}\n"
    )
}

/// The same scenario with a drop-tail queue.
fn plain_queue(text: &str) -> String {
    let own = ["threshold = ", "kind = \"step\"", "scheduler = "];
    let keep = |line: &&str| !own.iter().any(|start| line.starts_with(start));
    let kinds = ["red", "codel", "drr", "pie", "dualpi2"];
    let lines = text.lines().filter(keep).filter(|l| !kinds.iter().any(|k| *l == format!("kind = \"{k}\"")));
    lines.collect::<Vec<_>>().join("\n")
}
