//! HyStart++: RFC 9406. Leaves the first slow start when the round-trip time rises, before the
//! queue overflows. What Linux has instead: [`linux`].

pub mod linux;

use midpath_core::units::Time;

use super::cc::{Ack, Window};

/// RFC 9406, §4.3: MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR.
const MIN_RTT_THRESH: Time = Time::from_ms(4);
const MAX_RTT_THRESH: Time = Time::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
/// §4.3: N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// §4.3: CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// §4.3: CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;

/// What slow start does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Over: it is for the first slow start only (§4.3).
    Off,
    /// Slow start, watching the round-trip time.
    Watching,
    /// Conservative slow start: a quarter of the growth, for this many rounds more.
    Conservative(u32),
}

/// The state of HyStart++ in one connection.
#[derive(Debug, Clone, Copy)]
pub struct HyStart {
    mode: Mode,
    /// windowEnd: the round is over when this is acknowledged.
    window_end: u64,
    last_min: Time,
    current_min: Time,
    samples: u32,
    /// cssBaselineMinRtt.
    baseline: Time,
}

impl Default for HyStart {
    /// Watches from the start.
    fn default() -> HyStart {
        HyStart {
            mode: Mode::Watching,
            window_end: 0,
            last_min: Time::MAX,
            current_min: Time::MAX,
            samples: 0,
            baseline: Time::MAX,
        }
    }
}

impl HyStart {
    /// Called with each ACK in slow start and the growth that it would give; returns the growth
    /// that it may give. Sets the threshold when slow start is to end.
    #[inline]
    pub fn limit_growth(&mut self, growth: u64, window: &mut Window, ack: &Ack) -> u64 {
        match self.mode {
            Mode::Off => growth,
            _ => self.watch(growth, window, ack),
        }
    }

    /// Whether it has ended slow start.
    pub fn is_over(&self) -> bool {
        self.mode == Mode::Off
    }

    fn watch(&mut self, growth: u64, window: &mut Window, ack: &Ack) -> u64 {
        self.round(window, ack);
        if let Some(rtt) = ack.rtt {
            self.current_min = self.current_min.min(rtt);
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.compare();
        }
        if self.mode == Mode::Watching { growth } else { growth / CSS_GROWTH_DIVISOR }
    }

    /// §4.2: rounds are as long as a window of data.
    fn round(&mut self, window: &mut Window, ack: &Ack) {
        if ack.una <= self.window_end {
            return;
        }
        self.window_end = ack.nxt;
        (self.last_min, self.current_min, self.samples) = (self.current_min, Time::MAX, 0);
        match self.mode {
            // "If CSS_ROUNDS rounds are complete, enter congestion avoidance: ssthresh = cwnd."
            Mode::Conservative(1) => {
                window.ssthresh = window.cwnd;
                self.mode = Mode::Off;
            }
            Mode::Conservative(left) => self.mode = Mode::Conservative(left - 1),
            Mode::Watching | Mode::Off => {}
        }
    }

    /// §4.2: whether the round-trip time has risen since the last round, or has fallen below where
    /// it had risen to.
    fn compare(&mut self) {
        match self.mode {
            Mode::Watching if self.last_min < Time::MAX => {
                let thresh = (self.last_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.current_min >= self.last_min + thresh {
                    self.baseline = self.current_min;
                    self.mode = Mode::Conservative(CSS_ROUNDS);
                }
            }
            // The rise was spurious: back to slow start.
            Mode::Conservative(_) if self.current_min < self.baseline => {
                self.baseline = Time::MAX;
                self.mode = Mode::Watching;
            }
            _ => {}
        }
    }
}
