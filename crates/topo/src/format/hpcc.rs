//! The topology text format of the HPCC simulator (Li et al., "HPCC: High precision congestion
//! control", SIGCOMM 2019).
//!
//! Words separated by white space: `nodes switches links`, then the switches' numbers, then for
//! each link `source destination rate delay error-rate`. Nodes are numbered from 0; those that are
//! no switch are hosts. Names here are the numbers, which flow lists in the companion format refer
//! to. What follows the announced links is left out, as HPCC does: see the original `topology.txt`.
//!
//! Two offspring of it in inet-tub/ns3-datacenter (commit 6ddb4a4) begin with more: PowerTCP's with `nodes switches
//! ToRs links`, Reverie's with two rates behind these, which its program reads for its own use. There a rate may
//! lack a unit: it is in bits per second, as ns-3 takes it.

use std::str::FromStr;

use midpath_core::units::{Rate, Time};

use super::FormatError;
use super::attributes::short;
use crate::draft::{Draft, DraftLink, DraftNode};
use crate::graph::{MAX_LINKS, MAX_NODES, NodeKind};

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let mut words = Words::new(text);
    let first = text.lines().next().unwrap_or("").split_whitespace().count();
    let (nodes, switches, links) = counts(&mut words, first)?;
    if words.left() < switches + 5 * links {
        let message = format!("the file ends before its {switches} switches and {links} links; is it truncated?");
        return Err(FormatError::at(words.last_line(), message));
    }
    let mut draft = Draft { nodes: (0..nodes).map(host).collect(), ..Draft::default() };
    for _ in 0..switches {
        let switch = words.node("a switch", nodes)?;
        draft.nodes[switch].kind = Some(NodeKind::Router);
    }
    for _ in 0..links {
        draft.links.push(link(&mut words, nodes)?);
    }
    if words.left() > 0 {
        let line = words.next()?.0;
        draft.notes.push(format!("lines from {line} on, after the {links} links that line 1 announces, are ignored"));
    }
    Ok(draft)
}

/// The counts of the first line, which has so many words.
fn counts(words: &mut Words<'_>, first: usize) -> Result<(usize, usize, usize), FormatError> {
    let (with_tors, rates) = match first {
        3 => (false, 0),
        4 => (true, 0),
        6 => (true, 2),
        _ => {
            let message =
                format!("{first} words, where `nodes switches links` or `nodes switches ToRs links` was expected");
            return Err(FormatError::at(1, message));
        }
    };
    let nodes: usize = words.number("a count of nodes")?;
    let switches: usize = words.number("a count of switches")?;
    if with_tors {
        words.number("a count of ToRs")?;
    }
    let links: usize = words.number("a count of links")?;
    for _ in 0..rates {
        words.rate()?;
    }
    if nodes > MAX_NODES || links > MAX_LINKS || switches > nodes || nodes > links + 1 {
        let message = format!(
            "{nodes} nodes, {switches} switches and {links} links; accepted are up to {MAX_NODES} nodes, {MAX_LINKS} \
             links, no more switches than nodes, and links enough to connect the nodes"
        );
        return Err(FormatError::at(1, message));
    }
    Ok((nodes, switches, links))
}

fn host(i: usize) -> DraftNode {
    DraftNode { name: i.to_string(), kind: Some(NodeKind::Host), ..DraftNode::default() }
}

fn link(words: &mut Words<'_>, nodes: usize) -> Result<DraftLink, FormatError> {
    Ok(DraftLink {
        a: words.node("a source", nodes)?,
        b: words.node("a destination", nodes)?,
        rate: Some(words.rate()?),
        delay: Some(words.parse::<Time>("a delay, such as 0.001ms")?),
        corruption: words.parse::<f64>("an error rate from 0 to below 1")?,
        ..DraftLink::default()
    })
}

/// The words of a text with their lines.
struct Words<'a> {
    words: Vec<(usize, &'a str)>,
    next: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        let lines = text.lines().enumerate();
        Words { words: lines.flat_map(|(i, l)| l.split_whitespace().map(move |w| (i + 1, w))).collect(), next: 0 }
    }

    fn left(&self) -> usize {
        self.words.len() - self.next
    }

    fn last_line(&self) -> usize {
        self.words.last().map_or(1, |w| w.0)
    }

    fn next(&mut self) -> Result<(usize, &'a str), FormatError> {
        let word = self.words.get(self.next).copied();
        self.next += 1;
        word.ok_or_else(|| FormatError::at(self.last_line(), "the file ends too early; is it truncated?"))
    }

    fn parse<T: FromStr>(&mut self, what: &str) -> Result<T, FormatError> {
        let (line, word) = self.next()?;
        word.parse().map_err(|_| FormatError::at(line, format!("`{}` is not {what}", short(word))))
    }

    fn number(&mut self, what: &str) -> Result<usize, FormatError> {
        self.parse(what)
    }

    /// A rate; without a unit in bits per second.
    fn rate(&mut self) -> Result<Rate, FormatError> {
        let bare = self.words.get(self.next).and_then(|(_, word)| word.parse::<f64>().ok());
        let Some(bps) = bare else { return self.parse("a rate, such as 100Gbps") };
        let (line, word) = self.next()?;
        let none = || FormatError::at(line, format!("`{}` is not a rate in bits per second", short(word)));
        super::lines::rate(bps, 1.0).ok_or_else(none)
    }

    fn node(&mut self, what: &str, nodes: usize) -> Result<usize, FormatError> {
        let (line, word) = self.next()?;
        let number = word.parse().ok().filter(|&n: &usize| n < nodes);
        number.ok_or_else(|| {
            FormatError::at(
                line,
                format!("{what} `{}` is not a node from 0 to {}", short(word), nodes.saturating_sub(1)),
            )
        })
    }
}
