//! Which node runs next: a calendar of nodes (not of events), one entry per node and bucket.
//!
//! A node that runs at bucket `[b, b + width)` may process all its events before `b + lookahead`, where the
//! lookahead is the smallest delay of its incoming links: no later event can reach it sooner. So one entry covers a
//! batch of packets, and packets are never sorted: they are in order in the ring of their link.

mod slots;
mod width;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::cache::fetch;
use midpath_core::units::Time;
use slots::{SLOTS, Slots};
use width::Width;

/// Buckets of a turn, by which nodes are kept that have something to do later.
const TURN: u64 = SLOTS as u64;
/// Not in any turn.
const NEVER: u64 = u64::MAX;

/// The calendar.
pub(super) struct Calendar {
    width: Width,
    /// Number of the first bucket that may hold entries.
    current: u64,
    buckets: Slots,
    /// Entries beyond the last bucket, by turn; each becomes one of a bucket when its turn begins.
    turns: Slots,
    /// The first turn with an entry; [`NEVER`] if there is none.
    first_turn: u64,
    /// Entries beyond the last turn.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// For each node the first turn in which it has an entry; [`NEVER`] if in none. What it does later needs no other: a
    /// node with a retransmission timer has an entry of old, and moves the timer with each packet.
    turn_of: Vec<u64>,
    /// When each node has something to do next, as far as is known.
    next: Vec<Time>,
}

impl Calendar {
    /// A calendar for `nodes` nodes with buckets no wider than `width`.
    pub fn new(nodes: usize, width: Time) -> Calendar {
        Calendar {
            width: Width::new(width),
            current: 0,
            buckets: Slots::new(),
            turns: Slots::new(),
            first_turn: NEVER,
            far: BinaryHeap::new(),
            turn_of: vec![NEVER; nodes],
            next: vec![Time::MAX; nodes],
        }
    }

    pub fn width(&self) -> Time {
        Time(1 << self.width.shift())
    }

    /// When `node` has something to do next.
    #[inline]
    pub fn next_of(&self, node: u32) -> Time {
        self.next[node as usize]
    }

    /// Has the cache fetch when something happens to `node` next.
    #[inline]
    pub fn fetch(&self, node: u32) {
        fetch(&self.next[node as usize]);
    }

    /// Something will happen to `node` at `at`. Only the earliest such time is kept. Says whether
    /// that was news.
    #[inline]
    pub fn note(&mut self, node: u32, at: Time) -> bool {
        let next = &mut self.next[node as usize];
        if at >= *next {
            return false;
        }
        *next = at;
        self.insert(node, at);
        true
    }

    /// `node` has run; what it does next is at `at`, possibly never.
    #[inline]
    pub fn renew(&mut self, node: u32, at: Time) {
        self.next[node as usize] = at;
        if at != Time::MAX {
            self.insert(node, at);
        }
    }

    #[inline]
    const fn bucket_of(&self, at: Time) -> u64 {
        at.0 >> self.width.shift()
    }

    /// When a bucket begins.
    const fn begin(&self, bucket: u64) -> Time {
        Time(bucket << self.width.shift())
    }

    #[inline]
    fn insert(&mut self, node: u32, at: Time) {
        let bucket = self.bucket_of(at).max(self.current);
        if bucket - self.current >= TURN {
            self.insert_far(node, at);
            return;
        }
        self.buckets.push(bucket, node);
    }

    fn insert_far(&mut self, node: u32, at: Time) {
        let turn = self.bucket_of(at) / TURN;
        let known = &mut self.turn_of[node as usize];
        if *known <= turn {
            return; // that entry finds out when it comes up
        }
        *known = turn;
        self.first_turn = self.first_turn.min(turn);
        if turn - self.current / TURN < TURN {
            self.turns.push(turn, node);
        } else {
            self.far.push(Reverse((turn, node)));
        }
    }

