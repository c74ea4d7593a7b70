//! What comes over a link, where it stands.

use super::header::{Header, LP_PACKET};
use crate::tlv::{Error, MAX_PACKET, Reader, put_var};

/// The longest frame: a packet, and room for a header around it. Ours.
pub const MAX_FRAME: usize = MAX_PACKET + 256;

/// A datagram, or an element of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What stands around the packet.
    pub header: Header,
    /// The packet, or a fragment of one if the header has a piece. None: an IDLE packet.
    pub packet: Option<&'a [u8]>,
}

impl<'a> Frame<'a> {
    /// Reads an LpPacket, or something bare, which [`View`](crate::View) looks at.
    pub fn of(bytes: &'a [u8]) -> Result<Frame<'a>, Error> {
        if bytes.len() > MAX_FRAME {
            return Err(Error::Bounds);
        }
        let element = Reader::only(bytes)?;
        if element.kind != LP_PACKET {
            return Ok(Frame { header: Header::default(), packet: Some(bytes) });
        }
        let (header, packet) = Header::get(element.value)?;
        Ok(Frame { header, packet })
    }
}

/// How long the first frame of a stream is: `None` until enough bytes are there to know. An error is
/// the stream's end, for nothing says where the next one begins.
pub fn first_frame(stream: &[u8]) -> Result<Option<usize>, Error> {
    let mut reader = Reader::new(stream);
    match reader.type_and_length() {
        Ok((_, length)) => {
            let whole = reader.at().checked_add(length).filter(|whole| *whole <= MAX_FRAME);
            whole.map(Some).ok_or(Error::Bounds)
        }
        Err(Error::Short) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The frames that a stream begins with, as far as they are whole. An error is the last item: nothing
/// says where the next frame begins.
#[derive(Debug)]
pub struct Frames<'a> {
    stream: &'a [u8],
    taken: usize,
    broken: bool,
}

impl<'a> Frames<'a> {
    /// Those of these bytes.
    pub const fn of(stream: &'a [u8]) -> Frames<'a> {
        Frames { stream, taken: 0, broken: false }
    }

    /// How many bytes the frames had that were handed out: what follows is to be kept.
    pub const fn taken(&self) -> usize {
        self.taken
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<&'a [u8], Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.stream[self.taken..];
        if self.broken {
            return None;
        }
        match first_frame(rest) {
            Ok(length) => {
                let frame = rest.get(..length?)?;
                self.taken += frame.len();
                Some(Ok(frame))
            }
            Err(error) => {
                self.broken = true;
                Some(Err(error))
            }
        }
    }
}

/// The bytes of a type and a length.
pub(super) fn head(kind: u32, length: usize) -> usize {
    let mut out = Vec::with_capacity(10);
    put_var(u64::from(kind), &mut out);
    put_var(length as u64, &mut out);
    out.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streams_frames_are_found() {
        assert_eq!(first_frame(&[]), Ok(None));
        assert_eq!(first_frame(&[5]), Ok(None));
        assert_eq!(first_frame(&[5, 253, 1]), Ok(None));
        assert_eq!(first_frame(&[5, 253, 1, 0]), Ok(Some(260)));
        assert_eq!(first_frame(&[5, 2, 7, 0, 9, 9]), Ok(Some(4)), "there is more behind");
        assert_eq!(first_frame(&[5, 253, 255, 255]), Err(Error::Bounds));
        assert_eq!(first_frame(&[5, 255, 255, 255, 255, 255, 255, 255, 255, 255]), Err(Error::Bounds));
        assert_eq!(first_frame(&[0, 1]), Err(Error::Number));
    }

    #[test]
    fn idle_packets_have_no_packet() {
        let mut out = Vec::new();
        Header { congestion_mark: Some(1), ..Header::default() }.idle(&mut out);
        let frame = Frame::of(&out).unwrap();
        assert_eq!((frame.packet, frame.header.congestion_mark), (None, Some(1)));
        assert_eq!(Frame::of(&[0x64, 0]).map(|f| f.packet), Ok(None));
        assert_eq!(Frame::of(&[0x64, 2, 0x50, 0]).map(|f| f.packet), Ok(None), "an empty fragment");
    }

    #[test]
    fn the_head_of_an_element_has_the_bytes_that_it_says() {
        assert_eq!([head(0x50, 252), head(0x50, 253), head(0x320, 1)], [2, 4, 4]);
    }

    #[test]
    fn frames_are_handed_out_as_far_as_they_are_whole() {
        let mut frames = Frames::of(&[5, 1, 7, 6, 0, 5, 2, 1]);
        assert_eq!(frames.by_ref().collect::<Vec<_>>(), [Ok(&[5, 1, 7][..]), Ok(&[6, 0][..])]);
        assert_eq!(frames.taken(), 5);
        let mut broken = Frames::of(&[5, 0, 5, 253, 255, 255, 5, 0]);
        assert_eq!(broken.by_ref().collect::<Vec<_>>(), [Ok(&[5, 0][..]), Err(Error::Bounds)]);
        assert_eq!((broken.taken(), broken.next()), (2, None));
    }
}
