//! The ends' timers: which is due first, by a winner tree (Knuth, TAOCP 3, §5.4.1) over the seats.
//!
//! An end has one timer, and the tree 4 bytes for it. Of `n` seats, seat `i` is leaf `n + i`; inner place `k`, from 1 to
//! `n - 1`, has the children `2k` and `2k + 1`, and stands in seat `k`.

use super::super::timers::{FirstEnd, Timers};
use super::{Endpoints, Seat};
use crate::units::Time;

impl Seat {
    /// Whether its timer comes up before another seat's: of two for one time, that which was asked for before. Numbers
    /// wrap: of two that were asked for 2^31 wishes apart the order is another one.
    #[inline]
    fn is_before(&self, other: &Seat) -> bool {
        self.armed < other.armed
            || self.armed == other.armed && (self.asked.wrapping_sub(other.asked) as i32).is_negative()
    }
}

impl Endpoints {
    /// Which seat comes first below a place of the tree.
    #[inline]
    fn first_below(&self, place: usize) -> u32 {
        match place.checked_sub(self.seats.len()) {
            Some(seat) => seat as u32,
            None => self.seats[place].first(),
        }
    }

    /// The first of all.
    fn first(&self) -> FirstEnd {
        let seat = self.first_below(1);
        let Seat { armed, asked, .. } = self.seats[seat as usize];
        FirstEnd { at: armed, asked, seat }
    }

    /// Called after an end may have moved its deadline: to a later one it costs nothing, for the timer finds out when it
    /// comes up.
    #[inline(always)]
    pub fn arm(&mut self, index: u32, now: Time, timers: &mut Timers) {
        let seat = &self.seats[index as usize];
        if seat.deadline < seat.armed {
            self.bring_forward(index, now, timers);
        }
    }

    #[inline(never)]
    fn bring_forward(&mut self, index: u32, now: Time, timers: &mut Timers) {
        let seat = &mut self.seats[index as usize];
        if seat.parked == Time::MAX {
            seat.parked = seat.armed;
        }
        seat.deadline = seat.deadline.max(now);
        (seat.armed, seat.asked) = (seat.deadline, timers.number());
        let mut place = index as usize + self.seats.len();
        while place > 1 {
            place /= 2;
            let first = self.seats[place].first();
            if first != index && self.seats[first as usize].is_before(&self.seats[index as usize]) {
                return;
            }
            self.seats[place].set_first(index);
        }
        timers.bring_end_forward(self.first());
    }

    /// Called at `now` when the first timer has come up: whether the end is to be told. Its deadline may have been moved.
    pub fn fire(&mut self, index: u32, now: Time, timers: &mut Timers) -> bool {
        let seat = &mut self.seats[index as usize];
        let due = seat.deadline <= now;
        if due {
            seat.deadline = Time::MAX;
        }
        if seat.deadline < seat.parked {
            seat.armed = seat.deadline;
        } else {
            seat.armed = std::mem::replace(&mut seat.parked, Time::MAX);
        }
        seat.asked = timers.number();
        self.put_back(index, timers);
        due
    }

    /// Called when a seat's timer has been taken away, or comes up later than before.
    #[inline(always)]
    pub(super) fn put_back(&mut self, index: u32, timers: &mut Timers) {
        let (mut place, mut first) = (index as usize + self.seats.len(), index);
        while place > 1 {
            let other = self.first_below(place ^ 1);
            if self.seats[other as usize].is_before(&self.seats[first as usize]) {
                first = other;
            }
            place /= 2;
            self.seats[place].set_first(first);
        }
        timers.set_first_end(self.first());
    }

    /// Called when there are more seats.
    pub(super) fn grow_tree(&mut self) {
        for place in (1..self.seats.len()).rev() {
            let (left, right) = (self.first_below(2 * place), self.first_below(2 * place + 1));
            let right_first = self.seats[right as usize].is_before(&self.seats[left as usize]);
            self.seats[place].set_first(if right_first { right } else { left });
        }
    }
}
