//! Flows that start when others have ended: whether the scenario's `after` can come true, and what the engine is
//! told of it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use midpath_core::node::Release;
use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::End;
use midpath_core::spec::SpecError;
use midpath_core::suggest;
use midpath_core::units::Time;
use midpath_traffic::{ConnectionPool, Number, WaitFor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::AllFlows;
use super::pooled::Pooled;
use crate::engine::{Call, GIVE_UP, NetLink, Order, Player, Pool, Server, Wait, WaitDetails, Waits, pack};

/// Most steps: so many and those of as many flows as there may be have numbers as alarms.
const MOST_STEPS: usize = 1 << 29;

/// Whether each `after` names groups whose flows end, none waits for itself, and steps are not too many.
pub(super) fn check(flows: &AllFlows) -> Result<(), SpecError> {
    let steps = flows.steps().len();
    if steps >= MOST_STEPS {
        let message = format!("{steps} points at which messages wait; a run may have at most {MOST_STEPS}: reduce it");
        return Err(SpecError::new("job", message));
    }
    if flows.afters().len() == 0 {
        return Ok(());
    }
    let sizes = sizes(flows);
    for after in flows.afters() {
        if let Some(group) = after.groups.iter().find(|group| sizes[**group as usize] == 0) {
            let known = flows.groups().iter().zip(&sizes).filter(|(_, size)| **size > 0).map(|(name, _)| name);
            let known: BTreeSet<&str> = known.collect();
            return Err(after.refuse(*group, suggest::unknown("group", flows.groups().get(*group), known)));
        }
    }
    // The first `after` that waits for the ends of each group's flows.
    let mut awaited = vec![None; sizes.len()];
    for after in flows.afters().rev().filter(|after| after.bytes.is_none()) {
        after.groups.iter().for_each(|group| awaited[*group as usize] = Some(after));
    }
    for info in flows.iter().filter(|info| info.flow.size.is_none()) {
        if let Some(after) = awaited[info.flow.group_number as usize] {
            let group = info.flow.group();
            let message = format!("a flow of `{group}` has no end to wait for; give it a `size`");
            return Err(after.refuse(info.flow.group_number, message));
        }
    }
    check_bytes(flows)?;
    check_cycles(flows)
}

/// How many flows each group has.
fn sizes(flows: &AllFlows) -> Vec<u32> {
    let mut sizes = vec![0; flows.groups().len()];
    flows.iter().for_each(|info| sizes[info.flow.group_number as usize] += 1);
    sizes
}

/// Whether flows have the bytes that others wait for.
fn check_bytes(flows: &AllFlows) -> Result<(), SpecError> {
    let awaited = awaited_bytes(flows);
    if awaited.is_empty() {
        return Ok(());
    }
    for (i, info) in flows.iter().enumerate() {
        let (group, number) = (info.flow.group(), info.flow.group_number);
        for after in awaited.get(&number).into_iter().flatten().map(|after| flows.after(*after)) {
            let bytes = after.bytes.unwrap_or_default();
            if flows.connection(i).is_some() {
                let message = format!(
                    "messages of `{group}` share connections; leave `after_bytes` out, and wait for their ends"
                );
                return Err(after.refuse(number, message));
            }
            if let Some(size) = info.flow.size.filter(|size| *size < bytes) {
                let message = format!("a flow of `{group}` has only {size}, and `after_bytes` is {bytes}; reduce that");
                return Err(after.refuse(number, message));
            }
        }
    }
    Ok(())
}

/// The `after`s that wait for bytes of each group's flows, by number, in order.
pub(super) fn awaited_bytes(flows: &AllFlows) -> FxHashMap<u32, Vec<u32>> {
    let mut found = FxHashMap::<u32, Vec<u32>>::default();
    for (number, after) in (0..).zip(flows.afters()).filter(|(_, after)| after.bytes.is_some()) {
        after.groups.iter().for_each(|group| found.entry(*group).or_default().push(number));
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
    let of_flow = |info: super::FlowInfo<'_>| match info.flow.wait {
        Some(WaitFor::Groups(after)) => Some((info.flow.group_number, after)),
        _ => None,
    };
    let of_steps = (0..).zip(flows.afters()).filter_map(|(number, after)| Some((after.by?, number)));
    // Groups, and the `after`s for which they wait; then whom each group has waiting for it.
    let mut afters: Vec<(u32, u32)> = flows.iter().filter_map(of_flow).chain(of_steps).collect();
    afters.sort_unstable();
    afters.dedup();
    let of_after = |(group, after): &(u32, u32)| {
        let group = *group;
        flows.after(*after).groups.iter().map(move |awaited| (*awaited, group))
    };
    let mut waiting: Vec<(u32, u32)> = afters.iter().flat_map(of_after).collect();
    waiting.sort_unstable();
    waiting.dedup();
    let mut left = vec![0u32; flows.groups().len()];
    waiting.iter().for_each(|(_, group)| left[*group as usize] += 1);
    let mut ready: Vec<u32> = (0u32..).zip(&left).filter(|(_, left)| **left == 0).map(|(group, _)| group).collect();
    while let Some(group) = ready.pop() {
        let first = waiting.partition_point(|(awaited, _)| *awaited < group);
        for (_, other) in waiting[first..].iter().take_while(|(awaited, _)| *awaited == group) {
            let count = &mut left[*other as usize];
            *count -= 1;
            if *count == 0 {
                ready.push(*other);
            }
        }
    }
    // Who waits for one that is left is left: from any of them on, a group comes up again.
    let name = |group: u32| flows.groups().get(group);
    let is_left = |group: &u32| left[*group as usize] > 0;
    let Some(first) = (0..left.len() as u32).filter(is_left).min_by_key(|group| name(*group)) else { return Ok(()) };
    // What a group waits for, the first `after` that says so first.
    let awaited_by = |group: u32| {
        let own = afters.iter().filter(move |(waiting, _)| *waiting == group);
        own.flat_map(|(_, after)| flows.after(*after).groups.iter().map(|awaited| (*awaited, *after)))
    };
    let mut way = vec![first];
    let again = loop {
        let awaited = awaited_by(way[way.len() - 1]).map(|(awaited, _)| awaited);
        let next = awaited.filter(is_left).min_by_key(|group| name(*group)).unwrap_or(first);
        if let Some(at) = way.iter().position(|group| *group == next) {
            break at;
        }
        way.push(next);
    };
    let (group, next) = (way[again], way.get(again + 1).copied().unwrap_or(way[again]));
    let cycle: Vec<String> = way[again..].iter().chain([&group]).map(|group| format!("`{}`", name(*group))).collect();
    let message = format!(
        "would wait for itself: {}; give the flows that wait a `group` of their own, and end the circle",
        cycle.join(" after ")
    );
    let said = awaited_by(group).find(|(awaited, _)| *awaited == next).map_or(0, |(_, after)| after);
    Err(flows.after(said).refuse(next, message))
}

/// Lists of numbers, by number.
struct Lists {
    /// Where each begins; it ends where the next begins.
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    /// As many lists, of these numbers with what is added to their lists, in order.
    fn of(lists: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        // Counted, then filled in from the end of each list on, which is where it then begins.
        let mut first = vec![0u32; lists + 1];
        pairs.clone().for_each(|(list, _)| first[list as usize] += 1);
        let mut sum = 0;
        for place in &mut first {
            sum += *place;
            *place = sum;
        }
        let mut all = vec![0; sum as usize];
        pairs.for_each(|(list, number)| {
            let place = &mut first[list as usize];
            *place -= 1;
            all[*place as usize] = number;
        });
        for list in 0..lists {
            all[first[list] as usize..first[list + 1] as usize].reverse();
        }
        Lists { first, all }
    }

    fn get(&self, list: u32) -> &[u32] {
        &self.all[self.first[list as usize] as usize..self.first[list as usize + 1] as usize]
    }
}

/// The waits while they are made: those for groups, then the steps.
struct Plan<'a> {
    flows: &'a AllFlows,
    groups: Vec<Wait>,
    /// The waits of `after`s: these, nodes, and their numbers, in order.
    known: Vec<(u32, NodeId, u32)>,
    /// The waits for each `after`.
    of_after: Lists,
    /// What steps wait for beside their own ends.
    more_ends: FxHashMap<u32, u32>,
}

