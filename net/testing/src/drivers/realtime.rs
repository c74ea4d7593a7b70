//! A driver in real time: every node is a thread with a socket on the loopback interface, and links
//! carry packets as bytes.
//!
//! What is due at one time goes, and what has come is taken, with as few system calls as the kernel needs
//! ([`midpath_node::udp`]). Rates and delays are kept here: a transmitter is busy for as long as its packet takes at the
//! link's rate, and the datagram is sent when the delay is over. The operating system wakes threads
//! late; nodes have to live with it. A link that is faster than the machine is served at what the
//! machine does, and its port is told. It is a test of the contract between node and driver, not a
//! router.

#![expect(clippy::disallowed_methods, reason = "the driver has the clock")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use midpath_core::node::{Driver, Limits, Node, Woken};
use midpath_core::packet::{Carried, FlowId, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::rng::{Purpose, Stream, stream};
use midpath_core::roles::{Drop, FlowReport, Transmitter};
use midpath_core::units::{Time, TxClock};
use midpath_core::wire;

use midpath_node::bytes::Bytes;
use midpath_node::carry_bytes;
use midpath_node::lateness::Lateness;
use midpath_node::schedule::{CREDIT, Schedule};
use midpath_node::served::Served;
use midpath_node::udp::{Calls, Outbox, Udp};

use super::{Delivered, LossModel, Network, Transfers};

/// A datagram is the number of the port that it is for, and the packet.
const PORT: usize = 2;
/// How long a thread sleeps at most before it looks whether the run is over.
const NAP: Duration = Duration::from_millis(20);

/// A thread that has not slept for so long lets the others do something. Ours: less than the credit, more than a
/// packet takes.
const TURN: Time = Time::from_us(200);

/// So many datagrams of a link may be with the kernel, or less than its socket has room for: what
/// would be lost there no port would know of.
const WITH_KERNEL: u64 = 32;
/// A link whose receiver has taken so many is looked at again after this.
const AGAIN: Time = Time::from_us(100);
/// What has not come by then was lost.
const GONE: Time = Time::from_ms(20);

/// A datagram on its way: when it arrives, and in which order it left.
type Flying = Reverse<(Time, u64, Vec<u8>)>;

/// What a run has counted.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Every endpoint's last report: flow, whether it is the active end, report.
    pub reports: Vec<(FlowId, bool, FlowReport)>,
    /// Datagrams sent and received.
    pub sent: u64,
    /// Those that came in from where the link leads.
    pub received: u64,
    /// Datagrams from elsewhere, and those whose bytes are no packet.
    pub refused: u64,
    /// What flows have carried.
    pub delivered: Delivered,
    /// How late datagrams were sent.
    pub late: Lateness,
    /// The system calls for that.
    pub calls: Calls,
}

impl Outcome {
    /// Both ends' reports of a flow as one.
    pub fn flow(&self, flow: FlowId) -> FlowReport {
        let of = self.reports.iter().filter(|r| r.0 == flow).map(|r| r.2);
        of.reduce(FlowReport::merge).unwrap_or_default()
    }
}

/// One port's transmitter, and where its link leads.
struct LoopbackLink {
    peer: SocketAddr,
    peer_port: PortId,
    schedule: Schedule,
    delay: Time,
    /// Datagrams on their way.
    flying: BinaryHeap<Flying>,
    /// Datagrams that the other end has taken from its socket; those sent; and when the former
    /// moved last.
    taken: Arc<AtomicU64>,
    sent: u64,
    seen: (u64, Time),
    /// Nothing leaves before.
    held: Time,
    served: Served,
}

impl LoopbackLink {
    /// When something here is due.
    fn next_wake(&self) -> Time {
        let flying = self.flying.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        flying.min(self.schedule.ends()).max(self.held)
    }

    /// Whether the other end has as many datagrams before it as it may; then nothing leaves for a while.
    fn is_full(&mut self, now: Time) -> bool {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken != self.seen.0 || self.sent <= taken {
            self.seen = (taken, now);
        } else if now.saturating_sub(self.seen.1) > GONE {
            self.sent = taken;
        }
        let full = self.sent.saturating_sub(taken) >= WITH_KERNEL;
        if full {
            self.held = now + AGAIN;
        }
        full
    }

    /// Whether datagrams are so late that the link can't be said to have carried them: its
    /// transmitter waits, as a device does whose wire is not free.
    fn is_behind(&self, now: Time) -> bool {
        self.flying.peek().is_some_and(|Reverse((at, ..))| at.saturating_add(CREDIT) < now)
    }
}

