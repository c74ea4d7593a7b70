//! The ends of all flows: the kernel's TCP in the hosts' namespaces, driven by one thread.
//!
//! A socket belongs to its thread's namespace at creation, so one process holds them all, with one clock. Received
//! data are counted and discarded in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use midpath_core::units::Time;
use midpath_node::poller::{Poller, Ready, Wants};
use midpath_traffic::{WriteLaws, Writes};
use rustc_hash::FxHashMap;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::emulated::Lines;
use crate::packets::now_ns;
use crate::programs::Programs;
use crate::tcp_info::TcpInfo;

/// Ports at which hosts listen, one for each congestion control: ACKs are those of the receiver's.
const FIRST_PORT: u16 = 7400;
/// Given to the kernel at once, and taken from it.
const CHUNK: usize = 256 << 10;

/// A flow to be sent.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Nodes.
    pub ends: (usize, usize),
    /// Bytes; none without end.
    pub size: Option<u64>,
    /// When it begins.
    pub start: Time,
    /// When it gives up.
    pub stop: Option<Time>,
    /// The kernel's congestion control.
    pub control: String,
    /// Whether the kernel paces it.
    pub paced: bool,
    /// What its application writes, where that is not all at the start, with the run's seed.
    pub writes: Option<(Arc<WriteLaws>, u64)>,
}

/// What became of a flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// When its connection was asked for.
    pub started: Option<Time>,
    /// When its last byte was read.
    pub completed: Option<Time>,
    /// Bytes read.
    pub delivered: u64,
    /// The sender's last word.
    pub info: Option<TcpInfo>,
    /// The sender's address and port, and the receiver's.
    pub addresses: Option<(SocketAddrV4, SocketAddrV4)>,
    /// Of its round trip: the sum of the samples, their number, and the longest, in seconds.
    pub rtt: (f64, u64, f64),
    /// Why it failed.
    pub error: Option<String>,
    sending: Option<Socket>,
    left: Option<u64>,
    /// Of what its application has written, bytes that the kernel has not taken; and what it writes yet.
    written: u64,
    writes: Option<Writes>,
    over: bool,
}

/// What was seen of a flow at a time.
pub struct Look {
    /// When.
    pub at: Time,
    /// Which flow.
    pub flow: usize,
    /// Bytes read.
    pub delivered: u64,
    /// Its sender.
    pub info: TcpInfo,
}

/// The ends at work.
pub struct Ends<'a> {
    hosts: &'a BTreeMap<usize, File>,
    wanted: &'a [Wanted],
    /// As in `wanted`.
    pub flows: Vec<Flow>,
    /// Looks at the first flows.
    pub looks: Vec<Look>,
    /// Bytes that all flows of a group had delivered at a time.
    pub progress: Vec<(Time, Vec<u64>)>,
    poller: Poller,
    /// With the flow that comes in there, if it is one's alone.
    listeners: FxHashMap<RawFd, (Socket, Option<usize>)>,
    receiving: FxHashMap<RawFd, (Socket, Option<usize>)>,
    senders: FxHashMap<RawFd, usize>,
    by_address: FxHashMap<(SocketAddrV4, SocketAddrV4), usize>,
    /// The next write of each flow: when, whose, and how many bytes.
    planned: BTreeSet<(Time, usize, u64)>,
    space: Vec<MaybeUninit<u8>>,
    data: Vec<u8>,
    /// Flows go by Midpath's nodes, in and out at these ports.
    nodes: Option<Lines>,
    /// By how much the latest flow began late.
    pub late: Time,
    /// What changes routes during the run, in order of time.
    pub scripts: Vec<(Time, String)>,
}

/// When and what to look at.
#[derive(Debug, Clone)]
pub struct Watch {
    /// How often.
    pub every: Time,
    /// How many of the first flows.
    pub flows: usize,
    /// Of each flow its group.
    pub groups: Vec<usize>,
}

/// What a socket is known by while it is open.
fn token(socket: &Socket) -> u64 {
    socket.as_raw_fd() as u64
}

/// A node's address.
pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (node >> 8) as u8, (node & 0xff) as u8)
}

/// A port of a host's own, of flow `i`.
fn within(first: u16, i: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, first + i as u16)
}

/// What the kernel knows of a connection; between an application and its node that says nothing of the network.
fn info(nodes: Option<Lines>, socket: &Socket) -> Option<TcpInfo> {
    if nodes.is_some() { None } else { TcpInfo::of(socket).ok() }
}

