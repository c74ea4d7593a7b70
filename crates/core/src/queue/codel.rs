use std::collections::VecDeque;

use crate::packet::Pkt;
use crate::queue::Bound;
use crate::roles::{Backlog, Drop, Port, PortCtx};
use crate::units::Time;

/// CoDel's parameters (RFC 8289, §4.2 and §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelParams {
    /// Acceptable standing delay; 5 ms.
    pub target: Time,
    /// A time of the order of the longest usual round trip; 100 ms.
    pub interval: Time,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for CodelParams {
    fn default() -> CodelParams {
        CodelParams { target: Time::from_ms(5), interval: Time::from_ms(100), ecn: false }
    }
}

/// CoDel's estimator and control law (RFC 8289, §5), apart from any queue: RPM runs the same one.
#[derive(Debug, Clone, Default)]
pub struct CodelState {
    first_above: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// A packet was chosen in the dropping state; the next choice is scheduled if the packet after it is as late.
    chosen: bool,
}

impl CodelState {
    /// §5.5 `dodequeue`: whether the packet that waited `sojourn` finds the delay too high for too long.
    fn ok_to_drop(&mut self, now: Time, sojourn: Time, left_bytes: u64, mtu: u32, p: &CodelParams) -> bool {
        if sojourn < p.target || left_bytes <= u64::from(mtu) {
            self.first_above = Time::ZERO;
            false
        } else if self.first_above.is_zero() {
            self.first_above = now + p.interval;
            false
        } else {
            now >= self.first_above
        }
    }

    /// §5.3 `control_law`: the next drop after `t`.
    fn control_law(&self, t: Time, p: &CodelParams) -> Time {
        t + p.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    /// §5.6: told of each packet that reaches the head; says whether this one is to be dropped (or marked).
    /// After `true` the caller drops it and asks again with the next one, or marks it, says so with
    /// [`CodelState::on_mark`], and sends it.
    pub fn on_dequeue(&mut self, now: Time, sojourn: Time, left_bytes: u64, mtu: u32, p: &CodelParams) -> bool {
        let ok = self.ok_to_drop(now, sojourn, left_bytes, mtu, p);
        if self.dropping {
            self.dropping = ok;
            if ok && self.chosen {
                self.drop_next = self.control_law(self.drop_next, p);
            }
            self.chosen = ok && now >= self.drop_next;
            self.count += u32::from(self.chosen);
            return self.chosen;
        }
        if !ok {
            return false;
        }
        self.dropping = true;
        // "If min went above target close to when it last went below, assume that the drop rate that controlled the
        // queue on the last cycle is a good starting point."
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next) < p.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now, p);
        self.last_count = self.count;
        true
    }

    /// The chosen packet was marked: the next choice is scheduled without looking at the packet after it, as in Linux
    /// (RFC 8289 has no pseudo-code for ECN).
    pub fn on_mark(&mut self, p: &CodelParams) {
        if std::mem::take(&mut self.chosen) {
            self.drop_next = self.control_law(self.drop_next, p);
        }
    }

    /// Whether it is in the dropping state.
    pub const fn dropping(&self) -> bool {
        self.dropping
    }

    /// The queue ran empty (§5.5: an empty queue leaves the dropping state).
    pub fn on_empty(&mut self) {
        self.first_above = Time::ZERO;
        self.dropping = false;
        self.chosen = false;
    }
}

/// A FIFO under CoDel.
#[derive(Debug)]
pub struct Codel {
    bound: Bound,
    params: CodelParams,
    state: CodelState,
    queue: VecDeque<Pkt>,
    bytes: u64,
}

impl Codel {
    /// Holds at most `bound`.
    pub fn new(bound: Bound, params: CodelParams) -> Codel {
        Codel { bound, params, state: CodelState::default(), queue: VecDeque::new(), bytes: 0 }
    }

    fn pop(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.queue.pop_front()?;
        self.bytes -= u64::from(ctx.pool[&pkt].size);
        Some(pkt)
    }
}

impl Port for Codel {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let size = ctx.pool[&pkt].size;
        if !self.bound.admits(self.backlog(), size) {
            return ctx.drop(pkt, Drop::Queue);
        }
        ctx.pool[&pkt].queued = ctx.now;
        self.bytes += u64::from(size);
        self.queue.push_back(pkt);
    }

    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let mtu = ctx.link().mtu;
        loop {
            let Some(pkt) = self.pop(ctx) else {
                self.state.on_empty();
                return None;
            };
            let sojourn = ctx.now.saturating_sub(ctx.pool[&pkt].queued);
            if !self.state.on_dequeue(ctx.now, sojourn, self.bytes, mtu, &self.params) {
                return Some(pkt);
            }
            if self.params.ecn && ctx.pool[&pkt].ecn.capable() {
                ctx.mark(&pkt);
                self.state.on_mark(&self.params);
                return Some(pkt);
            }
            ctx.drop(pkt, Drop::Aqm);
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.bytes }
    }

    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.queue.drain(..).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        self.bytes = 0;
        self.state = CodelState::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a constant sojourn, one packet per millisecond, and returns when packets were chosen, in ms.
    fn chosen(sojourn_ms: u64, until_ms: u64) -> Vec<u64> {
        let (mut s, p) = (CodelState::default(), CodelParams::default());
        (1..=until_ms)
            .filter(|t| s.on_dequeue(Time::from_ms(*t), Time::from_ms(sojourn_ms), 100_000, 1500, &p))
            .collect()
    }

    #[test]
    fn below_target_nothing_happens() {
        assert!(chosen(4, 5_000).is_empty());
    }

    #[test]
    fn above_target_drops_follow_the_inverse_square_root() {
        // The first after one interval; the n-th gap is interval/sqrt(n) (§5.3), on packets one millisecond apart.
        let got = chosen(20, 600);
        let (mut t, mut want) = (101.0, vec![101]);
        for n in 1..got.len() {
            t += 100.0 / (n as f64).sqrt();
            want.push((t - 1e-9).ceil() as u64);
        }
        assert_eq!(got, want);
        assert!(got.len() > 8);
    }

    #[test]
    fn a_backlog_of_one_packet_is_never_punished() {
        let (mut s, p) = (CodelState::default(), CodelParams::default());
        assert!((1..2000).all(|t| !s.on_dequeue(Time::from_ms(t), Time::from_ms(50), 1500, 1500, &p)));
    }
}
