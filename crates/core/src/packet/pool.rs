//! Storage of packets in a node or on a simulated wire.

use std::sync::Arc;

use super::{Ecn, Note, Packet};
use crate::cache::fetch;

/// The bytes of a packet's payload, for drivers and ends that have some. Copies of a packet share them.
pub type Payload = Arc<[u8]>;

/// A packet and the bytes that it carries, if any.
pub type Carried<'a> = (&'a Packet, Option<&'a Payload>);

/// The name of a packet in its pool: good for telling packets apart in books that are kept beside
/// the pool, not for reaching one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// A packet that is held: the only way to reach it in its [`Pool`].
///
/// It is moved, never copied, so that a packet cannot be freed or sent twice. Whoever holds it
/// passes it on, gives it back to the pool, or keeps it. In builds with debug assertions a pool
/// refuses the packets of another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "a packet that is dropped like this is lost: send it, keep it, or free it"]
pub struct Pkt {
    place: u32,
    #[cfg(debug_assertions)]
    pool: u32,
}

impl Pkt {
    /// Its name.
    #[inline]
    pub const fn id(&self) -> PacketId {
        PacketId(self.place)
    }
}

/// A slab of packets: no allocation per hop, the last freed place is used first (its lines are
/// still in cache).
#[derive(Debug)]
pub struct Pool {
    slots: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
    /// What roles note, where somebody wants to know: every role reaches the pool.
    notes: Option<Vec<Note>>,
    /// The place of a packet that was taken out and has been used up: the next one is copied there.
    spare: Option<Box<Packet>>,
    /// What packets carry, if one ever has carried something.
    payloads: Option<Box<Payloads>>,
    #[cfg(debug_assertions)]
    tag: u32,
}

/// Payloads by their packets' places.
#[derive(Debug, Default)]
struct Payloads {
    of: Vec<Option<Payload>>,
    /// That of the packet that was taken out last.
    taken: Option<Payload>,
}

impl Payloads {
    fn set(&mut self, place: usize, payload: Payload) {
        if place >= self.of.len() {
            self.of.resize(place + 1, None);
        }
        self.of[place] = Some(payload);
    }
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            slots: Vec::new(),
            free: Vec::new(),
            created: 0,
            notes: None,
            spare: None,
            payloads: None,
            #[cfg(debug_assertions)]
            tag: next_tag(),
        }
    }
}

/// Tells pools apart in checks; it reaches no result.
#[cfg(debug_assertions)]
fn next_tag() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static POOLS: AtomicU32 = AtomicU32::new(0);
    POOLS.fetch_add(1, Ordering::Relaxed)
}

impl Pool {
    /// An empty pool; it grows to the largest number of packets alive at once.
    pub fn new() -> Pool {
        Pool::default()
    }

    /// Has notes be kept from now on, for a driver that traces.
    pub fn keep_notes(&mut self) {
        self.notes.get_or_insert_default();
    }

    /// Notes something, if notes are kept.
    #[inline]
    pub(crate) fn note(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }

    /// Takes the notes out.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        self.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Gives their empty list back, so that its memory is used again.
    pub(crate) fn give_back_notes(&mut self, empty: Vec<Note>) {
        if let Some(notes) = &mut self.notes {
            *notes = empty;
        }
    }

    #[inline]
    fn hold(&self, place: u32) -> Pkt {
        Pkt {
            place,
            #[cfg(debug_assertions)]
            pool: self.tag,
        }
    }

    #[inline]
    fn place(&self, pkt: &Pkt) -> usize {
        #[cfg(debug_assertions)]
        assert_eq!(pkt.pool, self.tag, "a packet of another pool");
        pkt.place as usize
    }

