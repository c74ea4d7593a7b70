use crate::packet::{FlowId, Header, IP_HEADER, Kind, NodeId, Packet, shim_size};

/// Classes that a frame can name.
pub const MAX_CLASSES: usize = 8;

/// Bytes of a frame's body: the class-enable vector, and a time for each class.
const BODY: u32 = 2 + 2 * MAX_CLASSES as u32;

/// Bytes of a frame on the link. An Ethernet frame of the least size has 46 between its headers and
/// its checksum, which other packets' sizes here leave out as well.
pub const FRAME_SIZE: u32 = IP_HEADER + shim_size(BODY);

/// A pause frame, from one neighbour to the next: for each class that it names, how long to send
/// nothing of it, in times of 512 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseFrame {
    /// The classes that it says something of, a bit each, the lowest for class 0.
    pub classes: u16,
    /// For each class, how long: 0 is "go on".
    pub quanta: [u16; MAX_CLASSES],
}

impl PauseFrame {
    /// What a frame that pauses says: the longest time. Ours: it holds until a frame that says 0, as if
    /// it were renewed in time.
    pub const PAUSE: u16 = u16::MAX;

    /// A frame that says of each class whether it is to pause.
    pub fn of(paused: impl Iterator<Item = bool>) -> PauseFrame {
        let mut frame = PauseFrame::default();
        for (class, paused) in paused.enumerate().take(MAX_CLASSES) {
            frame.classes |= 1 << class;
            frame.quanta[class] = if paused { PauseFrame::PAUSE } else { 0 };
        }
        frame
    }

    /// What it says of a class: whether to pause; `None` if nothing.
    pub fn says(&self, class: usize) -> Option<bool> {
        let named = class < MAX_CLASSES && self.classes & 1 << class != 0;
        named.then(|| self.quanta[class] > 0)
    }

    /// The packet that carries it.
    pub fn packet(&self, from: NodeId, to: NodeId) -> Packet {
        let mut packet = Packet::new(FlowId::NONE, from, to, IP_HEADER);
        packet.kind = Kind::Control;
        packet.hops = u8::MAX; // RFC 5082: from a neighbour
        packet.set_header(self);
        packet.measure();
        packet
    }

    /// The frame that a packet carries.
    pub fn in_packet(packet: &Packet) -> Option<PauseFrame> {
        if packet.kind == Kind::Control { packet.header() } else { None }
    }
}

impl Header for PauseFrame {
    const TAG: u8 = 9;
    fn body_len(&self) -> usize {
        BODY as usize
    }
    fn put(&self, out: &mut [u8]) {
        let words = std::iter::once(self.classes).chain(self.quanta);
        out.chunks_exact_mut(2).zip(words).for_each(|(two, word)| two.copy_from_slice(&word.to_be_bytes()));
    }
    fn get(body: &[u8]) -> Option<PauseFrame> {
        if body.len() != BODY as usize {
            return None;
        }
        let mut words = body.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        let classes = words.next()?;
        let mut quanta = [0; MAX_CLASSES];
        quanta.iter_mut().zip(words).for_each(|(time, word)| *time = word);
        // IEEE 802.1Qbb: the vector's upper octet is zero.
        (classes < 1 << MAX_CLASSES).then_some(PauseFrame { classes, quanta })
    }
}
