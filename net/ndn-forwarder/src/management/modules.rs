//! What management does, module by module.

mod faces;
mod routes;
mod status;

use midpath_core::units::Time;

use super::command::{Command, Signed};
use super::parameters::{Parameters, Response};
use super::{Answer, Who};
use crate::faces::FaceId;
use crate::forwarder::Forwarder;

/// What a name of management's is for.
enum Purpose {
    /// Reading this.
    Dataset(Vec<u8>),
    /// Changing something.
    Change,
    /// Nothing.
    None,
}

impl Forwarder {
    /// Does what a command says, if whoever sends it may.
    pub(super) fn carry_out(&mut self, now: Time, from: FaceId, command: &Command<'_>) -> Answer {
        let policy = self.settings.policy;
        let registers = command.module == b"rib" && [&b"register"[..], b"unregister"].contains(&command.verb);
        // Neighbours may register prefixes where the configuration says so, and nothing else.
        if !self.faces.is_local(from) {
            return match registers && policy.register == Who::Anyone {
                true => self.change(now, from, command),
                false => Answer::Response(Response::error(403, "not permitted to neighbours")),
            };
        }
        match self.purpose(now, command) {
            Purpose::Dataset(content) => Answer::Dataset(content),
            Purpose::None => Answer::Nothing,
            Purpose::Change => {
                let who = if command.module == b"rib" { policy.register } else { policy.manage };
                match who {
                    Who::Nobody => Answer::Response(Response::error(403, "not permitted by the configuration")),
                    Who::Local | Who::Anyone => self.change(now, from, command),
                }
            }
        }
    }

    /// A signed command with its parameters.
    fn change(&mut self, now: Time, from: FaceId, command: &Command<'_>) -> Answer {
        let error = |code, why: &str| Answer::Response(Response::error(code, why));
        match command.signed {
            Signed::Whole => {}
            Signed::Broken => return error(403, "the signature does not match the command"),
            Signed::No => return error(403, "commands must be signed"),
        }
        let parameters = match command.parameters.map(Parameters::decode) {
            Some(Ok(parameters)) => parameters,
            Some(Err(why)) => return error(400, &format!("the parameters: {why}")),
            None => return error(400, "parameters are missing"),
        };
        let response = match (command.module, command.verb) {
            (b"faces", b"create") => return self.create_face(&parameters, command),
            (b"faces", b"update") => self.update_face(from, &parameters),
            (b"faces", b"destroy") => self.destroy_face(&parameters),
            (b"rib", b"register") => self.register(now, from, &parameters),
            (b"rib", b"unregister") => self.unregister(from, &parameters),
            (b"fib", b"add-nexthop") => self.add_next_hop(from, &parameters),
            (b"fib", b"remove-nexthop") => self.remove_next_hop(from, &parameters),
            (b"strategy-choice", b"set") => self.set_strategy(&parameters),
            (b"strategy-choice", b"unset") => self.unset_strategy(&parameters),
            _ => Response::error(501, "no such command"),
        };
        Answer::Response(response)
    }

    /// What a name is for.
    fn purpose(&self, now: Time, command: &Command<'_>) -> Purpose {
        let content = match (command.module, command.verb) {
            (b"status", b"general") => self.general_status(now),
            (b"faces", b"list") => self.face_list(None),
            (b"faces", b"query") => self.face_list(command.parameters),
            (b"fib", b"list") => self.fib_list(),
            (b"rib", b"list") => self.rib_list(now),
            (b"strategy-choice", b"list") => self.strategy_list(),
            (b"cs", b"info") => self.store_info(),
            (b"status" | b"faces" | b"fib" | b"rib" | b"strategy-choice" | b"cs", _) => return Purpose::Change,
            _ => return Purpose::None,
        };
        Purpose::Dataset(content)
    }
}
