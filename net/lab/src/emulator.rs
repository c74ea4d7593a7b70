//! All links of a laboratory, on one thread: frames come in at one end's device, and leave at the other's.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use midpath_core::units::Time;
use midpath_node::lateness::Lateness;
use serde_json::{Value, json};

use crate::conversations::Conversations;
use crate::emulated::Emulated;
use crate::frame::Frame;
use crate::lateness::late_us;
use crate::packets::{BATCH, Packets, Room, now_ns, wait};
use crate::routers::Routers;

/// The longest sleep: so soon it is seen that a run is over.
const NAP_NS: u64 = 20_000_000;

/// What a direction's queue was like at a time.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// Bytes that waited.
    pub backlog: u64,
    /// Bytes sent until then.
    pub bytes: u64,
}

/// What hosts say to each other, seen at their devices.
#[derive(Debug, Default)]
pub struct Watched {
    /// Of each direction whether it comes from a host, and whether it leads to one.
    pub hosts: Vec<[bool; 2]>,
    /// What was said.
    pub conversations: Conversations,
    /// How many of the first conversations are looked at each time.
    pub looks: usize,
}

/// The links. Direction `2 i` goes from the device of link `i`'s end `a` to that of `b`.
pub struct Emulator {
    /// Of each link two, that of `a` first: what comes in at number `n` is direction `n`'s.
    sockets: Vec<Packets>,
    /// The directions.
    pub ways: Vec<Emulated>,
    /// Samples of each direction.
    pub samples: Vec<Vec<Sample>>,
    /// Packets in routers whose queues are the kernel's.
    routers: Option<Routers>,
    /// Conversations, where programs run at hosts.
    pub watched: Option<Watched>,
    late: Lateness,
    /// Frames that a device did not take.
    refused: u64,
    /// Frames that the kernel had no room for while the thread slept.
    missed: u64,
}

/// The device in the emulator's namespace at the end of link `link` that is `a` (0) or `b` (1).
pub fn device(link: usize, end: usize) -> String {
    format!("l{link}{}", ["a", "b"][end])
}

impl Watched {
    fn leave(&mut self, way: usize, frame: &Frame, at: Time) {
        if self.hosts[way][0] {
            self.conversations.leave(frame, at);
        }
    }

    fn reach(&mut self, way: usize, frame: &Frame, at: Time) {
        if self.hosts[way][1] {
            self.conversations.reach(frame, at);
        }
    }

    /// What links have lost is not on the way any more.
    fn forget(&mut self, ways: &mut [Emulated]) {
        for (of, identity) in ways.iter_mut().filter_map(|way| way.gone.as_mut()).flat_map(|gone| gone.drain(..)) {
            self.conversations.lose(&of, identity);
        }
    }
}

impl Emulator {
    /// Opens the devices of all links in this thread's namespace.
    pub fn open(mut ways: Vec<Emulated>, routers: Option<Routers>, watched: Option<Watched>) -> io::Result<Emulator> {
        if watched.is_some() {
            ways.iter_mut().for_each(|way| way.gone = Some(Vec::new()));
        }
        let names = (0..ways.len()).map(|n| device(n / 2, n % 2));
        let sockets = names.map(|name| Packets::open(&name)).collect::<io::Result<Vec<_>>>()?;
        let samples = vec![Vec::new(); ways.len()];
        Ok(Emulator { sockets, ways, samples, routers, watched, late: Lateness::default(), refused: 0, missed: 0 })
    }

    /// Links of which nothing has been counted take the place of those there are, and of what is on them.
    pub fn begin_anew(&mut self, ways: Vec<Emulated>) {
        self.samples = vec![Vec::new(); ways.len()];
        (self.ways, self.late, self.refused) = (ways, Lateness::default(), 0);
    }

