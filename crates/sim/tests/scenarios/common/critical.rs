//! What holds of the critical path of every request, page, view and iteration that ended.

use std::collections::BTreeMap;

use midpath_sim::{Column, RunOutput, Table};

use super::reads::{texts, texts_of};

/// Of times in seconds that are sums of picoseconds.
const ROUNDING: f64 = 1e-9;

/// A part of a path.
#[derive(Debug, Clone)]
pub struct Piece {
    pub part: String,
    pub flow: usize,
    pub from: f64,
    pub until: f64,
}

fn numbers(table: &Table, column: &str) -> Vec<u32> {
    match table.column(column) {
        Some(Column::U32(all)) => all.clone(),
        _ => panic!("there is no number {column}"),
    }
}

/// The paths by application and number.
pub fn paths(out: &RunOutput) -> BTreeMap<(String, u32), Vec<Piece>> {
    let Some(table) = out.table("critical") else { return BTreeMap::new() };
    let (application, part) = (texts(out, "critical", "application"), texts(out, "critical", "part"));
    let (number, flow) = (numbers(table, "number"), numbers(table, "flow"));
    let mut found = BTreeMap::<_, Vec<Piece>>::new();
    for row in 0..table.rows() {
        let piece = Piece {
            part: part[row].clone(),
            flow: flow[row] as usize,
            from: table.f64("from_s")[row],
            until: table.f64("until_s")[row],
        };
        found.entry((application[row].clone(), number[row])).or_default().push(piece);
    }
    found
}

/// How long a part of a path took.
pub fn spent(path: &[Piece], part: &str) -> f64 {
    path.iter().filter(|piece| piece.part == part).map(|piece| piece.until - piece.from).sum()
}

/// Whether each that ended has a path whose parts follow each other from its start to its end; whether flows on it took
/// what the table of flows says, from their starts on; and whether what follows a wait started when that was over.
pub fn check_critical(out: &RunOutput) {
    let mut paths = paths(out);
    let (flows, all) = (out.table("flows").expect("every run has flows"), out.table("critical"));
    let (start, took) = (flows.f64("start_s"), flows.f64("fct_s"));
    let tables = [
        ("requests", "client", "request", "completion_s"),
        ("pages", "client", "load", "onload_s"),
        ("iterations", "job", "iteration", "completion_s"),
    ];
    for (name, application, number, completion) in tables {
        let Some(table) = out.table(name) else { continue };
        let (application, number) = (texts_of(table, application), numbers(table, number));
        for row in 0..table.rows() {
            let found = paths.remove(&(application[row].clone(), number[row]));
            let (begin, spent) = (table.f64("start_s")[row], table.f64(completion)[row]);
            let Some(path) = found else {
                assert!(spent.is_nan(), "{name} {row} has no path");
                continue;
            };
            let near = |a: f64, b: f64| assert!((a - b).abs() < ROUNDING, "{name} {row}: {a} {b} {path:?}");
            near(path[0].from, begin);
            near(path[path.len() - 1].until, begin + spent);
            near(path.iter().map(|piece| piece.until - piece.from).sum(), spent);
            follows(&path, start, took);
        }
    }
    // What is left are views, from the first segment's request to the last segment.
    paths.values().for_each(|path| follows(path, start, took));
    assert!(all.is_none_or(|all| all.rows() > 0));
}

fn follows(path: &[Piece], start: &[f64], took: &[f64]) {
    for pair in path.windows(2) {
        assert!(pair[0].until == pair[1].from, "{pair:?}");
        assert!(pair[0].part == "network" || pair[1].part != "network" || pair[0].flow == pair[1].flow, "{pair:?}");
    }
    for piece in path.iter().filter(|piece| piece.part == "network") {
        let (begin, end) = (start[piece.flow], start[piece.flow] + took[piece.flow]);
        let is = |from: f64, until: f64| (piece.from - from).abs() < ROUNDING && (piece.until - until).abs() < ROUNDING;
        // The flow itself, or the news of its end to another node.
        assert!(is(begin, end) || is(end, piece.until), "{piece:?} {begin} {end}");
    }
}
