use std::collections::VecDeque;

/// Deficit round robin (Shreedhar and Varghese, 1996) over lanes that are kept elsewhere: whose
/// turn it is.
#[derive(Debug)]
pub struct Round<K> {
    /// Lanes that have something to send, first the one whose turn it is, each with the bytes that
    /// it may still send.
    lanes: VecDeque<(K, u64)>,
}

impl<K> Default for Round<K> {
    fn default() -> Round<K> {
        Round { lanes: VecDeque::new() }
    }
}

impl<K: Copy + PartialEq> Round<K> {
    /// Called when a lane has got something to send: its turn comes last, with a full `quantum`.
    pub fn join(&mut self, key: K, quantum: u64) {
        self.lanes.push_back((key, quantum));
    }

    /// Called when a lane has nothing to send any more. It loses what it might still have sent.
    pub fn leave(&mut self, key: K) {
        if self.lanes.front().is_some_and(|l| l.0 == key) {
            self.lanes.pop_front();
        } else {
            self.lanes.retain(|l| l.0 != key);
        }
    }

    /// The lane that sends its first packet now; that packet is charged. `first` tells the size of
    /// a lane's first packet, or `None` if that one may not be sent now. `quantum` is what a lane
    /// gets with each turn, above zero.
    #[inline(always)]
    pub fn next(&mut self, mut first: impl FnMut(K) -> Option<u32>, quantum: impl Fn(K) -> u64) -> Option<K> {
        let mut barred = 0;
        while barred < self.lanes.len() {
            let (key, left) = self.lanes.front_mut()?;
            match first(*key).map(u64::from) {
                None => barred += 1,
                Some(size) if *left >= size => {
                    *left -= size;
                    return Some(*key);
                }
                Some(_) => {
                    *left += quantum(*key);
                    barred = 0;
                }
            }
            if self.lanes.len() > 1 {
                self.lanes.rotate_left(1);
            }
        }
        None
    }

    /// Called when a packet that was charged has not been sent after all.
    pub fn refund(&mut self, key: K, size: u32) {
        if let Some((_, left)) = self.lanes.front_mut().filter(|l| l.0 == key) {
            *left += u64::from(size);
        }
    }

    /// The lanes, the one whose turn it is first.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = K> + '_ {
        self.lanes.iter().map(|l| l.0)
    }

    /// How many lanes there are.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Forgets all lanes.
    pub fn clear(&mut self) {
        self.lanes.clear();
    }
}
