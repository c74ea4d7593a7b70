//! Which packets have arrived above the one that is expected next (`_epsn_rx_bitmap`).

use std::collections::VecDeque;

/// A bit for each number.
#[derive(Debug, Default)]
pub struct Arrived {
    /// The number that is expected next.
    expected: u32,
    /// Words of 64 numbers, the first of which has `expected`.
    words: VecDeque<u64>,
    above: u32,
}

/// Numbers that may lie above the expected one; one that lies further is refused. `uecMaxInFlightPkts` is 2¹⁴.
const MOST: u32 = 1 << 20;

impl Arrived {
    /// The number that is expected next.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Packets above it that have arrived (`_out_of_order_count`).
    pub fn above(&self) -> u32 {
        self.above
    }

    fn place(&self, psn: u32) -> Option<(usize, u32)> {
        let offset = psn.checked_sub(self.expected & !63)?;
        Some((offset as usize / 64, offset % 64))
    }

    /// Whether a packet has arrived.
    pub fn has(&self, psn: u32) -> bool {
        psn < self.expected
            || self.place(psn).is_some_and(|(word, bit)| self.words.get(word).is_some_and(|w| w >> bit & 1 == 1))
    }

    /// A packet that has not arrived before does; false if it cannot be one of the flow's.
    pub fn add(&mut self, psn: u32) -> bool {
        let Some((word, bit)) = self.place(psn).filter(|_| psn - self.expected < MOST) else { return false };
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
        self.above += 1;
        while self.words.front().is_some_and(|first| first >> (self.expected % 64) & 1 == 1) {
            (self.expected, self.above) = (self.expected + 1, self.above - 1);
            if self.expected.is_multiple_of(64) {
                self.words.pop_front();
            }
        }
        true
    }

    /// `buildSackBitmap`: the 64 numbers from `from` on. What is below the expected one is not there.
    pub fn bitmap(&self, from: u32) -> u64 {
        let word = |i: usize| {
            let own = self.words.get(i).copied().unwrap_or(0);
            if i == 0 { own & (u64::MAX << (self.expected % 64)) } else { own }
        };
        match self.place(from) {
            Some((i, 0)) => word(i),
            Some((i, bit)) => word(i) >> bit | word(i + 1) << (64 - bit),
            None => match (self.expected & !63) - from {
                shift @ 0..64 => word(0) << shift,
                _ => 0,
            },
        }
    }
}
