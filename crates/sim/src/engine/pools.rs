//! Connections of a client to an origin: each request takes one when it is ready, or waits for one.

use std::collections::BTreeMap;

use midpath_core::units::Time;

use super::players::Player;

/// Connections, with what waits for them. Requests are known by the number of their wait.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    most: usize,
    streams: u32,
    keeps: bool,
    /// Requests under way of each connection that has been opened.
    busy: Vec<u32>,
    /// The most urgent first; of equals, that which came first.
    waiting: BTreeMap<(u8, u64), (u32, usize)>,
    asked: u64,
    /// Who chooses among the requests of a wait, where these are of a video.
    player: Option<Player>,
}

impl Pool {
    /// One of so many connections at most, each of which carries `streams` requests at a time. It `keeps` idle ones for
    /// further requests, or opens another one for each.
    pub fn new(most: usize, streams: u32, keeps: bool) -> Pool {
        Pool { most, streams, keeps, ..Pool::default() }
    }

    /// The same for a video.
    pub fn with_player(self, player: Option<Player>) -> Pool {
        Pool { player, ..self }
    }

    /// A request is ready. It may be to come later: how much.
    pub fn ask(&mut self, request: u32, rank: u8, now: Time) -> Result<(), Time> {
        let choice = self.player.as_mut().map_or(Ok(0), |player| player.ask(now))?;
        self.waiting.insert((rank, self.asked), (request, choice));
        self.asked += 1;
        Ok(())
    }

    /// A response has come over a connection.
    pub fn free(&mut self, connection: u32, now: Time) {
        self.busy[connection as usize] -= 1;
        self.player.iter_mut().for_each(|player| player.take(now));
    }

    /// The next request that begins, which of its choices that is, and its connection: the first that is free, or else
    /// another one.
    pub fn begin_next(&mut self) -> Option<(u32, usize, u32)> {
        self.waiting.first_key_value()?;
        let opened = if self.keeps { self.busy.iter().position(|busy| *busy < self.streams) } else { None };
        let connection = opened.or((self.busy.len() < self.most).then_some(self.busy.len()))?;
        if connection == self.busy.len() {
            self.busy.push(0);
        }
        self.busy[connection] += 1;
        debug_assert!(
            self.busy.len() <= self.most && self.busy[connection] <= self.streams,
            "within the pool's bounds"
        );
        let (request, choice) = self.waiting.pop_first()?.1;
        Some((request, choice, connection as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Time = Time::ZERO;

    #[test]
    fn connections_are_opened_kept_or_not() {
        let mut six = Pool::new(2, 1, true);
        (0..4).for_each(|request| six.ask(request, 0, NOW).expect("at once"));
        assert_eq!([six.begin_next(), six.begin_next(), six.begin_next()], [Some((0, 0, 0)), Some((1, 0, 1)), None]);
        six.free(1, NOW);
        assert_eq!([six.begin_next(), six.begin_next()], [Some((2, 0, 1)), None]);
        let mut one = Pool::new(1, u32::MAX, true);
        (0..4).for_each(|request| one.ask(request, 0, NOW).expect("at once"));
        assert!((0..4).all(|request| one.begin_next() == Some((request, 0, 0))));
        for (request, rank) in [(7, 2), (8, 0), (9, 2), (10, 1)] {
            one.ask(request, rank, NOW).expect("at once");
        }
        assert!([8, 10, 7, 9].into_iter().all(|request| one.begin_next() == Some((request, 0, 0))));
        let mut each = Pool::new(4, 1, false);
        for request in 0..4 {
            each.ask(request, 0, NOW).expect("at once");
            assert_eq!(each.begin_next(), Some((request, 0, request)));
            each.free(request, NOW);
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
                pool.ask(request, 0, NOW).expect("at once");
                if !running.is_empty() && request % 3 > 0 {
                    pool.free(running.swap_remove(end.index(running.len())), NOW);
                }
                while let Some((begun, _, connection)) = pool.begin_next() {
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
