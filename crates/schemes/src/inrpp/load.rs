//! A port's load, and the capacity that it offers to detours: inputs of equations (1) and (2).

use midpath_core::units::{Rate, Time};

use super::equations;
use super::header::Feedback;

/// α, β, and the intervals: what equation (1) needs.
#[derive(Debug, Clone, Copy)]
pub struct Gains {
    /// α, below π/(4√2).
    pub alpha: f64,
    /// T_p.
    pub interval: Time,
    /// Weight of the newest interval in the moving average.
    pub weight: f64,
    /// The share of the detoured load that changes hands; 0 is the paper's text.
    pub shuffle: f64,
}

/// The moving average of what a port has sent per interval. Nothing is done while nothing is sent:
/// whoever reads it lets the intervals pass that have ended since.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    /// Bytes per interval, averaged over the intervals before `index`.
    mean: f64,
    /// The current interval.
    index: u64,
    /// When it ends, in time's unit: until then nothing is divided.
    until: u64,
    /// Bytes sent in it.
    bytes: u64,
}

impl Load {
    #[inline]
    fn roll(&mut self, now: Time, gains: &Gains) {
        if now.0 >= self.until {
            self.roll_on(now, gains);
        }
    }

    #[inline(never)] // one packet in a few: in line it would cost each the registers that it needs
    fn roll_on(&mut self, now: Time, gains: &Gains) {
        let index = now.0 / gains.interval.0;
        self.until = (index + 1).saturating_mul(gains.interval.0);
        let passed = index.saturating_sub(self.index);
        if passed > 0 {
            self.mean += gains.weight * (self.bytes as f64 - self.mean);
            // The intervals after it were empty.
            self.mean *= (1.0 - gains.weight).powi(i32::try_from(passed - 1).unwrap_or(i32::MAX));
            (self.index, self.bytes) = (index, 0);
        }
    }

    /// A packet has begun to leave.
    #[inline]
    pub fn sent(&mut self, size: u32, now: Time, gains: &Gains) {
        self.roll(now, gains);
        self.bytes += u64::from(size);
    }

    /// Bytes per interval, averaged over the last few.
    pub fn mean(mut self, now: Time, gains: &Gains) -> f64 {
        self.roll(now, gains);
        self.mean
    }

    /// As it is told to others: the average in single precision, whose error is far below a packet.
    #[inline]
    pub fn rounded(self) -> Load {
        Load { mean: f64::from(self.mean as f32), ..self }
    }

    /// Whether nothing was ever sent: to count nothing more would leave it as it is.
    #[inline]
    fn is_nothing(&self) -> bool {
        self.bytes == 0 && self.mean == 0.0
    }

    /// Nothing has been sent.
    pub fn reset(&mut self) {
        *self = Load::default();
    }
}

/// Load that a port publishes to the other ports of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishedLoad {
    /// Whether it is in Push.
    pub push: bool,
    /// Routers (and ports of this one) that contend for it.
    pub contenders: u32,
    /// Bytes in its buffer.
    pub queue: u32,
}

/// What its siblings know of a port.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortLoad {
    /// As last published.
    pub published: PublishedLoad,
    /// What it sends.
    pub load: Load,
    /// What it sends for others that detour through it.
    pub detoured: Load,
}

impl PortLoad {
    /// A packet has begun to leave, with so many bytes for others that detour through the port.
    #[inline]
    pub fn sent(&mut self, size: u32, detoured: u32, now: Time, gains: &Gains) {
        self.load.sent(size, now, gains);
        if detoured > 0 || !self.detoured.is_nothing() {
            self.detoured.sent(detoured, now, gains);
        }
    }

    /// As it is told to others.
    #[inline]
    pub fn rounded(self) -> PortLoad {
        PortLoad { load: self.load.rounded(), detoured: self.detoured.rounded(), ..self }
    }

    /// Equations (1) and (2) for an interface of rate `rate`.
    ///
    /// Added to the paper's: shuffling as in XCP. Equation (2) lets everybody grow by equal parts
    /// and shrink in proportion, but once the spare capacity is taken nobody grows or shrinks any
    /// more, and who came first keeps what it has. So a part of the detoured load, `shuffle`,
    /// changes hands while there is no other reason to move: each gives back in proportion, and
    /// gets an equal part.
    pub fn feedback(&self, rate: Rate, now: Time, gains: &Gains) -> Feedback {
        let interval = gains.interval.as_secs_f64();
        let (load, detoured) = (self.load.mean(now, gains), self.detoured.mean(now, gains));
        // RB: capacity minus load, in bytes per second.
        let residual = rate.as_f64() / 8.0 - load / interval;
        let spare = equations::spare_capacity(gains.alpha, interval, residual, self.published.queue.into());
        let moved = (gains.shuffle * detoured - spare.abs()).max(0.0);
        let contenders = f64::from(self.published.contenders.max(1));
        // In the bytes per second that equation (3) adds.
        let up = equations::delta_plus(spare.max(0.0) + moved, contenders) / interval;
        let back = equations::delta_minus(spare, load);
        let shuffled = if detoured > 0.0 { moved / detoured } else { 0.0 };
        Feedback { push: self.published.push, up, down: (back + shuffled).min(1.0) }
    }
}
