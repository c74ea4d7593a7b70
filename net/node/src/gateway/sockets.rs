//! How connections are set up and hung up.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

/// Tokens of listening sockets have this bit; others are conversations'.
pub const LISTENERS: u64 = 1 << 63;
/// The token of connections that are being made.
pub const CONNECTING: u64 = u64::MAX;

/// Connections that wait to be taken, at each entrance (Linux: at most `somaxconn`). Ours.
const BACKLOG: i32 = 4096;

/// Raises the number of files that this process may have open as far as it goes without rights: by default it is
/// 1024, for programs of the seventies' `select`.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// How many files this process may have open, once that is raised.
pub fn limit() -> usize {
    raise_limit();
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| files as usize)
}

/// Begins to connect, without waiting: the socket can be written when that is done.
pub fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    match socket.connect(&to.into()) {
        Err(e) if e.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => Err(e),
        _ => Ok(socket.into()),
    }
}

/// Listens at an address; `alone`: at an IPv6 one without IPv4's, which may be listened at beside it.
pub fn listen(at: SocketAddr, alone: bool) -> io::Result<TcpListener> {
    let listener = if alone && at.is_ipv6() {
        let socket = socket(AddressFamily::INET6, SocketType::STREAM, None)?;
        sockopt::set_ipv6_v6only(&socket, true)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &at)?;
        rustix::net::listen(&socket, BACKLOG)?;
        TcpListener::from(socket)
    } else {
        let listener = TcpListener::bind(at)?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether packets to this address end at this machine: it has it, or a local route leads here.
pub fn is_own(ip: IpAddr) -> bool {
    // Only such an address can be bound to; of IPv6, not those of local routes.
    UdpSocket::bind((ip, 0)).is_ok()
        || match ip {
            IpAddr::V4(_) => false,
            IpAddr::V6(ip) => {
                let routes = std::fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
                routes.lines().any(|route| is_local_route(route, ip).unwrap_or(false))
            }
        }
}

/// A line of that table: destination, its prefix's length, ..., flags (the ninth), device.
fn is_local_route(line: &str, ip: Ipv6Addr) -> Option<bool> {
    /// `RTF_LOCAL`, in the kernel's `ipv6_route.h`.
    const LOCAL: u32 = 0x8000_0000;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let to = u128::from_str_radix(words.first()?, 16).ok()?;
    let prefix = u32::from_str_radix(words.get(1)?, 16).ok()?;
    let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
    let same = (to ^ ip.to_bits()).checked_shr(128 - prefix.min(128)).unwrap_or(0) == 0;
    Some(same && flags & LOCAL != 0)
}

/// A connection does not block, sends at once, and is reset when it is closed, or the process is
/// killed: only [`hang_up`] ends it properly.
pub fn prepare(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nonblocking(true)?;
    tcp.set_nodelay(true)?;
    Ok(sockopt::set_socket_linger(tcp, Some(Duration::ZERO))?)
}

/// Closes a connection: properly if all was said, else by a reset.
pub fn hang_up(tcp: TcpStream, complete: bool) {
    if complete {
        // If this fails the connection is reset after all: too much is told, not too little.
        let _ = sockopt::set_socket_linger(&tcp, None);
    }
    drop(tcp);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_routes_are_told_from_others() {
        let route = |to: &str, flags: &str| {
            format!(
                "{to} 30 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 {flags} lo"
            )
        };
        let prefix = "20010db8000100000000000000000000";
        let is = |line: &str, ip: &str| is_local_route(line, ip.parse().unwrap());
        assert_eq!(is(&route(prefix, "80200001"), "2001:db8:1::7"), Some(true));
        assert_eq!(is(&route(prefix, "80200001"), "2001:db8:2::7"), Some(false));
        assert_eq!(is(&route(prefix, "00200001"), "2001:db8:1::7"), Some(false));
        assert_eq!(is("nonsense", "::1"), None);
        assert!(is_own("127.0.0.1".parse().unwrap()) && !is_own("198.51.100.1".parse().unwrap()));
    }
}
