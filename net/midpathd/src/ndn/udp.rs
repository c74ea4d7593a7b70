//! UDP sockets, and the neighbours behind them: a face is a socket and an address.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use midpath_ndn_forwarder::FaceId;
use rustc_hash::FxHashMap;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

/// Datagrams taken at once before another socket gets its turn. Ours.
pub const BATCH: usize = 64;
/// Errors that are read past before another socket gets its turn.
const REPORTS: usize = 16;
/// What the kernel keeps while the thread does something else. What is to be sent has the kernel's
/// usual buffer, so that it fills before the device's queue does, and datagrams wait here.
const KERNEL_BUFFER: usize = 4 << 20;
/// Bytes that wait for a socket that takes no more. Ours: ndnd's window of 100 segments, and as many
/// again.
const MOST_WAITING: usize = 2 << 20;

/// A socket.
pub struct Udp {
    socket: UdpSocket,
    local: SocketAddr,
    faces: FxHashMap<SocketAddr, FaceId>,
    /// The one neighbour that it is connected to.
    only: Option<SocketAddr>,
    waiting: VecDeque<(SocketAddr, Box<[u8]>)>,
    bytes: usize,
    /// Whether the poller tells when it can be written.
    pub waits: bool,
}

impl Udp {
    fn new(socket: UdpSocket, only: Option<SocketAddr>) -> io::Result<Udp> {
        socket.set_nonblocking(true)?;
        let _ = sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
        let (faces, waiting) = Default::default();
        Ok(Udp { local: socket.local_addr()?, socket, faces, only, waiting, bytes: 0, waits: false })
    }

    /// Opens one.
    pub fn bind(at: SocketAddr) -> io::Result<Udp> {
        Udp::new(UdpSocket::bind(at)?, None)
    }

    /// One from which faces go out where none is listened at.
    pub fn any(remote: SocketAddr) -> io::Result<Udp> {
        let any: IpAddr = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        Udp::bind((any, 0).into())
    }

    /// One for a neighbour alone, from the same port: a slow link holds up nobody else then.
    pub fn connected(&self, remote: SocketAddr) -> io::Result<Udp> {
        let family = if remote.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        // Both have to say that they share the port. This one says so for a moment only: another
        // forwarder on the same port is an error.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_reuseaddr(&self.socket, true)?;
        let bound = bind(&socket, &self.local);
        sockopt::set_socket_reuseaddr(&self.socket, false)?;
        bound?;
        let socket = UdpSocket::from(socket);
        socket.connect(remote)?;
        Udp::new(socket, Some(remote))
    }

    /// The socket.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Its address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether it is one neighbour's alone.
    pub fn is_connected(&self) -> bool {
        self.only.is_some()
    }

    /// The face of a neighbour.
    pub fn face(&self, remote: SocketAddr) -> Option<FaceId> {
        self.faces.get(&remote).copied()
    }

    /// A neighbour has a face from now on.
    pub fn add(&mut self, remote: SocketAddr, face: FaceId) {
        self.faces.insert(remote, face);
    }

    /// It has none any more.
    pub fn remove(&mut self, remote: SocketAddr) {
        self.faces.remove(&remote);
    }

    /// The next datagram.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        // Linux reports here, too, what became of datagrams that were sent. Whatever ICMP says, and
        // anybody can, is no reason to stop; each report is read once.
        for _ in 0..REPORTS {
            match self.socket.recv_from(buffer) {
                Ok((length, from)) => return Some((from, length)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// Whether datagrams wait.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends one, or lets it wait until the kernel takes it; whether there was room.
    pub fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> bool {
        if !self.is_waiting() {
            match self.transmit(to, datagram) {
                Ok(()) => return true,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        if self.bytes + datagram.len() > MOST_WAITING {
            return false;
        }
        self.bytes += datagram.len();
        self.waiting.push_back((to, datagram.into()));
        true
    }

    fn transmit(&self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        // A neighbour that is not up refuses; Linux says so at the next datagram, which did not go.
        for _ in 0..2 {
            let sent = match self.only {
                Some(_) => self.socket.send(datagram),
                None => self.socket.send_to(datagram, to),
            };
            match sent {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Sends what waits, as much as the kernel takes; how many it refused.
    pub fn flush(&mut self) -> u64 {
        let mut refused = 0;
        while let Some((to, datagram)) = self.waiting.front() {
            match self.transmit(*to, datagram) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => refused += 1,
            }
            self.bytes -= datagram.len();
            self.waiting.pop_front();
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    #[test]
    fn a_connected_socket_has_its_neighbours_datagrams_and_the_port_is_still_taken() {
        let listener = Udp::bind(local()).expect("a socket");
        let [near, other] = [(); 2].map(|()| UdpSocket::bind(local()).expect("a socket"));
        let remote = near.local_addr().expect("an address");
        let connected = listener.connected(remote).expect("a socket");
        assert_eq!(connected.local(), listener.local());
        near.send_to(b"near", listener.local()).expect("it is sent");
        other.send_to(b"other", listener.local()).expect("it is sent");
        let mut buffer = [0; 100];
        assert_eq!(connected.receive(&mut buffer).map(|(_, length)| length), Some(4));
        assert_eq!(listener.receive(&mut buffer).map(|(_, length)| length), Some(5));
        assert!(Udp::bind(listener.local()).is_err(), "another forwarder does not get the port");
    }

    #[test]
    fn who_is_not_there_is_no_error() {
        let listener = Udp::bind(local()).expect("a socket");
        let gone = UdpSocket::bind(local()).and_then(|socket| socket.local_addr()).expect("an address");
        let mut connected = listener.connected(gone).expect("a socket");
        for _ in 0..5 {
            assert!(connected.send(gone, b"x"));
        }
        assert!(connected.receive(&mut [0; 10]).is_none());
    }
}
