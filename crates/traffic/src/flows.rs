//! All flows of a run, in as few bytes as they take.

use crate::after::{After, Afters, Call, ConnectionPool, NewAfter, Number, RareStep, Said, Server, Step, WaitFor};
use crate::client::ClientFlows;
use crate::flow::{Flow, Terms};
use crate::groups::GroupNames;
use crate::job::JobFlows;
use crate::video::VideoSpec;
use midpath_core::units::{Bytes, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Terms that are compared with those of a new flow. Ours: a list may have flows of some groups by
/// turns.
const COMPARED: usize = 16;

/// A flow on its way into the list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewFlow {
    pub src: u32,
    pub dst: u32,
    pub size: Option<Bytes>,
    pub start: Time,
    pub stop: Option<Time>,
    pub wait: Option<WaitFor>,
    /// Number of its group and terms, as [`FlowList::number`] gives it.
    pub terms: u32,
}

/// The group and the terms of a flow, by number.
type GroupTerms = (u32, u32);

/// A flow as it is kept. No size, no stop: zero, which neither can be.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    size: u64,
    start: Time,
    stop: u64,
    src: u32,
    dst: u32,
    terms: u32,
    wait: u32,
}

/// Flows by number, 40 bytes each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowList {
    rows: Vec<Row>,
    group_terms: Vec<GroupTerms>,
    terms: Vec<Terms>,
    groups: GroupNames,
    notes: Vec<String>,
    afters: Afters,
    steps: Vec<Step>,
    rare: Vec<RareStep>,
    calls: Vec<Call>,
    servers: Vec<Server>,
    /// Flows that are not needed when a step is over, by number.
    guarded: Vec<(u32, u32)>,
    /// The first flow of clients and jobs, and for which steps the end of each counts.
    first_of_steps: usize,
    counts_for: Vec<[u32; 2]>,
    /// The messages of each connection, in order, by the number of its flow; and the other way round, from
    /// `first_of_steps` on, where there are any.
    connections: BTreeMap<u32, Vec<u32>>,
    connection_of: Vec<u32>,
    /// Connections that are chosen when requests are ready; the pool of each such request, and the request with whose
    /// response's end its connection is free, by the step that this is.
    pools: Vec<ConnectionPool>,
    pool_of: BTreeMap<u32, u32>,
    frees: BTreeMap<u32, u32>,
    /// How urgent requests over pools are, and what their responses have: from 0, the most urgent.
    ranks: BTreeMap<u32, u8>,
    /// The videos that are watched over pools.
    videos: BTreeMap<u32, Arc<VideoSpec>>,
    /// Further steps for which the end of a flow counts, and for which a step does, of few.
    more_counts: BTreeMap<u32, Vec<u32>>,
    more_then: BTreeMap<u32, Vec<(u32, Time)>>,
    clients: Vec<ClientFlows>,
    jobs: Vec<JobFlows>,
}

/// No step.
const NONE: u32 = u32::MAX;

/// The steps for which the end of a flow counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts(pub [Option<u32>; 2]);

impl Counts {
    pub const fn one(step: Option<u32>) -> Counts {
        Counts([step, None])
    }
}

