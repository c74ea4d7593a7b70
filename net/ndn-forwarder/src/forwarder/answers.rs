//! Data and Nacks.

use midpath_core::units::Time;
use midpath_ndn::link::reason;
use midpath_ndn::{DataView, Header, InterestView, PitToken};
use midpath_schemes::rated::Stamped;

use crate::edge::asks::With;
use crate::faces::FaceId;
use crate::forwarder::Forwarder;
use crate::pit::{EntryId, InRecord};

impl Forwarder {
    /// Called with Data: they go to all who asked for them, once.
    pub(crate) fn on_data(&mut self, now: Time, face: FaceId, data: &DataView<'_>, header: &Header) {
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
            self.note_answer(face, data.name);
        }
        let (stamped, size) = self.stamp_data(now, face, data, header, &found);
        let mark = header.congestion_mark;
        // Who waits in several entries gets one copy, or one for each of its tokens.
        let mut sent: Vec<(FaceId, Option<PitToken>)> = Vec::new();
        for id in found.drain(..) {
            self.edge.on_answer(now, id, face);
            let with = With { params: &self.settings.mircc, rng: &mut self.random };
            self.asks.on_data(now, id, stamped, size, with);
            let ins = self.pit.get_mut(id).map(|entry| std::mem::take(&mut entry.ins)).unwrap_or_default();
            self.counters.satisfied += 1;
            for record in ins.iter().filter(|record| record.until > now && record.face != face) {
                let to = (record.face, record.token);
                if !sent.contains(&to) {
                    self.send_data(now, record.face, record.token, mark, stamped, data.wire);
                    sent.push(to);
                }
            }
            self.give_back(id, ins);
            self.end(now, id);
        }
        self.send_paced(now);
        self.send_asked(now);
        self.found = found;
    }

    /// An entry answers for its records until it is removed.
    fn give_back(&mut self, id: EntryId, ins: Vec<InRecord>) {
        if let Some(entry) = self.pit.get_mut(id) {
            entry.ins = ins;
        }
    }

    pub(super) fn send_data(
        &mut self,
        now: Time,
        face: FaceId,
        token: Option<PitToken>,
        mark: Option<u64>,
        stamped: Stamped,
        data: &[u8],
    ) {
        let mircc = self.fields_to(now, face, stamped);
        let header = Header { pit_token: token, congestion_mark: mark, mircc, ..Header::default() };
        if self.send(face, &header, data)
            && let Some(state) = self.faces.get_mut(face)
        {
            state.sent.data += 1;
        }
    }

    /// Called with a Nack. When all who were asked have refused, those who wait hear of it.
    pub(super) fn on_nack(&mut self, now: Time, face: FaceId, interest: &InterestView<'_>, why: u64, header: &Header) {
        let id = self.pit.nacked(interest, &self.names);
        let out = id.and_then(|id| self.pit.get_mut(id)?.out(face));
        let Some((id, out)) = id.zip(out).filter(|(_, out)| Some(out.nonce) == interest.nonce) else {
            self.counters.stray_nacks += 1;
            return;
        };
        out.nacked = Some(why);
        if let Some(stamped) = self.stamp_nack(now, face, id, header) {
            if why == reason::CONGESTION {
                self.refused(now, id, Some(stamped));
                return self.send_asked(now);
            }
            if self.asks.holds(id) && self.leads_elsewhere(id, face) {
                self.refused(now, id, None);
                return self.send_asked(now);
            }
        }
        let (held, elsewhere) = (self.edge.holds(id), self.edge.on_refused(now, id, face));
        self.send_paced(now);
        if elsewhere || (!held && !self.asks.holds(id) && self.try_elsewhere(now, id)) {
            return;
        }
        self.pass_refusal(now, id, None);
    }

    /// Whether another next hop than this may still have what an entry waits for.
    fn leads_elsewhere(&self, id: EntryId, face: FaceId) -> bool {
        let Some(entry) = self.pit.get(id) else { return false };
        let refused = |face: FaceId| entry.outs.iter().any(|out| out.face == face && out.nacked.is_some());
        let hops = self.fib.longest(crate::name::view(self.names.name(entry.name)));
        hops.is_some_and(|(_, hops)| hops.iter().any(|hop| hop.face != face && !refused(hop.face)))
    }

    /// When all who were asked have refused, those who wait hear of it.
    pub(super) fn pass_refusal(&mut self, now: Time, id: EntryId, stamped: Option<Stamped>) {
        let Some(entry) = self.pit.get_mut(id) else { return };
        let reasons: Option<Vec<u64>> = entry.outs.iter().map(|out| out.nacked).collect();
        let Some(least) = reasons.and_then(|reasons| reasons.into_iter().min_by_key(|why| severity(*why))) else {
            return;
        };
        let ins = std::mem::take(&mut entry.ins);
        for record in ins.iter().filter(|record| record.until > now) {
            self.pass_nack(now, record, least, stamped);
        }
        self.give_back(id, ins);
        self.end(now, id);
    }

    /// Applications take congestion for the end of what they ask for: they hear nothing of it, and
    /// ask again when their Interest is over.
    fn pass_nack(&mut self, now: Time, record: &InRecord, why: u64, stamped: Option<Stamped>) {
        if self.faces.is_local(record.face) && why != reason::NO_ROUTE {
            return;
        }
        let mut around = Header { pit_token: record.token, ..Header::default() };
        if let Some(stamped) = stamped {
            around.mircc = self.fields_to(now, record.face, stamped);
        }
        self.refuse(record.face, around, &record.wire, why);
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
