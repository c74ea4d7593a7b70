//! Data and Nacks.

use midpath_core::units::Time;
use midpath_ndn::link::reason;
use midpath_ndn::{DataView, Header, InterestView, PitToken};

use crate::faces::FaceId;
use crate::forwarder::Forwarder;
use crate::pit::{EntryId, InRecord};

impl Forwarder {
    /// Called with Data: they go to all who asked for them, once.
    pub(crate) fn on_data(&mut self, now: Time, face: FaceId, data: &DataView<'_>, mark: Option<u64>) {
        let localhost = Forwarder::begins(data.name, b"localhost");
        if localhost && !self.faces.is_local(face) {
            self.counters.out_of_scope += 1;
            return;
        }
        let mut found = std::mem::take(&mut self.found);
        self.pit.matches(data, &self.names, &mut found);
        // Who was not asked does not answer: else any neighbour could.
        found.retain(|id| self.pit.get_mut(*id).is_some_and(|entry| entry.out(face).is_some()));
        if found.is_empty() {
            self.counters.unsolicited += 1;
        } else if !localhost {
            self.store.put(now, data, &mut self.names);
        }
        // Also one that comes too late says that its next hop answers.
        if !localhost {
            self.note_answer(now, face, data.name, &found);
        }
        // Who waits in several entries gets one copy, or one for each of its tokens.
        let mut sent: Vec<(FaceId, Option<PitToken>)> = Vec::new();
        for id in found.drain(..) {
            self.edge.on_answer(now, id, face);
            let ins = self.pit.get_mut(id).map(|entry| std::mem::take(&mut entry.ins)).unwrap_or_default();
            self.counters.satisfied += 1;
            for record in ins.iter().filter(|record| record.until > now && record.face != face) {
                let to = (record.face, record.token);
                if !sent.contains(&to) {
                    self.send_data(record.face, record.token, mark, data.wire);
                    sent.push(to);
                }
            }
            self.give_back(id, ins);
            self.end(now, id);
        }
        self.send_paced(now);
        self.found = found;
    }

    /// An entry answers for its records until it is removed.
    fn give_back(&mut self, id: EntryId, ins: Vec<InRecord>) {
        if let Some(entry) = self.pit.get_mut(id) {
            entry.ins = ins;
        }
    }

    pub(super) fn send_data(&mut self, face: FaceId, token: Option<PitToken>, mark: Option<u64>, data: &[u8]) {
        let header = Header { pit_token: token, congestion_mark: mark, ..Header::default() };
        if self.send(face, &header, data)
            && let Some(state) = self.faces.get_mut(face)
        {
            state.sent.data += 1;
        }
    }

    /// Called with a Nack. When all who were asked have refused, those who wait hear of it.
    pub(super) fn on_nack(&mut self, now: Time, face: FaceId, interest: &InterestView<'_>, why: u64) {
        let id = self.pit.nacked(interest, &self.names);
        let out = id.and_then(|id| self.pit.get_mut(id)?.out(face));
        let Some((id, out)) = id.zip(out).filter(|(_, out)| Some(out.nonce) == interest.nonce) else {
            self.counters.stray_nacks += 1;
            return;
        };
        out.nacked = Some(why);
        let (held, elsewhere) = (self.edge.holds(id), self.edge.on_refused(now, id, face));
        self.send_paced(now);
        if elsewhere || (!held && self.try_elsewhere(now, id)) {
            return;
        }
        let Some(entry) = self.pit.get_mut(id) else { return };
        let reasons: Option<Vec<u64>> = entry.outs.iter().map(|out| out.nacked).collect();
        let Some(least) = reasons.and_then(|reasons| reasons.into_iter().min_by_key(|why| severity(*why))) else {
            return;
        };
        let ins = std::mem::take(&mut entry.ins);
        for record in ins.iter().filter(|record| record.until > now) {
            self.pass_nack(record, least);
        }
        self.give_back(id, ins);
        self.end(now, id);
    }

    /// Applications take congestion for the end of what they ask for: they hear nothing of it, and
    /// ask again when their Interest is over.
    fn pass_nack(&mut self, record: &InRecord, why: u64) {
        if self.faces.is_local(record.face) && why != reason::NO_ROUTE {
            return;
        }
        self.refuse(record.face, record.token, &record.wire, why);
    }
}

/// NFD's order: the least severe reason is passed on.
fn severity(why: u64) -> u64 {
    match why {
        reason::CONGESTION => 0,
        reason::DUPLICATE => 1,
        reason::NO_ROUTE => 2,
        _ => 3,
    }
}
