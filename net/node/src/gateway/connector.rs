//! Outgoing connections for other nodes.
//!
//! Nothing blocks: connects are non-blocking, names are resolved elsewhere ([`Names`]), and slow attempts time out.
//! A name that stands for several addresses is connected to as Happy Eyeballs has it (RFC 8305): families take
//! turns, another address is tried after 250 ms or as soon as one fails, and the first that connects wins. No
//! address is tried that is not allowed.
//!
//! The number of pending targets is bounded. At the limit, a new one replaces the oldest target of the client with
//! the most: a client with dead targets loses to others, and to its own newer ones.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use midpath_core::packet::NodeId;
use midpath_core::units::Time;
use rustix::io::Errno;

use super::exit::Allowed;
use super::greeting::Status;
use super::names::{Names, Resolve, literal};
use super::sockets;
use crate::poller::{Poller, Wants};

/// How long a connection may take, with its name.
pub const PATIENCE: Time = Time::from_secs(10);
/// Another address is tried after this (RFC 8305, §8: Connection Attempt Delay).
const DELAY: Time = Time::from_ms(250);
/// Addresses of one name that are tried. Ours.
const ADDRESSES: usize = 8;
/// Targets at once, where there are files enough. Ours.
const PLACES: usize = 1024;
/// The token of lookups that are over; others are attempts'.
const FOUND: u64 = 0;

/// What has come of a target.
pub type ConnectResult = (u64, Result<TcpStream, Status>);

/// One target.
struct Target {
    client: NodeId,
    port: u16,
    /// Its name is being resolved.
    unresolved: bool,
    /// Addresses that have not been tried.
    left: VecDeque<SocketAddr>,
    /// Attempts, by their tokens.
    running: Vec<(u64, TcpStream)>,
    until: Time,
    /// When the next address is tried.
    next: Time,
    /// What there is to say if nothing connects.
    status: Status,
}

impl Target {
    /// An address could not be connected to. That the machine has no way to one (it may not have the family) says
    /// less than what another one answered.
    fn failed(&mut self, error: &io::Error) {
        let status = status(error);
        let says_less = matches!(status, Status::NoNetwork | Status::Busy);
        if !says_less || self.status == Status::NotAllowed {
            self.status = status;
        }
    }
}

/// Makes connections.
pub struct Connector {
    allowed: Allowed,
    names: Names,
    targets: BTreeMap<u64, Target>,
    /// Which target an attempt is for.
    attempts: BTreeMap<u64, u64>,
    begun: u64,
    places: usize,
    made: Vec<ConnectResult>,
    readiness: Poller,
}

impl Connector {
    /// Connects to what is allowed; so many files may be open.
    pub fn new(allowed: Allowed, resolve: Resolve, files: usize) -> io::Result<Connector> {
        let (names, readiness) = (Names::new(resolve)?, Poller::new()?);
        readiness.add(names.bell(), FOUND, Wants::Changes)?;
        let (targets, attempts, made) = Default::default();
        Ok(Connector { allowed, names, targets, attempts, begun: FOUND, places: places(files), made, readiness })
    }

    /// What is connected to from now on.
    pub fn allow(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// How many targets are being connected to, and may be.
    pub fn fill(&self) -> (usize, usize) {
        (self.targets.len(), self.places)
    }

    /// Becomes readable when [`Connector::on_ready`] is to be called.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.readiness.as_fd()
    }

    /// Begins to connect to `host:port` for a client; what comes of it is known by this number.
    pub fn begin(&mut self, id: u64, client: NodeId, target: &str, now: Time) {
        let parts = target.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        let Some((host, port)) = parts else { return self.made.push((id, Err(Status::NoSuchName))) };
        if !self.allowed.has_port(port) {
            return self.made.push((id, Err(Status::NotAllowed)));
        }
        if self.targets.len() >= self.places {
            self.make_room();
        }
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let (until, status) = (now.saturating_add(PATIENCE), Status::NoSuchName);
        let (left, running) = Default::default();
        let new = Target { client, port, unresolved: true, left, running, until, next: now, status };
        self.targets.insert(id, new);
        match literal(host) {
            Some(address) => self.resolved(id, &[address], now),
            None => self.names.ask(client, id, host),
        }
    }

