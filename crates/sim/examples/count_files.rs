//! Counts of what the readers find in files, one line of JSON each, for `evidence/properties/files`:
//! `cargo run -p midpath-sim --example count_files -- KIND FILE …`, where KIND is `topology`, `matrix`, `list`, or
//! `sizes` (with a unit in bytes behind it, as in `sizes:1460`). The format is always detected.

use std::path::Path;

use midpath_topo::draft::DraftLink;
use midpath_topo::format::{self, Format, Options, Recognised};
use midpath_traffic::{EmpiricalCdf, FlowListFormat, parse_flow_list_bytes, parse_matrix_bytes};
use serde_json::{Value, json};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let [kind, file] = pair else { panic!("KIND FILE …") };
        let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{file}: {e}"));
        let found = match kind.split_once(':').unwrap_or((kind, "")) {
            ("topology", _) => topology(Path::new(file), &bytes),
            ("matrix", _) => matrix(&bytes),
            ("list", _) => list(&bytes),
            (_, unit) => sizes(&bytes, unit.parse().ok()),
        };
        println!("{}", found.unwrap_or_else(|message| json!({ "refused": message })));
    }
}

/// Links are counted, and the rates of those that state one, each way, added up in bits per second.
fn topology(path: &Path, bytes: &[u8]) -> Result<Value, String> {
    let format = match format::recognise(path, bytes) {
        Recognised::Format { format, .. } => format,
        Recognised::NotRead(what) => return Err(what.to_owned()),
        Recognised::Unknown => return Err("unknown".to_owned()),
    };
    let draft = format::parse(format, bytes, Options::default()).map_err(|e| e.to_string())?;
    let both_ways = |l: &DraftLink| Some(l.rate?.as_f64() + l.rate_back.or(l.rate)?.as_f64());
    let total = draft.links.iter().filter_map(both_ways).fold(0.0, |sum, rate| sum + rate);
    let name = if format == Format::RocketfuelLatencies { Format::RocketfuelWeights } else { format }.name();
    Ok(json!({ "format": name, "nodes": draft.nodes.len(), "links": draft.links.len(), "total": total }))
}

fn matrix(bytes: &[u8]) -> Result<Value, String> {
    let found = parse_matrix_bytes(bytes).map_err(|e| e.to_string())?;
    let total: f64 = found.entries.iter().map(|e| e.amount).sum();
    Ok(json!({ "demands": found.entries.len(), "to itself": found.to_itself, "total": total }))
}

fn list(bytes: &[u8]) -> Result<Value, String> {
    let format = FlowListFormat::recognise(bytes).ok_or("unknown")?;
    let flows = parse_flow_list_bytes(format, bytes).map_err(|e| e.to_string())?;
    let total: u64 = flows.iter().filter_map(|f| Some(f.size?.0)).sum();
    Ok(json!({ "format": format, "flows": flows.len(), "total": total }))
}

fn sizes(bytes: &[u8], unit: Option<f64>) -> Result<Value, String> {
    let text = str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let cdf = EmpiricalCdf::parse_in(text, unit).map_err(|e| e.to_string())?;
    let mut sizes: Vec<f64> = cdf.points().iter().map(|p| p.0).collect();
    sizes.dedup();
    Ok(json!({ "sizes": sizes.len(), "total": sizes.last() }))
}
