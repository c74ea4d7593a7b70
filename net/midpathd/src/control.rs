//! The control socket of a running process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};

use crate::error::{Error, Tried};

/// Who may connect: the user whose process it is.
pub const MODE: u32 = 0o600;

/// How long a process may take to answer. A hub that has just started greets its neighbours first: for 5,000 of them a
/// second on an idle processor, and several on one that others use.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a process may take to stop: it ends its connections.
const STOP: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Says one word to a node that runs; returns its answer.
pub fn tell(socket: &Path, word: &str) -> Result<serde_json::Value, Error> {
    say(&connect(socket)?, socket, word)
}

/// Stops a node that runs, and returns once its process has ended: its ports are free then.
pub fn stop(socket: &Path) -> Result<(), Error> {
    let stream = connect(socket)?;
    // Of a process that this one cannot see (in another PID namespace) there is no descriptor, and nothing to wait for.
    let process = socket_peercred(&stream).and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty())).ok();
    say(&stream, socket, "down")?;
    let Some(process) = process else { return Ok(()) };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    match poll(&mut ended, Some(&STOP)) {
        Ok(0) => Err(Error::Machine(format!("{}: the process did not end within 10 s", socket.display()))),
        ended => ended.map(drop).map_err(Into::into).tried(|| "cannot wait for the end of the process".into()),
    }
}

fn connect(socket: &Path) -> Result<UnixStream, Error> {
    UnixStream::connect(socket).tried(|| format!("no node answers at {}", socket.display()))
}

fn say(mut stream: &UnixStream, socket: &Path, word: &str) -> Result<serde_json::Value, Error> {
    let failed = || format!("no node answers at {}", socket.display());
    stream.set_read_timeout(Some(ANSWER)).tried(failed)?;
    writeln!(stream, "{word}").tried(failed)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).tried(failed)?;
    let answer: serde_json::Value = serde_json::from_str(&answer).map_err(|_| Error::Machine(failed()))?;
    match answer.get("error").and_then(|e| e.as_str()) {
        Some(why) => Err(Error::Machine(why.to_owned())),
        None => Ok(answer),
    }
}
