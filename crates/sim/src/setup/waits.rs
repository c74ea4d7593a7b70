//! Flows that start when others have ended: whether the scenario's `after` can come true, and what the engine is
//! told of it.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use midpath_core::node::Release;
use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::End;
use midpath_core::spec::SpecError;
use midpath_core::suggest;
use midpath_core::units::Time;
use midpath_traffic::{After, ConnectionPool, Number, WaitFor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::AllFlows;
use super::pooled::Pooled;
use crate::engine::{Call, GIVE_UP, NetLink, Order, Player, Pool, Server, Wait, WaitDetails, Waits, pack};

/// Whether each `after` names groups whose flows end, and none waits for itself.
pub(super) fn check(flows: &AllFlows) -> Result<(), SpecError> {
    let (terms, afters) = (flows.terms(), flows.afters());
    if afters.is_empty() {
        return Ok(());
    }
    let groups: BTreeSet<&str> = terms.iter().map(|terms| &*terms.group).collect();
    let ends = afters.iter().rev().filter(|after| after.bytes.is_none());
    let awaited: BTreeMap<&str, &After> =
        ends.flat_map(|after| after.groups.iter().map(move |group| (&**group, after))).collect();
    for after in afters {
        if let Some(name) = after.groups.iter().find(|name| !groups.contains(&***name)) {
            return Err(after.refuse(name, suggest::unknown("group", name, groups.iter().copied())));
        }
    }
    let endless = |info: &super::FlowInfo<'_>| info.flow.size.is_none() && awaited.contains_key(&*info.flow.group);
    if let Some(endless) = flows.iter().find(endless) {
        let group = &*endless.flow.group;
        let message = format!("a flow of `{group}` has no end to wait for; give it a `size`");
        return Err(awaited[group].refuse(group, message));
    }
    check_bytes(flows)?;
    check_cycles(flows)
}

/// Whether flows have the bytes that others wait for.
fn check_bytes(flows: &AllFlows) -> Result<(), SpecError> {
    let awaited = awaited_bytes(flows);
    for (i, info) in flows.iter().enumerate() {
        let group = &info.flow.group;
        for after in awaited.get(&**group).into_iter().flatten().map(|i| &flows.afters()[*i]) {
            let bytes = after.bytes.unwrap_or_default();
            if flows.connection(i).is_some() {
                let message = format!(
                    "messages of `{group}` share connections; leave `after_bytes` out, and wait for their ends"
                );
                return Err(after.refuse(group, message));
            }
            if let Some(size) = info.flow.size.filter(|size| *size < bytes) {
                let message = format!("a flow of `{group}` has only {size}, and `after_bytes` is {bytes}; reduce that");
                return Err(after.refuse(group, message));
            }
        }
    }
    Ok(())
}

/// The `after`s that wait for bytes of each group's flows, by number, in order.
pub(super) fn awaited_bytes(flows: &AllFlows) -> FxHashMap<&str, Vec<usize>> {
    let mut found = FxHashMap::<&str, Vec<usize>>::default();
    for (i, after) in flows.afters().iter().enumerate().filter(|(_, after)| after.bytes.is_some()) {
        after.groups.iter().for_each(|group| found.entry(group).or_default().push(i));
    }
    found
}

/// Whether flows of clients and jobs are opened by their senders, which know when what they wait for has come.
pub(super) fn check_openers(flows: &AllFlows) -> Result<(), SpecError> {
    let clients = flows.clients().iter().enumerate().map(|(i, client)| (format!("client[{i}]"), client.first));
    let jobs = flows.jobs().iter().enumerate().map(|(i, job)| (format!("job[{i}]"), job.first));
    let opened_by_receiver = |(_, first): &(String, usize)| flows.get(*first).opener == End::Destination;
    let message = "receivers open this scheme's flows, and only the sender knows when to; give it another `scheme`";
    clients.chain(jobs).find(opened_by_receiver).map_or(Ok(()), |(key, _)| Err(SpecError::new(key, message)))
}

/// Takes away groups whose flows wait for none that is left, until all are gone, or wait for each other.
fn check_cycles(flows: &AllFlows) -> Result<(), SpecError> {
    let (terms, afters) = (flows.terms(), flows.afters());
    let of_flow = |info: super::FlowInfo<'_>| match info.flow.wait {
        Some(WaitFor::Groups(after)) => Some((info.flow.terms_number, after)),
        _ => None,
    };
    let of_flows: FxHashSet<(u32, u32)> = flows.iter().filter_map(of_flow).collect();
    let of_flows = of_flows.into_iter().map(|(number, after)| (&*terms[number as usize].group, after as usize));
    let of_steps = afters.iter().enumerate().filter_map(|(i, after)| Some((after.by.as_deref()?, i)));
    // Who waits for whom, and the first `after` that says so.
    let mut open = BTreeMap::<&str, BTreeMap<&str, usize>>::new();
    let mut waiting = BTreeMap::<&str, Vec<&str>>::new();
    for terms in terms {
        open.entry(&terms.group).or_default();
    }
    for (group, i) in of_flows.chain(of_steps) {
        for awaited in &afters[i].groups {
            match open.entry(group).or_default().entry(awaited) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(i);
                    waiting.entry(awaited).or_default().push(group);
                }
                std::collections::btree_map::Entry::Occupied(mut place) => *place.get_mut() = i.min(*place.get()),
            }
        }
    }
    let mut left: BTreeMap<&str, usize> = open.iter().map(|(group, after)| (*group, after.len())).collect();
    let mut ready: Vec<&str> = left.iter().filter(|(_, left)| **left == 0).map(|(group, _)| *group).collect();
    while let Some(group) = ready.pop() {
        left.remove(group);
        for other in waiting.remove(group).unwrap_or_default() {
            let count = left.entry(other).or_default();
            *count -= 1;
            if *count == 0 {
                ready.push(other);
            }
        }
    }
    // Who waits for one that is left is left: from any of them on, a group comes up again.
    let Some((&first, _)) = left.iter().next() else { return Ok(()) };
    let mut way = vec![first];
    let again = loop {
        let next = open[way[way.len() - 1]].keys().find(|group| left.contains_key(**group)).copied().unwrap_or(first);
        if let Some(at) = way.iter().position(|group| *group == next) {
            break at;
        }
        way.push(next);
    };
    let (group, next) = (way[again], way.get(again + 1).copied().unwrap_or(way[again]));
    let cycle: Vec<String> = way[again..].iter().chain([&group]).map(|group| format!("`{group}`")).collect();
    let message = format!(
        "would wait for itself: {}; give the flows that wait a `group` of their own, and end the circle",
        cycle.join(" after ")
    );
    Err(afters[open[group][next]].refuse(next, message))
}

