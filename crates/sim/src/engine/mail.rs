//! Messages between parts.

use midpath_core::packet::{Packet, Payload, Pkt, Pool};
use midpath_core::units::Time;

use super::trace::Life;
use super::waits::News;

/// Where a packet that leaves its part arrives, and when.
pub(crate) struct Address {
    pub ring: u32,
    pub at: Time,
    pub corrupt: bool,
    /// Of a traced run: who it is.
    pub life: Life,
    /// What it carries.
    pub payload: Option<Payload>,
}

/// Packets on their way to another part. It is emptied and used again: to move a packet takes two
/// copies of what counts of it.
pub(crate) struct Mail {
    addresses: Vec<Address>,
    /// As many as there are addresses, and places of earlier ones.
    packets: Vec<Packet>,
    /// Ends of flows for which others wait there.
    news: Vec<News>,
    /// When the first of them arrives.
    first: Time,
}

impl Default for Mail {
    fn default() -> Mail {
        Mail { addresses: Vec::new(), packets: Vec::new(), news: Vec::new(), first: Time::MAX }
    }
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.news.is_empty()
    }

    /// When the first of it arrives; [`Time::MAX`] if there is none.
    pub fn first(&self) -> Time {
        self.first
    }

    pub fn put(&mut self, pkt: Pkt, address: Address, pool: &mut Pool) {
        self.first = self.first.min(address.at);
        match self.packets.get_mut(self.addresses.len()) {
            Some(place) => pool.take_into(pkt, place),
            None => self.packets.push(pool.take(pkt)),
        }
        self.addresses.push(Address { payload: pool.taken_payload(), ..address });
    }

    pub fn tell(&mut self, news: News) {
        self.first = self.first.min(news.at);
        self.news.push(news);
    }

    /// Takes out the ends of flows.
    pub fn take_news(&mut self) -> impl Iterator<Item = News> {
        self.news.drain(..)
    }

    /// Takes all packets out, in the order in which they were put in.
    pub fn take(&mut self) -> impl Iterator<Item = (Address, &Packet)> {
        self.first = Time::MAX;
        self.addresses.drain(..).zip(&self.packets)
    }

    pub fn memory(&self) -> usize {
        self.addresses.capacity() * size_of::<Address>() + self.packets.capacity() * size_of::<Packet>()
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::NodeId;

    use super::*;

    #[test]
    fn what_comes_out_is_what_went_in_also_where_others_were_before() {
        let (mut here, mut there, mut mail) = (Pool::new(), Pool::new(), Mail::default());
        for round in 0..3u32 {
            for n in 0..=round {
                let pkt = here.insert(Packet::control(NodeId(n), NodeId(round)));
                let at = Time::from_us(u64::from(10 - n));
                mail.put(pkt, Address { ring: n, at, corrupt: false, life: Life::NONE, payload: None }, &mut here);
            }
            assert_eq!(mail.first(), Time::from_us(u64::from(10 - round)));
            let come: Vec<_> = mail.take().map(|(address, packet)| (address.ring, there.insert_copy(packet))).collect();
            for (ring, pkt) in come {
                assert_eq!((there[&pkt].src, there[&pkt].dst), (NodeId(ring), NodeId(round)));
                there.free(pkt);
            }
            assert!(mail.is_empty() && mail.first() == Time::MAX && here.live() == 0);
        }
    }
}
