//! Sockets that are ready, by token, and how connections are set up and hung up.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tokens of listening sockets have this bit; others are conversations'.
pub const LISTENERS: u64 = 1 << 63;
/// The token of the bell that rings when a connection has been made.
pub const BELL: u64 = u64::MAX;

/// Events taken at once.
const BATCH: usize = 256;

/// What a socket can do now that it couldn't before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub readable: bool,
    pub writable: bool,
}

/// Which sockets are ready. Each is told of once, when it becomes so: whoever is told reads or
/// writes until it would block.
pub struct Readiness {
    epoll: OwnedFd,
}

impl Readiness {
    pub fn new() -> io::Result<Readiness> {
        Ok(Readiness { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Tells of this socket from now on; it ends when the socket is closed.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET | epoll::EventFlags::RDHUP;
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags)?)
    }

    /// Those that have become ready.
    pub fn take(&self) -> Vec<(u64, Ready)> {
        let mut events = Vec::with_capacity(BATCH);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)).is_err() {
            return Vec::new();
        }
        let over = epoll::EventFlags::HUP | epoll::EventFlags::ERR | epoll::EventFlags::RDHUP;
        let ready = |e: &epoll::Event| {
            let (flags, data) = (e.flags, e.data);
            let readable = flags.intersects(epoll::EventFlags::IN | over);
            let writable = flags.intersects(epoll::EventFlags::OUT | over);
            (data.u64(), Ready { readable, writable })
        };
        events.iter().map(ready).collect()
    }
}

/// How many files this process may have open.
pub fn limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize)
}

/// Raises that as far as it goes without rights: by default it is 1024, for programs of the seventies'
/// `select`.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A connection does not block, sends at once, and is reset when it is closed, or the process is
/// killed: only [`hang_up`] ends it properly.
pub fn prepare(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nonblocking(true)?;
    tcp.set_nodelay(true)?;
    Ok(sockopt::set_socket_linger(tcp, Some(Duration::ZERO))?)
}

/// Closes a connection: properly if all was said, else by a reset.
pub fn hang_up(tcp: TcpStream, complete: bool) {
    if complete {
        // If this fails the connection is reset after all: too much is told, not too little.
        let _ = sockopt::set_socket_linger(&tcp, None);
    }
    drop(tcp);
}
