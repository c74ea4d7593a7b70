//! State shared between the interfaces of one router: load, and messages from one to another.

use std::collections::VecDeque;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::units::Time;

use super::header::Feedback;
use super::load::{Gains, PortLoad, Said};

/// Letters that wait for one interface at most; the oldest goes for a new one. An interface looks
/// every few milliseconds. Ours.
const MAX_LETTERS: usize = 256;

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
pub enum Letter {
    /// Somebody wants to detour through you.
    Contends(Contender),
    /// The answer to your probe, from the detour that begins with this interface.
    Answer(PortId, Feedback),
}

/// The interfaces of one router.
#[derive(Debug)]
pub struct Siblings(Vec<Sibling>);

/// What one of them says, and what it is told. Each packet reads and writes both: they lie beside
/// each other.
#[derive(Debug, Clone, Default)]
struct Sibling {
    letters: VecDeque<Letter>,
    load: PortLoad,
}

impl Siblings {
    /// Of a router with this many ports.
    pub fn new(ports: usize) -> Siblings {
        Siblings(vec![Sibling::default(); ports])
    }

    /// What an interface has last said of itself, rounded as it is told to others.
    #[inline]
    pub fn load_of(&self, port: PortId) -> PortLoad {
        self.0[usize::from(port.0)].load.rounded()
    }

    /// Whether an interface was in Push when it last said so.
    #[inline]
    pub fn is_in_push(&self, port: PortId) -> bool {
        self.0[usize::from(port.0)].load.said.push
    }

    /// Whether a letter waits for an interface.
    #[inline]
    pub fn has_letter(&self, port: PortId) -> bool {
        !self.0[usize::from(port.0)].letters.is_empty()
    }

    /// Says what an interface is like now.
    #[inline]
    pub fn publish(&mut self, port: PortId, said: Said) {
        self.0[usize::from(port.0)].load.said = said;
    }

    /// A packet has begun to leave an interface, with so many bytes for others that detour through it. Whether a
    /// letter waits there.
    #[inline]
    pub fn sent(&mut self, port: PortId, (size, detoured): (u32, u32), now: Time, gains: &Gains) -> bool {
        let Sibling { letters, load } = &mut self.0[usize::from(port.0)];
        load.sent(size, detoured, now, gains);
        !letters.is_empty()
    }

    /// Forgets what has left an interface.
    pub fn forget_load(&mut self, port: PortId) {
        let load = &mut self.0[usize::from(port.0)].load;
        *load = PortLoad { said: load.said, ..PortLoad::default() };
    }

    /// Leaves a letter for an interface, if there is such a one.
    pub fn post(&mut self, port: PortId, letter: Letter) {
        let Some(Sibling { letters, .. }) = self.0.get_mut(usize::from(port.0)) else { return };
        if letters.len() == MAX_LETTERS {
            letters.pop_front();
        }
        letters.push_back(letter);
    }

    /// The next letter to an interface, oldest first.
    pub fn take(&mut self, port: PortId) -> Option<Letter> {
        self.0[usize::from(port.0)].letters.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_arrive_in_order_and_are_bounded() {
        let mut siblings = Siblings::new(2);
        let letter = |i: u32| Letter::Contends(Contender::Router(NodeId(i)));
        (0..300).for_each(|i| siblings.post(PortId(1), letter(i)));
        siblings.post(PortId(9), letter(0));
        assert_eq!(siblings.take(PortId(0)), None);
        let got: Vec<Letter> = std::iter::from_fn(|| siblings.take(PortId(1))).collect();
        assert_eq!(got, (44..300).map(letter).collect::<Vec<_>>());
    }
}
