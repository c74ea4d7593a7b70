//! The seat of each flow: seats' numbers, by a keyed hash of the flow that sits there (open addressing, linear probing).

use super::Seat;
use crate::packet::FlowId;
use crate::table::more;

/// No seat.
const EMPTY: u32 = u32::MAX;

/// Flows are kept by their seats alone: 4 bytes a place, of which three in four are taken at most.
#[derive(Default)]
pub(super) struct FlowTable {
    /// Peers choose flows' numbers: without it they could choose those that all have one home.
    key: u32,
    places: Box<[u32]>,
    taken: u32,
}

/// 2^64 over the golden ratio (Knuth, TAOCP 3, §6.4): with no key consecutive flows are spread evenly.
pub(super) const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl FlowTable {
    /// Hashes by the node's secret from now on.
    pub fn set_key(&mut self, secret: [u64; 2], seats: &[Seat]) {
        self.key = secret[0] as u32;
        self.rebuild(self.places.len(), seats);
    }

    /// Where a flow stands if nobody stands there. A product by a factor that peers do not know leaves what they choose in
    /// clusters, at some factors; the product of both its halves does not.
    #[inline]
    fn home(&self, flow: FlowId) -> usize {
        // An even factor would lose a bit.
        let factor = (FACTOR ^ (u64::from(self.key) * 0x1_0000_0001)) | 1;
        let product = u64::from(flow.0).wrapping_mul(factor);
        let hash = (product ^ (product >> 32)).wrapping_mul(FACTOR) >> 32;
        ((hash * self.places.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.places.len() { 0 } else { place + 1 }
    }

    /// The place of a flow, or the empty one where it would stand. There is one, unless the table has no place at all.
    #[inline]
    fn place(&self, flow: FlowId, seats: &[Seat]) -> usize {
        let mut place = self.home(flow);
        while let Some(seat) = seats.get(self.places[place] as usize)
            && seat.flow != flow
        {
            place = self.after(place);
        }
        place
    }

    /// The seat of a flow.
    #[inline]
    pub fn get(&self, flow: FlowId, seats: &[Seat]) -> Option<u32> {
        let mut place = self.home(flow);
        loop {
            let number = *self.places.get(place)?;
            if seats.get(number as usize)?.flow == flow {
                return Some(number);
            }
            place = self.after(place);
        }
    }

    /// Has a seat be that of the flow that sits there, in place of any other.
    pub fn insert(&mut self, seat: u32, seats: &[Seat]) {
        let flow = seats[seat as usize].flow;
        if self.get(flow, seats).is_none() {
            if (self.taken as usize + 1) * 4 > self.places.len() * 3 {
                self.rebuild(self.places.len() + more(self.places.len()), seats);
            }
            self.taken += 1;
        }
        self.places[self.place(flow, seats)] = seat;
    }

    #[cold]
    fn rebuild(&mut self, places: usize, seats: &[Seat]) {
        let before = std::mem::replace(&mut self.places, vec![EMPTY; places].into());
        for seat in before.into_iter().filter(|seat| *seat != EMPTY) {
            self.places[self.place(seats[seat as usize].flow, seats)] = seat;
        }
    }

    /// Forgets the seat of a flow. Those behind it move up: no place is lost.
    pub fn remove(&mut self, flow: FlowId, seats: &[Seat]) {
        if self.get(flow, seats).is_none() {
            return;
        }
        self.taken -= 1;
        let mut gap = self.place(flow, seats);
        let mut place = gap;
        loop {
            place = self.after(place);
            let seat = self.places[place];
            if seat == EMPTY {
                break;
            }
            // It may stand in the gap unless its home lies behind that.
            let len = self.places.len();
            let distance = |from: usize| (place + len - from) % len;
            if distance(self.home(seats[seat as usize].flow)) >= distance(gap) {
                (self.places[gap], gap) = (seat, place);
            }
        }
        self.places[gap] = EMPTY;
    }

    /// Places that are looked at until a flow is found.
    #[cfg(test)]
    pub fn probes(&self, flow: FlowId, seats: &[Seat]) -> usize {
        let (home, found) = (self.home(flow), self.place(flow, seats));
        (found + self.places.len() - home) % self.places.len() + 1
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.taken as usize
    }

    pub fn memory(&self) -> usize {
        size_of_val(&*self.places)
    }
}
