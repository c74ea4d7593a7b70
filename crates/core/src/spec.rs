//! The one error that every part of a scenario reports.

/// A part of a scenario that cannot be run, named by its key.
///
/// `key` is the path from the root of the part that reports it (`links[3].a`); whoever holds the part puts its own key
/// in front with [`SpecError::under`], and the scenario loader turns the whole path into a line number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct SpecError {
    /// Path of the key: `topology.links[3].a`. Empty for the whole part.
    pub key: String,
    /// What is wrong, and what would have been accepted.
    pub message: String,
}

impl SpecError {
    /// An error at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> SpecError {
        SpecError { key: key.into(), message: message.into() }
    }

    /// The same error, seen from the table that holds the part as `parent`.
    pub fn under(mut self, parent: &str) -> SpecError {
        self.key = match self.key.chars().next() {
            None => parent.to_owned(),
            Some('[') => format!("{parent}{}", self.key),
            Some(_) => format!("{parent}.{}", self.key),
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_grow_from_the_left() {
        let e = SpecError::new("a", "no such node").under("links[3]").under("topology");
        assert_eq!(e.to_string(), "topology.links[3].a: no such node");
        assert_eq!(SpecError::new("", "x").under("flow[0]").key, "flow[0]");
        assert_eq!(SpecError::new("[0]", "x").under("flow").key, "flow[0]");
    }
}
