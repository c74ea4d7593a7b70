//! A line with a rate, a queue and a delay: departure times from arrival times.
//!
//! It uses the times at which frames arrived, not those at which the thread woke.

use std::collections::VecDeque;

use crate::frame::Frame;

/// Frames that may be on the way on one line; at 200 Mbps and 100 ms there are 1,700 full ones.
const MOST: usize = 100_000;

/// What a line does to frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// How long a frame takes once it has left the queue.
    pub delay_ns: u64,
    /// The rates in bits/s, each from a time on that counts from the start; none: as fast as they come.
    /// A rate of 0 is a line that is down: what comes or waits then is lost.
    pub rates: Vec<(u64, u64)>,
    /// Bytes that may wait.
    pub queue: usize,
}

impl Shape {
    /// The rate at a time after the start.
    fn rate(&self, since: u64) -> Option<u64> {
        self.rates.iter().take_while(|(from, _)| *from <= since).last().map(|(_, rate)| *rate)
    }
}

/// A frame, and when it comes out.
#[derive(Debug)]
pub struct Due {
    /// When, by the clock that stamps frames.
    pub at_ns: u64,
    /// What.
    pub frame: Frame,
}

/// A line at work.
#[derive(Debug)]
pub struct EmulatedLink {
    shape: Shape,
    /// When its schedule of rates began; the first rate holds until then.
    began: Option<u64>,
    waiting: VecDeque<Frame>,
    waiting_bytes: usize,
    free_at: u64,
    /// Frames that have been sent, in the order in which they come out.
    pub on_the_way: VecDeque<Due>,
    /// Frames that found no room, or a line that was down.
    pub lost: u64,
}

impl EmulatedLink {
    /// An empty one.
    pub fn new(shape: Shape) -> EmulatedLink {
        EmulatedLink {
            shape,
            began: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: 0,
            on_the_way: VecDeque::new(),
            lost: 0,
        }
    }

    /// The schedule of rates begins.
    pub fn begin(&mut self, now_ns: u64) {
        self.began = Some(now_ns);
    }

    fn rate(&self, at: u64) -> Option<u64> {
        self.shape.rate(self.began.map_or(0, |began| at.saturating_sub(began)))
    }

    /// A frame has come; it carries its time.
    pub fn accept(&mut self, frame: Frame) {
        self.advance(frame.at_ns);
        let bytes = frame.size();
        let full = self.shape.rates.is_empty() && self.on_the_way.len() >= MOST;
        let no_room = !self.shape.rates.is_empty() && self.waiting_bytes + bytes > self.shape.queue;
        if full || no_room || self.rate(frame.at_ns) == Some(0) {
            self.lost += 1;
            return;
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back(frame);
    }

    /// Sends what has begun to leave by `now`.
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(next) = self.waiting.front() {
            let start = next.at_ns.max(self.free_at);
            if start > now_ns {
                return;
            }
            let rate = self.rate(start);
            let Some(frame) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= frame.size();
            let took = match rate {
                None => 0,
                Some(0) => {
                    self.lost += 1;
                    continue;
                }
                Some(rate) => frame.size() as u64 * 8_000_000_000 / rate,
            };
            self.free_at = start + took;
            self.on_the_way.push_back(Due { at_ns: self.free_at + self.shape.delay_ns, frame });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn frame(at_ns: u64) -> Frame {
        Frame { at_ns, data: vec![0; 1514], ..Frame::default() }
    }

    /// When frames come out that come at these times, in ms.
    fn out(line: &mut EmulatedLink, come: &[u64]) -> Vec<u64> {
        come.iter().for_each(|at| line.accept(frame(at * MS)));
        line.advance(u64::MAX);
        line.on_the_way.drain(..).map(|due| due.at_ns / MS).collect()
    }

    #[test]
    fn without_a_rate_frames_take_the_delay() {
        let mut line = EmulatedLink::new(Shape { delay_ns: 10 * MS, rates: Vec::new(), queue: 0 });
        assert_eq!(out(&mut line, &[1, 1, 2]), [11, 11, 12]);
    }

    /// 12 Mbps are a frame of 1,500 B in a ms. One leaves, two wait, the fourth finds no room.
    #[test]
    fn frames_leave_one_after_the_other_and_wait_as_far_as_there_is_room() {
        let mut line = EmulatedLink::new(Shape { delay_ns: 10 * MS, rates: vec![(0, 12_000_000)], queue: 3000 });
        assert_eq!(out(&mut line, &[100, 100, 100, 100, 101, 200]), [111, 112, 113, 114, 211]);
        assert_eq!(line.lost, 1);
    }

    #[test]
    fn the_rate_changes_for_what_waits_and_a_line_that_is_down_loses_all() {
        let rates = vec![(0, 12_000_000), (2 * MS, 6_000_000), (4 * MS, 0), (9 * MS, 12_000_000)];
        let mut line = EmulatedLink::new(Shape { delay_ns: 0, rates, queue: 1 << 20 });
        assert_eq!(out(&mut line, &[50, 51]), [51, 52], "the schedule has not begun");
        line.begin(100 * MS);
        assert_eq!(out(&mut line, &[100, 100, 100, 100, 105, 109]), [101, 102, 104, 110]);
        assert_eq!(line.lost, 2);
    }
}
