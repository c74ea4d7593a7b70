//! TCP connections that are being made.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

/// Begins to connect; the socket can be written when that is done.
pub fn begin(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(e) => Err(e.into()),
    }
}

/// Called when the socket can be written: whether it is connected.
pub fn end(socket: &TcpStream) -> io::Result<()> {
    sockopt::socket_error(socket)?.map_err(io::Error::from)?;
    socket.set_nodelay(true)
}
