//! Front-end protocols of local applications: none, SOCKS5 (RFC 1928), or HTTP's
//! CONNECT (RFC 9110, §9.3.6). (Those that know of the node: [`super::services`].)

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Kind;
use super::datagrams;
use super::greeting::{LONGEST, Status, Target};
use super::services;

/// A request is no longer: what servers commonly take for the head of an HTTP request.
const LONGEST_REQUEST: usize = 8192;
/// Commands of SOCKS5 (RFC 1928, §4).
const CONNECT: u8 = 1;
const ASSOCIATE: u8 = 3;
/// Its fields are no more. Ours.
const HEADERS: usize = 64;

/// An application that has not said everything yet, or waits for the answer.
#[derive(Debug)]
pub enum Front {
    /// It says nothing.
    Forward(String),
    /// It has said that it wants this service.
    Service(String),
    /// SOCKS5; whether the methods have been agreed on.
    Socks {
        /// They have.
        agreed: bool,
    },
    /// HTTP's CONNECT.
    Connect,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// More has to come.
    Wait,
    /// Say this, having read so many bytes, and read on.
    Say(Vec<u8>, usize),
    /// Connect to this target, having read so many bytes.
    Open(Target, usize),
    /// Carry its datagrams (SOCKS5's UDP ASSOCIATE), having read so many bytes.
    Associate(usize),
    /// Say this and hang up.
    Refuse(Vec<u8>),
}

impl Front {
    /// What is spoken at an entrance, by a connection that was made to this address. `None` if it
    /// should not have come here.
    pub fn new(kind: &Kind, to: SocketAddr) -> Option<Front> {
        match kind {
            Kind::Forward(target) => Some(Front::Forward(target.clone())),
            Kind::Socks => Some(Front::Socks { agreed: false }),
            Kind::Connect => Some(Front::Connect),
            Kind::Transparent(targets) => {
                let to = SocketAddr::new(to.ip().to_canonical(), to.port());
                targets.allows(to).then(|| Front::Forward(to.to_string()))
            }
            Kind::Application(_) => None,
        }
    }

    /// What the application has said so far.
    pub fn next(&mut self, said: &[u8]) -> Next {
        match self {
            Front::Forward(target) => Next::Open(Target::Address(std::mem::take(target)), 0),
            Front::Service(service) => Next::Open(Target::Service(std::mem::take(service)), 0),
            Front::Socks { agreed: true } => socks_request(said),
            Front::Socks { agreed } => {
                let next = socks_methods(said);
                *agreed = matches!(next, Next::Say(..));
                next
            }
            Front::Connect => connect_request(said),
        }
    }

    /// Whether the application is told nothing of the connection, and may speak at once.
    pub fn is_silent(&self) -> bool {
        matches!(self, Front::Forward(_))
    }

    /// What the application is told when the target has answered, or not.
    pub fn answer(&self, status: Status) -> Vec<u8> {
        match self {
            Front::Forward(_) => Vec::new(),
            Front::Service(_) => services::answer(status),
            // RFC 1928, §6.
            Front::Socks { .. } => refusal(socks_code(status)),
            // RFC 9209, §2.3.
            Front::Connect => match status {
                Status::Connected => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
                Status::NotAllowed => http("403 Forbidden"),
                Status::Busy => http("503 Service Unavailable"),
                Status::TimedOut => http("504 Gateway Timeout"),
                Status::NoSuchName
                | Status::Unreachable
                | Status::Refused
                | Status::NoNetwork
                | Status::NoHost
                | Status::OtherVersion => http("502 Bad Gateway"),
            },
        }
    }
}

fn http(status: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

/// RFC 1928, §6.
pub fn socks_code(status: Status) -> u8 {
    match status {
        Status::Connected => 0,
        Status::NotAllowed => 2,
        Status::NoNetwork => 3,
        Status::NoSuchName | Status::NoHost | Status::TimedOut => 4,
        Status::Refused => 5,
        Status::Unreachable | Status::Busy | Status::OtherVersion => 1,
    }
}

/// RFC 1928, §6, with the address to which datagrams go.
pub fn socks_reply(code: u8, bound: SocketAddr) -> Vec<u8> {
    [&[5, code, 0][..], &datagrams::written(bound)].concat()
}

/// The same with an address of zeros: of a connection nobody needs the exit's.
fn refusal(code: u8) -> Vec<u8> {
    socks_reply(code, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))
}