    /// Moves to the first bucket with an entry and takes its nodes into `out`; returns its start.
    /// `None` if that bucket starts at or after `limit`; the calendar is unchanged then, but for turns that begin before.
    pub fn take_bucket(&mut self, limit: Time, out: &mut Vec<u32>) -> Option<Time> {
        if let Some(shift) = self.width.proposed_shift() {
            self.change_width(shift);
        }
        let bucket = loop {
            let near = self.buckets.first(self.current);
            let turn = near.map_or(NEVER, |bucket| bucket / TURN).min(self.first_turn);
            if turn == self.current / TURN {
                break near?;
            }
            if turn == NEVER || self.begin(turn * TURN) >= limit {
                return None;
            }
            self.begin_turn(turn);
        };
        let start = self.begin(bucket);
        if start >= limit {
            return None;
        }
        debug_assert!(bucket >= self.current, "time goes on");
        self.current = bucket;
        let nodes = self.buckets.take(bucket);
        self.width.count(nodes.len());
        out.append(nodes);
        Some(start)
    }

    /// Goes over to buckets of another width: each node gets one entry, for what it does next.
    #[cold]
    fn change_width(&mut self, shift: u32) {
        let now = self.begin(self.current);
        self.width.change(shift);
        self.current = self.bucket_of(now);
        self.buckets.clear();
        self.turns.clear();
        self.first_turn = NEVER;
        self.far.clear();
        self.turn_of.fill(NEVER);
        for node in 0..self.next.len() {
            if self.next[node] != Time::MAX {
                self.insert(node as u32, self.next[node]);
            }
        }
    }

    /// Goes on to where a turn begins. Its entries, which all buckets from there on now cover, go into these.
    fn begin_turn(&mut self, turn: u64) {
        self.current = turn * TURN;
        while let Some(Reverse((later, node))) = self.far.peek().copied().filter(|entry| entry.0.0 - turn < TURN) {
            self.far.pop();
            self.turns.push(later, node);
        }
        let nodes = std::mem::take(self.turns.take(turn));
        // What is beyond the ring comes after all that is there.
        self.first_turn = self.turns.first(turn).or_else(|| Some(self.far.peek()?.0.0)).unwrap_or(NEVER);
        for node in nodes {
            let (known, next) = (&mut self.turn_of[node as usize], self.next[node as usize]);
            if *known == turn {
                *known = NEVER;
            }
            // What comes before has an entry of its own.
            if next >= self.begin(self.current) && next != Time::MAX {
                self.insert(node, next);
            }
        }
    }

    /// No node has anything to do before this; [`Time::MAX`] when none has anything to do at all.
    ///
    /// An entry that has become stale may make it too early, never too late; running that bucket
    /// mends it.
    pub fn earliest(&self) -> Time {
        let first = |nodes: &[u32]| nodes.iter().map(|n| self.next[*n as usize]).min().unwrap_or(Time::MAX);
        let near = self.buckets.first(self.current);
        // All entries of a bucket may be stale: then its own end is the bound.
        let bucket = near.map_or(Time::MAX, |bucket| first(self.buckets.of(bucket)).min(self.begin(bucket + 1)));
        match self.first_turn {
            NEVER => bucket,
            turn if near.is_some_and(|near| near < turn * TURN) => bucket,
            // The same of a turn; and of one beyond the ring its begin.
            turn => match self.turns.of(turn) {
                [] => bucket.min(self.begin(turn * TURN)),
                nodes => bucket.min(first(nodes)).min(self.begin((turn + 1) * TURN)),
            },
        }
    }

