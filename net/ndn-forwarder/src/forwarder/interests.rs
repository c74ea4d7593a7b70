//! Interests.

use midpath_core::units::Time;
use midpath_ndn::link::reason;
use midpath_ndn::{Header, InterestView, NameView};
use midpath_schemes::rated::{Stamped, Trail};

use crate::faces::{FaceId, MANAGEMENT};
use crate::fib::NextHop;
use crate::forwarder::Forwarder;
use crate::pit::{EntryId, InRecord, Joined, OutRecord};
use crate::strategy::{self, Strategy};

/// How long an Interest is pending unless it says (packet specification).
const LIFETIME: u64 = 4000;

/// Where an Interest goes on from.
pub(super) struct Onward<'a> {
    pub(super) interest: &'a InterestView<'a>,
    /// Its own, or the one that it gets.
    pub(super) nonce: u32,
    pub(super) header: &'a Header,
    pub(super) from: FaceId,
}

/// What an answer to an Interest repeats of what stood around it.
pub(super) fn about(header: &Header) -> Header {
    Header { pit_token: header.pit_token, ..Header::default() }
}

impl Forwarder {
    /// Called with each Interest.
    pub(super) fn on_interest(&mut self, now: Time, face: FaceId, interest: &InterestView<'_>, header: &Header) {
        let localhost = Forwarder::begins(interest.name, b"localhost");
        if localhost && !self.faces.is_local(face) {
            self.counters.out_of_scope += 1;
            return;
        }
        if interest.hop_limit == Some(0) {
            self.counters.no_hops += 1;
            return;
        }
        let nonce = match interest.nonce {
            Some(nonce) if self.dead.contains(now, interest.name.bytes(), nonce) => {
                return self.looped(face, interest, header);
            }
            Some(nonce) => nonce,
            None => self.nonce(),
        };
        if !localhost && let Some(data) = self.store.find(now, interest, &self.names) {
            self.counters.satisfied += 1;
            let stamped = self.at_start();
            return self.send_data(now, face, header.pit_token, None, stamped, &data);
        }
        let lifetime = crate::millis(interest.lifetime.unwrap_or(LIFETIME)).min(self.settings.longest_lifetime);
        let until = now.saturating_add(lifetime);
        let record = InRecord { face, nonce, until, token: header.pit_token, wire: interest.wire.into() };
        let onward = Onward { interest, nonce, header, from: face };
        match self.pit.join(interest, record, &mut self.names) {
            Joined::New(id) => self.ask(now, id, &onward),
            Joined::Known(id) => self.ask_again(now, id, &onward),
            Joined::Loop => self.looped(face, interest, header),
            Joined::Full => self.counters.pit_full += 1,
        }
    }

    /// An Interest has come round: who sent it is another forwarder, for applications don't forward.
    fn looped(&mut self, face: FaceId, interest: &InterestView<'_>, header: &Header) {
        self.counters.looped += 1;
        if !self.faces.is_local(face) {
            self.refuse(face, about(header), interest.wire, reason::DUPLICATE);
        }
    }

    /// Sends the first Interest of an entry.
    fn ask(&mut self, now: Time, id: EntryId, onward: &Onward<'_>) {
        let hops = self.usable(onward);
        if hops.is_empty() {
            self.counters.no_route += 1;
            self.end(now, id);
            return self.refuse(onward.from, about(onward.header), onward.interest.wire, reason::NO_ROUTE);
        }
        if let Some(entry) = self.pit.get_mut(id) {
            strategy::suppressed(now, None, &mut entry.suppression);
        }
        if self.by_lines(now, id, &hops, onward, false) || self.pace(now, id, &hops, onward) {
            return;
        }
        self.choose(now, id, &hops, onward);
    }

    /// Another Interest in what somebody waits for.
    fn ask_again(&mut self, now: Time, id: EntryId, onward: &Onward<'_>) {
        if self.edge.holds(id) && !self.edge.is_spent(id) {
            self.counters.aggregated += 1;
            return;
        }
        let hops = self.usable(onward);
        if self.by_lines(now, id, &hops, onward, true) {
            return;
        }
        let Some(entry) = self.pit.get_mut(id) else { return };
        let last = entry.last_sent();
        if strategy::suppressed(now, last, &mut entry.suppression) {
            self.counters.aggregated += 1;
            return;
        }
        self.choose(now, id, &hops, onward);
    }

