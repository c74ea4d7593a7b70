//! Connections of a client to an origin: each request takes one when it is ready, or waits for one.

use std::collections::VecDeque;

/// Connections, with what waits for them. Requests are known by the number of their wait.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    most: usize,
    streams: u32,
    keeps: bool,
    /// Requests under way of each connection that has been opened.
    busy: Vec<u32>,
    waiting: VecDeque<u32>,
}

impl Pool {
    /// One of so many connections at most, each of which carries `streams` requests at a time. It `keeps` idle ones for
    /// further requests, or opens another one for each.
    pub fn new(most: usize, streams: u32, keeps: bool) -> Pool {
        Pool { most, streams, keeps, ..Pool::default() }
    }

    /// A request is ready.
    pub fn ask(&mut self, request: u32) {
        self.waiting.push_back(request);
    }

    /// A response has come over a connection.
    pub fn free(&mut self, connection: u32) {
        self.busy[connection as usize] -= 1;
    }

    /// The next request that begins, and its connection: the first that is free, or else another one.
    pub fn next(&mut self) -> Option<(u32, u32)> {
        self.waiting.front()?;
        let opened = if self.keeps { self.busy.iter().position(|busy| *busy < self.streams) } else { None };
        let connection = opened.or((self.busy.len() < self.most).then_some(self.busy.len()))?;
        if connection == self.busy.len() {
            self.busy.push(0);
        }
        self.busy[connection] += 1;
        Some((self.waiting.pop_front()?, connection as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn connections_are_opened_kept_or_not() {
        let mut six = Pool::new(2, 1, true);
        (0..4).for_each(|request| six.ask(request));
        assert_eq!([six.next(), six.next(), six.next()], [Some((0, 0)), Some((1, 1)), None]);
        six.free(1);
        assert_eq!([six.next(), six.next()], [Some((2, 1)), None]);
        let mut one = Pool::new(1, u32::MAX, true);
        (0..4).for_each(|request| one.ask(request));
        assert!((0..4).all(|request| one.next() == Some((request, 0))));
        let mut each = Pool::new(4, 1, false);
        for request in 0..4 {
            each.ask(request);
            assert_eq!(each.next(), Some((request, request)));
            each.free(request);
        }
    }

    proptest! {
        /// Whatever comes and ends in whatever order: requests begin in order, none waits beside a free place, and no
        /// connection has more than it may.
        #[test]
        fn all_requests_begin_in_order(most in 1usize..8, streams in 1u32..4, ends in prop::collection::vec(any::<prop::sample::Index>(), 60)) {
            let mut pool = Pool::new(most, streams, true);
            let (mut next, mut running) = (0, Vec::<u32>::new());
            for (request, end) in (0..).zip(&ends) {
                pool.ask(request);
                if !running.is_empty() && request % 3 > 0 {
                    pool.free(running.swap_remove(end.index(running.len())));
                }
                while let Some((begun, connection)) = pool.next() {
                    prop_assert_eq!(begun, next);
                    next += 1;
                    running.push(connection);
                }
                let of = |connection: u32| running.iter().filter(|other| **other == connection).count();
                prop_assert!((0..most as u32).all(|connection| of(connection) <= streams as usize));
                prop_assert!(next > request || running.len() == most * streams as usize);
            }
        }
    }
}
