use std::collections::VecDeque;

use crate::packet::{NodeId, Packet, Pkt, Pool};
use crate::roles::Backlog;

/// One direction of a conversation, as all who go by flows know it: its key and who sends.
pub(super) type Key = (u32, NodeId);

pub(in crate::queue) fn key_of(packet: &Packet) -> Key {
    (packet.key, packet.src)
}

/// Packets in one line, without a bound.
#[derive(Debug, Default)]
pub(in crate::queue) struct Lane {
    packets: VecDeque<Pkt>,
    bytes: u64,
}

impl Lane {
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packet that leaves next.
    pub fn front<'a>(&self, pool: &'a Pool) -> Option<&'a Packet> {
        self.packets.front().map(|pkt| &pool[pkt])
    }

    #[inline]
    pub fn push(&mut self, pkt: Pkt, pool: &Pool) {
        self.bytes += u64::from(pool[&pkt].size);
        self.packets.push_back(pkt);
    }

    #[inline]
    pub fn pop_front(&mut self, pool: &Pool) -> Option<Pkt> {
        let pkt = self.packets.pop_front()?;
        self.bytes -= u64::from(pool[&pkt].size);
        debug_assert!(self.backlog().is_sound(), "{:?}", self.backlog());
        Some(pkt)
    }

    pub fn pop_back(&mut self, pool: &Pool) -> Option<Pkt> {
        let pkt = self.packets.pop_back()?;
        self.bytes -= u64::from(pool[&pkt].size);
        debug_assert!(self.backlog().is_sound(), "{:?}", self.backlog());
        Some(pkt)
    }

    /// Gives all up, in order.
    pub fn clear(&mut self, give: &mut dyn FnMut(Pkt)) {
        self.packets.drain(..).for_each(give);
        self.bytes = 0;
    }
}
