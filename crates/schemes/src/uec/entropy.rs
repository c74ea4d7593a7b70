//! Which path each packet takes: an entropy value, from which ECMP hashes (HTSIM 8a33f33, `uec_mp.cpp`; REPS: Bonato et al.,
//! arXiv:2407.21625).

use std::collections::VecDeque;

use midpath_core::units::Time;

use super::params::EntropyKind;

/// What an answer says of a path (`PathFeedback`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    Good,
    Marked,
    Trimmed,
    TimedOut,
}

/// Chooses entropy values. `draw` is asked for a number below another one.
#[derive(Debug, Clone)]
pub enum Entropy {
    /// One for all packets (`UecMpEcmp`).
    Fixed(u16),
    Oblivious(Rotation),
    Bitmap(Bitmap),
    Reps(Reps),
    /// Those that came back, else as the bitmap has it (`UecMpMixed`).
    Mixed(Bitmap, VecDeque<u16>),
}

/// `rand()` of HTSIM.
type Draw<'a> = dyn FnMut(u32) -> u32 + 'a;

impl Entropy {
    /// Over so many values, a power of two.
    pub fn new(kind: EntropyKind, paths: u16, draw: &mut Draw<'_>) -> Entropy {
        match kind {
            EntropyKind::Ecmp => Entropy::Fixed(draw(paths.into()) as u16),
            EntropyKind::Oblivious => Entropy::Oblivious(Rotation::new(paths, draw)),
            EntropyKind::Bitmap => Entropy::Bitmap(Bitmap::new(paths, MOST_PENALTY, draw)),
            EntropyKind::Reps => Entropy::Reps(Reps::new(paths)),
            EntropyKind::Mixed => Entropy::Mixed(Bitmap::new(paths, MOST_PENALTY, draw), VecDeque::new()),
        }
    }

    /// EQDS's (csg-htsim 841d9e7, `penalizePath`, `nextEntropy`): a value of which nothing good was heard is passed over once.
    pub fn of_eqds(paths: u16, draw: &mut Draw<'_>) -> Entropy {
        Entropy::Bitmap(Bitmap::new(paths, 1, draw))
    }

    /// That of the next packet (`nextEntropy`).
    pub fn next(&mut self, draw: &mut Draw<'_>) -> u16 {
        match self {
            Entropy::Fixed(value) => *value,
            Entropy::Oblivious(rotation) => rotation.next(draw),
            Entropy::Bitmap(bitmap) => bitmap.next(draw),
            Entropy::Reps(reps) => reps.next(draw),
            Entropy::Mixed(bitmap, returned) => returned.pop_front().unwrap_or_else(|| bitmap.next(draw)),
        }
    }

    /// What has been heard of one (`processEv`).
    pub fn hear(&mut self, entropy: u16, feedback: Feedback, now: Time) {
        match self {
            Entropy::Fixed(_) | Entropy::Oblivious(_) => {}
            Entropy::Bitmap(bitmap) => bitmap.hear(entropy, feedback),
            Entropy::Reps(reps) => reps.hear(entropy, feedback, now),
            Entropy::Mixed(bitmap, returned) => {
                bitmap.hear(entropy, feedback);
                if feedback == Feedback::Good {
                    returned.push_back(entropy);
                }
            }
        }
    }
}

/// `UecMpOblivious`: all values in turn, in another order each time.
#[derive(Debug, Clone)]
pub struct Rotation {
    paths: u16,
    /// What all values have in their upper bits.
    upper: u16,
    xor: u16,
    at: u16,
}

impl Rotation {
    fn new(paths: u16, draw: &mut Draw<'_>) -> Rotation {
        let upper = draw(u16::MAX.into()) as u16 & !(paths - 1);
        Rotation { paths, upper, xor: draw(paths.into()) as u16, at: 0 }
    }

    fn current(&self) -> u16 {
        (self.at ^ self.xor) & (self.paths - 1)
    }

    fn advance(&mut self, draw: &mut Draw<'_>) {
        self.at += 1;
        if self.at == self.paths {
            (self.at, self.xor) = (0, draw(self.paths.into()) as u16);
        }
    }

