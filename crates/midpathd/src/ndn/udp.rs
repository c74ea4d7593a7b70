//! UDP sockets, and the neighbours behind them: a face is a socket and an address.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use midpath_ndn_forwarder::FaceId;
use rustc_hash::FxHashMap;
use rustix::net::sockopt;

/// Datagrams taken at once before another socket gets its turn. Ours.
pub const BATCH: usize = 64;
/// What the kernel keeps while the thread does something else.
const KERNEL_BUFFER: usize = 4 << 20;

/// A socket.
pub struct Udp {
    socket: UdpSocket,
    local: SocketAddr,
    faces: FxHashMap<SocketAddr, FaceId>,
}

impl Udp {
    /// Opens one.
    pub fn bind(at: SocketAddr) -> io::Result<Udp> {
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        let _ = sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
        let _ = sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER);
        Ok(Udp { local: socket.local_addr()?, socket, faces: FxHashMap::default() })
    }

    /// One from which faces go out where none is listened at.
    pub fn any(remote: SocketAddr) -> io::Result<Udp> {
        let any: IpAddr = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        Udp::bind((any, 0).into())
    }

    /// The socket.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Its address.
    pub fn local(&self) -> SocketAddr {
        self.local
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
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(SocketAddr, usize)>> {
        loop {
            match self.socket.recv_from(buffer) {
                Ok((length, from)) => return Ok(Some((from, length))),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                // Linux reports here what became of datagrams that were sent (ICMP).
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Sends one; whether the kernel took it.
    pub fn send(&self, to: SocketAddr, datagram: &[u8]) -> bool {
        self.socket.send_to(datagram, to).is_ok()
    }
}
