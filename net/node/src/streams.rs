//! TCP connections to neighbours whose link goes over one: the same datagrams as over UDP, one after
//! the other. A node opens one to each neighbour whose address it knows, and takes those that others
//! open. So between two nodes that know each other's there is one each way.
//!
//! Little data wait here (6 kB in the kernel, and the rest of a write). While any do, the port behind is held:
//! excess packets wait there, where a scheme counts them.
//!
//! A connecting peer is unauthenticated until a genuine datagram arrives. Only a few such peers are kept, and for a
//! short time.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use midpath_core::units::Time;
use midpath_link::{LinkId, stream};
use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt;

use crate::carrier::{Carrier, Each};
use crate::event_loop::Links;
use crate::gateway::connect;
use crate::udp::Outbox;

/// What the kernel may keep of a stream that it has not sent once: `TCP_NOTSENT_LOWAT`, as in the
/// simulator's tunnels.
const UNSENT: u32 = 6000;
/// The longest datagram, and bytes read at once.
const LONGEST: usize = 1500;
const PIECE: usize = 1 << 16;
/// What waits for one stream at most: ports are held before, so it is a burst, and what links say.
const WAITING: usize = 1 << 16;
/// Strangers at once, and how long somebody may be one. Ours: ten round trips of half a second.
const STRANGERS: usize = 16;
const PATIENCE: Time = Time::from_secs(5);
/// A stream that could not be opened, or has ended, is opened again after this. Ours.
const RETRY: Time = Time::from_secs(1);
/// What nobody has acknowledged for so long ends a stream. Ours: as long as a silent neighbour is up.
const GIVEN_UP: Duration = Duration::from_secs(15);

/// What has been counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Streams that were opened to neighbours.
    pub opened: u64,
    /// Streams that others have opened.
    pub accepted: u64,
    /// Streams that have ended, whoever had opened them.
    pub ended: u64,
    /// Streams of strangers that were closed.
    pub strangers: u64,
    /// Datagrams that no stream had room for, or that were there for none.
    pub lost: u64,
}

struct Stream {
    socket: TcpStream,
    /// The beginning of a datagram.
    input: Vec<u8>,
    /// What the kernel has not taken.
    output: Vec<u8>,
    /// When it was opened, or last a neighbour's.
    known: Time,
}