    /// Takes a packet in.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> Pkt {
        self.insert_copy(&packet)
    }

    /// Takes a copy of a packet in that lives elsewhere: of as much of it as counts.
    #[inline]
    pub fn insert_copy(&mut self, packet: &Packet) -> Pkt {
        self.created += 1;
        match self.free.pop() {
            Some(place) => {
                self.slots[place as usize].become_copy_of(packet);
                self.hold(place)
            }
            None => {
                let place = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets alive");
                self.slots.push(*packet);
                self.hold(place)
            }
        }
    }

    /// Takes a packet in that carries these bytes, if any: they are released with it.
    pub fn insert_with(&mut self, packet: &Packet, payload: Option<Payload>) -> Pkt {
        let pkt = self.insert_copy(packet);
        if let Some(payload) = payload {
            debug_assert_eq!(payload.len(), usize::from(packet.payload), "a packet says how many bytes it carries");
            self.payloads.get_or_insert_default().set(pkt.place as usize, payload);
        }
        pkt
    }

    /// Takes a copy of a packet in.
    pub fn copy(&mut self, pkt: &Pkt) -> Pkt {
        let packet = self.slots[self.place(pkt)];
        self.insert_with(&packet, self.payload(pkt).cloned())
    }

    /// Gives a packet's place back.
    #[inline]
    pub fn free(&mut self, pkt: Pkt) {
        let place = self.place(&pkt);
        debug_assert!(place < self.slots.len());
        if self.payloads.is_some() {
            self.release(place);
        }
        self.free.push(place as u32);
    }

    #[cold]
    #[inline(never)]
    fn release(&mut self, place: usize) {
        if let Some(payloads) = &mut self.payloads {
            payloads.taken = payloads.of.get_mut(place).and_then(Option::take);
        }
    }

    /// Cuts a packet's payload off.
    pub fn trim(&mut self, pkt: &Pkt, at_last_hop: bool) {
        let place = self.place(pkt);
        if let Some(bytes) = self.payloads.as_mut().and_then(|payloads| payloads.of.get_mut(place)) {
            *bytes = None;
        }
        let packet = &mut self.slots[place];
        packet.trim = packet.trim.cut(at_last_hop);
        packet.payload = 0;
        packet.measure();
    }

    /// The bytes that a packet carries.
    #[inline]
    pub fn payload(&self, pkt: &Pkt) -> Option<&Payload> {
        self.payloads.as_ref()?.of.get(pkt.place as usize)?.as_ref()
    }

    /// A packet and the bytes that it carries.
    pub fn carried(&self, pkt: &Pkt) -> Carried<'_> {
        (&self[pkt], self.payload(pkt))
    }

    /// The bytes that the packet carried which was taken out or freed last.
    #[inline]
    pub fn taken_payload(&mut self) -> Option<Payload> {
        self.payloads.as_mut()?.taken.take()
    }

    /// Puts those bytes back, so that they are the ones taken out last.
    pub(crate) fn give_back_payload(&mut self, payload: Option<Payload>) {
        if let (Some(payloads), Some(_)) = (&mut self.payloads, &payload) {
            payloads.taken = payload;
        }
    }

    /// Payloads held.
    pub fn payloads(&self) -> usize {
        self.payloads.iter().flat_map(|payloads| &payloads.of).flatten().count()
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, pkt: Pkt) -> Packet {
        let mut packet = Packet::BLANK;
        self.take_into(pkt, &mut packet);
        packet
    }

    /// The same for a while: [`Pool::give_back_place`] spares the next one a new place. A call costs 12 instructions.
    #[inline(always)]
    pub(crate) fn take_for_a_while(&mut self, pkt: Pkt) -> Box<Packet> {
        let mut packet = self.spare.take().unwrap_or_else(|| Box::new(Packet::BLANK));
        self.take_into(pkt, &mut packet);
        packet
    }

    /// The packet has been used up.
    #[inline]
    pub(crate) fn give_back_place(&mut self, packet: Box<Packet>) {
        self.spare = Some(packet);
    }

    /// The same into a place that had another packet.
    #[inline]
    pub fn take_into(&mut self, pkt: Pkt, place: &mut Packet) {
        place.become_copy_of(&self.slots[self.place(&pkt)]);
        self.free(pkt);
    }

    /// Turns a held packet into a number, for drivers that keep packets on wires as such.
    #[inline]
    pub fn stow(&self, pkt: Pkt) -> u32 {
        self.place(&pkt) as u32
    }

    /// Turns a number that [`Pool::stow`] has given into the held packet again. Once: the number is
    /// worth nothing after that.
    #[inline]
    pub fn unstow(&self, number: u32) -> Pkt {
        debug_assert!((number as usize) < self.slots.len());
        self.hold(number)
    }

    /// Looks at a stowed packet.
    pub fn peek_number(&self, number: u32) -> &Packet {
        &self.slots[number as usize]
    }

    /// Has the cache fetch a stowed packet.
    #[inline]
    pub fn fetch(&self, number: u32) {
        fetch(&self.slots[number as usize]);
    }

    /// Sets CE on a packet that is on its way, unless somebody has made it one that is not ECN-capable since.
    pub fn mark(&mut self, id: PacketId) -> &Packet {
        let packet = &mut self.slots[id.0 as usize];
        if packet.ecn.capable() {
            packet.ecn = Ecn::Ce;
        }
        packet
    }

    /// A packet that is alive and held by somebody else.
    pub(crate) fn peek(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }

    /// Packets alive now.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Packets ever taken in.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let payloads = self.payloads.as_ref().map_or(0, |payloads| {
            let bytes: usize = payloads.of.iter().flatten().map(|payload| payload.len()).sum();
            bytes + payloads.of.capacity() * size_of::<Option<Payload>>()
        });
        self.slots.capacity() * size_of::<Packet>() + self.free.capacity() * size_of::<u32>() + payloads
    }
}

