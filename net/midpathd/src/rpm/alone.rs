//! One `up` or `down` at a time.

#![expect(clippy::disallowed_methods, reason = "it waits for another process")]

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::{Error, Tried};

/// An abstract name: there is one in each network namespace, and it goes with the process that has it.
const NAME: &str = "midpathd-rpm";
/// `down` waits up to a second for a queue to run empty.
const LONGEST: Duration = Duration::from_secs(10);

/// Nobody else changes RPM in this network namespace while this value lives.
#[derive(Debug)]
pub struct Alone {
    _held: UnixListener,
}

impl Alone {
    /// Waits for others to be done.
    pub fn wait() -> Result<Alone, Error> {
        let address = SocketAddr::from_abstract_name(NAME).tried(|| "cannot name the lock".into())?;
        let begin = Instant::now();
        loop {
            match UnixListener::bind_addr(&address) {
                Ok(held) => return Ok(Alone { _held: held }),
                Err(error) if error.kind() != ErrorKind::AddrInUse => {
                    return Err(error).tried(|| "cannot take the lock".into());
                }
                Err(_) if begin.elapsed() > LONGEST => {
                    let text = "another `midpathd rpm up` or `down` is running in this network namespace; try again";
                    return Err(Error::Machine(text.into()));
                }
                Err(_) => sleep(Duration::from_millis(10)),
            }
        }
    }
}
