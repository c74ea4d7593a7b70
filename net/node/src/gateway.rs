//! TCP connections of local applications, carried by flows: the node as seen by unmodified clients and servers.
//!
//! An accepted connection becomes a proxy session with another node, its *exit*, which connects to the target. This
//! node opens a flow whose first bytes name the target ([`greeting`]); the first bytes back report the result. Each
//! direction closes independently, and a failed flow resets the connection: an application sees the end of a stream
//! only after all of it.
//!
//! While connections arrive, flows are opened in advance (`warm`): the first byte takes one round trip.
//!
//! An acknowledgement of the local TCP means that this node has the bytes, not that the other end
//! has them.

pub mod datagrams;
pub mod exit;
pub mod front;
pub mod greeting;
pub mod services;

mod connector;
mod names;
mod session;
mod shortage;
mod sockets;
mod warm;

pub use sockets::is_own;
pub use sockets::{connect, raise_limit};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use midpath_core::node::EndId;
use midpath_core::packet::NodeId;
use midpath_core::units::Time;

use crate::host::Host;
use crate::poller::{Poller, Wants};
use connector::Connector;
use datagrams::{Association, Over};
use exit::Allowed;
use front::Front;
use greeting::Target;
use services::{Names, Services, Step};
use session::{Outcome, ProxySession};
use shortage::Shortages;
use warm::WarmFlows;

/// A port that applications connect to, and where their connections go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Which node connects to the target.
    pub exit: NodeId,
    /// What is spoken there.
    pub kind: Kind,
}

/// What is spoken at an entrance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// All connections go to this target, `host:port`.
    Forward(String),
    /// SOCKS5 (RFC 1928).
    Socks,
    /// HTTP's CONNECT (RFC 9110, §9.3.6).
    Connect,
    /// Nothing: connections of this machine to these addresses are routed here (a local route), and go
    /// where they wanted to.
    Transparent(Allowed),
    /// Applications that know of the node ([`services`]).
    Application(Names),
}

/// What has been counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that came in here, and those made for others.
    pub entered: u64,
    /// Connections made for other nodes.
    pub left: u64,
    /// Conversations that ended as both sides wished.
    pub completed: u64,
    /// Those that were reset.
    pub reset: u64,
    /// Targets that this node does not connect to, or could not.
    pub refused: u64,
    /// Conversations that another node began in another version of the greeting.
    pub other_version: u64,
}

impl Listener {
    /// Whether this connection is one for which the entrance is: what is routed here must come from
    /// this machine, or whoever reaches us could go through.
    fn admits(&self, tcp: &TcpStream) -> bool {
        if !matches!(self.kind, Kind::Transparent(_)) {
            return true;
        }
        tcp.peer_addr().is_ok_and(|peer| sockets::is_own(peer.ip().to_canonical()))
    }
}

struct Listening {
    socket: TcpListener,
    entrance: Listener,
}

/// A node's sessions.
pub struct Gateway {
    listening: Vec<Listening>,
    sessions: BTreeMap<u64, ProxySession>,
    /// Which session an end belongs to.
    of_end: BTreeMap<EndId, u64>,
    /// Flows of other nodes that have not said what they are for, and since when.
    unclaimed: BTreeMap<EndId, Time>,
    /// Flows to exits that have not been told what they are for.
    warm: WarmFlows,
    connector: Connector,
    services: Services,
    /// Associations of datagrams, by their connection's number; and those of their sockets.
    associations: BTreeMap<u64, Association>,
    of_socket: BTreeMap<u64, u64>,
    /// What associations may send to for other nodes.
    allowed: Allowed,
    readiness: Poller,
    next: u64,
    /// Conversations at once: as many as the host has room for, and the process has files for.
    most: usize,
    /// An entrance has connections that could not be taken.
    crowded: bool,
    /// What had run out.
    shortages: Shortages,
    /// Conversations that others may have made room for.
    starved: BTreeSet<u64>,
    /// When all are looked at next.
    look_at: Time,
    /// What is being moved.
    piece: Vec<u8>,
    /// What has been counted.
    pub counted: Counters,
    /// And of datagrams.
    pub datagrams: datagrams::Counters,
}

/// Files that are no connections: logs, the node's own, neighbours' streams, two for each thread that resolves names.
const RESERVED: usize = 150;
/// With fewer connections than this it makes no sense to be an entrance or an exit. Ours.
const LEAST: usize = 50;

