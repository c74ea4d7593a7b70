//! A FIFO of small values for the per-packet fast path.

use crate::cache::fetch;

/// A queue in a ring of a power of two places: where a value stands is a sum and a mask. It does
/// what `VecDeque` does for a few values, in half of its instructions ([`Fifo::pop`] and
/// [`Fifo::front`] are called for each hop).
#[derive(Debug, Clone)]
pub struct Fifo<T> {
    places: Box<[T]>,
    /// Where the first value stands, before the mask.
    first: u32,
    len: u32,
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo { places: Box::default(), first: 0, len: 0 }
    }
}

/// Places of a queue that has held anything.
const FEWEST: usize = 4;

impl<T: Copy + Default> Fifo<T> {
    /// How many values wait.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether none does.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many it has room for.
    pub const fn capacity(&self) -> usize {
        self.places.len()
    }

    /// The place of the `i`th value. Sums wrap: the number of places divides 2^32.
    #[inline]
    const fn place(&self, i: u32) -> usize {
        self.first.wrapping_add(i) as usize & self.places.len().wrapping_sub(1)
    }

    /// The first value.
    #[inline]
    pub fn front(&self) -> Option<T> {
        if self.len == 0 { None } else { self.places.get(self.place(0)).copied() }
    }

    /// Has the cache fetch the first value.
    #[inline]
    pub fn fetch_front(&self) {
        self.places.get(self.place(0)).into_iter().for_each(fetch);
    }

    /// The last value.
    pub fn back(&self) -> Option<T> {
        self.len.checked_sub(1).and_then(|i| self.places.get(self.place(i)).copied())
    }

    /// The `i`th value.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        if i < self.len() { self.places.get(self.place(i as u32)).copied() } else { None }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let place = self.place(i as u32);
        if i < self.len() { self.places.get_mut(place) } else { None }
    }

    /// How many values at its front answer yes, where no value behind one that answers no does.
    pub fn partition_point(&self, mut holds: impl FnMut(T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.places[self.place(middle as u32)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Takes the last value.
    pub fn pop_back(&mut self) -> Option<T> {
        let value = self.back()?;
        self.len -= 1;
        Some(value)
    }

    /// Takes the first value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = self.front()?;
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        Some(value)
    }

    /// Takes the first value, with what stands where the next one would: the next one, if there is
    /// one.
    #[inline]
    pub fn pop_and_look(&mut self) -> Option<(T, T)> {
        let value = self.pop()?;
        Some((value, *self.places.get(self.place(0))?))
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.places[place] = value;
        self.len += 1;
    }

    /// Puts a value before the `i`th one; those from there on stand one further.
    pub fn insert(&mut self, i: usize, value: T) {
        self.push(value);
        for later in (i as u32..self.len - 1).rev() {
            let (from, to) = (self.place(later), self.place(later + 1));
            self.places.swap(from, to);
        }
    }

    /// Forgets the first `n` values, of which there are as many.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        debug_assert!(n <= self.len(), "{n} of {}", self.len);
        self.first = self.first.wrapping_add(n as u32);
        self.len -= n as u32;
    }

    /// Forgets the values for which `kept` is false.
    pub fn retain(&mut self, mut kept: impl FnMut(&T) -> bool) {
        let mut len = 0;
        for i in 0..self.len {
            let value = self.places[self.place(i)];
            if kept(&value) {
                let place = self.place(len);
                self.places[place] = value;
                len += 1;
            }
        }
        self.len = len;
    }

    /// Forgets all values.
    #[inline]
    pub fn clear(&mut self) {
        (self.first, self.len) = (0, 0);
    }

    /// The values, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        (0..self.len).map(|i| self.places[self.place(i)])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.move_to((2 * self.places.len()).max(FEWEST));
    }

    /// Gives places back: there is room for `least` values, or those that there are.
    #[cold]
    #[inline(never)]
    pub fn shrink_to(&mut self, least: usize) {
        let places = least.max(self.len());
        match places {
            0 => *self = Fifo::default(),
            _ => self.move_to(places.next_power_of_two().max(FEWEST)),
        }
    }

    fn move_to(&mut self, places: usize) {
        assert!(places.is_power_of_two() && places < 1 << 31, "places are a power of two");
        let mut moved = Vec::with_capacity(places);
        moved.extend(self.iter());
        moved.resize(places, T::default());
        (self.places, self.first) = (moved.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push(u16),
        Pop,
        PopBack,
        PopAndLook,
        Skip(usize),
        Insert(usize, u16),
        Change(usize, u16),
        Shrink(usize),
        Retain(u16),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u16>().prop_map(Step::Push),
            3 => Just(Step::Pop),
            1 => Just(Step::PopBack),
            2 => Just(Step::PopAndLook),
            1 => any::<usize>().prop_map(Step::Skip),
            1 => (any::<usize>(), any::<u16>()).prop_map(|(i, v)| Step::Insert(i, v)),
            1 => (any::<usize>(), any::<u16>()).prop_map(|(i, v)| Step::Change(i, v)),
            1 => (0..40usize).prop_map(Step::Shrink),
            1 => (1..4u16).prop_map(Step::Retain),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        /// Held to the queue of the standard library.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(step(), 0..300), from in any::<u32>()) {
            let (mut fifo, mut truth) = (Fifo { first: from, ..Fifo::default() }, VecDeque::new());
            for step in steps {
                match step {
                    Step::Push(v) => {
                        fifo.push(v);
                        truth.push_back(v);
                    }
                    Step::Pop => prop_assert_eq!(fifo.pop(), truth.pop_front()),
                    Step::PopBack => prop_assert_eq!(fifo.pop_back(), truth.pop_back()),
                    Step::PopAndLook => {
                        let popped = fifo.pop_and_look();
                        prop_assert_eq!(popped.map(|p| p.0), truth.pop_front());
                        if let (Some((_, next)), Some(second)) = (popped, truth.front()) {
                            prop_assert_eq!(next, *second);
                        }
                    }
                    Step::Skip(n) => {
                        let n = n % (truth.len() + 1);
                        fifo.skip(n);
                        truth.drain(..n);
                    }
                    Step::Insert(i, v) => {
                        let i = i % (truth.len() + 1);
                        fifo.insert(i, v);
                        truth.insert(i, v);
                    }
                    Step::Change(i, v) => {
                        let i = i % (truth.len() + 1);
                        prop_assert_eq!(fifo.get_mut(i).map(|place| *place = v), truth.get_mut(i).map(|place| *place = v));
                        prop_assert_eq!(fifo.get(i), truth.get(i).copied());
                    }
                    Step::Shrink(least) => {
                        fifo.shrink_to(least);
                        prop_assert!(fifo.capacity() < 2 * least.max(truth.len()).max(FEWEST));
                    }
                    Step::Retain(n) => {
                        fifo.retain(|v| v % n == 0);
                        truth.retain(|v| v % n == 0);
                    }
                    Step::Clear => {
                        fifo.clear();
                        truth.clear();
                    }
                }
                prop_assert_eq!((fifo.front(), fifo.back()), (truth.front().copied(), truth.back().copied()));
                prop_assert_eq!((fifo.len(), fifo.is_empty()), (truth.len(), truth.is_empty()));
                prop_assert!(fifo.iter().eq(truth.iter().copied()));
                let first = truth.front().copied();
                prop_assert_eq!(fifo.partition_point(|v| Some(v) == first), truth.iter().take_while(|v| Some(**v) == first).count());
                prop_assert!(fifo.iter().rev().eq(truth.iter().rev().copied()));
            }
        }
    }
}
