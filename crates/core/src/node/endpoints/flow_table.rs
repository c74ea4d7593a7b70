//! The seat of each flow: seats' numbers, by a hash of the flow that sits there (open addressing, linear probing).

use super::Seat;
use crate::packet::FlowId;
use crate::table::more;

/// No seat.
const EMPTY: u32 = u32::MAX;

/// Flows are kept by their seats alone: 4 bytes a place, of which three in four are taken at most.
#[derive(Default)]
pub(super) struct FlowTable {
    places: Box<[u32]>,
    taken: u32,
}

impl FlowTable {
    /// Where a flow stands if nobody stands there. Fibonacci hashing (Knuth, TAOCP 3, §6.4): consecutive flows are spread
    /// evenly.
    #[inline]
    fn home(&self, flow: FlowId) -> usize {
        let hash = u64::from(flow.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
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
                self.grow(seats);
            }
            self.taken += 1;
        }
        self.places[self.place(flow, seats)] = seat;
    }

    #[cold]
    fn grow(&mut self, seats: &[Seat]) {
        let places = vec![EMPTY; self.places.len() + more(self.places.len())];
        let before = std::mem::replace(&mut self.places, places.into());
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

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.taken as usize
    }

    pub fn memory(&self) -> usize {
        size_of_val(&*self.places)
    }
}
