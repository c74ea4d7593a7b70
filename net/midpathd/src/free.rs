//! Checks that a port is free: binds it for a moment without listening, so nobody can connect.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

/// Whether a port of `tcp` or `udp` may be had.
pub fn free(protocol: &str, at: SocketAddr) -> io::Result<()> {
    if protocol == "tcp" { tcp(at) } else { UdpSocket::bind(at).map(drop) }
}

fn tcp(at: SocketAddr) -> io::Result<()> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // As whoever listens there later: connections that have ended are not in the way.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    Ok(bind(&socket, &at)?)
}
