//! The scoreboard against RFC 6675 written down byte by byte.

use std::collections::BTreeSet;

use midpath_core::packet::{Packet, SackBlock, Sequence};
use midpath_core::units::Time;
use proptest::prelude::*;

use super::harness::{FLOW, HOSTS, cases};
use crate::transport::sender::scoreboard::Scoreboard;

const MSS: u64 = 3;
const DUP_THRESH: u32 = 3;

/// RFC 6675, §2 and §4, literally: sets of byte numbers.
#[derive(Default)]
struct Naive {
    una: u64,
    nxt: u64,
    sacked: BTreeSet<u64>,
    /// HighRxt + 1.
    high_rxt: u64,
}

impl Naive {
    fn is_lost(&self, at: u64) -> bool {
        let above: Vec<u64> = self.sacked.range(at + 1..).copied().collect();
        let sequences = above.iter().filter(|x| !self.sacked.contains(&(**x - 1)) || **x == at + 1).count();
        sequences >= DUP_THRESH as usize || above.len() as u64 > u64::from(DUP_THRESH - 1) * MSS
    }
    fn pipe(&self) -> u64 {
        let open = (self.una..self.nxt).filter(|s| !self.sacked.contains(s));
        open.map(|s| u64::from(!self.is_lost(s)) + u64::from(s < self.high_rxt)).sum()
    }
    /// Rule 1, or rule 3 without (1.c).
    fn next(&self, lost: bool) -> Option<u64> {
        let top = *self.sacked.last()?;
        (self.high_rxt.max(self.una)..top).find(|s| !self.sacked.contains(s) && (!lost || self.is_lost(*s)))
    }
}

#[derive(Debug, Clone)]
enum Op {
    Sack(u64, u64),
    Advance(u64),
    Retransmit(bool),
    Send(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0u64..80, 1u64..7).prop_map(|(at, n)| Op::Sack(at, n)),
        1 => (1u64..12).prop_map(Op::Advance),
        3 => any::<bool>().prop_map(Op::Retransmit),
        1 => (1u64..9).prop_map(Op::Send),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]
    #[test]
    fn ranges_and_edges_say_what_the_rfc_says(isn: u32, ops in prop::collection::vec(op(), 1..80)) {
        let (mut board, mut naive) = (Scoreboard::default(), Naive { nxt: 60, ..Naive::default() });
        // A segment of a byte each: nothing is reported in part.
        (1..=naive.nxt).for_each(|end| board.sent(end, Time::ZERO));
        board.begin();
        let own = Sequence::after_syn(isn);
        for op in ops {
            match op {
                Op::Sack(at, n) => {
                    let from = naive.una + 1 + at;
                    let to = (from + n).min(naive.nxt);
                    let mut p = Packet::new(FLOW, HOSTS[1], HOSTS[0], 52);
                    p.sack_len = 1;
                    p.sack_mut()[0] = SackBlock { from: own.wire(from), to: own.wire(to) };
                    let new = (from..to).filter(|s| naive.sacked.insert(*s)).count() as u64;
                    prop_assert_eq!(board.update(&p, own, None, &mut Vec::new()), new);
                }
                Op::Advance(n) => {
                    let mut una = (naive.una + n).min(naive.nxt);
                    while naive.sacked.contains(&una) {
                        una += 1; // a receiver acknowledges all that it holds in order
                    }
                    let passed = naive.sacked.range(..una).count() as u64;
                    naive.sacked.retain(|s| *s >= una);
                    (naive.una, naive.high_rxt) = (una, naive.high_rxt.max(una));
                    let before = board.sacked();
                    board.acknowledged(una, None, &mut Vec::new());
                    prop_assert_eq!(before - board.sacked(), passed);
                }
                Op::Retransmit(lost) => {
                    let hole = if lost { board.hole(MSS) } else { board.hole_below_sacked(MSS) };
                    prop_assert_eq!(hole.map(|h| h.0), naive.next(lost));
                    if let Some((from, to)) = hole {
                        prop_assert!((from..to).all(|s| !naive.sacked.contains(&s)));
                        prop_assert!(to == from + MSS || naive.sacked.contains(&to));
                        naive.high_rxt = to;
                        board.retransmitted(from, to, Time::ZERO, None);
                    }
                }
                Op::Send(n) => {
                    (1..=n).for_each(|i| board.sent(naive.nxt + i, Time::ZERO));
                    naive.nxt += n;
                }
            }
            board.find_lost(DUP_THRESH, MSS);
            let lost = |s: &u64| naive.is_lost(*s);
            let open: Vec<u64> = (naive.una..naive.nxt).filter(|s| !naive.sacked.contains(s)).collect();
            prop_assert!(open.iter().all(|s| lost(s) == (*s < board.edge())), "edge {}", board.edge());
            prop_assert_eq!(board.lost(), open.iter().filter(|s| lost(s)).count() as u64);
            prop_assert_eq!(board.pipe(), naive.pipe());
            prop_assert!(board.is_consistent(naive.una, naive.nxt));
            prop_assert_eq!(board.sacked(), naive.sacked.len() as u64);
        }
    }
}