/// Everything of a node's driver but the node itself.
struct Lines {
    of: Vec<LoopbackLink>,
    /// What has been taken from the socket, by the port that it is for.
    taken: Vec<Arc<AtomicU64>>,
    out: Outcome,
    ended: usize,
    /// What goes with the next call.
    leaving: Outbox,
    bytes: Bytes,
    chaos: LossModel,
    rng: Stream,
}

impl Lines {
    fn bytes(&mut self) -> &mut Bytes {
        &mut self.bytes
    }

    /// A packet starts onto a link.
    fn send(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        let payload = self.bytes.take(pkt.id());
        let packet = pool.take(pkt);
        let line = &mut self.of[usize::from(port.0)];
        let (end, lost) = line.schedule.begin(now, packet.size);
        line.served.lost(lost);
        let (arrives, peer_port) = (end + line.delay, line.peer_port);
        let payload = payload.unwrap_or_else(|| vec![0; usize::from(packet.payload)].into());
        let mut bytes = Vec::with_capacity(packet.size as usize + PORT);
        bytes.extend_from_slice(&peer_port.0.to_be_bytes());
        wire::encode_with(&packet, &payload, &mut bytes);
        self.fly(arrives, port, bytes, payload.len());
    }

    /// A datagram is on its way, with what befalls it there.
    fn fly(&mut self, arrives: Time, port: PortId, mut bytes: Vec<u8>, payload: usize) {
        let mishap = self.chaos.befall(payload, &mut self.rng);
        self.out.sent += 1;
        if mishap.lost {
            return;
        }
        let flying = &mut self.of[usize::from(port.0)].flying;
        if let Some(later) = mishap.copy {
            flying.push(Reverse((arrives + mishap.late + later, self.out.sent, bytes.clone())));
        }
        if let Some((at, by)) = mishap.changed {
            let place = bytes.len() - payload + at;
            bytes[place] = bytes[place].wrapping_add(by);
        }
        flying.push(Reverse((arrives + mishap.late, self.out.sent, bytes)));
    }

    /// When something here is due.
    fn next_wake(&self) -> Time {
        self.of.iter().map(LoopbackLink::next_wake).min().unwrap_or(Time::MAX)
    }
}

impl Driver for Lines {
    carry_bytes!(bytes);
    fn dropped(&mut self, _port: Option<PortId>, id: PacketId, _packet: Carried<'_>, _why: Drop) {
        self.bytes.take(id);
    }
    fn delivered(&mut self, id: PacketId, _packet: &Packet) {
        self.bytes.delivered(id);
    }
    fn consumed(&mut self, id: PacketId, _packet: &Packet) {
        self.bytes.take(id);
    }
    fn copied(&mut self, of: PacketId, copy: PacketId) {
        self.bytes.copied(of, copy);
    }
    fn transmitter(&mut self, port: PortId, _now: Time) -> Transmitter {
        self.of[usize::from(port.0)].schedule.state()
    }
    fn start(&mut self, port: PortId, pkt: Pkt, now: Time, pool: &mut Pool) {
        self.send(port, pkt, now, pool);
    }
    fn finished(&mut self, flow: FlowId, active: bool, report: FlowReport) {
        self.ended += usize::from(active);
        self.out.reports.push((flow, active, report));
    }
}

/// Time zero of all threads: when the last of them runs. Counted from before they were made, flows began late: making
/// them took up to 100 ms, a tenth of a run.
struct Start {
    ready: Barrier,
    at: OnceLock<Instant>,
}

impl Start {
    fn of(threads: usize) -> Start {
        Start { ready: Barrier::new(threads), at: OnceLock::new() }
    }

    fn wait(&self) -> Instant {
        self.ready.wait();
        *self.at.get_or_init(Instant::now)
    }
}

/// A node with its thread's clock.
struct NodeThread {
    node: Node,
    lines: Lines,
    pool: Pool,
    began: Instant,
}

/// Runs a network until `flows` active ends have finished, or for `limit`.
pub fn run(network: Network, flows: usize, limit: Duration) -> io::Result<Outcome> {
    carry(network, flows, &Transfers::default(), limit)
}