/// The waits while they are made: those for groups, then the steps.
struct Plan<'a> {
    flows: &'a AllFlows,
    groups: Vec<Wait>,
    /// The waits of `after`s, by number and node.
    known: FxHashMap<(u32, NodeId), u32>,
    /// The waits for each `after`.
    of_after: Vec<Vec<u32>>,
    /// What steps wait for beside their own ends.
    more_ends: FxHashMap<u32, u32>,
}

/// Which flows wait for which.
struct FlowOrder {
    flows: Arc<AllFlows>,
    pooled: Arc<Pooled>,
    groups: Vec<Wait>,
    more_ends: FxHashMap<u32, u32>,
    /// The waits for the end of flows, by number of their terms, and those for some of their bytes.
    of_terms: Vec<Arc<[u32]>>,
    of_bytes: FxHashMap<(u32, u64), Vec<u32>>,
}

impl FlowOrder {
    fn first_step(&self) -> u32 {
        self.groups.len() as u32
    }

    fn step_of(&self, wait: u32) -> Option<usize> {
        wait.checked_sub(self.first_step()).map(|step| step as usize)
    }
}

impl Order for FlowOrder {
    fn wait(&self, wait: u32) -> Wait {
        let Some(i) = self.step_of(wait) else { return self.groups[wait as usize] };
        let step = self.flows.steps()[i];
        Wait { node: NodeId(step.node), ends: step.ends + self.more_ends.get(&(i as u32)).copied().unwrap_or(0) }
    }
    fn details(&self, wait: u32) -> Option<WaitDetails> {
        let (i, first) = (self.step_of(wait)?, self.first_step());
        let said = self.flows.rare(i)?;
        let of = |step: Option<Number>| step.map(|step| first + step.get());
        Some(WaitDetails {
            then: said.then.map(|(next, later)| (first + next.get(), later)),
            call: said.call.and(self.flows.call(i)).map(|call| Call { after: of(call.after), over: call.over() }),
            server: said.server.map(Number::get),
            twin: of(said.twin),
        })
    }
    fn more_then(&self, wait: u32, tell: &mut dyn FnMut(u32, Time)) {
        let (first, step) = (self.first_step(), self.step_of(wait));
        let all = step.into_iter().flat_map(|step| self.flows.more_then(step as u32));
        all.for_each(|(next, later)| tell(first + next, *later));
    }
    fn followers(&self, flow: FlowId, at: NodeId, tell: &mut dyn FnMut(u32)) {
        if let Some(info) = self.flows.find(flow).filter(|info| info.flow.dst == at.0) {
            self.of_terms[info.flow.terms_number as usize].iter().for_each(|wait| tell(*wait));
            self.flows.counts_for(flow.0 as usize).for_each(|step| tell(self.first_step() + step));
        }
    }
    fn waits_for(&self, flow: FlowId, bytes: u64, tell: &mut dyn FnMut(u32)) {
        let terms = self.flows.find(flow).map_or(u32::MAX, |info| info.flow.terms_number);
        self.of_bytes.get(&(terms, bytes)).into_iter().flatten().for_each(|wait| tell(*wait));
    }
    fn is_message(&self, flow: FlowId) -> bool {
        self.flows.connection(flow.0 as usize).is_some()
    }
    fn opens(&self, flow: FlowId) -> Option<FlowId> {
        self.pooled.opens(flow.0).map(FlowId)
    }
    fn pool_of(&self, flow: FlowId) -> Option<u32> {
        self.flows.pool_of(flow.0 as usize)
    }
    fn assign(&self, flow: FlowId, connection: u32) {
        self.pooled.assign(flow.0, connection);
    }
    fn rank(&self, flow: FlowId) -> u8 {
        self.flows.rank(flow.0 as usize)
    }
    fn frees(&self, wait: u32) -> Option<(u32, u32)> {
        let request = self.flows.frees(self.step_of(wait)? as u32)?;
        self.flows.pool_of(request as usize).zip(self.pooled.assigned(request))
    }
    fn later(&self, flow: FlowId) -> Time {
        self.flows.find(flow).map_or(Time::ZERO, |info| info.flow.start)
    }
    fn guard(&self, flow: FlowId) -> Option<u32> {
        Some(self.first_step() + self.flows.guard(flow.0 as usize)?)
    }
    fn guarded_by(&self, wait: u32, tell: &mut dyn FnMut(FlowId)) {
        let step = self.step_of(wait);
        step.into_iter().flat_map(|i| self.flows.guarded_by(i as u32)).for_each(|flow| tell(FlowId(flow)));
    }
}

