//! Connections that are made for other nodes: to which addresses, and how.
//!
//! Names are resolved here, and what is allowed is decided by the addresses that they stand for.
//! Both block, so a few threads do it.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::greeting::Status;

/// How long a connection may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Threads, and connections that may wait for one.
const THREADS: usize = 8;
const WAITING: usize = 1024;

/// Addresses and ports that a node connects to for others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed(Vec<Range>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Range {
    address: IpAddr,
    prefix: u8,
    ports: RangeInclusive<u16>,
}

impl Allowed {
    /// Reads lines such as `10.0.0.0/8:80`, `[2001:db8::]/32:1-1023`, `127.0.0.1:8000`. The error
    /// says what is wrong with which.
    pub fn parse<S: AsRef<str>>(lines: &[S]) -> Result<Allowed, String> {
        let read = |line: &S| {
            let line = line.as_ref();
            Range::parse(line).ok_or_else(|| format!("`{line}` is no `address/prefix:ports`"))
        };
        lines.iter().map(read).collect::<Result<_, _>>().map(Allowed)
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An address of the first range that a host may have: the very first stands for the network.
    pub fn first(&self) -> Option<IpAddr> {
        self.0.first().map(|range| match range.address {
            IpAddr::V4(four) if range.prefix < 32 => Ipv4Addr::from_bits(four.to_bits() | 1).into(),
            IpAddr::V6(six) if range.prefix < 128 => Ipv6Addr::from_bits(six.to_bits() | 1).into(),
            host => host,
        })
    }

    /// The port, where there is only one.
    pub fn only_port(&self) -> Option<u16> {
        let mut ports = self.0.iter().map(|range| &range.ports);
        let first = ports.next().filter(|first| first.start() == first.end())?;
        ports.all(|other| other == first).then(|| *first.start())
    }

    /// Whether a node connects to this for others.
    pub fn allows(&self, address: SocketAddr) -> bool {
        // An IPv4 address in IPv6's clothes is that address.
        let ip = address.ip().to_canonical();
        self.0.iter().any(|range| range.ports.contains(&address.port()) && range.holds(ip))
    }
}

impl fmt::Display for Allowed {
    /// The addresses, without ports.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(|range| format!("{}/{}", range.address, range.prefix)).collect();
        f.write_str(&all.join(", "))
    }
}

impl Range {
    fn parse(line: &str) -> Option<Range> {
        let (network, ports) = line.rsplit_once(':')?;
        let (address, prefix) = match network.rsplit_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
            None => (network, None),
        };
        let address: IpAddr = match address.strip_prefix('[').and_then(|a| a.strip_suffix(']')) {
            Some(six) => six.parse::<std::net::Ipv6Addr>().ok()?.into(),
            None => address.parse::<std::net::Ipv4Addr>().ok()?.into(),
        };
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let ports = first.parse().ok()?..=last.parse().ok()?;
        (prefix <= bits && !ports.is_empty()).then_some(Range { address, prefix, ports })
    }

    fn holds(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32 - u32::from(self.prefix)),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128 - u32::from(self.prefix)),
            _ => false,
        }
    }
}

/// Whether two numbers are the same but for their last bits.
fn same(a: u128, b: u128, but: u32) -> bool {
    (a ^ b).checked_shr(but).unwrap_or(0) == 0
}

type Made = (u64, Result<TcpStream, Status>);

/// Makes connections in threads of its own.
pub struct Connector {
    orders: Sender<(u64, String)>,
    made: Receiver<Made>,
    bell: UnixStream,
    open: BTreeSet<u64>,
    allowed: Arc<Mutex<Arc<Allowed>>>,
}

impl Connector {
    pub(super) fn new(allowed: Allowed) -> io::Result<Connector> {
        let (orders, ordered) = channel();
        let (done, made) = channel();
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let (ordered, allowed) = (Arc::new(Mutex::new(ordered)), Arc::new(Mutex::new(Arc::new(allowed))));
        for _ in 0..THREADS {
            let (ordered, done, allowed, ring) = (ordered.clone(), done.clone(), allowed.clone(), ring.try_clone()?);
            thread::Builder::new().name("connect".into()).spawn(move || work(&ordered, &done, &allowed, &ring))?;
        }
        Ok(Connector { orders, made, bell, open: BTreeSet::new(), allowed })
    }

