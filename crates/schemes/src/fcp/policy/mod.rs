//! How a host splits a group's budget over its flows (§4.2): small values that mix freely.

mod equal_budget;
mod equal_throughput;

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;

use super::params::Plan;

pub use equal_budget::EqualBudget;
pub use equal_throughput::EqualThroughput;

/// The policy whose groups get a small share of the host's budget before all others are served.
pub const BACKGROUND: &str = "background";

/// The names that scenarios may use.
pub const NAMES: [&str; 3] = ["equal-budget", "equal-throughput", BACKGROUND];

/// What a policy may know of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowView {
    /// The flow.
    pub flow: FlowId,
    /// Its weight.
    pub weight: f64,
    /// What it was given last, $/s.
    pub target: f64,
    /// What it spends now, $/s.
    pub spending: f64,
    /// Its path's price, $/byte; 0 while it is unknown.
    pub price: f64,
    /// Its smoothed round-trip time, s; 0 while it is unknown.
    pub rtt: f64,
    /// The most that it can send, bytes per second.
    pub cap: f64,
}

impl FlowView {
    /// What it sends, bytes per second: r = w / p.
    pub fn rate(&self) -> f64 {
        if self.price > 0.0 { (self.spending / self.price).min(self.cap) } else { 0.0 }
    }
}

/// What a policy may know of its group.
#[derive(Debug, Clone, Copy)]
pub struct GroupView<'a> {
    /// The time.
    pub now: Time,
    /// What is to be split, $/s.
    pub budget: f64,
    /// The open flows, in the order in which they opened.
    pub flows: &'a [FlowView],
    /// The average round-trip time of those that know theirs, s.
    pub rtt: f64,
    /// Whether flows came or went or the budget changed; else it is the regular look.
    pub changed: bool,
}

/// Splits a group's budget. A policy is made for each group on each host, and may keep state.
pub trait Policy: Send {
    /// Called when something changed, and, if [`Policy::watches`], about every two round trips. `targets` are those of last time,
    /// in the order of the flows, $/s. If their sum is above the budget afterwards, they are scaled down to it.
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]);
    /// Whether it wants the regular look.
    fn watches(&self) -> bool {
        true
    }
}

/// Builds the policy of a group on a host.
pub fn build(plan: &Plan, host: NodeId, group: u32) -> Box<dyn Policy> {
    match plan.policy(host, group) {
        "equal-throughput" => Box::new(EqualThroughput),
        _ => Box::new(EqualBudget),
    }
}

/// Scales `targets` down to `budget` where a policy has given out more; what is no number or negative is nothing.
pub fn within(budget: f64, targets: &mut [f64]) {
    targets.iter_mut().filter(|t| !(t.is_finite() && **t > 0.0)).for_each(|t| *t = 0.0);
    let sum: f64 = targets.iter().sum();
    if sum > budget {
        targets.iter_mut().for_each(|t| *t *= budget / sum);
    }
}
