//! Logs a shortage once an hour per kind, not per connection.

use std::collections::BTreeMap;

use crate::seldom::Seldom;

/// What had run out, and how often it was said.
#[derive(Default)]
pub struct Shortages(BTreeMap<&'static str, Seldom>);

impl Shortages {
    /// Says it unless that has been said lately.
    pub fn say(&mut self, kind: &'static str, what: impl FnOnce() -> String) {
        if let Some(more) = self.0.entry(kind).or_insert_with(Seldom::hourly).say() {
            tracing::error!("{}{more}", what());
        }
    }
}
