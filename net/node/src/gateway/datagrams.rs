//! UDP of local applications: SOCKS5's UDP ASSOCIATE (RFC 1928, §7), one flow for each association.
//!
//! The flow carries each datagram behind its length, with the address that SOCKS has before it: there the target's, back
//! the sender's. It keeps their order and loses none. An application that controls congestion itself, as QUIC does,
//! learns of too much as from a full queue: a datagram that finds more than `Association::room` waiting is dropped.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

use midpath_core::node::EndId;
use midpath_core::roles::Ended;
use midpath_core::units::Time;

use super::exit::Allowed;
use super::front;
use super::greeting::{self, Read, Status, Target};
use super::sockets;
use crate::host::Host;

/// The longest datagram of UDP over IPv6, and what SOCKS has before its payload, at most.
const MAX_SOCKS_DATAGRAM: usize = (1 << 16) + 32;
/// Addresses to which an exit sends for an association, and from which it takes datagrams. Ours.
const PEERS: usize = 64;
/// Datagrams moved at a time, so that an association holds up no other. Ours.
const BATCH: usize = 256;
/// Bytes that may always wait for acknowledgements: the initial window of ten packets, several times. Ours.
const LEAST: u64 = 64 << 10;
/// What was acknowledged in the last such time may wait besides: a queue of no more than this. Ours: as long as a
/// round trip on most paths (RFC 6298's first RTO is four times that).
const SPAN: Time = Time::from_ms(250);
/// SOCKS's kinds of addresses (RFC 1928, §5).
const V4: u8 = 1;
const V6: u8 = 4;

/// What is counted of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams put onto flows.
    pub sent: u64,
    /// And taken from them.
    pub received: u64,
    /// Those that found too much waiting, were not what SOCKS says, or went where none may.
    pub dropped: u64,
}

/// The address that these bytes begin with, and its length: `None` of names, and of what is cut off.
pub fn address(bytes: &[u8]) -> Option<(SocketAddr, usize)> {
    let (ip, length) = match *bytes.first()? {
        V4 => (IpAddr::from(*bytes.get(1..)?.first_chunk::<4>()?), 5),
        V6 => (IpAddr::from(*bytes.get(1..)?.first_chunk::<16>()?), 17),
        _ => return None,
    };
    let port = bytes.get(length..)?.first_chunk::<2>()?;
    Some((SocketAddr::new(ip, u16::from_be_bytes(*port)), length + 2))
}

/// An address as SOCKS has it.
pub fn written(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => [&[V4][..], &ip.octets(), &port].concat(),
        IpAddr::V6(ip) => [&[V6][..], &ip.octets(), &port].concat(),
    }
}

/// An application's datagram without SOCKS's first three bytes. `None` of a fragment, which nobody has to take, and of
/// what has no address.
pub fn inner(datagram: &[u8]) -> Option<&[u8]> {
    let inner = datagram.strip_prefix(&[0, 0, 0])?;
    address(inner).map(|_| inner)
}

/// Takes a datagram off the front of what a flow has brought, once it is whole.
pub fn next(come: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes(*come.first_chunk::<2>()?));
    let datagram = come.get(2..2 + length)?.to_vec();
    come.drain(..2 + length);
    Some(datagram)
}

/// One association: here an application's or, at an exit, another node's.
#[derive(Debug)]
pub struct Association {
    udp: UdpSocket,
    /// The application's connection, which ends with the association; and where its datagrams come from.
    control: Option<(TcpStream, Option<SocketAddr>)>,
    flow: EndId,
    /// The exit has taken it.
    open: bool,
    since: Time,
    /// At an exit: whom it has sent to.
    peers: BTreeSet<SocketAddr>,
    come: Vec<u8>,
    /// What waits at most now; until when, and what had been acknowledged by then.
    room: u64,
    look: (Time, u64),
    written: u64,
    /// Datagrams of the socket wait for the next turn.
    more: bool,
}

/// It has ended, or broken off.
pub struct Over;

impl Association {
    /// An application here asks for one; the exit is asked.
    pub fn entered(control: TcpStream, exit: EndId, host: &mut Host, now: Time) -> io::Result<Association> {
        let udp = UdpSocket::bind((control.local_addr()?.ip(), 0))?;
        let asked = greeting::request(&Target::Datagrams);
        let mut made = Association::new(udp, Some((control, None)), exit, now)?;
        made.written = host.write(exit, &asked, now) as u64;
        Ok(made)
    }

