//! Pacing: at budget over price (§4.1), and our additions for less than one packet per round trip.

use midpath_core::units::Time;

use super::Sender;
use crate::fcp::equations::{self, at_least, at_most};
use crate::fcp::host::Host;
use crate::fcp::params::additions::PATIENCE_S;
use crate::transport::cc::View;

/// The least that a flow with data sends is a packet in this time, s, at first
/// (`Additions::patience`), so that one which spends (almost) nothing still hears the price. Ours:
/// the paper leaves it no way to learn that the price has fallen. A second is TCP's least timeout.
pub(super) const PROBE: f64 = 1.0;

/// The time between two packets varies by up to a half (`Additions::spread`). Ours.
pub(super) const MOST_STRETCH: f64 = 1.5;

/// So many packets a sender has out however long nothing is answered: one that is lost can be found
/// out by three others. Ours.
pub(super) const FEW: u64 = 4;

/// A flow's pace.
pub(super) struct Pace {
    /// Bytes per second.
    pub rate: f64,
    /// What the host's link carries, bytes per second.
    pub cap: f64,
    /// The size of a full packet.
    pub packet: f64,
    /// How long the flow waits at most for its next packet, s.
    pub patience: f64,
    /// When that became longer.
    pub longer: Option<Time>,
    /// By what the time until its next packet is multiplied.
    pub stretch: f64,
}

impl Default for Pace {
    fn default() -> Pace {
        // The first price is not told by chance.
        Pace { rate: 0.0, cap: f64::INFINITY, packet: 0.0, patience: 2.0 * PROBE, longer: None, stretch: 1.0 }
    }
}

impl Sender {
    /// The time between two packets of a flow whose share is less than one in a round trip, if those
    /// are to be spread, s. Flows that begin together would send together, and such that find a
    /// queue, and so a high price, all come back at one time.
    pub(super) fn scarce(&self, view: &View) -> Option<f64> {
        let gap = (view.mss + view.overhead) as f64 / self.pace.rate;
        (self.params.additions().spread && self.rtt > 0.0 && gap.is_finite() && gap > self.rtt).then_some(gap)
    }

    /// The least that the flow sends, bytes per second.
    pub(super) fn least(&self, view: &View) -> f64 {
        let packet = (view.mss + view.overhead) as f64;
        let (slow, quick) = (packet / (2.0 * self.rtt).max(self.pace.patience), packet / (2.0 * self.rtt));
        match &self.deadline {
            // The pace of the packet that asks is that of the next one, which follows the answer.
            Some(_) => packet / self.rtt,
            // A flow that has sent everything has given its budget back; a repair may yet turn out
            // to be needed.
            None if view.to_send() == 0 => quick,
            None if !self.params.additions().keep_pace => slow,
            None => equations::rate(self.budget.target, self.quote.price).clamp(slow, quick),
        }
    }

    /// The rate, where w is what the host may spend on this flow now.
    pub(super) fn set_pace(&mut self, view: &View, host: &Host) {
        if self.rtt <= 0.0 {
            return;
        }
        let allowed = host.allowance(self.identity.flow, self.params.budget(self.identity.host));
        let least = self.least(view);
        let (behaviour, one) = (self.group.behaviour, (view.mss + view.overhead) as f64 / self.rtt);
        self.pace.packet = (view.mss + view.overhead) as f64;
        let cap = self.silent.as_ref().map_or(self.pace.cap, |s| s.rate.min(self.pace.cap));
        self.pace.rate = behaviour.idles(allowed, self.budget.target, least, one).unwrap_or_else(|| {
            equations::rate(behaviour.overspending() * allowed, self.quote.price).clamp(least, cap.max(least))
        });
    }

    /// How long the flow waits for its next packet: what its target pays for, but not more than
    /// twice as long as before, so that a single wrong price is soon forgotten. Nor does it grow twice
    /// while it waits once: after an outage the answers to all that was repeated come together.
    pub(super) fn wait(&mut self, view: &View, now: Time) {
        let packet = (view.mss + view.overhead) as f64;
        let affords = packet / at_least(equations::rate(self.budget.target, self.quote.price), f64::MIN_POSITIVE);
        let before = self.pace.patience;
        let waited = self.pace.longer.is_none_or(|at| now.saturating_sub(at).as_secs_f64() >= before);
        let most = if waited { 2.0 * before } else { before };
        let longest = if self.params.additions().patience { PATIENCE_S } else { PROBE };
        self.pace.patience = at_most(affords, most).clamp(PROBE, longest);
        if self.pace.patience > before {
            self.pace.longer = Some(now);
        }
    }
}
