//! `midpath check`: errors in files, without a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use midpath_sim::{RunOptions, ScenarioError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::interrupt::patiently;
use crate::plugin::{self, Said};
use crate::policy::Failure;
use crate::schemes::catalogue;

/// What is known of a scenario without a run, as JSON: `errors` with key, line and message; else `warnings` and
/// `equipment` as in `run.json`.
#[pyfunction]
#[pyo3(signature = (text, base_dir, *, scheme=None, seed=None, controllers=None))]
pub(crate) fn check_scenario(
    py: Python<'_>,
    text: &str,
    base_dir: PathBuf,
    scheme: Option<String>,
    seed: Option<u64>,
    controllers: Option<BTreeMap<String, Said>>,
) -> PyResult<String> {
    let options = RunOptions { scheme, seed, ..RunOptions::default() };
    let text = text.to_owned();
    let own = plugin::catalogue(py, catalogue(), controllers.unwrap_or_default(), &Failure::default())?;
    let found = patiently(py, |_| Ok(()), move |_| midpath_sim::check(&text, &base_dir, &options, &own))?;
    let answer = match found {
        Ok(checked) => json!({ "errors": [], "warnings": checked.warnings, "equipment": checked.equipment }),
        Err(errors) => json!({ "errors": errors.iter().map(as_json).collect::<Vec<_>>(), "warnings": [] }),
    };
    Ok(answer.to_string())
}

/// The same of a file that scenarios name, with what it is: `kind`, and how much is in it.
#[pyfunction]
pub(crate) fn check_file(py: Python<'_>, path: PathBuf) -> String {
    match py.detach(|| midpath_sim::check_file(&path)) {
        Ok(found) => json!({ "errors": [], "found": found }).to_string(),
        Err(error) => json!({ "errors": [as_json(&error)] }).to_string(),
    }
}

fn as_json(error: &ScenarioError) -> Value {
    json!({ "key": error.key, "line": error.line, "message": error.message })
}
