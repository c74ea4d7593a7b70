//! A flow with a deadline (§4.2, §6.3): it requests the rate that it needs, at the fixed price, and falls back to
//! best effort if refused.

use midpath_core::units::Time;

use super::Sender;
use crate::fcp::equations;
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::params::GroupParams;
use crate::transport::cc::View;

/// How long a granted flow goes on when its packets are no longer given the service, in round
/// trips. Ours: single packets may meet a full window; a path that has changed doesn't come back.
const PATIENCE: f64 = 2.0;

/// How far the fixed price may be off in the header's single precision.
const ROUNDING: f64 = 1e-6;

/// A flow that has not been refused.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    /// What it needs, bytes per second on the wire.
    pub rate: f64,
    /// The packet that asks.
    ask: u32,
    /// When the service was last given.
    granted_at: Option<Time>,
}

impl Deadline {
    /// Of flows whose group has the class.
    pub fn of(group: &GroupParams) -> Option<Deadline> {
        let rate = group.rate.filter(|_| group.class == Class::Deadline)?;
        Some(Deadline { rate: rate.as_f64() / 8.0, ask: 0, granted_at: None })
    }
}

impl Sender {
    /// The service that its packets ask for.
    pub(super) fn class(&self) -> Class {
        match self.group.class {
            Class::Deadline if self.deadline.is_none() => Class::Normal,
            class => class,
        }
    }

    /// The preload of a packet with which a deadline flow asks; `None` if there is nothing to ask
    /// for. §6.3: it "preloads the amount required to meet the desired rate at once", so one packet
    /// asks for all, and each link grants or refuses all.
    pub(super) fn ask(&mut self, wanted: f64, pays: f64) -> Option<f64> {
        let rest = self.announced.rest(wanted, self.budget.spending)?;
        let deadline = self.deadline.as_mut().filter(|_| rest > 0.0 && pays > 0.0)?;
        deadline.ask = self.nonce;
        Some(rest / pays)
    }

    /// A SYN asks for nothing: its sender knows no round-trip time. A flow whose SYN is refused
    /// needs not ask again.
    pub(super) fn ask_by_syn(&mut self) -> bool {
        let nonce = self.nonce;
        self.deadline.as_mut().map(|d| d.ask = nonce).is_some()
    }

    /// Whether an answer's price is for the flow: a granted flow keeps to the fixed one when a
    /// single packet was refused.
    pub(super) fn served(&mut self, header: &FcpHeader, view: &View, now: Time) -> bool {
        let fixed = self.params.given.minimum_price * (1.0 + ROUNDING);
        // After the refusal, what packets before it were told is old news.
        let late = self.group.class == Class::Deadline && header.class == Class::Deadline;
        let Some(deadline) = &mut self.deadline else { return !late };
        // A link that knows no deadlines leaves the class as it is, and names its price.
        if header.class == Class::Deadline && f64::from(header.price) <= fixed {
            deadline.granted_at = Some(now);
            return true;
        }
        let patience = Time::from_secs_f64(PATIENCE * self.rtt);
        let lost = deadline.granted_at.is_none_or(|granted_at| now > granted_at.saturating_add(patience));
        if header.nonce == deadline.ask || lost {
            self.fall_back(header, (view.mss + view.overhead) as f64);
            return true;
        }
        self.budget.spending = equations::budget(self.budget.spending, self.announced.answered(header.nonce));
        false
    }

    /// "Falls back to best effort service when it receives a price different from the fixed value"
    /// (§4.2). It goes on with what the links have counted, the packet of this round trip, and then
    /// preloads for its share (§6.3).
    fn fall_back(&mut self, header: &FcpHeader, packet: f64) {
        self.deadline = None;
        self.announced.clear();
        self.budget.spending =
            (packet / self.rtt.max(f64::MIN_POSITIVE) * f64::from(header.price)).min(self.budget.assigned);
    }
}
