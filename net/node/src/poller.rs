//! Which sockets can be read or written, by token.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Events taken at once.
const BATCH: usize = 256;
/// The other side has closed, or the socket has failed: reading or writing says which.
const OVER: EventFlags = EventFlags::HUP.union(EventFlags::ERR).union(EventFlags::RDHUP);

/// What is told of a socket, besides that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Nothing else.
    Nothing,
    /// As long as it can be read.
    Read,
    /// As long as it can be written.
    Write,
    /// As long as it can be either.
    Both,
    /// Once, when it becomes either: whoever is told reads or writes until it would block.
    Changes,
}

impl Wants {
    fn flags(self) -> EventFlags {
        let wanted = match self {
            Wants::Nothing => EventFlags::empty(),
            Wants::Read => EventFlags::IN,
            Wants::Write => EventFlags::OUT,
            Wants::Both => EventFlags::IN | EventFlags::OUT,
            Wants::Changes => EventFlags::IN | EventFlags::OUT | EventFlags::ET,
        };
        wanted | EventFlags::RDHUP
    }
}

/// What a socket can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// It can be read, or is over.
    pub readable: bool,
    /// It can be written, or is over.
    pub writable: bool,
    /// It is over: the other side sends no more, or it has failed.
    pub over: bool,
}

/// The kernel's list of sockets. It can be waited for itself.
pub struct Poller {
    epoll: OwnedFd,
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Poller {
    /// An empty one.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Tells of this socket from now on, until it is closed.
    pub fn add(&self, socket: impl AsFd, token: u64, wants: Wants) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), wants.flags())?)
    }

    /// The same with other wishes.
    pub fn change(&self, socket: impl AsFd, token: u64, wants: Wants) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), wants.flags())?)
    }

    /// Tells of it no more.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Sockets that can do something now.
    pub fn take(&self) -> io::Result<Vec<(u64, Ready)>> {
        let mut events = Vec::with_capacity(BATCH);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let ready = |e: &epoll::Event| {
            let (flags, data) = (e.flags, e.data);
            let can = |what: EventFlags| flags.intersects(what | OVER);
            (
                data.u64(),
                Ready { readable: can(EventFlags::IN), writable: can(EventFlags::OUT), over: flags.intersects(OVER) },
            )
        };
        Ok(events.iter().map(ready).collect())
    }

    /// Waits for a socket until the time itself, not the next millisecond as `epoll_wait` would, and says which can do
    /// something.
    pub fn wait(&self, longest: Duration) -> io::Result<Vec<(u64, Ready)>> {
        let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Ok(_) => self.take(),
            Err(e) => Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_socket_is_told_of_as_long_as_it_can_be_read_or_once() {
        let (mut near, far) = UnixStream::pair().expect("two sockets");
        for (wants, again) in [(Wants::Read, 1), (Wants::Changes, 0)] {
            let poller = Poller::new().expect("a list");
            assert_eq!(poller.wait(NOW).expect("it waits"), []);
            near.write_all(b"x").expect("it takes a byte");
            poller.add(&far, 7, wants).expect("added");
            let ready = Ready { readable: true, writable: wants == Wants::Changes, over: false };
            assert_eq!(poller.wait(NOW).expect("it waits"), [(7, ready)]);
            assert_eq!(poller.wait(NOW).expect("it waits").len(), again);
        }
    }

    #[test]
    fn a_socket_that_is_over_is_told_of_whatever_was_asked() {
        let (near, far) = UnixStream::pair().expect("two sockets");
        let poller = Poller::new().expect("a list");
        poller.add(&far, 7, Wants::Nothing).expect("added");
        drop(near);
        assert_eq!(poller.take().expect("a list"), [(7, Ready { readable: true, writable: true, over: true })]);
        poller.remove(&far).expect("removed");
        assert_eq!(poller.take().expect("a list"), []);
    }
}