/// The same with bytes in the packets.
pub fn carry(network: Network, flows: usize, load: &Transfers, limit: Duration) -> io::Result<Outcome> {
    let nodes = with_sockets(network, load)?;
    let (ended, start) = (AtomicUsize::new(0), Start::of(nodes.len()));
    let outcomes = thread::scope(|scope| {
        let (ended, start) = (&ended, &start);
        let spawn = |(node, lines, mut udp): (Node, Lines, Udp)| {
            scope.spawn(move || {
                let mut s = NodeThread { node, lines, pool: Pool::new(), began: start.wait() };
                s.run(&mut udp, ended, flows, limit).map(|()| s.finish(udp.calls()))
            })
        };
        let threads: Vec<_> = nodes.into_iter().map(spawn).collect();
        threads.into_iter().map(|t| t.join().expect("a node's thread ends")).collect::<io::Result<Vec<_>>>()
    })?;
    let mut all = Outcome::default();
    for out in outcomes {
        all.reports.extend(out.reports);
        (all.sent, all.received) = (all.sent + out.sent, all.received + out.received);
        all.refused += out.refused;
        all.late.add(&out.late);
        all.calls.add(out.calls);
        all.delivered.files.extend(out.delivered.files);
        all.delivered.ends.extend(out.delivered.ends);
    }
    Ok(all)
}

/// Binds a socket for each node, and connects ports with sockets.
fn with_sockets(network: Network, load: &Transfers) -> io::Result<Vec<(Node, Lines, Udp)>> {
    let bind = |_: &Node| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        wait::room(&socket);
        Ok(socket)
    };
    let sockets = network.nodes.iter().map(bind).collect::<io::Result<Vec<_>>>()?;
    let addresses = sockets.iter().map(UdpSocket::local_addr).collect::<io::Result<Vec<_>>>()?;
    let mut lines: Vec<Vec<Option<LoopbackLink>>> =
        network.nodes.iter().map(|n| (0..n.ports()).map(|_| None).collect()).collect();
    let taken: Vec<Vec<Arc<AtomicU64>>> =
        network.nodes.iter().map(|n| (0..n.ports()).map(|_| Arc::default()).collect()).collect();
    for link in network.links {
        let (peer, peer_port) = (addresses[link.to.0.0 as usize], link.to.1);
        let line = LoopbackLink {
            peer,
            peer_port,
            schedule: Schedule::new(TxClock::new(link.rate)),
            delay: link.delay,
            flying: BinaryHeap::new(),
            taken: taken[link.to.0.0 as usize][usize::from(peer_port.0)].clone(),
            sent: 0,
            seen: (0, Time::ZERO),
            held: Time::ZERO,
            served: Served::new(link.rate),
        };
        lines[link.from.0.0 as usize][usize::from(link.from.1.0)] = Some(line);
    }
    let node = |((node, socket), lines): ((Node, UdpSocket), Vec<Option<LoopbackLink>>)| {
        let bytes = load.bytes();
        let lines = Lines {
            of: lines.into_iter().map(|l| l.expect("each port has a link")).collect(),
            taken: taken[node.id().0 as usize].clone(),
            out: Outcome::default(),
            ended: 0,
            leaving: Outbox::default(),
            bytes,
            chaos: load.chaos,
            rng: stream(1, Purpose::Fault, node.id().0.into()),
        };
        let node = node.without_timetables().with_limits(Limits::default());
        Ok((node, lines, Udp::new(socket)?))
    };
    network.nodes.into_iter().zip(sockets).zip(lines).map(node).collect()
}