    /// The oldest target of the client that has most is given up.
    fn make_room(&mut self) {
        let mut of = BTreeMap::<NodeId, usize>::new();
        self.targets.values().for_each(|target| *of.entry(target.client).or_default() += 1);
        let most = of.into_iter().max_by_key(|(_, count)| *count).map(|(client, _)| client);
        let oldest = self.targets.iter().find(|(_, target)| Some(target.client) == most).map(|(id, _)| *id);
        oldest.into_iter().for_each(|id| self.end(id, Err(Status::Busy)));
    }

    /// Nobody waits for this connection any more: its place is free.
    pub fn forget(&mut self, id: u64) {
        self.remove(id);
        self.made.retain(|(made, _)| *made != id);
    }

    /// Called when [`Connector::readiness`] is.
    pub fn on_ready(&mut self, now: Time) {
        loop {
            let ready = self.readiness.take().unwrap_or_default();
            if ready.is_empty() {
                return;
            }
            for (token, _) in ready {
                match self.attempts.get(&token) {
                    Some(id) => self.on_attempt(*id, token, now),
                    None if token == FOUND => {
                        for (id, addresses) in self.names.found() {
                            self.resolved(id, &addresses, now);
                        }
                    }
                    None => {}
                }
            }
        }
    }

    /// Called now and then: what takes too long is given up, and other addresses are tried.
    pub fn on_time(&mut self, now: Time) {
        let late: Vec<u64> = self.targets.iter().filter(|(_, t)| now >= t.until).map(|(id, _)| *id).collect();
        late.into_iter().for_each(|id| self.end(id, Err(Status::TimedOut)));
        let due = |t: &Target| !t.left.is_empty() && now >= t.next;
        let due: Vec<u64> = self.targets.iter().filter(|(_, t)| due(t)).map(|(id, _)| *id).collect();
        for id in due {
            // Without files for one more the next address takes those of its target's first one.
            if self.attempts.len() >= 2 * self.places
                && let Some(target) = self.targets.get_mut(&id)
            {
                let (first, _) = target.running.remove(0);
                self.attempts.remove(&first);
            }
            self.try_next(id, now);
        }
    }

    /// Called now and then: why names wait for a thread, if they do.
    pub fn lacking(&mut self) -> Option<io::Error> {
        self.names.lacking()
    }

    /// What has been made, or not.
    pub fn take(&mut self) -> Vec<ConnectResult> {
        std::mem::take(&mut self.made)
    }

    /// A target's name stands for these addresses.
    fn resolved(&mut self, id: u64, addresses: &[SocketAddr], now: Time) {
        let Some(target) = self.targets.get_mut(&id) else { return };
        target.unresolved = false;
        if !addresses.is_empty() {
            target.status = Status::NotAllowed;
        }
        let of_port = addresses.iter().map(|address| {
            let mut address = *address;
            address.set_port(target.port);
            address
        });
        target.left = in_turns(of_port.filter(|address| self.allowed.allows(*address)));
        self.try_next(id, now);
    }

    /// Tries a target's next address, and those after it for as long as they fail at once. Where nothing is left
    /// the target is told.
    fn try_next(&mut self, id: u64, now: Time) {
        let Some(target) = self.targets.get_mut(&id) else { return };
        while let Some(to) = target.left.pop_front() {
            // That may have changed since it was resolved.
            if !self.allowed.allows(to) {
                continue;
            }
            let token = self.begun + 1;
            match sockets::connect(to)
                .and_then(|socket| self.readiness.add(&socket, token, Wants::Changes).map(|()| socket))
            {
                Ok(socket) => {
                    self.begun = token;
                    self.attempts.insert(token, id);
                    target.running.push((token, socket));
                    target.next = now.saturating_add(DELAY);
                    return;
                }
                Err(error) => target.failed(&error),
            }
        }
        if target.running.is_empty() && !target.unresolved {
            let status = target.status;
            self.end(id, Err(status));
        }
    }

