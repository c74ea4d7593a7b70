//! Hosts that take time to take in what has arrived: packets wait in the network card's receive queue.

use std::collections::VecDeque;

use super::timers::Wake;
use super::{Driver, Node, Step};
use crate::packet::{Pkt, Pool};
use crate::roles::{Drop, Received};
use crate::units::{Bytes, Rate, Time};

/// How a host takes packets out of its network card: one after the other, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Bytes, as they are on the link, in a time. `None`: bytes cost nothing.
    pub rate: Option<Rate>,
    /// What each packet costs, however large.
    pub per_packet: Time,
    /// Bytes that wait at most, with those of the packet that is being taken.
    pub buffer: u64,
}

impl Host {
    fn time_for(&self, size: u64) -> Time {
        self.per_packet.saturating_add(self.rate.map_or(Time::ZERO, |rate| rate.time_for(Bytes(size))))
    }
}

/// The receive queue of a host.
pub(super) struct ReceiveQueue {
    host: Host,
    waiting: VecDeque<Pkt>,
    /// When the first will have been taken.
    due: Time,
    /// What endpoints may know of the packet that was taken last.
    pub received: Received,
}

impl Node {
    /// The same node with a host that takes in packets at its own pace.
    #[must_use]
    pub fn with_host(mut self, host: Host) -> Node {
        let received = Received { waited: Time::ZERO, held: 0, buffer: host.buffer };
        let queue = ReceiveQueue { host, waiting: VecDeque::new(), due: Time::MAX, received };
        self.extras.get_or_insert_default().receive = Some(Box::new(queue));
        self
    }

    #[inline]
    pub(super) fn receive_queue(&self) -> Option<&ReceiveQueue> {
        self.extras.as_deref()?.receive.as_deref()
    }

    fn receive_queue_mut(&mut self) -> Option<&mut ReceiveQueue> {
        self.extras.as_deref_mut()?.receive.as_deref_mut()
    }

    /// A packet has come to its host, which takes it in when it has taken those before it.
    #[cold]
    pub(super) fn receive<D: Driver>(&mut self, now: Time, pkt: Pkt, pool: &mut Pool, driver: &mut D) {
        let size = u64::from(pool[&pkt].size);
        let Some(queue) = self.receive_queue_mut() else { return self.hand_up(now, pkt, pool, driver) };
        if queue.received.held + size > queue.host.buffer {
            return self.discard(None, pkt, Drop::Queue, pool, driver);
        }
        pool[&pkt].queued = now;
        if D::TRACES {
            driver.step(pkt.id(), &pool[&pkt], Step::Kept(None));
        }
        queue.received.held += size;
        queue.waiting.push_back(pkt);
        if queue.waiting.len() == 1 {
            self.take_next(now, pool);
        }
    }

    /// The host begins to take the packet that is first now.
    fn take_next(&mut self, now: Time, pool: &Pool) {
        let Some(queue) = self.receive_queue_mut() else { return };
        let taken = |pkt: &Pkt| now.saturating_add(queue.host.time_for(pool[pkt].size.into()));
        queue.due = queue.waiting.front().map_or(Time::MAX, taken);
        let due = queue.due;
        if due < Time::MAX {
            self.timers.push(due, Wake::Host);
        }
    }

    /// The host has taken the first packet that waited, if that is what it was woken for.
    pub(super) fn take_in<D: Driver>(&mut self, at: Time, now: Time, pool: &mut Pool, driver: &mut D) {
        let Some(queue) = self.receive_queue_mut().filter(|queue| queue.due == at) else { return };
        let Some(pkt) = queue.waiting.pop_front() else { return };
        queue.received.held -= u64::from(pool[&pkt].size);
        queue.received.waited = now.saturating_sub(pool[&pkt].queued);
        self.take_next(now, pool);
        self.hand_up(now, pkt, pool, driver);
    }

    /// What waited is lost.
    pub(super) fn clear_receive_queue<D: Driver>(&mut self, pool: &mut Pool, driver: &mut D) {
        let Some(queue) = self.receive_queue_mut() else { return };
        (queue.due, queue.received.held) = (Time::MAX, 0);
        let lost = std::mem::take(&mut queue.waiting);
        lost.into_iter().for_each(|pkt| self.discard(None, pkt, Drop::Fault, pool, driver));
    }

    /// Packets that wait for the host.
    pub(super) fn awaiting_host(&self) -> u64 {
        self.receive_queue().map_or(0, |queue| queue.waiting.len() as u64)
    }
}
