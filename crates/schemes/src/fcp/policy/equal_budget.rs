//! Equal budget (§4.2): each flow gets budget/n, or by weight; its rate then depends on its path's
//! congestion alone.

use super::{GroupView, Policy};

/// The baseline, and what background flows do with their small share.
pub struct EqualBudget;

impl Policy for EqualBudget {
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]) {
        let all: f64 = group.flows.iter().map(|f| f.weight).sum();
        for (target, flow) in targets.iter_mut().zip(group.flows) {
            *target = group.budget * flow.weight / all;
        }
    }

    fn watches(&self) -> bool {
        false
    }
}
