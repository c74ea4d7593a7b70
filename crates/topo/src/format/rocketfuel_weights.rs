//! Rocketfuel's inferred link weights and latencies (`weights.intra`, `latencies.intra`).
//!
//! R. Mahajan, N. Spring, D. Wetherall, T. Anderson: "Inferring link weights using end-to-end
//! measurements", IMW 2002. Each line is one direction of a link, `from to number`: a weight, or a
//! latency in milliseconds. A node is its location (`+` for a space) followed by a number.

use rustc_hash::FxHashMap;

use midpath_core::units::Time;

use super::FormatError;
use super::attributes::short;
use crate::draft::{Draft, DraftLink, DraftNode};

/// Reads weights; delays stay open.
pub fn parse_weights(text: &str) -> Result<Draft, FormatError> {
    parse(text, |link, number| link.weight = Some(number))
}

/// Reads latencies; weights stay open.
pub fn parse_latencies(text: &str) -> Result<Draft, FormatError> {
    parse(text, |link, number| link.delay = Some(Time::from_secs_f64(number / 1e3)))
}

/// Adds the delays of `latencies` to the links of `weights`.
pub fn merge(mut weights: Draft, latencies: &Draft) -> Draft {
    let name = |d: &Draft, n: usize| d.nodes[n].name.clone();
    let ends = |d: &Draft, l: &DraftLink| (name(d, l.a).min(name(d, l.b)), name(d, l.a).max(name(d, l.b)));
    let delays: FxHashMap<_, _> = latencies.links.iter().map(|l| (ends(latencies, l), l.delay)).collect();
    let pairs: Vec<_> = weights.links.iter().map(|l| ends(&weights, l)).collect();
    for (link, pair) in weights.links.iter_mut().zip(pairs) {
        link.delay = delays.get(&pair).copied().flatten();
    }
    weights
}

fn parse(text: &str, set: impl Fn(&mut DraftLink, f64)) -> Result<Draft, FormatError> {
    let mut draft = Draft::default();
    let mut index = FxHashMap::default();
    let mut links: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    let mut differ = 0;
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let (from, to, number) = parse_line(i + 1, line)?;
        let a = node(&mut draft, &mut index, from);
        let b = node(&mut draft, &mut index, to);
        match links.insert((a.min(b), a.max(b)), number) {
            None => {
                let mut link = DraftLink { a, b, ..DraftLink::default() };
                set(&mut link, number);
                draft.links.push(link);
            }
            Some(other) => differ += usize::from(other != number),
        }
    }
    if differ > 0 {
        draft.notes.push(format!("{differ} links have different numbers per direction; the first is used"));
    }
    Ok(draft)
}

fn parse_line(number: usize, line: &str) -> Result<(&str, &str, f64), FormatError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [from, to, value] = words[..] else {
        return Err(FormatError::at(number, format!("{} words; expected `from to number`", words.len())));
    };
    match value.parse::<f64>() {
        Ok(v) if v.is_finite() && v > 0.0 && v <= 1e6 => Ok((from, to, v)),
        _ => Err(FormatError::at(number, format!("`{}` is not a number above 0 and at most 1e6", short(value)))),
    }
}

fn node(draft: &mut Draft, index: &mut FxHashMap<String, usize>, word: &str) -> usize {
    *index.entry(word.to_owned()).or_insert_with(|| {
        let name = word.replace(",+", ", ").replace('+', " ");
        let label = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        draft.nodes.push(DraftNode { name, label: Some(label), ..DraftNode::default() });
        draft.nodes.len() - 1
    })
}
