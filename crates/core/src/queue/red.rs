use crate::packet::Packet;
use crate::queue::{Bound, Limit};
use crate::rng::unit;
use crate::roles::{Admission, AdmitCtx, Drop, Verdict};
use crate::units::{Rate, Time, TxClock};

/// RED's parameters (Floyd and Jacobson, 1993); the defaults are those of Floyd's notes of 1997 and 2000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedParams {
    /// Below this average nothing happens.
    pub min: Limit,
    /// Above this average everything does (with `gentle`: above twice this).
    pub max: Limit,
    /// Probability at `max`.
    pub max_p: f64,
    /// Weight of the newest queue length in the average.
    pub weight: f64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Let the probability grow from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
}

/// Random early detection over an average of the bytes waiting.
#[derive(Debug, Clone)]
pub struct Red {
    bound: Bound,
    params: RedParams,
    min: f64,
    max: f64,
    packets: bool,
    average: f64,
    /// Packets since the last one marked (−1: the average was below `min`).
    count: i64,
    typical: Time,
}

impl Red {
    /// A RED queue on a port of `rate`.
    pub fn new(bound: Bound, params: RedParams, rate: Rate) -> Red {
        let packets = matches!(params.max, Limit::Packets(_));
        let edge = |l: Limit| {
            let b = l.bound(rate);
            (if packets { b.packets } else { b.bytes }) as f64
        };
        Red {
            bound,
            params,
            min: edge(params.min),
            max: edge(params.max),
            packets,
            average: 0.0,
            count: -1,
            // §11: "s, a typical transmission time for a small packet"; a full-sized one here, for decay errs slow then.
            typical: TxClock::new(rate).time(1500),
        }
    }

    /// The average queue length: §4, the first half of the "detailed algorithm".
    fn update(&mut self, ctx: &AdmitCtx<'_>) {
        let q = (if self.packets { ctx.backlog.packets } else { ctx.backlog.bytes }) as f64;
        match ctx.idle_since {
            // m = f(time - q_time); avg <- (1 - w_q)^m avg
            Some(since) if q == 0.0 => {
                let m = (ctx.now - since).0 as f64 / self.typical.0 as f64;
                self.average *= (1.0 - self.params.weight).powf(m);
            }
            _ => self.average += self.params.weight * (q - self.average),
        }
    }

    /// The probability p_b before spacing, or `None` for "certainly".
    fn probability(&self) -> Option<f64> {
        let (avg, p) = (self.average, self.params.max_p);
        if avg < self.max {
            return Some(p * (avg - self.min) / (self.max - self.min));
        }
        (self.params.gentle && avg < 2.0 * self.max).then(|| p + (1.0 - p) * (avg - self.max) / self.max)
    }

    /// Whether this arrival is chosen.
    fn chooses(&mut self, ctx: &mut AdmitCtx<'_>) -> bool {
        if self.average < self.min {
            self.count = -1;
            return false;
        }
        self.count += 1;
        // p_a <- p_b / (1 - count p_b): spaces the marks evenly.
        let chosen = self.probability().is_none_or(|pb| {
            let rest = 1.0 - self.count as f64 * pb;
            rest <= 0.0 || unit(ctx.rng) < pb / rest
        });
        if chosen {
            self.count = 0;
        }
        chosen
    }
}

impl Admission for Red {
    fn admit(&mut self, packet: &mut Packet, ctx: &mut AdmitCtx<'_>) -> Verdict {
        self.update(ctx);
        let chosen = self.chooses(ctx);
        if !self.bound.admits(ctx.backlog, packet.size) {
            return Verdict::Drop(Drop::Queue);
        }
        match chosen {
            false => Verdict::Accept,
            true if self.params.ecn && packet.ecn.capable() => Verdict::Mark,
            true => Verdict::Drop(Drop::Aqm),
        }
    }

    fn reset(&mut self) {
        self.average = 0.0;
        self.count = -1;
    }
}