    /// An attempt has come to something.
    fn on_attempt(&mut self, id: u64, token: u64, now: Time) {
        let Some(target) = self.targets.get_mut(&id) else { return };
        let Some(at) = target.running.iter().position(|(of, _)| *of == token) else { return };
        let socket = &target.running[at].1;
        let error = match socket.take_error() {
            Ok(Some(error)) | Err(error) => error,
            Ok(None) => match socket.peer_addr() {
                Ok(_) => {
                    // From now on it is known by another number, elsewhere.
                    let removed = self.readiness.remove(socket);
                    let (_, socket) = target.running.swap_remove(at);
                    self.attempts.remove(&token);
                    return self.end(id, removed.map(|()| socket).map_err(|_| Status::Busy));
                }
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return, // not yet
                Err(error) => error,
            },
        };
        target.failed(&error);
        target.running.swap_remove(at);
        self.attempts.remove(&token);
        self.try_next(id, now);
    }

    fn end(&mut self, id: u64, result: Result<TcpStream, Status>) {
        if self.remove(id) {
            self.made.push((id, result));
        }
    }

    fn remove(&mut self, id: u64) -> bool {
        let Some(target) = self.targets.remove(&id) else { return false };
        if target.unresolved {
            self.names.forget(target.client, id);
        }
        for (token, _) in target.running {
            self.attempts.remove(&token);
        }
        true
    }
}

/// Targets at once, with so many files: an eighth of them, and at most as many again for further addresses.
pub fn places(files: usize) -> usize {
    (files / 8).clamp(1, PLACES)
}

/// Each once, families in turns, beginning with that of the first (RFC 8305, §4).
fn in_turns(addresses: impl Iterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut once = Vec::new();
    for address in addresses {
        if !once.contains(&address) {
            once.push(address);
        }
    }
    let is_first = |address: &SocketAddr| once.first().is_some_and(|first| first.is_ipv4() == address.is_ipv4());
    let (mut these, mut those): (VecDeque<_>, VecDeque<_>) = once.iter().copied().partition(is_first);
    let mut turns = VecDeque::new();
    while turns.len() < ADDRESSES && !(these.is_empty() && those.is_empty()) {
        turns.extend(these.pop_front());
        std::mem::swap(&mut these, &mut those);
    }
    turns
}