    fn next(&mut self, draw: &mut Draw<'_>) -> u16 {
        let value = self.current() | self.upper;
        self.advance(draw);
        value
    }
}

/// `UecMpBitmap`: the same, past values of which nothing good was heard.
#[derive(Debug, Clone)]
pub struct Bitmap {
    rotation: Rotation,
    /// How often each is passed over.
    penalties: Box<[u8]>,
    /// `_max_penalty`.
    most: u8,
}

/// UET's `_max_penalty`.
const MOST_PENALTY: u8 = 15;

impl Bitmap {
    fn new(paths: u16, most: u8, draw: &mut Draw<'_>) -> Bitmap {
        Bitmap { rotation: Rotation::new(paths, draw), penalties: vec![0; paths.into()].into(), most }
    }

    fn hear(&mut self, entropy: u16, feedback: Feedback) {
        let penalty = match feedback {
            Feedback::Good => 0,
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::TimedOut if self.most == 1 => 0,
            Feedback::TimedOut => MOST_PENALTY,
        };
        let own = &mut self.penalties[usize::from(entropy & (self.rotation.paths - 1))];
        *own = (*own + penalty).min(self.most);
    }

    /// The first value that is passed over has served a part of its penalty; with EQDS each has served all of it.
    fn next(&mut self, draw: &mut Draw<'_>) -> u16 {
        let mut passed = 0;
        while self.penalties[usize::from(self.rotation.current())] > 0 {
            if passed == 0 || self.most == 1 {
                self.penalties[usize::from(self.rotation.current())] -= 1;
            }
            passed += 1;
            if passed > self.rotation.paths && self.most > 1 {
                break;
            }
            self.rotation.advance(draw);
        }
        self.rotation.next(draw)
    }
}

/// `UecMpReps`: values that came back without a mark are used again, once each; else one is drawn. After a timeout only those
/// that came back are used (it freezes).
#[derive(Debug, Clone)]
pub struct Reps {
    paths: u16,
    /// The value in each place, and whether it is fresh (`CircularBufferREPS`).
    places: [(u16, bool); REPS],
    head: usize,
    count: usize,
    fresh: usize,
    frozen_head: usize,
    frozen_until: Option<Time>,
    /// Values that are drawn whatever has come back.
    exploring: u8,
}

/// `repsBufferSize`, `exit_freeze_after`, `explore_counter`.
const REPS: usize = 8;
const FREEZE: Time = Time::from_ms(10);
const EXPLORE: u8 = 16;

impl Reps {
    fn new(paths: u16) -> Reps {
        Reps {
            paths,
            places: [(0, false); REPS],
            head: 0,
            count: 0,
            fresh: 0,
            frozen_head: 0,
            frozen_until: None,
            exploring: 0,
        }
    }

    fn hear(&mut self, entropy: u16, feedback: Feedback, now: Time) {
        if feedback == Feedback::TimedOut && self.frozen_until.is_none() && self.exploring == 0 {
            self.frozen_until = Some(now.saturating_add(FREEZE));
        }
        if self.frozen_until.is_some_and(|until| now > until) {
            *self = Reps { exploring: EXPLORE, ..Reps::new(self.paths) };
        }
        if feedback == Feedback::Good {
            self.fresh = (self.fresh + usize::from(!self.places[self.head].1)).min(REPS);
            self.places[self.head] = (entropy, true);
            self.head = (self.head + 1) % REPS;
            self.count = (self.count + 1).min(REPS);
        }
    }

    fn next(&mut self, draw: &mut Draw<'_>) -> u16 {
        if self.exploring > 0 {
            self.exploring -= 1;
            return draw(self.paths.into()) as u16;
        }
        let place = match self.frozen_until {
            Some(_) if self.count > 0 => {
                let place = self.frozen_head;
                self.frozen_head = (self.frozen_head + 1) % self.count;
                place
            }
            None if self.count > 0 && self.fresh > 0 => (self.head + REPS - self.fresh) % REPS,
            _ => return draw(self.paths.into()) as u16,
        };
        let (value, fresh) = self.places[place];
        // `remove_earliest_fresh` counts without a look, `remove_frozen` after one.
        self.fresh -= usize::from(fresh || self.frozen_until.is_none());
        self.places[place].1 = false;
        value
    }
}
