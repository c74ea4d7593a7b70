//! The bytes that nodes' packets carry, beside the packets: with this table a driver carries files through any
//! scheme whose endpoints give the offset of a packet's payload.
//!
//! Before a packet leaves its host its bytes are known by flow, direction and offset
//! ([`Outgoing`]); from the moment that it is made by its id; where it arrives by flow, direction
//! and offset again ([`Incoming`]). They are copied when the packet is *created*, as a port may hold a packet whose
//! bytes were retransmitted, acknowledged and freed meanwhile.
//!
//! What is held is bounded: what applications hand over and what they have not read yet by a limit
//! for each flow and a budget for all, and what is on packets by what queues and custody hold.

mod incoming;
mod outgoing;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::node::EndId;
use midpath_core::packet::{NodeId, Packet, PacketId};
use midpath_core::roles::{Ended, Half, Supply};

pub use incoming::Incoming;
pub use outgoing::Outgoing;
pub use windows::Windows;

/// What a node's packets and applications carry. Peers choose flows' numbers, so no map here is
/// slower for some than for others.
#[derive(Debug, Default)]
pub struct Bytes {
    /// By the packet's id, which is its place in the node's pool.
    packets: Vec<Option<Box<[u8]>>>,
    on_packets: u64,
    /// Of the packet that was delivered last.
    at_hand: Option<Box<[u8]>>,
    outgoing: BTreeMap<EndId, Outgoing>,
    incoming: BTreeMap<EndId, Incoming>,
    /// Ends whose application has gone before them: nothing is kept for them any more.
    left: BTreeSet<EndId>,
    /// Flows carry data both ways; so much of what a passive end's application sends waits at most.
    both_ways: Option<usize>,
    /// `None` where nobody reads what arrives.
    windows: Option<Windows>,
    /// Ends of whose flows something has changed since the last [`Bytes::take_changed`].
    changed: BTreeSet<EndId>,
}

impl Bytes {
    /// None yet, for applications that read what arrives, within these bounds. (By default nobody
    /// does.)
    pub fn new(windows: Windows) -> Bytes {
        Bytes { windows: Some(windows), ..Bytes::default() }
    }

    /// Flows carry data both ways; `capacity` is for passive ends what [`Bytes::send_from`] says for
    /// active ones.
    pub fn carry_both_ways(&mut self, capacity: usize) {
        self.both_ways = Some(capacity);
    }

    /// Whether they do.
    pub fn goes_both_ways(&self) -> bool {
        self.both_ways.is_some()
    }

    /// Bytes on packets now.
    pub fn on_packets(&self) -> u64 {
        self.on_packets
    }

    /// How much applications here have written that is not acknowledged.
    pub fn written(&self) -> u64 {
        self.windows.map_or(0, |w| w.written())
    }

    /// The bounds on these, where there are any.
    pub fn windows(&self) -> Option<Windows> {
        self.windows
    }

    /// How much peers may send, or have sent and nobody has read.
    pub fn promised(&self) -> u64 {
        self.windows.map_or(0, |w| w.promised())
    }

    /// What an end's application sends; `capacity` is how much of it waits for acknowledgement or
    /// the window at most.
    pub fn send_from(&mut self, end: EndId, capacity: usize) {
        self.outgoing.entry(end).or_insert_with(|| Outgoing::new(capacity));
    }

    /// What an end's application sends, if it does.
    pub fn outgoing(&self, end: EndId) -> Option<&Outgoing> {
        self.outgoing.get(&end)
    }

    /// How much an end's application may write now: within the flow's capacity and all flows'
    /// budget.
    pub fn room_to_write(&self, end: EndId) -> usize {
        let Some(outgoing) = self.outgoing.get(&end) else { return 0 };
        let room = outgoing.room();
        self.windows.map_or(room, |w| w.may_write(outgoing.kept(), room as u64) as usize)
    }

    /// Takes as much of `bytes` as there is room for; says how much. The node is to be poked then.
    pub fn write(&mut self, end: EndId, bytes: &[u8]) -> usize {
        let room = self.room_to_write(end).min(bytes.len());
        let Some(outgoing) = self.outgoing.get_mut(&end) else { return 0 };
        let before = outgoing.kept();
        let written = outgoing.write(&bytes[..room]);
        self.windows.iter_mut().for_each(|w| w.wrote(before, outgoing.kept()));
        written
    }

    /// Nothing follows what has been written; false if that was known.
    pub fn close(&mut self, end: EndId) -> bool {
        let open = self.outgoing.get_mut(&end).filter(|outgoing| !outgoing.is_closed());
        open.map(Outgoing::close).is_some()
    }

    /// What has arrived for an end's application, if anything may.
    pub fn incoming(&self, end: EndId) -> Option<&Incoming> {
        self.incoming.get(&end)
    }

    /// Hands up to `most` bytes to an end's application, in order.
    pub fn read(&mut self, end: EndId, most: usize, out: &mut Vec<u8>) -> usize {
        let Some(incoming) = self.incoming.get_mut(&end) else { return 0 };
        let before = incoming.promised();
        let read = incoming.read(most, out);
        self.windows.iter_mut().for_each(|w| w.kept(before, incoming.promised()));
        read
    }

    /// Forgets what an end's application sends and receives: the application is gone, and the end has
    /// nothing more to send.
    pub fn forget(&mut self, end: EndId) {
        if let Some(outgoing) = self.outgoing.remove(&end) {
            self.windows.iter_mut().for_each(|w| w.wrote(outgoing.kept(), 0));
        }
        if let Some(incoming) = self.incoming.remove(&end) {
            self.windows.iter_mut().for_each(|w| w.kept(incoming.promised(), 0));
            if !incoming.is_gone() {
                self.left.insert(end);
            }
        }
        self.changed.remove(&end);
    }

