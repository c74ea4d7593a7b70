//! The error type of all scenario parts.

/// A part of a scenario that cannot be run, named by its key.
///
/// `key` is the path from the root of the part that reports it (`links[3].a`); whoever holds the
/// part puts its own key in front with [`SpecError::under`], and the scenario loader turns the
/// whole path into a line number.
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

/// A parser's message in the words of a scenario: "`5` is not a text", and not "invalid type:
/// integer `5`, expected a string".
pub fn in_plain_terms(message: &str) -> String {
    let typed = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    match typed.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => format!("{} is not {}", value(found), wanted(expected)),
        None => {
            message.replace("wanted string or table", "needs a text").replace("expected struct ", "expected a table ")
        }
    }
}

/// What was found: "integer `5`", "string \"x\"", "map".
fn value(found: &str) -> String {
    let between = |quote: char| Some(&found[found.find(quote)? + 1..found.rfind(quote)?]);
    match (found, between('`').or(between('"'))) {
        (_, Some(text)) => format!("`{text}`"),
        ("map", _) => "a table".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        (other, None) => other.to_owned(),
    }
}

/// What was expected, where a parser names its own types or Rust's.
fn wanted(expected: &str) -> String {
    let whole = |most: &str| format!("a whole number from 0 to {most}");
    let most = match expected {
        "u8" => Some("255"),
        "u16" => Some("65535"),
        "u32" => Some("4294967295"),
        "u64" | "usize" => Some("18446744073709551615"),
        _ => None,
    };
    match (expected, most) {
        (_, Some(most)) => whole(most),
        ("f64" | "f32", _) => "a number".to_owned(),
        ("a string" | "string", _) => "a text".to_owned(),
        ("a boolean", _) => "true or false".to_owned(),
        ("a sequence", _) => "a list".to_owned(),
        ("a map", _) => "a table".to_owned(),
        (other, _) if other.starts_with("struct ") => "a table".to_owned(),
        (other, _) if other.contains("tagged enum") => "a table with a `kind`".to_owned(),
        (other, _) => other.replacen("an array of length ", "a list of ", 1).replacen(", such as ", "; write ", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_in_the_words_of_a_scenario() {
        let plain = [
            ("invalid type: integer `5`, expected a string", "`5` is not a text"),
            ("invalid value: integer `-1`, expected u32", "`-1` is not a whole number from 0 to 4294967295"),
            ("invalid type: string \"yes\", expected a boolean", "`yes` is not true or false"),
            ("invalid type: map, expected a time, such as \"5 ms\"", "a table is not a time; write \"5 ms\""),
            (
                "invalid type: string \"1 MB\", expected internally tagged enum Sizes",
                "`1 MB` is not a table with a `kind`",
            ),
            ("missing field `to`", "missing field `to`"),
        ];
        plain.iter().for_each(|(message, ours)| assert_eq!(in_plain_terms(message), *ours));
    }

    #[test]
    fn keys_grow_from_the_left() {
        let e = SpecError::new("a", "no such node").under("links[3]").under("topology");
        assert_eq!(e.to_string(), "topology.links[3].a: no such node");
        assert_eq!(SpecError::new("", "x").under("flow[0]").key, "flow[0]");
        assert_eq!(SpecError::new("[0]", "x").under("flow").key, "flow[0]");
    }
}
