//! A run for benchmarks: without tables, and with a callback at the start of each phase.

use std::path::PathBuf;

use midpath_sim::{Listener, Phase, RunOptions};
use pyo3::prelude::*;

use crate::errors::scenario_error;
use crate::interrupt::patiently;
use crate::progress::Reporter;
use crate::schemes::catalogue;

/// Runs a scenario for its cost alone, and returns `run.json`; `None` if `phase` ended it.
///
/// `phase` is called with `build`, `simulate` and `collect` when these begin, by the thread that
/// works; `False` ends the run.
#[pyfunction]
#[pyo3(signature = (text, base_dir, *, threads=1, phase))]
pub(crate) fn measure(
    py: Python<'_>,
    text: &str,
    base_dir: PathBuf,
    threads: usize,
    phase: Py<PyAny>,
) -> PyResult<Option<String>> {
    let (text, options) = (text.to_owned(), RunOptions { threads, sparing: true, ..RunOptions::default() });
    let work = move |abandoned: &crate::interrupt::Abandoned| {
        let (mut reporter, mut failed) = (Reporter::new(None), None);
        let mut watch = |next: Phase| match Python::attach(|py| begins(py, &phase, next)) {
            Ok(go_on) => go_on,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let mut listener = Listener {
            clock: &midpath_sim::wall_clock(),
            progress: &mut |progress| !abandoned.is_set() && reporter.report(&progress),
            watch: &mut watch,
            // They are made as for `--out`, and dropped.
            rows: Some(&mut |_| !abandoned.is_set()),
        };
        let result = midpath_sim::run_in_pieces(&text, &base_dir, &options, &catalogue(), &mut listener);
        (result, failed.or(reporter.into_error()))
    };
    let (result, error) = patiently(py, |_| Ok(()), work)?;
    if let Some(error) = error {
        return Err(error);
    }
    let output = result.map_err(|error| scenario_error(py, &error))?;
    Ok(output.map(|output| output.run.to_string()))
}

fn begins(py: Python<'_>, callback: &Py<PyAny>, phase: Phase) -> PyResult<bool> {
    let name = match phase {
        Phase::Build => "build",
        Phase::Simulate => "simulate",
        Phase::Collect => "collect",
    };
    let answer = callback.bind(py).call1((name,))?;
    Ok(answer.is_none() || answer.is_truthy()?)
}