    /// Ends that something has happened to since this was asked last: another node has opened them,
    /// more to read, room to write, an end.
    pub fn take_changed(&mut self) -> BTreeSet<EndId> {
        std::mem::take(&mut self.changed)
    }

    /// Ends whose peers may be waiting for a window that the budget had no room for.
    pub fn starved(&self) -> Vec<EndId> {
        self.incoming.iter().filter(|(_, i)| i.is_starved()).map(|(end, _)| *end).collect()
    }

    /// A packet has come from outside with these bytes.
    pub fn pin(&mut self, id: PacketId, payload: Box<[u8]>) {
        self.take(id);
        if payload.is_empty() {
            return;
        }
        let place = id.0 as usize;
        if self.packets.len() <= place {
            self.packets.resize_with(place + 1, || None);
        }
        self.on_packets += payload.len() as u64;
        self.packets[place] = Some(payload);
    }

    /// The bytes of a packet, which leaves or ends here.
    pub fn take(&mut self, id: PacketId) -> Option<Box<[u8]>> {
        let payload = self.packets.get_mut(id.0 as usize)?.take()?;
        self.on_packets -= payload.len() as u64;
        Some(payload)
    }

    /// The bytes of a packet, which goes on.
    pub fn of(&self, id: PacketId) -> Option<&[u8]> {
        self.packets.get(id.0 as usize)?.as_deref()
    }

    /// [`Driver::supply`](midpath_core::node::Driver::supply).
    pub fn supply(&mut self, end: EndId) -> Option<Supply> {
        if let Some(capacity) = self.both_ways.filter(|_| !end.active && !self.left.contains(&end)) {
            self.send_from(end, capacity);
        }
        self.outgoing.get(&end).map(Outgoing::supply)
    }

    /// [`Driver::room`](midpath_core::node::Driver::room): passive ends receive, or both.
    pub fn room(&mut self, end: EndId) -> Option<u64> {
        let receives = (self.both_ways.is_some() || !end.active) && !self.left.contains(&end);
        let windows = self.windows.as_mut().filter(|_| receives)?;
        if !end.active && !self.incoming.contains_key(&end) {
            self.changed.insert(end);
        }
        Some(self.incoming.entry(end).or_default().room(windows))
    }

    /// [`Driver::made`](midpath_core::node::Driver::made).
    pub fn made(&mut self, end: EndId, id: PacketId, packet: &Packet, at: u64) {
        if let Some(outgoing) = self.outgoing.get(&end) {
            let payload = outgoing.slice(at, usize::from(packet.payload));
            self.pin(id, payload);
        }
    }

    /// [`Driver::delivered`](midpath_core::node::Driver::delivered).
    pub fn delivered(&mut self, id: PacketId) {
        self.at_hand = self.take(id);
    }

    /// [`Driver::copied`](midpath_core::node::Driver::copied).
    pub fn copied(&mut self, of: PacketId, copy: PacketId) {
        if let Some(payload) = self.of(of).map(Into::into) {
            self.pin(copy, payload);
        }
    }

    /// [`Driver::arrived`](midpath_core::node::Driver::arrived).
    pub fn arrived(&mut self, end: EndId, at: u64) {
        let Some(payload) = self.at_hand.take() else { return };
        if let Some(incoming) = self.incoming.get_mut(&end)
            && incoming.put(at, &payload)
        {
            self.changed.insert(end);
        }
    }

    /// [`Driver::acknowledged`](midpath_core::node::Driver::acknowledged).
    pub fn acknowledged(&mut self, end: EndId, up_to: u64) {
        if let Some(outgoing) = self.outgoing.get_mut(&end) {
            let before = outgoing.kept();
            outgoing.forget_below(up_to);
            self.windows.iter_mut().for_each(|w| w.wrote(before, outgoing.kept()));
            self.changed.insert(end);
        }
    }

    /// [`Driver::completed`](midpath_core::node::Driver::completed).
    pub fn completed(&mut self, end: EndId, half: Half) {
        match half {
            Half::Sending => self.outgoing.get_mut(&end).into_iter().for_each(|o| o.end(Ended::Complete)),
            Half::Receiving => self.incoming.get_mut(&end).into_iter().for_each(|i| i.end(Ended::Complete)),
        }
        self.changed.insert(end);
    }

    /// [`Driver::ended`](midpath_core::node::Driver::ended).
    pub fn ended(&mut self, end: EndId, why: Ended) {
        if let Some(outgoing) = self.outgoing.get_mut(&end) {
            outgoing.end(why);
        }
        if let Some(incoming) = self.incoming.get_mut(&end) {
            incoming.end(why);
        }
        self.changed.insert(end);
    }

    /// [`Driver::gone`](midpath_core::node::Driver::gone): an end that goes without having said why
    /// has not completed.
    pub fn gone(&mut self, end: EndId) {
        if self.left.remove(&end) {
            return;
        }
        self.ended(end, Ended::Aborted);
        if let Some(incoming) = self.incoming.get_mut(&end) {
            incoming.note_gone();
        }
    }

    /// Every end that has an application's bytes.
    pub fn ends(&self) -> BTreeSet<EndId> {
        self.outgoing.keys().chain(self.incoming.keys()).copied().collect()
    }

    /// The same of flows with one peer.
    pub fn ends_with(&self, peer: NodeId) -> Vec<EndId> {
        self.ends().into_iter().filter(|end| end.peer == peer).collect()
    }
}

#[cfg(test)]
mod tests;
