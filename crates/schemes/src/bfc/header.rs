//! BFC's headers: which queue a packet left its last port from, and what a neighbour is to pause.

use midpath_core::packet::{FlowId, Header, IP_HEADER, Kind, NodeId, Packet, shim_size};

/// Bytes on the wire that data carry.
pub const SIZE: u32 = shim_size(BODY as u32);

/// The most queues that a frame can name.
pub const MAX_QUEUES: u32 = 128;

const BODY: usize = 2;

/// The header of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BfcHeader {
    /// `upstreamQ`: the queue of the last port; `None` where that has none that could be paused.
    pub queue: Option<u8>,
    /// The first packet of its flow.
    pub first: bool,
}

const NONE: u8 = u8::MAX;

impl Header for BfcHeader {
    const TAG: u8 = 13;

    fn body_len(&self) -> usize {
        BODY
    }
    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&[self.queue.unwrap_or(NONE), u8::from(self.first)]);
    }
    fn get(body: &[u8]) -> Option<BfcHeader> {
        let [queue, first]: [u8; BODY] = body.try_into().ok()?;
        let known = u32::from(queue) < MAX_QUEUES || queue == NONE;
        (known && first <= 1).then_some(BfcHeader { queue: (queue != NONE).then_some(queue), first: first == 1 })
    }
}

/// From one neighbour to the next: which of its port's queues are to pause, a bit each. A newer frame says all that an
/// older one said, so that a lost one does no lasting harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseBitmap(pub u128);

impl PauseBitmap {
    /// The packet that carries it.
    pub fn packet(self, from: NodeId, to: NodeId) -> Packet {
        let mut packet = Packet::new(FlowId::NONE, from, to, IP_HEADER);
        packet.kind = Kind::Control;
        packet.hops = u8::MAX; // RFC 5082: from a neighbour
        packet.set_header(&self);
        packet.measure();
        packet
    }

    /// The frame that a packet carries.
    pub fn in_packet(packet: &Packet) -> Option<PauseBitmap> {
        if packet.kind == Kind::Control { packet.header() } else { None }
    }
}

impl Header for PauseBitmap {
    const TAG: u8 = 14;

    fn body_len(&self) -> usize {
        16
    }
    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0.to_be_bytes());
    }
    fn get(body: &[u8]) -> Option<PauseBitmap> {
        body.try_into().ok().map(|bits| PauseBitmap(u128::from_be_bytes(bits)))
    }
}
