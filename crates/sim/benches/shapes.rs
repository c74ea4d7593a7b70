//! Prototypes of the engine: the same packets over the same chains of eight ports, three ways.
//!
//! - `heap, two events`: a binary heap of events, one for the end of a transmission and one for the
//!   arrival;
//! - `heap, one event`: the start of a transmission is known on arrival (a timetable), so an
//!   arrival is all there is;
//! - `windows`: no event queue: each port takes the arrivals of one window, no longer than the
//!   links' delay, as a batch.
//!
//! All three compute every packet's times, and must agree on their sum. Results:
//! evidence/bench/README.md.

mod timing;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;

const HOPS: usize = 8;
/// Picoseconds to send 1500 bytes at 10 Gbps, and to cross a link.
const TX: u64 = 1_200_000;
const DELAY: u64 = 10_000_000;
const PACKETS: u64 = 64;

/// When packet `i` of `chain` enters its first port: chains are out of step and sometimes faster
/// than the ports.
fn entry(chain: usize, i: u64) -> u64 {
    chain as u64 * 7_919 + i * (TX - 100_000) + (i % 5) * 40_000
}

/// Sum of the times at which packets leave their chains: what the three ways must agree on.
type Checksum = u64;

/// A prototype: runs that many chains.
type Way = fn(usize) -> Checksum;

fn two_events(chains: usize) -> Checksum {
    #[derive(Clone, Copy)]
    enum What {
        Arrival,
        Sent,
    }
    let mut heap = BinaryHeap::new();
    let mut queues: Vec<VecDeque<u32>> = vec![VecDeque::new(); chains * HOPS];
    let mut busy = vec![false; chains * HOPS];
    let (mut seq, mut sum) = (0u64, 0u64);
    let mut put = |heap: &mut BinaryHeap<Reverse<(u64, u64, u32, u8)>>, at: u64, port: usize, what: What| {
        seq += 1;
        heap.push(Reverse((at, seq, port as u32, what as u8)));
    };
    for c in 0..chains {
        (0..PACKETS).for_each(|i| put(&mut heap, entry(c, i), c * HOPS, What::Arrival));
    }
    while let Some(Reverse((now, _, port, what))) = heap.pop() {
        let p = port as usize;
        if what == What::Arrival as u8 {
            if busy[p] {
                queues[p].push_back(0);
            } else {
                busy[p] = true;
                put(&mut heap, now + TX, p, What::Sent);
            }
            continue;
        }
        if (p + 1).is_multiple_of(HOPS) {
            sum = sum.wrapping_add(now + DELAY);
        } else {
            put(&mut heap, now + DELAY, p + 1, What::Arrival);
        }
        match queues[p].pop_front() {
            Some(_) => put(&mut heap, now + TX, p, What::Sent),
            None => busy[p] = false,
        }
    }
    sum
}

fn one_event(chains: usize) -> Checksum {
    let mut heap = BinaryHeap::new();
    let mut free_at = vec![0u64; chains * HOPS];
    let (mut seq, mut sum) = (0u64, 0u64);
    for c in 0..chains {
        for i in 0..PACKETS {
            seq += 1;
            heap.push(Reverse((entry(c, i), seq, (c * HOPS) as u32)));
        }
    }
    while let Some(Reverse((now, _, port))) = heap.pop() {
        let p = port as usize;
        let end = now.max(free_at[p]) + TX;
        free_at[p] = end;
        if (p + 1).is_multiple_of(HOPS) {
            sum = sum.wrapping_add(end + DELAY);
        } else {
            seq += 1;
            heap.push(Reverse((end + DELAY, seq, port + 1)));
        }
    }
    sum
}

fn windows(chains: usize) -> Checksum {
    let mut rings: Vec<VecDeque<u64>> = vec![VecDeque::new(); chains * HOPS];
    for c in 0..chains {
        rings[c * HOPS].extend((0..PACKETS).map(|i| entry(c, i)));
    }
    let mut free_at = vec![0u64; chains * HOPS];
    let (mut horizon, mut left, mut sum) = (DELAY, chains as u64 * PACKETS, 0u64);
    while left > 0 {
        for p in 0..rings.len() {
            while let Some(&now) = rings[p].front().filter(|t| **t < horizon) {
                rings[p].pop_front();
                let end = now.max(free_at[p]) + TX;
                free_at[p] = end;
                if (p + 1).is_multiple_of(HOPS) {
                    left -= 1;
                    sum = sum.wrapping_add(end + DELAY);
                } else {
                    rings[p + 1].push_back(end + DELAY);
                }
            }
        }
        horizon += DELAY;
    }
    sum
}

fn main() {
    for chains in [16usize, 128, 1024] {
        let ways: [(&str, Way); 3] =
            [("heap, two events", two_events), ("heap, one event", one_event), ("windows", windows)];
        for (name, way) in ways {
            assert_eq!(way(chains), two_events(chains), "{name}");
            let hops = (chains * HOPS) as u64 * PACKETS;
            timing::time(&format!("{name}, {chains} chains"), hops, || way(black_box(chains)));
        }
    }
}
