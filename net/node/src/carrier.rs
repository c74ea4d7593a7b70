//! What carries a node's datagrams to its neighbours: UDP, streams.

use std::io;

use midpath_core::units::Time;
use midpath_link::LinkId;
use rustix::event::{PollFd, PollFlags};

use crate::event_loop::Links;
use crate::udp::{Outbox, Udp};

/// Takes a datagram that has come: when, by which link, and its bytes.
pub type Each<'a> = dyn FnMut(&mut dyn Links, Time, LinkId, &[u8]) + 'a;

/// Sends and receives the datagrams of the links that are of its kind.
pub trait Carrier {
    /// Adds the file descriptors that it waits for.
    fn fds<'a>(&'a self, all: &mut Vec<PollFd<'a>>);
    /// Called with which of them are ready, in the order of [`Carrier::fds`].
    fn note(&mut self, ready: &[bool]);
    /// Receives from those that were ready.
    fn receive(&mut self, links: &mut dyn Links, now: &dyn Fn() -> Time, each: &mut Each<'_>) -> io::Result<()>;
    /// Sends the datagrams to links of its kind, which leave `out`.
    fn send(&mut self, out: &mut Outbox, links: &mut dyn Links, now: Time);
    /// Called now and then.
    fn on_tick(&mut self, _links: &mut dyn Links, _now: Time) {}
}

/// Datagrams taken at once before anything else gets a turn. Ours: a millisecond's at 1 Gbps.
const BATCH: usize = 64;

impl Carrier for Udp {
    fn fds<'a>(&'a self, all: &mut Vec<PollFd<'a>>) {
        all.push(PollFd::new(self, PollFlags::IN));
    }

    fn note(&mut self, ready: &[bool]) {
        self.ready = ready == [true];
    }

    fn receive(&mut self, links: &mut dyn Links, now: &dyn Fn() -> Time, each: &mut Each<'_>) -> io::Result<()> {
        let mut taken = 0;
        while self.ready && taken < BATCH && self.take()? {
            // All have come before this.
            let now = now();
            for (from, datagram) in self.datagrams() {
                taken += 1;
                each(links, now, from.into(), datagram);
            }
            self.ready = self.is_full();
        }
        Ok(())
    }

    fn send(&mut self, out: &mut Outbox, _links: &mut dyn Links, _now: Time) {
        Udp::send(self, out);
    }
}