impl NodeThread {
    fn now(&self) -> Time {
        Time::from_ns(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long nothing is due here, or a little less.
    fn nap(&self) -> Duration {
        let next = self.lines.next_wake().min(self.node.next_wake()).saturating_sub(self.now());
        Duration::from_nanos(next.as_ns()).min(NAP)
    }

    fn run(&mut self, udp: &mut Udp, ended: &AtomicUsize, flows: usize, limit: Duration) -> io::Result<()> {
        wait::finely();
        let mut awake = self.now();
        while ended.load(Ordering::Relaxed) < flows && self.began.elapsed() < limit {
            self.due();
            udp.send(&mut self.lines.leaving);
            ended.fetch_add(std::mem::take(&mut self.lines.ended), Ordering::Relaxed);
            if udp.take()? {
                udp.datagrams().for_each(|(from, bytes)| self.heard(bytes, from));
                if self.now().saturating_sub(awake) >= TURN {
                    wait::turns();
                    awake = self.now();
                }
            } else {
                wait::on(udp, self.nap())?;
                awake = self.now();
            }
        }
        Ok(())
    }

    /// Does what is due: datagrams that arrive, packets that have been sent, wake-ups.
    fn due(&mut self) {
        let now = self.now();
        for port in 0..self.lines.of.len() {
            if self.lines.of[port].held > now {
                continue;
            }
            self.depart(port, now);
            while self.lines.of[port].schedule.ends() <= now {
                if self.lines.of[port].is_behind(now) {
                    self.lines.of[port].held = now + AGAIN;
                    break;
                }
                self.lines.of[port].schedule.end();
                self.pull(PortId(port as u16), now);
            }
            if let Some(rate) = self.lines.of[port].served.changed_rate(now) {
                self.node.set_rate(PortId(port as u16), rate, now, &mut self.pool, &mut self.lines);
            }
        }
        while self.node.next_wake() <= now {
            if self.node.on_wake(now, &mut self.pool, &mut self.lines) == Woken::Nothing {
                break;
            }
        }
        self.settle(now);
    }

    /// A link's datagrams leave whose time has come.
    fn depart(&mut self, port: usize, now: Time) {
        let line = &mut self.lines.of[port];
        while line.flying.peek().is_some_and(|Reverse((at, ..))| *at <= now) && !line.is_full(now) {
            let Some(Reverse((at, _, bytes))) = line.flying.pop() else { break };
            let late = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.lines.out.late.note(Time::from_ns(late).saturating_sub(at));
            self.lines.leaving.push(line.peer, &bytes);
            line.sent += 1;
        }
    }

    /// A datagram has come in. Whoever isn't at the other end of the port's link is not heard.
    fn heard(&mut self, bytes: &[u8], from: SocketAddr) {
        let now = self.now();
        let Some((port, packet)) = bytes.split_first_chunk::<PORT>() else {
            self.lines.out.refused += 1;
            return;
        };
        let port = u16::from_be_bytes(*port);
        let linked = self.lines.of.get(usize::from(port)).is_some_and(|line| line.peer == from);
        if linked {
            self.lines.taken[usize::from(port)].fetch_add(1, Ordering::Relaxed);
        }
        match wire::read(packet) {
            Ok((read, payload)) if linked => {
                self.lines.out.received += 1;
                let pkt = self.pool.insert(read);
                self.lines.bytes.pin(pkt.id(), packet[payload].into());
                self.node.on_packet(now, PortId(port), pkt, &mut self.pool, &mut self.lines);
                self.settle(now);
            }
            _ => self.lines.out.refused += 1,
        }
    }

    /// After each call: the ports that have something are asked.
    fn settle(&mut self, now: Time) {
        for end in self.lines.out.delivered.read(&mut self.lines.bytes) {
            self.node.poke_end(end, now, &mut self.pool, &mut self.lines);
        }
        while let Some(port) = self.node.ready() {
            self.pull(port, now);
        }
    }

    /// Takes a port's next packet, if nothing is being sent there.
    fn pull(&mut self, port: PortId, now: Time) {
        if self.lines.of[usize::from(port.0)].schedule.is_busy() {
            return; // it is asked when that packet has been sent
        }
        match self.node.poll_transmit(now, port, &mut self.pool, &mut self.lines) {
            Some(pkt) => self.lines.send(port, pkt, now, &mut self.pool),
            None => self.lines.of[usize::from(port.0)].schedule.rest(),
        }
    }

    fn finish(self, calls: Calls) -> Outcome {
        let mut out = Outcome { calls, ..self.lines.out };
        out.reports.extend(self.node.reports());
        out
    }
}

/// Sleeps until a socket has something, or for so long.
#[cfg(target_os = "linux")]
mod wait {
    use std::io;
    use std::net::UdpSocket;
    use std::num::NonZeroU64;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use midpath_node::udp::Udp;

    /// Else the kernel wakes a thread of normal priority up to 50 µs later than it was asked.
    pub fn finely() {
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }

    /// Lets the other nodes do something, too: a thread of real-time priority that always has something to take
    /// would keep its core, and what it sends would wait for one that does not run.
    pub fn turns() {
        rustix::thread::sched_yield();
    }

    /// Room for full packets of ten links, as far as the system allows.
    pub fn room(socket: &UdpSocket) {
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(socket, 1 << 20);
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, 1 << 20);
    }

    pub fn on(socket: &Udp, longest: Duration) -> io::Result<()> {
        let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// The same without `ppoll`: a socket's own timeout counts in ticks of up to 10 ms, so it is looked at
/// five times a millisecond.
#[cfg(not(target_os = "linux"))]
mod wait {
    use std::io;
    use std::net::UdpSocket;
    use std::time::Duration;

    use midpath_node::udp::Udp;

    pub fn finely() {}

    pub fn turns() {
        std::thread::yield_now();
    }

    pub fn room(_socket: &UdpSocket) {}

    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    pub fn on(_socket: &Udp, longest: Duration) -> io::Result<()> {
        std::thread::sleep(longest.min(Duration::from_micros(200)));
        Ok(())
    }
}