impl std::ops::Index<&Pkt> for Pool {
    type Output = Packet;
    #[inline]
    fn index(&self, pkt: &Pkt) -> &Packet {
        &self.slots[self.place(pkt)]
    }
}

impl std::ops::IndexMut<&Pkt> for Pool {
    #[inline]
    fn index_mut(&mut self, pkt: &Pkt) -> &mut Packet {
        let place = self.place(pkt);
        &mut self.slots[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowId, NodeId};

    #[test]
    fn the_pool_reuses_what_was_freed_last() {
        let mut pool = Pool::new();
        let p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        let (a, b) = (pool.insert(p), pool.insert(p));
        let first = a.id();
        pool.free(a);
        assert_eq!(pool.live(), 1);
        let again = pool.insert(p);
        assert_eq!(again.id(), first);
        pool.free(b);
        assert_eq!((pool.live(), pool.created()), (1, 3));
        let number = pool.stow(again);
        assert_eq!(pool.unstow(number).id(), first);
    }

    #[test]
    fn bytes_go_with_their_packet_and_its_copies_and_with_nothing_else() {
        let mut pool = Pool::new();
        let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        p.payload = 3;
        let bytes: Payload = [1, 2, 3].into();
        let first = pool.insert_with(&p, Some(bytes.clone()));
        let bare = pool.insert(p);
        let copy = pool.copy(&first);
        assert_eq!((pool.payload(&first), pool.payload(&bare), pool.payloads()), (Some(&bytes), None, 2));
        pool.free(first);
        assert_eq!((pool.payload(&copy), pool.payloads()), (Some(&bytes), 1));
        let again = pool.insert(p);
        assert_eq!(pool.payload(&again), None, "in the place of one that had some");
        assert_eq!(pool.take(copy).payload, 3);
        assert_eq!((pool.taken_payload(), pool.taken_payload(), pool.payloads()), (Some(bytes.clone()), None, 0));
        pool.free(bare);
        pool.free(again);
        assert_eq!((pool.taken_payload(), Arc::strong_count(&bytes)), (None, 1));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "another pool")]
    fn a_packet_of_another_pool_is_caught() {
        let (mut here, mut there) = (Pool::new(), Pool::new());
        let p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 100);
        let pkt = there.insert(p);
        let _ = here.insert(p);
        here.free(pkt);
    }
}
