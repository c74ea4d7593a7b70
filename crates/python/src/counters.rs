//! Hardware counters, if the kernel permits reading them.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What is counted in user mode, by name. Cache misses are what the processor calls so: of the last
/// level with Intel's, of the second level with AMD's. Page faults are the kernel's own count, and
/// there without hardware.
const NAMES: [&str; 5] = ["cycles", "instructions", "cache_misses", "branch_misses", "page_faults"];

/// Counts what the thread that makes this, and those that it starts from then on, do until
/// [`Counters::read`].
#[pyclass(module = "midpath._midpath")]
pub(crate) struct Counters(Vec<(&'static str, Result<source::Counter, String>)>);

#[pymethods]
impl Counters {
    #[new]
    fn new() -> Counters {
        Counters(NAMES.map(|name| (name, source::start(name))).into())
    }

    /// Stops. Of each counter what it counted, and for how long (ns) it was wanted and was running;
    /// or a text why there is none.
    fn read<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (name, counter) in &mut self.0 {
            match counter.as_mut().map_err(|why| why.clone()).and_then(source::stop) {
                Ok(count) => found.set_item(*name, count)?,
                Err(why) => found.set_item(*name, why)?,
            }
        }
        Ok(found)
    }
}

#[cfg(target_os = "linux")]
mod source {
    use std::io::{Error, ErrorKind};

    use perf_event::events::{Hardware, Software};
    use perf_event::{Builder, ReadFormat};

    pub(super) use perf_event::Counter;

    /// Counters of their own, not a group: the kernel doesn't let new threads inherit groups.
    pub(super) fn start(name: &str) -> Result<Counter, String> {
        let mut builder = match name {
            "cycles" => Builder::new(Hardware::CPU_CYCLES),
            "instructions" => Builder::new(Hardware::INSTRUCTIONS),
            "cache_misses" => Builder::new(Hardware::CACHE_MISSES),
            "branch_misses" => Builder::new(Hardware::BRANCH_MISSES),
            _ => Builder::new(Software::PAGE_FAULTS),
        };
        let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
        let mut counter = builder.inherit(true).read_format(times).build().map_err(|error| why(&error))?;
        counter.enable().map_err(|error| why(&error))?;
        Ok(counter)
    }

    /// Where there are more counters than the processor has places, each runs for a share of the
    /// time.
    pub(super) fn stop(counter: &mut Counter) -> Result<(u64, u64, u64), String> {
        counter.disable().map_err(|error| why(&error))?;
        let found = counter.read_count_and_time().map_err(|error| why(&error))?;
        Ok((found.count, found.time_enabled, found.time_running))
    }

    /// In the words of who can change it.
    fn why(error: &Error) -> String {
        match error.kind() {
            ErrorKind::NotFound => "no hardware counters, or the hypervisor hides them".into(),
            ErrorKind::PermissionDenied => "not permitted by the kernel: see \
                /proc/sys/kernel/perf_event_paranoid"
                .into(),
            _ => error.to_string(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod source {
    /// There is none.
    pub(super) enum Counter {}

    pub(super) fn start(_: &str) -> Result<Counter, String> {
        Err("counters are available on Linux only".into())
    }

    pub(super) fn stop(counter: &mut Counter) -> Result<(u64, u64, u64), String> {
        match *counter {}
    }
}
