//! htsim's connection matrices (`.cm`): `Nodes n`, `Connections n`, then a line for each connection.
//!
//! As `ConnectionMatrix::load` of Broadcom/csg-htsim reads it (commit 841d9e7): `src->dst` and then words with a number
//! each: `start` in picoseconds (its Swift alone takes microseconds), `size` in bytes (0: without end), `id`, `prio`.
//! Triggers (a connection starts when another ends) have no place in a list, but in a trace; failures are refused.

use crate::list::{Lines, ListError, ListedFlow, error};
use crate::rates::short;
use crate::trace::{Kind, Need, Op, Trace};
use midpath_core::units::{Bytes, Time};
use std::collections::BTreeMap;

/// Latest start in picoseconds. Ours: eleven days, and every picosecond up to there has room.
const MAX_START: f64 = 1e18;

/// A list of htsim's.
pub(crate) struct ConnectionList<'a> {
    lines: Lines<'a>,
    nodes: Option<u64>,
    connections: Option<u64>,
    read: u64,
}

impl<'a> ConnectionList<'a> {
    pub fn new(lines: Lines<'a>) -> ConnectionList<'a> {
        ConnectionList { lines, nodes: None, connections: None, read: 0 }
    }

    /// The next connection; `None` after the last.
    pub fn next(&mut self) -> Result<Option<ListedFlow>, ListError> {
        while let Some((line, text)) = self.lines.next()? {
            let words: Vec<&str> = text.split_whitespace().collect();
            let wrong = |message: String| Err(error(line, message));
            match words[..] {
                [word, ..] if word.starts_with('#') => {}
                ["Nodes", n] => self.nodes = Some(whole(n, line)?),
                ["Connections", n] => self.connections = Some(whole(n, line)?),
                ["Triggers" | "Failures", "0"] => {}
                ["Triggers" | "trigger", ..] => return wrong(NO_TRIGGERS.to_owned()),
                ["Failures" | "failure", ..] => return wrong(NO_FAILURES.to_owned()),
                [ends, ref rest @ ..] if ends.contains("->") => {
                    let (Some(nodes), Some(connections)) = (self.nodes, self.connections) else {
                        return wrong("a connection before `Nodes n` and `Connections n`".to_owned());
                    };
                    self.read += 1;
                    if self.read > connections {
                        return wrong(format!("more than the {connections} connections that were announced"));
                    }
                    return listed(ends, rest, nodes, line).map(Some);
                }
                [word, ..] => {
                    return wrong(format!("`{}` is unknown; a line is `0->1 start 0 size 1000`", short(word)));
                }
                [] => {}
            }
        }
        match self.connections {
            Some(n) if n == self.read => Ok(None),
            n => {
                Err(error(self.lines.read(), format!("the file ends after {} of {} flows", self.read, n.unwrap_or(0))))
            }
        }
    }
}

const NO_TRIGGERS: &str =
    "a connection starts when another ends (`trigger`): name the file as `trace` of a [[job]], or give each a `start`";
/// What fires a trigger: how many connections must be done.
struct Trigger {
    line: u64,
    count: u64,
}

/// Reads connections with triggers as a trace: a rank for each host.
pub(crate) fn parse_trace(text: &str) -> Result<Trace, ListError> {
    let mut trace = Trace::default();
    let (mut connections, mut announced, mut last) = (None, 0, 1);
    let mut triggers = BTreeMap::<u64, Trigger>::new();
    // By trigger: who fires it; and who waits for which.
    let (mut fired_by, mut waiting) = (BTreeMap::<u64, Vec<u32>>::new(), Vec::new());
    let mut read = 0;
    for (line, text) in (1..).zip(text.lines()) {
        last = line;
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [] => {}
            [word, ..] if word.starts_with('#') => {}
            ["Nodes", n] => trace.ranks = whole(n, line)?,
            ["Connections", n] => connections = Some(whole(n, line)?),
            ["Triggers", n] => announced = whole(n, line)?,
            ["Failures", "0"] => {}
            ["Failures" | "failure", ..] => return Err(error(line, NO_FAILURES)),
            ["trigger", ref rest @ ..] => {
                let (id, trigger) = trigger(rest, line)?;
                if triggers.insert(id, trigger).is_some() {
                    return Err(error(line, format!("trigger {id} stands twice; leave one out")));
                }
            }
            [ends, ref rest @ ..] if ends.contains("->") => {
                read += 1;
                let Connection { src, dst, size, start, trigger, fires } = connection(ends, rest, trace.ranks, line)?;
                if size == 0 {
                    return Err(error(
                        line,
                        "size 0 is a connection without end, which nothing can wait for; give its size",
                    ));
                }
                let mut needs = Vec::new();
                if let Some(start) = start.filter(|start| !start.is_zero()) {
                    needs.push(Need { of: trace.ops.len() as u32, done: true });
                    trace.ops.push(Op { rank: src as u32, line, kind: Kind::Calc(start), needs: Vec::new() });
                }
                let number = trace.ops.len() as u32;
                match (trigger, start) {
                    (Some(_), Some(_)) => return Err(error(line, "both `start` and `trigger`; leave one out")),
                    (None, None) => return Err(error(line, "a connection without `start` or `trigger`; give one")),
                    (Some(id), None) => waiting.push((number, id)),
                    (None, Some(_)) => {}
                }
                fires.into_iter().for_each(|id| fired_by.entry(id).or_default().push(number));
                let kind = Kind::Send { to: dst as u32, size: Bytes(size) };
                trace.ops.push(Op { rank: src as u32, line, kind, needs });
            }
            [word, ..] => {
                let message = format!("`{}` is unknown; a line is `0->1 id 1 start 0 size 1000`", short(word));
                return Err(error(line, message));
            }
        }
    }
    if connections != Some(read) {
        let message =
            format!("the file ends after {read} of {} connections; it needs them all", connections.unwrap_or(0));
        return Err(error(last, message));
    }
    if triggers.len() as u64 != announced {
        let message = format!("the file ends after {} of {announced} triggers; it needs them all", triggers.len());
        return Err(error(last, message));
    }
    for (id, Trigger { line, count }) in &triggers {
        let by = fired_by.get(id).map_or(0, Vec::len) as u64;
        if by != *count {
            let message = format!("trigger {id} needs {count} connections that are done, and {by} fire it; change one");
            return Err(error(*line, message));
        }
    }
    for (op, id) in waiting {
        let line = trace.ops[op as usize].line;
        let by = fired_by.get(&id).filter(|_| triggers.contains_key(&id));
        let by = by.ok_or_else(|| error(line, format!("there is no trigger {id}; write `trigger id {id} oneshot`")))?;
        trace.ops[op as usize].needs.extend(by.iter().map(|of| Need { of: *of, done: true }));
    }
    Ok(trace)
}

