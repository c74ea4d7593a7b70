//! Replay protection: each datagram of a session is accepted once, late ones within a window (RFC 6479).

/// Counters that are remembered. Ours: at 10 Gbps and 1,500 B, 10 ms of reordering.
const WORDS: usize = 128;
/// One word's place is being cleared while the window moves on.
pub const WINDOW: u64 = 64 * (WORDS as u64 - 1);

/// Which counters have come.
#[derive(Debug, Clone)]
pub struct Replay {
    /// One more than the highest.
    next: u64,
    seen: [u64; WORDS],
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { next: 0, seen: [0; WORDS] }
    }
}

impl Replay {
    /// Whether this counter may still come: it is new, or in the window and not seen. To be asked
    /// before anything is opened.
    pub fn may_come(&self, counter: u64) -> bool {
        if counter >= self.next {
            return counter < u64::MAX;
        }
        self.next - counter <= WINDOW && self.seen[place(counter)] & bit(counter) == 0
    }

    /// Called when it has come and was genuine. Whether it had not before.
    pub fn came(&mut self, counter: u64) -> bool {
        if !self.may_come(counter) {
            return false;
        }
        if counter >= self.next {
            let (from, to) = (self.next.div_ceil(64), counter / 64);
            let ahead = (to + 1).saturating_sub(from).min(WORDS as u64);
            (0..ahead).for_each(|i| self.seen[((to - i) % WORDS as u64) as usize] = 0);
            self.next = counter + 1;
        }
        self.seen[place(counter)] |= bit(counter);
        true
    }

    /// One more than the highest counter that came.
    pub const fn next(&self) -> u64 {
        self.next
    }
}

fn place(counter: u64) -> usize {
    (counter / 64 % WORDS as u64) as usize
}

fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_last_counter_never_comes() {
        let mut replay = Replay::default();
        assert!(!replay.came(u64::MAX) && replay.came(u64::MAX - 1) && !replay.came(u64::MAX - 1));
    }

    proptest! {
        /// Against a set of all that came.
        #[test]
        fn each_counts_once(steps in prop::collection::vec((0u64..4, 0u64..20_000), 1..400)) {
            let (mut replay, mut all, mut top) = (Replay::default(), BTreeSet::new(), 0u64);
            for (kind, by) in steps {
                let counter = match kind {
                    0 => top + by % 3,
                    1 => top + by,
                    2 => top.saturating_sub(by % 200),
                    _ => top.saturating_sub(by),
                };
                let old = counter < top && top - counter > WINDOW;
                let fresh = !old && all.insert(counter);
                prop_assert_eq!(replay.may_come(counter), fresh);
                prop_assert_eq!(replay.came(counter), fresh);
                top = top.max(counter + 1);
                prop_assert_eq!(replay.next(), top);
            }
        }
    }
}
