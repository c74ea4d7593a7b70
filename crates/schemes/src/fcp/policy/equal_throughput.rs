//! Equal throughput (§4.2): the same rate for all flows, so more budget for expensive paths.

use super::{GroupView, Policy};

/// How far targets move towards the solution in one look. Ours: half, for prices answer to what is
/// spent; the paper says only that the budgets of slower flows are increased.
const STEP: f64 = 0.5;

/// Starts from equal budgets; every two round trips, moves budget to flows whose rate is below the
/// average (§6.2).
pub struct EqualThroughput;

impl Policy for EqualThroughput {
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]) {
        let weights: f64 = group.flows.iter().map(|f| f.weight).sum();
        // At equal rates r per weight, flow i spends r·p: budgets in proportion to prices. A flow
        // without a price yet counts as average.
        let known = || group.flows.iter().filter(|f| f.price > 0.0);
        let average = known().map(|f| f.price).sum::<f64>() / known().count().max(1) as f64;
        let price = |p: f64| if p > 0.0 { p } else { average.max(f64::MIN_POSITIVE) };
        let cost: f64 = group.flows.iter().map(|f| f.weight * price(f.price)).sum();
        for (target, flow) in targets.iter_mut().zip(group.flows) {
            let equal = group.budget * flow.weight / weights;
            if group.changed {
                *target = equal;
            }
            let wanted = if average > 0.0 { group.budget * flow.weight * price(flow.price) / cost } else { equal };
            *target += STEP * (wanted - *target);
        }
    }
}