    /// What is connected to from now on.
    pub(super) fn allow(&mut self, allowed: Allowed) {
        if let Ok(mut current) = self.allowed.lock() {
            *current = Arc::new(allowed);
        }
    }

    /// How many targets are being connected to, and may be.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.open.len(), WAITING)
    }

    /// Becomes readable when something has been made.
    pub(super) fn bell(&self) -> &UnixStream {
        &self.bell
    }

    /// Begins to connect to a target.
    pub(super) fn begin(&mut self, id: u64, target: String) -> Result<(), Status> {
        if self.open.len() >= WAITING {
            return Err(Status::Busy);
        }
        self.orders.send((id, target)).map_err(|_| Status::Busy)?;
        self.open.insert(id);
        Ok(())
    }

    /// Nobody waits for this connection any more.
    pub(super) fn forget(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// What has been made, or not, and is still waited for.
    pub(super) fn made(&mut self) -> Vec<Made> {
        let mut rung = [0; 256];
        while io::Read::read(&mut &self.bell, &mut rung).is_ok_and(|n| n > 0) {}
        self.made.try_iter().filter(|(id, _)| self.open.remove(id)).collect()
    }
}

/// One thread: order after order, until nobody orders any more.
fn work(
    ordered: &Mutex<Receiver<(u64, String)>>,
    done: &Sender<Made>,
    allowed: &Mutex<Arc<Allowed>>,
    ring: &UnixStream,
) {
    loop {
        let order = ordered.lock().ok().and_then(|ordered| ordered.recv().ok());
        let Some((id, target)) = order else { return };
        let Ok(allowed) = allowed.lock().map(|allowed| Arc::clone(&allowed)) else { return };
        if done.send((id, connect(&target, &allowed))).is_err() {
            return;
        }
        // A bell that is full rings already.
        let _ = io::Write::write(&mut &*ring, &[1]);
    }
}

fn connect(target: &str, allowed: &Allowed) -> Result<TcpStream, Status> {
    if allowed.is_empty() {
        return Err(Status::NotAllowed);
    }
    let addresses: Vec<SocketAddr> = target.to_socket_addrs().map_err(|_| Status::NoSuchName)?.collect();
    let (mut status, mut left) = (Status::NotAllowed, PATIENCE);
    for address in addresses.into_iter().filter(|address| allowed.allows(*address)) {
        // Later addresses get half of what is left each.
        left /= 2;
        match TcpStream::connect_timeout(&address, left) {
            Ok(tcp) => return Ok(tcp),
            Err(_) => status = Status::Unreachable,
        }
    }
    Err(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_allowed_and_nothing_else() {
        let allowed = Allowed::parse(&["10.0.0.0/8:80", "127.0.0.1:8000-8010", "[2001:db8::]/32:443"]).unwrap();
        let is = |address: &str| allowed.allows(address.parse().unwrap());
        assert!(is("10.255.0.1:80") && is("127.0.0.1:8010") && is("[2001:db8:ff::1]:443"));
        assert!(is("[::ffff:10.0.0.1]:80"), "IPv4 within IPv6");
        assert!(!is("11.0.0.1:80") && !is("10.0.0.1:81") && !is("127.0.0.2:8000") && !is("[2001:db9::]:443"));
        assert!(!Allowed::default().allows("10.0.0.1:80".parse().unwrap()));
        assert!(Allowed::parse(&["0.0.0.0/0:1-65535"]).unwrap().allows("8.8.8.8:53".parse().unwrap()));
    }

    #[test]
    fn what_is_no_range_is_named() {
        for bad in ["", "10.0.0.0/8", "10.0.0.0/33:80", "host:80", "10.0.0.0/8:90-80", "10.0.0.0/8:x", "::1:80"] {
            assert_eq!(Allowed::parse(&[bad]), Err(format!("`{bad}` is no `address/prefix:ports`")));
        }
    }

    #[test]
    fn a_name_is_allowed_by_its_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let allowed = Allowed::parse(&[format!("127.0.0.0/8:{port}")]).unwrap();
        assert!(connect(&format!("localhost:{port}"), &allowed).is_ok());
        let elsewhere = Allowed::parse(&[format!("10.0.0.0/8:{port}")]).unwrap();
        assert_eq!(connect(&format!("localhost:{port}"), &elsewhere).err(), Some(Status::NotAllowed));
    }
}
