//! Progress from the simulator's thread to Python, and Ctrl-C back.

#![expect(clippy::disallowed_methods, reason = "progress is shown by the wall clock")]

use std::time::{Duration, Instant};

use midpath_sim::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How often Python hears of progress. Our choice: quick enough for a steady bar and for Ctrl-C,
/// too slow to cost time.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// Calls Python at most once a [`PERIOD`], and remembers why it said stop.
pub(crate) struct Reporter {
    callback: Option<Py<PyAny>>,
    last: Instant,
    error: Option<PyErr>,
}

impl Reporter {
    /// A reporter to `callback`; without one it still looks for Ctrl-C.
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Reporter {
        Reporter { callback, last: Instant::now(), error: None }
    }

    /// Called by the simulator now and then; `false` asks it to stop.
    pub(crate) fn report(&mut self, progress: &Progress) -> bool {
        if self.last.elapsed() < PERIOD {
            return true;
        }
        self.last = Instant::now();
        match Python::attach(|py| self.tell(py, progress)) {
            Ok(go_on) => go_on,
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }

    /// The exception with which Python stopped the run.
    pub(crate) fn into_error(self) -> Option<PyErr> {
        self.error
    }

    fn tell(&self, py: Python<'_>, progress: &Progress) -> PyResult<bool> {
        py.check_signals()?;
        self.callback.as_ref().map_or(Ok(true), |callback| tell(py, callback, progress))
    }
}

/// Calls back; `false` asks to stop.
pub(crate) fn tell(py: Python<'_>, callback: &Py<PyAny>, progress: &Progress) -> PyResult<bool> {
    let report = PyDict::new(py);
    report.set_item("simulated_s", progress.simulated_s)?;
    report.set_item("stop_s", progress.stop_s)?;
    report.set_item("packet_hops", progress.packet_hops)?;
    report.set_item("flows", progress.flows)?;
    let answer = callback.bind(py).call1((report,))?;
    Ok(answer.is_none() || answer.is_truthy()?)
}
