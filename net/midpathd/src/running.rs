//! The configuration of a running process, as it reports it, so `check` can list changes.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::net::SocketAddr;
use std::path::Path;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::control::tell;
use crate::error::Error;
use crate::socket::{Name, look};

/// What it is asked by.
pub const WORD: &str = "configuration";

/// What a process runs with, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// `node` or `ndn`.
    kind: String,
    /// What `reload` changes.
    reload: BTreeMap<String, String>,
    /// What needs another process.
    restart: BTreeMap<String, String>,
    /// Its ports, `tcp` or `udp`.
    ports: Vec<(String, SocketAddr)>,
}

impl Running {
    /// Nothing yet.
    pub fn new(kind: &str) -> Running {
        Running { kind: kind.to_owned(), ..Running::default() }
    }

    /// `key` needs another process when it changes.
    pub fn fixed(&mut self, key: impl ToString, value: impl ToString) {
        self.restart.insert(key.to_string(), value.to_string());
    }

    /// `key` may be changed by `reload`.
    pub fn variable(&mut self, key: impl ToString, value: impl ToString) {
        self.reload.insert(key.to_string(), value.to_string());
    }

    /// It listens there.
    pub fn port(&mut self, protocol: &str, at: SocketAddr) {
        self.ports.push((protocol.to_owned(), at));
    }

    /// Asks the process at a control socket; `None`: none answers. It has to be of this kind.
    pub fn ask(control: &Path, kind: &str) -> Result<Option<Running>, Error> {
        if look(control)? != Name::Answers {
            return Ok(None);
        }
        let other = |what: &str| {
            Error::Machine(format!("{}: another process answers there: {what}; choose another path", control.display()))
        };
        let said = tell(control, WORD)?;
        let running: Running = serde_json::from_value(said).map_err(|e| other(&e.to_string()))?;
        if running.kind == kind { Ok(Some(running)) } else { Err(other(&format!("midpathd {}", running.kind))) }
    }

    /// Whether it has this port: nobody else can have it, then, and a process in its place can.
    pub fn has(&self, protocol: &str, at: SocketAddr) -> bool {
        self.ports.iter().any(|(of, has)| {
            let same = has.ip() == at.ip() || has.ip().is_unspecified() || at.ip().is_unspecified();
            of == protocol && has.port() == at.port() && same
        })
    }

    /// The first key that needs another process, if `fresh` is to run.
    pub fn needs_restart(&self, fresh: &Running) -> Option<String> {
        differences(&self.restart, &fresh.restart).next().map(|(key, ..)| key.to_owned())
    }

    /// What `fresh` would change, a sentence each, and by which command.
    pub fn changes(&self, fresh: &Running) -> Vec<String> {
        let by = if self.needs_restart(fresh).is_some() { "down and up" } else { "reload" };
        let all = differences(&self.restart, &fresh.restart).chain(differences(&self.reload, &fresh.reload));
        let said = all.map(|(key, old, new)| match (old, new) {
            (Some(old), Some(new)) => format!("{by} would change {key} from {old} to {new}"),
            (None, Some(new)) => format!("{by} would add {key}: {new}"),
            (old, None) => format!("{by} would remove {key}: {}", old.map_or("", String::as_str)),
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() { vec!["the running process has this configuration".to_owned()] } else { said }
    }
}

type Values = BTreeMap<String, String>;

/// Keys whose values differ, with both.
fn differences<'a>(
    old: &'a Values,
    new: &'a Values,
) -> impl Iterator<Item = (&'a str, Option<&'a String>, Option<&'a String>)> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let both = keys.into_iter().map(|key| (key.as_str(), old.get(key), new.get(key)));
    both.filter(|(_, old, new)| old != new)
}

/// What is too long to be shown, or secret: as a number that differs where it does.
pub fn digest(of: &impl std::fmt::Debug) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(format!("{of:?}").as_bytes());
    format!("{:016x}", hasher.finish())
}

/// A list, for people.
pub fn list<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(fixed: &[(&str, &str)], variable: &[(&str, &str)]) -> Running {
        let mut running = Running::new("node");
        fixed.iter().for_each(|(key, value)| running.fixed(key, value));
        variable.iter().for_each(|(key, value)| running.variable(key, value));
        running
    }

    /// Any two configurations: each key that differs is said once, by the command that changes it.
    #[test]
    fn each_difference_is_said_once() {
        let values = [None, Some("1"), Some("2")];
        for (old, new) in values.iter().flat_map(|old| values.iter().map(move |new| (*old, *new))) {
            for (old_too, new_too) in values.iter().flat_map(|old| values.iter().map(move |new| (*old, *new))) {
                let of = |fixed: Option<&'static str>, variable: Option<&'static str>| {
                    let pairs = |key, value: Option<&'static str>| value.map(|v| (key, v)).into_iter().collect();
                    let (fixed, variable): (Vec<_>, Vec<_>) = (pairs("listen", fixed), pairs("rate", variable));
                    running(&fixed, &variable)
                };
                let (before, after) = (of(old, old_too), of(new, new_too));
                let said = before.changes(&after);
                let differ = usize::from(old != new) + usize::from(old_too != new_too);
                assert_eq!(said.len(), differ.max(1), "{said:?}");
                let by = if old != new { "down and up would" } else { "reload would" };
                assert!(differ == 0 || said.iter().all(|line| line.starts_with(by)), "{said:?}");
                assert_eq!(before.needs_restart(&after).is_some(), old != new);
            }
        }
    }

    #[test]
    fn a_port_that_is_ours_is_known_by_any_of_its_addresses() {
        let mut running = Running::new("ndn");
        running.port("udp", "127.0.0.1:7000".parse().expect("an address"));
        let has = |protocol, at: &str| running.has(protocol, at.parse().expect("an address"));
        assert!(has("udp", "127.0.0.1:7000") && has("udp", "0.0.0.0:7000"));
        assert!(!has("tcp", "127.0.0.1:7000") && !has("udp", "127.0.0.1:7001") && !has("udp", "127.0.0.2:7000"));
    }
}
