//! Flows to exits, opened in advance, so that a connection waits for no handshake.
//!
//! Their number follows the recent connection rate.

use std::collections::BTreeMap;

use midpath_core::node::EndId;
use midpath_core::packet::NodeId;
use midpath_core::units::Time;

use super::session::Spare;
use crate::host::Host;

/// So many for an exit, at most. Ours: what a browser opens at once.
const MOST: usize = 6;
/// They are kept for so long. Ours: shorter than what peers are asked in whether they are there, so
/// that they cost nothing but their handshake.
const KEPT: Time = Time::from_secs(3);

/// Those of one exit.
#[derive(Default)]
struct Of {
    spares: Vec<Spare>,
    /// When connections have come lately.
    came: Vec<Time>,
}

/// All of them, by exit.
#[derive(Default)]
pub struct WarmFlows(BTreeMap<NodeId, Of>);

/// Whether a flow is open both ways.
fn is_sound(flow: EndId, host: &Host) -> bool {
    let sends = host.outgoing(flow).is_some_and(|o| o.ended().is_none());
    sends && host.incoming(flow).is_some_and(|i| i.ended().is_none())
}

impl WarmFlows {
    /// One for a connection to this exit, the oldest that is sound.
    pub fn take(&mut self, exit: NodeId, host: &Host, now: Time) -> Option<Spare> {
        let spares = &mut self.0.get_mut(&exit)?.spares;
        let at = spares.iter().position(|s| now < s.since.saturating_add(KEPT) && is_sound(s.flow, host))?;
        Some(spares.remove(at))
    }

    /// It was not needed yet.
    pub fn put(&mut self, spare: Spare) {
        self.0.entry(spare.flow.peer).or_default().spares.insert(0, spare);
    }

    /// A connection to this exit has come: there are as many as have lately.
    pub fn refill(&mut self, exit: NodeId, host: &mut Host, now: Time) {
        let of = self.0.entry(exit).or_default();
        of.came.retain(|at| now < at.saturating_add(KEPT));
        of.came.push(now);
        let wanted = of.came.len().min(MOST);
        of.came.drain(..of.came.len() - wanted);
        while of.spares.len() < wanted {
            of.spares.push(Spare { flow: host.connect(exit, now), since: now });
        }
    }

    /// Those that are to be given up.
    pub fn old(&mut self, now: Time) -> Vec<EndId> {
        let old = |spare: &mut Spare| now >= spare.since.saturating_add(KEPT);
        self.0.values_mut().flat_map(|of| of.spares.extract_if(.., old).collect::<Vec<_>>()).map(|s| s.flow).collect()
    }
}
