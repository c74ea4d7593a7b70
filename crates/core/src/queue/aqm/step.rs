use super::{Aqm, Unsignalled, Verdict, View};
use crate::limit::Bound;
use crate::packet::Packet;
use crate::units::Time;

/// Chooses each packet that finds more than a threshold waiting: DCTCP's switch (RFC 8257, §1;
/// "K").
#[derive(Debug, Clone)]
pub struct Step {
    threshold: Bound,
}

impl Step {
    /// Chooses above `threshold`.
    pub const fn new(threshold: Bound) -> Step {
        Step { threshold }
    }
}

impl Aqm for Step {
    fn indifferent_within(&self) -> Bound {
        self.threshold
    }

    #[inline]
    fn enqueue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let above = view.backlog.bytes > self.threshold.bytes || view.backlog.packets > self.threshold.packets;
        if above { Verdict::Signal } else { Verdict::Pass }
    }

    // It chooses every packet for as long as the queue is long: to drop them all would starve who
    // cannot be told otherwise.
    fn unable(&mut self, _packet: &Packet) -> Unsignalled {
        Unsignalled::Pass
    }
}

/// The same by time: chooses each packet that has waited for longer than a threshold (a step marker
/// as in RFC 9332, §2.4).
#[derive(Debug, Clone)]
pub struct DelayStep {
    threshold: Time,
}

impl DelayStep {
    /// Chooses above `threshold`.
    pub const fn new(threshold: Time) -> DelayStep {
        DelayStep { threshold }
    }
}

impl Aqm for DelayStep {
    fn watches_arriving(&self) -> bool {
        false
    }

    fn watches_leaving(&self) -> bool {
        true
    }

    #[inline]
    fn dequeue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if view.sojourn > self.threshold { Verdict::Signal } else { Verdict::Pass }
    }

    fn unable(&mut self, _packet: &Packet) -> Unsignalled {
        Unsignalled::Pass
    }
}
