//! Errors, one line each.

use std::io;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line asks for something that is not possible.
    #[error("{0}")]
    Usage(String),
    /// The machine or the kernel is not up to it.
    #[error("{0}")]
    Machine(String),
    /// The programs or the kernel's answer about them.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Programs(#[from] midpath_ebpf::Error),
}

impl Error {
    /// The same, with the place in a configuration that it is about.
    #[cfg(target_os = "linux")]
    pub fn within(self, place: &str) -> Error {
        match self {
            Error::Usage(what) => Error::Usage(format!("{place}{what}")),
            other => Error::Machine(format!("{place}{other}")),
        }
    }

    /// The exit code: 2 for bad input, 1 for what failed.
    pub fn code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            _ => 1,
        }
    }
}

/// Says what was tried when the operating system refused.
pub trait Tried<T> {
    /// `what`: "the shaper could not be set up".
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| {
            let hint = if error.kind() == io::ErrorKind::PermissionDenied { "; run it as root" } else { "" };
            Error::Machine(format!("{}: {error}{hint}", what()))
        })
    }
}
