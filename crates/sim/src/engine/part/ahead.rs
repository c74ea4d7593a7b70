//! Looking ahead: while a node runs, the cache fetches what the next ones will touch.
//!
//! In a large network all that a node touches has left the cache since its last turn, and each thing
//! says where the next one is: the node where its links are, a link's ring where its first place is,
//! the place which packet it is. Each of these is asked for one turn before the next, so that none
//! is waited for.

use midpath_core::cache::fetch;
use midpath_core::units::Time;

use super::{Part, Span};
use crate::engine::heads::MANY;

/// From more ports than this on a part looks ahead. With fewer its state has room in the cache.
/// Measured in docs/performance.md.
pub(super) const LARGE: usize = 1024;

/// Whether a node is a host, mostly: what comes next comes through its first port.
#[inline]
fn few(span: &Span) -> bool {
    matches!(span.ports(), 1 | 2)
}

impl Part {
    /// Called before the first of these nodes runs, in a bucket that lasts until `end`.
    #[inline]
    pub(super) fn look_ahead(&self, batch: &[u32], end: Time) {
        let node = |i: usize| batch.get(i).map(|n| (*n as usize, &self.spans[*n as usize]));
        if let Some((n, span)) = node(4) {
            fetch(span);
            self.nodes[n].fetch();
            self.calendar.fetch(n as u32);
        }
        if let Some((n, span)) = node(3) {
            self.rings.heads().fetch(span.first, span.last);
            if few(span) {
                self.rings.fetch_ring(span.first);
                self.nodes[n].fetch_first_port();
                fetch(&self.wires[span.first as usize]);
            }
        }
        if let Some((_, span)) = node(2) {
            if few(span) {
                self.rings.fetch_front(span.first);
            } else {
                self.each_that_brings(span, end, |ring| self.rings.fetch_ring(ring));
            }
        }
        if let Some((_, span)) = node(1) {
            if few(span) {
                self.rings.fetch_packet(span.first, &self.pool);
            } else {
                self.each_that_brings(span, end, |ring| self.rings.fetch_front(ring));
            }
        }
        if let Some((_, span)) = node(0).filter(|(_, span)| !few(span)) {
            self.each_that_brings(span, end, |ring| self.rings.fetch_packet(ring, &self.pool));
        }
    }

    /// Each of a node's rings that brings something before `end`, unless there are too many to look
    /// through. (Those of such nodes are fetched together when its turn has come.)
    #[inline]
    fn each_that_brings(&self, span: &Span, end: Time, each: impl Fn(u32)) {
        if span.ports() as usize <= MANY {
            let heads = self.rings.heads().all(span.first, span.last);
            (span.first..).zip(heads).filter(|(_, at)| **at < end).for_each(|(ring, _)| each(ring));
        }
    }
}
