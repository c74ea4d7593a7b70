//! A host's budget: one account for each open flow, and the split (invariant 1).
//!
//! The budget is split in two steps. Groups with open flows share it by their weights; background
//! groups share a small part of it first (§6.2). Then each group's [`Policy`] splits the group's
//! part over its flows. This gives a flow's *target*; what it *spends* follows a round trip later, when the network
//! knows (see `endpoint.rs`).

use std::collections::BTreeMap;

use midpath_core::packet::{FlowKey, NodeId};
use midpath_core::table::more;
use midpath_core::units::Time;

use super::equations;
use super::policy::{self, FlowView, GroupView, Policy};
use super::recent::LongSecond;
use super::resolved::Resolved;

/// One open flow's account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// Its group.
    pub group: u32,
    /// Its weight.
    pub weight: f64,
    /// x: what the policy gives it, $/s.
    pub target: f64,
    /// w: what the network knows that it spends, $/s.
    pub spending: f64,
    /// The path's price, $/byte; 0 while it is unknown.
    pub price: f64,
    /// Smoothed round-trip time, s.
    pub rtt: f64,
    /// The most that it can send, bytes per second: what its host's link carries.
    pub cap: f64,
    /// Its application has said nothing yet.
    pub idle: bool,
}

/// What a flow weighs whose application has said nothing yet. Ours: others have its budget meanwhile.
pub const IDLE: f64 = 1e-3;

impl Account {
    /// Whether no sum of money, time or rate is negative or no number.
    fn is_sound(&self) -> bool {
        [self.weight, self.target, self.spending, self.price, self.rtt, self.cap].iter().all(|value| *value >= 0.0)
    }

    fn view(&self, flow: FlowKey) -> FlowView {
        let Account { target, spending, price, rtt, cap, .. } = *self;
        let weight = self.weight * if self.idle { IDLE } else { 1.0 };
        FlowView { flow, weight, target, spending, price, rtt, cap }
    }
}

/// Accounts in the order of their flows: a B-tree's nodes would be half empty, for flows open in that order.
#[derive(Default)]
struct Accounts(Vec<(FlowKey, Account)>);

impl Accounts {
    #[inline]
    fn place(&self, flow: FlowKey) -> Result<usize, usize> {
        self.0.binary_search_by_key(&flow, |known| known.0)
    }

    #[inline]
    fn get(&self, flow: FlowKey) -> Option<&Account> {
        self.place(flow).ok().map(|place| &self.0[place].1)
    }

    #[inline]
    fn get_mut(&mut self, flow: FlowKey) -> Option<&mut Account> {
        self.place(flow).ok().map(|place| &mut self.0[place].1)
    }

    fn of_open(&self, flow: FlowKey) -> &Account {
        self.get(flow).expect("open")
    }

    fn set_target(&mut self, flow: FlowKey, target: f64) {
        debug_assert!(target >= 0.0, "{flow:?} is given {target} $/s");
        self.get_mut(flow).expect("open").target = target;
    }

    fn insert(&mut self, flow: FlowKey, account: Account) {
        match self.place(flow) {
            Ok(place) => self.0[place].1 = account,
            Err(place) => {
                if self.0.len() == self.0.capacity() {
                    self.0.reserve_exact(more(self.0.len()));
                }
                self.0.insert(place, (flow, account));
            }
        }
    }

    fn remove(&mut self, flow: FlowKey) -> Option<Account> {
        self.place(flow).ok().map(|place| self.0.remove(place).1)
    }

    fn iter(&self) -> impl Iterator<Item = &Account> {
        self.0.iter().map(|known| &known.1)
    }
}

/// One host's accounts. Lives in what the host's endpoints share.
#[derive(Default)]
pub struct Host {
    accounts: Accounts,
    groups: BTreeMap<u32, GroupBudget>,
    /// Σ w over the open flows, $/s.
    spending: f64,
    /// What was announced lately, $/s.
    announced: LongSecond,
}

/// One group's part of a host's budget.
struct GroupBudget {
    policy: Box<dyn Policy>,
    flows: Vec<FlowKey>,
    /// What it has by weight, what its policy demands instead, and what it gets, $/s.
    fair: f64,
    demand: Option<f64>,
    budget: f64,
    /// When the policy looks again.
    next: Time,
}

impl Host {
    /// A flow opens.
    pub fn open(&mut self, flow: FlowKey, account: Account, host: NodeId, params: &Resolved, now: Time) {
        let part = self.groups.entry(account.group).or_insert_with(|| GroupBudget {
            policy: policy::build(params.policy(host, account.group), &params.custom),
            flows: Vec::new(),
            fair: 0.0,
            demand: None,
            budget: 0.0,
            next: Time::ZERO,
        });
        part.flows.push(flow);
        self.spending += account.spending;
        self.accounts.insert(flow, account);
        self.share(account.group, true, host, params, now);
    }