impl Stream {
    fn new(socket: TcpStream, now: Time) -> io::Result<Stream> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let _ = sockopt::set_tcp_user_timeout(&socket, GIVEN_UP.as_millis() as u32);
        // Without it a link is as slow to notice as the kernel's buffer is large.
        let _ = socket2::SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT);
        Ok(Stream { socket, input: Vec::new(), output: Vec::new(), known: now })
    }

    /// Begins to open one.
    fn to(address: SocketAddr, now: Time) -> io::Result<Stream> {
        Stream::new(connect(address)?, now)
    }

    fn has_room(&self) -> bool {
        self.output.is_empty()
    }

    /// Adds a datagram to what waits; false without room.
    fn push(&mut self, datagram: &[u8]) -> bool {
        let fits = self.output.len() + datagram.len() <= WAITING && datagram.len() <= LONGEST;
        if fits {
            self.output.extend((datagram.len() as u16).to_be_bytes());
            self.output.extend_from_slice(datagram);
        }
        fits
    }

    /// Writes what the kernel takes.
    fn write(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.socket.write(&self.output) {
                Ok(length) => drop(self.output.drain(..length)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads what is there, once.
    fn read(&mut self, buffer: &mut [u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        match self.socket.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.input.extend_from_slice(&buffer[..length]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            Err(e) => return Err(e),
        }
        let rest =
            stream::datagrams(&self.input, LONGEST, each).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        self.input.drain(..rest);
        Ok(())
    }
}

/// A node's streams.
pub struct Streams {
    listener: Option<TcpListener>,
    open: BTreeMap<LinkId, Stream>,
    /// When a stream of ours may be opened again.
    again: BTreeMap<LinkId, Time>,
    ready: Vec<LinkId>,
    knocked: bool,
    number: u32,
    buffer: Vec<u8>,
    counted: Counters,
}

impl Streams {
    /// Takes streams at `listener`; without one there are no such links.
    pub fn new(listener: Option<TcpListener>) -> io::Result<Streams> {
        if let Some(listener) = &listener {
            listener.set_nonblocking(true)?;
        }
        let (open, again, ready) = Default::default();
        let buffer = vec![0; if listener.is_some() { PIECE } else { 0 }];
        Ok(Streams { listener, open, again, ready, knocked: false, number: 0, buffer, counted: Counters::default() })
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        self.counted
    }

    /// How many there are, and may be with so many neighbours: one each way, and strangers'.
    pub fn held(&self, neighbours: usize) -> (usize, usize) {
        (self.open.len(), 2 * neighbours + STRANGERS)
    }

    fn accept(&mut self, links: &mut dyn Links, now: Time) {
        while let Some(Ok((socket, _))) = self.listener.as_ref().map(TcpListener::accept) {
            let Ok(stream) = Stream::new(socket, now) else { continue };
            self.counted.accepted += 1;
            self.number = self.number.wrapping_add(1);
            let strangers: Vec<_> =
                self.open.iter().filter(|(at, _)| is_stranger(**at, links)).map(|(at, s)| (s.known, *at)).collect();
            if strangers.len() >= STRANGERS
                && let Some((_, oldest)) = strangers.into_iter().min()
            {
                self.counted.strangers += 1;
                self.end(oldest, links, now);
            }
            self.open.insert(LinkId::Accepted(self.number), stream);
        }
    }

    /// The stream of this link; one of ours is opened if it is not there.
    fn opened(&mut self, at: LinkId, links: &dyn Links, now: Time) -> Option<&mut Stream> {
        let due = self.again.get(&at).is_none_or(|again| *again <= now);
        if !self.open.contains_key(&at)
            && due
            && let Some(address) = links.leads_to(at)
        {
            self.again.insert(at, now.saturating_add(RETRY));
            let stream = Stream::to(address, now).ok()?;
            self.counted.opened += 1;
            self.open.insert(at, stream);
        }
        self.open.get_mut(&at)
    }

    fn end(&mut self, at: LinkId, links: &mut dyn Links, now: Time) {
        if self.open.remove(&at).is_some() {
            self.counted.ended += 1;
            links.on_end(at, now);
        }
    }
}

impl Carrier for Streams {
    fn fds<'a>(&'a self, all: &mut Vec<PollFd<'a>>) {
        let of = |stream: &'_ Stream| if stream.has_room() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        all.extend(self.listener.iter().map(|l| PollFd::new(l, PollFlags::IN)));
        all.extend(self.open.values().map(|s| PollFd::new(&s.socket, of(s))));
    }

    fn note(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        self.knocked = self.listener.is_some() && ready.next() == Some(&true);
        self.ready = self.open.keys().zip(ready).filter(|(_, ready)| **ready).map(|(at, _)| *at).collect();
    }

    /// Accepts connections, and receives from those that have something.
    fn receive(&mut self, links: &mut dyn Links, now: &dyn Fn() -> Time, each: &mut Each<'_>) -> io::Result<()> {
        let now = now();
        if std::mem::take(&mut self.knocked) {
            self.accept(links, now);
        }
        for at in std::mem::take(&mut self.ready) {
            let Some(stream) = self.open.get_mut(&at) else { continue };
            if stream.read(&mut self.buffer, |datagram| each(links, now, at, datagram)).is_err() {
                self.end(at, links, now);
            }
        }
        Ok(())
    }

    /// Links hear which streams have room.
    fn send(&mut self, out: &mut Outbox, links: &mut dyn Links, now: Time) {
        out.take_lanes(LinkId::is_stream, |to, datagram| {
            if !self.opened(to, links, now).is_some_and(|stream| stream.push(datagram)) {
                self.counted.lost += 1;
            }
        });
        let ended: Vec<_> = self.open.iter_mut().filter_map(|(at, s)| s.write().err().map(|_| *at)).collect();
        ended.into_iter().for_each(|at| self.end(at, links, now));
        self.open.iter().for_each(|(at, stream)| links.set_room(*at, stream.has_room(), now));
    }

    /// Streams to neighbours that are up are opened again, strangers are closed.
    fn on_tick(&mut self, links: &mut dyn Links, now: Time) {
        let due: Vec<_> = self
            .again
            .iter()
            .filter(|(at, again)| **again <= now && !self.open.contains_key(at))
            .map(|(at, _)| *at)
            .collect();
        for at in due.into_iter().filter(|at| links.is_neighbour_at(*at)).collect::<Vec<_>>() {
            self.opened(at, links, now);
        }
        let mut strangers = Vec::new();
        for (at, stream) in &mut self.open {
            if !is_stranger(*at, links) {
                stream.known = now;
            } else if now.saturating_sub(stream.known) >= PATIENCE {
                strangers.push(*at);
            }
        }
        self.counted.strangers += strangers.len() as u64;
        strangers.into_iter().for_each(|at| self.end(at, links, now));
    }
}

/// Whether nothing genuine has come by a stream that somebody has opened to us.
fn is_stranger(at: LinkId, links: &dyn Links) -> bool {
    at.opened_to().is_none() && !links.is_neighbour_at(at)
}
