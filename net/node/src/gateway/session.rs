//! One proxy session: a TCP connection here, and a flow that carries its data both ways.

use std::io::{ErrorKind, Read as _, Write};
use std::net::TcpStream;

use midpath_core::node::EndId;
use midpath_core::packet::NodeId;
use midpath_core::roles::Ended;
use midpath_core::units::Time;

use super::front::{Front, Next};
use super::greeting::{self, Read, Status};
use super::sockets;
use crate::host::Host;
use crate::poller::Ready;

/// How much is moved at a time.
pub const PIECE: usize = 1 << 16;

/// Where it stands.
#[derive(Debug)]
enum Stage {
    /// The application here says what it wants; what it has said.
    Asking(Front, Vec<u8>),
    /// The exit has been asked.
    Asked(Front),
    /// This node is the exit, and connects.
    Connecting,
    /// Bytes go both ways.
    Open,
    /// Nothing but what is still to be said to the application; then it is over.
    Refused,
}

/// What has come of moving bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Open,
    /// Both directions have ended, and everything has arrived.
    Done,
    /// The target was refused, and whoever asked has been told.
    Refused,
    /// It has broken off.
    Failed,
    /// It is no connection: the application wants its datagrams to be carried.
    Associates,
}

/// A connection of an application, or to a target, and the flow that carries its bytes.
#[derive(Debug)]
pub struct ProxySession {
    id: u64,
    peer: NodeId,
    stage: Stage,
    since: Time,
    tcp: Option<TcpStream>,
    ready: Ready,
    flow: Option<EndId>,
    /// What is to be written to the connection, and how much of it has been.
    pending: Vec<u8>,
    written: usize,
    /// The connection's two directions have ended.
    read_all: bool,
    written_all: bool,
    /// What the flow had no room for; it goes before anything else.
    unsent: Vec<u8>,
    /// A flow to the exit that is open and has said nothing yet.
    spare: Option<Spare>,
    /// The application has said more than where to.
    early: bool,
    /// There was no room for what the application says.
    starved: bool,
    /// The target was refused, and there are no words in which the application could be told.
    unspoken: bool,
    /// The application wants its datagrams to be carried.
    associates: bool,
}

/// A step of moving bytes: nothing more to do, or it has broken off.
struct Broken;

/// A flow to an exit that this node has opened and that has said nothing yet.
#[derive(Debug, Clone, Copy)]
pub struct Spare {
    /// It.
    pub flow: EndId,
    /// When it was opened.
    pub since: Time,
}

impl ProxySession {
    fn new(id: u64, peer: NodeId, stage: Stage, since: Time) -> ProxySession {
        ProxySession {
            id,
            peer,
            stage,
            since,
            tcp: None,
            ready: Ready { readable: true, writable: true, over: false },
            flow: None,
            pending: Vec::new(),
            written: 0,
            read_all: false,
            written_all: false,
            unsent: Vec::new(),
            spare: None,
            early: false,
            starved: false,
            unspoken: false,
            associates: false,
        }
    }

    /// An application has connected here, and has said this already.
    pub fn entered(id: u64, tcp: TcpStream, exit: NodeId, front: Front, said: Vec<u8>, now: Time) -> ProxySession {
        ProxySession { tcp: Some(tcp), ..ProxySession::new(id, exit, Stage::Asking(front, said), now) }
    }

    /// Another node has asked for a connection by this flow.
    pub fn leaving(id: u64, flow: EndId, now: Time) -> ProxySession {
        ProxySession { flow: Some(flow), ..ProxySession::new(id, flow.peer, Stage::Connecting, now) }
    }

