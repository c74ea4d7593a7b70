//! Interests of local applications, which the edge holds until their path has capacity.

use std::hash::BuildHasher;

use midpath_core::units::Time;
use midpath_ndn::{Header, View};

use crate::faces::FaceId;
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::forwarder::interests::Onward;
use crate::names::Keyed;
use crate::pit::{EntryId, OutRecord};
use crate::strategy::Strategy;

impl Forwarder {
    /// Hands an Interest to the edge, if an application here sent it to another machine.
    pub(super) fn pace(&mut self, now: Time, id: EntryId, hops: &[NextHop], onward: &Onward<'_>) -> bool {
        let away = hops.iter().all(|hop| self.faces.get(hop.face).is_some_and(|face| !face.is_local()));
        let name = onward.interest.name;
        let asked = onward.header.next_hop_face.is_some() || self.strategy(name) != Strategy::BestRoute;
        if !self.settings.pace || !away || asked || !self.faces.is_local(onward.from) {
            return false;
        }
        // What one face asks below one prefix: the segments of an object.
        let flow = Keyed(self.settings.key).hash_one((onward.from, name.parent().bytes()));
        let held = self.edge.offer(now, id, flow, hops.iter().map(|hop| hop.face).collect());
        self.send_paced(now);
        held
    }

    /// Sends what the edge lets go.
    pub(super) fn send_paced(&mut self, now: Time) {
        for (id, face) in self.edge.sends() {
            self.send_paced_interest(now, id, face);
        }
    }

    fn send_paced_interest(&mut self, now: Time, id: EntryId, face: FaceId) {
        let Some(record) = self.pit.get(id).and_then(|entry| entry.ins.first()).cloned() else { return };
        let Ok(View::Interest(interest)) = View::of(&record.wire) else { return };
        let again = self.pit.get(id).is_some_and(|entry| !entry.outs.is_empty());
        if again {
            self.counters.retried += 1;
            self.note_silence(now, id);
        }
        // Who is asked again takes the nonce that it knows for a loop.
        let nonce = if again { self.nonce() } else { record.nonce };
        let Some(state) = self.faces.get_mut(face) else {
            self.counters.gone += 1;
            return;
        };
        state.sent.bytes += self.out.again(face, &interest, nonce) as u64;
        state.sent.interests += 1;
        let sent = OutRecord { face, nonce, at: now, nacked: None };
        if let Some(entry) = self.pit.get_mut(id) {
            match entry.out(face) {
                Some(known) => *known = sent,
                None => entry.outs.push(sent),
            }
        }
        if again {
            return;
        }
        // A silent next hop is asked, too, whether it still is.
        let header = Header::default();
        let from = record.face;
        let hops = self.usable(&Onward { interest: &interest, nonce, header: &header, from });
        if let Some(probed) = self.due_for_probe(now, &hops, &interest).filter(|probed| *probed != face) {
            self.send_interest(now, id, probed, &Onward { interest: &interest, nonce, header: &header, from });
        }
    }
}
