//! What ends a process that runs in the foreground, so that it can take its sockets' files along.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::{Error, Tried};

/// Becomes true with SIGTERM and SIGINT, which end a process no more. To be called before there is anything that
/// they could leave behind.
pub fn by_signal() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, stop.clone()).tried(|| "SIGTERM cannot be waited for".to_owned())?;
    }
    Ok(stop)
}