/// Which flows wait for which.
struct FlowOrder {
    flows: Arc<AllFlows>,
    pooled: Arc<Pooled>,
    groups: Vec<Wait>,
    more_ends: FxHashMap<u32, u32>,
    /// The waits for the end of flows, by number of their group, and those for some of their bytes.
    of_group: Lists,
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
            self.of_group.get(info.flow.group_number).iter().for_each(|wait| tell(*wait));
            self.flows.counts_for(flow.0 as usize).for_each(|step| tell(self.first_step() + step));
        }
    }
    fn waits_for(&self, flow: FlowId, bytes: u64, tell: &mut dyn FnMut(u32)) {
        let group = self.flows.find(flow).map_or(u32::MAX, |info| info.flow.group_number);
        self.of_bytes.get(&(group, bytes)).into_iter().flatten().for_each(|wait| tell(*wait));
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
    if flows.afters().len() == 0 && flows.steps().is_empty() {
        return None;
    }
    let plan = Plan::new(flows);
    let of_group = plan.of_group();
    let delays = plan.delays(&of_group, links, nodes);
    let Lists { first, all: released } = plan.released();
    let known = plan.starts_at_known_times();
    let of_bytes = plan.by_bytes();
    let servers = flows.servers().iter().map(|server| Server::new(server.workers, server.shares)).collect();
    let pool = |(number, pool): (u32, &ConnectionPool)| {
        let player = flows.video(number).cloned().map(Player::new);
        Pool::new(pool.connections as usize, pool.streams, pool.keeps).with_player(player)
    };
    let pools = (0..).zip(flows.pools()).map(pool).collect();
    let Plan { groups, more_ends, .. } = plan;
    let order =
        Box::new(FlowOrder { flows: flows.clone(), pooled: pooled.clone(), groups, more_ends, of_group, of_bytes });
    Some(Arc::new(Waits { first, released, known, servers, pools, delays, order }))
}

