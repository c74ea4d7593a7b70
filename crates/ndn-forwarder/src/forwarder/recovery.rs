//! What a forwarder does for applications that ask once and wait: an Interest that is not answered
//! in time is sent again, over another next hop if there is one, as long as somebody waits for it.
//! A next hop that does not answer goes behind those that do, and is probed.
//!
//! Ours. Only the forwarder next to an application does so: if all did, a lost packet would be asked
//! for by each on its way.

use midpath_core::units::Time;
use midpath_ndn::{Header, InterestView, NameView, View};

use super::interests::Onward;
use crate::faces::FaceId;
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::pit::EntryId;
use crate::strategy::{self, Strategy};

/// How often an Interest is sent again at most.
const TRIES: u32 = 8;
/// How often a silent next hop is probed.
const PROBES: Time = Time::from_secs(1);

impl Forwarder {
    /// Called when an Interest was sent for the first time.
    pub(super) fn watch(&mut self, now: Time, id: EntryId, from: FaceId) {
        if !self.settings.recovers || !self.faces.is_local(from) {
            return;
        }
        // An application may take as long as it likes.
        let far = self.pit.get(id).and_then(|entry| entry.outs.first()).map(|out| out.face);
        if let Some(face) = far.filter(|face| !self.faces.is_local(*face)) {
            self.pit.set_alarm(id, now.saturating_add(self.wait(face, 0)));
        }
    }

    fn wait(&self, face: FaceId, tries: u32) -> Time {
        self.faces.get(face).map_or(Time::MAX, |face| face.round_trips.wait(tries))
    }

    /// Called when an Interest should have been answered: it is sent again.
    pub(super) fn try_again(&mut self, now: Time, id: EntryId) {
        self.note_silence(now, id);
        let Some(entry) = self.pit.get_mut(id) else { return };
        if entry.tries >= TRIES {
            return;
        }
        entry.tries += 1;
        let tries = entry.tries;
        if let Some(face) = self.send_again(now, id, false) {
            self.counters.retried += 1;
            self.pit.set_alarm(id, now.saturating_add(self.wait(face, tries)));
        }
    }

    /// Called when a next hop has refused: whether another one is asked.
    pub(super) fn try_elsewhere(&mut self, now: Time, id: EntryId) -> bool {
        let sent = self.settings.recovers && self.send_again(now, id, true).is_some();
        self.counters.retried += u64::from(sent);
        sent
    }

    /// Sends the Interest of somebody who waits, to the best next hop that was not asked, or else to
    /// the one that was asked longest ago.
    fn send_again(&mut self, now: Time, id: EntryId, elsewhere: bool) -> Option<FaceId> {
        let entry = self.pit.get(id)?;
        let local = |face: FaceId| self.faces.is_local(face);
        let record = entry.ins.iter().find(|record| record.until > now && (elsewhere || local(record.face)))?.clone();
        let outs = entry.outs.clone();
        let Ok(View::Interest(interest)) = View::of(&record.wire) else { return None };
        if self.strategies.longest(interest.name).is_some_and(|(_, s)| *s != Strategy::BestRoute) {
            return None;
        }
        let onward = Onward { interest: &interest, nonce: record.nonce, header: &Header::default(), from: record.face };
        let mut hops = self.usable(&onward);
        hops.retain(|hop| outs.iter().all(|out| out.face != hop.face || (!elsewhere && out.nacked.is_none())));
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

    /// Called with Data that answer these entries: the next hop answers, and in which time.
    pub(super) fn note_answer(&mut self, now: Time, face: FaceId, name: NameView<'_>, found: &[EntryId]) {
        let hops = self.fib.longest_mut(name);
        if let Some(hop) = hops.and_then(|hops| hops.iter_mut().find(|hop| hop.face == face)) {
            hop.silent = 0;
        }
        // Of what was sent twice nobody knows which one was answered.
        let once =
            found.iter().find_map(|id| self.pit.get_mut(*id).filter(|entry| entry.tries == 0)?.out(face).copied());
        if let (Some(out), Some(state)) = (once, self.faces.get_mut(face)) {
            state.round_trips.add(now.saturating_sub(out.at));
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
