//! Output frames, contiguous in one buffer, until the driver takes them.

use std::ops::Range;

use midpath_ndn::{Header, InterestView};

use crate::faces::FaceId;

/// The frames.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    frames: Vec<(FaceId, Range<usize>)>,
}

/// Memory that is kept for the next frames. Ours.
const KEPT: usize = 1 << 20;

impl Outbox {
    /// Adds a packet for a face. Returns the frame's length.
    pub fn put(&mut self, face: FaceId, header: &Header, packet: &[u8]) -> usize {
        let start = self.bytes.len();
        header.wrap(packet, &mut self.bytes);
        self.end(face, start)
    }

    /// Adds an Interest that goes on; with this nonce, if it has none.
    pub fn forward(&mut self, face: FaceId, header: &Header, interest: &InterestView<'_>, nonce: u32) -> usize {
        let start = self.bytes.len();
        if *header == Header::default() {
            interest.forward(nonce, &mut self.bytes);
        } else {
            let mut packet = Vec::with_capacity(interest.wire.len() + 8);
            interest.forward(nonce, &mut packet);
            header.wrap(&packet, &mut self.bytes);
        }
        self.end(face, start)
    }

    /// Adds a frame as it is.
    pub fn raw(&mut self, face: FaceId, frame: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.end(face, start);
    }

    /// Adds an Interest with this nonce, and a header around it. Returns the frame's length.
    pub fn again_around(&mut self, face: FaceId, header: &Header, interest: &InterestView<'_>, nonce: u32) -> usize {
        let mut packet = Vec::with_capacity(interest.wire.len() + 8);
        interest.forward_again(nonce, &mut packet);
        self.put(face, header, &packet)
    }

    /// Adds an Interest that is sent again, with this nonce.
    pub fn again(&mut self, face: FaceId, interest: &InterestView<'_>, nonce: u32) -> usize {
        let start = self.bytes.len();
        interest.forward_again(nonce, &mut self.bytes);
        self.end(face, start)
    }

    fn end(&mut self, face: FaceId, start: usize) -> usize {
        let end = self.bytes.len();
        self.frames.push((face, start..end));
        end - start
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl Iterator<Item = (FaceId, &[u8])> {
        self.frames.iter().map(|(face, range)| (*face, &self.bytes[range.clone()]))
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