/// RFC 1928, §3: no authentication, for who may connect here is the listener's business.
fn socks_methods(said: &[u8]) -> Next {
    match *said {
        [] | [5] => Next::Wait,
        [5, count, ref methods @ ..] => match methods.get(..usize::from(count)) {
            None => Next::Wait,
            Some(methods) if methods.contains(&0) => Next::Say(vec![5, 0], 2 + methods.len()),
            Some(_) => Next::Refuse(vec![5, 0xff]),
        },
        _ => Next::Refuse(Vec::new()),
    }
}

/// RFC 1928, §4: CONNECT and UDP ASSOCIATE.
fn socks_request(said: &[u8]) -> Next {
    let (command, kind, rest) = match *said {
        [5, command, 0, kind, ref rest @ ..] => (command, kind, rest),
        [] | [5] | [5, _] | [5, _, 0] => return Next::Wait,
        _ => return Next::Refuse(refusal(1)),
    };
    if !matches!(command, CONNECT | ASSOCIATE) {
        return Next::Refuse(refusal(7));
    }
    let port = |at: usize| rest.get(at..at + 2).map(|p| u16::from_be_bytes([p[0], p[1]]));
    let (target, length) = match kind {
        1 => match (rest.first_chunk::<4>(), port(4)) {
            (Some(ip), Some(port)) => (SocketAddr::from((Ipv4Addr::from(*ip), port)).to_string(), 6),
            _ => return Next::Wait,
        },
        4 => match (rest.first_chunk::<16>(), port(16)) {
            (Some(ip), Some(port)) => (SocketAddr::from((Ipv6Addr::from(*ip), port)).to_string(), 18),
            _ => return Next::Wait,
        },
        3 => {
            let Some((&length, rest)) = rest.split_first() else { return Next::Wait };
            let length = usize::from(length);
            let (Some(name), Some(port)) = (rest.get(..length), port(1 + length)) else { return Next::Wait };
            match std::str::from_utf8(name) {
                Ok(name) => (format!("{name}:{port}"), 3 + length),
                Err(_) => return Next::Refuse(refusal(1)),
            }
        }
        _ => return Next::Refuse(refusal(8)),
    };
    if command == ASSOCIATE {
        // From where the application will send: most don't know, and its first datagram says it.
        return Next::Associate(4 + length);
    }
    open(target, 4 + length).unwrap_or_else(|| Next::Refuse(refusal(1)))
}

/// The head of an HTTP request whose first line is `CONNECT host:port HTTP/1.1`; empty lines before it are passed
/// over (RFC 9112, §2.2).
fn connect_request(said: &[u8]) -> Next {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let too_large = || Next::Refuse(http("431 Request Header Fields Too Large"));
    let length = match request.parse(said) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if said.len() <= LONGEST_REQUEST => return Next::Wait,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return too_large(),
        Err(httparse::Error::Version) => return Next::Refuse(http("505 HTTP Version Not Supported")),
        Err(_) => return Next::Refuse(http("400 Bad Request")),
    };
    match (request.method, request.path) {
        (Some("CONNECT"), Some(target)) => {
            open(target.to_owned(), length).unwrap_or_else(|| Next::Refuse(http("400 Bad Request")))
        }
        _ => Next::Refuse(http("405 Method Not Allowed")),
    }
}

fn open(target: String, read: usize) -> Option<Next> {
    (target.len() <= LONGEST && target.contains(':')).then_some(Next::Open(Target::Address(target), read))
}

#[cfg(test)]
mod tests {
    use midpath_core::rng::{Purpose, below, stream};

    use super::*;

    /// Whole, and in every part: it waits until everything is there, and reads no further.
    fn whole(mut front: impl FnMut() -> Front, said: &[u8], expect: Next) {
        for cut in 0..said.len() {
            assert_eq!(front().next(&said[..cut]), Next::Wait, "{cut} of {said:?}");
        }
        let more = [said, b"more"].concat();
        assert_eq!((front().next(said), front().next(&more)), (expect_clone(&expect), expect));
    }

