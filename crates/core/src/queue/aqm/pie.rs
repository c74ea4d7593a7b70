use super::updates::Updates;
use super::{Aqm, Standing, Verdict, View};
use crate::limit::Backlog;
use crate::packet::Packet;
use crate::queue_spec::PieParams;
use crate::rng::unit;
use crate::roles::Drop;
use crate::units::Time;

/// `T_UPDATE` (RFC 8033, §4.2).
pub const T_UPDATE: Time = Time::from_ms(15);
/// The controller's gains in 1/s, for a target of 15 ms (§4.2; appendix A).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// The target that these gains are for.
const QDELAY_REF: Time = Time::from_ms(15);
/// §5.4: the accumulated probability below which nothing is dropped, and above which all is.
const ACCU: [f64; 2] = [0.85, 8.5];

/// PIE: a packet that arrives is dropped with a probability that a controller of the delay sets
/// every 15 ms (RFC 8033, appendix A, with §5.1, §5.4 and §5.5 of its options as in appendix B). The
/// delay is that of the packet that left last (§4.3, by timestamps), and zero once none waits.
#[derive(Debug, Clone)]
pub struct Pie {
    params: PieParams,
    /// How much larger the gains are than at a target of 15 ms.
    gain: f64,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: Time,
    qdelay_old: Time,
    burst_allowance: Time,
    updates: Updates,
}

impl Pie {
    /// PIE with `params`, in its initial state.
    pub fn new(params: PieParams) -> Pie {
        // §4.2: "if the target latency is reduced, the values of alpha and beta should be increased
        // by the same order of magnitude".
        let gain = (QDELAY_REF.0 as f64 / params.target.0.max(1) as f64).max(1.0);
        Pie {
            params,
            gain,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: Time::ZERO,
            qdelay_old: Time::ZERO,
            burst_allowance: params.burst,
            updates: Updates::every(T_UPDATE),
        }
    }

    fn is_short(&self, delay: Time) -> bool {
        delay < self.params.target / 2
    }

    /// Appendix B, `drop_early`: whether this packet is chosen.
    fn drop_early(&mut self, view: &mut View<'_>) -> bool {
        // "Safeguard PIE to be work conserving". MEAN_PKTSIZE is the link's MTU here, as in Linux.
        let idle = self.is_short(self.qdelay_old) && self.drop_prob < 0.2;
        if idle || view.backlog.bytes <= 2 * u64::from(view.mtu) {
            return false;
        }
        if !self.params.derandomize {
            return unit(view.rng) < self.drop_prob;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        let [low, high] = ACCU;
        let chosen = self.accu_prob >= low && (self.accu_prob >= high || unit(view.rng) < self.drop_prob);
        if chosen {
            self.accu_prob = 0.0;
        }
        chosen
    }

    /// Appendix A, `calculate_drop_prob`.
    fn calculate_drop_prob(&mut self) {
        let seconds = |t: Time| t.as_secs_f64();
        let delay = seconds(self.current_qdelay);
        let p = ALPHA * (delay - seconds(self.params.target)) + BETA * (delay - seconds(self.qdelay_old));
        let mut p = p * self.gain / scale(self.drop_prob);
        // §5.5
        if self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        if self.current_qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(T_UPDATE);
    }

    /// Whether an update changes nothing more.
    fn rests(&self) -> bool {
        let delays = [self.current_qdelay, self.qdelay_old, self.burst_allowance];
        self.drop_prob == 0.0 && delays.iter().all(|t| t.is_zero())
    }
}

/// §4.2: by what a step is divided at this probability.
fn scale(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

impl Aqm for Pie {
    fn watches_leaving(&self) -> bool {
        true
    }

    fn has_timer(&self) -> bool {
        true
    }

    /// Appendix A and B, `enque`.
    fn enqueue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if self.drop_prob == 0.0 && self.is_short(self.current_qdelay) && self.is_short(self.qdelay_old) {
            self.burst_allowance = self.params.burst;
        }
        self.updates.arrival(view.now);
        if !self.drop_early(view) || !self.burst_allowance.is_zero() {
            return Verdict::Pass;
        }
        // §5.1: "mark_ecnth"
        if self.drop_prob < self.params.mark_below { Verdict::Signal } else { Verdict::Drop(Drop::Aqm) }
    }

    /// Appendix A, `deque`.
    fn dequeue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        // As in Linux and ns-3, a queue that has just become empty has no delay: no later packet
        // would say so.
        self.current_qdelay = if view.backlog.packets == 0 { Time::ZERO } else { view.sojourn };
        Verdict::Pass
    }

