//! What a flow moves, in segments.

use midpath_core::packet::{Kind, Name, Packet};
use midpath_core::roles::FlowSpec;
use midpath_core::units::Bytes;

/// An object, as its consumer and its producer know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: Name,
    /// Bytes of payload in each segment but the last.
    pub payload: u16,
    /// Bytes in all; without end if `None`.
    pub size: Option<Bytes>,
    /// Bytes of headers on its Data.
    pub headers: u16,
}

impl Object {
    /// What a flow moves, with so many bytes of headers on Data.
    pub fn of(flow: &FlowSpec, headers: u32) -> Object {
        let payload = flow.mtu.saturating_sub(headers).clamp(1, u32::from(u16::MAX) - headers);
        Object { name: flow.name, payload: payload as u16, size: flow.size, headers: headers as u16 }
    }

    /// How many segments it has. An empty one has one, with nothing in it.
    pub fn segments(&self) -> u64 {
        self.size.map_or(1 << 32, |s| s.0.div_ceil(u64::from(self.payload)).max(1))
    }

    /// Bytes of payload in a segment.
    pub fn payload_of(&self, segment: u32) -> u16 {
        let before = u64::from(segment) * u64::from(self.payload);
        let left = self.size.map_or(u64::MAX, |s| s.0.saturating_sub(before));
        left.min(u64::from(self.payload)) as u16
    }

    /// The Data that answer an Interest in it, if it has that segment.
    pub fn answer(&self, interest: &Packet) -> Option<Packet> {
        let mut data = *interest;
        self.make_data(&mut data).then_some(data)
    }

    /// Makes an Interest the Data that answer it. False, and it is as it was, if it asks for nothing here.
    #[inline]
    pub fn make_data(&self, interest: &mut Packet) -> bool {
        let mine = interest.kind == Kind::Interest && interest.name() == Some(self.name);
        let here = mine && u64::from(interest.segment()) < self.segments();
        if here {
            interest.answer(Kind::Data, self.payload_of(interest.segment()));
        }
        here
    }

    /// Bytes on the link of a segment's Data.
    pub fn data_size(&self, segment: u32) -> u16 {
        self.payload_of(segment) + self.headers
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};

    use super::*;

    #[test]
    fn an_object_is_cut_into_segments() {
        let flow = FlowSpec { size: Some(Bytes(3000)), ..FlowSpec::new(FlowId(4), NodeId(1), NodeId(2)) };
        let object = Object::of(&flow, 72);
        assert_eq!((object.name, object.payload), (Name { prefix: NodeId(1), object: 4 }, 1428));
        assert_eq!(
            (object.segments(), object.payload_of(1), object.payload_of(2), object.payload_of(3)),
            (3, 1428, 144, 0)
        );
        assert_eq!((object.data_size(0), object.data_size(2)), (1500, 216));
        assert_eq!(Object { size: Some(Bytes(0)), ..object }.segments(), 1);
    }
}
