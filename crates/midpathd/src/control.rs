//! The socket by which commands reach a process that runs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Tried};

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

/// The socket for commands; its file goes with it.
pub struct Commands {
    /// Where commands come in.
    pub listener: UnixListener,
    path: PathBuf,
}

impl Commands {
    /// Opens it.
    pub fn new(path: &Path) -> Result<Commands, Error> {
        // A file that a killed node has left behind: nobody answers there.
        if path.exists() && std::os::unix::net::UnixStream::connect(path).is_err() {
            let _ = fs::remove_file(path);
        }
        let failed = || format!("{} could not be made; is the node up already?", path.display());
        let listener = UnixListener::bind(path).tried(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).tried(failed)?;
        Ok(Commands { listener, path: path.to_owned() })
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
