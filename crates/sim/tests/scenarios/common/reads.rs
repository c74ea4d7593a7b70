//! Reading results.

use midpath_sim::{Column, RunOutput, Table};

/// A table's column of texts.
pub fn texts_of(table: &Table, column: &str) -> Vec<String> {
    match table.column(column) {
        Some(Column::Str { dictionary, index }) => index.iter().map(|i| dictionary[*i as usize].clone()).collect(),
        _ => panic!("there is no text {column}"),
    }
}

/// A column of texts.
pub fn texts(out: &RunOutput, table: &str, column: &str) -> Vec<String> {
    texts_of(out.table(table).unwrap_or_else(|| panic!("there is no table {table}")), column)
}

/// A column of counts.
pub fn column(out: &RunOutput, table: &str, name: &str) -> Vec<u64> {
    out.table(table).expect("every run has it").u64(name).to_vec()
}

/// Its sum.
pub fn total(out: &RunOutput, table: &str, name: &str) -> u64 {
    column(out, table, name).iter().sum()
}

/// A series of one metric: times and values.
pub fn series(out: &RunOutput, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let table = out.table("series").expect("the scenario measures");
    let (entities, metrics) = (texts(out, "series", "entity"), texts(out, "series", "metric"));
    let rows = (0..table.rows()).filter(|r| entities[*r] == entity && metrics[*r] == metric);
    rows.map(|r| (table.f64("time_s")[r], table.f64("value")[r])).collect()
}

/// A series after `from` seconds, in which there must be something.
pub fn series_after(out: &RunOutput, entity: &str, metric: &str, from: f64) -> Vec<(f64, f64)> {
    let values: Vec<_> = series(out, entity, metric).into_iter().filter(|(time, _)| *time > from).collect();
    assert!(!values.is_empty(), "no {metric} of {entity}");
    values
}

/// The mean of a series after `from` seconds.
pub fn mean_after(out: &RunOutput, entity: &str, metric: &str, from: f64) -> f64 {
    let values = series_after(out, entity, metric, from);
    values.iter().map(|v| v.1).sum::<f64>() / values.len() as f64
}

/// The last value of a series.
pub fn last(out: &RunOutput, entity: &str, metric: &str) -> f64 {
    series(out, entity, metric).last().unwrap_or_else(|| panic!("{entity} has no {metric}")).1
}

/// The largest value of a series.
pub fn most(out: &RunOutput, entity: &str, metric: &str) -> f64 {
    series(out, entity, metric).iter().map(|v| v.1).fold(f64::NEG_INFINITY, f64::max)
}

/// Packets dropped for want of room, by choice or by policy, at ports of nodes whose name passes.
pub fn drops_at(out: &RunOutput, node: impl Fn(&str) -> bool) -> u64 {
    let (ports, names) = (out.table("ports").expect("every run has ports"), texts(out, "ports", "node"));
    let column = |c: &str| ports.u64(c).iter().zip(&names).filter(|(_, n)| node(n)).map(|(d, _)| d).sum::<u64>();
    ["drops_queue", "drops_aqm", "drops_policy"].iter().map(|c| column(c)).sum()
}

/// Bytes that a flow delivered.
pub fn delivered(out: &RunOutput, flow: usize) -> u64 {
    out.table("flows").expect("every run has flows").u64("delivered_bytes")[flow]
}
