//! Source and sink of the router: one thread with a window of packets in flight.

#![expect(clippy::disallowed_methods, reason = "packets are sent in real time")]

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use midpath_core::packet::{FlowId, Kind, NodeId, Packet, PortId};
use midpath_core::units::{Rate, Time};
use midpath_core::wire;
use midpath_link::{LinkId, PublicKey, SecretKey};
use midpath_node::event_loop::Links;
use midpath_node::overlay::{self, Neighbour, Overlay};
use midpath_node::udp::{Outbox, Udp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::hop::Case;
use crate::plain::PlainLinks;

/// Bytes of a datagram, with IP's and UDP's headers: as long as Ethernet carries.
pub const DATAGRAM: u32 = 1500;
/// Those headers.
pub const HEADERS: u32 = 28;

/// Packets under way: enough that the router never waits, or that its link never does.
const SATURATING: u64 = 256;
const SHAPED: u64 = 32;
/// What has not come by then is lost, and others are sent in its place.
const LOST: Time = Time::from_ms(100);
/// The source sleeps so long at most.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// What source and sink have of links: nobody is held up there.
const AMPLE: Rate = Rate::from_mbps(100_000);

/// A source, a router's socket and links, and a sink.
pub struct Chain {
    pub source: Source,
    pub router: Udp,
    pub links: RouterLinks,
    pub arrived: Arc<AtomicU64>,
}

/// What the router has of links.
pub enum RouterLinks {
    Plain(PlainLinks),
    Overlay(Box<Overlay>),
}

/// One end of the chain: its socket, and its link to the router.
struct End {
    udp: Udp,
    links: Box<dyn Links + Send>,
    out: Outbox,
}

/// Both ends.
pub struct Source {
    from: End,
    to: End,
    packet: Vec<u8>,
    window: u64,
    arrived: Arc<AtomicU64>,
}

fn udp(case: Case) -> io::Result<(Udp, SocketAddr)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 4 << 20);
    let at = socket.local_addr()?;
    Ok((if case.offload { Udp::new(socket)? } else { Udp::one_by_one(socket)? }, at))
}

/// A packet that fills a datagram.
fn packet(case: Case) -> Vec<u8> {
    let size = DATAGRAM - if case.crypto { overlay::OVERHEAD } else { HEADERS };
    let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(2), size);
    packet.kind = Kind::Datagram;
    packet.payload = (size - 28) as u16; // IPv4 and UDP
    let mut bytes = Vec::new();
    wire::encode_with(&packet, &vec![0x5a; usize::from(packet.payload)], &mut bytes);
    bytes
}

fn key() -> io::Result<(SecretKey, PublicKey)> {
    let secret = SecretKey::generate().map_err(io::Error::other)?;
    let public = secret.public();
    Ok((secret, public))
}

fn overlay(secret: SecretKey, neighbours: &[(PublicKey, SocketAddr, Rate)]) -> io::Result<Overlay> {
    let neighbour = |(key, address, rate): &(PublicKey, SocketAddr, Rate)| Neighbour {
        name: String::new(),
        keys: vec![*key],
        address: Some(*address),
        kind: overlay::Kind::Udp,
        rate: *rate,
        dedicated: false,
    };
    let all: Vec<Neighbour> = neighbours.iter().map(neighbour).collect();
    Overlay::new(secret, &all, Time::ZERO).map_err(io::Error::other)
}

impl Chain {
    /// Three sockets on the loopback interface.
    pub fn new(case: Case) -> io::Result<Chain> {
        let [(a, at_a), (router, at_r), (b, at_b)] = [udp(case)?, udp(case)?, udp(case)?];
        let (left, links, right): (Box<dyn Links + Send>, RouterLinks, Box<dyn Links + Send>) = if case.crypto {
            let [(secret_a, key_a), (secret_r, key_r), (secret_b, key_b)] = [key()?, key()?, key()?];
            let of_r = overlay(secret_r, &[(key_a, at_a, case.rate), (key_b, at_b, case.rate)])?;
            let left = overlay(secret_a, &[(key_r, at_r, AMPLE)])?;
            let right = overlay(secret_b, &[(key_r, at_r, AMPLE)])?;
            (Box::new(left), RouterLinks::Overlay(Box::new(of_r)), Box::new(right))
        } else {
            let of_r = PlainLinks::new(vec![(at_a, case.rate), (at_b, case.rate)]);
            let end = || Box::new(PlainLinks::new(vec![(at_r, AMPLE)]));
            (end(), RouterLinks::Plain(of_r), end())
        };
        let end = |udp, links| End { udp, links, out: Outbox::default() };
        let arrived = Arc::new(AtomicU64::new(0));
        let source = Source {
            from: end(a, left),
            to: end(b, right),
            packet: packet(case),
            window: if case.shaped { SHAPED } else { SATURATING },
            arrived: arrived.clone(),
        };
        Ok(Chain { source, router, links, arrived })
    }
}

impl End {
    /// Takes what has come; how many packets.
    fn take(&mut self, now: Time) -> io::Result<u64> {
        let mut packets = 0;
        while self.udp.take()? {
            for (from, datagram) in self.udp.datagrams() {
                packets += u64::from(self.links.receive(now, LinkId::Udp(from), datagram, &mut self.out).is_some());
            }
            if !self.udp.is_full() {
                break;
            }
        }
        self.links.poll(now, &mut self.out);
        Ok(packets)
    }
}

impl Source {
    /// Feeds the router until it is over.
    pub fn run(mut self, over: &AtomicBool) -> io::Result<()> {
        let began = Instant::now();
        let (mut sent, mut arrived, mut last) = (0, 0, Time::ZERO);
        while !over.load(Ordering::Relaxed) {
            let now = Time::from_ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
            let came = self.to.take(now)?;
            self.from.take(now)?;
            arrived += came;
            self.arrived.store(arrived, Ordering::Relaxed);
            if came > 0 {
                last = now;
            } else if now.saturating_sub(last) > LOST {
                (sent, last) = (arrived, now);
            }
            if self.from.links.rate(PortId(0), now).is_some() {
                while sent < arrived + self.window {
                    self.from.links.send(now, PortId(0), &self.packet, &mut self.from.out);
                    sent += 1;
                }
            }
            for end in [&mut self.from, &mut self.to] {
                end.udp.send(&mut end.out);
            }
            let mut fds = [&self.to.udp, &self.from.udp].map(|udp| PollFd::new(udp, PollFlags::IN));
            match poll(&mut fds, Some(&NAP)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}
