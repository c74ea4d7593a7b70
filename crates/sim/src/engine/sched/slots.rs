//! A ring of lists of nodes, by number of bucket.

/// How many lists stand in the ring: numbers from the first to this many further on.
pub(super) const SLOTS: usize = 1024;
const WORDS: usize = SLOTS / 64;

/// Nodes by bucket. What is asked for and what is added lies less than [`SLOTS`] beyond the first bucket that may hold any.
pub(super) struct Slots {
    lists: Vec<Vec<u32>>,
    occupied: [u64; WORDS],
}

impl Slots {
    pub fn new() -> Slots {
        Slots { lists: vec![Vec::new(); SLOTS], occupied: [0; WORDS] }
    }

    #[inline]
    pub fn push(&mut self, bucket: u64, node: u32) {
        let slot = bucket as usize % SLOTS;
        self.lists[slot].push(node);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The nodes of a bucket; it has none from now on, unless they are left there.
    #[inline]
    pub fn take(&mut self, bucket: u64) -> &mut Vec<u32> {
        let slot = bucket as usize % SLOTS;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        &mut self.lists[slot]
    }

    pub fn of(&self, bucket: u64) -> &[u32] {
        &self.lists[bucket as usize % SLOTS]
    }

    pub fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.occupied = [0; WORDS];
    }

    /// The number of the first bucket at or after `from` with an entry.
    pub fn first(&self, from: u64) -> Option<u64> {
        let base = from as usize % SLOTS;
        let (word, bit) = (base / 64, base % 64);
        // The word of `from` is looked at twice: its upper bits first, its lower bits after the way round.
        for i in 0..=WORDS {
            let w = (word + i) % WORDS;
            let mask = match i {
                0 => !0 << bit,
                WORDS => !(!0 << bit),
                _ => !0,
            };
            let bits = self.occupied[w] & mask;
            if bits != 0 {
                let slot = w * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + SLOTS - base) % SLOTS;
                return Some(from + ahead as u64);
            }
        }
        None
    }

    pub fn memory(&self) -> usize {
        self.lists.iter().map(|list| list.capacity() * 4).sum()
    }
}
