//! Packets in pieces (NDNLPv2, *Indexed fragmentation*).

use std::time::Duration;

use super::frame::{Frame, head};
use super::header::{FRAGMENT, Header, LP_PACKET, Piece};
use crate::tlv::{Error, MAX_PACKET};

/// The most pieces of a packet. Ours: 8,800 bytes in pieces of 35, smaller than any link's.
pub const MAX_PIECES: usize = 256;
/// How long a piece waits for the others. NFD's default.
pub const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes that wait on a face: of four packets of full length. Ours, for links that keep the order:
/// there, all packets but the last have lost a piece.
pub const MAX_WAITING: usize = 4 * MAX_PACKET;

/// Writes packets as frames of at most so many bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fragmenter {
    /// The number of the next piece.
    next: u64,
}

impl Fragmenter {
    /// A packet with this header, whole if it fits. No frame if even a piece of it would not.
    ///
    /// Every piece has the fields of other protocols: NFD reads those of the first piece, ndnd those
    /// of the one that came last. MIRCC's are on the first.
    pub fn split(&mut self, header: &Header, packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
        let mut whole = Vec::with_capacity(packet.len() + 64);
        header.wrap(packet, &mut whole);
        if whole.len() <= mtu {
            return vec![whole];
        }
        let Some(room) = self.room(header, mtu) else { return Vec::new() };
        let count = packet.len().div_ceil(room);
        if count > MAX_PIECES {
            return Vec::new();
        }
        let frames = packet.chunks(room).enumerate().map(|(index, bytes)| {
            let piece =
                Piece { sequence: self.next.wrapping_add(index as u64), index: index as u64, count: count as u64 };
            let mut around = Header { piece: Some(piece), ..*header };
            if index > 0 {
                around.mircc = Default::default();
            }
            let mut frame = Vec::with_capacity(mtu);
            around.wrap(bytes, &mut frame);
            frame
        });
        let frames = frames.collect();
        self.next = self.next.wrapping_add(count as u64);
        frames
    }

    /// Bytes of a packet that fit into each piece.
    fn room(&self, header: &Header, mtu: usize) -> Option<usize> {
        let piece = Piece { sequence: 0, index: 0xFF, count: MAX_PIECES as u64 };
        let mut fields = Vec::new();
        Header { piece: Some(piece), ..*header }.idle(&mut fields);
        let fields = fields.len() - head(LP_PACKET, fields.len());
        let around = head(LP_PACKET, mtu) + fields + head(FRAGMENT, mtu);
        mtu.checked_sub(around).filter(|room| *room > 0)
    }
}

/// A packet of which pieces are missing.
#[derive(Debug)]
struct Partial {
    /// The number of its first piece.
    base: u64,
    since: Duration,
    header: Header,
    pieces: Vec<Option<Box<[u8]>>>,
    missing: usize,
    bytes: usize,
}

impl Partial {
    /// What it costs.
    fn held(&self) -> usize {
        self.bytes + self.pieces.len() * size_of::<Option<Box<[u8]>>>()
    }
}

/// Puts the packets of one face together. It holds at most [`MAX_WAITING`] bytes; those of the oldest
/// packets go first.
#[derive(Debug, Default)]
pub struct Reassembler {
    /// The oldest first.
    partial: Vec<Partial>,
    /// Packets given up, for age or for want of room.
    pub given_up: u64,
}

