//! Positions in a configuration file.

use std::ops::Range;

use crate::error::Error;

/// The text of a file, to say where something is.
pub struct Source<'a> {
    /// Its name.
    pub name: String,
    /// All of it.
    pub text: &'a str,
}

impl Source<'_> {
    /// What is wrong, with file, line and key.
    pub fn wrong(&self, at: Option<Range<usize>>, key: &str, what: impl std::fmt::Display) -> Error {
        Error::Usage(format!("{}{what}", self.place(at, key)))
    }

    /// What the reader of TOML says, with the key in whose line it is.
    pub fn unreadable(&self, error: &toml::de::Error) -> Error {
        let before = error.span().map(|at| &self.text[..at.start.min(self.text.len())]).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let key = line.split_once('=').map(|(key, _)| key.trim()).unwrap_or_default();
        let message = error.message().replace('\n', " ");
        self.wrong(error.span(), if message.contains(&format!("`{key}`")) { "" } else { key }, message)
    }

    /// File, line and key.
    pub fn place(&self, at: Option<Range<usize>>, key: &str) -> String {
        let line = at.map(|at| self.text[..at.start.min(self.text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        format!("{}{place}: {key}", self.name)
    }
}

/// What the reader of TOML says that it expects in a table is what a manual has.
#[cfg(test)]
pub fn assert_in_manual(manual: &str, table: &str, said: &str) {
    let (_, expected) = said.split_once("expected").expect("it says what is expected");
    let manual = manual.replace("\\-", "-"); // a hyphen, not a minus
    let keys: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    assert!(!keys.is_empty(), "{said}");
    for key in keys {
        let is_there = manual.contains(&format!("\\fB{key}\\fR")) || manual.contains(&format!("[{key}]"));
        assert!(is_there, "{table} {key}");
    }
}
