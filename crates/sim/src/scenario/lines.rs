//! Maps a key's path to its line, and back.

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

/// The path of the key that a parser's message about the place `offset` is about: the key there, or
/// the only key of the table there which the message quotes, by its name or its value.
pub(super) fn blamed(text: &str, offset: usize, message: &str) -> String {
    let path = key_at(text, offset);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).take(1).chain(message.split('"').nth(1)).collect();
    let found = DeTable::parse(text).ok().and_then(|root| {
        let DeValue::Table(table) = find(root.get_ref(), &path)?.get_ref().clone() else { return None };
        let is_meant = |(key, value): &(&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let written = &text[value.span()];
            let bare = written.trim_matches(['"', '\'']);
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            quoted.iter().any(|q| *q == key.as_ref() || *q == written || *q == bare)
        };
        let mut meant = table.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some((key, _)), None) => Some(format!("{path}.{}", key.get_ref())),
            _ => None,
        }
    });
    found.unwrap_or(path)
}

/// The text with the key at `path` and its value blanked: every other key stays on its line. `None` if there is no
/// such key, or if it is an item of a list, whose place others would take.
pub(super) fn without(text: &str, path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let root = DeTable::parse(text).ok()?;
    let table = match parent {
        "" => root.get_ref(),
        _ => match find(root.get_ref(), parent)?.get_ref() {
            DeValue::Table(table) => table,
            _ => return None,
        },
    };
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    let begin = key.span().start;
    let line = text[..begin].rfind('\n').map_or(0, |n| n + 1);
    let is_header = text[line..begin].trim_start().starts_with('[') && !text[line..begin].contains(['=', '{']);
    let range = if is_header { line..next_header(text, line) } else { with_comma(text, begin, value.span().end) };
    blanked(text, range)
}

/// The text with every table under `name` blanked. `None` if there is none with a header.
pub(super) fn without_table(text: &str, name: &str) -> Option<String> {
    let mut left = text.to_owned();
    let mut start = 0;
    let mut any = false;
    for line in text.split_inclusive('\n') {
        let head = line.trim_start().trim_start_matches('[');
        let rest = head.strip_prefix(name).filter(|_| line.trim_start().starts_with('['));
        if rest.is_some_and(|rest| rest.starts_with(['.', ']'])) {
            left.replace_range(start..next_header(text, start), &blank(&text[start..next_header(text, start)]));
            any = true;
        }
        start += line.len();
    }
    (any && DeTable::parse(&left).is_ok()).then_some(left)
}

/// As many bytes, on as many lines.
fn blank(text: &str) -> String {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect()
}

/// The text without what is at `range`, if that leaves TOML.
fn blanked(text: &str, range: std::ops::Range<usize>) -> Option<String> {
    let left = format!("{}{}{}", &text[..range.start], blank(&text[range.clone()]), &text[range.end..]);
    DeTable::parse(&left).is_ok().then_some(left)
}

/// Where the table whose header stands on the line at `start` ends.
fn next_header(text: &str, start: usize) -> usize {
    let first = text[start..].find('\n').map_or(text.len(), |n| start + n + 1);
    let mut end = first;
    for line in text[first..].split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            break;
        }
        end += line.len();
    }
    end
}

/// A key with its value, and the comma that sets it apart in an inline table.
fn with_comma(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let behind = text[end..].trim_start();
    if behind.starts_with(',') {
        return start..text.len() - behind.len() + 1;
    }
    let before = text[..start].trim_end();
    if before.ends_with(',') { before.len() - 1..end } else { start..end }
}

/// The value at `path`.
fn find<'a, 'i>(root: &'a DeTable<'i>, path: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    let (mut table, mut value) = (Some(root), None);
    for step in steps(path) {
        let next: &Spanned<DeValue<'_>> = match step {
            Step::Key(name) => table?.iter().find(|(k, _)| k.get_ref() == name)?.1,
            Step::Index(i) => match value.map(Spanned::get_ref) {
                Some(DeValue::Array(items)) => items.get(i)?,
                _ => return None,
            },
        };
        value = Some(next);
        table = match next.get_ref() {
            DeValue::Table(t) => Some(t),
            _ => None,
        };
    }
    value
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

/// The first number that is none, or without end: its key, its line, and how it is written.
pub(super) fn not_finite(text: &str) -> Option<(String, usize, String)> {
    // Most scenarios have none, and need not be read twice.
    if !text.contains("nan") && !text.contains("inf") {
        return None;
    }
    let root = DeTable::parse(text).ok()?;
    let at = table_not_finite(root.get_ref(), text)?;
    Some((key_at(text, at.start), line_at(text, at.start), text[at].to_owned()))
}

fn table_not_finite(table: &DeTable<'_>, text: &str) -> Option<std::ops::Range<usize>> {
    table.iter().find_map(|(_, value)| value_not_finite(value, text))
}

fn value_not_finite(value: &Spanned<DeValue<'_>>, text: &str) -> Option<std::ops::Range<usize>> {
    match value.get_ref() {
        DeValue::Table(table) => table_not_finite(table, text),
        DeValue::Array(items) => items.iter().find_map(|item| value_not_finite(item, text)),
        DeValue::Float(_) => {
            let written = text[value.span()].trim_start_matches(['+', '-']);
            matches!(written, "nan" | "inf").then(|| value.span())
        }
        _ => None,
    }
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
    fn finds_the_key_that_a_message_is_about() {
        let text = "[[workload]]\narrivals = { kind = \"poisson\", load = \"20 Gbps\", hurst = 0.8 }\n";
        let at = |message: &str| blamed(text, text.find('{').unwrap(), message);
        assert_eq!(at("`20 Gbps` is not a ratio"), "workload[0].arrivals.load");
        assert_eq!(at("unknown field `hurst`, expected `load`"), "workload[0].arrivals.hurst");
        assert_eq!(at("invalid type: floating point `0.8`"), "workload[0].arrivals.hurst");
        assert_eq!(at("missing field `x`"), "workload[0].arrivals");
    }

    #[test]
    fn finds_the_key_at_a_place() {
        let at = |needle: &str| key_at(TEXT, TEXT.rfind(needle).unwrap());
        assert_eq!(at("\"q\""), "flow[1].from");
        assert_eq!(at("\"z\""), "topology.links[1].b");
        assert_eq!(key_at(TEXT, 0), "seed");
    }
}