impl Reassembler {
    /// Takes a frame whose header has a piece. `now`: the time since any fixed moment, which does not
    /// go back. The packet with its header once no piece is missing.
    pub fn on_piece(&mut self, now: Duration, frame: &Frame<'_>) -> Result<Option<(Header, Vec<u8>)>, Error> {
        let (Some(piece), Some(bytes)) = (frame.header.piece, frame.packet) else { return Err(Error::Fragment) };
        let count = usize::try_from(piece.count).ok().filter(|count| *count <= MAX_PIECES).ok_or(Error::Bounds)?;
        self.expire(now);
        let base = piece.sequence.wrapping_sub(piece.index);
        let place = match self.partial.iter().position(|p| p.base == base) {
            Some(place) => place,
            None => {
                let header = Header { piece: None, ..frame.header };
                let pieces = vec![None; count];
                self.partial.push(Partial { base, since: now, header, pieces, missing: count, bytes: 0 });
                self.partial.len() - 1
            }
        };
        let partial = &mut self.partial[place];
        if partial.pieces.len() != count {
            return Err(Error::Fragment);
        }
        let slot = &mut partial.pieces[piece.index as usize];
        if slot.is_none() {
            *slot = Some(bytes.into());
            partial.missing -= 1;
            partial.bytes += bytes.len();
            // NDNLPv2: the first piece says what holds of all. But each is marked on its own, as the
            // queue is when it leaves (NFD's and ndnd's link services).
            let mark = partial.header.congestion_mark.max(frame.header.congestion_mark);
            if piece.index == 0 {
                partial.header = Header { piece: None, ..frame.header };
            }
            partial.header.congestion_mark = mark;
        }
        if partial.bytes > MAX_PACKET {
            self.partial.remove(place);
            self.given_up += 1;
            return Err(Error::Bounds);
        }
        if partial.missing == 0 {
            let Partial { header, pieces, .. } = self.partial.remove(place);
            return Ok(Some((header, pieces.into_iter().flatten().flatten().collect())));
        }
        self.make_room();
        Ok(None)
    }

    /// Gives up what is too old; for faces on which nothing comes any more.
    pub fn expire(&mut self, now: Duration) {
        let before = self.partial.len();
        self.partial.retain(|partial| now.saturating_sub(partial.since) < PATIENCE);
        self.given_up += (before - self.partial.len()) as u64;
    }

    fn make_room(&mut self) {
        while self.held() > MAX_WAITING {
            self.partial.remove(0);
            self.given_up += 1;
        }
    }

    /// Bytes that wait.
    pub fn held(&self) -> usize {
        self.partial.iter().map(Partial::held).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Mircc, PitToken};
    use proptest::prelude::*;

    const NOW: Duration = Duration::from_secs(9);

    fn header() -> Header {
        let mircc = Mircc { path_id: Some(7), ..Mircc::default() };
        Header { pit_token: PitToken::of(&[1, 2, 3]), mircc, ..Header::default() }
    }

    fn join(frames: &[Vec<u8>], reassembler: &mut Reassembler) -> Option<(Header, Vec<u8>)> {
        let pieces = frames.iter().map(|frame| reassembler.on_piece(NOW, &Frame::of(frame).unwrap()).unwrap());
        pieces.fold(None, |joined, found| joined.or(found))
    }

    #[test]
    fn what_fits_is_not_split() {
        let mut fragmenter = Fragmenter::default();
        assert_eq!(fragmenter.split(&Header::default(), &[5; 100], 100), [vec![5; 100]]);
        assert!(fragmenter.split(&header(), &[5; 100], 30).is_empty(), "no room for one byte");
        assert_eq!(fragmenter.split(&Header::default(), &[5; 101], 100).len(), 2);
        assert_eq!(fragmenter.next, 2);
    }

