//! DCQCN's reaction point (§3.1, figure 7). Rates in any unit.

/// What is the same for all flows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gains {
    /// g.
    pub g: f64,
    /// F.
    pub fast_recovery: u32,
    /// R_AI.
    pub additive: f64,
    /// R_HAI.
    pub hyper: f64,
    /// What R_T is at most: the line rate.
    pub most: f64,
}

/// R_C, R_T, α, and how often the timer and the byte counter have gone round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub current: f64,
    pub target: f64,
    pub alpha: f64,
    timer: u32,
    bytes: u32,
}

/// Which counter has gone round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    Timer,
    Bytes,
}

impl State {
    /// A rate to begin with; α is 1 (equation 1).
    pub fn new(rate: f64) -> State {
        State { current: rate, target: rate, alpha: 1.0, timer: 0, bytes: 0 }
    }

    /// Equation 1: a CNP.
    pub fn cut(&mut self, gains: &Gains) {
        self.target = self.current;
        self.current *= 1.0 - self.alpha / 2.0;
        self.alpha = (1.0 - gains.g) * self.alpha + gains.g;
        debug_assert!((0.0..=1.0).contains(&self.alpha), "alpha is a share, not {}", self.alpha);
        (self.timer, self.bytes) = (0, 0);
    }

    /// Equation 2: K has gone without a CNP, so many times.
    pub fn calm(&mut self, gains: &Gains, times: i32) {
        self.alpha *= (1.0 - gains.g).powi(times);
    }

    /// Equations 3 and 4, figure 7: fast recovery, additive or hyper increase.
    pub fn increase(&mut self, gains: &Gains, round: Round) {
        match round {
            Round::Timer => self.timer += 1,
            Round::Bytes => self.bytes += 1,
        }
        let (more, less) = (self.timer.max(self.bytes), self.timer.min(self.bytes));
        if less > gains.fast_recovery {
            self.target += gains.hyper;
        } else if more >= gains.fast_recovery {
            self.target += gains.additive;
        }
        self.target = self.target.min(gains.most);
        self.current = (self.current + self.target) / 2.0;
        debug_assert!(self.current.is_finite() && self.current > 0.0, "a rate of {}", self.current);
    }
}