/// A flow that says nothing for so long is given up; so is a session whose beginning takes
/// longer. Ours: longer than names and connections take ([`connector::PATIENCE`]).
const PATIENCE: Time = Time::from_secs(30);

/// How often that is looked at. Ours.
const LOOK: Time = Time::from_secs(1);

impl Gateway {
    /// Listens at these entrances, and connects for other nodes where that is `allowed`.
    pub fn new(entrances: Vec<Listener>, allowed: Allowed) -> io::Result<Gateway> {
        let most = match connections() {
            // Who only forwards needs none.
            Err(_) if entrances.is_empty() && allowed.is_empty() => 0,
            most => most?,
        };
        let readiness = Poller::new()?;
        let mut listening = Vec::new();
        for entrance in entrances {
            let context = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", entrance.listen));
            let alone = matches!(entrance.kind, Kind::Transparent(_));
            let socket = sockets::listen(entrance.listen, alone).map_err(context)?;
            readiness.add(&socket, sockets::LISTENERS | listening.len() as u64, Wants::Changes)?;
            listening.push(Listening { socket, entrance });
        }
        let connector = Connector::new(allowed.clone(), names::system(), sockets::limit())?;
        readiness.add(connector.readiness(), sockets::CONNECTING, Wants::Changes)?;
        Ok(Gateway {
            listening,
            sessions: BTreeMap::new(),
            of_end: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
            warm: WarmFlows::default(),
            connector,
            services: Services::default(),
            associations: BTreeMap::new(),
            of_socket: BTreeMap::new(),
            allowed,
            readiness,
            next: 0,
            most,
            crowded: false,
            shortages: Shortages::default(),
            starved: BTreeSet::new(),
            look_at: Time::ZERO,
            piece: vec![0; session::PIECE],
            counted: Counters::default(),
            datagrams: datagrams::Counters::default(),
        })
    }

