//! How a host splits a group's budget over its flows (§4.2): small values that mix freely.

mod equal_budget;
mod equal_throughput;
mod max_throughput;
mod stable;

use midpath_core::packet::FlowKey;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use super::equations;

pub use equal_budget::EqualBudget;
pub use equal_throughput::EqualThroughput;
pub use max_throughput::MaxThroughput;
pub use stable::Stable;

/// The policy whose groups get a small share of the host's budget before all others are served.
pub const BACKGROUND: &str = "background";

/// The policies that ship, by the names that scenarios use.
pub const NAMES: [&str; 5] = ["equal-budget", "equal-throughput", "max-throughput", "stable", BACKGROUND];

/// Makes a policy of one's own for a group on a host.
pub type Factory = std::sync::Arc<dyn Fn() -> Box<dyn Policy> + Send + Sync>;

/// Policies from outside, by name.
pub type CustomPolicies = std::collections::BTreeMap<String, Factory>;

/// The most of a host's budget that groups may take which take from others. Ours: what is left lets
/// the others hear their prices.
pub const MOST: f64 = 0.9;

/// What a policy may know of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowView {
    /// The flow.
    pub flow: FlowKey,
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
    /// What it sends, bytes per second.
    pub fn rate(&self) -> f64 {
        if self.price > 0.0 { equations::rate(self.spending, self.price).min(self.cap) } else { 0.0 }
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
    /// Whether flows of the group came or went; else two round trips have passed.
    pub changed: bool,
}

/// Splits a group's budget. A policy is made for each group on each host, and may keep state.
pub trait Policy: Send {
    /// Called when flows of the group came or went, and, if [`Policy::watches`], about every two round
    /// trips. Where only the group's budget changes in between, the targets grow with it; a policy that
    /// doesn't watch is called. `targets` are those of last time, in the order of the flows, $/s. If their sum is above the
    /// budget afterwards, they are scaled down to it.
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]);
    /// Called before the host's budget is split over its groups: what the group's flows would need
    /// to go on as they are, $/s, if the policy takes budget from other groups for that (or leaves
    /// them some). `group.budget` is its fair part. Bounded by `MOST`.
    fn demand(&mut self, _group: &GroupView<'_>) -> Option<f64> {
        None
    }
    /// Whether it is to be called every two round trips, too.
    fn watches(&self) -> bool {
        true
    }
}

/// Builds the policy `name` for a group on a host. Names have been checked by [`check`].
pub fn build(name: &str, custom: &CustomPolicies) -> Box<dyn Policy> {
    match name {
        "equal-throughput" => Box::new(EqualThroughput),
        "max-throughput" => Box::new(MaxThroughput::default()),
        "stable" => Box::new(Stable::default()),
        _ => custom.get(name).map_or_else(|| Box::new(EqualBudget) as Box<dyn Policy>, |custom| custom()),
    }
}

/// Whether there is a policy `name`; the error is at `key`.
pub fn check(name: &str, key: &str, custom: &CustomPolicies) -> Result<(), SpecError> {
    if NAMES.contains(&name) || custom.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = NAMES.into_iter().chain(custom.keys().map(String::as_str)).collect();
    Err(SpecError::new(key, format!("there is no policy `{name}`; choose one of {}", known.join(", "))))
}

/// Scales `targets` down to `budget` where a policy has given out more; what is no number or
/// negative is nothing.
pub fn within(budget: f64, targets: &mut [f64]) {
    targets.iter_mut().filter(|t| !(t.is_finite() && **t > 0.0)).for_each(|t| *t = 0.0);
    let sum: f64 = targets.iter().sum();
    if sum > budget {
        targets.iter_mut().for_each(|t| *t *= budget / sum);
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};

    use super::*;

    /// Flows at a price of 1 $/byte, spending and given 1 $/s each.
    pub(super) fn flows(n: u32) -> Vec<FlowView> {
        let flow = |i| (FlowId(i), NodeId(1));
        let one =
            |i| FlowView { flow: flow(i), weight: 1.0, target: 1.0, spending: 1.0, price: 1.0, rtt: 0.1, cap: 1e9 };
        (0..n).map(one).collect()
    }

    #[test]
    fn nobody_is_given_more_than_there_is() {
        let mut targets = [3.0, f64::NAN, -1.0, 1.0];
        within(2.0, &mut targets);
        assert_eq!(targets, [1.5, 0.0, 0.0, 0.5]);
        let mut small = [0.5, 0.25];
        within(2.0, &mut small);
        assert_eq!(small, [0.5, 0.25]);
    }

    #[test]
    fn equal_throughput_gives_by_price() {
        let (mut policy, mut views, mut targets) = (EqualThroughput, flows(2), vec![1.0, 1.0]);
        views[1].price = 3.0;
        for _ in 0..30 {
            policy.assign(
                &GroupView { now: Time::ZERO, budget: 2.0, flows: &views, rtt: 0.1, changed: false },
                &mut targets,
            );
        }
        assert!((targets[0] - 0.5).abs() < 1e-6 && (targets[1] - 1.5).abs() < 1e-6, "{targets:?}");
    }
}
