//! Applications that know of the node: they reach services at other nodes by name, and offer some.
//!
//! They connect to an entrance, say one line, and are answered by one:
//!
//! | line | answer | then |
//! |---|---|---|
//! | `connect NODE SERVICE` | `ok`, or `refused` and why | bytes go both ways |
//! | `listen SERVICE` | `ok`, or `refused` and why | a line with a number for each connection that comes, until this
//! one is closed |
//! | `take NUMBER` | `from` and the node's name, or `refused` and why | bytes go both ways |
//!
//! A connection that nobody takes for half a minute is given up, as one to a server is.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use midpath_core::packet::NodeId;
use midpath_core::units::Time;

use super::greeting::Status;
use super::sockets::hang_up;

/// A line is no longer, and neither is a service's name. Ours.
const LONGEST_LINE: usize = 512;
const LONGEST_NAME: usize = 64;
/// Applications that have not said their line, services, and connections that wait for one to take
/// them. Ours.
const MOST: usize = 1024;

/// The names of all nodes, by their numbers.
pub type Names = Arc<Vec<String>>;

/// What an application wants, in one line.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// A connection to a service.
    Connect(NodeId, String),
    /// To offer a service.
    Listen(String),
    /// A connection that waits for it.
    Take(u64),
}

/// Reads the line that these bytes begin with, and its length. `None`: more has to come; the error is
/// what the application is told.
pub fn read_line(said: &[u8], names: &[String]) -> Option<Result<(Wish, usize), &'static str>> {
    let Some(end) = said.iter().position(|b| *b == b'\n') else {
        return (said.len() > LONGEST_LINE).then_some(Err("the line is too long"));
    };
    let words: Vec<&str> = match std::str::from_utf8(&said[..end.min(LONGEST_LINE)]) {
        Ok(line) => line.trim_end_matches('\r').split(' ').collect(),
        Err(_) => return Some(Err("the line is not UTF-8")),
    };
    let named = |name: &str| (1..=LONGEST_NAME).contains(&name.len());
    let wish = match words[..] {
        ["connect", node, service] if named(service) => match names.iter().position(|name| name == node) {
            Some(node) => Ok(Wish::Connect(NodeId(node as u32), service.to_owned())),
            None => Err("no such node"),
        },
        ["listen", service] if named(service) => Ok(Wish::Listen(service.to_owned())),
        ["take", number] => number.parse().map(Wish::Take).map_err(|_| "not a number"),
        _ => Err("lines are: connect NODE SERVICE, listen SERVICE, take NUMBER"),
    };
    Some(wish.map(|wish| (wish, end + 1)))
}

/// What an application is told when the other node has answered, or not.
pub fn answer(status: Status) -> Vec<u8> {
    let why = match status {
        Status::Connected => return b"ok\n".to_vec(),
        Status::NotAllowed => "not allowed",
        Status::NoSuchName => "no such service",
        Status::TimedOut => "no answer",
        Status::Busy => "overloaded",
        Status::OtherVersion => "unsupported version",
        Status::Unreachable | Status::Refused | Status::NoNetwork | Status::NoHost => "unreachable",
    };
    refusal(why)
}

fn refusal(why: &str) -> Vec<u8> {
    format!("refused {why}\n").into_bytes()
}

/// What the first line of a node that takes a connection is.
pub fn from(node: &str) -> Vec<u8> {
    format!("from {node}\n").into_bytes()
}

/// An application that has not said its line.
struct Asking {
    tcp: TcpStream,
    said: Vec<u8>,
    names: Names,
    since: Time,
}

/// One that offers a service.
struct Offer {
    tcp: TcpStream,
    service: String,
    /// Conversations that nobody has taken.
    waiting: BTreeSet<u64>,
    /// Numbers that it has not been told.
    unsaid: Vec<u8>,
}

/// What is to be done by whoever has the conversations.
#[derive(Debug)]
pub enum Step {
    /// Nothing.
    Nothing,
    /// Open a session with this node's service; the application has said these bytes already.
    Connect(TcpStream, NodeId, String, Vec<u8>),
    /// The session that waits goes on with this connection, which is told where it is from.
    Take(u64, TcpStream, Names),
    /// Nobody takes these conversations any more.
    Refuse(BTreeSet<u64>),
}

/// All of them, by their connections' tokens.
#[derive(Default)]
pub struct Services {
    asking: BTreeMap<u64, Asking>,
    offers: BTreeMap<u64, Offer>,
    by_name: BTreeMap<String, u64>,
}

impl Services {
    /// How many connections they have, and may have.
    pub fn fill(&self) -> (usize, usize) {
        (self.asking.len() + self.offers.len(), MOST)
    }

    /// An application has connected.
    pub fn enter(&mut self, id: u64, tcp: TcpStream, names: &Names, now: Time) {
        if self.fill().0 < MOST {
            self.asking.insert(id, Asking { tcp, said: Vec::new(), names: names.clone(), since: now });
        }
    }

