//! A face on a stream: a unix socket or a TCP connection. Packets follow each other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use midpath_core::units::Time;
use midpath_ndn::Error;
use midpath_ndn::link::Frames;

/// Packets that are none, one after the other, before a face is closed. Ours: an application with
/// an error sends a few, somebody who speaks something else sends nothing but.
const MOST_WRONG: u32 = 64;
/// A face that reads nothing of what waits for it is closed after this. Ours.
const PATIENCE: Time = Time::from_secs(30);
/// Room that an output keeps when it is empty.
const KEPT: usize = 1 << 16;

/// The socket.
pub enum Socket {
    /// Of this machine.
    Unix(UnixStream),
    /// A connection.
    Tcp(TcpStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.read(bytes),
            Socket::Tcp(socket) => socket.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.write(bytes),
            Socket::Tcp(socket) => socket.write(bytes),
        }
    }
}

/// Why a face is closed. Nothing for an end that was to be expected.
pub type Reason = Option<String>;

/// The face.
pub struct Stream {
    socket: Socket,
    /// The beginning of a packet.
    input: Vec<u8>,
    /// What waits to be written, from `written` on.
    output: Vec<u8>,
    written: usize,
    /// When the other end last took something, or there was nothing to take.
    taken_at: Time,
    /// Whether the poller tells when it can be written.
    pub waits: bool,
    wrong: u32,
    /// Packets that found no room.
    pub dropped: u64,
}

impl Stream {
    /// A face on a socket that does not block.
    pub fn new(socket: Socket, now: Time) -> Stream {
        let (input, output) = Default::default();
        Stream { socket, input, output, written: 0, taken_at: now, waits: false, wrong: 0, dropped: 0 }
    }

    /// The socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Bytes that wait to be written.
    pub fn waiting(&self) -> usize {
        self.output.len() - self.written
    }

    /// Reads what is there, once; `take` has each packet.
    pub fn read(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Reason> {
        let length = match self.socket.read(buffer) {
            Ok(0) => return Err(None),
            Ok(length) => length,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return Err(None),
            Err(e) => return Err(Some(e.to_string())),
        };
        let mut wrong = self.wrong;
        let mut each = |packet: &[u8]| -> Result<(), Reason> {
            match take(packet) {
                Ok(()) => wrong = 0,
                Err(why) if wrong >= MOST_WRONG => return Err(Some(format!("invalid NDN data: {why}"))),
                Err(_) => wrong += 1,
            }
            Ok(())
        };
        if self.input.is_empty() {
            let rest = packets(&buffer[..length], &mut each)?;
            self.input.extend_from_slice(&buffer[rest..length]);
        } else {
            self.input.extend_from_slice(&buffer[..length]);
            let rest = packets(&self.input, &mut each)?;
            self.input.drain(..rest);
        }
        self.wrong = wrong;
        Ok(())
    }

    /// Adds a packet to what waits, if no more than `room` waits then.
    pub fn push(&mut self, packet: &[u8], room: usize, now: Time) {
        if self.waiting() == 0 {
            self.taken_at = now;
        }
        if self.waiting() + packet.len() > room {
            self.dropped += 1;
            return;
        }
        self.output.extend_from_slice(packet);
    }

    /// Writes what the socket takes.
    pub fn write(&mut self, now: Time) -> Result<(), Reason> {
        while self.waiting() > 0 {
            match self.socket.write(&self.output[self.written..]) {
                Ok(length) => {
                    self.written += length;
                    self.taken_at = now;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => return Err(None),
                Err(e) => return Err(Some(e.to_string())),
            }
        }
        // What was written is moved out when it is the larger part: each byte moves once at most.
        if self.written > self.waiting() {
            self.output.drain(..self.written);
            self.written = 0;
            if self.output.is_empty() {
                self.output.shrink_to(KEPT);
            }
        }
        Ok(())
    }

    /// Called now and then: whether the other end still reads.
    pub fn check(&self, now: Time) -> Result<(), Reason> {
        let stuck = self.waiting() > 0 && now.saturating_sub(self.taken_at) > PATIENCE;
        if stuck { Err(Some(format!("the peer read nothing for {} s", PATIENCE.as_secs_f64()))) } else { Ok(()) }
    }
}

/// Hands out the packets that a stream begins with; where the rest begins.
fn packets(stream: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), Reason>) -> Result<usize, Reason> {
    let mut frames = Frames::of(stream);
    for frame in frames.by_ref() {
        each(frame.map_err(|why| Some(format!("invalid NDN data: {why}")))?)?;
    }
    Ok(frames.taken())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixStream, Stream) {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        theirs.set_nonblocking(true).expect("it can");
        (ours, Stream::new(Socket::Unix(theirs), Time::ZERO))
    }

    #[test]
    fn packets_are_found_wherever_reads_end() {
        let packets: Vec<Vec<u8>> = (0..40u8).map(|i| [&[5, i][..], &vec![i; usize::from(i)]].concat()).collect();
        let all = packets.concat();
        for step in [1, 3, 7, 500] {
            let (mut ours, mut stream) = pair();
            let mut seen = Vec::new();
            for piece in all.chunks(step) {
                ours.write_all(piece).expect("it is written");
                let take = |packet: &[u8]| {
                    seen.push(packet.to_vec());
                    Ok(())
                };
                stream.read(&mut [0; 4096], take).expect("no error");
            }
            assert_eq!(seen, packets, "in steps of {step}");
            assert!(stream.input.is_empty());
            drop(ours);
            assert_eq!(stream.read(&mut [0; 10], |_| Ok(())), Err(None), "an end is no failure");
        }
    }

    #[test]
    fn what_is_no_ndn_closes_the_face() {
        let (mut ours, mut stream) = pair();
        ours.write_all(&[5, 253, 0xFF, 0xFF]).expect("it is written");
        let reason = stream.read(&mut [0; 100], |_| Ok(())).expect_err("too long");
        assert!(reason.expect("a reason").starts_with("invalid NDN data"));
        let (mut ours, mut stream) = pair();
        ours.write_all(&[5, 0].repeat(MOST_WRONG as usize)).expect("it is written");
        assert_eq!(stream.read(&mut [0; 1000], |_| Err(Error::Short)), Ok(()));
        ours.write_all(&[5, 0]).expect("it is written");
        assert!(stream.read(&mut [0; 1000], |_| Err(Error::Short)).is_err());
    }

    #[test]
    fn who_reads_slowly_gets_all_in_order_and_who_does_not_read_is_closed() {
        let (mut ours, mut stream) = pair();
        let packets: Vec<u8> = (0..1_000_000u32).map(|i| (i / 7) as u8).collect();
        packets.chunks(8000).for_each(|packet| stream.push(packet, 2_000_000, Time::ZERO));
        let mut seen = Vec::new();
        let mut piece = [0; 3000];
        while seen.len() < packets.len() {
            stream.write(Time::from_secs(1)).expect("no error");
            let length = ours.read(&mut piece).expect("bytes");
            seen.extend_from_slice(&piece[..length]);
        }
        assert_eq!(seen, packets);
        assert_eq!((stream.waiting(), stream.dropped), (0, 0));
        stream.push(&[0; 100], 99, Time::from_secs(2));
        assert_eq!(stream.dropped, 1);
        stream.push(&vec![0; 4_000_000], 5_000_000, Time::from_secs(2));
        stream.write(Time::from_secs(2)).expect("no error");
        assert!(stream.waiting() > 0);
        assert_eq!(stream.check(Time::from_secs(32)), Ok(()));
        assert!(stream.check(Time::from_secs(33)).is_err());
    }
}
