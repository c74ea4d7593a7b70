use crate::packet::Packet;
use crate::queue::Bound;
use crate::roles::{Admission, AdmitCtx, Drop, Verdict};

/// Refuses what does not fit.
#[derive(Debug, Clone)]
pub struct DropTail {
    bound: Bound,
}

impl DropTail {
    /// Holds at most `bound`.
    pub const fn new(bound: Bound) -> DropTail {
        DropTail { bound }
    }
    /// The bound it holds to.
    pub const fn bound(&self) -> Bound {
        self.bound
    }
}

impl Admission for DropTail {
    #[inline]
    fn admit(&mut self, packet: &mut Packet, ctx: &mut AdmitCtx<'_>) -> Verdict {
        if self.bound.admits(ctx.backlog, packet.size) { Verdict::Accept } else { Verdict::Drop(Drop::Queue) }
    }
}

/// Drop-tail that marks an arriving ECN-capable packet when more than a threshold waits already: DCTCP's switch (RFC 8257, §1; "K").
#[derive(Debug, Clone)]
pub struct Step {
    bound: Bound,
    threshold: Bound,
}

impl Step {
    /// Holds at most `bound`, marks above `threshold`.
    pub const fn new(bound: Bound, threshold: Bound) -> Step {
        Step { bound, threshold }
    }
}

impl Admission for Step {
    #[inline]
    fn admit(&mut self, packet: &mut Packet, ctx: &mut AdmitCtx<'_>) -> Verdict {
        if !self.bound.admits(ctx.backlog, packet.size) {
            return Verdict::Drop(Drop::Queue);
        }
        let above = ctx.backlog.bytes > self.threshold.bytes || ctx.backlog.packets > self.threshold.packets;
        if above && packet.ecn.capable() { Verdict::Mark } else { Verdict::Accept }
    }
}
