//! Management: what applications ask below /localhost/nfd, and /localhop/nfd where that is allowed.
//!
//! Commands and datasets are NFD's, as python-ndn and ndnd's tools send and read them. Interests for
//! management are pending in the PIT as all are, and its answers are Data like all others.

mod command;
mod dataset;
mod modules;
mod parameters;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::SocketAddr;

use midpath_core::units::Time;
use midpath_ndn::{InterestView, NameView, View};

use self::command::Command;
#[cfg(test)]
pub(crate) use self::dataset::data as digest_data;
pub use self::parameters::{Parameters, Response};
use crate::faces::{FaceId, MANAGEMENT, Persistency};
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::name;

/// Who may have something done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Who {
    /// Nobody.
    Nobody,
    /// Applications on this machine.
    #[default]
    Local,
    /// Neighbours, too.
    Anyone,
}

/// Who may have what done. Neighbours can register prefixes only, by /localhop/nfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Register and unregister prefixes.
    pub register: Who,
    /// Make and end faces, and all that is left.
    pub manage: Who,
}

/// How a face reaches its other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
}

/// The address that a face's URI says: `udp4://192.0.2.1:6363`.
pub fn parse_uri(uri: &str) -> Option<(Reach, SocketAddr)> {
    let (scheme, address) = uri.split_once("://")?;
    // NDN's port unless said.
    let address: SocketAddr = address.parse().ok().or_else(|| format!("{address}:6363").parse().ok())?;
    let (reach, version) = match scheme {
        "udp" | "udp4" | "udp6" => (Reach::Udp, &scheme[3..]),
        "tcp" | "tcp4" | "tcp6" => (Reach::Tcp, &scheme[3..]),
        _ => return None,
    };
    let fits = version.is_empty() || (version == "4") == address.is_ipv4();
    (fits && address.port() != 0).then_some((reach, address))
}

/// The URI of a face to this address.
pub fn uri(reach: Reach, address: SocketAddr) -> String {
    let scheme = if reach == Reach::Udp { "udp" } else { "tcp" };
    format!("{scheme}{}://{address}", if address.is_ipv4() { 4 } else { 6 })
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make a face; [`Forwarder::face_made`] says what became of it.
    Make {
        /// The number to say it by.
        request: u64,
        /// How.
        reach: Reach,
        /// Where to.
        remote: SocketAddr,
        /// What becomes of it when it fails.
        persistency: Persistency,
        /// The longest frame, if it was said.
        mtu: Option<u64>,
    },
    /// Close a face; [`Forwarder::remove_face`] says that it is gone.
    Close(FaceId),
}

/// A command that waits for the driver.
#[derive(Debug)]
struct Waiting {
    request: u64,
    name: Vec<u8>,
}

/// Commands that wait at once. Ours: each lasts seconds at most.
const MOST_WAITING: usize = 64;
/// Datasets whose segments are kept for who is fetching them. Ours.
const MOST_DATASETS: usize = 8;

/// A dataset that was made: its name with its version, and its bytes.
#[derive(Debug)]
struct Dataset {
    name: Vec<u8>,
    content: Vec<u8>,
}

/// Management's own state.
#[derive(Debug, Default)]
pub struct Management {
    actions: Vec<Action>,
    waiting: Vec<Waiting>,
    requests: u64,
    datasets: VecDeque<Dataset>,
    version: u64,
}

impl Management {
    /// Nothing yet.
    pub fn new() -> Management {
        Management::default()
    }

    /// What the driver is to do.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

/// The two names that management is below.
const ROOTS: [[&str; 2]; 2] = [["localhost", "nfd"], ["localhop", "nfd"]];

/// What answers an Interest.
enum Answer {
    /// A command's.
    Response(Response),
    /// A dataset's, whole.
    Dataset(Vec<u8>),
    /// None yet: the driver has something to do.
    Later,
    /// None at all.
    Nothing,
}

impl Forwarder {
    /// Interests below management's names go to it.
    pub(crate) fn route_management(&mut self) {
        for root in ROOTS {
            self.fib.set(&name::of(&root), vec![NextHop::new(MANAGEMENT, 0)]);
        }
    }

    /// Whether a prefix is management's own.
    fn is_reserved(prefix: &[u8]) -> bool {
        ROOTS.iter().any(|root| prefix.starts_with(&name::of(root)))
    }

    /// Answers what has come for management.
    pub(crate) fn answer_commands(&mut self, now: Time) {
        while let Some((from, wire)) = self.asked() {
            if let Ok(View::Interest(interest)) = View::of(&wire) {
                self.answer(now, from, &interest);
            }
        }
    }

    fn answer(&mut self, now: Time, from: FaceId, interest: &InterestView<'_>) {
        if self.answer_segment(now, interest.name) {
            return;
        }
        let Some(command) = Command::of(interest) else { return };
        match self.carry_out(now, from, &command) {
            Answer::Response(response) => self.respond(now, interest.name.bytes(), &response),
            Answer::Dataset(content) => self.publish(now, interest.name, content),
            Answer::Later | Answer::Nothing => {}
        }
    }

    /// Sends the answer to a command.
    fn respond(&mut self, now: Time, name: &[u8], response: &Response) {
        let wire = dataset::data(name, None, &response.encode());
        self.answer_with(now, &wire);
    }

    fn answer_with(&mut self, now: Time, wire: &[u8]) {
        if let Ok(View::Data(data)) = View::of(wire) {
            self.on_data(now, MANAGEMENT, &data, None);
        }
    }

    /// Sends a dataset's first segment, and keeps the others.
    fn publish(&mut self, now: Time, asked: NameView<'_>, content: Vec<u8>) {
        // A version rises, also over restarts.
        let version = (self.settings.epoch_ms + now.as_ns() / 1_000_000).max(self.management.version + 1);
        self.management.version = version;
        let mut name = asked.bytes().to_vec();
        name::push_number(&mut name, name::VERSION, version);
        if self.management.datasets.len() >= MOST_DATASETS {
            self.management.datasets.pop_front();
        }
        let wire = dataset::segment(&name, &content, 0);
        self.management.datasets.push_back(Dataset { name, content });
        wire.iter().for_each(|wire| self.answer_with(now, wire));
    }

    /// Answers an Interest in a segment of a dataset that was made; whether it is one.
    fn answer_segment(&mut self, now: Time, asked: NameView<'_>) -> bool {
        let (parent, last) = (asked.parent(), asked.last());
        let Some(last) = last.filter(|last| last.kind == name::SEGMENT) else { return false };
        let Some(set) = self.management.datasets.iter().find(|set| set.name == parent.bytes()) else { return false };
        let number = last.number().unwrap_or(u64::MAX);
        let wire = dataset::segment(&set.name, &set.content, number);
        wire.iter().for_each(|wire| self.answer_with(now, wire));
        true
    }

    /// Called when the driver has made a face, or could not: what to say then is `error`.
    pub fn face_made(&mut self, now: Time, request: u64, made: Result<FaceId, &str>) {
        let place = self.management.waiting.iter().position(|waiting| waiting.request == request);
        let Some(Waiting { name, .. }) = place.map(|place| self.management.waiting.swap_remove(place)) else { return };
        let response = match made {
            Ok(face) => Response::ok(self.face_parameters(face)),
            Err(why) => Response::error(504, why),
        };
        self.respond(now, &name, &response);
    }
}