    /// Forwards frames until `over`. The links' time begins at `begin_ns`; each `every` all are looked at.
    /// `on_the_way` is told how many packets of programs are.
    pub fn run(&mut self, begin_ns: u64, every: Time, over: &AtomicBool, on_the_way: &AtomicUsize) -> io::Result<()> {
        let (mut room, mut sample_at) = (Room::new(), Time::ZERO);
        let time = |ns: u64| Time::from_ns(ns.saturating_sub(begin_ns));
        while !over.load(Ordering::Relaxed) {
            let due = self.ways.iter().filter_map(Emulated::next_due).min().unwrap_or(Time::MAX).min(sample_at);
            let due_ns = begin_ns.saturating_add(due.as_ns());
            let nap = due_ns.saturating_sub(now_ns()).min(NAP_NS);
            for (n, ready) in wait(self.sockets.iter().map(AsFd::as_fd), Some(nap))?.into_iter().enumerate() {
                if ready {
                    self.receive(n, &mut room, &time)?;
                }
            }
            // The clock is a system call where the kernel is a program.
            let now_ns = now_ns();
            let now = time(now_ns);
            for n in 0..self.ways.len() {
                if self.ways[n].next_due().is_some_and(|due| due <= now) {
                    self.deliver(n, begin_ns)?;
                }
            }
            if now >= sample_at && now_ns >= begin_ns {
                self.sample(now);
                sample_at = now + every;
            }
            if let Some(watched) = &mut self.watched {
                watched.forget(&mut self.ways);
                on_the_way.store(watched.conversations.on_the_way(), Ordering::Relaxed);
            }
        }
        self.add_routers();
        self.missed = self.sockets.iter().map(Packets::missed).sum();
        Ok(())
    }

    fn receive(&mut self, n: usize, room: &mut Room, time: &impl Fn(u64) -> Time) -> io::Result<()> {
        let frames = self.sockets[n].receive(room)?;
        for piece in frames.into_iter().flat_map(Frame::cut) {
            let at = time(piece.at_ns);
            if let Some(watched) = &mut self.watched {
                watched.leave(n, &piece, at);
            }
            let Some(left) = self.routers.as_mut().and_then(|routers| routers.leave(n, &piece, at)) else {
                self.ways[n].accept(piece, at);
                continue;
            };
            self.ways[n].note(&piece, &left.lost, left.marked);
            self.ways[n].accept_since(piece, at, left.since);
        }
        Ok(())
    }

    fn deliver(&mut self, n: usize, begin_ns: u64) -> io::Result<()> {
        loop {
            let now_ns = now_ns();
            let now = Time::from_ns(now_ns.saturating_sub(begin_ns));
            let due: Vec<(Time, Frame)> = std::iter::from_fn(|| self.ways[n].due(now)).take(BATCH).collect();
            if due.is_empty() {
                return Ok(());
            }
            let (times, frames): (Vec<Time>, Vec<Frame>) = due.into_iter().unzip();
            let sent = self.sockets[n ^ 1].send(&frames)?;
            // A device that takes nothing more is full: as on a wire, what comes then is lost.
            self.refused += (frames.len() - sent) as u64;
            let all = frames.len() < BATCH;
            if let Some(routers) = &mut self.routers {
                frames[..sent].iter().for_each(|frame| routers.enter(n, frame, now));
            }
            if let Some(watched) = &mut self.watched {
                frames.iter().zip(&times).for_each(|(frame, at)| watched.reach(n, frame, *at));
            }
            times[..sent].iter().for_each(|at| self.late.note(now.saturating_sub(*at)));
            if all {
                return Ok(());
            }
        }
    }

    /// Adds what waited in the kernel's queues to what was seen of ours.
    fn add_routers(&mut self) {
        let Some(routers) = &self.routers else { return };
        for (n, (way, samples)) in self.ways.iter_mut().zip(&mut self.samples).enumerate() {
            let (looks, most) = routers.backlog(n, samples.iter().map(|sample| sample.at));
            samples.iter_mut().zip(looks).for_each(|(sample, bytes)| sample.backlog += bytes);
            way.counters.max_bytes = way.counters.max_bytes.max(most);
        }
    }

    fn sample(&mut self, at: Time) {
        for (way, samples) in self.ways.iter_mut().zip(&mut self.samples) {
            way.advance(at);
            samples.push(Sample { at, backlog: way.backlog(), bytes: way.counters.bytes });
        }
        if let Some(watched) = &mut self.watched {
            watched.conversations.sample(at, watched.looks);
        }
    }

    /// Frames that are on links, or in routers.
    pub fn stored(&self) -> u64 {
        let links: u64 = self.ways.iter().map(Emulated::stored).sum();
        links + self.routers.as_ref().map_or(0, Routers::stored)
    }

    /// How well it went.
    pub fn report(&self) -> Value {
        let carried: u64 = self.ways.iter().map(|way| way.counters.packets).sum();
        json!({
            "frames": carried, "missed": self.missed, "refused": self.refused, "late_us": late_us(&self.late),
        })
    }
}
