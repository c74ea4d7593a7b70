//! The package's exception.

use midpath_sim::ScenarioError;
use pyo3::prelude::*;

/// `midpath.ScenarioError(key, line, message)`; the class is Python's, so that it is documented and
/// picklable there.
pub(crate) fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let raised = py
        .import("midpath.errors")
        .and_then(|module| module.getattr("ScenarioError"))
        .and_then(|class| class.call1((&error.key, error.line, &error.message)));
    match raised {
        Ok(instance) => PyErr::from_value(instance),
        Err(cause) => cause,
    }
}
