//! The Python binding of Midpath: conversion and errors only.
//!
//! Everything is decided in `midpath_sim`; this crate turns its columns into buffers, its errors
//! into `midpath.ScenarioError` and its progress into a call. It is private to the Python package
//! `midpath`, which gives it a typed face. `python/wheel` makes an extension of it.

mod check;
mod columns;
mod controller;
mod counters;
mod errors;
mod interrupt;
mod measure;
mod plugin;
mod policy;
mod progress;
mod schemes;
mod topology;

pub use schemes::register;

use pyo3::prelude::*;

/// What the module `midpath._midpath` has of the simulator.
#[pymodule(submodule)]
pub mod _midpath {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use midpath_sim::{Listener, Progress, RunOptions, Table};
    use pyo3::exceptions::PyKeyboardInterrupt;
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict};

    #[pymodule_export]
    use crate::check::{check_file, check_scenario};
    use crate::columns::{Pieces, table_to_python};
    #[pymodule_export]
    use crate::controller::{Ack, Congestion, Control, Lost, Opening, Sample};
    #[pymodule_export]
    use crate::counters::Counters;
    use crate::errors::scenario_error;
    use crate::interrupt::{Abandoned, patiently};
    #[pymodule_export]
    use crate::measure::measure;
    use crate::plugin::{self, Said};
    use crate::policy::{self, Failure};
    use crate::progress::{Reporter, tell};
    use crate::schemes::catalogue;
    use crate::topology;

    /// What a run gives Python: `run.json`, the tables by name, and other files by name.
    type Output<'py> = (String, Bound<'py, PyDict>, Bound<'py, PyDict>);

    /// Runs a scenario; relative paths in it start at `base_dir`.
    ///
    /// The GIL is released while the simulator works. `progress` is called about ten times a second
    /// with a dict and may return `False` to stop the run, which then raises `KeyboardInterrupt`,
    /// as Ctrl-C does. `policies` are FCP's, by name: functions that make one. `controllers` are TCPs',
    /// by the name of the scheme; with them the run has one thread. `rows` takes the table of flows in
    /// pieces, as the result would have it, which is without it then.
    #[pyfunction]
    #[pyo3(signature = (
        text, base_dir, *, scheme=None, seed=None, threads=1, wire=false, progress=None, policies=None, controllers=None,
        rows=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python keyword arguments")]
    fn run<'py>(
        py: Python<'py>,
        text: &str,
        base_dir: PathBuf,
        scheme: Option<String>,
        seed: Option<u64>,
        threads: usize,
        wire: bool,
        progress: Option<Py<PyAny>>,
        policies: Option<BTreeMap<String, Py<PyAny>>>,
        controllers: Option<BTreeMap<String, Said>>,
        rows: Option<Py<PyAny>>,
    ) -> PyResult<Output<'py>> {
        let in_python = controllers.is_some();
        let threads = if in_python { 1 } else { threads };
        let options = RunOptions { scheme, seed, threads, parts: 0, sparing: true, wire, flows_optional: false };
        let failure = Failure::default();
        let own = policy::catalogue(policies, &failure);
        let own = plugin::catalogue(py, own, controllers.unwrap_or_default(), &failure)?;
        let (text, failed, began) = (text.to_owned(), failure.clone(), Arc::new(AtomicBool::new(false)));
        let (callback, begins) = (progress.as_ref().map(|callback| callback.clone_ref(py)), began.clone());
        // Until the run begins, nothing else asks whether to go on.
        let listen = |py: Python<'_>| match &callback {
            Some(callback) if !began.load(Ordering::Relaxed) => {
                let go_on = tell(py, callback, &Progress::default())?;
                if go_on { Ok(()) } else { Err(interrupted()) }
            }
            _ => Ok(()),
        };
        let (result, error) = patiently(py, listen, move |abandoned| {
            let mut reporter = Reporter::new(progress);
            let mut report = |progress: Progress| {
                begins.store(true, Ordering::Relaxed);
                !abandoned.is_set() && !failed.is_set() && reporter.report(&progress)
            };
            let mut pieces = rows.map(Pieces::new);
            let mut run = || {
                let mut take = pieces.as_mut().map(|pieces| |table| !abandoned.is_set() && pieces.take(table));
                let mut listener = Listener {
                    clock: &midpath_sim::wall_clock(),
                    progress: &mut report,
                    watch: &mut |_| true,
                    rows: take.as_mut().map(|take| take as &mut dyn FnMut(Table) -> bool),
                };
                midpath_sim::run_in_pieces(&text, &base_dir, &options, &own, &mut listener)
            };
            // A thread that Python knows calls it in a tenth of the time.
            let result = if in_python { Python::attach(|py| py.detach(&mut run)) } else { run() };
            (result, reporter.into_error().or(pieces.and_then(Pieces::into_error)))
        })?;
        if let Some(error) = failure.take().or(error) {
            return Err(error);
        }
        let output = result.map_err(|error| scenario_error(py, &error))?.ok_or_else(interrupted)?;
        let tables = PyDict::new(py);
        let json = output.json();
        // Each table and file is given up when Python has it.
        for (name, table) in output.tables {
            tables.set_item(name, table_to_python(py, table)?)?;
        }
        let files = PyDict::new(py);
        for (name, bytes) in output.files {
            files.set_item(name, PyBytes::new(py, &bytes))?;
        }
        Ok((json, tables, files))
    }

    /// A run that its progress callback stopped.
    fn interrupted() -> PyErr {
        PyKeyboardInterrupt::new_err("the run was interrupted")
    }

    /// Checks a scenario without running it.
    #[pyfunction]
    #[pyo3(signature = (text, base_dir, *, scheme=None, seed=None, controllers=None, flows_optional=false))]
    fn check(
        py: Python<'_>,
        text: &str,
        base_dir: PathBuf,
        scheme: Option<String>,
        seed: Option<u64>,
        controllers: Option<BTreeMap<String, Said>>,
        flows_optional: bool,
    ) -> PyResult<()> {
        let options = RunOptions { scheme, seed, flows_optional, ..RunOptions::default() };
        let text = text.to_owned();
        let own = plugin::catalogue(py, catalogue(), controllers.unwrap_or_default(), &Failure::default())?;
        let work = move |_: &Abandoned| midpath_sim::prepare(&text, &base_dir, &options, &own).map(drop);
        let checked = patiently(py, |_| Ok(()), work)?;
        checked.map_err(|error| scenario_error(py, &error))
    }

    /// Describes the topology of a scenario as JSON: sizes, degrees, diameter, capacities, detours.
    #[pyfunction]
    fn describe_scenario(py: Python<'_>, text: &str, base_dir: PathBuf) -> PyResult<String> {
        py.detach(|| topology::of_scenario(text, &base_dir)).map_err(|error| scenario_error(py, &error))
    }

    /// The nodes and links of a scenario's network, as JSON.
    #[pyfunction]
    fn network(py: Python<'_>, text: &str, base_dir: PathBuf) -> PyResult<String> {
        py.detach(|| topology::network(text, &base_dir)).map_err(|error| scenario_error(py, &error))
    }

    /// The flows of a scenario by pair of hosts, as JSON: from, to, flows, bytes.
    #[pyfunction]
    #[pyo3(signature = (text, base_dir, *, seed=None, controllers=None))]
    fn pairs(
        py: Python<'_>,
        text: &str,
        base_dir: PathBuf,
        seed: Option<u64>,
        controllers: Option<BTreeMap<String, Said>>,
    ) -> PyResult<String> {
        let own = plugin::catalogue(py, catalogue(), controllers.unwrap_or_default(), &Failure::default())?;
        py.detach(|| topology::pairs(text, &base_dir, seed, &own)).map_err(|error| scenario_error(py, &error))
    }

    /// Describes a topology file, as it stands in the file. `radius` is how far a Rocketfuel map is
    /// read.
    #[pyfunction]
    #[pyo3(signature = (path, *, format=None, radius=0))]
    fn describe_file(py: Python<'_>, path: PathBuf, format: Option<&str>, radius: u32) -> PyResult<String> {
        py.detach(|| topology::of_file(&path, format, radius)).map_err(|error| scenario_error(py, &error))
    }

    /// Describes a topology that ships with Midpath.
    #[pyfunction]
    fn describe_builtin(py: Python<'_>, name: &str) -> PyResult<String> {
        topology::of_builtin(name).map_err(|error| scenario_error(py, &error))
    }

    /// The JSON Schema of a scenario.
    #[pyfunction]
    fn schema() -> String {
        midpath_sim::schema_of(&catalogue()).to_string()
    }

    /// What each scheme says of itself, with its parameters, as JSON.
    #[pyfunction]
    fn schemes() -> String {
        midpath_sim::schemes(&catalogue()).to_string()
    }

    /// The columns of `flows`, `ports` and the other tables of rows: name, type and meaning, as JSON.
    #[pyfunction]
    fn columns() -> String {
        midpath_sim::columns().to_string()
    }

    /// The version of what crates outside build on.
    #[pyfunction]
    fn contract() -> u32 {
        midpath_schemes::CONTRACT
    }

    /// The version of the simulator.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