impl FlowList {
    /// What whoever wrote the specifications should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Flow number `i`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn get(&self, i: usize) -> Flow<'_> {
        self.flow(&self.rows[i])
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Flow<'_>> + Clone {
        self.rows.iter().map(|row| self.flow(row))
    }

    /// What different terms there are, by number.
    pub fn terms(&self) -> &[Terms] {
        &self.terms
    }

    /// The same, to say more of them.
    pub fn terms_mut(&mut self) -> &mut [Terms] {
        &mut self.terms
    }

    /// The names of groups, in the order in which flows have them; behind, those that none has.
    pub const fn groups(&self) -> &GroupNames {
        &self.groups
    }

    /// What `after`s there are, by number.
    pub fn afters(&self) -> impl DoubleEndedIterator<Item = After<'_>> + ExactSizeIterator + Clone {
        (0..self.afters.len()).map(|number| self.afters.get(number))
    }

    /// An `after`.
    pub fn after(&self, number: u32) -> After<'_> {
        self.afters.get(number as usize)
    }

    /// The steps of clients and jobs, by number.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What else is said of a step.
    pub fn rare(&self, step: usize) -> Option<RareStep> {
        match self.steps[step].said() {
            Said::Nothing => None,
            Said::Server(server) => Some(RareStep { server: Some(Number::of(server)), ..RareStep::default() }),
            Said::Rare(rare) => Some(self.rare[rare]),
        }
    }

    /// The request to a server that is over with a step.
    pub fn call(&self, step: usize) -> Option<Call> {
        Some(self.calls[self.rare(step)?.call?.get() as usize])
    }

    /// The servers of clients, by number.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The step that makes flow `i` needless when it is over.
    pub fn guard(&self, i: usize) -> Option<u32> {
        let place = self.guarded.binary_search_by_key(&(i as u32), |guarded| guarded.0).ok()?;
        Some(self.guarded[place].1)
    }

    /// The flows that a step makes needless when it is over.
    pub fn guarded_by(&self, step: u32) -> impl Iterator<Item = u32> {
        // Their numbers grow with that of the step.
        let first = self.guarded.partition_point(|guarded| guarded.1 < step);
        self.guarded[first..].iter().take_while(move |guarded| guarded.1 == step).map(|guarded| guarded.0)
    }

    /// The steps for which the end of flow `i` counts.
    pub fn counts_for(&self, i: usize) -> impl Iterator<Item = u32> {
        let steps = i.checked_sub(self.first_of_steps).and_then(|i| self.counts_for.get(i));
        let more = self.more_counts.get(&(i as u32)).into_iter().flatten().copied();
        steps.copied().unwrap_or([NONE; 2]).into_iter().filter(|step| *step != NONE).chain(more)
    }

    /// The further steps for which a step counts, and how much later.
    pub fn more_then(&self, step: u32) -> &[(u32, Time)] {
        self.more_then.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The connection whose message flow `i` is.
    pub fn connection(&self, i: usize) -> Option<u32> {
        let place = i.checked_sub(self.first_of_steps)?;
        self.connection_of.get(place).copied().filter(|connection| *connection != NONE)
    }

    /// The messages of connection `i`, in order; `None` if it is another flow.
    pub fn messages(&self, i: usize) -> Option<&[u32]> {
        Some(self.connections.get(&(i as u32))?)
    }

    /// Whether flow `i` is a connection, of messages that stand in the list or of a pool's: it has data when these begin.
    pub fn is_connection(&self, i: usize) -> bool {
        let flow = i as u32;
        let pool = self.pools.partition_point(|pool| pool.first <= flow).checked_sub(1).map(|pool| self.pools[pool]);
        self.connections.contains_key(&flow) || pool.is_some_and(|pool| flow < pool.first + 2 * pool.connections)
    }

    /// Adds a connection of these messages, which are between the same two hosts.
    pub(crate) fn connect(&mut self, messages: Vec<u32>, terms: u32) {
        let Some(first) = messages.first() else { return };
        let number = self.rows.len() as u32;
        let Row { src, dst, .. } = self.rows[*first as usize];
        let connection = NewFlow { src, dst, size: None, start: Time::ZERO, stop: None, wait: None, terms };
        self.push_step(connection, Counts::one(None));
        self.connection_of.resize(self.rows.len() - self.first_of_steps, NONE);
        messages.iter().for_each(|message| self.connection_of[*message as usize - self.first_of_steps] = number);
        self.connections.insert(number, messages);
    }

    /// Connections that are chosen when requests are ready, by number.
    pub fn pools(&self) -> &[ConnectionPool] {
        &self.pools
    }

    /// The pool over which request `i` goes.
    pub fn pool_of(&self, i: usize) -> Option<u32> {
        self.pool_of.get(&(i as u32)).copied()
    }

    /// How urgent message `i` is among those of its connection: from 0, the most urgent.
    pub fn rank(&self, i: usize) -> u8 {
        self.ranks.get(&(i as u32)).copied().unwrap_or_default()
    }

    /// Says how urgent the next messages are.
    pub(crate) fn rank_next(&mut self, messages: usize, rank: u8) {
        let next = self.rows.len() as u32;
        self.ranks.extend((next..next + messages as u32).map(|message| (message, rank)));
    }

    /// The request whose connection is free with a step.
    pub fn frees(&self, step: u32) -> Option<u32> {
        self.frees.get(&step).copied()
    }

    /// The video that is watched over a pool.
    pub fn video(&self, pool: u32) -> Option<&Arc<VideoSpec>> {
        self.videos.get(&pool)
    }

    /// Has a video be watched over a pool: of the requests that wait for a step, the player chooses one.
    pub(crate) fn watch(&mut self, pool: u32, video: Arc<VideoSpec>) {
        self.videos.insert(pool, video);
    }

    /// The number of a new pool.
    pub(crate) fn pool(&mut self, pool: ConnectionPool) -> u32 {
        self.pools.push(pool);
        self.pools.len() as u32 - 1
    }

    /// Adds a request that goes over a pool, whose connection is free with the step `free`: those of its response follow.
    pub(crate) fn push_pooled(&mut self, request: NewFlow, come: Option<u32>, pool: u32, free: u32) {
        let number = self.rows.len() as u32;
        self.pool_of.insert(number, pool);
        self.frees.entry(free).or_insert(number);
        self.push_step(request, Counts::one(come));
    }

    /// Adds the connections of pools from `first` on, when all their messages are there.
    pub(crate) fn connect_pools(&mut self, first: usize, terms: u32) {
        for pool in first..self.pools.len() {
            let ConnectionPool { ends: (client, server), connections, .. } = self.pools[pool];
            self.pools[pool].first = self.rows.len() as u32;
            for ends in (0..connections).flat_map(|_| [(client, server), (server, client)]) {
                let (src, dst) = ends;
                self.connections.insert(self.rows.len() as u32, Vec::new());
                let connection = NewFlow { src, dst, size: None, start: Time::ZERO, stop: None, wait: None, terms };
                self.push_step(connection, Counts::one(None));
            }
        }
        self.connection_of.resize(self.rows.len() - self.first_of_steps, NONE);
        for (request, pool) in self.pool_of.iter().rev().take_while(|(_, pool)| **pool as usize >= first) {
            let ConnectionPool { first: connection, messages, .. } = self.pools[*pool as usize];
            let place = *request as usize - self.first_of_steps;
            self.connection_of[place] = connection;
            self.connection_of[place + 1..place + messages].fill(connection + 1);
        }
    }

    /// A step that comes up at a time of the run.
    pub(crate) fn step_at(&mut self, node: u32, time: Time) -> u32 {
        let step = self.call_step(node, (None, time), None);
        self.give_up(step, Time::ZERO);
        step
    }

    /// Where the flows of each client are.
    pub fn clients(&self) -> &[ClientFlows] {
        &self.clients
    }

    /// Where the flows of each job are.
    pub fn jobs(&self) -> &[JobFlows] {
        &self.jobs
    }

    pub(crate) fn add_client(&mut self, client: ClientFlows) {
        self.clients.push(client);
    }

    pub(crate) fn add_job(&mut self, job: JobFlows) {
        self.jobs.push(job);
    }

    /// The number of a new step.
    pub(crate) fn step(&mut self, step: Step) -> u32 {
        self.steps.push(step);
        self.steps.len() as u32 - 1
    }

    /// Has a step count for another one of the same node, which is `later`.
    pub(crate) fn then(&mut self, step: u32, next: u32, later: Time) {
        let then = &mut self.say(step).then;
        match then {
            None => *then = Some((Number::of(next), later)),
            Some(_) => self.more_then.entry(step).or_default().push((next, later)),
        }
    }

    /// Has the end of the last flow count for further steps.
    pub(crate) fn count_more(&mut self, steps: Vec<u32>) {
        if !steps.is_empty() {
            self.more_counts.insert(self.rows.len() as u32 - 1, steps);
        }
    }

    /// Has a server work for what a step begins.
    pub(crate) fn work_for(&mut self, step: u32, server: u32) {
        self.steps[step as usize].set_server(server);
    }

    /// A step for the first reply to a request of `node` that begins so long after a step; it counts for `joined`.
    pub(crate) fn call_step(&mut self, node: u32, begin: (Option<u32>, Time), joined: Option<u32>) -> u32 {
        let step = self.step(Step::new(node, 1));
        self.calls.push(Call { begins: begin.1, gives_up: Time::MAX, after: begin.0.map(Number::of) });
        let call = Number::of(self.calls.len() as u32 - 1);
        let then = joined.map(|joined| (Number::of(joined), Time::ZERO));
        *self.say(step) = RareStep { call: Some(call), then, ..RareStep::default() };
        step
    }

    /// Has such a request be given up so long after it has begun.
    pub(crate) fn give_up(&mut self, step: u32, after: Time) {
        if let Some(call) = self.rare(step as usize).and_then(|rare| rare.call) {
            self.calls[call.get() as usize].gives_up = after;
        }
    }

    /// Says more of a step.
    pub(crate) fn say(&mut self, step: u32) -> &mut RareStep {
        let i = step as usize;
        let rare = match self.steps[i].said() {
            Said::Rare(rare) => rare,
            Said::Nothing | Said::Server(_) => {
                self.rare.push(self.rare(i).unwrap_or_default());
                self.rare.len() - 1
            }
        };
        self.steps[i].set_rare(rare);
        &mut self.rare[rare]
    }

    /// A step that waits for groups alone.
    pub(crate) fn step_after(&mut self, node: u32, after: u32) -> u32 {
        let step = self.step(Step::new(node, 0));
        self.say(step).after = Some(Number::of(after));
        step
    }

    /// The number of a new server.
    pub(crate) fn server(&mut self, server: Server) -> u32 {
        self.servers.push(server);
        self.servers.len() as u32 - 1
    }

    /// Has the next flow not start when a step is over.
    pub(crate) fn guard_next(&mut self, step: u32) {
        self.guarded.push((self.rows.len() as u32, step));
    }

    /// Adds a flow of a client or a job, behind all others.
    pub(crate) fn push_step(&mut self, flow: NewFlow, counts: Counts) {
        if self.counts_for.is_empty() {
            self.first_of_steps = self.rows.len();
        }
        self.counts_for.push(counts.0.map(|step| step.unwrap_or(NONE)));
        self.push(flow);
    }

    /// The number of such an `after`: that of the same, if it was the last.
    pub(crate) fn add_after(&mut self, after: NewAfter<'_>) -> u32 {
        self.afters.number(after, &mut self.groups)
    }

    #[inline]
    fn flow(&self, row: &Row) -> Flow<'_> {
        let (group, terms) = self.group_terms[row.terms as usize];
        Flow {
            src: row.src,
            dst: row.dst,
            size: (row.size > 0).then_some(Bytes(row.size)),
            start: row.start,
            wait: WaitFor::unpack(row.wait),
            stop: (row.stop > 0).then_some(Time(row.stop)),
            group_number: group,
            terms: &self.terms[terms as usize],
            terms_number: terms,
            groups: &self.groups,
        }
    }

    /// The number of a group, which may be new.
    pub(crate) fn group(&mut self, name: &str) -> u32 {
        self.groups.number(name)
    }

    /// The number of a group's flows on such terms: that of the same, if they came up not long ago.
    pub(crate) fn number(&mut self, group: &str, terms: Terms) -> u32 {
        let group = self.groups.number(group);
        let terms = number_of(&mut self.terms, terms);
        number_of(&mut self.group_terms, (group, terms))
    }

    pub(crate) fn push(&mut self, flow: NewFlow) {
        debug_assert!(flow.size != Some(Bytes::ZERO) && flow.stop != Some(Time::ZERO));
        self.rows.push(Row {
            size: flow.size.map_or(0, |size| size.0),
            start: flow.start,
            stop: flow.stop.map_or(0, |stop| stop.0),
            src: flow.src,
            dst: flow.dst,
            terms: flow.terms,
            wait: WaitFor::pack(flow.wait),
        });
    }

    /// Puts them in order of their start; those that start together keep theirs. To sort takes half as
    /// much memory again.
    pub(crate) fn sort(&mut self) {
        if !self.rows.is_sorted_by_key(|row| row.start) {
            self.rows.sort_by_key(|row| row.start);
        }
        self.rows.shrink_to_fit();
    }

    /// Called when all are there: numbers groups as flows have them, and gives back what was kept for more.
    pub(crate) fn finish(&mut self) {
        let order = self.rows.iter().map(|row| self.group_terms[row.terms as usize].0);
        let numbers = self.groups.renumber(order);
        self.group_terms.iter_mut().for_each(|(group, _)| *group = numbers[*group as usize]);
        self.afters.renumber(&numbers);
        self.group_terms.shrink_to_fit();
        self.afters.shrink();
        self.rows.shrink_to_fit();
        self.counts_for.shrink_to_fit();
        self.steps.shrink_to_fit();
        self.rare.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.guarded.shrink_to_fit();
    }
}