    /// Appendix B, `enque`: "TAIL_DROP".
    fn refused(&mut self, _packet: &Packet) {
        self.accu_prob = 0.0;
    }

    /// As when a packet leaves and nothing waits behind it: no later packet would say so.
    fn shed(&mut self, _packet: &Packet, left: Backlog) {
        if left.packets == 0 {
            self.current_qdelay = Time::ZERO;
        }
    }

    fn timer(&mut self) -> Option<Time> {
        self.updates.wish()
    }

    fn on_timer(&mut self, port: &Standing<'_>) {
        // A timer of before a reset may still come.
        if self.updates.awake {
            self.calculate_drop_prob();
            self.updates.next(port.now, !self.rests());
        }
    }

    fn reset(&mut self) {
        *self = Pie::new(self.params);
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("drop_probability", self.drop_prob));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, NodeId, Pool};
    use crate::queue::scheduler::Fifo;
    use crate::units::Rate;

    fn at_work(drop_prob: f64, current_ms: u64, old_ms: u64) -> Pie {
        let (current_qdelay, qdelay_old) = (Time::from_ms(current_ms), Time::from_ms(old_ms));
        Pie { drop_prob, current_qdelay, qdelay_old, ..Pie::new(PieParams::default()) }
    }

    /// Worked by hand: p = .125 (d − .015) + 1.25 (d − d_old), over the divisor of §4.2.
    #[test]
    fn an_update_is_the_rfcs_sum() {
        // (before, delay now and before in ms, after)
        for (before, now, old, after) in [
            (0.0_f64, 35, 15, (0.125 * 0.020 + 1.25 * 0.020) / 2048.0),
            (0.05, 35, 15, 0.05 + 0.0275 / 2.0),
            (0.2, 31, 15, 0.2 + 0.02), // .022 is capped
            (0.2, 15, 27, 0.2 - 0.015),
            (0.5, 0, 0, (0.5 - 0.125 * 0.015) * 0.98),
            (0.000_5, 0, 10, 0.000_5 - (0.125 * 0.015 + 1.25 * 0.010) / 32.0),
            (0.000_05, 15, 15, 0.000_05),
            (0.99, 2000, 15, 1.0),
        ] {
            let mut pie = at_work(before, now, old);
            pie.calculate_drop_prob();
            assert!((pie.drop_prob - f64::max(after, 0.0)).abs() < 1e-12, "{before} {now} {old}: {}", pie.drop_prob);
            assert_eq!(pie.qdelay_old, Time::from_ms(now));
        }
    }

    #[test]
    fn a_shorter_target_has_larger_gains() {
        let mut pie = Pie::new(PieParams { target: Time::from_us(150), ..PieParams::default() });
        (pie.drop_prob, pie.current_qdelay, pie.qdelay_old) = (0.2, Time::from_us(250), Time::from_us(150));
        pie.calculate_drop_prob();
        assert!((pie.drop_prob - (0.2 + 100.0 * (0.125 * 1e-4 + 1.25 * 1e-4))).abs() < 1e-12, "{}", pie.drop_prob);
    }

    /// A lane that has lost its last packet has no delay, or the probability would rise to 1 and stay.
    #[test]
    fn a_queue_that_others_have_emptied_comes_to_rest() {
        let (fifo, pool) = (Fifo::unbounded(), Pool::new());
        let updates = |left: u64| {
            let mut pie = at_work(0.3, 40, 40);
            pie.updates.awake = true;
            pie.shed(
                &Packet::new(FlowId(0), NodeId(0), NodeId(1), 1500),
                Backlog { packets: left, bytes: 1500 * left },
            );
            let standing = |n| Standing {
                now: T_UPDATE * n,
                backlog: Backlog::default(),
                rate: Rate::from_mbps(10),
                mtu: 1500,
                scheduler: &fifo,
                pool: &pool,
            };
            let rest = (1..10_000).find(|n| {
                pie.on_timer(&standing(*n));
                pie.timer().is_none()
            });
            (rest.is_some(), pie.drop_prob)
        };
        assert_eq!(updates(0), (true, 0.0));
        assert_eq!(updates(1), (false, 1.0), "a packet that waits stands for the delay");
    }

    #[test]
    fn a_reset_one_is_as_new() {
        let mut pie = at_work(0.3, 20, 20);
        (pie.accu_prob, pie.updates.awake) = (0.5, true);
        pie.reset();
        assert_eq!((pie.drop_prob, pie.accu_prob, pie.qdelay_old, pie.updates.awake), (0.0, 0.0, Time::ZERO, false));
    }
}
