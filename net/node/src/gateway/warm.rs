//! Flows to exits and back, opened in advance, so that a connection waits for no handshake.
//!
//! Their number follows the recent connection rate.

use std::collections::BTreeMap;

use midpath_core::node::EndId;
use midpath_core::packet::NodeId;
use midpath_core::units::Time;

use super::session::Pair;
use crate::host::Host;

/// So many for an exit, at most. Ours: what a browser opens at once.
const MOST: usize = 6;
/// They are kept for so long. Ours: shorter than what peers are asked in whether they are there, so
/// that they cost nothing but their handshake.
const KEPT: Time = Time::from_secs(3);

/// Those of one exit.
#[derive(Default)]
struct Of {
    pairs: Vec<Pair>,
    /// When connections have come lately.
    came: Vec<Time>,
}

/// All of them, by exit.
#[derive(Default)]
pub struct WarmFlows(BTreeMap<NodeId, Of>);

/// Whether both flows are open, as far as they have been opened.
fn is_sound(pair: &Pair, host: &Host) -> bool {
    let sends = host.outgoing(pair.upstream).is_some_and(|o| o.ended().is_none());
    sends && pair.downstream.is_none_or(|downstream| host.incoming(downstream).is_some_and(|i| i.ended().is_none()))
}

impl WarmFlows {
    /// One for a connection to this exit, the oldest that is sound.
    pub fn take(&mut self, exit: NodeId, host: &Host, now: Time) -> Option<Pair> {
        let pairs = &mut self.0.get_mut(&exit)?.pairs;
        let at = pairs.iter().position(|pair| now < pair.since.saturating_add(KEPT) && is_sound(pair, host))?;
        Some(pairs.remove(at))
    }

    /// It was not needed yet.
    pub fn put(&mut self, pair: Pair) {
        self.0.entry(pair.upstream.peer).or_default().pairs.insert(0, pair);
    }

    /// A connection to this exit has come: there are as many as have lately.
    pub fn refill(&mut self, exit: NodeId, host: &mut Host, now: Time) {
        let of = self.0.entry(exit).or_default();
        of.came.retain(|at| now < at.saturating_add(KEPT));
        of.came.push(now);
        let wanted = of.came.len().min(MOST);
        of.came.drain(..of.came.len() - wanted);
        while of.pairs.len() < wanted {
            of.pairs.push(Pair::open(exit, host, now));
        }
    }

    /// An exit answers a flow of ours; false if it is none of these.
    pub fn answered_by(&mut self, upstream: EndId, downstream: EndId) -> bool {
        let mut pairs = self.0.get_mut(&upstream.peer).into_iter().flat_map(|of| &mut of.pairs);
        let is_new = |pair: &Pair| pair.downstream.is_none_or(|known| known == downstream || known == upstream);
        let found = pairs.find(|pair| pair.upstream == upstream && is_new(pair));
        found.map(|pair| pair.downstream = Some(downstream)).is_some()
    }

    /// Those that are to be given up.
    pub fn old(&mut self, now: Time) -> Vec<Pair> {
        let old = |pair: &mut Pair| now >= pair.since.saturating_add(KEPT);
        self.0.values_mut().flat_map(|of| of.pairs.extract_if(.., old).collect::<Vec<_>>()).collect()
    }
}
