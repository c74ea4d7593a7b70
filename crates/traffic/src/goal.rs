//! GOAL schedules, as LogGOPSim and ATLAHS have them as text (Hoefler, Siebert and Lumsdaine 2009; the grammar is that of
//! LogGOPSim's `txt2bin`): `num_ranks n`, then for each rank a block of operations and of what they require. Or as
//! [`crate::goal_binary`].

use rustc_hash::{FxHashMap, FxHashSet};

use crate::list::{ListError, error};
use crate::rates::short;
use crate::trace::{Kind, Need, Op, Trace};
use midpath_core::units::{Bytes, Time};

/// Most ranks. Ours: more than a topology has hosts.
pub(crate) const MAX_RANKS: u64 = 1 << 24;

/// A message that waits for its other half.
#[derive(Default)]
pub(crate) struct Unmatched {
    pub sent: Vec<u32>,
    pub received: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Reader {
    pub trace: Trace,
    /// The rank whose block is open, and its labels.
    rank: Option<u32>,
    labels: FxHashMap<String, u32>,
    /// What is required before its label stands: by which operation, of which label, and how.
    required: Vec<(u64, String, String, bool)>,
    /// Ranks whose blocks have been read.
    seen: FxHashSet<u32>,
    /// By sender, receiver and tag, in order: messages do not overtake.
    pub unmatched: FxHashMap<(u32, u32, u64), Unmatched>,
}

/// Reads a schedule.
pub(crate) fn parse(text: &str) -> Result<Trace, ListError> {
    let mut reader = Reader::default();
    let (mut line, mut comment) = (0, false);
    for written in text.lines() {
        line += 1;
        let words = words(written, &mut comment);
        let words: Vec<&str> = words.split_whitespace().collect();
        reader.line(&words, line)?;
    }
    reader.end(line.max(1))
}

/// A line without comments, and with spaces around what separates words.
fn words(line: &str, comment: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        if *comment {
            let Some((_, after)) = rest.split_once("*/") else { break };
            (*comment, rest) = (false, after);
            continue;
        }
        let block = rest.find("/*");
        let end = rest.find("//").filter(|end| block.is_none_or(|block| *end < block));
        let upto = end.or(block).unwrap_or(rest.len());
        out += &rest[..upto].replace(':', " : ").replace('{', " { ").replace('}', " } ");
        if end.is_some() || block.is_none() {
            break;
        }
        (*comment, rest) = (true, &rest[upto + 2..]);
    }
    out
}

impl Reader {
    fn line(&mut self, words: &[&str], line: u64) -> Result<(), ListError> {
        let mut words = words;
        while !words.is_empty() {
            words = self.part(words, line)?;
        }
        Ok(())
    }