    /// A flow is over: its budget is the others'.
    pub fn close(&mut self, flow: FlowKey, host: NodeId, params: &Resolved, now: Time) {
        let Some(account) = self.accounts.remove(flow) else { return };
        self.sum_up();
        if let Some(part) = self.groups.get_mut(&account.group) {
            part.flows.retain(|f| *f != flow);
            if part.flows.is_empty() {
                self.groups.remove(&account.group);
            }
        }
        self.share(account.group, true, host, params, now);
    }

    /// A flow's application has said nothing yet, or begins: its budget is the others' until then, and
    /// what it could spend counts for nothing.
    pub fn rest(&mut self, flow: FlowKey, idle: bool, host: NodeId, params: &Resolved, now: Time) {
        let Some(account) = self.accounts.get_mut(flow).filter(|account| account.idle != idle) else { return };
        account.idle = idle;
        let group = account.group;
        self.sum_up();
        self.share(group, true, host, params, now);
    }

    /// Sums anew what all spend, now and then, so that rounding does not add up.
    fn sum_up(&mut self) {
        self.spending = self.accounts.iter().filter(|a| !a.idle).map(|a| a.spending).sum();
    }

    /// What a flow has.
    #[inline]
    pub fn account(&self, flow: FlowKey) -> Option<&Account> {
        self.accounts.get(flow)
    }

    /// What a flow may spend now, $/s: what the network knows of it, scaled down where all flows
    /// together would spend more than the budget. That is invariant (1), whatever the policies and
    /// round-trip times.
    #[inline]
    pub fn allowance(&self, flow: FlowKey, budget: f64) -> f64 {
        let spending = self.accounts.get(flow).map_or(0.0, |a| a.spending);
        equations::within_budget(spending, self.spending, budget)
    }

    /// What may be announced now, $/s, where `most` is all that may be in a second.
    pub fn may_announce(&mut self, most: f64, now: Time) -> f64 {
        (most - self.announced.sum(now)).max(0.0)
    }

    /// A flow announces a change, $/s.
    pub fn announce(&mut self, change: f64, now: Time) {
        self.announced.add(now, change);
    }

    /// A flow has heard from the network. Lets its group's policy assign again when two average round
    /// trips have passed (§6.2: "reassign every 2 average RTTs").
    pub fn on_feedback(
        &mut self,
        flow: FlowKey,
        change: impl FnOnce(&mut Account),
        host: NodeId,
        params: &Resolved,
        now: Time,
    ) {
        let Some(account) = self.accounts.get_mut(flow) else { return };
        let before = account.spending;
        change(account);
        debug_assert!(account.is_sound(), "{account:?}");
        if !account.idle {
            self.spending += account.spending - before;
        }
        let group = account.group;
        let Some(part) = self.groups.get_mut(&group) else { return };
        if !part.policy.watches() || now < part.next {
            return;
        }
        let view = part.snapshot(&self.accounts, now, false);
        part.next = now.saturating_add(Time::from_secs_f64(2.0 * view.rtt));
        match part.policy.demand(&view.of(part.fair)) {
            // It takes from the other groups: all are split anew.
            Some(demand) => {
                part.demand = Some(demand);
                self.share(group, false, host, params, now);
            }
            None => part.assign(&mut self.accounts, &view),
        }
    }

    /// Splits the host's budget over its groups, and that of `mine` over its flows: some of these have
    /// come or gone (`changed`), or it is time to look. Other groups' policies are not asked: each group
    /// has its own (§4.2), and only its budget is another.
    fn share(&mut self, mine: u32, changed: bool, host: NodeId, params: &Resolved, now: Time) {
        self.fair_shares(host, params);
        if let Some(part) = self.groups.get_mut(&mine).filter(|_| changed) {
            let view = part.snapshot(&self.accounts, now, true);
            part.demand = part.policy.demand(&view.of(part.fair));
        }
        let before = self.budgets(params.budget(host));
        for ((group, part), before) in self.groups.iter_mut().zip(before) {
            if *group == mine || !part.policy.watches() {
                let view = part.snapshot(&self.accounts, now, changed && *group == mine);
                part.assign(&mut self.accounts, &view);
            } else {
                part.follow(before, &mut self.accounts);
            }
        }
        debug_assert!(self.is_within(params.budget(host)), "groups overspend {} $/s", params.budget(host));
    }

    /// Whether the groups' budgets are within the host's, and the flows' targets within their group's.
    fn is_within(&self, budget: f64) -> bool {
        let within = |parts: f64, of: f64| (0.0..=of * (1.0 + 1e-9)).contains(&parts);
        let targets = |part: &GroupBudget| part.flows.iter().map(|flow| self.accounts.of_open(*flow).target).sum();
        within(self.groups.values().map(|part| part.budget).sum(), budget)
            && self.groups.values().all(|part| within(targets(part), part.budget))
    }

