//! The event loop of a node on a real network: one thread, one UDP socket for all neighbours (and a
//! connection to each whose link goes over one), the gateway's connections, and a socket for commands.
//!
//! What goes over a link is the links' business ([`Links`]): keys, what arrives, at which rate.

#![expect(clippy::disallowed_methods, reason = "the event loop has the clock")]

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use midpath_core::packet::PortId;
use midpath_core::roles::Backlog;
use midpath_core::units::{Rate, Time};
use midpath_link::LinkId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::carrier::Carrier;
use crate::commands::CommandLines;
use crate::gateway::Gateway;
use crate::host::{Counters, DROPS, Host};
use crate::lateness::Lateness;
use crate::priority::{Guard, Set};
use crate::streams::Streams;
use crate::udp::{Calls, Outbox, Udp};

/// How often the things are done that have no time of their own.
const TICK: Time = Time::from_ms(50);

/// The links to a node's neighbours, by the node's ports. No I/O.
pub trait Links {
    /// Called when a datagram has come: the frame in it, if it is a neighbour's. Answers go to
    /// `out`.
    fn receive<'a>(
        &'a mut self,
        now: Time,
        from: LinkId,
        datagram: &'a [u8],
        out: &mut Outbox,
    ) -> Option<(PortId, &'a [u8])>;
    /// Called with a frame for the neighbour behind a port.
    fn send(&mut self, now: Time, port: PortId, frame: &[u8], out: &mut Outbox);
    /// Called when the time has come, and after anything else: does what is due, and says for which ports rates and
    /// rooms may have changed.
    fn poll(&mut self, now: Time, out: &mut Outbox) -> Vec<PortId>;
    /// When something is due, or earlier.
    fn next_wake(&self) -> Time;
    /// How fast a port may send now, all headers counted; `None` for not at all.
    fn rate(&self, port: PortId, now: Time) -> Option<Rate>;
    /// The rate that a port is served at over time, where that may be less.
    fn served(&self, _port: PortId) -> Option<Rate> {
        None
    }
    /// The largest packet that goes whole through a port; larger ones go in parts.
    fn whole(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Whether what carries a port's frames takes more now.
    fn has_room(&self, _port: PortId) -> bool {
        true
    }
    /// Where a stream of ours leads, if links have such.
    fn leads_to(&self, _stream: LinkId) -> Option<SocketAddr> {
        None
    }
    /// Whether something genuine has come by a stream.
    fn is_neighbour_at(&self, _stream: LinkId) -> bool {
        false
    }
    /// Called with whether a stream takes more.
    fn set_room(&mut self, _stream: LinkId, _room: bool, _now: Time) {}
    /// Called when a stream has ended.
    fn on_end(&mut self, _stream: LinkId, _now: Time) {}
    /// What there is to say of a port, for people and machines.
    fn describe(&self, port: PortId) -> serde_json::Value;
    /// The same of datagrams that belong to no port.
    fn describe_all(&self) -> serde_json::Value;
}

/// The answer of a node whose configuration is in no file.
const NOT_CONFIGURED: &str = "this node has no configuration file to reload";

/// The configuration of a node that runs.
pub trait Configured<L> {
    /// Reads it again, and lets the links have what has changed. Says what that is, or what is wrong, and
    /// then nothing has changed.
    fn reload(&mut self, links: &mut L, gateway: &mut Gateway, now: Time, out: &mut Outbox) -> Result<String, String>;
    /// What the node runs with.
    fn running(&self) -> serde_json::Value;
}

/// Which of its files had something when it was woken.
#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    carriers: bool,
    applications: bool,
}

/// A node's event loop.
pub struct EventLoop<L> {
    host: Host,
    links: L,
    gateway: Gateway,
    udp: Udp,
    streams: Streams,
    commands: Option<CommandLines>,
    configured: Option<Box<dyn Configured<L>>>,
    /// Whoever rings here wants it to be done.
    bell: Option<UnixStream>,
    /// Whether a signal has said what `down` does.
    stop: Arc<AtomicBool>,
    priority: Option<Guard>,
    began: Instant,
    tick_at: Time,
    lateness: Lateness,
    out: Outbox,
    ready: Ready,
    stopped: bool,
}

