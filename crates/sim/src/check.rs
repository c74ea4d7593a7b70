//! Checks scenarios and the files that they name, without a run.

use std::path::Path;

use midpath_core::files::Files;
use midpath_topo::describe;
use midpath_topo::format::Options;
use midpath_traffic::{EmpiricalCdf, FlowListFormat, parse_flow_list_bytes, parse_matrix_bytes};
use serde_json::{Value, json};

use crate::run::{RunOptions, prepare};
use crate::scenario::{self, ScenarioError};
use crate::setup::{IDEAL, Setup, parse_schedule, parse_trace};
use crate::{ideal, measure};
use midpath_schemes::Catalogue;

/// Largest file that is checked by itself. Ours: a hundred times the largest that ships.
const MAX_FILE: u64 = 1 << 30;
/// How much of a file tells what it is. Ours: comments may come first.
const HEAD: usize = 64 << 10;

/// What is known of a scenario without a run.
pub struct Checked {
    /// As those of `run.json`.
    pub warnings: Vec<Value>,
    /// `equipment` of `run.json`.
    pub equipment: Value,
}

/// Checks a scenario as [`crate::run_with`] would, up to the first packet.
///
/// # Errors
///
/// Every error of form; if there is none, the first of what refers to other parts.
pub fn check<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    catalogue: &Catalogue,
) -> Result<Checked, Vec<ScenarioError>> {
    let wrong = scenario::faults_of_form(text);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let built = prepare(text, files, options, catalogue).and_then(|setup| match can_begin(&setup) {
        Ok(()) => Ok(setup),
        Err(e) => Err(ScenarioError::locate(e, text)),
    });
    let checked = |setup: Setup| Checked { warnings: measure::warnings_beforehand(&setup), equipment: setup.equipment };
    built.map(checked).map_err(|error| vec![error])
}

/// What a run does before its first packet.
fn can_begin(setup: &Setup) -> Result<(), midpath_core::spec::SpecError> {
    // Comparisons add the ideal.
    ideal::allocation(setup)?;
    if setup.scenario.scheme == IDEAL {
        return setup.refuse_unlike_fluid();
    }
    setup.network()?;
    setup.trace_plan()?;
    setup.trace_search().map(drop)
}

/// Files that scenarios name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Topology,
    Matrix,
    Flows(FlowListFormat),
    Sizes,
    Schedule,
    Trace,
}

/// Checks a file that scenarios name, whichever kind it is: what it is, and how much is in it.
///
/// # Errors
///
/// What is wrong with it, with its line where that is known.
pub fn check_file(path: &Path) -> Result<Value, ScenarioError> {
    let bytes =
        Files::from("").read(path, MAX_FILE).map_err(|e| ScenarioError::whole(format!("cannot be read: {e}")))?;
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    match kind_of(&name, &bytes) {
        Kind::Topology => topology(path, &bytes),
        Kind::Matrix => matrix(&bytes),
        Kind::Flows(format) => {
            let flows = parse_flow_list_bytes(format, &bytes).map_err(|e| at(e.line as usize, e.message))?;
            Ok(json!({ "kind": "flow list", "flows": flows.len() }))
        }
        Kind::Sizes => {
            let text = std::str::from_utf8(&bytes).map_err(|_| ScenarioError::whole("not UTF-8 text"))?;
            let unit = three_columns(text).then_some(1.0);
            let sizes = EmpiricalCdf::parse_in(text, unit).map_err(|e| at(e.line, e.message))?;
            Ok(json!({ "kind": "sizes of flows", "points": sizes.points().len() }))
        }
        Kind::Schedule => {
            let steps = parse_schedule(&bytes).map_err(|e| with_line(&e))?;
            Ok(json!({ "kind": "schedule of a link", "steps": steps.len() }))
        }
        Kind::Trace => {
            parse_trace(&bytes).map_err(|e| with_line(&e))?;
            Ok(json!({ "kind": "trace of a link" }))
        }
    }
}

fn at(line: usize, message: String) -> ScenarioError {
    ScenarioError { key: String::new(), line: (line > 0).then_some(line), message }
}

/// `line 3: …`, as schedules and traces say it.
fn with_line(message: &str) -> ScenarioError {
    let found = message.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    match found.and_then(|(line, rest)| Some((line.parse().ok()?, rest))) {
        Some((line, rest)) => at(line, rest.to_owned()),
        None => ScenarioError::whole(message),
    }
}