/// The waits of a network with these links; `None` where no flow waits.
pub(super) fn waits(
    flows: &Arc<AllFlows>,
    pooled: &Arc<Pooled>,
    links: &[NetLink],
    nodes: usize,
) -> Option<Arc<Waits>> {
    if flows.afters().is_empty() && flows.steps().is_empty() {
        return None;
    }
    let plan = Plan::new(flows);
    let by_group = plan.by_group();
    let delays = plan.delays(&by_group, links, nodes);
    let (first, released) = plan.released();
    let known = plan.starts_at_known_times();
    let of_terms = flows.terms().iter().map(|terms| by_group.get(&*terms.group).cloned().unwrap_or_default()).collect();
    let of_bytes = plan.by_bytes();
    let servers = flows.servers().iter().map(|server| Server::new(server.workers, server.shares)).collect();
    let pool = |(number, pool): (u32, &ConnectionPool)| {
        let player = flows.video(number).cloned().map(Player::new);
        Pool::new(pool.connections as usize, pool.streams, pool.keeps).with_player(player)
    };
    let pools = (0..).zip(flows.pools()).map(pool).collect();
    let Plan { groups, more_ends, .. } = plan;
    let order =
        Box::new(FlowOrder { flows: flows.clone(), pooled: pooled.clone(), groups, more_ends, of_terms, of_bytes });
    Some(Arc::new(Waits { first, released, known, servers, pools, delays, order }))
}

