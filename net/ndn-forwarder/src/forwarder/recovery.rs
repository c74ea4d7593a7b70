//! Next hops that do not answer are ranked last and probed; if one refuses, another is tried.
//!
//! Only the forwarder beside the application retransmits ([`Edge`](crate::edge::Edge)): otherwise each
//! forwarder on the path would.

use midpath_core::units::Time;
use midpath_ndn::{Header, InterestView, NameView, View};

use super::interests::Onward;
use crate::faces::FaceId;
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::pit::EntryId;
use crate::strategy::{self, Strategy};

/// How often a silent next hop is probed.
const PROBES: Time = Time::from_secs(1);

impl Forwarder {
    /// Called when a next hop has refused: whether another one is asked, the best that was not.
    pub(super) fn try_elsewhere(&mut self, now: Time, id: EntryId) -> bool {
        let sent = self.settings.recovers && self.ask_another(now, id).is_some();
        self.counters.retried += u64::from(sent);
        sent
    }

    fn ask_another(&mut self, now: Time, id: EntryId) -> Option<FaceId> {
        let entry = self.pit.get(id)?;
        let record = entry.ins.iter().find(|record| record.until > now)?.clone();
        let outs = entry.outs.clone();
        let Ok(View::Interest(interest)) = View::of(&record.wire) else { return None };
        if self.strategies.longest(interest.name).is_some_and(|(_, s)| *s != Strategy::BestRoute) {
            return None;
        }
        let onward = Onward { interest: &interest, nonce: record.nonce, header: &Header::default(), from: record.face };
        let mut hops = self.usable(&onward);
        hops.retain(|hop| outs.iter().all(|out| out.face != hop.face));
        let face = strategy::best(&hops, &outs)?;
        self.send_interest(now, id, face, &onward);
        Some(face)
    }

    /// Called when the Interest of an entry was not answered: the next hop that was asked last is
    /// silent.
    pub(super) fn note_silence(&mut self, now: Time, id: EntryId) {
        let Some(entry) = self.pit.get(id).filter(|_| self.settings.recovers) else { return };
        let name = self.names.name(entry.name).clone();
        let Some(last) = entry.outs.iter().filter(|out| out.nacked.is_none()).max_by_key(|out| out.at) else { return };
        let last = last.face;
        let hops = self.fib.longest_mut(crate::name::view(&name));
        if let Some(hop) = hops.and_then(|hops| hops.iter_mut().find(|hop| hop.face == last)) {
            hop.silent = hop.silent.saturating_add(1);
            if hop.silent == 1 {
                hop.probe_at = now.saturating_add(PROBES);
            }
        }
    }

    /// Called with Data: the next hop answers.
    pub(super) fn note_answer(&mut self, face: FaceId, name: NameView<'_>) {
        let hops = self.fib.longest_mut(name);
        if let Some(hop) = hops.and_then(|hops| hops.iter_mut().find(|hop| hop.face == face)) {
            hop.silent = 0;
        }
    }

    /// A silent next hop that is to be asked whether it still is.
    pub(super) fn due_for_probe(&mut self, now: Time, hops: &[NextHop], interest: &InterestView<'_>) -> Option<FaceId> {
        let answers = hops.iter().any(|hop| !hop.is_silent());
        let silent = hops.iter().find(|hop| hop.is_silent() && hop.probe_at <= now)?;
        if !answers {
            return None;
        }
        let face = silent.face;
        let hop = self.fib.longest_mut(interest.name)?.iter_mut().find(|hop| hop.face == face)?;
        hop.probe_at = now.saturating_add(PROBES);
        Some(face)
    }
}
