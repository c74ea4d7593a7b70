//! GOAL schedules as a binary, which LogGOPSim's `txt2bin` writes and ATLAHS hands on. Numbers are little-endian
//! (`Parser.hpp` of spcl/LogGOPSim, commit 14dddeb):
//!
//! | what | bytes |
//! |---|---|
//! | magic, 4223 | 8; places count from here |
//! | ranks, most CPUs, most NICs | 4, 1, 1 |
//! | of each rank: where it begins and ends | 8, 8 |
//! | of each rank: operations, those that require nothing | 4, 4; then 4 for each of the latter |
//! | of each operation: what it requires, type, peer, size, tag, CPU, NIC | 4, 1, 4, 8, 4, 1, 1 |
//! | how many require its end, from which place of the list below; the same of its beginning | 4, 4, 4, 4 |
//! | the operations that require others | 4 each |

use crate::goal::{MAX_RANKS, Reader, Unmatched};
use crate::list::{ListError, error};
use crate::trace::{Kind, Need, Op, Trace};
use midpath_core::units::{Bytes, Time};

const MAGIC: u64 = 4223;
/// Bytes of an operation.
const OPERATION: u64 = 39;
/// From the magic number to the places of ranks.
const HEAD: u64 = 6;

/// Whether this is one.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// Reads a schedule. The lines of its operations are their numbers, from 1.
pub(crate) fn parse(bytes: &[u8]) -> Result<Trace, ListError> {
    let file = File(bytes.get(size_of::<u64>()..).unwrap_or_default());
    let ranks = u64::from(file.u32(0)?);
    if ranks == 0 || ranks > MAX_RANKS {
        return Err(error(1, format!("{ranks} ranks; there are 1 to {MAX_RANKS}")));
    }
    let mut reader = Reader::default();
    reader.trace.ranks = ranks;
    for rank in 0..ranks {
        let place = HEAD + 16 * rank;
        file.rank(rank as u32, file.u64(place)?..file.u64(place + 8)?, &mut reader)?;
    }
    reader.matched()
}

/// What follows the magic number.
struct File<'a>(&'a [u8]);