    pub fn memory(&self) -> usize {
        self.buckets.memory()
            + self.turns.memory()
            + self.next.capacity() * 8
            + self.far.capacity() * 16
            + self.turn_of.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn far_entries_come_back_in_order() {
        let mut c = Calendar::new(3, Time::from_us(1));
        let (a, b) = (Time::from_ms(500), Time::from_secs(3));
        c.note(2, b);
        c.note(1, a);
        assert_eq!(c.earliest(), a);
        let mut out = Vec::new();
        let start = c.take_bucket(Time::MAX, &mut out).unwrap();
        assert!(start <= a && a < start + c.width());
        assert_eq!(out, [1]);
        c.renew(1, Time::MAX);
        out.clear();
        assert!(c.take_bucket(Time::from_secs(3) - c.width(), &mut out).is_none());
        assert!(c.take_bucket(Time::MAX, &mut out).is_some());
        assert_eq!(out, [2]);
    }

    #[test]
    fn a_timer_that_moves_on_has_one_entry() {
        let mut c = Calendar::new(2, Time::from_us(1));
        let ms = Time::from_ms;
        // Each millisecond something happens to node 0, which then puts off what it does 200 ms
        // later. Node 1 keeps time going.
        for now in 1..1_000 {
            c.note(0, ms(now));
            let mut out = Vec::new();
            while !out.contains(&0) {
                out.clear();
                c.take_bucket(Time::MAX, &mut out).expect("an entry");
            }
            assert_eq!(c.next_of(0), ms(now));
            c.renew(0, ms(now + 200));
            assert!(c.far.len() < 3, "{} entries", c.far.len());
        }
        assert!(c.earliest() <= ms(1_199));
    }

    #[test]
    fn buckets_are_as_wide_as_their_nodes_are_few() {
        let lookahead = Time::from_us(1);
        let mut c = Calendar::new(400, lookahead);
        let widest = c.width();
        // Each node has something to do once in each microsecond: many of them, then four.
        let mut run = |nodes: u32, micros: u64, from: u64| {
            let mut out = Vec::new();
            let at = |n: u32, turn: u64| Time::from_us(turn) + Time(u64::from(n) * 1_000_000 / 400);
            (0..nodes).for_each(|n| c.renew(n, at(n, from)));
            let mut turns = vec![from; 400];
            while c.earliest() < Time::from_us(from + micros) {
                out.clear();
                let start = c.take_bucket(Time::MAX, &mut out).expect("an entry");
                let end = start + c.width();
                for &n in &out {
                    if c.next_of(n) < end {
                        assert_eq!(c.next_of(n), at(n, turns[n as usize]), "each turn in its bucket");
                        turns[n as usize] += 1;
                        c.renew(n, at(n, turns[n as usize]));
                    }
                }
            }
            (0..400).for_each(|n| c.renew(n, Time::MAX));
            (turns, c.width())
        };
        let (turns, narrow) = run(400, 2_000, 0);
        assert!(turns.iter().all(|t| (2_000..2_002).contains(t)), "none is left out");
        assert_eq!(narrow, Time(widest.0 / 8));
        let (turns, wide) = run(4, 2_000, 3_000);
        assert!(turns[..4].iter().all(|t| (5_000..5_002).contains(t)), "none is left out");
        assert_eq!(wide, widest);
    }

    /// Two times of eight bytes a node; an entry of a bucket is a number of four.
    #[test]
    fn memory_is_that_of_nodes_and_entries() {
        let mut c = Calendar::new(100, Time::from_us(1));
        assert_eq!(c.memory(), 1600);
        c.note(7, Time::ZERO);
        assert_eq!(c.memory(), 1600 + 4 * c.buckets.take(0).capacity());
    }

    proptest! {
        /// Against a sorted list: every node is offered in the bucket of its time, and time never
        /// goes back.
        #[test]
        fn every_note_is_served_in_its_bucket(steps in prop::collection::vec((0u32..20, 0u64..5_000_000_000_000), 1..200)) {
            let mut c = Calendar::new(20, Time::from_us(3));
            let mut due = [Time::MAX; 20];
            let mut floor = Time::ZERO;
            let mut out = Vec::new();
            for (node, ahead) in steps {
                let at = floor + Time(ahead);
                c.note(node, at);
                due[node as usize] = due[node as usize].min(at);
                prop_assert!(c.earliest() <= *due.iter().min().unwrap());
                if ahead % 3 == 0 {
                    out.clear();
                    let Some(start) = c.take_bucket(Time::MAX, &mut out) else { continue };
                    prop_assert!(start + c.width() > floor);
                    floor = floor.max(start);
                    let end = start + c.width();
                    for n in out.iter() {
                        if due[*n as usize] < end { due[*n as usize] = Time::MAX; c.renew(*n, Time::MAX); }
                    }
                    prop_assert!(due.iter().all(|d| *d >= end));
                    floor = floor.max(end);
                }
            }
        }
    }
}
