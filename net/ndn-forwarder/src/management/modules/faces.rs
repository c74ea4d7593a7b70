//! `faces`.

use crate::faces::{FaceId, MANAGEMENT, Persistency};
use crate::forwarder::Forwarder;
use crate::management::command::Command;
use crate::management::{Action, Answer, MOST_WAITING, Parameters, Response, Waiting, parse_uri, uri};

fn persistency(number: u64) -> Option<Persistency> {
    [Persistency::Persistent, Persistency::OnDemand, Persistency::Permanent].into_iter().find(|p| *p as u64 == number)
}

impl Forwarder {
    /// What there is to say of a face.
    pub(in crate::management) fn face_parameters(&self, face: FaceId) -> Parameters {
        let Some(state) = self.faces.get(face) else { return Parameters::default() };
        Parameters {
            face: Some(face.0),
            uri: Some(state.spec.remote.clone()),
            local_uri: Some(state.spec.local.clone()),
            mtu: Some(state.spec.mtu as u64),
            flags: Some(0),
            persistency: Some(state.spec.persistency as u64),
            ..Parameters::default()
        }
    }

    pub(super) fn create_face(&mut self, parameters: &Parameters, command: &Command<'_>) -> Answer {
        let error = |code, why: &str| Answer::Response(Response::error(code, why));
        let Some(said) = &parameters.uri else { return error(400, "Uri is missing") };
        let Some((reach, remote)) = parse_uri(said) else {
            return error(406, "a Uri is udp4, udp6, tcp4 or tcp6 with an address and a port");
        };
        let Some(persistency) = persistency(parameters.persistency.unwrap_or(0)) else {
            return error(406, "no such FacePersistency");
        };
        if persistency == Persistency::OnDemand {
            return error(406, "on-demand faces are created by the remote end");
        }
        let canonical = uri(reach, remote);
        let known = self.faces.sorted().into_iter().find(|(_, face)| face.spec.remote == canonical);
        if let Some((face, _)) = known {
            let body = Box::new(self.face_parameters(face));
            return Answer::Response(Response { code: 409, text: "the face exists".to_owned(), body });
        }
        if self.management.waiting.len() >= MOST_WAITING || self.faces.len() >= self.settings.faces {
            return error(503, "too many faces");
        }
        self.management.requests += 1;
        let request = self.management.requests;
        self.management.waiting.push(Waiting { request, name: command.name.bytes().to_vec() });
        self.management.actions.push(Action::Make { request, reach, remote, persistency, mtu: parameters.mtu });
        Answer::Later
    }

    /// Nothing of a face can be changed; who asks for what is so already is told that it is.
    pub(super) fn update_face(&mut self, from: FaceId, parameters: &Parameters) -> Response {
        let face = parameters.face.filter(|face| *face != 0).map_or(from, FaceId);
        let Some(state) = self.faces.get(face) else { return Response::error(404, "no such face") };
        let same = parameters.persistency.is_none_or(|p| p == state.spec.persistency as u64);
        let flags = parameters.flags.unwrap_or(0) & parameters.mask.unwrap_or(0);
        if !same || flags != 0 {
            return Response::error(409, "faces cannot be changed");
        }
        Response::ok(self.face_parameters(face))
    }

    pub(super) fn destroy_face(&mut self, parameters: &Parameters) -> Response {
        let Some(face) = parameters.face.map(FaceId) else {
            return Response::error(400, "FaceId is missing");
        };
        if face == MANAGEMENT {
            return Response::error(403, "the management face cannot be destroyed");
        }
        // NFD: a face that is not there is as gone as can be.
        if self.faces.get(face).is_some() {
            self.management.actions.push(Action::Close(face));
        }
        Response::ok(Parameters { face: Some(face.0), ..Parameters::default() })
    }
}