impl Plan<'_> {
    /// A wait for each `after` and node where flows wait for it, in the order of their flows; then the steps.
    fn new(flows: &AllFlows) -> Plan<'_> {
        let of_after = vec![Vec::new(); flows.afters().len()];
        let (groups, known, more_ends) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        let mut plan = Plan { flows, groups, known, of_after, more_ends };
        for info in flows.iter() {
            let Some(WaitFor::Groups(after)) = info.flow.wait else { continue };
            let node = info.ends().0;
            if let Entry::Vacant(place) = plan.known.entry((after, node)) {
                let number = plan.groups.len() as u32;
                place.insert(number);
                plan.of_after[after as usize].push(number);
                plan.groups.push(Wait { node, ..Wait::default() });
            }
        }
        let first_step = plan.groups.len() as u32;
        // Only where there is an `after` steps wait for one.
        let steps = if flows.afters().is_empty() { 0 } else { flows.steps().len() };
        for (i, after) in (0..steps).filter_map(|i| Some((i, flows.rare(i)?.after?))) {
            plan.of_after[after.get() as usize].push(first_step + i as u32);
        }
        plan.count_groups();
        plan
    }

    fn first_step(&self) -> u32 {
        self.groups.len() as u32
    }

    fn node(&self, wait: u32) -> NodeId {
        let step = || NodeId(self.flows.steps()[(wait - self.first_step()) as usize].node);
        self.groups.get(wait as usize).map_or_else(step, |wait| wait.node)
    }

    /// Requests that may be asked again or given up, with the number of the step that ends them.
    fn calls(&self) -> impl Iterator<Item = (u32, midpath_traffic::Call)> {
        (0..self.flows.steps().len()).filter_map(|i| Some((i as u32, self.flows.call(i)?)))
    }

    /// Where what each wait releases begins, and what that is.
    fn released(&self) -> (Vec<u32>, Vec<u32>) {
        let first_step = self.first_step();
        let wait_of = |info: &super::FlowInfo<'_>| match info.flow.wait? {
            WaitFor::Groups(after) => Some(self.known[&(after, info.ends().0)]),
            WaitFor::Step(step) => Some(first_step + step),
        };
        let alarm = |(step, call): (u32, midpath_traffic::Call)| {
            call.over()?;
            Some((first_step + call.after?.get(), pack(Release::Alarm(GIVE_UP | (first_step + step)))))
        };
        let starts = self.flows.iter().enumerate();
        let starts = starts.filter_map(|(i, info)| Some((wait_of(&info)?, pack(Release::Start(FlowId(i as u32))))));
        let both = || starts.clone().chain(self.calls().filter_map(alarm));
        // Counted, then filled in from the end of each part on, which is where it then begins.
        let mut first = vec![0u32; self.first_step() as usize + self.flows.steps().len() + 1];
        both().for_each(|(wait, _)| first[wait as usize] += 1);
        let mut sum = 0;
        for place in &mut first {
            sum += *place;
            *place = sum;
        }
        let mut released = vec![0; sum as usize];
        both().for_each(|(wait, what)| {
            let place = &mut first[wait as usize];
            *place -= 1;
            released[*place as usize] = what;
        });
        for wait in 0..first.len() - 1 {
            released[first[wait] as usize..first[wait + 1] as usize].reverse();
        }
        (first, released)
    }

    /// What is released at times that are known, unless it has become needless: copies of first requests, and their
    /// alarms.
    fn starts_at_known_times(&self) -> Vec<(NodeId, Time, Release)> {
        let of_call = |(step, call): (u32, midpath_traffic::Call)| {
            let node = NodeId(self.flows.steps()[step as usize].node);
            let alarm = Release::Alarm(GIVE_UP | (self.first_step() + step));
            let copies = self.flows.guarded_by(step);
            let copies = copies.map(|flow| (self.flows.get(flow as usize).flow.start, Release::Start(FlowId(flow))));
            let alarm = call.over().map(|at| (at, alarm));
            copies.chain(alarm).map(move |(at, what)| (node, at, what)).collect::<Vec<_>>()
        };
        self.calls().filter(|(_, call)| call.after.is_none()).flat_map(of_call).collect()
    }

    /// Adds the flows of groups to what waits for these groups count.
    fn count_groups(&mut self) {
        let mut sizes = FxHashMap::<&str, u64>::default();
        self.flows.iter().for_each(|info| *sizes.entry(&info.flow.terms.group).or_default() += 1);
        for (after, waits) in self.flows.afters().iter().zip(&self.of_after) {
            let ends: u64 = after.groups.iter().map(|group| sizes[&**group]).sum();
            for wait in waits {
                match wait.checked_sub(self.groups.len() as u32) {
                    None => self.groups[*wait as usize].ends += ends as u32,
                    Some(step) => *self.more_ends.entry(step).or_default() += ends as u32,
                }
            }
        }
    }

    /// The waits for the flows of each group.
    fn by_group(&self) -> FxHashMap<Arc<str>, Arc<[u32]>> {
        let mut found = FxHashMap::<Arc<str>, Vec<u32>>::default();
        for (after, waits) in self.flows.afters().iter().zip(&self.of_after).filter(|(after, _)| after.bytes.is_none())
        {
            after.groups.iter().for_each(|group| found.entry(group.clone()).or_default().extend(waits));
        }
        found.into_iter().map(|(group, waits)| (group, waits.into())).collect()
    }

    /// The waits for some bytes of flows, by number of their terms.
    fn by_bytes(&self) -> FxHashMap<(u32, u64), Vec<u32>> {
        let (mut found, awaited) = (FxHashMap::<(u32, u64), Vec<u32>>::default(), awaited_bytes(self.flows));
        for (number, terms) in (0..).zip(self.flows.terms()) {
            for after in awaited.get(&*terms.group).into_iter().flatten() {
                let bytes = self.flows.afters()[*after].bytes.unwrap_or_default();
                found.entry((number, bytes.0)).or_default().extend(&self.of_after[*after]);
            }
        }
        found
    }

    /// How long news takes from each node where flows end to each other node that waits for them.
    fn delays(
        &self,
        by_group: &FxHashMap<Arc<str>, Arc<[u32]>>,
        links: &[NetLink],
        nodes: usize,
    ) -> FxHashMap<(NodeId, NodeId), Time> {
        let mut ends = FxHashSet::<(&str, u32)>::default();
        let mut pairs = FxHashSet::<(NodeId, NodeId)>::default();
        for (i, info) in self.flows.iter().enumerate() {
            ends.insert((&info.flow.terms.group, info.flow.dst));
            for step in self.flows.counts_for(i) {
                pairs.insert((NodeId(self.flows.steps()[step as usize].node), NodeId(info.flow.dst)));
            }
        }
        for (i, step) in self.flows.steps().iter().enumerate() {
            let twin = self.flows.rare(i).and_then(|rare| rare.twin);
            pairs.extend(twin.map(|twin| (NodeId(self.flows.steps()[twin.get() as usize].node), NodeId(step.node))));
        }
        let awaited = awaited_bytes(self.flows);
        for (group, dst) in ends {
            let waits = by_group.get(group).into_iter().flat_map(|waits| waits.iter());
            let of_bytes = awaited.get(group).into_iter().flatten().flat_map(|after| &self.of_after[*after]);
            pairs.extend(waits.chain(of_bytes).map(|wait| (self.node(*wait), NodeId(dst))));
        }
        let mut pairs: Vec<_> = pairs.into_iter().filter(|(to, from)| to != from).collect();
        pairs.sort_unstable();
        let mut incoming = vec![Vec::new(); nodes];
        links.iter().for_each(|link| incoming[link.to.0.0 as usize].push((link.from.0, link.shortest())));
        let of_node = |pairs: &[(NodeId, NodeId)]| {
            let (to, least) = (pairs[0].0, least_delays(pairs[0].0, &incoming));
            pairs.iter().map(|(_, from)| ((*from, to), least[from.0 as usize])).collect::<Vec<_>>()
        };
        pairs.chunk_by(|a, b| a.0 == b.0).flat_map(of_node).collect()
    }
}

/// The least sum of propagation delays from each node to `to` (Dijkstra).
fn least_delays(to: NodeId, incoming: &[Vec<(NodeId, Time)>]) -> Vec<Time> {
    let mut least = vec![Time::MAX; incoming.len()];
    least[to.0 as usize] = Time::ZERO;
    let mut heap = BinaryHeap::from([Reverse((Time::ZERO, to.0))]);
    while let Some(Reverse((here, n))) = heap.pop() {
        if here != least[n as usize] {
            continue;
        }
        for (from, delay) in &incoming[n as usize] {
            let (far, known) = (here.saturating_add(*delay), &mut least[from.0 as usize]);
            if far < *known {
                *known = far;
                heap.push(Reverse((far, from.0)));
            }
        }
    }
    least
}
