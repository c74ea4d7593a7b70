//! Trace events of a node, besides the fates of packets.

use super::{Driver, EndId, Node};
use crate::limit::Backlog;
use crate::packet::{PacketId, Pkt, Pool, PortId};
use crate::roles::{Action, Endpoint, Way};

/// What happens to a packet between its beginning and its fate, besides that it comes in and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// This end of its flow has made it.
    Made(EndId),
    /// A port keeps it, for it cannot leave at once: with what waits there, itself included.
    Queued(PortId, Backlog),
    /// What looks at packets that come in keeps it: the port, or the node's forwarder.
    Kept(Option<PortId>),
    /// A port of this node sends it through this one.
    Sibling(PortId),
    /// A port gives it back to the forwarder.
    Back(PortId),
}

impl Node {
    /// Tells a driver that traces what roles have noted since the last time.
    #[inline(always)]
    pub(super) fn trace_notes<D: Driver>(pool: &mut Pool, driver: &mut D) {
        if D::TRACES {
            let mut notes = pool.take_notes();
            for note in notes.drain(..) {
                driver.noted(note, note.packet.map(|id| pool.peek(id)));
            }
            pool.give_back_notes(notes);
        }
    }

    /// Tells a driver that traces how an end is after a call, and which packets it has made.
    pub(super) fn trace_call<'a, D: Driver>(
        (end, endpoint): (EndId, Option<&dyn Endpoint>),
        made: impl Iterator<Item = &'a (Way, Pkt)>,
        pool: &Pool,
        driver: &mut D,
    ) {
        endpoint.into_iter().for_each(|endpoint| driver.called(end, endpoint));
        for (_, pkt) in made {
            driver.step(pkt.id(), &pool[pkt], Step::Made(end));
        }
    }

    /// Tells a driver that traces that a port has kept a packet, if it has: it neither leaves now
    /// nor has the port wished anything else for it.
    pub(super) fn trace_kept<D: Driver>(
        &mut self,
        step: impl FnOnce(&mut Node) -> Step,
        id: PacketId,
        leaves: Option<&Pkt>,
        pool: &Pool,
        driver: &mut D,
    ) {
        let goes = |action: &Action| action.packet().is_some_and(|pkt| pkt.id() == id);
        if leaves.is_none_or(|pkt| pkt.id() != id) && !self.actions.iter().any(goes) {
            let step = step(self);
            driver.step(id, pool.peek(id), step);
        }
    }
}
