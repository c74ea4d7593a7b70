//! All flows of a run, in as few bytes as they take.

use crate::flow::{Flow, Terms};
use midpath_core::units::{Bytes, Time};

/// Terms that are compared with those of a new flow. Ours: a list may have flows of some groups by
/// turns.
const COMPARED: usize = 16;

/// A flow on its way into the list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewFlow {
    pub src: u32,
    pub dst: u32,
    pub size: Option<Bytes>,
    pub start: Time,
    pub stop: Option<Time>,
    pub terms: u32,
}

/// A flow as it is kept. No size, no stop: zero, which neither can be.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    size: u64,
    start: Time,
    stop: u64,
    src: u32,
    dst: u32,
    terms: u32,
}

/// Flows by number, 40 bytes each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowList {
    rows: Vec<Row>,
    terms: Vec<Terms>,
    notes: Vec<String>,
}

impl FlowList {
    /// What whoever wrote the specifications should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Flow number `i`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn get(&self, i: usize) -> Flow<'_> {
        self.flow(&self.rows[i])
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Flow<'_>> + Clone {
        self.rows.iter().map(|row| self.flow(row))
    }

    /// What different terms there are, by number.
    pub fn terms(&self) -> &[Terms] {
        &self.terms
    }

    /// The same, to say more of them.
    pub fn terms_mut(&mut self) -> &mut [Terms] {
        &mut self.terms
    }

    fn flow(&self, row: &Row) -> Flow<'_> {
        Flow {
            src: row.src,
            dst: row.dst,
            size: (row.size > 0).then_some(Bytes(row.size)),
            start: row.start,
            stop: (row.stop > 0).then_some(Time(row.stop)),
            terms: &self.terms[row.terms as usize],
            terms_number: row.terms,
        }
    }

    /// The number of such terms: that of the same, if they came up not long ago.
    pub(crate) fn number(&mut self, terms: Terms) -> u32 {
        let last = self.terms.len();
        let known = (last.saturating_sub(COMPARED)..last).rev().find(|i| self.terms[*i] == terms);
        known.unwrap_or_else(|| {
            self.terms.push(terms);
            last
        }) as u32
    }

    pub(crate) fn push(&mut self, flow: NewFlow) {
        debug_assert!(flow.size != Some(Bytes::ZERO) && flow.stop != Some(Time::ZERO));
        self.rows.push(Row {
            size: flow.size.map_or(0, |size| size.0),
            start: flow.start,
            stop: flow.stop.map_or(0, |stop| stop.0),
            src: flow.src,
            dst: flow.dst,
            terms: flow.terms,
        });
    }

    /// Puts them in order of their start; those that start together keep theirs. To sort takes half as
    /// much memory again.
    pub(crate) fn sort(&mut self) {
        if !self.rows.is_sorted_by_key(|row| row.start) {
            self.rows.sort_by_key(|row| row.start);
        }
        self.rows.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_said() {
        assert_eq!(size_of::<Row>(), 40);
        let mut list = FlowList::default();
        let [a, b, again] = ["a", "b", "a"].map(|group| list.number(Terms::of(group)));
        assert_eq!((a, b, again), (0, 1, 0));
        let whole = NewFlow { src: 1, dst: 2, size: Some(Bytes(7)), start: Time(5), stop: None, terms: a };
        list.push(whole);
        list.push(NewFlow { size: None, start: Time(3), stop: Some(Time(9)), terms: b, ..whole });
        list.push(NewFlow { src: 8, ..whole });
        list.sort();
        let flows: Vec<_> = list.iter().map(|f| (f.src, f.size, f.start, f.stop, &*f.terms.group)).collect();
        let sized = |src| (src, Some(Bytes(7)), Time(5), None, "a");
        assert_eq!(flows, [(1, None, Time(3), Some(Time(9)), "b"), sized(1), sized(8)]);
        assert_eq!((list.len(), list.get(2).src), (3, 8));
    }
}
