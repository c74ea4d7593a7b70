//! `midpath topo`: a network in numbers, from wherever it comes.

use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::setup::IDEAL;
use midpath_sim::{RunOptions, ScenarioError, scenario};
use midpath_topo::describe::{self, Description};
use midpath_topo::format::{Format, Options};
use midpath_topo::{builtin, spec, suggest};
use rustc_hash::FxHashMap;

/// The network of a scenario, as a run builds it: with hosts, rates and delays.
pub(crate) fn of_scenario(text: &str, base_dir: &Path) -> Result<String, ScenarioError> {
    let scenario = scenario::parse(text)?;
    let topology = spec::build(&scenario.topology, base_dir, scenario.seed)
        .map_err(|error| ScenarioError::locate(error.under("topology"), text))?;
    json(&describe::topology(&topology))
}

/// Nodes and links of the same network, one by one.
pub(crate) fn network(text: &str, base_dir: &Path) -> Result<String, ScenarioError> {
    let scenario = scenario::parse(text)?;
    let topology = spec::build(&scenario.topology, base_dir, scenario.seed)
        .map_err(|error| ScenarioError::locate(error.under("topology"), text))?;
    let nodes = topology.nodes().iter().map(|n| {
        serde_json::json!({
            "name": n.name, "kind": n.kind, "class": n.class, "label": n.label,
            "x": n.pos.map(|p| p.0), "y": n.pos.map(|p| p.1), "population": n.population, "trunk_bps": n.trunk.0,
        })
    });
    let name = |n: usize| &topology.nodes()[n].name;
    let links = topology.links().iter().map(|l| {
        serde_json::json!({ "a": name(l.a), "b": name(l.b), "rate_bps": l.rate.0, "delay_s": l.delay.as_secs_f64() })
    });
    let whole = serde_json::json!({ "nodes": nodes.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>() });
    Ok(whole.to_string())
}

/// What flows between which hosts: flows and bytes by pair, in the order in which pairs come up.
pub(crate) fn pairs(
    text: &str,
    base_dir: &Path,
    seed: Option<u64>,
    catalogue: &Catalogue,
) -> Result<String, ScenarioError> {
    let options = RunOptions { scheme: Some(IDEAL.to_owned()), seed, ..RunOptions::default() };
    let setup = midpath_sim::prepare(text, base_dir, &options, catalogue)?;
    let mut found: Vec<(u32, u32, u64, u64)> = Vec::new();
    let mut index = FxHashMap::default();
    for flow in setup.flows.iter().map(|f| f.flow) {
        let at = *index.entry((flow.src, flow.dst)).or_insert_with(|| {
            found.push((flow.src, flow.dst, 0, 0));
            found.len() - 1
        });
        found[at].2 += 1;
        found[at].3 += flow.size.map_or(0, |size| size.0);
    }
    let name = |n: u32| &setup.topology.nodes()[n as usize].name;
    let rows = found.iter().map(|&(from, to, flows, bytes)| {
        serde_json::json!({ "from": name(from), "to": name(to), "flows": flows, "bytes": bytes })
    });
    Ok(serde_json::Value::from(rows.collect::<Vec<_>>()).to_string())
}

/// A topology file, as it is.
pub(crate) fn of_file(path: &Path, format: Option<&str>, radius: u32) -> Result<String, ScenarioError> {
    let format = format.map(named).transpose()?;
    let options = Options { radius, ..Options::default() };
    let description = describe::file(path, format, options).map_err(|error| ScenarioError {
        key: String::new(),
        line: error.line,
        message: error.message,
    })?;
    json(&description)
}

/// A network that ships with Midpath.
pub(crate) fn of_builtin(name: &str) -> Result<String, ScenarioError> {
    let draft = builtin::builtin(name)
        .ok_or_else(|| ScenarioError::whole(suggest::unknown("network", name, builtin::builtin_names())))?;
    json(&describe::draft(draft))
}

fn named(name: &str) -> Result<Format, ScenarioError> {
    let known = Format::ALL.map(Format::name);
    Format::ALL
        .into_iter()
        .find(|format| format.name() == name)
        .ok_or_else(|| ScenarioError::whole(suggest::unknown("format", name, known)))
}

fn json(description: &Description) -> Result<String, ScenarioError> {
    serde_json::to_string(description).map_err(|error| ScenarioError::whole(error.to_string()))
}