    /// Sends an Interest where its strategy wants it.
    fn choose(&mut self, now: Time, id: EntryId, hops: &[NextHop], onward: &Onward<'_>) {
        match self.strategy(onward.interest.name) {
            Strategy::Multicast => {
                for hop in hops {
                    self.send_interest(now, id, hop.face, onward);
                }
            }
            Strategy::BestRoute => {
                let chosen = self.pit.get(id).and_then(|entry| strategy::best(hops, &entry.outs));
                if let Some(face) = chosen {
                    self.send_interest(now, id, face, onward);
                }
                if let Some(face) = self.due_for_probe(now, hops, onward.interest) {
                    self.send_interest(now, id, face, onward);
                }
            }
        }
    }

    /// Data from the store begin their way here.
    fn at_start(&self) -> Stamped {
        Stamped::start(self.settings.mircc.rates.largest_rate.0, Trail::None)
    }

    /// The strategy of a name.
    pub(super) fn strategy(&self, name: NameView<'_>) -> Strategy {
        self.strategies.longest(name).map_or(Strategy::default(), |(_, strategy)| *strategy)
    }

    pub(super) fn send_interest(&mut self, now: Time, id: EntryId, face: FaceId, onward: &Onward<'_>) {
        let interest = onward.interest;
        if self.speaks(now, face) {
            let header = Header { congestion_mark: onward.header.congestion_mark, ..Header::default() };
            return self.offer(now, face, id, interest, onward.nonce, header);
        }
        let Some(entry) = self.pit.get_mut(id) else { return };
        let record = OutRecord { face, nonce: onward.nonce, at: now, nacked: None };
        match entry.out(face) {
            Some(known) => *known = record,
            None => entry.outs.push(record),
        }
        if face == MANAGEMENT {
            self.asked.push_back((onward.from, interest.wire.into()));
            return;
        }
        let header = Header { congestion_mark: onward.header.congestion_mark, ..Header::default() };
        self.forward(face, &header, interest, onward.nonce);
    }

    /// The next hops that an Interest may take: those that answer first, and the cheapest of them.
    pub(super) fn usable(&self, onward: &Onward<'_>) -> Vec<NextHop> {
        let name = onward.interest.name;
        let far = !self.faces.is_local(onward.from);
        // One hop is left: the one from here to an application (packet specification, *HopLimit*).
        let last_hop = onward.interest.hop_limit == Some(1);
        let local_only =
            last_hop || Forwarder::begins(name, b"localhost") || Forwarder::begins(name, b"localhop") && far;
        let usable = |hop: &&NextHop| {
            hop.face != onward.from && self.faces.get(hop.face).is_some_and(|face| face.is_local() || !local_only)
        };
        if let Some(chosen) = onward.header.next_hop_face.filter(|_| !far) {
            // NDNLPv2: an application says where to.
            return Vec::from_iter([NextHop::new(FaceId(chosen), 0)].iter().filter(usable).copied());
        }
        let mut hops: Vec<NextHop> = self.next_hops(onward.interest).iter().filter(usable).copied().collect();
        hops.sort_by_key(NextHop::is_silent);
        hops
    }

    /// The next hops of the FIB: by the name, or by the first of the forwarding hint's names that
    /// leads somewhere, unless this network is where it leads.
    fn next_hops(&self, interest: &InterestView<'_>) -> &[NextHop] {
        let hops = |name: NameView<'_>| self.fib.longest(name).map_or(&[][..], |(_, hops)| hops);
        let here = |hint: NameView<'_>| self.settings.regions.iter().any(|region| region.starts_with(hint.bytes()));
        if interest.hints().next().is_none() || interest.hints().any(here) {
            return hops(interest.name);
        }
        interest.hints().map(hops).find(|hops| !hops.is_empty()).unwrap_or_default()
    }
}