    fn expect_clone(next: &Next) -> Next {
        match next {
            Next::Wait => Next::Wait,
            Next::Say(said, read) => Next::Say(said.clone(), *read),
            Next::Open(target, read) => Next::Open(target.clone(), *read),
            Next::Associate(read) => Next::Associate(*read),
            Next::Refuse(said) => Next::Refuse(said.clone()),
        }
    }

    #[test]
    fn socks_is_read_byte_by_byte() {
        let begun = || Front::Socks { agreed: false };
        whole(begun, &[5, 2, 1, 0], Next::Say(vec![5, 0], 4));
        assert_eq!(begun().next(&[5, 1, 2]), Next::Refuse(vec![5, 0xff]));
        assert_eq!(begun().next(&[4]), Next::Refuse(vec![]));
        let agreed = || Front::Socks { agreed: true };
        whole(agreed, &[5, 1, 0, 1, 127, 0, 0, 1, 0, 80], Next::Open("127.0.0.1:80".into(), 10));
        let six = [&[5, 1, 0, 4][..], &[0; 15], &[1, 1, 187]].concat();
        whole(agreed, &six, Next::Open("[::1]:443".into(), 22));
        let name = [&[5, 1, 0, 3, 4][..], b"host", &[0, 22]].concat();
        whole(agreed, &name, Next::Open("host:22".into(), 11));
        whole(agreed, &[5, 3, 0, 1, 0, 0, 0, 0, 0, 0], Next::Associate(10));
        // BIND is refused.
        assert_eq!(agreed().next(&[5, 2, 0, 1]), Next::Refuse(refusal(7)));
    }

    #[test]
    fn connect_is_read_up_to_its_empty_line() {
        let begun = || Front::Connect;
        let head = b"CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n";
        whole(begun, head, Next::Open("host:443".into(), head.len()));
        // RFC 9112, §2.2: empty lines before it, and lines that end as some write them.
        for before in ["\r\n", "\n", "\r\n\r\n"] {
            let head = [before.as_bytes(), head].concat();
            whole(begun, &head, Next::Open("host:443".into(), head.len()));
        }
        let bare = b"CONNECT host:443 HTTP/1.0\n\n";
        whole(begun, bare, Next::Open("host:443".into(), bare.len()));
        let others = [("CONNECT host HTTP/1.1", "400"), ("hello", "400"), ("CONNECT host:1 HTTP/2.0", "505")];
        for (bad, status) in [("GET / HTTP/1.1", "405")].into_iter().chain(others) {
            let Next::Refuse(said) = begun().next(format!("{bad}\r\n\r\n").as_bytes()) else { panic!("{bad}") };
            assert!(said.starts_with(format!("HTTP/1.1 {status}").as_bytes()), "{bad}");
        }
        assert!(matches!(begun().next(&[b'a'; LONGEST_REQUEST + 1]), Next::Refuse(_)));
    }

    /// Bytes that an application may send by mistake or to do harm: never a panic, never more read
    /// than there is.
    #[test]
    fn hostile_bytes_are_refused_or_waited_for() {
        let good: [&[u8]; 4] = [
            &[5, 2, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80],
            &[5, 1, 0, 3, 4, b'h', b'o', b's', b't', 0, 22],
            b"CONNECT host:443 HTTP/1.1\r\nHost: x\r\n\r\n",
            &[1, 1, 0, 4, b'h', b':', b'2', b'2'],
        ];
        let mut rng = stream(2, Purpose::Fault, 0);
        for round in 0..50_000 {
            let mut bytes = good[round % good.len()].to_vec();
            for _ in 0..below(&mut rng, 4) {
                let at = below(&mut rng, bytes.len() as u64) as usize;
                bytes[at] = below(&mut rng, 256) as u8;
            }
            bytes.truncate(below(&mut rng, bytes.len() as u64 + 1) as usize);
            for mut front in [Front::Socks { agreed: false }, Front::Socks { agreed: true }, Front::Connect] {
                if let Next::Say(_, read) | Next::Open(_, read) = front.next(&bytes) {
                    assert!(read <= bytes.len());
                }
            }
            assert!(super::super::greeting::parse(&bytes).1 <= bytes.len());
        }
    }
}
