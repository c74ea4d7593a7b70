//! Termination signals of a foreground process, so that it can remove its socket files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::{Error, Tried};

/// Becomes true with SIGTERM and SIGINT, which end a process no more. To be called before there is anything that
/// they could leave behind.
pub fn by_signal() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, stop.clone()).tried(|| "cannot wait for SIGTERM".to_owned())?;
    }
    Ok(stop)
}
