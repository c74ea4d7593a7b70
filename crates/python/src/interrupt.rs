//! Ctrl-C at any time: the simulator runs on its own thread, while this one waits and polls Python.
//!
//! While packets move, the simulator reports progress and can be told to stop. While a scenario is
//! set up (a map of thousands of routers, a matrix of millions of flows) it does not. Then its thread is abandoned:
//! it ends at its next report.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use pyo3::prelude::*;

use crate::progress::PERIOD;

/// What a main thread has on Linux: a spawned one has a quarter of it.
const STACK: usize = 8 << 20;

/// Whether nobody waits for the result any more.
#[derive(Clone, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What `work` returns; or an exception, as soon as there is a signal or `listen` has one.
pub(crate) fn patiently<T: Send + 'static>(
    py: Python<'_>,
    listen: impl Fn(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&Abandoned) -> T + Send + 'static,
) -> PyResult<T> {
    let abandoned = Abandoned::default();
    // A browser's Python has neither threads nor Ctrl-C.
    if cfg!(target_family = "wasm") {
        return Ok(py.detach(|| work(&abandoned)));
    }
    let (done, found) = mpsc::channel();
    let asked = abandoned.clone();
    // Nobody may be there any more who wants it.
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || drop(done.send(work(&asked))))?;
    // A lock that is never contended: only what is `Sync` may be used while Python's lock is free.
    let found = Mutex::new(found);
    loop {
        match py.detach(|| found.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PERIOD)) {
            Ok(result) => return Ok(result),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals().and_then(|()| listen(py)) {
                    abandoned.0.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread has sent its result, or panicked"),
            },
        }
    }
}
