//! Loss detection: later Data reveal lost earlier Interests.
//!
//! Interests on the same path are answered in order; there is no order between paths, nor between classes with
//! priority. So, as duplicate ACKs do (RFC 5681), Data show that segments requested well before on their path are lost.

use midpath_core::fifo::Fifo;
use midpath_core::units::Time;

use super::path::PathId;
use super::round_trips::{RTO_K, RoundTrips};

/// Interests on one path: they keep their order.
pub type InOrderPath = PathId;

/// What was asked for so many Interests before an answered one is lost. 3: RFC 5681, §3.2.
pub const REORDERING: u64 = 3;

/// Lines that are remembered. Ours: four times as many as a consumer uses.
const MOST: usize = 64;

/// The Interests on their way in each line, in their order; what is answered stays until it is
/// first.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Vec<(InOrderPath, Numbered)>,
}

#[derive(Debug)]
struct Numbered {
    next: u64,
    /// The last one that is answered.
    answered: u64,
    /// Those of this line: of several paths together deviations are those between them.
    trips: RoundTrips,
    /// Segments, and the lower bits of their numbers: none is 2^32 behind the next one.
    flying: Fifo<(u32, u32)>,
}

impl Default for Numbered {
    fn default() -> Numbered {
        let trips = RoundTrips::new(Time::ZERO, RTO_K);
        Numbered { next: 0, answered: 0, trips, flying: Fifo::default() }
    }
}

/// The number up to `next` that has these lower bits.
fn number(next: u64, low: u32) -> u64 {
    next - u64::from((next as u32).wrapping_sub(low))
}

impl Lines {
    /// Called when an Interest in a segment is sent in a line: its number there.
    pub fn sent(&mut self, line: InOrderPath, segment: u32) -> u64 {
        let index = self.lines.iter().position(|known| known.0 == line).unwrap_or_else(|| {
            if self.lines.len() == MOST {
                // The oldest: what is on its way there is found by timeouts.
                self.lines.remove(0);
            }
            self.lines.reserve_exact(1); // most consumers have one
            self.lines.push((line, Numbered::default()));
            self.lines.len() - 1
        });
        let numbered = &mut self.lines[index].1;
        numbered.next += 1;
        numbered.flying.push((segment, numbered.next as u32));
        numbered.next
    }

    /// Called with Data: the Interest with this number is answered.
    pub fn answered(&mut self, line: InOrderPath, number: u64) {
        if let Some((_, numbered)) = self.lines.iter_mut().find(|known| known.0 == line) {
            numbered.answered = numbered.answered.max(number);
        }
    }

    /// A line's round trips.
    pub fn trips(&self, line: InOrderPath) -> Option<&RoundTrips> {
        self.lines.iter().find(|known| known.0 == line).map(|known| &known.1.trips)
    }

    /// The same, to be told one.
    pub fn trips_mut(&mut self, line: InOrderPath) -> Option<&mut RoundTrips> {
        self.lines.iter_mut().find(|known| known.0 == line).map(|known| &mut known.1.trips)
    }

    /// The longest time for which the last Interest of a line is waited for.
    pub fn patience(&self) -> Option<Time> {
        self.lines.iter().filter_map(|known| known.1.trips.patience()).max()
    }

    /// The first Interest of a line if one is answered that was sent so many after it: its segment and
    /// number.
    pub fn overtaken(&self, line: InOrderPath, reordering: u64) -> Option<(u32, u64)> {
        let (_, numbered) = self.lines.iter().find(|known| known.0 == line)?;
        let first = numbered.flying.front().map(|(segment, low)| (segment, number(numbered.next, low)));
        first.filter(|first| first.1 + reordering <= numbered.answered)
    }

    /// The line with this index.
    pub fn get(&self, index: usize) -> Option<InOrderPath> {
        self.lines.get(index).map(|known| known.0)
    }

    /// Drops Interests of a line that do not count, if there are more than so many.
    pub fn tidy(&mut self, line: InOrderPath, most: usize, counts: impl Fn(u32, u64) -> bool) {
        if let Some((_, numbered)) = self.lines.iter_mut().find(|known| known.0 == line)
            && numbered.flying.len() > most
        {
            let next = numbered.next;
            numbered.flying.retain(|(segment, low)| counts(*segment, number(next, *low)));
        }
    }

    /// Interests of a line that are remembered.
    #[cfg(test)]
    pub fn flying(&self, line: InOrderPath) -> usize {
        self.lines.iter().find(|known| known.0 == line).map_or(0, |known| known.1.flying.len())
    }

    /// Takes the first Interest of a line off.
    pub fn take_first(&mut self, line: InOrderPath) {
        if let Some((_, numbered)) = self.lines.iter_mut().find(|known| known.0 == line) {
            numbered.flying.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_after_it_says_that_an_interest_is_lost() {
        let mut lines = Lines::default();
        let (one, other) = (PathId(1), PathId(2));
        let numbers: Vec<u64> = (0..6).map(|segment| lines.sent(one, segment)).collect();
        lines.sent(other, 9);
        lines.answered(one, numbers[2]);
        assert_eq!(lines.overtaken(one, 3), None);
        lines.answered(one, numbers[4]);
        // One that comes out of order takes nothing back.
        lines.answered(one, numbers[3]);
        for segment in [0, 1] {
            assert_eq!(lines.overtaken(one, 3), Some((segment, numbers[segment as usize])));
            lines.take_first(one);
        }
        assert_eq!(lines.overtaken(one, 3), None);
        assert_eq!(lines.overtaken(other, 1), None, "another line");
    }

    #[test]
    fn a_number_is_known_by_its_lower_bits() {
        let next = (7 << 32) + 2;
        for before in [0, 1, 2, 3, 1 << 20, u64::from(u32::MAX)] {
            assert_eq!(number(next, (next - before) as u32), next - before);
        }
    }

    #[test]
    fn lines_are_bounded() {
        let mut lines = Lines::default();
        for i in 0..1000 {
            lines.sent(PathId(i), 0);
        }
        assert_eq!(lines.lines.len(), MOST);
    }
}
