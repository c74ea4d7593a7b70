//! State directory of a process: beside its configuration, or in the system's place if the configuration is in
//! /etc/midpath. systemd units create these directories for an otherwise unprivileged user.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The system's configurations.
const SYSTEM: &str = "/etc/midpath";

/// The socket for commands.
pub fn control(config: &Path) -> PathBuf {
    of_system(config, "/run/midpath", "control.sock").unwrap_or_else(|| config.with_extension("sock"))
}

/// What a node's numbers are below.
pub fn numbers(config: &Path) -> PathBuf {
    of_system(config, "/var/lib/midpath", "numbers").unwrap_or_else(|| config.with_extension("numbers"))
}

fn of_system(config: &Path, folder: &str, file: &str) -> Option<PathBuf> {
    let name: &OsStr = config.file_stem().filter(|_| config.parent() == Some(Path::new(SYSTEM)))?;
    Some(Path::new(folder).join(name).join(file))
}

/// A secret that systemd hands to a service (`LoadCredential=`), which alone can read it: in place of the file of that
/// name.
pub fn credential(file: &Path) -> Option<PathBuf> {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY")?;
    Some(Path::new(&folder).join(file.file_name()?)).filter(|at| at.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_beside_or_where_the_system_has_it() {
        for (config, socket, bound) in [
            ("a.toml", "a.sock", "a.numbers"),
            ("/home/me/a.toml", "/home/me/a.sock", "/home/me/a.numbers"),
            ("/etc/midpath/a.toml", "/run/midpath/a/control.sock", "/var/lib/midpath/a/numbers"),
            ("/etc/midpath/b/a.toml", "/etc/midpath/b/a.sock", "/etc/midpath/b/a.numbers"),
        ] {
            let config = Path::new(config);
            assert_eq!((control(config), numbers(config)), (PathBuf::from(socket), PathBuf::from(bound)));
        }
    }
}