    /// A connection of theirs can do something.
    pub fn on_ready(&mut self, id: u64) -> Step {
        if self.offers.contains_key(&id) {
            return self.on_offer(id);
        }
        let Some(asking) = self.asking.get_mut(&id) else { return Step::Nothing };
        loop {
            if let Some(read) = read_line(&asking.said, &asking.names) {
                return self.on_line(id, read);
            }
            let mut piece = [0; LONGEST_LINE];
            match asking.tcp.read(&mut piece) {
                Ok(n) if n > 0 => asking.said.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Step::Nothing,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                _ => {
                    self.asking.remove(&id);
                    return Step::Nothing;
                }
            }
        }
    }

    fn on_line(&mut self, id: u64, read: Result<(Wish, usize), &'static str>) -> Step {
        let Some(Asking { tcp, mut said, names, .. }) = self.asking.remove(&id) else { return Step::Nothing };
        let why = match read {
            Ok((Wish::Connect(node, service), read)) => {
                said.drain(..read);
                return Step::Connect(tcp, node, service, said);
            }
            Ok((Wish::Listen(service), _)) if self.by_name.contains_key(&service) => "the service exists",
            Ok((Wish::Listen(service), _)) => {
                self.by_name.insert(service.clone(), id);
                let offer = Offer { tcp, service, waiting: BTreeSet::new(), unsaid: b"ok\n".to_vec() };
                self.offers.insert(id, offer);
                return self.on_offer(id);
            }
            Ok((Wish::Take(session), _)) => {
                if self.offers.values_mut().any(|offer| offer.waiting.remove(&session)) {
                    return Step::Take(session, tcp, names);
                }
                "no longer waiting"
            }
            Err(why) => why,
        };
        refuse(tcp, why);
        Step::Nothing
    }

    /// Tells a service of what waits, and finds out whether it is still there.
    fn on_offer(&mut self, id: u64) -> Step {
        let Some(offer) = self.offers.get_mut(&id) else { return Step::Nothing };
        if offer.is_there() {
            return Step::Nothing;
        }
        let gone = self.offers.remove(&id);
        gone.iter().for_each(|offer| {
            self.by_name.remove(&offer.service);
        });
        gone.map_or(Step::Nothing, |offer| Step::Refuse(offer.waiting))
    }

    /// Another node's session is for this service.
    pub fn wait(&mut self, session: u64, service: &str) -> Result<(), Status> {
        let offer = self.by_name.get(service).and_then(|id| self.offers.get_mut(id)).ok_or(Status::NoSuchName)?;
        if offer.waiting.len() >= MOST {
            return Err(Status::Busy);
        }
        offer.waiting.insert(session);
        offer.unsaid.extend(format!("{session}\n").into_bytes());
        // If it is gone its socket becomes readable, and that is dealt with there.
        let _ = offer.tell();
        Ok(())
    }

    /// Nobody waits for this one any more.
    pub fn forget(&mut self, session: u64) {
        self.offers.values_mut().for_each(|offer| {
            offer.waiting.remove(&session);
        });
    }

    /// Who has said nothing by `since` is hung up on.
    pub fn give_up(&mut self, since: Time) {
        self.asking.retain(|_, asking| asking.since > since);
    }
}

impl Offer {
    /// Says what is unsaid, as far as there is room.
    fn tell(&mut self) -> std::io::Result<()> {
        while !self.unsaid.is_empty() {
            match self.tcp.write(&self.unsaid) {
                Ok(n) => drop(self.unsaid.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether the application is still there; what it says is not listened to.
    fn is_there(&mut self) -> bool {
        let mut piece = [0; LONGEST_LINE];
        loop {
            match self.tcp.read(&mut piece) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return self.tell().is_ok(),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// Says why not, and hangs up.
fn refuse(mut tcp: TcpStream, why: &str) {
    // A line fits into an empty buffer; if not, the reset says enough.
    let said = tcp.write_all(&refusal(why)).is_ok();
    hang_up(tcp, said);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_once_they_are_whole() {
        let names: Vec<String> = ["a", "b"].map(String::from).to_vec();
        let wishes = [
            ("connect b echo\n", Wish::Connect(NodeId(1), "echo".into())),
            ("listen echo\r\n", Wish::Listen("echo".into())),
            ("take 77\n", Wish::Take(77)),
        ];
        for (line, wish) in wishes {
            for cut in 0..line.len() {
                assert_eq!(read_line(&line.as_bytes()[..cut], &names), None);
            }
            let more = format!("{line}and more");
            assert_eq!(read_line(more.as_bytes(), &names), Some(Ok((wish, line.len()))));
        }
        let long = "x".repeat(LONGEST_LINE + 1);
        let wrong = ["connect c echo\n", "connect b \n", "listen\n", "take x\n", "\n", "listen  \n", &long];
        for line in wrong {
            assert!(matches!(read_line(line.as_bytes(), &names), Some(Err(_))), "{line:?}");
        }
        assert!(matches!(read_line(b"listen \xff\n", &names), Some(Err(_))));
    }
}