    /// Another node asks for one.
    pub fn leaving(flow: EndId, host: &mut Host, now: Time) -> io::Result<Association> {
        // A socket of IPv6 takes both; a machine without IPv6 has IPv4's.
        let any = [SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))];
        let mut made = Association::new(UdpSocket::bind(&any[..])?, None, flow, now)?;
        made.open = true;
        made.written = host.write(flow, &greeting::answer(Status::Connected), now) as u64;
        Ok(made)
    }

    fn new(
        udp: UdpSocket,
        control: Option<(TcpStream, Option<SocketAddr>)>,
        flow: EndId,
        since: Time,
    ) -> io::Result<Association> {
        udp.set_nonblocking(true)?;
        Ok(Association {
            udp,
            control,
            flow,
            open: false,
            since,
            peers: BTreeSet::new(),
            come: Vec::new(),
            room: LEAST,
            look: (since, 0),
            written: 0,
            more: false,
        })
    }

    /// Its sockets: that of datagrams, and the application's connection.
    pub fn sockets(&self) -> (&UdpSocket, Option<&TcpStream>) {
        (&self.udp, self.control.as_ref().map(|(tcp, _)| tcp))
    }

    /// Its flow.
    pub fn flow(&self) -> EndId {
        self.flow
    }

    /// Whether the exit has not answered since that time.
    pub fn is_late(&self, since: Time) -> bool {
        !self.open && self.since <= since
    }

    /// Whether datagrams wait for the next turn.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Moves what can be moved.
    pub fn pump(&mut self, allowed: &Allowed, counted: &mut Counters, host: &mut Host, now: Time) -> Result<(), Over> {
        let broken = |why: Option<Ended>| why.is_some();
        let sends = host.outgoing(self.flow).and_then(|outgoing| outgoing.ended());
        let receives = host.incoming(self.flow).and_then(|incoming| incoming.ended());
        if broken(sends) || broken(receives) || self.has_hung_up() {
            return Err(Over);
        }
        if !self.open {
            self.answered(host, now)?;
        }
        if self.open {
            self.receive(allowed, counted, host, now);
        }
        self.send(counted, host, now);
        Ok(())
    }

    /// The application has closed its connection. What it says there means nothing (RFC 1928, §6).
    fn has_hung_up(&mut self) -> bool {
        use std::io::Read as _;
        let Some((tcp, _)) = &mut self.control else { return false };
        let mut said = [0; 256];
        loop {
            match tcp.read(&mut said) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    /// The exit may have said whether it takes it; the application is told where to send.
    fn answered(&mut self, host: &mut Host, now: Time) -> Result<(), Over> {
        let status = match greeting::read(self.flow, host, now) {
            Read::Unfinished => return Ok(()),
            Read::Answer(status) => status,
            Read::OtherVersion(_) => Status::OtherVersion,
            _ => return Err(Over),
        };
        self.open = status == Status::Connected;
        let at = self.udp.local_addr().map_err(|_| Over)?;
        let Some((tcp, _)) = &mut self.control else { return Err(Over) };
        // Ten bytes fit into an empty buffer.
        io::Write::write_all(tcp, &front::socks_reply(front::socks_code(status), at)).map_err(|_| Over)?;
        if self.open {
            return Ok(());
        }
        if let Some((tcp, _)) = self.control.take() {
            sockets::hang_up(tcp, true);
        }
        Err(Over)
    }

    /// From the flow to the socket.
    fn receive(&mut self, allowed: &Allowed, counted: &mut Counters, host: &mut Host, now: Time) {
        while host.read(self.flow, MAX_SOCKS_DATAGRAM, &mut self.come, now) > 0 {
            while let Some(datagram) = next(&mut self.come) {
                let delivered = self.deliver(&datagram, allowed);
                counted.received += u64::from(delivered);
                counted.dropped += u64::from(!delivered);
            }
        }
        if self.come.is_empty() {
            self.come = Vec::new();
        }
    }

    fn deliver(&mut self, datagram: &[u8], allowed: &Allowed) -> bool {
        let Some((address, length)) = address(datagram) else { return false };
        if let Some((_, client)) = &self.control {
            let said = [&[0, 0, 0][..], datagram].concat();
            return client.is_some_and(|client| self.udp.send_to(&said, client).is_ok());
        }
        if !allowed.allows(address) {
            return false;
        }
        // Beyond these an address takes the place of another, whose datagrams are dropped from then on.
        if self.peers.len() >= PEERS && !self.peers.contains(&address) {
            self.peers.pop_first();
        }
        self.peers.insert(address);
        self.udp.send_to(&datagram[length..], self.reachable(address)).is_ok()
    }

    /// An address as this socket takes it: an IPv6 socket takes IPv4's as mapped ones (RFC 4291, §2.5.5.2).
    fn reachable(&self, address: SocketAddr) -> SocketAddr {
        match (self.udp.local_addr(), address.ip()) {
            (Ok(own), IpAddr::V4(ip)) if own.is_ipv6() => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
            _ => address,
        }
    }

    /// From the socket to the flow; what comes before there is an answer goes nowhere.
    fn send(&mut self, counted: &mut Counters, host: &mut Host, now: Time) {
        let mut space = vec![0; MAX_SOCKS_DATAGRAM];
        self.more = true;
        for _ in 0..BATCH {
            let (length, from) = match self.udp.recv_from(&mut space) {
                Ok(found) => found,
                // An answer that nobody is there, or that a packet was too long: the next may be something else.
                Err(error) if error.kind() != ErrorKind::WouldBlock => continue,
                Err(_) => {
                    self.more = false;
                    return;
                }
            };
            let taken = self.taken(&space[..length], from).is_some_and(|datagram| self.put(&datagram, host, now));
            counted.sent += u64::from(taken);
            counted.dropped += u64::from(!taken);
        }
    }

    /// What goes onto the flow of a datagram that came from there, if anything does.
    fn taken(&mut self, datagram: &[u8], from: SocketAddr) -> Option<Vec<u8>> {
        if !self.open {
            return None;
        }
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let Some((tcp, client)) = &mut self.control else {
            return self.peers.contains(&from).then(|| [&written(from), datagram].concat());
        };
        // RFC 1928, §7: only from who has asked. Its first datagram says its port.
        let is_its = tcp.peer_addr().is_ok_and(|peer| peer.ip().to_canonical() == from.ip());
        if !is_its || client.is_some_and(|client| client != from) {
            return None;
        }
        let inner = inner(datagram)?;
        *client = Some(from);
        Some(inner.to_vec())
    }

    /// Puts a datagram onto the flow, if that has room for all of it.
    fn put(&mut self, datagram: &[u8], host: &mut Host, now: Time) -> bool {
        let Ok(length) = u16::try_from(datagram.len()) else { return false };
        let waits = host.outgoing(self.flow).map_or(u64::MAX, |outgoing| outgoing.kept());
        let size = datagram.len() + 2;
        if waits + size as u64 > self.room(waits, now) || host.room_to_write(self.flow) < size {
            return false;
        }
        let written = host.write(self.flow, &[&length.to_be_bytes(), datagram].concat(), now);
        self.written += written as u64;
        debug_assert_eq!(written, size, "there was room");
        true
    }

    /// What may wait: as much as was acknowledged in the last [`SPAN`], on average of spans, and [`LEAST`].
    fn room(&mut self, waits: u64, now: Time) -> u64 {
        let (until, before) = self.look;
        if now >= until {
            let acknowledged = self.written - waits.min(self.written);
            let spans = 1 + now.saturating_sub(until).0 / SPAN.0;
            self.room = LEAST + (acknowledged - before.min(acknowledged)) / spans;
            self.look = (now.saturating_add(SPAN), acknowledged);
        }
        self.room
    }

    /// Closes it; who waits for an answer is told why there will be no other.
    pub fn hang_up(self, status: Status) {
        let Some((mut tcp, _)) = self.control else { return };
        if !self.open {
            let none = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let _ = io::Write::write_all(&mut tcp, &front::socks_reply(front::socks_code(status), none));
        }
        sockets::hang_up(tcp, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["127.0.0.1:53", "[2001:db8::1]:443", "[::ffff:10.0.0.1]:80"] {
            let given: SocketAddr = text.parse().unwrap();
            let bytes = written(given);
            let same = SocketAddr::new(given.ip().to_canonical(), given.port());
            assert_eq!(address(&[&bytes[..], b"data"].concat()), Some((same, bytes.len())));
            assert!((0..bytes.len()).all(|cut| address(&bytes[..cut]).is_none()));
        }
        assert_eq!(address(&[3, 4, b'h', b'o', b's', b't', 0, 80]), None, "names are not resolved");
    }

    #[test]
    fn only_whole_datagrams_with_an_address_are_taken() {
        let of = |fragment: u8| [&[0, 0, fragment][..], &written("10.0.0.1:53".parse().unwrap()), b"hello"].concat();
        assert_eq!(inner(&of(0)), Some(&of(0)[3..]));
        assert_eq!(inner(&of(1)), None);
        assert_eq!(inner(&[0, 0, 0, 1, 10]), None);
    }

    #[test]
    fn a_flow_s_bytes_are_cut_into_datagrams() {
        let mut come = Vec::new();
        let mut got = Vec::new();
        for byte in [&[0, 3, 1, 2, 3][..], &[0, 0], &[1, 0], &[7; 256], &[0]].concat() {
            come.push(byte);
            got.extend(next(&mut come));
        }
        assert_eq!(got, [vec![1, 2, 3], vec![], vec![7; 256]]);
        assert_eq!(come, [0]);
    }
}