fn wait_for(changing: Vec<Child>) -> io::Result<()> {
    for mut child in changing {
        if !child.wait()?.success() {
            return Err(io::Error::other("cannot change routes"));
        }
    }
    Ok(())
}

impl<'a> Ends<'a> {
    /// Listens in all hosts for these flows, which come by the kernel's TCP, or by Midpath's nodes.
    pub fn new(hosts: &'a BTreeMap<usize, File>, wanted: &'a [Wanted], nodes: Option<Lines>) -> io::Result<Ends<'a>> {
        let mut ends = Ends {
            hosts,
            wanted,
            flows: wanted.iter().map(|_| Flow::default()).collect(),
            looks: Vec::new(),
            progress: Vec::new(),
            poller: Poller::new()?,
            listeners: FxHashMap::default(),
            receiving: FxHashMap::default(),
            senders: FxHashMap::default(),
            by_address: FxHashMap::default(),
            planned: BTreeSet::new(),
            space: vec![MaybeUninit::uninit(); CHUNK],
            data: vec![0; CHUNK],
            nodes,
            late: Time::ZERO,
            scripts: Vec::new(),
        };
        if let Some(Lines { exits, .. }) = nodes {
            for (i, flow) in wanted.iter().enumerate() {
                ends.listen(flow.ends.1, within(exits, i), "", Some(i))?;
            }
            return Ok(ends);
        }
        let mut places: Vec<(usize, u16, &str)> =
            wanted.iter().map(|flow| (flow.ends.1, ends.port(&flow.control), flow.control.as_str())).collect();
        places.sort_unstable();
        places.dedup();
        for (host, port, control) in places {
            ends.listen(host, SocketAddrV4::new(address(host), port), control, None)?;
        }
        Ok(ends)
    }

    fn listen(&mut self, host: usize, at: SocketAddrV4, control: &str, flow: Option<usize>) -> io::Result<()> {
        self.enter(host)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        if !control.is_empty() {
            socket.set_tcp_congestion(control.as_bytes())?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::from(at))?;
        socket.listen(4096)?;
        self.poller.add(&socket, token(&socket), Wants::Read)?;
        self.listeners.insert(socket.as_raw_fd(), (socket, flow));
        Ok(())
    }

    /// Each congestion control's port: the order in which flows first name them.
    fn port(&self, control: &str) -> u16 {
        let first = self.wanted.iter().position(|flow| flow.control == control).unwrap_or(0);
        let mut before: Vec<&str> = self.wanted[..first].iter().map(|flow| flow.control.as_str()).collect();
        before.sort_unstable();
        before.dedup();
        FIRST_PORT + before.len() as u16
    }

    /// Moves this thread into a host's namespace.
    pub fn enter(&self, host: usize) -> io::Result<()> {
        let file = self.hosts.get(&host).ok_or_else(|| io::Error::other(format!("node {host} has no namespace")))?;
        crate::run::enter(file)
    }

    /// Sends until all flows are over, or until `stop`; says when that was. Time begins at `begin_ns`. With programs it
    /// is over when these are.
    pub fn run(
        &mut self,
        begin_ns: u64,
        stop: Option<Time>,
        patience: Time,
        watch: &Watch,
        programs: &mut Programs<'_>,
        on_the_way: &AtomicUsize,
    ) -> io::Result<Time> {
        let (mut scripts, mut changing) = (std::mem::take(&mut self.scripts).into_iter().peekable(), Vec::new());
        let mut order: Vec<usize> = (0..self.wanted.len()).collect();
        order.sort_by_key(|i| self.wanted[*i].start);
        let mut order = order.into_iter().peekable();
        let (end, mut look_at) = (stop.unwrap_or(patience), Time::ZERO);
        let mut given_up: Vec<(Time, usize)> = Vec::new();
        let mut begun = false;
        loop {
            let now_ns = now_ns();
            let now = Time::from_ns(now_ns.saturating_sub(begin_ns));
            if now_ns < begin_ns {
                crate::packets::wait([], Some(begin_ns - now_ns))?;
                continue;
            }
            if !begun {
                begun = true;
                programs.begin(&|host| self.enter(host), now)?;
                for descriptor in programs.descriptors() {
                    self.poller.add(descriptor, descriptor.as_raw_fd() as u64, Wants::Read)?;
                }
            }
            while let Some((_, script)) = scripts.next_if(|(at, _)| *at <= now) {
                // Flows go on meanwhile.
                let command =
                    Command::new("sh").args(["-euc", &script]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
                changing.push(command?);
            }
            while let Some(i) = order.next_if(|i| self.wanted[*i].start <= now) {
                self.late = self.late.max(now.saturating_sub(self.wanted[i].start));
                self.start(i, now);
                given_up.extend(self.wanted[i].stop.map(|at| (at, i)));
            }
            while self.planned.first().is_some_and(|write| write.0 <= now) {
                let (_, i, bytes) = self.planned.pop_first().expect("looked at");
                self.write(i, bytes)?;
            }
            // A flow with a `stop` of its own gives up then.
            for (_, i) in given_up.extract_if(.., |(at, _)| *at <= now) {
                self.close(i);
            }
            if now >= look_at {
                self.look(now, watch);
                look_at = now + watch.every;
            }
            let over = match programs.is_empty() {
                true => stop.is_none() && order.peek().is_none() && self.flows.iter().all(|f| f.over),
                false => programs.are_over(now, on_the_way.load(Ordering::Relaxed)),
            };
            if now >= end || over {
                self.look(now, watch);
                (0..self.flows.len()).for_each(|i| self.close(i));
                return wait_for(changing).map(|()| now);
            }
            let next = order.peek().map(|i| self.wanted[*i].start);
            let next = next
                .into_iter()
                .chain(given_up.iter().map(|(at, _)| *at))
                .chain(scripts.peek().map(|(at, _)| *at))
                .chain(self.planned.first().map(|write| write.0))
                .fold(end.min(look_at), Time::min)
                .min(programs.next_wake(now));
            for (token, ready) in self.poller.wait(Duration::from_nanos(next.saturating_sub(now).as_ns()))? {
                let now = Time::from_ns(crate::packets::now_ns().saturating_sub(begin_ns));
                if !programs.ended(token as RawFd, now) {
                    self.happen(token as RawFd, ready, now)?;
                }
            }
        }
    }

    fn start(&mut self, i: usize, now: Time) {
        self.flows[i].started = Some(now);
        self.flows[i].left = self.wanted[i].size;
        match &self.wanted[i].writes {
            Some((laws, seed)) => self.flows[i].writes = Some(Writes::new(laws.clone(), &(*seed).into(), i as u32)),
            None => self.flows[i].written = u64::MAX,
        }
        self.plan(i);
        if let Err(error) = self.connect(i) {
            self.fail(i, &error);
        }
    }

    /// When its application writes next.
    fn plan(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let next = flow.writes.as_mut().and_then(Iterator::next);
        self.planned.extend(next.map(|(after, size)| (flow.started.unwrap_or_default() + after, i, size.0)));
    }

    /// Its application writes.
    fn write(&mut self, i: usize, bytes: u64) -> io::Result<()> {
        let flow = &mut self.flows[i];
        let Some(socket) = &flow.sending else { return Ok(()) };
        flow.written = flow.written.saturating_add(bytes);
        self.poller.change(socket, token(socket), Wants::Write)?;
        // What goes beyond the size is not sent.
        if flow.left.is_none_or(|left| left > flow.written) {
            self.plan(i);
        }
        Ok(())
    }

    fn connect(&mut self, i: usize) -> io::Result<()> {
        let wanted = &self.wanted[i];
        let (from, to) = wanted.ends;
        self.enter(from)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        let peer = if let Some(Lines { entrances, .. }) = self.nodes {
            within(entrances, i)
        } else {
            socket.set_tcp_congestion(wanted.control.as_bytes())?;
            if wanted.paced {
                crate::tcp_info::pace(&socket)?;
            }
            socket.bind(&SockAddr::from(SocketAddrV4::new(address(from), 0)))?;
            SocketAddrV4::new(address(to), self.port(&wanted.control))
        };
        if let Err(error) = socket.connect(&SockAddr::from(peer))
            && error.raw_os_error() != Some(libc::EINPROGRESS)
        {
            return Err(error);
        }
        let Some(SocketAddr::V4(own)) = socket.local_addr()?.as_socket() else {
            return Err(io::Error::other("no address"));
        };
        if self.nodes.is_none() {
            self.by_address.insert((own, peer), i);
            self.flows[i].addresses = Some((own, peer));
        }
        self.poller.add(&socket, token(&socket), Wants::Write)?;
        self.senders.insert(socket.as_raw_fd(), i);
        self.flows[i].sending = Some(socket);
        Ok(())
    }

    fn fail(&mut self, i: usize, error: &io::Error) {
        self.flows[i].error.get_or_insert(error.to_string());
        self.close(i);
    }

    /// The sender's connection ends, with what the kernel knew of it. What was not sent yet is thrown away.
    fn close(&mut self, i: usize) {
        self.flows[i].over = true;
        let Some(socket) = self.flows[i].sending.take() else { return };
        self.flows[i].info = info(self.nodes, &socket);
        self.senders.remove(&socket.as_raw_fd());
        let _ = socket.set_linger(Some(Duration::ZERO));
    }

    fn happen(&mut self, fd: RawFd, ready: Ready, now: Time) -> io::Result<()> {
        if self.listeners.contains_key(&fd) {
            return self.take(fd);
        }
        if let Some(i) = self.senders.get(&fd).copied() {
            if let Err(error) = self.send(i, ready) {
                self.fail(i, &error);
            }
            return Ok(());
        }
        self.receive(fd, now);
        Ok(())
    }

    fn take(&mut self, listener: RawFd) -> io::Result<()> {
        loop {
            let (socket, flow) = &self.listeners[&listener];
            match socket.accept() {
                Ok((socket, peer)) => {
                    socket.set_nonblocking(true)?;
                    let own = socket.local_addr()?.as_socket();
                    let by_address = || match (peer.as_socket(), own) {
                        (Some(SocketAddr::V4(peer)), Some(SocketAddr::V4(own))) => {
                            self.by_address.get(&(peer, own)).copied()
                        }
                        _ => None,
                    };
                    let flow = flow.or_else(by_address);
                    self.poller.add(&socket, token(&socket), Wants::Read)?;
                    self.receiving.insert(socket.as_raw_fd(), (socket, flow));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // It was reset before it was taken.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Counts what has arrived. A connection that ends is closed.
    fn receive(&mut self, fd: RawFd, now: Time) {
        let Some((socket, flow)) = self.receiving.get(&fd) else { return };
        let flow = *flow;
        loop {
            match socket.recv_with_flags(&mut self.space, libc::MSG_TRUNC) {
                Ok(0) => break,
                Ok(got) => {
                    let Some(i) = flow else { continue };
                    self.flows[i].delivered += got as u64;
                    if self.wanted[i].size == Some(self.flows[i].delivered) {
                        self.flows[i].completed.get_or_insert(now);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.receiving.remove(&fd);
    }

    /// Gives the kernel what it takes; a flow that is through is closed when the receiver has closed.
    fn send(&mut self, i: usize, ready: Ready) -> io::Result<()> {
        let flow = &mut self.flows[i];
        let Some(socket) = &flow.sending else { return Ok(()) };
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if ready.over && flow.left == Some(0) {
            self.close(i);
            return Ok(());
        }
        if !ready.writable {
            return Ok(());
        }
        while flow.left != Some(0) {
            let most = flow.left.unwrap_or(u64::MAX).min(flow.written).min(CHUNK as u64) as usize;
            if most == 0 {
                return self.poller.change(socket, token(socket), Wants::Nothing);
            }
            match socket.send(&self.data[..most]) {
                Ok(sent) => {
                    flow.left = flow.left.map(|left| left - sent as u64);
                    flow.written -= if flow.writes.is_some() { sent as u64 } else { 0 };
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        socket.shutdown(std::net::Shutdown::Write)?;
        self.poller.change(socket, token(socket), Wants::Nothing)
    }

    fn look(&mut self, now: Time, watch: &Watch) {
        let mut sums = vec![0; watch.groups.iter().max().map_or(0, |most| most + 1)];
        let nodes = self.nodes;
        for (i, flow) in self.flows.iter_mut().enumerate() {
            sums[watch.groups[i]] += flow.delivered;
            let Some(info) = flow.sending.as_ref().and_then(|socket| info(nodes, socket)) else { continue };
            if info.rtt_s > 0.0 {
                flow.rtt = (flow.rtt.0 + info.rtt_s, flow.rtt.1 + 1, flow.rtt.2.max(info.rtt_s));
            }
            if i < watch.flows {
                self.looks.push(Look { at: now, flow: i, delivered: flow.delivered, info });
            }
        }
        self.progress.push((now, sums));
    }
}