    /// Splits the host's budget over its groups; what each had before, $/s. Those that demand are
    /// served first, the others share what is left as they shared before.
    fn budgets(&mut self, budget: f64) -> Vec<f64> {
        let demanded: f64 = self.groups.values().filter_map(|p| p.demand).sum();
        let scale = if demanded > policy::MOST * budget { policy::MOST * budget / demanded } else { 1.0 };
        let fair = |demands: bool| -> f64 {
            self.groups.values().filter(|p| p.demand.is_some() == demands).map(|p| p.fair).sum()
        };
        let (of_demanding, of_others) = (fair(true), fair(false));
        let split = |part: &mut GroupBudget| {
            let now = match part.demand {
                Some(demand) if of_others > 0.0 => demand * scale,
                // Alone on their host, they have it all.
                Some(demand) => budget * demand / demanded,
                None => part.fair * (budget - demanded * scale) / (budget - of_demanding),
            };
            std::mem::replace(&mut part.budget, now)
        };
        self.groups.values_mut().map(split).collect()
    }

    /// What each group has by its weight: background groups a small share of the budget, the others
    /// the rest.
    fn fair_shares(&mut self, host: NodeId, params: &Resolved) {
        let budget = params.budget(host);
        let background = |g: u32| params.policy(host, g) == policy::BACKGROUND;
        let weights = |back: bool| -> f64 {
            self.groups.keys().filter(|g| background(**g) == back).map(|g| params.group(*g).weight).sum()
        };
        let (front, back) = (weights(false), weights(true));
        let share = if back > 0.0 { params.given.background_share } else { 0.0 };
        for (group, part) in &mut self.groups {
            let weight = params.group(*group).weight;
            part.fair = if background(*group) {
                budget * share * weight / back
            } else {
                budget * (1.0 - share) * weight / front
            };
        }
    }
}

/// A group's flows as they stand.
struct Snapshot {
    now: Time,
    flows: Vec<FlowView>,
    rtt: f64,
    changed: bool,
}

impl Snapshot {
    fn of(&self, budget: f64) -> GroupView<'_> {
        GroupView { now: self.now, budget, flows: &self.flows, rtt: self.rtt, changed: self.changed }
    }
}

impl GroupBudget {
    fn snapshot(&self, accounts: &Accounts, now: Time, changed: bool) -> Snapshot {
        let flows: Vec<FlowView> = self.flows.iter().map(|f| accounts.of_open(*f).view(*f)).collect();
        let known = || flows.iter().filter(|f| f.rtt > 0.0);
        let rtt = known().map(|f| f.rtt).sum::<f64>() / known().count().max(1) as f64;
        Snapshot { now, flows, rtt, changed }
    }

    /// The group's budget was `before`, and that is all that has changed: its flows' parts of it stay.
    /// A policy that demands has said what its flows need; that is bounded only.
    fn follow(&self, before: f64, accounts: &mut Accounts) {
        let mut targets: Vec<f64> = self.flows.iter().map(|f| accounts.of_open(*f).target).collect();
        if self.demand.is_none() && before > 0.0 {
            targets.iter_mut().for_each(|target| *target *= self.budget / before);
        }
        policy::within(self.budget, &mut targets);
        for (flow, target) in self.flows.iter().zip(targets) {
            accounts.set_target(*flow, target);
        }
    }

    /// Splits the group's budget.
    fn assign(&mut self, accounts: &mut Accounts, snapshot: &Snapshot) {
        let mut targets: Vec<f64> = snapshot.flows.iter().map(|f| f.target).collect();
        self.policy.assign(&snapshot.of(self.budget), &mut targets);
        policy::within(self.budget, &mut targets);
        for (flow, target) in self.flows.iter().zip(targets) {
            accounts.set_target(*flow, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::FlowId;

    use super::*;
    use crate::fcp::FcpParams;
    use crate::fcp::policy::CustomPolicies;

    /// Connections are mostly silent: without this each took as much of the budget as the one that sends.
    #[test]
    fn who_has_said_nothing_yet_leaves_its_budget_to_the_others() {
        let params = FcpParams { budget: 9.0, ..FcpParams::default() };
        let params = params.resolve(CustomPolicies::default()).expect("valid");
        let (host, now) = (NodeId(0), Time::ZERO);
        let account = Account {
            group: 0,
            weight: 1.0,
            target: 0.0,
            spending: 2.0,
            price: 0.0,
            rtt: 0.0,
            cap: f64::INFINITY,
            idle: false,
        };
        let mut all = Host::default();
        (0..3).for_each(|flow| all.open((FlowId(flow), NodeId(1)), account, host, &params, now));
        let targets = |all: &Host| [0, 1, 2].map(|flow| all.account((FlowId(flow), NodeId(1))).expect("open").target);
        assert_eq!(targets(&all), [3.0; 3]);
        [1, 2].iter().for_each(|flow| all.rest((FlowId(*flow), NodeId(1)), true, host, &params, now));
        let [busy, silent, _] = targets(&all);
        assert!(busy > 8.98 && silent < 0.01, "{busy} {silent}");
        // What the silent ones could spend takes nothing from what it may: 2 of 9 $/s, and not 2 of 6.
        assert_eq!(all.allowance((FlowId(0), NodeId(1)), 2.0), 2.0);
        all.rest((FlowId(1), NodeId(1)), false, host, &params, now);
        let [first, second, silent] = targets(&all);
        assert!(first == second && first > 4.49 && silent < 0.01, "{first} {second} {silent}");
    }
}