/// `id 5 barrier count 3` and the like.
fn trigger(words: &[&str], line: u64) -> Result<(u64, Trigger), ListError> {
    let (mut id, mut count, mut barrier) = (None, None, None);
    let mut rest = words;
    loop {
        rest = match rest {
            ["id", n, rest @ ..] => {
                id = Some(whole(n, line)?);
                rest
            }
            ["count", n, rest @ ..] => {
                count = Some(whole(n, line)?);
                rest
            }
            // Fired once, several times that it fires are one.
            ["oneshot" | "multishot", rest @ ..] => {
                barrier = Some(false);
                rest
            }
            ["barrier", rest @ ..] => {
                barrier = Some(true);
                rest
            }
            [] => break,
            [word, ..] => {
                let message = format!("`{}` is unknown; a trigger is `trigger id 5 barrier count 3`", short(word));
                return Err(error(line, message));
            }
        };
    }
    match (id, barrier, count) {
        (Some(id), Some(true), Some(count)) => Ok((id, Trigger { line, count })),
        (Some(id), Some(false), _) => Ok((id, Trigger { line, count: 1 })),
        _ => Err(error(line, "a trigger has an `id`, and is `oneshot`, `multishot` or `barrier count 3`")),
    }
}

/// A connection as it is written.
struct Connection {
    src: u64,
    dst: u64,
    size: u64,
    start: Option<Time>,
    trigger: Option<u64>,
    /// The triggers that it fires when it is done, at its sender or its receiver.
    fires: Vec<u64>,
}

const NO_FAILURES: &str = "a link failure, which is not supported in a list: write it as `[[vary]]` in the scenario";

fn whole(word: &str, line: u64) -> Result<u64, ListError> {
    word.parse().map_err(|_| error(line, format!("`{}` is not a whole number", short(word))))
}

/// `0->1` and what follows it.
fn connection(ends: &str, words: &[&str], nodes: u64, line: u64) -> Result<Connection, ListError> {
    let host = |word: &str| match whole(word, line)? {
        n if n < nodes => Ok(n),
        n => Err(error(line, format!("host {n}; there are {nodes}, counted from 0"))),
    };
    let (src, dst) = ends.split_once("->").unwrap_or((ends, ""));
    let (mut size, mut start, mut trigger, mut fires) = (None, None, None, Vec::new());
    for pair in words.chunks(2) {
        match *pair {
            ["size", word] => size = Some(whole(word, line)?),
            ["start", word] => start = Some(picoseconds(word, line)?),
            ["id" | "prio", word] => drop(whole(word, line)?),
            ["trigger", word] => trigger = Some(whole(word, line)?),
            ["send_done_trigger" | "recv_done_trigger", word] => fires.push(whole(word, line)?),
            ["addon", ..] => return Err(error(line, "`addon` is not supported; leave it out")),
            [word, ..] => {
                return Err(error(
                    line,
                    format!("`{}` is not `start`, `size`, `id` or `prio` and a number", short(word)),
                ));
            }
            [] => {}
        }
    }
    let size = size.ok_or_else(|| error(line, "a connection without `size`"))?;
    Ok(Connection { src: host(src)?, dst: host(dst)?, size, start, trigger, fires })
}

