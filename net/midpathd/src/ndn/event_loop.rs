//! The event loop of a forwarder: one thread, its sockets, and a socket for commands.

#![expect(clippy::disallowed_methods, reason = "the event loop has the clock")]

mod commands;
mod faces;
mod peers;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::num::NonZeroU64;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use midpath_core::units::Time;
use midpath_ndn::link::Fragmenter;
use midpath_ndn_forwarder::{FaceId, Forwarder};
use midpath_node::commands::CommandLines;
use midpath_node::poller::{Poller, Ready, Wants};
use midpath_node::seldom::Seldom;
use rustc_hash::FxHashMap;

use self::peers::{Connecting, Known};
use super::config::{Config, Peer};
use super::stream::Stream;
use super::udp::Udp;
use crate::running::Running;

/// Bytes read from a stream before another face gets its turn. Ours: an application's window.
const READ: usize = 1 << 16;
/// How often the things are done that have no time of their own.
const TICK: Time = Time::from_secs(1);
/// Reasons for closed faces that `status` shows.
const REASONS: usize = 16;

/// Tokens of sockets that are no face's: the kind in the upper half, the place in the lower.
const LISTENER: u64 = 1 << 60;
const DATAGRAMS: u64 = 2 << 60;
const CONNECTING: u64 = 3 << 60;
const CONTROL: u64 = 4 << 60;
const KIND: u64 = 15 << 60;

/// A socket that connections come in at.
pub enum Listener {
    /// Of this machine.
    Unix(UnixListener),
    /// From anywhere.
    Tcp(TcpListener),
}

/// How a face is reached.
enum Link {
    /// A stream of its own.
    Stream(Box<Stream>),
    /// A socket that several share.
    Udp { socket: usize, remote: std::net::SocketAddr, fragmenter: Fragmenter, mtu: usize, seen: Time },
}

/// What the loop counts besides the forwarder.
#[derive(Default)]
struct Counters {
    /// Connections and datagrams of strangers that got no face.
    refused: u64,
    /// Packets that found no room for a face that reads slowly.
    dropped: u64,
    /// Datagrams that the kernel did not take, and packets that fit into none.
    unsent: u64,
    /// Faces that were closed for a reason.
    failed: u64,
    /// Turns of the loop.
    turns: u64,
}

/// The event loop.
pub struct EventLoop {
    forwarder: Forwarder,
    poller: Poller,
    listeners: Vec<Listener>,
    /// Those that are not listened at until the next tick.
    unregistered: Vec<usize>,
    /// UDP sockets by place; a place is given once.
    udp: BTreeMap<usize, Udp>,
    sockets: usize,
    links: FxHashMap<FaceId, Link>,
    connecting: FxHashMap<u64, Connecting>,
    connections: u64,
    known: Vec<Known>,
    control: Option<CommandLines>,
    /// What it runs with.
    running: Running,
    /// The longest datagram, unless a command says otherwise.
    mtu: usize,
    strangers: bool,
    /// Bytes that wait for all streams, and may.
    waiting: usize,
    output: usize,
    /// Streams that have something to write now.
    dirty: Vec<FaceId>,
    /// UDP faces that others have made, the ones that were seen longest ago somewhere near the front.
    idle: VecDeque<FaceId>,
    buffer: Vec<u8>,
    counted: Counters,
    reasons: VecDeque<String>,
    /// Those that were logged.
    said: Seldom,
    began: Instant,
    tick_at: Time,
    stopped: bool,
}

impl EventLoop {
    /// A forwarder with its sockets.
    pub fn new(
        forwarder: Forwarder,
        config: &Config,
        listeners: Vec<Listener>,
        udp: Vec<Udp>,
        control: Option<UnixListener>,
    ) -> io::Result<EventLoop> {
        let poller = Poller::new()?;
        for (place, listener) in listeners.iter().enumerate() {
            let token = LISTENER | place as u64;
            match listener {
                Listener::Unix(socket) => {
                    socket.set_nonblocking(true)?;
                    poller.add(socket, token, Wants::Read)?;
                }
                Listener::Tcp(socket) => {
                    socket.set_nonblocking(true)?;
                    poller.add(socket, token, Wants::Read)?;
                }
            }
        }
        for (place, udp) in udp.iter().enumerate() {
            poller.add(udp.socket(), DATAGRAMS | place as u64, Wants::Read)?;
        }
        let control = control.map(CommandLines::new).transpose()?;
        if let Some(control) = &control {
            poller.add(control, CONTROL, Wants::Read)?;
        }
        let known = config.peers.iter().cloned().map(|peer: Peer| Known::new(peer)).collect();
        Ok(EventLoop {
            forwarder,
            poller,
            listeners,
            unregistered: Vec::new(),
            sockets: udp.len(),
            udp: udp.into_iter().enumerate().collect(),
            links: FxHashMap::default(),
            connecting: FxHashMap::default(),
            connections: 0,
            known,
            control,
            running: config.running(),
            mtu: config.mtu,
            strangers: config.strangers,
            waiting: 0,
            output: config.output,
            dirty: Vec::new(),
            idle: VecDeque::new(),
            buffer: vec![0; READ],
            counted: Counters::default(),
            reasons: VecDeque::new(),
            said: Seldom::new(faces::LOGGED, Duration::from_secs(60)),
            began: Instant::now(),
            tick_at: Time::ZERO,
            stopped: false,
        })
    }

    fn now(&self) -> Time {
        Time::from_ns(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Runs until somebody says `down`, or it is to stop; a signal that has said so wakes the loop.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        // Else the kernel wakes a thread of normal priority up to 50 µs later than it was asked.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.stopped && !stop.load(Ordering::Relaxed) {
            self.counted.turns += 1;
            let now = self.now();
            self.forwarder.on_time(now);
            if now >= self.tick_at {
                self.tick_at = now.saturating_add(TICK);
                self.tick(now);
            }
            self.settle(now);
            let now = self.now();
            let due = self.forwarder.next_wake().min(self.tick_at);
            let left = Duration::from_nanos(due.saturating_sub(now).as_ns());
            for (token, ready) in self.poller.wait(left)? {
                self.on_ready(token, ready);
            }
        }
        Ok(())
    }

    fn tick(&mut self, now: Time) {
        self.listen_again();
        self.check_faces(now);
        self.connect_known(now);
        self.take_commands(now);
    }

    fn on_ready(&mut self, token: u64, ready: Ready) {
        let now = self.now();
        let place = (token & !KIND) as usize;
        match token & KIND {
            LISTENER => self.accept(place, now),
            DATAGRAMS => {
                if ready.writable {
                    self.flush(place);
                }
                if ready.readable {
                    self.receive(place, now);
                }
            }
            CONNECTING => self.connected(token & !KIND, now),
            CONTROL => self.take_commands(now),
            _ => self.on_stream(FaceId(token), ready, now),
        }
        self.settle(now);
    }

    /// Sends what the forwarder has to send, and does what it wants done.
    fn settle(&mut self, now: Time) {
        self.distribute(now);
        for action in self.forwarder.actions() {
            self.act(action, now);
        }
        // An action may have been answered.
        self.distribute(now);
    }
}