/// What a client is told of an error.
fn status(error: &io::Error) -> Status {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED | Errno::CONNRESET) => Status::Refused,
        Some(Errno::TIMEDOUT) => Status::TimedOut,
        Some(Errno::NETUNREACH | Errno::AFNOSUPPORT | Errno::NETDOWN) => Status::NoNetwork,
        Some(Errno::HOSTUNREACH | Errno::HOSTDOWN) => Status::NoHost,
        // A filter of this machine's.
        Some(Errno::ACCESS | Errno::PERM) => Status::NotAllowed,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL | Errno::AGAIN) => {
            Status::Busy
        }
        _ => Status::Unreachable,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "it makes real connections")]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use midpath_core::rng::{Purpose, below, stream};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);

    /// A connector, with a clock.
    struct Rig {
        connector: Connector,
        began: Instant,
        made: BTreeMap<u64, Result<TcpStream, Status>>,
        next: u64,
    }

    impl Rig {
        fn new(allowed: &[&str], resolve: Resolve, files: usize) -> Rig {
            let allowed = Allowed::parse(allowed).expect("ranges");
            let connector = Connector::new(allowed, resolve, files).expect("a connector");
            Rig { connector, began: Instant::now(), made: BTreeMap::new(), next: 0 }
        }

        fn now(&self) -> Time {
            Time::from_ns(self.began.elapsed().as_nanos() as u64)
        }

        fn begin(&mut self, client: NodeId, target: &str) -> u64 {
            self.next += 1;
            let now = self.now();
            self.connector.begin(self.next, client, target, now);
            self.next
        }

        fn turn(&mut self, ms: i64) {
            let timeout = Timespec { tv_sec: 0, tv_nsec: ms * 1_000_000 };
            let fd = self.connector.readiness();
            let _ = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout));
            let now = self.now();
            self.connector.on_ready(now);
            self.connector.on_time(now);
            self.made.extend(self.connector.take());
        }

        /// What comes of a target, and after how long.
        fn wait(&mut self, id: u64) -> (Result<TcpStream, Status>, Duration) {
            let since = Instant::now();
            loop {
                if let Some(made) = self.made.remove(&id) {
                    return (made, since.elapsed());
                }
                assert!(since.elapsed() < Duration::from_secs(60), "no result for {id}");
                self.turn(20);
            }
        }

        fn connect(&mut self, client: NodeId, target: &str) -> (Result<TcpStream, Status>, Duration) {
            let id = self.begin(client, target);
            self.wait(id)
        }
    }

    /// A target whose SYNs are dropped: its backlog is full.
    struct Dead {
        at: SocketAddr,
        _listener: TcpListener,
        _fill: Vec<TcpStream>,
    }

    fn dead(at: &str) -> Dead {
        let listener = TcpListener::bind(at).expect("it listens");
        rustix::net::listen(&listener, 0).expect("it listens");
        let at = listener.local_addr().expect("an address");
        let fill = (0..8).filter_map(|_| sockets::connect(at).ok()).collect();
        std::thread::sleep(Duration::from_millis(20));
        Dead { at, _listener: listener, _fill: fill }
    }

    fn live(at: &str) -> TcpListener {
        let listener = TcpListener::bind(at).expect("it listens");
        rustix::net::listen(&listener, 4096).expect("it listens");
        listener
    }

    fn nobody() -> Resolve {
        Arc::new(|_| Vec::new())
    }

    /// A resolver that answers nothing until the sender goes.
    fn silent() -> (Resolve, Sender<()>) {
        let (keep, gone) = channel();
        let gone = Mutex::new(gone);
        let resolve = move |host: &str| {
            if host != "quick" {
                let _ = gone.lock().map(|gone| gone.recv());
            }
            vec!["127.0.0.1:0".parse().expect("an address")]
        };
        (Arc::new(resolve), keep)
    }

    /// Issue 58, row 3: with 1,000 dead targets and a dead resolver others are served as if nothing were. The
    /// threads that this replaces needed 25 s with 40 of them.
    #[test]
    fn dead_targets_and_a_dead_resolver_stop_nobody_else() {
        let (dead, live, (resolve, keep)) = (dead("127.0.0.1:0"), live("127.0.0.1:0"), silent());
        let mut rig = Rig::new(&["127.0.0.0/8:1-65535"], resolve, sockets::limit());
        for i in 0..1000 {
            rig.begin(A, &dead.at.to_string());
            rig.begin(A, &format!("name-{i}:80"));
        }
        let target = live.local_addr().expect("an address").to_string();
        for client in [A, B] {
            let mut took: Vec<Duration> = (0..200)
                .map(|_| {
                    let (made, took) = rig.connect(client, &target);
                    assert!(made.is_ok(), "{made:?}");
                    took
                })
                .collect();
            took.sort();
            let (p50, p99) = (took[100], took[198]);
            // Past the test harness, which would keep it to itself.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "dead targets: client {client:?}: p50 {p50:?}, p99 {p99:?}");
            assert!(p99 < Duration::from_secs(1), "{client:?}: {p99:?}");
        }
        // Names of the client that waits for none are resolved, too.
        let (made, took) = rig.connect(B, &format!("quick:{}", live.local_addr().expect("an address").port()));
        assert!(made.is_ok() && took < Duration::from_secs(1), "{took:?}");
        drop(keep);
    }

    /// Whoever asks for the most loses his oldest, and nobody else loses any.
    #[test]
    fn a_place_is_taken_from_who_has_most() {
        let dead = dead("127.0.0.1:0");
        let mut rig = Rig::new(&["127.0.0.0/8:1-65535"], nobody(), 8 * 10);
        let target = dead.at.to_string();
        let few: Vec<u64> = (0..3).map(|_| rig.begin(B, &target)).collect();
        let many: Vec<u64> = (0..50).map(|_| rig.begin(A, &target)).collect();
        rig.turn(0);
        assert_eq!(rig.connector.fill(), (10, 10));
        assert!(few.iter().all(|id| !rig.made.contains_key(id)));
        let busy = |id: &&u64| matches!(rig.made.get(id), Some(Err(Status::Busy)));
        assert_eq!(many.iter().take_while(busy).count(), 43, "the oldest");
        // Who hangs up gives his place back.
        few.iter().chain(&many).for_each(|id| rig.connector.forget(*id));
        assert_eq!((rig.connector.fill(), rig.connector.attempts.len()), ((0, 10), 0));
    }

    /// Another address is tried after 250 ms, families take turns, and the first that connects wins; a refusal is
    /// not waited for.
    #[test]
    fn the_first_address_that_connects_wins() {
        let dead = dead("127.0.0.1:0");
        let port = dead.at.port();
        let live = live(&format!("127.0.0.9:{port}"));
        let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 0);
        let resolve: Resolve = Arc::new(move |host| match host {
            "slow" => vec![at("127.0.0.1"), at("127.0.0.9")],
            "refuses" => vec![at("127.0.0.77"), at("127.0.0.9")],
            "none" => vec![at("127.0.0.77")],
            _ => vec![at("127.0.0.1")],
        });
        let mut rig = Rig::new(&["127.0.0.0/8:1-65535"], resolve, 1024);
        let (made, took) = rig.connect(A, &format!("slow:{port}"));
        assert_eq!(made.expect("it connects").peer_addr().ok(), live.local_addr().ok());
        assert!(took >= Duration::from_millis(240) && took < Duration::from_secs(5), "{took:?}");
        let (made, took) = rig.connect(A, &format!("refuses:{port}"));
        assert!(made.is_ok() && took < Duration::from_millis(240), "{took:?}");
        assert_eq!(rig.connect(A, &format!("none:{port}")).0.err(), Some(Status::Refused));
        let id = rig.begin(A, &format!("dead:{port}"));
        let until = rig.now().saturating_add(PATIENCE);
        rig.turn(20);
        rig.connector.on_time(until.saturating_sub(Time::from_ms(100)));
        assert!(rig.connector.take().is_empty());
        rig.connector.on_time(until);
        assert!(matches!(rig.connector.take()[..], [(made, Err(Status::TimedOut))] if made == id));
    }

    #[test]
    fn families_take_turns() {
        let four = |n: u8| SocketAddr::from(([10, 0, 0, n], 80));
        let six = |n: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, n], 80));
        let turns = |all: &[SocketAddr]| Vec::from(in_turns(all.iter().copied()));
        assert_eq!(turns(&[six(1), six(2), six(2), four(1), four(2)]), [six(1), four(1), six(2), four(2)]);
        assert_eq!(turns(&[four(1), four(2), four(3), six(1)]), [four(1), six(1), four(2), four(3)]);
        assert_eq!(turns(&(0..50).map(six).collect::<Vec<_>>()).len(), ADDRESSES);
        assert!(turns(&[]).is_empty());
    }

    /// Answers that mix what is allowed with what is not: the latter is never tried, in whatever order they come.
    #[test]
    fn of_mixed_answers_only_what_is_allowed_is_tried() {
        let listeners: Vec<TcpListener> = (1..=6).map(|i| live(&format!("127.0.7.{i}:0"))).collect();
        let mut rng = stream(58, Purpose::Fault, 0);
        for round in 0..60 {
            // One of six addresses is allowed, all are in the answer in some order, and somebody listens at each.
            let which = below(&mut rng, 6) as usize;
            let port = listeners[which].local_addr().expect("an address").port();
            let mut answer: Vec<SocketAddr> = (1..=6).map(|i| SocketAddr::from(([127, 0, 7, i], 0))).collect();
            for i in 0..answer.len() {
                answer.swap(i, below(&mut rng, 6) as usize);
            }
            let others: Vec<TcpListener> = (1..=6)
                .filter(|i| *i != which + 1)
                .filter_map(|i| TcpListener::bind(format!("127.0.7.{i}:{port}")).ok())
                .collect();
            others.iter().for_each(|other| other.set_nonblocking(true).expect("it can be set"));
            let given = answer.clone();
            let allow = format!("127.0.7.{}:{port}", which + 1);
            let mut rig = Rig::new(&[&allow], Arc::new(move |_| given.clone()), 1024);
            let (made, _) = rig.connect(A, &format!("mixed:{port}"));
            assert_eq!(
                made.expect("it connects").peer_addr().ok(),
                Some(allow.parse().expect("an address")),
                "{round}"
            );
            assert!(others.iter().all(|other| other.accept().is_err()), "{round}: {answer:?}");
        }
        // However many come before it.
        let listener = live("127.0.7.1:0");
        let at = listener.local_addr().expect("an address");
        let many = (2..100).map(|i| SocketAddr::from(([127, 0, 7, i], 0))).chain([at]).collect::<Vec<_>>();
        let mut rig = Rig::new(&[&at.to_string()], Arc::new(move |_| many.clone()), 1024);
        assert!(rig.connect(A, &format!("many:{}", at.port())).0.is_ok());
        // None is allowed; and none is looked up whose port no range has.
        let (resolve, _keep) = silent();
        let mut rig = Rig::new(&["10.0.0.0/8:80"], resolve, 1024);
        for target in ["quick:80", "127.0.0.1:80", "0x7f.1:80", "[::ffff:127.0.0.1]:80", "slow:81"] {
            let (made, took) = rig.connect(A, target);
            assert_eq!(made.err(), Some(Status::NotAllowed), "{target}");
            assert!(took < Duration::from_secs(1), "{target}");
        }
    }

    /// What is allowed changes while a name is being resolved, and between two addresses.
    #[test]
    fn what_is_allowed_no_more_is_not_tried() {
        let dead = dead("127.0.0.1:0");
        let port = dead.at.port();
        let live = live(&format!("127.0.0.9:{port}"));
        live.set_nonblocking(true).expect("it can be set");
        let both = ["127.0.0.1:0", "127.0.0.9:0"].map(|at| at.parse().expect("an address"));
        let mut rig = Rig::new(&["127.0.0.0/8:1-65535"], Arc::new(move |_| both.to_vec()), 1024);
        let id = rig.begin(A, &format!("both:{port}"));
        while rig.connector.attempts.is_empty() {
            rig.turn(20);
        }
        rig.connector.allow(Allowed::parse(&["127.0.0.1:1-65535"]).expect("a range"));
        let until = rig.now().saturating_add(Time::from_ms(500));
        while rig.now() < until {
            rig.turn(20);
        }
        assert!(live.accept().is_err() && !rig.made.contains_key(&id));
    }

    #[test]
    fn literals_ask_nobody() {
        let (resolve, _keep) = silent();
        let mut rig = Rig::new(&["127.0.0.0/8:1-65535", "[::1]:1-65535"], resolve, 1024);
        let listener = live("127.0.0.1:0");
        let port = listener.local_addr().expect("an address").port();
        for host in ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"] {
            assert!(rig.connect(A, &format!("{host}:{port}")).0.is_ok(), "{host}");
        }
        for wrong in ["", "host", "host:", "host:x", "host:65536"] {
            assert_eq!(rig.connect(A, wrong).0.err(), Some(Status::NoSuchName), "{wrong}");
        }
    }

    #[test]
    fn errors_are_told_for_what_they_are() {
        let of = |errno: Errno| status(&errno.into());
        let all = [
            (Errno::CONNREFUSED, Status::Refused),
            (Errno::TIMEDOUT, Status::TimedOut),
            (Errno::NETUNREACH, Status::NoNetwork),
            (Errno::HOSTUNREACH, Status::NoHost),
            (Errno::PERM, Status::NotAllowed),
            (Errno::MFILE, Status::Busy),
            (Errno::INVAL, Status::Unreachable),
        ];
        all.into_iter().for_each(|(errno, told)| assert_eq!(of(errno), told));
    }
}
