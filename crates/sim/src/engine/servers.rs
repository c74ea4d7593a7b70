//! Servers of clients' requests: so many at a time in the order of arrival, or all at once, who share.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use midpath_core::units::Time;

/// A server, with what it works for. Requests are known by the number of their wait.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// How many requests it works for at full speed.
    workers: u64,
    /// Whether it works for all others, too, each then at an equal share.
    shares: bool,
    waiting: VecDeque<(u32, Time)>,
    /// By what is done of each request when it is done with this one; then in order of arrival.
    running: BinaryHeap<Reverse<(u128, u64, u32, Time)>>,
    arrived: u64,
    /// Work that each request has got which was there all the time, in picoseconds times 2^32.
    done: u128,
    /// Until when that is counted.
    at: Time,
    /// When it is done with the next.
    next: Option<Time>,
}

/// What a server has done until now.
#[derive(Debug, Default)]
pub struct Step {
    /// With these it is done, and how much work each was.
    pub done: Vec<(u32, Time)>,
    /// For these it begins to work.
    pub begun: Vec<u32>,
    /// When it goes on, where that has changed.
    pub next: Option<Time>,
}

const fn scaled(work: Time) -> u128 {
    (work.0 as u128) << 32
}

impl Server {
    /// One that works for so many requests at a time.
    pub fn new(workers: u64, shares: bool) -> Server {
        Server { workers, shares, ..Server::default() }
    }

    /// A request comes.
    pub fn arrive(&mut self, number: u32, work: Time, now: Time) {
        self.advance(now);
        self.waiting.push_back((number, work));
    }

    /// A request goes for which it has not begun to work.
    pub fn forget(&mut self, number: u32) {
        self.waiting.retain(|(other, _)| *other != number);
    }

    /// Requests at a time, each of which gets `workers` over this, at most 1.
    fn share(&self) -> u128 {
        (self.running.len() as u128).max(u128::from(self.workers))
    }

    fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.at, "time goes on");
        let passed = scaled(now.saturating_sub(self.at));
        self.done += passed * u128::from(self.workers) / self.share();
        self.at = now;
    }

    /// Ends and begins what is due.
    pub fn go_on(&mut self, now: Time) -> Step {
        self.advance(now);
        let mut step = Step::default();
        while let Some(Reverse((until, _, number, work))) = self.running.peek().copied()
            && until <= self.done
        {
            self.running.pop();
            step.done.push((number, work));
        }
        while self.shares || (self.running.len() as u64) < self.workers {
            let Some((number, work)) = self.waiting.pop_front() else { break };
            self.arrived += 1;
            self.running.push(Reverse((self.done + scaled(work), self.arrived, number, work)));
            step.begun.push(number);
        }
        debug_assert!(self.shares || self.running.len() as u64 <= self.workers, "one request a worker");
        debug_assert!(self.waiting.is_empty() || self.running.len() as u64 >= self.workers, "no worker rests");
        let left = self.running.peek().map(|first| first.0.0 - self.done);
        // Rounded up, so that it is done then.
        let takes = |left: u128| (left * self.share()).div_ceil(u128::from(self.workers) << 32);
        let next = left.map(|left| now.saturating_add(Time(u64::try_from(takes(left)).unwrap_or(u64::MAX))));
        if next != self.next {
            (self.next, step.next) = (next, next);
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs it alone: when it is done with each request, in the order in which they come.
    fn run(mut server: Server, requests: &[(u64, u64)]) -> Vec<u64> {
        let mut done = vec![0; requests.len()];
        let mut alarm: Option<Time> = None;
        let mut go_on = |server: &mut Server, now: Time, alarm: &mut Option<Time>| {
            let step = server.go_on(now);
            step.done.iter().for_each(|(number, _)| done[*number as usize] = now.0);
            *alarm = step.next.or(*alarm).filter(|at| *at > now);
        };
        for (number, (at, work)) in (0..).zip(requests) {
            while let Some(due) = alarm.filter(|due| due.0 <= *at) {
                go_on(&mut server, due, &mut alarm);
            }
            server.arrive(number, Time(*work), Time(*at));
            go_on(&mut server, Time(*at), &mut alarm);
        }
        while let Some(due) = alarm {
            go_on(&mut server, due, &mut alarm);
        }
        done
    }

    proptest! {
        /// In order of arrival: a worker is free when it has done what came before (Kiefer and Wolfowitz).
        #[test]
        fn requests_are_done_in_order(
            workers in 1usize..5, mut requests in prop::collection::vec((0u64..1000, 1u64..300), 1..60),
        ) {
            requests.sort_by_key(|request| request.0);
            let mut free = vec![0; workers];
            let wanted: Vec<u64> = requests.iter().map(|(at, work)| {
                let first = free.iter_mut().min().expect("a worker");
                *first = (*first).max(*at) + work;
                *first
            }).collect();
            prop_assert_eq!(run(Server::new(workers as u64, false), &requests), wanted);
        }

        /// Shared: stepped in small steps of time, each request gets its share of each.
        #[test]
        fn requests_share(
            workers in 1usize..4, mut requests in prop::collection::vec((0u64..1000, 1u64..300), 1..12),
        ) {
            requests.sort_by_key(|request| request.0);
            // Times are rounded up with each departure: a thousandth of the steps' unit.
            let fine: Vec<_> = requests.iter().map(|(at, work)| (1000 * at, 1000 * work)).collect();
            let found: Vec<f64> =
                run(Server::new(workers as u64, true), &fine).into_iter().map(|at| at as f64 / 1000.0).collect();
            let mut left: Vec<f64> = requests.iter().map(|(_, work)| *work as f64).collect();
            let step = 1.0 / 64.0;
            for i in 0..(1000 + 300 * 12) * 64 {
                let now = f64::from(i) * step;
                let active: Vec<usize> =
                    (0..left.len()).filter(|k| requests[*k].0 as f64 <= now && left[*k] > 1e-9).collect();
                let share = step * (workers as f64 / active.len() as f64).min(1.0);
                for k in active {
                    left[k] -= share;
                    if left[k] <= 1e-9 {
                        // A unit for the rounding of times, and the steps' own for each change.
                        let wanted = now + step;
                        prop_assert!((found[k] - wanted).abs() < 1.0 + 12.0 * step, "{}: {} {}", k, found[k], wanted);
                    }
                }
            }
        }
    }
}
