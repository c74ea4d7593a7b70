//! Help for formats of lines and of XML elements.

use std::str::FromStr;

use midpath_core::units::{Rate, Time};
use roxmltree::{Document, Node, ParsingOptions};

use super::FormatError;
use super::attributes::short;

/// The fields of one line, with its number.
pub(super) struct Record<'a> {
    pub number: usize,
    pub words: Vec<&'a str>,
}

impl<'a> Record<'a> {
    /// The lines that are neither empty nor comments. `also` are further letters that are apart.
    pub fn all(text: &'a str, also: &'a [char]) -> impl Iterator<Item = Record<'a>> {
        let fields = move |l: &'a str| l.split(move |c: char| c.is_whitespace() || also.contains(&c));
        text.lines()
            .enumerate()
            .filter(|(_, l)| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
            .map(move |(i, l)| Record { number: i + 1, words: fields(l).filter(|w| !w.is_empty()).collect() })
    }

    pub fn word(&self, i: usize, what: &str) -> Result<&'a str, FormatError> {
        let missing = || FormatError::at(self.number, format!("{} words; no {what}", self.words.len()));
        self.words.get(i).copied().ok_or_else(missing)
    }

    pub fn parse<T: FromStr>(&self, i: usize, what: &str) -> Result<T, FormatError> {
        let word = self.word(i, what)?;
        word.parse().map_err(|_| FormatError::at(self.number, format!("`{}` is not a valid {what}", short(word))))
    }

    pub fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::at(self.number, message)
    }
}

/// A capacity in units of so many bits per second; zero says that it is not known.
pub(super) fn rate(amount: f64, unit_bps: f64) -> Option<Rate> {
    let bps = amount * unit_bps;
    (1.0..1e18).contains(&bps).then(|| Rate(bps.round() as u64))
}

/// A delay in units of so many seconds.
pub(super) fn delay(amount: f64, unit_s: f64) -> Option<Time> {
    let seconds = amount * unit_s;
    (0.0..1e6).contains(&seconds).then(|| Time::from_secs_f64(seconds))
}

/// XML without type definitions, which could make a small file large.
pub(super) fn xml(text: &str) -> Result<Document<'_>, FormatError> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 20_000_000, ..ParsingOptions::default() };
    Document::parse_with_options(text, options)
        .map_err(|e| FormatError::at(e.pos().row as usize, format!("not XML: {e}")))
}

/// An error at an element.
pub(super) fn at(node: Node<'_, '_>, message: impl Into<String>) -> FormatError {
    FormatError::at(node.document().text_pos_at(node.range().start).row as usize, message)
}

/// Elements by name in any namespace: writers differ.
pub(super) fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// The first child of this name.
pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| is(*n, name))
}

/// The text of a child.
pub(super) fn text_of<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim)
}

/// An attribute that has to be there.
pub(super) fn required<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, FormatError> {
    let tag = node.tag_name().name();
    node.attribute(name).ok_or_else(|| at(node, format!("a <{tag}> without `{name}`")))
}
