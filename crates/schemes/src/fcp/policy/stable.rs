//! Statistical bandwidth stability (§4.2): a flow's budget follows its price, so that its rate
//! stays.

use std::collections::BTreeMap;

use midpath_core::packet::FlowKey;

use super::{GroupView, Policy};

/// How fast the rate that is held follows what the flow would get from its fair part. Ours: a
/// fiftieth per look of two round trips, a time constant of a hundred round trips: "the average
/// throughput over a few RTTs is probabilistically stable".
const FOLLOW: f64 = 0.02;

/// A flow is held from when it first sends this part of its fair rate. Ours: a price that was told
/// before the flow paid any says little of the rate that it will have.
const REACHED: f64 = 0.9;

/// Holds the rates of the group's flows, and takes what that costs from the host's other flows.
///
/// "If a bandwidth stability flow's price increases (decreases), we increase (decrease) its budget.
/// When the budget needs to increase, the flow steals budget from other flows." How far depends on
/// "how much budget can be stolen": where the others' budget does not suffice, all of the group's
/// flows give way together.
#[derive(Debug, Default)]
pub struct Stable {
    /// The rate that each flow is held at, bytes per second.
    held: BTreeMap<FlowKey, f64>,
}

impl Policy for Stable {
    fn demand(&mut self, group: &GroupView<'_>) -> Option<f64> {
        self.held.retain(|flow, _| group.flows.iter().any(|f| f.flow == *flow));
        let weights: f64 = group.flows.iter().map(|f| f.weight).sum();
        let mut demand = 0.0;
        for flow in group.flows {
            let equal = group.budget * flow.weight / weights;
            let fair = (equal / flow.price).min(flow.cap);
            let begins = !self.held.contains_key(&flow.flow) && flow.rate() < REACHED * fair;
            if begins || flow.price <= 0.0 {
                demand += equal;
                continue;
            }
            let held = self.held.entry(flow.flow).or_insert(fair);
            if !group.changed {
                *held += FOLLOW * (fair - *held);
            }
            demand += *held * flow.price;
        }
        Some(demand)
    }

    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]) {
        let weights: f64 = group.flows.iter().map(|f| f.weight).sum();
        for (target, flow) in targets.iter_mut().zip(group.flows) {
            let held = self.held.get(&flow.flow).map(|rate| rate * flow.price);
            *target = held.unwrap_or(group.budget * flow.weight / weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flows;
    use super::*;
    use midpath_core::units::Time;

    #[test]
    fn the_rate_stays_when_the_price_doubles() {
        let (mut policy, mut views) = (Stable::default(), flows(1));
        let mut demand = |price| {
            views[0].price = price;
            policy.demand(&GroupView { now: Time::ZERO, budget: 1.0, flows: &views, rtt: 0.1, changed: false })
        };
        // At a price of 1 $/byte its fair rate is 1 byte/s.
        assert_eq!(demand(1.0), Some(1.0));
        // At 2 it would be a half: after one look it has given up a hundredth of the rate, and pays
        // twice for the rest.
        assert!((demand(2.0).unwrap_or(0.0) - 2.0 * 0.99).abs() < 1e-9);
    }

    /// A SYN of a link that nobody pays for is told the minimum price: at that the flow could have a rate
    /// that no link carries, and holding it would cost all that the host has once it has a price.
    #[test]
    fn a_rate_that_a_flow_never_had_is_not_held() {
        let (mut policy, mut views) = (Stable::default(), flows(1));
        let mut demand = |price, spending| {
            (views[0].price, views[0].spending) = (price, spending);
            policy.demand(&GroupView { now: Time::ZERO, budget: 1.0, flows: &views, rtt: 0.1, changed: false })
        };
        assert_eq!(demand(1e-18, 1e-15), Some(1.0));
        assert_eq!(demand(1.0, 1.0), Some(1.0));
    }
}