    /// Reads the line's next part; what is left is behind it. A line may have blocks in a row.
    fn part<'a>(&mut self, words: &'a [&'a str], line: u64) -> Result<&'a [&'a str], ListError> {
        match (words, self.rank) {
            (["num_ranks", n, rest @ ..], None) if self.trace.ranks == 0 => {
                self.trace.ranks = number(n, line)?;
                if self.trace.ranks == 0 || self.trace.ranks > MAX_RANKS {
                    return Err(error(line, format!("{n} ranks; there are 1 to {MAX_RANKS}")));
                }
                Ok(rest)
            }
            (["rank", n, "{", rest @ ..], None) => {
                let rank = number(n, line)?;
                if rank >= self.trace.ranks {
                    return Err(error(
                        line,
                        format!("rank {rank}; `num_ranks` is {}, counted from 0", self.trace.ranks),
                    ));
                }
                if !self.seen.insert(rank as u32) {
                    return Err(error(line, format!("rank {rank} stands twice; write one block of it")));
                }
                self.rank = Some(rank as u32);
                Ok(rest)
            }
            (["rank", ..], Some(rank)) => {
                Err(error(line, format!("rank {rank} is not closed; write `}}` before the next")))
            }
            (["}", rest @ ..], Some(_)) => {
                self.close()?;
                Ok(rest)
            }
            ([label, ":", rest @ ..], Some(rank)) => {
                let op = self.operation(rest, rank, line)?;
                if self.labels.insert((*label).to_owned(), op).is_some() {
                    return Err(error(line, format!("label `{}` stands twice in rank {rank}", short(label))));
                }
                Ok(&[])
            }
            ([op, how @ ("requires" | "irequires"), of], Some(_)) => {
                self.required.push((line, (*op).to_owned(), (*of).to_owned(), *how == "requires"));
                Ok(&[])
            }
            (["calc" | "send" | "recv", ..], Some(rank)) => self.operation(words, rank, line).map(|_| &[][..]),
            ([word, ..], Some(_)) => Err(error(
                line,
                format!("`{}` is unknown; a line is `l1: send 8b to 1 tag 0` or `l2 requires l1`", short(word)),
            )),
            ([word, ..], None) => {
                Err(error(line, format!("`{}` is outside of a rank; write `rank 0 {{` before it", short(word))))
            }
            ([], _) => Ok(words),
        }
    }

    /// An operation of a rank: its number.
    fn operation(&mut self, words: &[&str], rank: u32, line: u64) -> Result<u32, ListError> {
        let joined;
        let words = match words {
            // `8 b` is `8b`.
            [op, n, "b", rest @ ..] => {
                joined = format!("{n}b");
                [&[*op, joined.as_str()], rest].concat()
            }
            _ => words.to_vec(),
        };
        let number_of = self.trace.ops.len() as u32;
        let kind = match &words[..] {
            ["calc", ns, rest @ ..] => {
                options(rest, line)?;
                Kind::Calc(Time(number(ns, line)?.saturating_mul(1000)))
            }
            ["send", size, "to", to, rest @ ..] => {
                let (to, tag) = (self.peer(to, line)?, options(rest, line)?);
                let bytes = size.strip_suffix('b').unwrap_or(size);
                let size = Bytes(number(bytes, line)?.max(1));
                self.unmatched.entry((rank, to, tag)).or_default().sent.push(number_of);
                Kind::Send { to, size }
            }
            ["recv", size, "from", from, rest @ ..] => {
                let (from, tag) = (self.peer(from, line)?, options(rest, line)?);
                number(size.strip_suffix('b').unwrap_or(size), line)?;
                self.unmatched.entry((from, rank, tag)).or_default().received.push(number_of);
                Kind::Receive { message: u32::MAX }
            }
            _ => {
                let what = words.first().copied().unwrap_or("");
                let message = format!(
                    "`{}` is no operation; there are `calc 100`, `send 8b to 1 tag 0` and `recv 8b from 1 tag 0`",
                    short(what)
                );
                return Err(error(line, message));
            }
        };
        self.trace.ops.push(Op { rank, line, kind, needs: Vec::new() });
        Ok(number_of)
    }

    fn peer(&self, word: &str, line: u64) -> Result<u32, ListError> {
        if word == "-1" {
            return Err(error(line, "any source (`-1`) is decided while a program runs; name the rank"));
        }
        let rank = number(word, line)?;
        if rank >= self.trace.ranks {
            return Err(error(line, format!("rank {rank}; `num_ranks` is {}, counted from 0", self.trace.ranks)));
        }
        Ok(rank as u32)
    }

    /// The end of a rank's block: all its labels are known.
    fn close(&mut self) -> Result<(), ListError> {
        let rank = self.rank.take().unwrap_or_default();
        for (line, op, of, done) in self.required.drain(..) {
            let known = |label: &String| {
                let message = || format!("`{}` is no label of rank {rank}", short(label));
                self.labels.get(label).copied().ok_or_else(|| error(line, message()))
            };
            let (op, of) = (known(&op)?, known(&of)?);
            self.trace.ops[op as usize].needs.push(Need { of, done });
        }
        self.labels.clear();
        Ok(())
    }

    fn end(self, line: u64) -> Result<Trace, ListError> {
        if let Some(rank) = self.rank {
            return Err(error(line, format!("the file ends inside of rank {rank}; it needs all of it, with its `}}`")));
        }
        let seen = self.seen.len() as u64;
        if seen != self.trace.ranks || seen == 0 {
            let message = format!("the file ends after {seen} of {} ranks; it needs them all", self.trace.ranks);
            return Err(error(line, message));
        }
        self.matched()
    }

    /// Each message with its receipt.
    pub fn matched(mut self) -> Result<Trace, ListError> {
        let mut alone: Option<(u64, String)> = None;
        for ((from, to, tag), Unmatched { sent, received }) in self.unmatched {
            for (message, receipt) in sent.iter().zip(&received) {
                self.trace.ops[*receipt as usize].kind = Kind::Receive { message: *message };
            }
            let (kind, other) = if sent.len() > received.len() { ("send", "recv") } else { ("recv", "send") };
            let more = sent.iter().skip(received.len()).chain(received.iter().skip(sent.len()));
            for op in more {
                let line = self.trace.ops[*op as usize].line;
                let said =
                    format!("this `{kind}` from rank {from} to {to} with tag {tag} has no `{other}`; write it, too");
                alone = alone.filter(|first| first.0 <= line).or(Some((line, said)));
            }
        }
        alone.map_or(Ok(self.trace), |(line, said)| Err(error(line, said)))
    }
}

fn number(word: &str, line: u64) -> Result<u64, ListError> {
    word.parse().map_err(|_| error(line, format!("`{}` is not a whole number", short(word))))
}

/// What follows an operation: its tag. Operations of a rank run beside each other whatever their `cpu` and `nic`.
fn options(words: &[&str], line: u64) -> Result<u64, ListError> {
    let mut tag = 0;
    for pair in words.chunks(2) {
        match *pair {
            ["tag", "-1"] => return Err(error(line, "any tag (`-1`) is decided while a program runs; give the tag")),
            ["tag", n] => tag = number(n, line)?,
            ["cpu" | "nic", n] => drop(number(n, line)?),
            [word, ..] => {
                return Err(error(line, format!("`{}` is not `tag`, `cpu` or `nic` and a number", short(word))));
            }
            [] => {}
        }
    }
    Ok(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_have_any_number_of_blocks() {
        let blocks: String = (0..300_000).map(|rank| format!(" rank {rank} {{ }}")).collect();
        assert_eq!(parse(&format!("num_ranks 300000{blocks}")).map(|trace| trace.ranks), Ok(300_000));
    }

    #[test]
    fn what_stands_twice_is_refused() {
        for text in ["num_ranks 2 num_ranks 1 rank 0 { }", "num_ranks 2\nrank 0 { }\nrank 0 { }"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
