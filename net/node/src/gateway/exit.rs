//! The exit's allow list of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

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
            Range::parse(line).ok_or_else(|| format!("`{line}` is not `address/prefix:ports`"))
        };
        lines.iter().map(read).collect::<Result<_, _>>().map(Allowed)
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is any with this port.
    pub fn has_port(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.ports.contains(&port))
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
            assert_eq!(Allowed::parse(&[bad]), Err(format!("`{bad}` is not `address/prefix:ports`")));
        }
    }
}
