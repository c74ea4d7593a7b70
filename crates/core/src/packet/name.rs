//! Names of ICN packets: an object and a segment, independent of the flow that fetches it.

use super::{FlowId, HOP_LIMIT, Kind, NodeId, Packet};

/// An object's name: its prefix is the node that has it, which routes lead to; the rest is a number
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Whom Interests go to.
    pub prefix: NodeId,
    /// Which object of his.
    pub object: u32,
}

/// Fields of Interest, Data and Nack. They stand where segments have theirs.
impl Packet {
    /// An Interest of `consumer` in a segment of an object. `flow` is the consumer's own number,
    /// which comes back with the answer.
    pub fn interest(flow: FlowId, consumer: NodeId, name: Name, segment: u32, nonce: u32) -> Packet {
        let mut packet = Packet::new(flow, consumer, name.prefix, 0);
        packet.kind = Kind::Interest;
        packet.seq = segment;
        packet.ack = name.object;
        packet.ts_val = nonce;
        packet
    }

    /// What an Interest, Data or Nack is about. An Interest goes to the prefix, its answers come
    /// from there.
    #[inline]
    pub fn name(&self) -> Option<Name> {
        let prefix = match self.kind {
            Kind::Interest => self.dst,
            Kind::Data | Kind::Nack => self.src,
            Kind::Segment | Kind::Datagram | Kind::Control => return None,
        };
        Some(Name { prefix, object: self.ack })
    }

    /// Which segment of the object.
    #[inline]
    pub fn segment(&self) -> u32 {
        self.seq
    }

    /// An Interest's nonce, which its answer repeats.
    #[inline]
    pub fn nonce(&self) -> u32 {
        self.ts_val
    }

    /// Makes an Interest its own answer, Data or a Nack, without headers of schemes and with a
    /// payload of this length.
    pub fn answer(&mut self, kind: Kind, payload: u16) {
        let mut answer = Packet::new(self.flow, self.dst, self.src, 0);
        (answer.kind, answer.payload, answer.hops) = (kind, payload, HOP_LIMIT);
        (answer.seq, answer.ack, answer.ts_val, answer.queued) = (self.seq, self.ack, self.ts_val, self.queued);
        answer.measure();
        // What no header is in counts no more.
        self.head = answer.head;
    }

    /// Sends an answer on to another consumer: his flow at his node.
    #[inline]
    pub fn readdress(&mut self, flow: FlowId, consumer: NodeId) {
        if (self.flow, self.dst) == (flow, consumer) {
            return;
        }
        self.flow = flow;
        self.dst = consumer;
        self.set_interfaces(self.interfaces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_name_of_its_interest() {
        let name = Name { prefix: NodeId(9), object: 77 };
        let mut p = Packet::interest(FlowId(3), NodeId(1), name, 12, 5);
        assert_eq!((p.name(), p.dst, p.segment(), p.nonce()), (Some(name), NodeId(9), 12, 5));
        p.answer(Kind::Data, 1000);
        assert_eq!((p.name(), p.src, p.dst, p.segment(), p.nonce()), (Some(name), NodeId(9), NodeId(1), 12, 5));
        assert_eq!((p.size, p.wire_size()), (1040, 1040));
        p.readdress(FlowId(4), NodeId(2));
        assert_eq!((p.name(), p.flow, p.dst), (Some(name), FlowId(4), NodeId(2)));
        assert_eq!(Packet::new(FlowId(0), NodeId(0), NodeId(1), 100).name(), None);
    }
}
