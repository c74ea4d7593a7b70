//! `rib`, `fib` and `strategy-choice`.

use midpath_core::units::Time;

use crate::faces::FaceId;
use crate::forwarder::Forwarder;
use crate::management::{Parameters, Response};
use crate::rib::{CAPTURE, CHILD_INHERIT, ORIGIN_APP, ORIGIN_FIB, Route};
use crate::strategy::Strategy;

impl Forwarder {
    /// Sets a route of the configuration.
    pub fn set_route(&mut self, prefix: &[u8], route: Route) -> bool {
        self.rib.set(prefix, route, &mut self.fib)
    }

    /// Sets the strategy of a prefix; whether there is room.
    pub fn set_strategy_of(&mut self, prefix: &[u8], strategy: Strategy) -> bool {
        if self.strategies.get(prefix).is_none() && self.strategies.len() >= self.settings.routes {
            return false;
        }
        self.strategies.set(prefix, strategy);
        true
    }

    /// The prefix and the face that a command is about: the face that it came from unless it says
    /// another.
    fn prefix_and_face(&self, from: FaceId, parameters: &Parameters) -> Result<(Vec<u8>, FaceId), Response> {
        let prefix = parameters.name.clone().ok_or_else(|| Response::error(400, "Name is missing"))?;
        if Forwarder::is_reserved(&prefix) {
            return Err(Response::error(403, "this prefix belongs to management"));
        }
        let face = parameters.face.filter(|face| *face != 0).map_or(from, FaceId);
        if face != from && !self.faces.is_local(from) {
            return Err(Response::error(403, "neighbours may register prefixes for themselves only"));
        }
        match self.faces.get(face) {
            Some(_) => Ok((prefix, face)),
            None => Err(Response::error(410, "no such face")),
        }
    }

    pub(super) fn register(&mut self, now: Time, from: FaceId, parameters: &Parameters) -> Response {
        let (prefix, face) = match self.prefix_and_face(from, parameters) {
            Ok(found) => found,
            Err(response) => return response,
        };
        let route = Route {
            face,
            origin: parameters.origin.unwrap_or(ORIGIN_APP),
            cost: parameters.cost.unwrap_or(0),
            flags: parameters.flags.unwrap_or(CHILD_INHERIT) & (CHILD_INHERIT | CAPTURE),
            until: parameters.expiration.map(|ms| now.saturating_add(crate::millis(ms))),
        };
        if route.origin == ORIGIN_FIB {
            return Response::error(400, "this Origin is not for applications");
        }
        if !self.rib.set(&prefix, route, &mut self.fib) {
            return Response::error(503, "too many routes");
        }
        Response::ok(Parameters {
            name: Some(prefix),
            face: Some(face.0),
            origin: Some(route.origin),
            cost: Some(route.cost),
            flags: Some(route.flags),
            expiration: parameters.expiration,
            ..Parameters::default()
        })
    }

    pub(super) fn unregister(&mut self, from: FaceId, parameters: &Parameters) -> Response {
        let (prefix, face) = match self.prefix_and_face(from, parameters) {
            Ok(found) => found,
            // A face that is gone has no routes left.
            Err(response) if response.code == 410 => return Response::ok(parameters.clone()),
            Err(response) => return response,
        };
        let origin = parameters.origin.unwrap_or(ORIGIN_APP);
        self.rib.unset(&prefix, face, origin, &mut self.fib);
        Response::ok(Parameters {
            name: Some(prefix),
            face: Some(face.0),
            origin: Some(origin),
            ..Parameters::default()
        })
    }

    pub(super) fn add_next_hop(&mut self, from: FaceId, parameters: &Parameters) -> Response {
        let (prefix, face) = match self.prefix_and_face(from, parameters) {
            Ok(found) => found,
            Err(response) => return response,
        };
        let cost = parameters.cost.unwrap_or(0);
        let route = Route { face, origin: ORIGIN_FIB, cost, flags: 0, until: None };
        if !self.rib.set(&prefix, route, &mut self.fib) {
            return Response::error(503, "too many routes");
        }
        let (name, face, cost) = (Some(prefix), Some(face.0), Some(cost));
        Response::ok(Parameters { name, face, cost, ..Parameters::default() })
    }

    pub(super) fn remove_next_hop(&mut self, from: FaceId, parameters: &Parameters) -> Response {
        let (prefix, face) = match self.prefix_and_face(from, parameters) {
            Ok(found) => found,
            Err(response) => return response,
        };
        self.rib.unset(&prefix, face, ORIGIN_FIB, &mut self.fib);
        let (name, face) = (Some(prefix), Some(face.0));
        Response::ok(Parameters { name, face, ..Parameters::default() })
    }

    pub(super) fn set_strategy(&mut self, parameters: &Parameters) -> Response {
        let (Some(prefix), Some(name)) = (&parameters.name, &parameters.strategy) else {
            return Response::error(400, "Name and Strategy are required");
        };
        let Some(strategy) = Strategy::of(name) else {
            return Response::error(404, "the strategies are best-route and multicast");
        };
        if !self.set_strategy_of(prefix, strategy) {
            return Response::error(503, "too many strategies");
        }
        let (name, strategy) = (Some(prefix.clone()), Some(strategy.name()));
        Response::ok(Parameters { name, strategy, ..Parameters::default() })
    }

    pub(super) fn unset_strategy(&mut self, parameters: &Parameters) -> Response {
        match &parameters.name {
            None => Response::error(400, "Name is missing"),
            Some(prefix) if prefix.is_empty() => Response::error(400, "the strategy of / cannot be unset"),
            Some(prefix) => {
                self.strategies.remove(prefix);
                Response::ok(Parameters { name: Some(prefix.clone()), ..Parameters::default() })
            }
        }
    }
}
