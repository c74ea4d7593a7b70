//! Waiting for many sockets.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Events at a time.
const MOST: usize = 256;

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Which.
    pub fd: RawFd,
    /// It takes data, or its connection is there.
    pub writable: bool,
    /// The other side has closed, or it failed.
    pub closed: bool,
}

/// The kernel's list.
pub struct Epoll {
    list: OwnedFd,
}

#[allow(unsafe_code)]
impl Epoll {
    /// An empty one.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: plain numbers; the result is checked.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Epoll { list: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Adds a socket, which leaves when it is closed.
    pub fn add(&self, fd: RawFd, read: bool, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, read, write)
    }

    /// Waits for something else of it.
    pub fn change(&self, fd: RawFd, read: bool, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, read, write)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, read: bool, write: bool) -> io::Result<()> {
        let asked = [(read, libc::EPOLLIN), (write, libc::EPOLLOUT), (true, libc::EPOLLRDHUP)];
        let events = asked.iter().filter(|(wanted, _)| *wanted).fold(0, |sum, (_, bit)| sum | *bit);
        let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
        // SAFETY: a structure that lives over the call.
        let done = unsafe { libc::epoll_ctl(self.list.as_raw_fd(), what, fd, &raw mut event) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for so long at most.
    pub fn wait(&self, ns: u64) -> io::Result<Vec<Ready>> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        // Until the time itself by `ppoll`, for this wait counts in milliseconds.
        crate::packets::wait(&[self.list.as_raw_fd()], Some(ns))?;
        // SAFETY: as many structures as it says, which live over the call.
        let got = unsafe { libc::epoll_wait(self.list.as_raw_fd(), events.as_mut_ptr(), MOST as libc::c_int, 0) };
        let got = match usize::try_from(got) {
            Ok(got) => got,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        let has = |events: u32, bits: libc::c_int| events & bits as u32 != 0;
        let ready = |event: &libc::epoll_event| {
            let events = event.events;
            Ready {
                fd: event.u64 as RawFd,
                writable: has(events, libc::EPOLLOUT),
                closed: has(events, libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
            }
        };
        Ok(events[..got].iter().map(ready).collect())
    }
}
