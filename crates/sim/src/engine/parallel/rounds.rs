//! Rounds of work items. A free thread takes the next item; the thread that finishes the last one opens the next
//! round. So threads wait only for a thread that lost its core within an item, not for one without a core.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::park_timeout;
use std::time::Duration;

/// The round that ends all.
pub(super) const OVER: u64 = u64::MAX;

pub(super) struct Rounds {
    /// The round at hand, from 1.
    round: AtomicU64,
    /// The last round in which each piece was taken.
    taken: Vec<AtomicU64>,
    /// Pieces of this round that are not done.
    left: AtomicUsize,
    /// The first thread works alone.
    alone: AtomicBool,
    /// How often a thread looks for the next round before it sleeps.
    spins: u32,
}

impl Rounds {
    /// Ours: about what a window lasts. Who spins for longer waits for a thread without a core, and
    /// may have taken it.
    const SPINS: u32 = 2_000;
    /// Ours: what a thread sleeps at first, and at most. It wakes by itself: to wake it costs who
    /// does more than a window lasts, and where there is no core to spare, each time for nothing.
    const NAP: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(3_200));

    pub fn new(pieces: usize, threads: usize) -> Rounds {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Rounds {
            round: AtomicU64::new(1),
            taken: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(pieces),
            alone: AtomicBool::new(false),
            spins: if threads <= cores { Rounds::SPINS } else { 0 },
        }
    }

    /// Takes a piece of this round, if nobody has.
    pub fn take(&self, piece: usize, round: u64) -> bool {
        let taken = &self.taken[piece];
        taken.load(Ordering::Relaxed) + 1 == round
            && taken.compare_exchange(round - 1, round, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// A piece that was taken is done. Says whether it was the last: then whoever did it opens the
    /// next round, or ends.
    pub fn done(&self) -> bool {
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Opens the next round, unless a thread that panicked has ended all.
    pub fn open(&self, round: u64) {
        self.left.store(self.taken.len(), Ordering::Relaxed);
        let _over = self.round.compare_exchange(round - 1, round, Ordering::Release, Ordering::Relaxed);
    }

    /// There is no next round.
    pub fn end(&self) {
        self.round.store(OVER, Ordering::Release);
    }

    /// Whether the first thread is to work alone; the others sleep meanwhile.
    pub fn leave_alone(&self, alone: bool) {
        self.alone.store(alone, Ordering::Relaxed);
    }

    /// Waits for a round after `seen`.
    pub fn wait(&self, seen: u64, thread: usize) -> u64 {
        let (mut looks, mut nap) = (0, Rounds::NAP.0);
        loop {
            let (round, idle) = (self.round.load(Ordering::Acquire), thread > 0 && self.alone.load(Ordering::Relaxed));
            if round == OVER || round > seen && !idle {
                return round;
            }
            if looks < self.spins && !idle {
                looks += 1;
                std::hint::spin_loop();
            } else {
                park_timeout(nap);
                nap = (2 * nap).min(Rounds::NAP.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More threads than cores, and pieces: in each round each piece is taken once, and not before all
    /// of the round before are done.
    #[test]
    fn each_piece_is_done_once_in_each_round() {
        const PIECES: usize = 5;
        for threads in [1, 2, 7] {
            let rounds = Rounds::new(PIECES, threads);
            let done: [AtomicU64; PIECES] = Default::default();
            let work = |thread| {
                let mut seen = 0;
                loop {
                    seen = rounds.wait(seen, thread);
                    if seen == OVER {
                        return;
                    }
                    for piece in (0..PIECES).filter(|piece| rounds.take(*piece, seen)) {
                        assert_eq!(done[piece].fetch_add(1, Ordering::Relaxed) + 1, seen);
                        if rounds.done() {
                            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == seen));
                            if seen < 300 { rounds.open(seen + 1) } else { rounds.end() }
                        }
                    }
                }
            };
            std::thread::scope(|scope| (0..threads).for_each(|thread| drop(scope.spawn(move || work(thread)))));
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 300), "{threads}");
        }
    }

    #[test]
    fn no_round_is_opened_after_the_end() {
        let rounds = Rounds::new(1, 2);
        rounds.open(2);
        assert_eq!(rounds.wait(1, 1), 2);
        rounds.end();
        rounds.open(3);
        assert_eq!(rounds.wait(2, 1), OVER);
    }

    #[test]
    fn others_sleep_while_the_first_works_alone() {
        let rounds = Rounds::new(1, 2);
        rounds.leave_alone(true);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| rounds.wait(0, 1));
            assert_eq!(rounds.wait(0, 0), 1);
            assert!(!other.is_finished());
            rounds.leave_alone(false);
            assert_eq!(other.join().unwrap(), 1);
        });
    }
}