/// The number of a value: that of the same, if it came up not long ago.
fn number_of<T: PartialEq>(all: &mut Vec<T>, value: T) -> u32 {
    let last = all.len();
    let known = (last.saturating_sub(COMPARED)..last).rev().find(|i| all[*i] == value);
    known.unwrap_or_else(|| {
        all.push(value);
        last
    }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_said() {
        assert_eq!(size_of::<Row>(), 40);
        let mut list = FlowList::default();
        let [a, b, again] = ["a", "b", "a"].map(|group| list.number(group, Terms::plain()));
        assert_eq!((a, b, again), (0, 1, 0));
        let whole = NewFlow { src: 1, dst: 2, size: Some(Bytes(7)), start: Time(5), stop: None, wait: None, terms: a };
        list.push(whole);
        list.push(NewFlow { size: None, start: Time(3), stop: Some(Time(9)), terms: b, ..whole });
        list.push(NewFlow { src: 8, ..whole });
        list.sort();
        let flows: Vec<_> = list.iter().map(|f| (f.src, f.size, f.start, f.stop, f.group())).collect();
        let sized = |src| (src, Some(Bytes(7)), Time(5), None, "a");
        assert_eq!(flows, [(1, None, Time(3), Some(Time(9)), "b"), sized(1), sized(8)]);
        assert_eq!((list.len(), list.get(2).src), (3, 8));
    }
}
