//! The control socket: `status` and `down`.

use std::collections::BTreeMap;

use midpath_core::units::Time;
use midpath_ndn_forwarder::FaceId;
use midpath_ndn_forwarder::faces::{Face, Traffic};
use midpath_node::event_loop::resident;
use serde_json::{Value, json};

use super::{EventLoop, Link};

/// Faces that `status` tells of, the first ones.
const FACES: usize = 1000;

impl EventLoop {
    pub(super) fn take_commands(&mut self, now: Time) {
        for (asking, line) in self.control.as_mut().map(|control| control.take(now)).unwrap_or_default() {
            let answer = self.command(&line, now);
            if let Some(control) = &mut self.control {
                control.answer(asking, &answer, now);
            }
        }
    }

    fn command(&mut self, line: &[u8], now: Time) -> Value {
        tracing::debug!("command: {}", line.escape_ascii());
        match line {
            b"status" => self.status(now),
            b"configuration" => json!(self.running),
            b"down" => {
                self.stopped = true;
                json!({"stopped": true})
            }
            _ => json!({"error": "unknown command; commands are status, configuration and down"}),
        }
    }

    /// What there is to say of the forwarder.
    fn status(&self, now: Time) -> Value {
        let forwarder = &self.forwarder;
        let faces = forwarder.faces().sorted();
        let shown: Vec<Value> = faces.iter().take(FACES).map(|(id, face)| self.describe(*id, face)).collect();
        let [received, sent] = forwarder.faces().traffic();
        let table = |of: fn(&(&'static str, usize, usize)) -> usize| -> BTreeMap<&str, usize> {
            let mut all: BTreeMap<&str, usize> = forwarder.tables().iter().map(|t| (t.0, of(t))).collect();
            all.insert("output_bytes", of(&("", self.waiting, self.output)));
            all
        };
        json!({
            "up_s": now.as_secs_f64(),
            "faces": shown,
            "links": self.links_of(now),
            "flows": self.flows(),
            "received": traffic(&received),
            "sent": traffic(&sent),
            "packets": forwarder.counters().all().into_iter().collect::<BTreeMap<_, _>>(),
            "store": forwarder.stored().into_iter().collect::<BTreeMap<_, _>>(),
            "tables": {"fill": table(|t| t.1), "bound": table(|t| t.2)},
            "fib_entries": forwarder.fib_len(),
            "sockets": {
                "refused": self.counted.refused, "dropped": self.counted.dropped, "unsent": self.counted.unsent,
                "failed": self.counted.failed, "turns": self.counted.turns,
            },
            "closed": self.reasons,
            "resident_bytes": resident(),
        })
    }

    /// Faces whose links' rates are known: whether MIRCC runs there, and what it stamps.
    fn links_of(&self, now: Time) -> Vec<Value> {
        let described = self.forwarder.lines().map(|(face, line)| {
            let stamps = line.link.stamps();
            json!({
                "face": face.0, "rate_bps": line.rated.out.0, "back_bps": line.rated.back.0,
                "speaks_mircc": line.speaks(now), "primary_rate_bps": stamps.primary,
                "secondary_rate_bps": stamps.secondary, "interests": line.link.len(), "dropped": line.dropped,
            })
        });
        described.collect()
    }

    /// Applications' flows whose next hops speak MIRCC.
    fn flows(&self) -> Vec<Value> {
        let flows = self.forwarder.flows().into_iter().take(FACES);
        let described = flows.map(|flow| {
            json!({
                "face": flow.face.0, "paths": flow.paths, "primary_rate_bps": flow.rates[0],
                "secondary_rate_bps": flow.rates[1], "round_trip_s": flow.round_trip.map(Time::as_secs_f64),
                "held": flow.held,
            })
        });
        described.collect()
    }

    fn describe(&self, id: FaceId, face: &Face) -> Value {
        let (waiting, dropped) = match self.links.get(&id) {
            Some(Link::Stream(stream)) => (stream.waiting(), stream.dropped),
            _ => (0, 0),
        };
        json!({
            "face": id.0, "remote": face.spec.remote, "local": face.spec.local, "is_local": face.is_local(),
            "mtu": face.spec.mtu, "received": traffic(&face.received), "sent": traffic(&face.sent),
            "malformed": face.malformed, "waiting_bytes": waiting, "dropped": dropped,
        })
    }
}

fn traffic(traffic: &Traffic) -> Value {
    let Traffic { interests, data, nacks, bytes } = traffic;
    json!({"interests": interests, "data": data, "nacks": nacks, "bytes": bytes})
}
