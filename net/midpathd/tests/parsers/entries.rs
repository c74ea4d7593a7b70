//! What a node reads that others have written, one function per entry. The fuzz targets in `fuzz/`
//! call the same functions.
//!
//! Each takes any bytes, must not panic, and checks what holds of every answer. It says whether the
//! bytes were taken for something.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;

use midpath_core::units::{Rate, Time};
use midpath_link::datagram::Datagram;
use midpath_link::{Endpoint, Frame, Output, PeerId, PeerSpec, SecretKey};
use midpath_node::event_loop::Links;
use midpath_node::gateway::exit::Allowed;
use midpath_node::gateway::front::{Front, Next};
use midpath_node::gateway::{datagrams, greeting, services};
use midpath_node::overlay::{Kind, Neighbour, Overlay};
use midpath_node::udp::Outbox;
use midpathd::metrics::request::{LONGEST, OK, Request, read};
use midpathd::node::{Config, NoNetwork};

/// What local applications say, what is said of a conversation, and lines of those that know of the
/// node. However the bytes come, in one piece or one by one, they mean the same.
pub fn gateway(bytes: &[u8]) -> bool {
    let names = ["a", "b"].map(String::from);
    let mut taken = false;
    for front in [|| Front::Socks { agreed: false }, || Front::Socks { agreed: true }, || Front::Connect] {
        let whole = front().next(bytes);
        if let Next::Say(_, read) | Next::Open(_, read) | Next::Associate(read) = whole {
            assert!(read > 0 && read <= bytes.len());
            taken = true;
        }
        let short = &bytes[..bytes.len().min(300)];
        let early = (0..short.len()).map(|end| front().next(&short[..end])).find(|next| *next != Next::Wait);
        assert!(early.is_none_or(|early| early == whole), "{short:?}");
    }
    if let Some((address, length)) = datagrams::address(bytes) {
        assert_eq!(
            datagrams::address(&datagrams::written(address)).map(|same| same.0.ip()),
            Some(address.ip().to_canonical())
        );
        assert!(length <= bytes.len());
        taken = true;
    }
    assert!(datagrams::inner(bytes).is_none_or(|inner| inner.len() + 3 == bytes.len()));
    let (mut come, mut count) = (bytes.to_vec(), 0);
    while let Some(datagram) = datagrams::next(&mut come) {
        count += datagram.len() + 2;
    }
    assert_eq!(come, bytes[count..], "what is not whole stays");
    let (said, read) = greeting::parse(bytes);
    assert!(read <= bytes.len());
    match said {
        greeting::Read::Target(target) => {
            assert_eq!(greeting::request(&target), &bytes[..read], "what is read is written the same");
            taken = true;
        }
        greeting::Read::Answer(_) | greeting::Read::OtherVersion(_) => taken = read > 0,
        greeting::Read::Unfinished | greeting::Read::Nonsense => assert_eq!(read, 0),
    }
    if let Some(Ok((_, read))) = services::read_line(bytes, &names) {
        assert!(read <= bytes.len() && bytes[read - 1] == b'\n');
        taken = true;
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(allowed) = Allowed::parse(&[text])
    {
        let first = allowed.first().expect("a range has an address");
        let port = allowed.only_port();
        assert!(port.is_none_or(|port| allowed.allows(SocketAddr::new(first, port))), "{text}");
        taken = true;
    }
    taken
}

/// Datagrams of strangers, and what is inside a neighbour's.
pub fn frames(bytes: &[u8]) -> bool {
    let mut carried = 0;
    if let Ok(read) = midpath_link::stream::datagrams(bytes, 1500, |one| carried += one.len() + 2) {
        assert!(carried == read && read <= bytes.len(), "a stream's datagrams are what was read of it");
    }
    let datagram = Datagram::read(bytes).is_some();
    let Some(frame) = Frame::read(bytes) else { return datagram };
    let mut again = Vec::new();
    frame.write(bytes.len(), &mut again);
    // A probe's filling says nothing.
    assert!(again == bytes || matches!(frame, Frame::Probe(_)));
    true
}

/// What is asked of the metrics' server. However the bytes come, they mean the same.
pub fn metrics(bytes: &[u8]) -> bool {
    let whole = read(bytes);
    let all = bytes.len().min(LONGEST + 1);
    // Every end of a short one; of a long one those alone would be its square.
    let mut ends = (0..=all).filter(|end| *end < 300 || end % 199 == 0 || end + 2 > all);
    let early = ends.find_map(|end| Some(read(&bytes[..end])).filter(|request| *request != Request::Unfinished));
    assert_eq!(early.unwrap_or(Request::Unfinished), whole, "{:?}", bytes.escape_ascii().to_string());
    assert!(bytes.len() < LONGEST || whole != Request::Unfinished, "it ends somewhere");
    whole == (Request::Known { status: OK, head: false })
}

const HERE: &str = "192.0.2.1:7000";
const THERE: &str = "192.0.2.2:7000";

fn at(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

fn secret(digit: &str) -> SecretKey {
    SecretKey::parse(&digit.repeat(64)).expect("a key")
}

/// A neighbour that is up, and a node's links to it.
struct Pair {
    sender: Endpoint,
    links: Overlay,
    sent: u64,
}

impl Pair {
    fn new() -> Pair {
        let spec =
            PeerSpec { id: PeerId(0), keys: vec![secret("8").public()], link: Some(at(HERE).into()), stream: false };
        let mut sender = Endpoint::new(secret("7"), vec![spec], Time::ZERO).expect("random numbers");
        let neighbour = Neighbour {
            name: "s".into(),
            keys: vec![secret("7").public()],
            address: None,
            kind: Kind::Udp,
            rate: Rate::from_mbps(50),
            dedicated: false,
        };
        let mut links = Overlay::new(secret("8"), &[neighbour], Time::ZERO).expect("random numbers");
        let mut hello = Output::default();
        sender.poll(Time::ZERO, &mut hello);
        let mut answers = Outbox::default();
        links.receive(Time::ZERO, at(THERE).into(), &hello.datagrams[0].1, &mut answers);
        let (_, welcome) = answers.datagrams().next().expect("a welcome");
        let mut first = Output::default();
        sender.handle(Time::ZERO, at(HERE).into(), welcome, &mut Vec::new(), &mut first);
        let up = links.receive(Time::ZERO, at(THERE).into(), &first.datagrams[0].1, &mut Outbox::default()).is_some();
        assert!(!up && sender.is_up(PeerId(0)));
        Pair { sender, links, sent: 0 }
    }
}

thread_local! {
    static STRANGER: RefCell<Endpoint> = RefCell::new({
        let peer = PeerSpec { id: PeerId(0), keys: vec![secret("7").public()], link: None, stream: false };
        Endpoint::new(secret("8"), vec![peer], Time::ZERO).expect("random numbers")
    });
    static NEIGHBOUR: RefCell<Pair> = RefCell::new(Pair::new());
}

/// What a stranger sends gets no answer that is longer, and is nobody's.
pub fn stranger(bytes: &[u8]) -> bool {
    STRANGER.with_borrow_mut(|end| {
        let mut out = Output::default();
        assert_eq!(end.handle(Time::ZERO, at(THERE).into(), bytes, &mut Vec::new(), &mut out), None);
        assert!(out.datagrams.iter().all(|(_, answer)| answer.len() <= bytes.len()) && out.events.is_empty());
        !out.datagrams.is_empty()
    })
}

/// What an authenticated neighbour says, whatever it is: the rate stays one that may be used.
pub fn neighbour(bytes: &[u8]) -> bool {
    NEIGHBOUR.with_borrow_mut(|pair| {
        // Keys wear out, and reports say when they were made: a new pair now and then.
        if pair.sent == 10_000 {
            *pair = Pair::new();
        }
        pair.sent += 1;
        let now = Time::from_ms(pair.sent);
        let mut datagram = Vec::new();
        pair.sender.seal(now, PeerId(0), bytes, &mut datagram).expect("it is up");
        let mut out = Outbox::default();
        let came = pair.links.receive(now, at(THERE).into(), &datagram, &mut out).is_some();
        pair.links.poll(now, &mut out);
        let rate = pair.links.rate(midpath_core::packet::PortId(0), now);
        assert!(rate.is_none_or(|rate| rate.0 > 0 && rate <= Rate::from_mbps(50)), "{rate:?}");
        assert!(out.datagrams().all(|(_, answer)| answer.len() <= 1500));
        came
    })
}

const NETWORK: &str = r#"
scheme = "cubic"
[topology]
nodes = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
links = [{ a = "a", b = "b", rate = "50 Mbps", delay = "5 ms" }]
[[flow]]
from = "a"
to = "b"
size = "10 MB"
"#;

/// A node's configuration. The error is one line that names the file.
pub fn config(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let network = |_: &Path| {
        let catalogue = midpath_schemes::Catalogue::standard();
        midpath_sim::prepare(NETWORK, Path::new("."), &midpath_sim::RunOptions::default(), &catalogue)
            .map_err(|e| NoNetwork::Wrong(e.to_string()))
    };
    match Config::parse(text, Path::new("a.toml"), &network) {
        Ok(config) => {
            assert!(!config.neighbours.is_empty() && config.mtu > 536);
            true
        }
        Err(error) => {
            let said = error.to_string();
            assert!(said.starts_with("a.toml") && !said.contains('\n') && said.len() > 10, "{said}");
            let line = said["a.toml".len()..].strip_prefix(':').and_then(|rest| rest.split(':').next()?.parse().ok());
            let lines = text.split('\n').count();
            assert!(line.is_none_or(|line: usize| (1..=lines).contains(&line)), "{lines} lines, {said}");
            false
        }
    }
}
