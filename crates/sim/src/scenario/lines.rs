//! From a key's path to its line, and back.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One step of a path: `links`, or `[3]`.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split(['.', '[']).filter(|s| !s.is_empty()).map(|s| match s.strip_suffix(']').and_then(|n| n.parse().ok()) {
        Some(n) => Step::Index(n),
        None => Step::Key(s),
    })
}

/// The line, from 1, of the byte at `offset`.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

/// The line of the key at `path`, or of the closest table around it that is there.
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = Some(root.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    let mut offset = None;
    for step in steps(path) {
        let next = match step {
            Step::Key(name) => {
                table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == name)).map(|(k, v)| (k.span(), v))
            }
            Step::Index(i) => match value.map(Spanned::get_ref) {
                Some(DeValue::Array(items)) => items.get(i).map(|v| (v.span(), v)),
                _ => None,
            },
        };
        let Some((span, found)) = next else { break };
        offset = Some(span.start);
        value = Some(found);
        table = match found.get_ref() {
            DeValue::Table(t) => Some(t),
            _ => None,
        };
    }
    offset.map(|o| line_at(text, o))
}

/// The path of the key that the byte at `offset` belongs to.
pub(super) fn key_at(text: &str, offset: usize) -> String {
    let mut path = String::new();
    if let Ok(root) = DeTable::parse(text) {
        descend_table(root.get_ref(), offset, &mut path);
    }
    path
}

fn descend_table(table: &DeTable<'_>, offset: usize, path: &mut String) -> bool {
    table.iter().any(|(key, value)| {
        let before = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key.get_ref());
        let here = key.span().contains(&offset);
        if here || descend_value(value, offset, path) {
            return true;
        }
        path.truncate(before);
        false
    })
}

fn descend_value(value: &Spanned<DeValue<'_>>, offset: usize, path: &mut String) -> bool {
    let inner = match value.get_ref() {
        DeValue::Table(t) => descend_table(t, offset, path),
        DeValue::Array(items) => items.iter().enumerate().any(|(i, v)| {
            let before = path.len();
            path.push_str(&format!("[{i}]"));
            let found = descend_value(v, offset, path);
            if !found {
                path.truncate(before);
            }
            found
        }),
        _ => false,
    };
    inner || value.span().contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "seed = 1\n[topology]\nlinks = [\n  { a = \"x\", b = \"y\" },\n  { a = \"x\", b = \"z\" },\n]\n\n[[flow]]\nfrom = \"x\"\n[[flow]]\nfrom = \"q\"\n";

    #[test]
    fn finds_the_line_of_a_key() {
        assert_eq!(line_of(TEXT, "seed"), Some(1));
        assert_eq!(line_of(TEXT, "topology.links[1].b"), Some(5));
        assert_eq!(line_of(TEXT, "flow[1].from"), Some(11));
        // What isn't there is reported at the table that should have had it.
        assert_eq!(line_of(TEXT, "topology.links[1].rate"), Some(5));
        assert_eq!(line_of(TEXT, "nothing"), None);
    }

    #[test]
    fn finds_the_key_at_a_place() {
        let at = |needle: &str| key_at(TEXT, TEXT.rfind(needle).unwrap());
        assert_eq!(at("\"q\""), "flow[1].from");
        assert_eq!(at("\"z\""), "topology.links[1].b");
        assert_eq!(key_at(TEXT, 0), "seed");
    }
}
