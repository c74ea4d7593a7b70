//! GML (Himsolt: "GML: a portable graph file format", 1996): nested lists of keys and values.
//!
//! As the Internet Topology Zoo and NetworkX write it:
//! `graph [ directed 0 node [ id 0 label "Berne" ] edge [ source 0 … ] ]`.

use midpath_core::units::Rate;

use super::FormatError;
use super::attributes::{Attribute, Builder, short};
use crate::draft::Draft;

/// Reads the first graph of the file.
pub fn parse(text: &str, capacity_unit: Option<Rate>) -> Result<Draft, FormatError> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut graph = None;
    while let Some(entry) = reader.entry(0)? {
        if entry.key.eq_ignore_ascii_case("graph") {
            graph = graph.or(Some(entry));
        }
    }
    let Some(Entry { value: Value::List(entries), .. }) = graph else {
        return Err(FormatError::whole("no `graph [ … ]`; is this GML?"));
    };
    build(&entries, capacity_unit)
}

struct Entry<'a> {
    key: &'a str,
    line: usize,
    value: Value<'a>,
}

enum Value<'a> {
    /// A number or word, as written.
    Plain(&'a str),
    /// A string, with its character references resolved.
    Text(String),
    List(Vec<Entry<'a>>),
}

impl Value<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Value::Plain(word) => Some(word),
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }
}

fn build(graph: &[Entry<'_>], capacity_unit: Option<Rate>) -> Result<Draft, FormatError> {
    let directed = find(graph, "directed") == Some("1");
    let mut builder = Builder::new(directed).with_unit(capacity_unit);
    for (entry, attributes) in lists(graph, "node") {
        let id = required(entry, attributes, "id")?;
        builder.node(id, &plain(attributes)).map_err(|m| FormatError::at(entry.line, m))?;
    }
    for (entry, attributes) in lists(graph, "edge") {
        let (source, target) = (required(entry, attributes, "source")?, required(entry, attributes, "target")?);
        builder.edge(source, target, &plain(attributes)).map_err(|m| FormatError::at(entry.line, m))?;
    }
    Ok(builder.finish())
}

fn lists<'a>(entries: &'a [Entry<'a>], key: &'a str) -> impl Iterator<Item = (&'a Entry<'a>, &'a [Entry<'a>])> {
    entries.iter().filter(move |e| e.key == key).filter_map(|e| match &e.value {
        Value::List(inner) => Some((e, inner.as_slice())),
        _ => None,
    })
}

fn find<'a>(entries: &'a [Entry<'a>], key: &str) -> Option<&'a str> {
    entries.iter().find(|e| e.key == key)?.value.text()
}

fn required<'a>(entry: &Entry<'_>, entries: &'a [Entry<'a>], key: &str) -> Result<&'a str, FormatError> {
    find(entries, key).ok_or_else(|| FormatError::at(entry.line, format!("a {} without `{key}`", entry.key)))
}

/// Attributes of a node or edge. A node's `graphics [ x … y … ]` is drawn, not located, and left
/// out.
fn plain<'a>(entries: &'a [Entry<'a>]) -> Vec<Attribute<'a>> {
    entries.iter().filter_map(|e| Some((e.key, e.value.text()?))).collect()
}

/// Deepest nesting that is read; a graph needs 3.
const MAX_DEPTH: usize = 32;

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    /// The next `key value`; `None` at the end of the list or file.
    fn entry(&mut self, depth: usize) -> Result<Option<Entry<'a>>, FormatError> {
        self.skip_blank();
        let line = self.line;
        if self.rest.is_empty() {
            return if depth == 0 {
                Ok(None)
            } else {
                Err(self.error("a `[` that is never closed; is the file truncated?"))
            };
        }
        if self.rest.starts_with(']') {
            self.advance(1);
            return if depth > 0 { Ok(None) } else { Err(self.error("a `]` without its `[`")) };
        }
        let key = self.word();
        if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(FormatError::at(
                line,
                format!("`{}` is not a key", short(if key.is_empty() { self.rest } else { key })),
            ));
        }
        self.skip_blank();
        Ok(Some(Entry { key, line, value: self.value(key, depth)? }))
    }

    fn value(&mut self, key: &str, depth: usize) -> Result<Value<'a>, FormatError> {
        match self.rest.chars().next() {
            Some('"') => self.string(),
            Some('[') if depth >= MAX_DEPTH => Err(self.error(&format!("lists nested more than {MAX_DEPTH} deep"))),
            Some('[') => {
                self.advance(1);
                let mut entries = Vec::new();
                while let Some(entry) = self.entry(depth + 1)? {
                    entries.push(entry);
                }
                Ok(Value::List(entries))
            }
            Some(c) if c != ']' => Ok(Value::Plain(self.word())),
            _ => Err(self.error(&format!("`{}` has no value", short(key)))),
        }
    }

    fn string(&mut self) -> Result<Value<'a>, FormatError> {
        let inner = &self.rest[1..];
        let end = inner.find('"').ok_or_else(|| self.error("a string that is never closed; is the file truncated?"))?;
        self.advance(end + 2);
        Ok(Value::Text(unescape(&inner[..end])))
    }

    fn word(&mut self) -> &'a str {
        let end =
            self.rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"')).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.advance(end);
        word
    }

    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.advance(blank);
            if !self.rest.starts_with('#') {
                return;
            }
            self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at(bytes);
        self.line += gone.bytes().filter(|&b| b == b'\n').count();
        self.rest = rest;
    }

    fn error(&self, message: &str) -> FormatError {
        FormatError::at(self.line, message)
    }
}

/// Resolves `&quot;`, `&amp;` and `&#NNN;`, which GML uses for quotes and all but ASCII.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let reference = rest.find(';').and_then(|end| Some((character(&rest[1..end])?, end + 1)));
        let (c, len) = reference.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

fn character(reference: &str) -> Option<char> {
    match reference {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        _ => char::from_u32(reference.strip_prefix('#')?.parse().ok()?),
    }
}
