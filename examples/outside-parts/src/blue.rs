//! An AQM of one's own: BLUE (Feng, Shin, Kandlur and Saha: The BLUE active queue management
//! algorithms, 2002).
//!
//! One probability for the whole port. It grows when the queue is long and falls when the link is
//! idle.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::rng::unit;
use midpath_core::units::Time;

/// The probability's steps (δ₁, δ₂) and the least time between two of them: the smallest that the
/// authors try.
const UP: f64 = 0.0025;
const DOWN: f64 = 0.00025;
const FREEZE: Time = Time::from_ms(10);
/// What is long: the authors' variant, which begins before the queue is full. Ours, in time at the
/// port's rate.
const LONG: Time = Time::from_ms(20);

/// Its state.
#[derive(Debug, Default)]
pub struct Blue {
    probability: f64,
    changed: Time,
}

impl Aqm for Blue {
    fn enqueue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let long = view.backlog.bytes > view.rate.bytes_in(LONG).0;
        if view.now.saturating_sub(self.changed) > FREEZE && (long || !view.busy()) {
            self.probability = (self.probability + if long { UP } else { -DOWN }).clamp(0.0, 1.0);
            self.changed = view.now;
        }
        if unit(view.rng) < self.probability { Verdict::Signal } else { Verdict::Pass }
    }

    fn reset(&mut self) {
        *self = Blue::default();
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("mark_probability", self.probability));
    }
}