/// One of a list: with a start, and without triggers.
fn listed(ends: &str, words: &[&str], nodes: u64, line: u64) -> Result<ListedFlow, ListError> {
    let Connection { src, dst, size, start, trigger, fires } = connection(ends, words, nodes, line)?;
    if trigger.is_some() || !fires.is_empty() {
        return Err(error(line, NO_TRIGGERS));
    }
    Ok(ListedFlow {
        src: src.to_string(),
        dst: dst.to_string(),
        size: (size > 0).then_some(Bytes(size)),
        start: start.ok_or_else(|| error(line, "a connection without `start`"))?,
        line,
        ..ListedFlow::default()
    })
}

fn picoseconds(word: &str, line: u64) -> Result<Time, ListError> {
    let picoseconds = word.parse::<f64>().ok().filter(|ps| (0.0..=MAX_START).contains(ps));
    let wrong = || error(line, format!("start `{}` is not a number of picoseconds from 0 to 1e18", short(word)));
    picoseconds.map(|ps| Time(ps.round() as u64)).ok_or_else(wrong)
}

/// A file of each kind of line.
#[cfg(test)]
pub(crate) const SAMPLE: &str = "# incast\nNodes 8\nConnections 3\nTriggers 0\n0->7 id 1 start 0 size 1000\n1->7 start 0.000000 size 0 prio 2\n\n2->7 id 3 start 25748975 size 2000000\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{FlowListFormat, parse_flow_list_bytes};
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<ListedFlow>, ListError> {
        parse_flow_list_bytes(FlowListFormat::Htsim, text.as_bytes())
    }

    #[test]
    fn connections_are_flows_in_picoseconds_and_bytes() {
        let flows = read(SAMPLE).expect("valid");
        let said: Vec<_> = flows.iter().map(|f| (f.src.as_str(), f.size, f.start, f.line)).collect();
        let endless = ("1", None, Time::ZERO, 6);
        let late = ("2", Some(Bytes(2_000_000)), Time(25_748_975), 8);
        assert_eq!(said, [("0", Some(Bytes(1000)), Time::ZERO, 5), endless, late]);
    }

    #[test]
    fn what_has_no_place_in_a_list_is_refused_with_its_line() {
        for (text, line, message) in [
            ("Nodes 2\nConnections 1\nTriggers 1\n", 3, "starts when another ends"),
            ("Nodes 2\nConnections 1\n0->1 id 1 trigger 1 size 9\n", 3, "starts when another ends"),
            ("Nodes 2\nConnections 1\n0->1 start 0 size 9 send_done_trigger 1\n", 3, "starts when another ends"),
            ("Nodes 2\nConnections 1\nFailures 1\n", 3, "`[[vary]]`"),
            ("Nodes 2\nConnections 1\n0->2 start 0 size 9\n", 3, "host 2; there are 2"),
            ("Nodes 2\nConnections 1\n0->1 size 9\n", 3, "without `start`"),
            ("Nodes 2\nConnections 1\n0->1 start 0\n", 3, "without `size`"),
            ("Nodes 2\nConnections 1\n0->1 start -1 size 9\n", 3, "not a number of picoseconds"),
            ("Nodes 2\nConnections 1\n0->1 start 0 size 9 color 3\n", 3, "`color` is not"),
            ("Nodes 2\nConnections 1\n0->1 start\n", 3, "`start` is not"),
            ("Nodes 2\nConnections 2\n0->1 start 0 size 9\n", 3, "ends after 1 of 2"),
            ("Nodes 2\nConnections 0\n0->1 start 0 size 9\n", 3, "more than the 0"),
            ("0->1 start 0 size 9\n", 1, "before `Nodes n`"),
            ("", 1, "ends after 0 of 0"),
            ("Nodes 2\nhello\n", 2, "`hello` is unknown"),
        ] {
            let e = read(text).expect_err(text);
            assert!(e.line == line && e.message.contains(message), "{text:?}: {e}");
        }
    }

    proptest! {
        /// Connections drawn and written as htsim's generators do are read as they were drawn.
        #[test]
        fn written_connections_are_read(
            drawn in proptest::collection::vec((0u64..64, 0u64..64, 0u64..1u64 << 50, 0u64..1u64 << 40), 0..20),
            with_id: bool,
        ) {
            let mut text = format!("Nodes 64\nConnections {}\n", drawn.len());
            for (i, (src, dst, start, size)) in drawn.iter().enumerate() {
                let id = if with_id { format!(" id {}", i + 1) } else { String::new() };
                text += &format!("{src}->{dst}{id} start {start} size {size}\n");
            }
            let found = read(&text).expect("valid");
            let said: Vec<_> = found.iter().map(|f| (f.src.clone(), f.dst.clone(), f.start.0, f.size.map_or(0, |s| s.0))).collect();
            let right: Vec<_> =
                drawn.iter().map(|(src, dst, start, size)| (src.to_string(), dst.to_string(), *start, *size)).collect();
            prop_assert_eq!(said, right);
        }
    }
}