impl<L: Links> EventLoop<L> {
    /// A node with its links over `udp`, and its applications. Commands are taken at `commands`.
    pub fn new(
        host: Host,
        links: L,
        gateway: Gateway,
        udp: Udp,
        commands: Option<UnixListener>,
    ) -> io::Result<EventLoop<L>> {
        let commands = commands.map(CommandLines::new).transpose()?;
        Ok(EventLoop {
            host,
            links,
            gateway,
            udp,
            streams: Streams::new(None)?,
            commands,
            configured: None,
            bell: None,
            stop: Arc::default(),
            priority: None,
            began: Instant::now(),
            tick_at: Time::ZERO,
            lateness: Lateness::default(),
            out: Outbox::default(),
            ready: Ready::default(),
            stopped: false,
        })
    }

    /// Has streams to neighbours, and takes theirs.
    #[must_use]
    pub fn with_streams(mut self, streams: Streams) -> EventLoop<L> {
        self.streams = streams;
        self
    }

    /// What `reload` does, and `configuration` says.
    pub fn with_configuration(mut self, configured: Box<dyn Configured<L>>) -> EventLoop<L> {
        self.configured = Some(configured);
        self
    }

    /// Reloads when something can be read from `bell`, too, and logs what came of it.
    pub fn with_bell(mut self, bell: UnixStream) -> io::Result<EventLoop<L>> {
        bell.set_nonblocking(true)?;
        self.bell = Some(bell);
        Ok(self)
    }

    /// Stops as by `down` once this is so, within a tick; a signal that has made it so wakes the loop.
    pub fn with_stop(mut self, stop: Arc<AtomicBool>) -> EventLoop<L> {
        self.stop = stop;
        self
    }

    /// Runs at real-time priority, within a budget, where that is allowed: to be said by the thread that
    /// will run it.
    pub fn with_priority(mut self, set: Set) -> EventLoop<L> {
        self.priority = Some(Guard::new(set, self.now()));
        self
    }

    /// Whether it has real-time priority, and how often it lost that; `None`: it is not allowed.
    pub fn real_time(&self) -> Option<(bool, u64)> {
        let guard = self.priority.as_ref()?;
        Some((guard.is_real_time()?, guard.losses))
    }

    fn now(&self) -> Time {
        since(self.began)
    }