    /// Becomes readable when a socket has something.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.readiness.as_fd()
    }

    /// Where it listens: ports that were given as 0 have been chosen.
    pub fn listens(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.listening.iter().filter_map(|l| l.socket.local_addr().ok())
    }

    /// Conversations at once, at most.
    pub fn most(&self, host: &Host) -> usize {
        self.most.min(host.windows().flows())
    }

    /// What may grow here, how far it has, and how far it may.
    pub fn tables(&self, host: &Host) -> [(&'static str, u64, u64); 3] {
        let sessions = (self.files() as u64, self.most(host) as u64);
        let (connecting, places) = self.connector.fill();
        let (applications, most) = self.services.fill();
        [
            ("conversations", sessions.0, sessions.1),
            ("connecting", connecting as u64, places as u64),
            ("applications", applications as u64, most as u64),
        ]
    }

    /// What is connected to for others from now on; connections that are there stay.
    pub fn allow(&mut self, allowed: Allowed) {
        self.connector.allow(allowed.clone());
        self.allowed = allowed;
    }

    /// Conversations that are open.
    pub fn open(&self) -> usize {
        self.sessions.len() + self.associations.len()
    }

    /// Files that conversations have: an association of an application's two.
    fn files(&self) -> usize {
        self.sessions.len() + 2 * self.associations.len()
    }

    /// Called when [`Gateway::readiness`] is: sockets have something.
    pub fn on_sockets(&mut self, host: &mut Host, now: Time) {
        for (token, ready) in self.readiness.take().unwrap_or_default() {
            match token {
                sockets::CONNECTING => {
                    self.connector.on_ready(now);
                    self.on_connected(host, now);
                }
                token if token & sockets::LISTENERS != 0 => {
                    self.accept((token & !sockets::LISTENERS) as usize, host, now);
                }
                token if self.associations.contains_key(&token) => self.carry(token, host, now),
                token if self.of_socket.contains_key(&token) => self.carry(self.of_socket[&token], host, now),
                token => {
                    if let Some(session) = self.sessions.get_mut(&token) {
                        session.ready(ready);
                        self.pump(token, host, now);
                    } else {
                        self.on_service(token, host, now);
                    }
                }
            }
        }
    }

    /// Called after each call to the host: flows have news.
    pub fn on_flows(&mut self, host: &mut Host, now: Time) {
        // Each of these may bring more news.
        loop {
            let news = host.take_changed();
            if news.is_empty() {
                return;
            }
            let (known, new): (BTreeSet<EndId>, BTreeSet<EndId>) =
                news.into_iter().partition(|end| self.of_end.contains_key(end));
            let touched: BTreeSet<u64> = known.iter().filter_map(|end| self.of_end.get(end).copied()).collect();
            for id in touched {
                self.pump(id, host, now);
                self.carry(id, host, now);
            }
            new.into_iter().filter(|end| !end.active).for_each(|end| self.on_stranger(end, host, now));
        }
    }

    /// Called now and then: what takes too long is given up.
    pub fn on_time(&mut self, host: &mut Host, now: Time) {
        if std::mem::take(&mut self.crowded) {
            (0..self.listening.len()).for_each(|listener| self.accept(listener, host, now));
        }
        for id in std::mem::take(&mut self.starved) {
            self.pump(id, host, now);
            self.carry(id, host, now);
        }
        self.connector.on_time(now);
        if let Some(error) = self.connector.lacking() {
            self.shortages.say("threads", || format!("cannot start a resolver thread: {error}"));
        }
        self.on_connected(host, now);
        if now >= self.look_at {
            self.look_at = now.saturating_add(LOOK);
            self.give_up(host, now);
        }
    }

    /// Gives up what takes too long: a look at all that there is.
    fn give_up(&mut self, host: &mut Host, now: Time) {
        let late = |(_, since): &(&EndId, &Time)| now >= since.saturating_add(PATIENCE);
        let late: Vec<EndId> = self.unclaimed.iter().filter(late).map(|s| *s.0).collect();
        late.into_iter().for_each(|end| self.turn_away(end, host, now));
        self.warm.old(now).into_iter().for_each(|flow| host.abort(flow, now));
        self.services.give_up(now.saturating_sub(PATIENCE));
        let late = |c: &&ProxySession| c.is_beginning() && now >= c.since().saturating_add(PATIENCE);
        let late: Vec<u64> = self.sessions.values().filter(late).map(ProxySession::id).collect();
        late.into_iter().for_each(|id| self.remove(id, host, Err(greeting::Status::TimedOut), now));
        let since = now.saturating_sub(PATIENCE);
        let late = self.associations.iter().filter(|(_, association)| association.is_late(since));
        let late: Vec<u64> = late.map(|(id, _)| *id).collect();
        late.into_iter().for_each(|id| self.dissociate(id, greeting::Status::TimedOut, host, now));
    }

    /// Gives everything up: applications and peers are told.
    pub fn close(&mut self, host: &mut Host, now: Time) {
        let all: Vec<u64> = self.sessions.keys().copied().collect();
        all.into_iter().for_each(|id| self.fail(id, host, now));
        let all: Vec<u64> = self.associations.keys().copied().collect();
        all.into_iter().for_each(|id| self.dissociate(id, greeting::Status::Unreachable, host, now));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn accept(&mut self, listener: usize, host: &mut Host, now: Time) {
        while let Some(Listening { socket, entrance }) = self.listening.get(listener) {
            if self.files() >= self.most(host) {
                // They wait where the kernel keeps them, and are tried again.
                self.crowded = true;
                let most = self.most(host);
                return self.shortages.say("conversations", || {
                    format!("{most} connections are open, the limit by open files and memory.budget; further ones wait")
                });
            }
            let tcp = match socket.accept() {
                Ok((tcp, _)) => tcp,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // Who has hung up meanwhile is no shortage.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(e) => {
                    self.crowded = true; // no files, or no memory
                    return self.shortages.say("accept", || format!("cannot accept connections: {e}"));
                }
            };
            if sockets::prepare(&tcp).is_err() {
                continue; // closed at once
            }
            let exit = entrance.exit;
            if let Kind::Application(names) = entrance.kind.clone() {
                self.enter(tcp, &names, host, now);
                continue;
            }
            let front = tcp.local_addr().ok().and_then(|to| Front::new(&entrance.kind, to));
            let Some(front) = front.filter(|_| entrance.admits(&tcp)) else { continue };
            self.counted.entered += 1;
            let id = self.number();
            if let Err(e) = self.readiness.add(&tcp, id, Wants::Changes) {
                self.shortages.say("readiness", || format!("connection closed: {e}"));
                continue;
            }
            self.sessions.insert(id, ProxySession::entered(id, tcp, exit, front, Vec::new(), now));
            self.pump(id, host, now);
        }
    }

    /// An application that knows of the node has connected.
    fn enter(&mut self, tcp: TcpStream, names: &Names, host: &mut Host, now: Time) {
        let id = self.number();
        if self.readiness.add(&tcp, id, Wants::Changes).is_ok() {
            self.services.enter(id, tcp, names, now);
            self.on_service(id, host, now);
        }
    }

    /// An application that knows of the node has something to say.
    fn on_service(&mut self, id: u64, host: &mut Host, now: Time) {
        match self.services.on_ready(id) {
            Step::Nothing => {}
            Step::Connect(tcp, node, service, said) => {
                self.counted.entered += 1;
                let front = Front::Service(service);
                self.sessions.insert(id, ProxySession::entered(id, tcp, node, front, said, now));
                self.pump(id, host, now);
            }
            Step::Take(waits, tcp, names) => {
                if let Some(mut session) = self.sessions.remove(&waits) {
                    // Its socket's news come by the number of the connection, so it takes that.
                    let peer = names.get(session.peer().0 as usize).map_or("", String::as_str);
                    session.say(services::from(peer));
                    session.renumber(id);
                    self.of_end.extend(session.flow().map(|flow| (flow, id)));
                    self.sessions.insert(id, session);
                    self.connected(id, Ok(tcp), host, now);
                }
            }
            Step::Refuse(waiting) => {
                for id in waiting {
                    self.answer(id, Err(greeting::Status::NoSuchName), host, now);
                }
            }
        }
    }

    /// A flow of another node's that no session knows says what it is for.
    fn on_stranger(&mut self, end: EndId, host: &mut Host, now: Time) {
        self.unclaimed.entry(end).or_insert(now);
        match greeting::read(end, host, now) {
            greeting::Read::Unfinished => {}
            greeting::Read::Nonsense | greeting::Read::Answer(_) => self.turn_away(end, host, now),
            greeting::Read::OtherVersion(_) => {
                self.counted.other_version += 1;
                self.leave_to(end, Err(greeting::Status::OtherVersion), host, now);
            }
            greeting::Read::Target(Target::Datagrams) => self.associate_for(end, host, now),
            greeting::Read::Target(target) => self.leave_to(end, Ok(target), host, now),
        }
    }

    fn turn_away(&mut self, end: EndId, host: &mut Host, now: Time) {
        self.unclaimed.remove(&end);
        host.abort(end, now);
    }

    /// A node asks for a connection to a target, or for something that we don't understand.
    fn leave_to(&mut self, end: EndId, wish: Result<Target, greeting::Status>, host: &mut Host, now: Time) {
        self.unclaimed.remove(&end);
        let id = self.number();
        self.of_end.insert(end, id);
        self.sessions.insert(id, ProxySession::leaving(id, end, now));
        if self.files() > self.most(host) {
            return self.answer(id, Err(greeting::Status::Busy), host, now);
        }
        let begun = wish.and_then(|target| match target {
            Target::Address(address) => {
                self.connector.begin(id, end.peer, &address, now);
                Ok(())
            }
            Target::Service(service) => self.services.wait(id, &service),
            // An exit that can take none.
            Target::Datagrams => Err(greeting::Status::NotAllowed),
        });
        if let Err(status) = begun {
            self.answer(id, Err(status), host, now);
        }
        self.on_connected(host, now);
    }

    /// Connections have been made for other nodes, or not.
    fn on_connected(&mut self, host: &mut Host, now: Time) {
        for (id, result) in self.connector.take() {
            self.answer(id, result, host, now);
        }
    }

    fn answer(&mut self, id: u64, result: Result<TcpStream, greeting::Status>, host: &mut Host, now: Time) {
        let ready = result.and_then(|tcp| {
            let prepared = sockets::prepare(&tcp).and_then(|()| self.readiness.add(&tcp, id, Wants::Changes));
            prepared.map(|()| tcp).map_err(|_| greeting::Status::Busy)
        });
        self.connected(id, ready, host, now);
    }

    /// A session has its connection, whose readiness is known by its number; or it has none.
    fn connected(&mut self, id: u64, ready: Result<TcpStream, greeting::Status>, host: &mut Host, now: Time) {
        let (open, connected) = (self.sessions.len(), ready.is_ok());
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if matches!(ready, Err(greeting::Status::Busy)) {
            self.shortages.say("exit", || {
                let (connecting, places) = self.connector.fill();
                format!("target refused: {open} connections open, {connecting} of {places} targets connecting")
            });
        }
        self.counted.left += u64::from(connected);
        self.counted.refused += u64::from(!connected);
        session.connected(ready, host, now);
        self.pump(id, host, now);
    }

    /// Moves what can be moved.
    fn pump(&mut self, id: u64, host: &mut Host, now: Time) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let asks = session.is_asking();
        if asks {
            session.lend(self.warm.take(session.peer(), host, now));
        }
        let outcome = session.pump(&mut self.piece, host, now);
        let spare = session.give_back();
        spare.into_iter().for_each(|flow| self.warm.put(flow));
        if asks && session.flow().is_some() {
            self.warm.refill(session.peer(), host, now);
        }
        self.of_end.extend(session.flow().map(|flow| (flow, id)));
        if session.is_starved() {
            self.starved.insert(id);
        }
        match outcome {
            Outcome::Open => {}
            // Whoever was refused is told properly, too: an answer is no broken connection.
            Outcome::Done | Outcome::Refused => self.remove(id, host, Ok(()), now),
            Outcome::Failed => self.fail(id, host, now),
            Outcome::Associates => self.associate(id, host, now),
        }
    }

    /// An application wants its datagrams to be carried: the exit is asked.
    fn associate(&mut self, id: u64, host: &mut Host, now: Time) {
        let Some(session) = self.sessions.remove(&id) else { return };
        let exit = session.peer();
        let Some(tcp) = session.into_connection() else { return };
        let flow = host.connect(exit, now);
        match Association::entered(tcp, flow, host, now) {
            Ok(made) => self.associated(id, made, host, now),
            Err(error) => {
                host.abort(flow, now);
                self.shortages.say("association", || format!("no socket for datagrams: {error}"));
            }
        }
    }

    /// Another node wants that.
    fn associate_for(&mut self, end: EndId, host: &mut Host, now: Time) {
        if self.allowed.is_empty() || self.files() + 2 > self.most(host) {
            let why = if self.allowed.is_empty() { greeting::Status::NotAllowed } else { greeting::Status::Busy };
            return self.leave_to(end, Err(why), host, now);
        }
        self.unclaimed.remove(&end);
        let id = self.number();
        match Association::leaving(end, host, now) {
            Ok(made) => {
                self.counted.left += 1;
                self.associated(id, made, host, now);
            }
            Err(_) => self.leave_to(end, Err(greeting::Status::Busy), host, now),
        }
    }

    fn associated(&mut self, id: u64, made: Association, host: &mut Host, now: Time) {
        let socket = self.number();
        let known = self.readiness.add(made.sockets().0, socket, Wants::Read);
        self.of_end.insert(made.flow(), id);
        self.of_socket.insert(socket, id);
        self.associations.insert(id, made);
        if known.is_err() {
            return self.dissociate(id, greeting::Status::Busy, host, now);
        }
        self.carry(id, host, now);
    }

    /// Moves what can be moved of an association.
    fn carry(&mut self, id: u64, host: &mut Host, now: Time) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        match association.pump(&self.allowed, &mut self.datagrams, host, now) {
            Ok(()) if association.has_more() => {
                self.starved.insert(id);
            }
            Ok(()) => {}
            Err(Over) => self.dissociate(id, greeting::Status::Unreachable, host, now),
        }
    }

    fn dissociate(&mut self, id: u64, why: greeting::Status, host: &mut Host, now: Time) {
        let Some(association) = self.associations.remove(&id) else { return };
        self.of_socket.retain(|_, of| *of != id);
        self.of_end.remove(&association.flow());
        host.abort(association.flow(), now);
        self.counted.completed += 1;
        association.hang_up(why);
    }

    /// Resets both sides.
    fn fail(&mut self, id: u64, host: &mut Host, now: Time) {
        self.remove(id, host, Err(greeting::Status::Unreachable), now);
    }

    fn remove(&mut self, id: u64, host: &mut Host, end: Result<(), greeting::Status>, now: Time) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if let Some(flow) = session.flow() {
            self.of_end.remove(&flow);
            if end.is_ok() { host.forget(flow, now) } else { host.abort(flow, now) }
        }
        self.connector.forget(id);
        self.services.forget(id);
        let counter = if end.is_ok() { &mut self.counted.completed } else { &mut self.counted.reset };
        *counter += 1;
        session.hang_up(end);
    }
}

/// Connections that this process has files for. The error says how many are missing, and what helps.
pub fn connections() -> io::Result<usize> {
    let files = sockets::limit();
    let least = (RESERVED + LEAST) * 8 / 7;
    if files <= least {
        let cure = "`ulimit -n 4096`, or LimitNOFILE in its unit";
        return Err(io::Error::other(format!(
            "the limit of {files} open files is too low; connections need more than {least}: {cure}"
        )));
    }
    Ok(files - RESERVED - connector::places(files))
}
