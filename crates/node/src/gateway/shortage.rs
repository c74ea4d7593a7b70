//! What has run out is said on standard error, once an hour for each kind: not for each connection that it befalls.

use std::collections::BTreeMap;

use midpath_core::units::Time;

/// Ours.
const AGAIN: Time = Time::from_secs(3600);

/// What had run out, and when it was said.
#[derive(Default)]
pub struct Shortages(BTreeMap<&'static str, Time>);

impl Shortages {
    /// Says it unless that has been said lately.
    pub fn say(&mut self, kind: &'static str, now: Time, what: impl FnOnce() -> String) {
        if self.0.get(kind).is_none_or(|said| now >= said.saturating_add(AGAIN)) {
            self.0.insert(kind, now);
            eprintln!("midpathd: {}", what());
        }
    }
}