    /// Runs until somebody says `down`, or it is to stop.
    pub fn run(&mut self) -> io::Result<()> {
        // Else the kernel wakes a thread of normal priority up to 50 µs later than it was asked.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.stopped && !self.stop.load(Ordering::Relaxed) {
            self.turn()?;
            self.wait()?;
        }
        let now = self.now();
        self.gateway.close(&mut self.host, now);
        self.serve(now);
        Ok(())
    }

    /// Runs for so long, or until somebody says `down`.
    pub fn run_for(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.stopped && Instant::now() < until {
            self.turn()?;
            self.wait()?;
        }
        Ok(())
    }

    /// What has been counted of packets.
    pub fn counters(&self) -> Counters {
        self.host.counters()
    }

    /// What has been sent and taken.
    pub fn calls(&self) -> Calls {
        self.udp.calls()
    }

    /// How late it was woken.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }

    /// Does all that is to be done now.
    fn turn(&mut self) -> io::Result<()> {
        let ready = std::mem::take(&mut self.ready);
        if ready.carriers {
            self.receive()?;
        }
        let now = self.now();
        self.host.on_time(now);
        if ready.applications {
            self.gateway.on_sockets(&mut self.host, now);
        }
        if now >= self.tick_at {
            self.tick_at = now.saturating_add(TICK);
            self.gateway.on_time(&mut self.host, now);
            self.host.on_tick(now);
            self.carry(|carrier, links| carrier.on_tick(links, now));
            if let Some(guard) = &mut self.priority {
                guard.look(now);
            }
            self.take_commands(now);
        }
        self.serve(now);
        Ok(())
    }

    /// What flows have brought goes to connections, and what the host and the links have to say onto
    /// the network.
    fn serve(&mut self, now: Time) {
        for port in self.links.poll(now, &mut self.out) {
            self.links.whole(port).into_iter().for_each(|whole| self.host.set_whole(port, whole, now));
            self.host.set_rate(port, self.links.rate(port, now), now);
            if let Some(served) = self.links.served(port) {
                self.host.set_served(port, served, now);
            }
            self.host.hold(port, !self.links.has_room(port), now);
        }
        self.gateway.on_flows(&mut self.host, now);
        for (port, frame) in self.host.frames() {
            self.links.send(now, port, &frame, &mut self.out);
        }
        let mut out = std::mem::take(&mut self.out);
        self.carry(|carrier, links| carrier.send(&mut out, links, now));
        self.out = out;
    }

    /// Calls for each carrier.
    fn carry(&mut self, mut each: impl FnMut(&mut dyn Carrier, &mut dyn Links)) {
        each(&mut self.streams, &mut self.links);
        each(&mut self.udp, &mut self.links);
    }

    fn receive(&mut self) -> io::Result<()> {
        let (host, out, began) = (&mut self.host, &mut self.out, self.began);
        let mut each = |links: &mut dyn Links, now, from, datagram: &[u8]| {
            if let Some((port, frame)) = links.receive(now, from, datagram, out) {
                // Bytes that are no packet are counted there.
                let _ = host.on_frame(port, frame, now);
            }
        };
        let now = || since(began);
        self.streams.receive(&mut self.links, &now, &mut each)?;
        self.udp.receive(&mut self.links, &now, &mut each)
    }

    /// Sleeps until a socket has something or something is due.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.now();
        let due = self.host.next_wake().min(self.links.next_wake()).min(self.tick_at);
        let left = Duration::from_nanos(due.saturating_sub(now).as_ns());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = vec![PollFd::from_borrowed_fd(self.gateway.readiness(), PollFlags::IN)];
        fds.extend(self.bell.iter().map(|bell| PollFd::new(bell, PollFlags::IN)));
        let commands = fds.len();
        fds.extend(self.commands.iter().map(|c| PollFd::from_borrowed_fd(c.as_fd(), PollFlags::IN)));
        let own = fds.len();
        self.streams.fds(&mut fds);
        let udp = fds.len();
        self.udp.fds(&mut fds);
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => {
                let now = self.now();
                self.lateness.note(now.saturating_sub(due));
            }
            Ok(_) => {
                let woken: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
                self.ready = Ready { carriers: woken[own..].contains(&true), applications: woken[0] };
                let rung = self.bell.is_some() && woken[1];
                let asked = woken[commands..own].contains(&true);
                self.streams.note(&woken[own..udp]);
                self.udp.note(&woken[udp..]);
                let now = self.now();
                if asked {
                    self.take_commands(now);
                }
                if rung {
                    self.on_bell(now);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    fn read_again(&mut self, now: Time) -> Result<String, String> {
        let configured = self.configured.as_mut().ok_or(NOT_CONFIGURED)?;
        configured.reload(&mut self.links, &mut self.gateway, now, &mut self.out)
    }

    fn on_bell(&mut self, now: Time) {
        while self.bell.as_ref().is_some_and(|mut bell| matches!(bell.read(&mut [0; 64]), Ok(n) if n > 0)) {}
        match self.read_again(now) {
            Ok(changed) => tracing::info!("reloaded: {changed}"),
            Err(why) => tracing::error!("not reloaded: {why}"),
        }
    }

    fn take_commands(&mut self, now: Time) {
        for (asking, line) in self.commands.as_mut().map(|commands| commands.take(now)).unwrap_or_default() {
            let answer = self.command(&line, now);
            if let Some(commands) = &mut self.commands {
                commands.answer(asking, &answer, now);
            }
        }
    }

    fn command(&mut self, line: &[u8], now: Time) -> serde_json::Value {
        tracing::debug!("command: {}", line.escape_ascii());
        match line {
            b"status" => self.status(now),
            b"reload" => match self.read_again(now) {
                Ok(changed) => serde_json::json!({"changed": changed}),
                Err(why) => serde_json::json!({"error": why}),
            },
            b"configuration" => match &self.configured {
                Some(configured) => configured.running(),
                None => serde_json::json!({"error": NOT_CONFIGURED}),
            },
            b"down" => {
                self.stopped = true;
                serde_json::json!({"stopped": true})
            }
            _ => serde_json::json!({"error": "commands are status, configuration, reload and down"}),
        }
    }

    /// What there is to say of the node.
    pub fn status(&mut self, now: Time) -> serde_json::Value {
        let (counted, calls, offload) = (self.host.counters(), self.udp.calls(), self.udp.offload());
        let [promised, on_packets, written] = self.host.held();
        let backlogs: Vec<Backlog> =
            (0..self.host.node().ports()).map(|port| self.host.backlog(PortId(port as u16), now)).collect();
        let sent = self.host.sent();
        let node = self.host.node();
        let port = |port: u16| {
            let port = PortId(port);
            let counters = node.counters(port);
            let waited = |q| counters.delay.quantile(q);
            let rate = self.links.rate(port, now).map(|rate| self.links.served(port).unwrap_or(rate).0);
            let queue = backlogs[usize::from(port.0)];
            serde_json::json!({
                "served_bps": rate, "packets": counters.packets, "bytes": counters.bytes,
                "queue": {"packets": queue.packets, "bytes": queue.bytes, "most_bytes": counters.max_bytes},
                "waited_s": {
                    "mean": counters.delay.mean(), "p50": waited(0.5), "p95": waited(0.95), "p99": waited(0.99),
                    "max": counters.delay.max().as_secs_f64(),
                    // Over a time: the mean of the bytes that waited, times that.
                    "bytes": counters.waited as f64 * 1e-12,
                },
                "marks": counters.marks,
                "drops": {
                    "queue": counters.drops_queue, "aqm": counters.drops_aqm, "fault": counters.drops_fault,
                    "policy": counters.drops_policy,
                },
                "link": self.links.describe(port),
            })
        };
        let (gateway, tables, streams) = (self.gateway.counted, self.tables(), self.streams.counters());
        let associations = self.gateway.datagrams;
        let of = |bound: bool| tables.iter().map(move |t| (t.0, if bound { t.2 } else { t.1 }));
        let drops = DROPS.iter().zip(counted.drops).map(|(reason, count)| ((*reason).to_owned(), count));
        serde_json::json!({
            "node": self.host.id().0,
            "up_s": now.as_secs_f64(),
            "ports": (0..node.ports() as u16).map(port).collect::<Vec<_>>(),
            "packets": {
                "received": counted.received, "malformed": counted.malformed, "sent": counted.sent,
                "delivered": counted.delivered, "dropped": counted.dropped, "unsent": calls.unsent,
            },
            "flows": {"packets": sent.packets, "again": sent.again, "timeouts": sent.timeouts},
            "drops": drops.collect::<BTreeMap<String, u64>>(),
            "datagrams": self.links.describe_all(),
            "udp": {
                "gso_segments": offload.sends, "gro_segments": offload.takes, "sent": calls.sent, "send_calls": calls.sends,
                "taken": calls.taken, "take_calls": calls.takes,
            },
            "streams": {
                "opened": streams.opened, "accepted": streams.accepted, "ended": streams.ended,
                "strangers": streams.strangers, "lost": streams.lost,
            },
            "tables": {"fill": of(false).collect::<BTreeMap<_, _>>(), "bound": of(true).collect::<BTreeMap<_, _>>()},
            "resident_bytes": resident(),
            "held_bytes": {"promised": promised, "written": written, "on_packets": on_packets, "stored_packets": node.stored()},
            "conversations": {
                "open": self.gateway.open(), "entered": gateway.entered, "left": gateway.left,
                "completed": gateway.completed, "reset": gateway.reset, "refused": gateway.refused,
                "other_version": gateway.other_version,
            },
            "associations": {
                "sent": associations.sent, "received": associations.received, "dropped": associations.dropped,
            },
            "late_us": {
                "p50": self.lateness.quantile_us(0.5), "p99": self.lateness.quantile_us(0.99),
                "counts": self.lateness.doublings(), "sum": self.lateness.sum.as_ns() / 1000,
            },
            "priority": {
                "real_time": self.priority.as_ref().and_then(Guard::is_real_time), "losses": self.priority.as_ref().map(|p| p.losses),
            },
        })
    }

    /// What may grow, how far it has, and how far it may.
    fn tables(&self) -> Vec<(&'static str, u64, u64)> {
        let [promised, _, written] = self.host.held();
        let (passive, most_passive) = self.host.passive();
        let (streams, most_streams) = self.streams.held(self.host.node().ports());
        let mut all = vec![
            ("promised_bytes", promised, self.host.windows().budget()),
            ("written_bytes", written, self.host.windows().budget()),
            ("passive_flows", passive as u64, most_passive as u64),
            ("streams", streams as u64, most_streams as u64),
        ];
        all.extend(self.gateway.tables(&self.host));
        all
    }
}

/// The node's time now.
fn since(began: Instant) -> Time {
    Time::from_ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// The memory of this process.
pub fn resident() -> Option<u64> {
    let about = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = about.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
