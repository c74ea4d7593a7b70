//! State shared between the interfaces of one router: load, and messages from one to another.

use std::collections::VecDeque;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::units::Time;

use super::header::Feedback;
use super::load::{Gains, PortLoad, PublishedLoad};

/// Messages that wait for one interface at most; the oldest goes for a new one. An interface looks
/// every few milliseconds. Ours.
const MAX_MESSAGES: usize = 256;

/// Who detours through an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contender {
    /// Another interface of this router.
    Sibling(PortId),
    /// A neighbour.
    Router(NodeId),
}

/// What one interface tells another, which finds it when it next looks: nobody is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PortMessage {
    /// Somebody wants to detour through you.
    Contends(Contender),
    /// The answer to your probe, from the detour that begins with this interface.
    Answer(PortId, Feedback),
}

/// The interfaces of one router.
#[derive(Debug)]
pub struct Siblings(Vec<PortMailbox>);

/// What one of them says, and what it is told. Each packet reads and writes both: they lie beside
/// each other.
#[derive(Debug, Clone, Default)]
struct PortMailbox {
    messages: VecDeque<PortMessage>,
    load: PortLoad,
}

impl Siblings {
    /// Of a router with this many ports.
    pub fn new(ports: usize) -> Siblings {
        Siblings(vec![PortMailbox::default(); ports])
    }

    /// Load that an interface last published, rounded as in headers.
    #[inline]
    pub fn load_of(&self, port: PortId) -> PortLoad {
        self.0[usize::from(port.0)].load.rounded()
    }

    /// Whether an interface was in Push when it last published.
    #[inline]
    pub fn is_in_push(&self, port: PortId) -> bool {
        self.0[usize::from(port.0)].load.published.push
    }

    /// Whether a message waits for an interface.
    #[inline]
    pub fn has_message(&self, port: PortId) -> bool {
        !self.0[usize::from(port.0)].messages.is_empty()
    }

    /// Publishes the load of an interface.
    #[inline]
    pub fn publish(&mut self, port: PortId, published: PublishedLoad) {
        self.0[usize::from(port.0)].load.published = published;
    }

    /// A packet has begun to leave an interface, with so many bytes for others that detour through it. Whether a
    /// message waits there.
    #[inline]
    pub fn sent(&mut self, port: PortId, (size, detoured): (u32, u32), now: Time, gains: &Gains) -> bool {
        let PortMailbox { messages, load } = &mut self.0[usize::from(port.0)];
        load.sent(size, detoured, now, gains);
        !messages.is_empty()
    }

    /// The same of a packet that leaves only if no message waits, and is on no detour. Whether it does.
    #[inline]
    pub fn sent_unless_told(&mut self, port: PortId, size: u32, now: Time, gains: &Gains) -> bool {
        let PortMailbox { messages, load } = &mut self.0[usize::from(port.0)];
        let leaves = messages.is_empty();
        if leaves {
            load.sent(size, 0, now, gains);
        }
        leaves
    }

    /// Forgets what has left an interface.
    pub fn forget_load(&mut self, port: PortId) {
        let load = &mut self.0[usize::from(port.0)].load;
        *load = PortLoad { published: load.published, ..PortLoad::default() };
    }

    /// Leaves a message for an interface, if there is such a one.
    pub fn post(&mut self, port: PortId, message: PortMessage) {
        let Some(PortMailbox { messages, .. }) = self.0.get_mut(usize::from(port.0)) else { return };
        if messages.len() == MAX_MESSAGES {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// The next message to an interface, oldest first.
    pub fn take(&mut self, port: PortId) -> Option<PortMessage> {
        self.0[usize::from(port.0)].messages.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order_and_are_bounded() {
        let mut siblings = Siblings::new(2);
        let message = |i: u32| PortMessage::Contends(Contender::Router(NodeId(i)));
        (0..300).for_each(|i| siblings.post(PortId(1), message(i)));
        siblings.post(PortId(9), message(0));
        assert_eq!(siblings.take(PortId(0)), None);
        let got: Vec<PortMessage> = std::iter::from_fn(|| siblings.take(PortId(1))).collect();
        assert_eq!(got, (44..300).map(message).collect::<Vec<_>>());
    }
}
