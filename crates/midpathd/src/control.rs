//! The socket by which commands reach a process that runs.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Tried};

/// Who may connect: the user whose process it is.
pub const MODE: u32 = 0o600;

/// Says one word to a node that runs; returns its answer.
pub fn tell(socket: &Path, word: &str) -> Result<serde_json::Value, Error> {
    let failed = || format!("no node answers at {}", socket.display());
    let mut stream = UnixStream::connect(socket).tried(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).tried(failed)?;
    writeln!(stream, "{word}").tried(failed)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).tried(failed)?;
    let answer: serde_json::Value = serde_json::from_str(&answer).map_err(|_| Error::Machine(failed()))?;
    match answer.get("error").and_then(|e| e.as_str()) {
        Some(why) => Err(Error::Machine(why.to_owned())),
        None => Ok(answer),
    }
}