    proptest! {
        #[test]
        fn pieces_join_in_any_order(length in 1usize..MAX_PACKET, mtu in 140usize..1500, turn in 0usize..20, twice: bool) {
            let packet: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let mut frames = Fragmenter { next: u64::MAX - 3 }.split(&header(), &packet, mtu);
            prop_assert!(!frames.is_empty() && frames.iter().all(|frame| frame.len() <= mtu));
            if frames.len() > 1 {
                let turn = turn % frames.len();
                frames.rotate_left(turn);
                if twice { frames.insert(0, frames[0].clone()); }
                let mut reassembler = Reassembler::default();
                prop_assert_eq!(join(&frames, &mut reassembler), Some((header(), packet)));
                prop_assert_eq!((reassembler.held(), reassembler.given_up), (0, 0));
            }
        }

        /// As others send them: fields on any piece, in any order, with repeats, two packets mixed.
        #[test]
        fn pieces_of_others_join(
            lengths in prop::array::uniform2(1usize..MAX_PACKET), mtu in 140usize..1500, sequence: u64, order: u64,
            marks: u64, strange: u64,
        ) {
            let packets = lengths.map(|length| (0..length).map(|i| (i * 7 + length) as u8).collect::<Vec<u8>>());
            let (mut fragmenter, mut frames) = (Fragmenter { next: sequence }, Vec::new());
            let bit = |bits: u64, i: usize| bits >> (i % 64) & 1 == 1;
            let mut expected = Vec::new();
            for packet in &packets {
                let pieces = fragmenter.split(&header(), packet, mtu);
                prop_assume!(pieces.len() > 1);
                let mut marked = None;
                for (i, piece) in pieces.iter().enumerate() {
                    let frame = Frame::of(piece).expect("ours");
                    let mut theirs = frame.header;
                    if bit(marks, i) {
                        theirs.congestion_mark = Some(1);
                        marked = Some(1);
                    }
                    if i > 0 && bit(strange, i) {
                        // What holds of the first alone does not come from a later one.
                        theirs.pit_token = PitToken::of(&[9]);
                        theirs.next_hop_face = Some(4);
                        theirs.incoming_face = Some(3);
                    }
                    let mut out = Vec::new();
                    theirs.wrap(frame.packet.expect("a piece"), &mut out);
                    frames.push(out);
                }
                expected.push((Header { congestion_mark: marked, ..header() }, packet.clone()));
            }
            // Any order, and some twice while the packet is not whole: a later repeat is one of a packet that is lost.
            let key = |i: usize| order.wrapping_mul(i as u64 * 2 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
            let mut places: Vec<usize> = (0..frames.len()).collect();
            places.sort_by_key(|i| key(*i));
            let (mut reassembler, mut found) = (Reassembler::default(), Vec::new());
            for i in places {
                for _ in 0..1 + usize::from(bit(strange, i)) {
                    found.extend(reassembler.on_piece(NOW, &Frame::of(&frames[i]).expect("ours")).expect("a piece"));
                }
            }
            found.sort_by_key(|(_, packet)| packets.iter().position(|p| p == packet));
            prop_assert_eq!(found, expected);
            // A repeat of the last piece waits for others in vain, for half a second.
            reassembler.expire(NOW + PATIENCE);
            prop_assert_eq!(reassembler.held(), 0);
        }

        #[test]
        fn whatever_comes_memory_is_bounded(pieces in prop::collection::vec((0u64..40, 0u64..300, 0u64..300, 0usize..2000), 1..200)) {
            let mut reassembler = Reassembler::default();
            for (sequence, index, count, length) in pieces {
                let piece = Some(Piece { sequence, index: index.min(count.saturating_sub(1)), count: count.max(2) });
                let bytes = vec![0; length];
                let frame = Frame { header: Header { piece, ..Header::default() }, packet: Some(&bytes) };
                let _ = reassembler.on_piece(NOW, &frame);
                prop_assert!(reassembler.held() <= MAX_WAITING);
            }
        }
    }

    #[test]
    fn what_waits_too_long_is_given_up() {
        let frames = Fragmenter::default().split(&header(), &[5; 300], 200);
        let mut reassembler = Reassembler::default();
        assert_eq!(reassembler.on_piece(NOW, &Frame::of(&frames[0]).unwrap()), Ok(None));
        assert!(reassembler.held() > 0);
        reassembler.expire(NOW + PATIENCE);
        assert_eq!((reassembler.held(), reassembler.given_up), (0, 1));
        assert_eq!(reassembler.on_piece(NOW + PATIENCE, &Frame::of(&frames[1]).unwrap()), Ok(None), "alone");
    }

    #[test]
    fn pieces_that_contradict_each_other_are_refused() {
        let mut reassembler = Reassembler::default();
        let mut take = |sequence, index, count, length| {
            let piece = Some(Piece { sequence, index, count });
            let bytes = vec![0; length];
            reassembler.on_piece(NOW, &Frame { header: Header { piece, ..Header::default() }, packet: Some(&bytes) })
        };
        assert_eq!(take(5, 0, 3, 10), Ok(None));
        assert_eq!(take(6, 1, 2, 10), Err(Error::Fragment), "another count");
        assert_eq!(take(9, 0, 1 << 40, 10), Err(Error::Bounds));
        assert_eq!(take(20, 0, 2, 8000), Ok(None));
        assert_eq!(take(21, 1, 2, 8000), Err(Error::Bounds), "together too long");
    }
}
