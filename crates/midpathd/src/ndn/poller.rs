//! Readiness of sockets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

/// Sockets told of at once.
const BATCH: usize = 256;

/// What a socket can do.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// Its token.
    pub token: u64,
    /// It can be read, or is at its end.
    pub readable: bool,
    /// It can be written, or has failed.
    pub writable: bool,
}

/// The sockets.
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    fn flags(writes: bool) -> epoll::EventFlags {
        if writes { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
    }

    /// Tells of this socket from now on, until it is closed; whether it can be written only if it
    /// `writes`.
    pub fn add(&self, socket: impl AsFd, token: u64, writes: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), Poller::flags(writes))?)
    }

    /// The same with other wishes.
    pub fn change(&self, socket: impl AsFd, token: u64, writes: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), Poller::flags(writes))?)
    }

    /// Tells of it no more.
    pub fn remove(&self, socket: impl AsFd) {
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Waits for a socket, so long at most, and says which can do something.
    pub fn wait(&self, longest: Duration) -> io::Result<Vec<Ready>> {
        let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let mut events = Vec::with_capacity(BATCH);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let failed = epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let ready = |e: &epoll::Event| {
            let (flags, data) = (e.flags, e.data);
            Ready {
                token: data.u64(),
                readable: flags.intersects(epoll::EventFlags::IN | failed),
                writable: flags.intersects(epoll::EventFlags::OUT | failed),
            }
        };
        Ok(events.iter().map(ready).collect())
    }
}
