//! `midpath topo`: a network in numbers, from wherever it comes.

use std::path::Path;

use midpath_sim::{ScenarioError, scenario};
use midpath_topo::describe::{self, Description};
use midpath_topo::format::{Format, Options};
use midpath_topo::{builtin, spec, suggest};

/// The network of a scenario, as a run builds it: with hosts, rates and delays.
pub(crate) fn of_scenario(text: &str, base_dir: &Path) -> Result<String, ScenarioError> {
    let scenario = scenario::parse(text)?;
    let topology = spec::build(&scenario.topology, base_dir, scenario.seed)
        .map_err(|error| ScenarioError::locate(error.under("topology"), text))?;
    json(&describe::topology(&topology))
}

/// A topology file, as it is.
pub(crate) fn of_file(path: &Path, format: Option<&str>, radius: u32) -> Result<String, ScenarioError> {
    let format = format.map(named).transpose()?;
    let description = describe::file(path, format, Options { radius }).map_err(|error| ScenarioError {
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
