//! Width of the calendar's buckets.

use midpath_core::units::Time;

/// How wide buckets are, by how many nodes they hold: with narrow ones a node runs for longer, up to
/// its whole lookahead, and so has more packets in a turn. But each costs something, and in one that
/// holds few nodes nobody can look ahead. It changes no result. Measured in evidence/bench/README.md.
pub(super) struct Width {
    /// The binary logarithm of the width in picoseconds.
    shift: u32,
    /// The same of the width to begin with, which is the most.
    widest: u32,
    /// Buckets taken since the width was chosen, and nodes in them.
    buckets: u64,
    nodes: u64,
}

impl Width {
    /// Buckets after which the width is chosen again.
    const PERIOD: u64 = 256;
    /// With so many nodes in a bucket on average, buckets of half the width are better.
    const MANY: u64 = 32;
    /// With fewer than this, buckets of twice the width.
    const FEW: u64 = 8;
    /// The least width, as a shift below the most: an eighth.
    const LEAST: u32 = 3;

    pub fn new(most: Time) -> Width {
        let widest = 63 - most.0.clamp(1 << 10, 1 << 40).leading_zeros();
        Width { shift: widest, widest, buckets: 0, nodes: 0 }
    }

    /// The binary logarithm of the width in picoseconds.
    #[inline]
    pub const fn shift(&self) -> u32 {
        self.shift
    }

    /// Takes another width.
    pub const fn change(&mut self, shift: u32) {
        self.shift = shift;
    }

    /// Counts a bucket.
    #[inline]
    pub fn count(&mut self, nodes: usize) {
        self.buckets += 1;
        self.nodes += nodes as u64;
    }

    /// The shift of another width that suits better, if it is time to choose and there is one.
    #[inline]
    pub fn proposed_shift(&mut self) -> Option<u32> {
        if self.buckets < Width::PERIOD {
            return None;
        }
        let mean = std::mem::take(&mut self.nodes) / std::mem::take(&mut self.buckets);
        match mean {
            Width::MANY.. if self.shift + Width::LEAST > self.widest => Some(self.shift - 1),
            0..Width::FEW if self.shift < self.widest => Some(self.shift + 1),
            _ => None,
        }
    }
}
