//! Max throughput (§4.2, §6.2): more budget for cheap paths, found by gradient ascent.

use midpath_core::packet::FlowKey;

use super::{GroupView, Policy};

/// By how much an experiment raises one flow's budget. §6.2: "increases its budget by 10 %".
const RAISE: f64 = 0.1;
/// Below this change of throughput the ascent ends. §6.2: "terminates when the throughput
/// difference is less than 0.5 %".
const SAME: f64 = 0.005;
/// A price that has changed by more than this since the ascent ended starts it again. §6.2 says
/// "when it observes a change in the price of a flow"; ours: twice the change that an experiment's
/// own 10 % makes at most, for a steady price moves by a few per cent.
const MOVED: f64 = 0.2;
/// How small a share of the budget a flow may come down to. Ours: at zero it would learn nothing
/// about its path any more.
const LEAST: f64 = 1e-3;

/// An experiment: one flow has got more, all others less.
#[derive(Debug, Clone)]
struct Trial {
    /// The flow's place.
    flow: usize,
    /// Targets before.
    before: Vec<f64>,
    /// Throughput before, bytes per second.
    throughput: f64,
    /// What the group had and spent, $/s.
    budget: f64,
    spent: f64,
    /// Whether the flow got more or less.
    up: bool,
}

/// The state of the ascent.
#[derive(Debug, Default)]
pub struct MaxThroughput {
    trial: Option<Trial>,
    /// Whose turn it is.
    next_flow: usize,
    /// Experiments in a row that changed (almost) nothing.
    idle: usize,
    /// The prices at which the ascent ended.
    rest: Option<Vec<(FlowKey, f64)>>,
}

impl MaxThroughput {
    /// Raises (or lowers) the budget of the flow whose turn it is, and the others' uniformly the
    /// other way.
    fn experiment(&mut self, group: &GroupView<'_>, targets: &mut [f64], up: bool) {
        let flow = self.next_flow % targets.len();
        let (throughput, budget, spent) = (throughput(group), group.budget, spent(group));
        let trial = Trial { flow, before: targets.to_vec(), throughput, budget, spent, up };
        let others: f64 = targets.iter().sum::<f64>() - targets[flow];
        let wanted = if up { RAISE } else { -RAISE } * targets[flow];
        let least = LEAST * group.budget / targets.len() as f64;
        // What the others can give, and the flow can give up.
        let change = wanted.min(others - least * (targets.len() - 1) as f64).max(least - targets[flow]);
        if others <= 0.0 {
            return;
        }
        for (i, target) in targets.iter_mut().enumerate() {
            *target += if i == flow { change } else { -change * *target / others };
        }
        self.trial = Some(trial);
    }

    /// What an experiment has brought: stays with it, or goes back. Where the group's budget has
    /// changed meanwhile, it is what a dollar has brought: spending follows the budget.
    fn judge(&mut self, group: &GroupView<'_>, targets: &mut [f64], trial: Trial) {
        let grown = group.budget / trial.budget;
        let more = if grown == 1.0 { 1.0 } else { spent(group) / trial.spent };
        let gain = throughput(group) / (trial.throughput * more) - 1.0;
        self.idle = if gain.abs() < SAME { self.idle + 1 } else { 0 };
        if gain <= 0.0 {
            targets.iter_mut().zip(&trial.before).for_each(|(target, before)| *target = before * grown);
        }
        // The gradient direction: if more was worse, less is tried next; else the next flow has its
        // turn.
        if gain < -SAME && trial.up {
            self.next_flow = trial.flow;
            return self.experiment(group, targets, false);
        }
        self.next_flow = trial.flow + 1;
    }

    fn moved(&self, group: &GroupView<'_>) -> bool {
        let Some(rest) = &self.rest else { return false };
        rest.iter().zip(group.flows).any(|((_, was), f)| (f.price / was - 1.0).abs() > MOVED)
    }
}

/// What the group sends, bytes per second.
fn throughput(group: &GroupView<'_>) -> f64 {
    group.flows.iter().map(super::FlowView::rate).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// What the group spends, $/s.
fn spent(group: &GroupView<'_>) -> f64 {
    group.flows.iter().map(|flow| flow.spending).sum::<f64>().max(f64::MIN_POSITIVE)
}

impl Policy for MaxThroughput {
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]) {
        if group.changed {
            *self = MaxThroughput::default();
            return super::EqualBudget.assign(group, targets);
        }
        if targets.len() < 2 || group.flows.iter().any(|f| f.price <= 0.0) {
            return;
        }
        if self.moved(group) {
            (self.rest, self.idle) = (None, 0);
        }
        if self.rest.is_some() {
            return;
        }
        if let Some(trial) = self.trial.take() {
            self.judge(group, targets, trial);
        }
        if self.trial.is_some() {
            return;
        }
        if self.idle >= targets.len() {
            self.rest = Some(group.flows.iter().map(|f| (f.flow, f.price)).collect());
            return;
        }
        self.experiment(group, targets, true);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flows;
    use super::*;
    use midpath_core::units::Time;

    /// Two links of 250 and 50 shared with budgets of 1.5 and 0.5: the paper's figure 18.
    fn rates(x: &[f64]) -> [f64; 2] {
        [250.0 * x[0] / (x[0] + 1.5), 50.0 * x[1] / (x[1] + 0.5)]
    }

    #[test]
    fn it_climbs_to_the_top_of_figure_18() {
        let (mut policy, mut x) = (MaxThroughput::default(), vec![1.0, 1.0]);
        let mut views = flows(2);
        for call in 0..200 {
            let r = rates(&x);
            views.iter_mut().zip(&x).zip(r).for_each(|((v, x), r)| (v.spending, v.price, v.target) = (*x, x / r, *x));
            let view = GroupView { now: Time::from_ms(call), budget: 2.0, flows: &views, rtt: 0.1, changed: call == 0 };
            policy.assign(&view, &mut x);
            assert!((x[0] + x[1] - 2.0).abs() < 1e-9, "{x:?}");
        }
        // 151.6 at X = 1.68; the ascent ends where a step changes less than 0.5 %.
        let total = rates(&x).iter().sum::<f64>();
        assert!(total > 150.0 && x[0] > 1.4 && x[0] < 1.85, "{x:?}: {total}");
    }

    /// §6.2: "when it observes a change in the price of a flow", it begins again.
    #[test]
    fn another_price_starts_the_ascent_again() {
        let (mut policy, mut views, mut x) = (MaxThroughput::default(), flows(2), vec![1.0, 1.0]);
        let mut looks = |price: f64, times: usize| {
            views[0].price = price;
            for _ in 0..times {
                views.iter_mut().zip(&x).for_each(|(view, x)| (view.spending, view.target) = (*x, *x));
                let now = Time::ZERO;
                policy.assign(&GroupView { now, budget: 2.0, flows: &views, rtt: 0.1, changed: false }, &mut x);
            }
            x.clone()
        };
        // At equal prices no split is better than another: it rests.
        let rests = looks(1.0, 10);
        assert_eq!(looks(1.0, 10), rests);
        assert_eq!(looks(1.1, 10), rests, "prices move a little all the time");
        let again = looks(0.5, 400);
        assert!(again[0] > 1.9, "what has become cheap gets more: {again:?}");
    }
}