impl File<'_> {
    fn at<const N: usize>(&self, place: u64) -> Result<[u8; N], ListError> {
        let from = usize::try_from(place).ok();
        let found = from.and_then(|from| self.0.get(from..from.checked_add(N)?)?.try_into().ok());
        found.ok_or_else(|| error(1, format!("the file ends before byte {place}; it needs all ranks")))
    }

    fn u32(&self, place: u64) -> Result<u32, ListError> {
        self.at(place).map(u32::from_le_bytes)
    }

    fn u64(&self, place: u64) -> Result<u64, ListError> {
        self.at(place).map(u64::from_le_bytes)
    }

    /// A rank between these places.
    fn rank(&self, rank: u32, place: std::ops::Range<u64>, reader: &mut Reader) -> Result<(), ListError> {
        let first = reader.trace.ops.len();
        let wrong = |message: String| error(first as u64 + 1, format!("rank {rank}: {message}"));
        if place.end > self.0.len() as u64 || place.start > place.end {
            let message = format!("bytes {} to {}, and the file has {}", place.start, place.end, self.0.len());
            return Err(wrong(format!("{message}; it needs all of it")));
        }
        let (count, roots) = (u64::from(self.u32(place.start)?), u64::from(self.u32(place.start + 4)?));
        let operations = place.start + 8 + 4 * roots;
        let list = operations + OPERATION * count;
        if list > place.end {
            return Err(wrong(format!("{count} operations have no room in its bytes; it needs all of it")));
        }
        for number in 0..count {
            let op = self.operation(rank, operations + OPERATION * number, reader)?;
            reader.trace.ops.push(op);
        }
        let mut required = vec![0u32; count as usize];
        for number in 0..count {
            let place = operations + OPERATION * number + 23;
            for (at, done) in [(place, true), (place + 8, false)] {
                let (many, from) = (u64::from(self.u32(at)?), u64::from(self.u32(at + 4)?));
                if many > 0 && list + 4 * (from + many) > self.0.len() as u64 {
                    return Err(wrong("what its operations require is not in the file; it needs all of it".to_owned()));
                }
                for i in 0..many {
                    let by = self.u32(list + 4 * (from + i))? as usize;
                    let Some(known) = required.get_mut(by) else {
                        return Err(wrong(format!("operation {by}, of {count}, counted from 0")));
                    };
                    *known += 1;
                    let of = (first as u64 + number) as u32;
                    reader.trace.ops[first + by].needs.push(Need { of, done });
                }
            }
        }
        for (number, known) in (0..count).zip(required) {
            let said = self.u32(operations + OPERATION * number)?;
            if said != known {
                return Err(wrong(format!("operation {number} waits for {said} others, of which {known} are listed")));
            }
        }
        Ok(())
    }

    fn operation(&self, rank: u32, place: u64, reader: &mut Reader) -> Result<Op, ListError> {
        let number = reader.trace.ops.len() as u32;
        let line = u64::from(number) + 1;
        let ([kind], peer, size, tag) =
            (self.at(place + 4)?, self.u32(place + 5)?, self.u64(place + 9)?, self.u32(place + 17)?);
        if kind != CALC && (peer == u32::MAX || tag == u32::MAX) {
            return Err(error(line, "which source or tag is meant shows while a program runs"));
        }
        if kind != CALC && u64::from(peer) >= reader.trace.ranks {
            return Err(error(line, format!("rank {peer}; there are {}, counted from 0", reader.trace.ranks)));
        }
        let kind = match kind {
            SEND => {
                reader.half(rank, peer, tag).sent.push(number);
                Kind::Send { to: peer, size: Bytes(size.max(1)) }
            }
            RECEIVE => {
                reader.half(peer, rank, tag).received.push(number);
                Kind::Receive { message: u32::MAX }
            }
            CALC => Kind::Calc(Time(size.saturating_mul(1000))),
            other => return Err(error(line, format!("type {other}; there are 1 (send), 2 (recv) and 3 (calc)"))),
        };
        Ok(Op { rank, line, kind, needs: Vec::new() })
    }
}

impl Reader {
    fn half(&mut self, from: u32, to: u32, tag: u32) -> &mut Unmatched {
        self.unmatched.entry((from, to, u64::from(tag))).or_default()
    }
}