    /// Whether it will need a flow.
    pub fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking(..))
    }

    /// It may take this flow when it needs one.
    pub fn lend(&mut self, spare: Option<Spare>) {
        self.spare = spare;
    }

    /// The flow that it has not taken.
    pub fn give_back(&mut self) -> Option<Spare> {
        self.spare.take()
    }

    /// The flow that carries its bytes, once there is one.
    pub fn flow(&self) -> Option<EndId> {
        self.flow
    }

    /// The node at its other end.
    pub fn peer(&self) -> NodeId {
        self.peer
    }

    /// The connection is told this first.
    pub fn say(&mut self, first: Vec<u8>) {
        self.pending = first;
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// It is known by another number from now on.
    pub fn renumber(&mut self, id: u64) {
        self.id = id;
    }

    /// When it began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Whether bytes do not go both ways yet.
    pub fn is_beginning(&self) -> bool {
        !matches!(self.stage, Stage::Open)
    }

    /// Whether the application waits for room, which others may have made.
    pub fn is_starved(&self) -> bool {
        self.starved
    }

    /// The connection can do something that it couldn't before.
    pub fn ready(&mut self, ready: Ready) {
        self.ready.readable |= ready.readable;
        self.ready.writable |= ready.writable;
    }

    /// Reads what the exit says of the connection. `None`: nothing yet.
    fn answer(&mut self, host: &mut Host, now: Time) -> Result<Option<Status>, Broken> {
        let (Stage::Asked(front), Some(flow)) = (&self.stage, self.flow) else { return Ok(None) };
        let status = match greeting::read(flow, host, now) {
            Read::Unfinished => return Ok(None),
            Read::Answer(status) => status,
            Read::OtherVersion(_) => Status::OtherVersion,
            _ => return Err(Broken),
        };
        let answer = front.answer(status);
        self.unspoken = status != Status::Connected && answer.is_empty();
        self.pending.extend(answer);
        self.stage = if status == Status::Connected { Stage::Open } else { Stage::Refused };
        Ok(Some(status))
    }

    /// The connection that another node has asked for is there, or is not: it is told.
    pub fn connected(&mut self, result: Result<TcpStream, Status>, host: &mut Host, now: Time) {
        let status = result.as_ref().err().copied().unwrap_or(Status::Connected);
        self.unsent.extend(greeting::answer(status));
        self.flush(host, now);
        self.stage = Stage::Refused;
        if let Ok(tcp) = result {
            (self.tcp, self.stage) = (Some(tcp), Stage::Open);
        }
    }

    /// Moves what can be moved.
    pub fn pump(&mut self, piece: &mut [u8], host: &mut Host, now: Time) -> Outcome {
        match self.step(piece, host, now) {
            Err(Broken) => Outcome::Failed,
            Ok(()) if self.associates => Outcome::Associates,
            Ok(()) if !self.is_over(host) => Outcome::Open,
            Ok(()) if matches!(self.stage, Stage::Refused) => Outcome::Refused,
            Ok(()) => Outcome::Done,
        }
    }

    fn step(&mut self, piece: &mut [u8], host: &mut Host, now: Time) -> Result<(), Broken> {
        self.check(host)?;
        if let Stage::Asking(..) = self.stage {
            self.listen(host, now)?;
        }
        if self.answer(host, now)?.is_some() {
            self.check(host)?; // it may be that nobody can be told
        }
        match &self.stage {
            Stage::Open => self.send(piece, host, now)?,
            // Who is not told of the connection need not wait for it.
            Stage::Asked(front) if front.is_silent() => self.send(piece, host, now)?,
            Stage::Asked(_) => {
                self.flush(host, now);
                self.is_waited_for()?;
            }
            stage => {
                let refuses = matches!(stage, Stage::Refused) && self.tcp.is_none();
                if self.flush(host, now) && refuses {
                    self.flow.into_iter().for_each(|flow| host.close(flow, now));
                }
            }
        }
        self.receive(host, now)
    }

    /// Who hangs up before there is an answer, and has said nothing to whom it wanted, wants it no more. What has
    /// come is left where it is.
    fn is_waited_for(&mut self) -> Result<(), Broken> {
        let Some(tcp) = self.tcp.as_ref().filter(|_| self.ready.readable && !self.early) else { return Ok(()) };
        match tcp.peek(&mut [0]) {
            Ok(0) => Err(Broken),
            Ok(_) => {
                self.early = true;
                Ok(())
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(_) => Err(Broken),
        }
    }

    /// A flow that has ended otherwise than it should breaks the session.
    fn check(&self, host: &Host) -> Result<(), Broken> {
        let broken = |why: Option<Ended>| why.is_some_and(|why| why != Ended::Complete);
        let sends = self.flow.and_then(|flow| host.outgoing(flow)).and_then(|o| o.ended());
        let receives = self.flow.and_then(|flow| host.incoming(flow)).and_then(|i| i.ended());
        if self.unspoken || broken(sends) || broken(receives) { Err(Broken) } else { Ok(()) }
    }

    /// Listens to what the application wants.
    fn listen(&mut self, host: &mut Host, now: Time) -> Result<(), Broken> {
        loop {
            let Stage::Asking(front, said) = &mut self.stage else { return Ok(()) };
            match front.next(said) {
                Next::Wait => {
                    let tcp = self.tcp.as_mut().ok_or(Broken)?;
                    let mut piece = [0; 4096];
                    match read(tcp, &mut piece, &mut self.ready)? {
                        Some(0) => return Err(Broken),
                        Some(n) => said.extend_from_slice(&piece[..n]),
                        None => return Ok(()),
                    }
                }
                Next::Say(answer, read) => {
                    said.drain(..read);
                    self.pending.extend(answer);
                }
                Next::Open(target, read) => {
                    let early = said.split_off(read);
                    self.early = !early.is_empty();
                    let spare = self.spare.take().map(|spare| spare.flow);
                    self.flow = Some(spare.unwrap_or_else(|| host.connect(self.peer, now)));
                    self.unsent = [greeting::request(&target), early].concat();
                    self.flush(host, now);
                    let asking = std::mem::replace(&mut self.stage, Stage::Refused);
                    if let Stage::Asking(front, _) = asking {
                        self.stage = Stage::Asked(front);
                    }
                }
                Next::Associate(_) => {
                    self.associates = true;
                    return Ok(());
                }
                Next::Refuse(answer) => {
                    self.pending.extend(answer);
                    self.stage = Stage::Refused;
                }
            }
        }
    }

    /// The connection of an application that wants its datagrams to be carried.
    pub fn into_connection(self) -> Option<TcpStream> {
        self.tcp
    }

    /// Hands on what is unsent, as far as there is room; says whether that was all.
    fn flush(&mut self, host: &mut Host, now: Time) -> bool {
        if let Some(flow) = self.flow.filter(|_| !self.unsent.is_empty()) {
            let written = host.write(flow, &self.unsent, now);
            self.unsent.drain(..written);
        }
        self.starved = !self.unsent.is_empty();
        !self.starved
    }

    /// From the connection to the flow.
    fn send(&mut self, piece: &mut [u8], host: &mut Host, now: Time) -> Result<(), Broken> {
        if !self.flush(host, now) {
            return Ok(());
        }
        let (Some(tcp), Some(flow)) = (&mut self.tcp, self.flow) else { return Ok(()) };
        while self.ready.readable && !self.read_all {
            let room = host.room_to_write(flow).min(piece.len());
            self.starved = room == 0;
            if self.starved {
                return Ok(());
            }
            match read(tcp, &mut piece[..room], &mut self.ready)? {
                Some(0) => {
                    self.read_all = true;
                    host.close(flow, now);
                }
                Some(n) => {
                    host.write(flow, &piece[..n], now);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// From the flow to the connection.
    fn receive(&mut self, host: &mut Host, now: Time) -> Result<(), Broken> {
        let Some(tcp) = &mut self.tcp else { return Ok(()) };
        loop {
            if self.written == self.pending.len() {
                self.pending.clear();
                self.written = 0;
                let open = matches!(self.stage, Stage::Open);
                if let Some(flow) = self.flow.filter(|_| open) {
                    host.read(flow, PIECE, &mut self.pending, now);
                }
            }
            if self.pending.is_empty() {
                // An idle connection keeps nothing of what a busy one needs.
                self.pending = Vec::new();
                break;
            }
            if !self.ready.writable {
                break;
            }
            match tcp.write(&self.pending[self.written..]) {
                Ok(n) => self.written += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.ready.writable = false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken),
            }
        }
        let said = self.flow.and_then(|flow| host.incoming(flow)).is_some_and(|incoming| incoming.is_done());
        if said && self.pending.is_empty() && !self.written_all {
            self.written_all = true;
            // Of a connection that the other side has reset meanwhile the next read says so.
            let _ = tcp.shutdown(std::net::Shutdown::Write);
        }
        Ok(())
    }

    fn is_over(&self, host: &Host) -> bool {
        let sent = |flow: EndId| host.outgoing(flow).is_none_or(|o| o.ended() == Some(Ended::Complete));
        match self.stage {
            // The application has been told; of the exit, the other node has.
            Stage::Refused => self.pending.is_empty() && (self.tcp.is_some() || self.flow.is_none_or(sent)),
            Stage::Open => self.read_all && self.written_all && self.flow.is_some_and(sent),
            _ => false,
        }
    }

    /// Closes the connection: properly if all was said, else by a reset. Who waits for an answer is told why there
    /// will be no other.
    pub fn hang_up(self, end: Result<(), Status>) {
        let Some(mut tcp) = self.tcp else { return };
        let answer = match (&self.stage, end) {
            (Stage::Asked(front), Err(status)) => front.answer(status),
            _ => Vec::new(),
        };
        // It fits into an empty buffer; if not, the reset says enough.
        let answered = !answer.is_empty() && tcp.write_all(&answer).is_ok();
        sockets::hang_up(tcp, end.is_ok() || answered);
    }
}

/// Reads what there is; `None` if there is nothing at the moment.
fn read(tcp: &mut TcpStream, piece: &mut [u8], ready: &mut Ready) -> Result<Option<usize>, Broken> {
    loop {
        match tcp.read(piece) {
            Ok(n) => return Ok(Some(n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                ready.readable = false;
                return Ok(None);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Broken),
        }
    }
}