impl Plan<'_> {
    /// A wait for each `after` and node where flows wait for it, in the order of their flows; then the steps.
    fn new(flows: &AllFlows) -> Plan<'_> {
        let waiting = |(flow, info): (u32, super::FlowInfo<'_>)| match info.flow.wait {
            Some(WaitFor::Groups(after)) => Some((after, info.ends().0, flow)),
            _ => None,
        };
        let mut known: Vec<(u32, NodeId, u32)> = (0..).zip(flows.iter()).filter_map(waiting).collect();
        known.sort_unstable();
        known.dedup_by_key(|(after, node, _)| (*after, *node));
        known.shrink_to_fit();
        let mut order: Vec<u32> = (0..known.len() as u32).collect();
        order.sort_unstable_by_key(|i| known[*i as usize].2);
        let mut groups = Vec::with_capacity(known.len());
        for i in &order {
            let (_, node, number) = &mut known[*i as usize];
            *number = groups.len() as u32;
            groups.push(Wait { node: *node, ..Wait::default() });
        }
        let first_step = groups.len() as u32;
        // Only where there is an `after` steps wait for one.
        let steps = if flows.afters().len() == 0 { 0 } else { flows.steps().len() };
        let of_steps = (0..steps).filter_map(|i| Some((flows.rare(i)?.after?.get(), first_step + i as u32)));
        let of_groups = order.iter().map(|i| (known[*i as usize].0, known[*i as usize].2));
        let of_after = Lists::of(flows.afters().len(), of_groups.chain(of_steps));
        let mut plan = Plan { flows, groups, known, of_after, more_ends: FxHashMap::default() };
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
    fn calls(&self) -> impl Iterator<Item = (u32, midpath_traffic::Call)> + Clone {
        (0..self.flows.steps().len()).filter_map(|i| Some((i as u32, self.flows.call(i)?)))
    }

    /// What each wait releases.
    fn released(&self) -> Lists {
        let first_step = self.first_step();
        let wait_of = |info: &super::FlowInfo<'_>| match info.flow.wait? {
            WaitFor::Groups(after) => {
                let key = (after, info.ends().0);
                let place = self.known.binary_search_by_key(&key, |(after, node, _)| (*after, *node)).ok()?;
                Some(self.known[place].2)
            }
            WaitFor::Step(step) => Some(first_step + step),
        };
        let alarm = |(step, call): (u32, midpath_traffic::Call)| {
            call.over()?;
            Some((first_step + call.after?.get(), pack(Release::Alarm(GIVE_UP | (first_step + step)))))
        };
        let starts = self.flows.iter().enumerate();
        let starts = starts.filter_map(|(i, info)| Some((wait_of(&info)?, pack(Release::Start(FlowId(i as u32))))));
        Lists::of(first_step as usize + self.flows.steps().len(), starts.chain(self.calls().filter_map(alarm)))
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
        let sizes = sizes(self.flows);
        let first_step = self.first_step();
        for (number, after) in (0..).zip(self.flows.afters()) {
            let ends: u32 = after.groups.iter().map(|group| sizes[*group as usize]).sum();
            for wait in self.of_after.get(number) {
                match wait.checked_sub(first_step) {
                    None => self.groups[*wait as usize].ends += ends,
                    Some(step) => *self.more_ends.entry(step).or_default() += ends,
                }
            }
        }
    }

    /// The waits for the flows of each group.
    fn of_group(&self) -> Lists {
        let ends = (0..).zip(self.flows.afters()).filter(|(_, after)| after.bytes.is_none());
        let pairs = ends.flat_map(|(number, after)| {
            after.groups.iter().flat_map(move |group| self.of_after.get(number).iter().map(|wait| (*group, *wait)))
        });
        Lists::of(self.flows.groups().len(), pairs)
    }

    /// The waits for some bytes of flows, by number of their group.
    fn by_bytes(&self) -> FxHashMap<(u32, u64), Vec<u32>> {
        let mut found = FxHashMap::<(u32, u64), Vec<u32>>::default();
        for (group, afters) in awaited_bytes(self.flows) {
            for after in afters {
                let bytes = self.flows.after(after).bytes.unwrap_or_default();
                found.entry((group, bytes.0)).or_default().extend(self.of_after.get(after));
            }
        }
        found
    }

    /// How long news takes from each node where flows end to each other node that waits for them.
    fn delays(&self, of_group: &Lists, links: &[NetLink], nodes: usize) -> FxHashMap<(NodeId, NodeId), Time> {
        let of_bytes = awaited_bytes(self.flows);
        let is_awaited = |group: &u32| !of_group.get(*group).is_empty() || of_bytes.contains_key(group);
        let ends = self.flows.iter().map(|info| (info.flow.group_number, info.flow.dst));
        let mut ends: Vec<(u32, u32)> = ends.filter(|(group, _)| is_awaited(group)).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut pairs = FxHashSet::<(NodeId, NodeId)>::default();
        for (i, info) in self.flows.iter().enumerate() {
            for step in self.flows.counts_for(i) {
                pairs.insert((NodeId(self.flows.steps()[step as usize].node), NodeId(info.flow.dst)));
            }
        }
        for (i, step) in self.flows.steps().iter().enumerate() {
            let twin = self.flows.rare(i).and_then(|rare| rare.twin);
            pairs.extend(twin.map(|twin| (NodeId(self.flows.steps()[twin.get() as usize].node), NodeId(step.node))));
        }
        for (group, dst) in ends {
            let of_bytes = of_bytes.get(&group).into_iter().flatten().flat_map(|after| self.of_after.get(*after));
            let waits = of_group.get(group).iter().chain(of_bytes);
            pairs.extend(waits.map(|wait| (self.node(*wait), NodeId(dst))));
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
