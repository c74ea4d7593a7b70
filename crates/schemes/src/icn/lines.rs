//! What later Data say of earlier Interests.
//!
//! Interests of one class that go the same way are answered in their order: routers keep it on a
//! path, between paths there is none. So Data tell, as duplicate ACKs do (RFC 5681), that what was
//! asked for well before them on their path does not come.

use std::collections::VecDeque;

use super::header::Class;
use super::path::PathId;

/// Interests of one class on one path.
pub type Line = (PathId, Class);

/// What was asked for so many Interests before an answered one is lost. 3: RFC 5681, §3.2.
pub const REORDERING: u64 = 3;

/// Lines that are remembered. Ours: two classes on twice as many paths as a consumer uses.
const MOST: usize = 64;

/// The Interests on their way in each line, in their order; what is answered stays until it is
/// first.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Vec<(Line, Numbered)>,
}

#[derive(Debug, Default)]
struct Numbered {
    next: u64,
    flying: VecDeque<(u32, u64)>,
}

impl Lines {
    /// Called when an Interest in a segment is sent in a line: its number there.
    pub fn sent(&mut self, line: Line, segment: u32) -> u64 {
        let index = self.lines.iter().position(|known| known.0 == line).unwrap_or_else(|| {
            if self.lines.len() == MOST {
                // The oldest: what is on its way there is found by timeouts.
                self.lines.remove(0);
            }
            self.lines.push((line, Numbered::default()));
            self.lines.len() - 1
        });
        let numbered = &mut self.lines[index].1;
        numbered.next += 1;
        numbered.flying.push_back((segment, numbered.next));
        numbered.next
    }

    /// The first Interest of a line if it was sent so many before the one with this number, which is
    /// answered: its segment and number.
    pub fn overtaken(&self, line: Line, answered: u64, reordering: u64) -> Option<(u32, u64)> {
        let (_, numbered) = self.lines.iter().find(|known| known.0 == line)?;
        numbered.flying.front().copied().filter(|first| first.1 + reordering <= answered)
    }

    /// Takes the first Interest of a line off.
    pub fn take_first(&mut self, line: Line) {
        if let Some((_, numbered)) = self.lines.iter_mut().find(|known| known.0 == line) {
            numbered.flying.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_after_it_says_that_an_interest_is_lost() {
        let mut lines = Lines::default();
        let (one, other) = ((PathId(1), Class::Primary), (PathId(1), Class::Secondary));
        let numbers: Vec<u64> = (0..6).map(|segment| lines.sent(one, segment)).collect();
        lines.sent(other, 9);
        assert_eq!(lines.overtaken(one, numbers[2], 3), None);
        for segment in [0, 1] {
            assert_eq!(lines.overtaken(one, numbers[4], 3), Some((segment, numbers[segment as usize])));
            lines.take_first(one);
        }
        assert_eq!(lines.overtaken(one, numbers[4], 3), None);
        assert_eq!(lines.overtaken(other, 1, 3), None, "another class waits elsewhere");
    }

    #[test]
    fn lines_are_bounded() {
        let mut lines = Lines::default();
        for i in 0..1000 {
            lines.sent((PathId(i), Class::Primary), 0);
        }
        assert_eq!(lines.lines.len(), MOST);
    }
}
