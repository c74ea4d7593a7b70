//! Misbehaving senders (§6.1.3), to test enforcement. An honest sender gets 1 or `None` everywhere.

use serde::{Deserialize, Serialize};

/// Whether a sender keeps to the protocol (§6.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// It does.
    #[default]
    Honest,
    /// It preloads its budget, then sends nothing.
    Idle,
    /// It preloads its budget again and again, and sends nothing.
    IdleAgain,
    /// When it spends its budget, it announces to spend less, and goes on as before.
    Overdraw,
    /// It claims to pay a tenth of what it was told, and sends at ten times its share.
    Underpay,
    /// It pays what it was told, and spends ten times its budget.
    Overspend,
}

/// From this share of its target on, a flow spends its budget.
const SPENT: f64 = 0.9;

impl Behaviour {
    /// A false preload for a flow that spends `spending` of its `target` and pays `pays` per round
    /// trip for this packet ($/s), and the change of its budget that the sender itself believes in.
    pub fn preload(self, spending: f64, target: f64, pays: f64) -> Option<(f64, f64)> {
        match self {
            Behaviour::Overdraw if spending >= SPENT * target => Some((-0.5, 0.0)),
            // All of it, again with each of its few packets.
            Behaviour::IdleAgain => Some((target / pays, target / pays * pays)),
            _ => None,
        }
    }

    /// Whether it obeys a change of budget that it has announced.
    pub fn obeys(self, change: f64) -> bool {
        self != Behaviour::Overdraw || change > 0.0
    }

    /// What it says that it pays, as a share of what it was told.
    pub fn claims(self) -> f64 {
        if self == Behaviour::Underpay { 0.1 } else { 1.0 }
    }

    /// What it spends, in multiples of what it may.
    pub fn overspending(self) -> f64 {
        if matches!(self, Behaviour::Underpay | Behaviour::Overspend) { 10.0 } else { 1.0 }
    }

    /// The rate of a sender that wastes what it has announced: `least`, or a packet per round trip
    /// where it needs packets to announce again.
    pub fn idles(self, allowed: f64, target: f64, least: f64, packet_per_round: f64) -> Option<f64> {
        match self {
            Behaviour::Idle if allowed >= SPENT * target => Some(least),
            Behaviour::IdleAgain if allowed >= SPENT * target => Some(packet_per_round),
            _ => None,
        }
    }
}