const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const CALC: u8 = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As `txt2bin` lays a schedule out.
    fn encode(trace: &Trace, tags: &[u32]) -> Vec<u8> {
        let (mut table, mut data) = (Vec::new(), Vec::new());
        let before = HEAD + 16 * trace.ranks;
        for rank in 0..trace.ranks as u32 {
            let first = trace.ops.iter().position(|op| op.rank == rank).unwrap_or(0);
            let own: Vec<&Op> = trace.ops.iter().filter(|op| op.rank == rank).collect();
            table.extend((before + data.len() as u64).to_le_bytes());
            let roots: Vec<u32> = (0..own.len() as u32).filter(|i| own[*i as usize].needs.is_empty()).collect();
            [own.len() as u32, roots.len() as u32].iter().chain(&roots).for_each(|n| data.extend(n.to_le_bytes()));
            let mut list = Vec::<u32>::new();
            for (i, op) in own.iter().enumerate() {
                let (kind, peer, size, tag) = match op.kind {
                    Kind::Calc(time) => (CALC, 0, time.0 / 1000, 0),
                    Kind::Send { to, size } => (SEND, to, size.0, tags[first + i]),
                    Kind::Receive { message } => (RECEIVE, trace.ops[message as usize].rank, 8, tags[message as usize]),
                };
                data.extend((op.needs.len() as u32).to_le_bytes());
                data.push(kind);
                data.extend(peer.to_le_bytes());
                data.extend(size.to_le_bytes());
                data.extend(tag.to_le_bytes());
                data.extend([0, 0]);
                for done in [true, false] {
                    let need = Need { of: (first + i) as u32, done };
                    let by = (0..own.len() as u32).filter(|by| own[*by as usize].needs.contains(&need));
                    let from = list.len() as u32;
                    list.extend(by);
                    [list.len() as u32 - from, from].iter().for_each(|n| data.extend(n.to_le_bytes()));
                }
            }
            list.iter().for_each(|n| data.extend(n.to_le_bytes()));
            table.extend((before + data.len() as u64).to_le_bytes());
        }
        let head = [MAGIC.to_le_bytes().to_vec(), (trace.ranks as u32).to_le_bytes().to_vec(), vec![1, 1]];
        [head.concat(), table, data].concat()
    }

    prop_compose! {
        /// Of each rank: computation, then messages to the next ones, each after what came before or with it.
        fn schedules()(ranks in 1u32..6, rounds in prop::collection::vec((1u64..1000, 1u64..100_000, any::<bool>()), 0..8))
            -> (String, Vec<u32>)
        {
            let (mut text, mut tags) = (format!("num_ranks {ranks}\n"), Vec::new());
            for rank in 0..ranks {
                text += &format!("rank {rank} {{\n");
                for (i, (ns, size, done)) in rounds.iter().enumerate() {
                    let how = if *done { "requires" } else { "irequires" };
                    let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
                    text += &format!("c{i}: calc {ns}\n");
                    tags.push(0);
                    if ranks > 1 {
                        text += &format!("s{i}: send {size}b to {to} tag {i}\nr{i}: recv {size}b from {from} tag {i}\n");
                        text += &format!("s{i} {how} c{i}\nr{i} requires c{i}\n");
                        tags.extend([i as u32, i as u32]);
                    }
                    if i > 0 {
                        text += &format!("c{i} requires c{}\n", i - 1);
                    }
                }
                text += "}\n";
            }
            (text, tags)
        }
    }

    /// Lines are of the text, or numbers.
    fn without_lines(trace: Trace) -> Trace {
        let same = |op: Op| {
            let mut needs = op.needs;
            needs.sort_unstable_by_key(|need| (need.of, need.done));
            Op { line: 0, needs, ..op }
        };
        Trace { ops: trace.ops.into_iter().map(same).collect(), ..trace }
    }

    proptest! {
        #[test]
        fn a_binary_is_its_text((text, tags) in schedules(), cut in 0.0f64..1.0) {
            let trace = crate::goal::parse(&text).expect("valid");
            let bytes = encode(&trace, &tags);
            prop_assert!(is_binary(&bytes));
            prop_assert_eq!(without_lines(parse(&bytes).expect("valid")), without_lines(trace));
            // Truncated anywhere it is refused.
            let short = &bytes[..(bytes.len() as f64 * cut) as usize];
            prop_assert!(parse(short).is_err(), "{} of {} bytes", short.len(), bytes.len());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), ranks in 0u8..4) {
            let mut bytes = [&MAGIC.to_le_bytes()[..], &bytes].concat();
            if bytes.len() > 12 {
                bytes[8..12].copy_from_slice(&[ranks, 0, 0, 0]);
            }
            drop(parse(&bytes));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let trace = crate::goal::parse("num_ranks 2\nrank 0 { \ns: send 9b to 1\n}\nrank 1 {\nr: recv 9b from 0\n}")
            .expect("valid");
        let bytes = encode(&trace, &[0, 0]);
        let operation = 8 + 6 + 32 + 12;
        for (at, with, says) in [
            (8, vec![0, 0, 0, 0], "0 ranks"),
            (operation, vec![1], "operation 0 waits for 1 others, of which 0 are listed"),
            (operation + 4, vec![7], "type 7"),
            (operation + 5, vec![2], "rank 2; there are 2"),
            (operation + 5, vec![255; 4], "which source"),
            (operation + 17, vec![3], "has no"),
        ] {
            let mut wrong = bytes.clone();
            wrong[at..at + with.len()].copy_from_slice(&with);
            let found = parse(&wrong).expect_err(says);
            assert!(found.message.contains(says), "{found}");
        }
    }
}
