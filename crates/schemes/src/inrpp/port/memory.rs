//! Memory of a port: the buffer, packets ahead of it, and admission (§II-A.1,
//! §V-A).

use std::collections::VecDeque;

use midpath_core::packet::{Packet, Pkt};
use midpath_core::roles::{Drop, PortCtx};
use midpath_core::units::Time;

use super::InrppPort;
use super::limits::{Given, Limits};
use crate::inrpp::cache::Key;
use crate::inrpp::header::is_inrpp;

/// Control packets that wait at most. Ours: a hundred neighbours' probes and answers in one
/// interval.
const MAX_URGENT: usize = 256;

/// A first-in first-out queue that knows its bytes.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    pub(super) queue: VecDeque<Pkt>,
    pub(super) bytes: u64,
    /// Bytes that aren't INRPP's.
    pub(super) other: u64,
}

impl InrppPort {
    /// Whether a packet goes straight to the buffer: nothing that may be sent waits in the cache
    /// (Fig. 7, arrow 4).
    pub(super) fn cuts_through(&self, key: Key, packet: &Packet) -> bool {
        let room = self.buffer.bytes + u64::from(packet.size) <= self.limits.buffer;
        // Packets without payload belong to no loop: the sender's own ACKs must not wait for it.
        let free = packet.payload == 0 || !self.cache.is_closed_loop(key);
        room && free && !self.cache.ready() && !self.down
    }

    /// Packets that wait.
    #[inline]
    pub(super) fn waiting_packets(&self) -> u64 {
        (self.urgent.queue.len() + self.buffer.queue.len()) as u64 + self.cache.stored().packets
    }

    /// Whether the partition that the packet belongs to has room (§V-A).
    pub(super) fn has_room(&self, packet: &Packet) -> bool {
        let (size, stored) = (u64::from(packet.size), self.cache.stored());
        let other = self.buffer.other + stored.other;
        let fits = self.limits.memory.is_none_or(|all| self.occupied() + size <= all);
        if is_inrpp(packet) {
            return fits && self.in_custody() + size <= self.limits.cache.size;
        }
        fits && other + size <= self.limits.other
    }

    /// What is held of the memory.
    pub(super) fn occupied(&self) -> u64 {
        let stored = self.cache.stored();
        self.buffer.bytes + stored.custody + stored.other
    }

    /// What INRPP holds of the memory for it: the cache's, and where both share one the buffer's.
    pub(super) fn in_custody(&self) -> u64 {
        let buffer = if self.limits.memory.is_some() { self.buffer.bytes - self.buffer.other } else { 0 };
        self.cache.stored().custody + buffer
    }

    pub(super) fn buffer_in(&mut self, pkt: Pkt, size: u32, inrpp: bool) {
        self.buffer.bytes += u64::from(size);
        self.buffer.other += if inrpp { 0 } else { u64::from(size) };
        self.buffer.queue.push_back(pkt);
    }

    pub(super) fn buffer_out(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.buffer.queue.pop_front()?;
        let packet = &ctx.pool[&pkt];
        self.buffer.bytes -= u64::from(packet.size);
        self.buffer.other -= if is_inrpp(packet) { 0 } else { u64::from(packet.size) };
        debug_assert!(self.buffer.other <= self.buffer.bytes, "others' bytes are a part");
        Some(pkt)
    }

    pub(super) fn urgent_in(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        if self.urgent.queue.len() >= MAX_URGENT {
            return ctx.drop(pkt, Drop::Queue);
        }
        self.urgent.bytes += u64::from(ctx.pool[&pkt].size);
        self.urgent.queue.push_back(pkt);
    }

    pub(super) fn urgent_out(&mut self, ctx: &PortCtx<'_>) -> Option<Pkt> {
        let pkt = self.urgent.queue.pop_front()?;
        self.urgent.bytes -= u64::from(ctx.pool[&pkt].size);
        Some(pkt)
    }

    pub(super) fn limits_again(&mut self, given: Given) {
        self.given = given;
        self.limits = Limits::new(&self.config, given);
    }

    /// A packet comes where others than INRPP send, too, or did. Of shared memory they have a
    /// partition for as long as they are there, as large as their part of all flows.
    pub(super) fn note_others(&mut self, key: Key, inrpp: bool, now: Time) {
        self.cache.see(key, inrpp, now);
        let others = self.cache.share_of_others(now).map_or(0, |share| ((share * 4.0) as u64).clamp(1, 3));
        if self.given.others != others {
            self.limits_again(Given { others, ..self.given });
        }
    }
}
