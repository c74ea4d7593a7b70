//! `midpathd node`: a node of a scenario's network on a real network.

mod config;
mod metrics;
mod numbers;
mod up;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use midpath_link::SecretKey;

use crate::error::{Error, Tried};
use crate::place;
pub use config::{Config, NetworkAt, NoNetwork};
pub use up::{check, up};

/// Writes a new key to `file`, which must not be there yet; returns its public half.
pub fn make_key(file: &Path) -> Result<String, Error> {
    let secret = SecretKey::generate().map_err(|e| Error::Machine(format!("cannot generate a key: {e}")))?;
    let mut options = OpenOptions::new();
    let mut written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .tried(|| format!("cannot create {}", file.display()))?;
    let put = writeln!(written, "{}", secret.text()).and_then(|()| written.sync_all());
    // On a full disk, an empty file, which would be in the way later.
    put.inspect_err(|_| drop(fs::remove_file(file))).tried(|| format!("cannot write {}", file.display()))?;
    Ok(secret.public().to_string())
}

/// A node's key, from a file that nobody else can read.
pub fn read_key(file: &Path) -> Result<SecretKey, Error> {
    let name = file.display();
    let handed = place::credential(file);
    let file = handed.as_deref().unwrap_or(file);
    let about = fs::metadata(file).tried(|| format!("cannot read the key {name}"))?;
    // Of what systemd hands over the mode says less than it does: an ACL gives it to the service.
    if handed.is_none() && about.permissions().mode() & 0o077 != 0 {
        return Err(Error::Usage(format!("the key {name} is readable by others; run `chmod 600`")));
    }
    let text = fs::read_to_string(file).tried(|| format!("cannot read the key {name}"))?;
    SecretKey::parse(text.trim()).map_err(|e| Error::Usage(format!("the key {name}: {e}")))
}

/// Says one word to a node that runs; returns its answer.
pub fn tell(config: &Config, word: &str) -> Result<serde_json::Value, Error> {
    crate::control::tell(&config.control, word)
}

/// Stops a node that runs.
pub fn down(config: &Config) -> Result<(), Error> {
    crate::control::stop(&config.control)
}

/// Serves what a node that runs has to say to Prometheus.
pub fn serve_metrics(config: &Config, listen: &str) -> Result<(), Error> {
    crate::metrics::serve(&crate::metrics::listen(listen)?, || {
        Ok(metrics::render(&config.name, &tell(config, "status")?))
    })
}