/// A topology, and the demands that the same file may have.
fn topology(path: &Path, bytes: &[u8]) -> Result<Value, ScenarioError> {
    let found = describe::file(path, None, Options::default()).map_err(|e| at(e.line.unwrap_or(0), e.message))?;
    let demands = String::from_utf8_lossy(bytes).to_lowercase().contains("demand");
    let demands = if demands { Some(parse_matrix_bytes(bytes)) } else { None };
    // A network without demands is a whole one.
    let demands = match demands {
        Some(Err(e)) if !["no entry above zero", "no `graph.demands`"].iter().any(|s| e.message.contains(s)) => {
            return Err(at(e.line as usize, e.message));
        }
        Some(Ok(found)) => found.entries.len(),
        _ => 0,
    };
    Ok(json!({
        "kind": "topology", "nodes": found.nodes, "links": found.links, "demands": demands, "warnings": found.notes,
    }))
}

fn matrix(bytes: &[u8]) -> Result<Value, ScenarioError> {
    let found = parse_matrix_bytes(bytes).map_err(|e| at(e.line as usize, e.message))?;
    Ok(json!({ "kind": "traffic matrix", "demands": found.entries.len() }))
}

/// Which kind a file is, by what is in it; its name decides where that may be two.
fn kind_of(name: &str, bytes: &[u8]) -> Kind {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let mut lines = head.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut lines = lines.by_ref().filter(|l| !l.is_empty() && !l.starts_with('#'));
    let (first, second) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    if first.starts_with(['{', '<', '?']) {
        return Kind::Topology;
    }
    if first.starts_with("DEMANDS") {
        return Kind::Matrix;
    }
    if first.starts_with("Nodes ") && second.starts_with("Connections") {
        return Kind::Flows(FlowListFormat::Htsim);
    }
    if first.contains([',', ';', '\t'])
        && let Some(kind) = table(first)
    {
        return kind;
    }
    let (count, width) = (fields(first).count(), fields(second).count());
    let numbers = |line: &str| fields(line).all(|f| f.parse::<f64>().is_ok());
    match (count, width) {
        (1, 0 | 1) if numbers(first) && numbers(second) && !first.is_empty() => Kind::Trace,
        (1, 6) if numbers(first) => Kind::Flows(FlowListFormat::Hpcc),
        (1, 2) if numbers(first) && numbers(second) => Kind::Sizes,
        (2, 0 | 2) if numbers(second) && (numbers(first) || width == 2) => Kind::Sizes,
        (3, 3) if numbers(first) && name.contains("cdf") => Kind::Sizes,
        _ if name.ends_with(".csv") => Kind::Matrix,
        _ => Kind::Topology,
    }
}

/// A table with headings.
fn table(first: &str) -> Option<Kind> {
    let heads: Vec<String> = first.split([',', ';', '\t']).map(|h| h.trim().to_lowercase()).collect();
    let has = |name: &str| heads.iter().any(|h| h == name);
    match () {
        () if has("src") || has("dst") => Some(Kind::Flows(FlowListFormat::Csv)),
        () if has("at") => Some(Kind::Schedule),
        () if has("from") || has("to") || has("") => Some(Kind::Matrix),
        () => None,
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).filter(|f| !f.is_empty())
}

fn three_columns(text: &str) -> bool {
    text.lines().map(|l| fields(l.split('#').next().unwrap_or("")).count()).find(|n| *n > 1) == Some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_what_is_in_them() {
        for (name, text, kind) in [
            ("a.csv", "from,to,rate\na,b,1\n", Kind::Matrix),
            ("a.csv", ",a,b\na,0,1\nb,1,0\n", Kind::Matrix),
            ("a", "DEMANDS 1\nlabel src dest bw\n", Kind::Matrix),
            ("a.csv", "src,dst,size,start\n", Kind::Flows(FlowListFormat::Csv)),
            ("a.txt", "2\n0 1 3 100 1000 0\n", Kind::Flows(FlowListFormat::Hpcc)),
            ("a.cm", "Nodes 2\nConnections 1\n0->1 start 0 size 9\n", Kind::Flows(FlowListFormat::Htsim)),
            ("a.txt", "# web\n0 0\n1000 50\n", Kind::Sizes),
            ("a.txt", "1000\n0 0\n1000 0.5\n", Kind::Sizes),
            ("search.tcl", "1 1 0\n", Kind::Topology),
            ("cdf_search.tcl", "1 1 0\n2 1 1\n", Kind::Sizes),
            ("a.csv", "at,rate\n0,1\n", Kind::Schedule),
            ("a.trace", "0\n1\n1\n", Kind::Trace),
            ("a.gml", "graph [ node [ id 0 ] ]", Kind::Topology),
            ("weights.intra", "1 2 3\n2 3 4\n", Kind::Topology),
            ("a", "", Kind::Topology),
        ] {
            assert_eq!(kind_of(name, text.as_bytes()), kind, "{name}: {text}");
        }
    }

    #[test]
    fn lines_of_schedules_become_lines() {
        assert_eq!(with_line("line 3: what"), at(3, "what".to_owned()));
        assert_eq!(with_line("line of business: x"), ScenarioError::whole("line of business: x"));
    }
}
