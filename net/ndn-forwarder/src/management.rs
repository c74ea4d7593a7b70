//! Management: commands and datasets under /localhost/nfd, and /localhop/nfd if allowed.
//!
//! Commands and datasets are NFD's, as python-ndn and ndnd's tools send and read them. Interests for
//! management are pending in the PIT as all are, and its answers are Data like all others.

mod command;
mod dataset;
mod modules;
mod parameters;
#[cfg(test)]
mod tests;

use midpath_core::units::Time;
use midpath_ndn::{Header, InterestView, NameView, View};

use self::command::Command;
#[cfg(test)]
pub(crate) use self::dataset::data as digest_data;
pub use self::parameters::{Parameters, Response};
pub use crate::control::{Action, Management, Policy, Reach, Who, parse_uri, uri};
use crate::control::{Dataset, Waiting};
use crate::faces::{FaceId, MANAGEMENT};
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::name;

/// Commands that wait at once. Ours: each lasts seconds at most.
const MOST_WAITING: usize = 64;
/// Datasets whose segments are kept for who is fetching them. Ours.
const MOST_DATASETS: usize = 8;

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
            self.on_data(now, MANAGEMENT, &data, &Header::default());
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
