//! Prefetching: while a node runs, the cache loads the data of the next nodes.
//!
//! In a large network a node's data has left the cache since its last run, and each datum is found through the one
//! before: node, link ring, first slot, packet. Each step is prefetched one node ahead of the next, so none stalls.

use midpath_core::cache::fetch;
use midpath_core::units::Time;

use super::{Part, Span};
use crate::engine::next_arrivals::MANY;

/// From more ports than this on a part prefetches. With fewer its state has room in the cache.
/// Measured in evidence/bench/README.md.
pub(super) const LARGE: usize = 1024;

/// Rings of one node that are fetched: a run rarely has more.
const MOST: usize = 8;

/// The first rings that bring something to a node in the bucket at hand.
#[derive(Debug, Default)]
struct Bringing {
    rings: [u32; MOST],
    len: usize,
}

impl Bringing {
    #[inline]
    fn push(&mut self, ring: u32) {
        if let Some(place) = self.rings.get_mut(self.len) {
            *place = ring;
            self.len += 1;
        }
    }

    #[inline]
    fn each(&self, fetch: impl FnMut(u32)) {
        self.rings.iter().take(self.len).copied().for_each(fetch);
    }
}

/// What brings something to the next two nodes.
#[derive(Debug, Default)]
pub(super) struct Prefetched {
    first: Bringing,
    second: Bringing,
}

/// Whether a node is a host, mostly: what comes next comes through its first port.
#[inline]
fn few(span: &Span) -> bool {
    matches!(span.ports(), 1 | 2)
}

impl Part {
    /// Called before the first of these nodes runs, in a bucket that lasts until `end`; what was
    /// seen of it, and of the one after it, is in `prefetched`.
    #[inline]
    pub(super) fn prefetch(&self, batch: &[u32], end: Time, prefetched: &mut Prefetched) {
        let node = |i: usize| batch.get(i).map(|n| (*n as usize, &self.spans[*n as usize]));
        if let Some((n, span)) = node(4) {
            fetch(span);
            self.nodes[n].fetch();
            self.common.calendar.fetch(n as u32);
        }
        if let Some((n, span)) = node(3) {
            self.common.rings.next_arrivals().fetch(span.first, span.last);
            if few(span) {
                self.common.rings.fetch_ring(span.first);
                self.nodes[n].fetch_first_port();
                fetch(&self.wires[span.first as usize]);
            }
        }
        prefetched.first.each(|ring| self.common.rings.fetch_packet(ring, &self.pool));
        prefetched.second.each(|ring| self.common.rings.fetch_front(ring));
        prefetched.first = std::mem::take(&mut prefetched.second);
        match node(2) {
            Some((_, span)) if few(span) => self.common.rings.fetch_front(span.first),
            Some((_, span)) => self.each_that_brings(span, end, |ring| {
                self.common.rings.fetch_ring(ring);
                prefetched.second.push(ring);
            }),
            None => {}
        }
        if let Some((_, span)) = node(1).filter(|(_, span)| few(span)) {
            self.common.rings.fetch_packet(span.first, &self.pool);
        }
    }

    /// Each of a node's rings that brings something before `end`, unless there are too many to
    /// scan. (Those of such nodes are fetched together when it runs.)
    #[inline]
    fn each_that_brings(&self, span: &Span, end: Time, each: impl FnMut(u32)) {
        if span.ports() as usize <= MANY {
            self.common.rings.next_arrivals().each_before(span.first, span.last, end, each);
        }
    }
}
