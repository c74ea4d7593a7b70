//! Flows that start when others have ended, and what servers and clients do between.
//!
//! A flow has ended when its receiver has all of it and, with TCP, the FIN. Another host hears of it the least
//! propagation delay later, the receiver's host at once. No packet could bring the news sooner, so the lookahead of
//! nodes and parts holds for it.

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::node::Release;
use midpath_core::packet::{FlowId, NodeId};
use midpath_core::roles::FlowReport;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::pools::Pool;
use super::reports::AllReports;
use super::servers::Server;

/// What waits at a node for the same ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wait {
    /// Where.
    pub node: NodeId,
    /// How many flows must have ended, or waits that count for it be over.
    pub ends: u32,
}

/// What is said of few waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct WaitDetails {
    /// The wait of the same node for which it counts when it is over, and how much later.
    pub then: Option<(u32, Time)>,
    /// A request whose first reply counts: further ends may come when it is over.
    pub call: Option<Call>,
    /// The server that works before it releases anything, as long as these wait.
    pub server: Option<u32>,
    /// The wait that is cancelled when a server begins to work for this one.
    pub twin: Option<u32>,
}

/// A request that may be sent again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call {
    /// The wait after which it begins; without one at a time of the run.
    pub after: Option<u32>,
    /// How long after that it is over whatever has come.
    pub over: Option<Time>,
}

/// Which flows wait for which. It is asked in place of being kept: of ten million waits few are under way.
pub trait Order: Send + Sync {
    /// A wait.
    fn wait(&self, wait: u32) -> Wait;
    /// What else is said of it.
    fn details(&self, wait: u32) -> Option<WaitDetails>;
    /// The further waits for which it counts, and how much later: of few.
    fn more_then(&self, wait: u32, tell: &mut dyn FnMut(u32, Time));
    /// Called when a flow has ended at a node: each wait that this counts for, none unless all of the flow goes to that
    /// node.
    fn followers(&self, flow: FlowId, at: NodeId, tell: &mut dyn FnMut(u32));
    /// Called when so many bytes of a flow have been delivered, for which somebody waits: each wait that this counts for.
    fn waits_for(&self, flow: FlowId, bytes: u64, tell: &mut dyn FnMut(u32));
    /// Whether a flow is a message of a connection, and has no packets of its own.
    fn is_message(&self, flow: FlowId) -> bool;
    /// The connection that a flow opens as its first message.
    fn opens(&self, flow: FlowId) -> Option<FlowId>;
    /// The pool of connections over which a request goes.
    fn pool_of(&self, flow: FlowId) -> Option<u32>;
    /// Called when such a request begins: the connection that it takes.
    fn assign(&self, flow: FlowId, connection: u32);
    /// How urgent such a request is: from 0, the most urgent.
    fn rank(&self, flow: FlowId) -> u8;
    /// The pool and its connection that are free when a wait is over.
    fn frees(&self, wait: u32) -> Option<(u32, u32)>;
    /// How long after what it waits for a flow starts.
    fn later(&self, flow: FlowId) -> Time;
    /// The wait that makes a flow needless when it is over.
    fn guard(&self, flow: FlowId) -> Option<u32>;
    /// The flows that a wait makes needless when it is over.
    fn guarded_by(&self, wait: u32, tell: &mut dyn FnMut(FlowId));
}

/// All waits of a network.
pub struct Waits {
    /// Where what each wait releases begins in `released`; it ends where that of the next begins.
    pub first: Vec<u32>,
    /// What starts when waits are over: flows, and alarms of [`GIVE_UP`], as [`pack`] makes them.
    pub released: Vec<u32>,
    /// Those whose time is known.
    pub known: Vec<(NodeId, Time, Release)>,
    /// Who works for requests.
    pub servers: Vec<Server>,
    /// Over which connections requests go.
    pub pools: Vec<Pool>,
    /// How long news takes from where a flow ends to another node that waits for it.
    pub delays: FxHashMap<(NodeId, NodeId), Time>,
    /// Which flows wait for which.
    pub order: Box<dyn Order>,
}

/// Alarms: a wait whose time is over, a request that another server works for, a server that is done with a request, a
/// request that needs a connection. The lower bits say which.
pub const GIVE_UP: u32 = 0;
const CANCEL: u32 = 1 << 30;
const SERVED: u32 = 2 << 30;
const ASK: u32 = 3 << 30;
const NUMBER: u32 = (1 << 30) - 1;

/// A flow, or an alarm of [`GIVE_UP`], in four bytes.
pub const fn pack(what: Release) -> u32 {
    match what {
        Release::Start(flow) => 2 * flow.0,
        Release::Alarm(token) => 2 * token + 1,
    }
}

const fn unpack(what: u32) -> Release {
    if what.is_multiple_of(2) { Release::Start(FlowId(what / 2)) } else { Release::Alarm(what / 2) }
}

impl Waits {
    fn released(&self, wait: u32) -> impl Iterator<Item = Release> {
        let of = |wait: u32| self.first[wait as usize] as usize;
        self.released[of(wait)..of(wait + 1)].iter().map(|what| unpack(*what))
    }

    fn call(&self, wait: u32) -> Option<Call> {
        self.order.details(wait)?.call
    }

    /// The requests that a wait releases, if they go over a pool, and the number of that.
    fn pooled(&self, wait: u32) -> Option<(impl Iterator<Item = FlowId>, u32)> {
        if self.pools.is_empty() {
            return None;
        }
        let mut requests = self.released(wait).filter_map(|what| match what {
            Release::Start(flow) => Some(flow),
            Release::Alarm(_) => None,
        });
        let first = requests.next()?;
        Some((std::iter::once(first).chain(requests), self.order.pool_of(first)?))
    }

    fn twin(&self, wait: u32) -> Option<u32> {
        self.order.details(wait)?.twin
    }

    fn later(&self, release: Release) -> Time {
        match release {
            Release::Start(flow) => self.order.later(flow),
            Release::Alarm(token) => self.call(token & NUMBER).and_then(|call| call.over).unwrap_or_default(),
        }
    }
}

/// Numbers of few waits that lie close together.
#[derive(Debug, Default)]
struct Numbers(FxHashMap<u32, u64>);

impl Numbers {
    fn insert(&mut self, number: u32) {
        *self.0.entry(number / 64).or_default() |= 1 << (number % 64);
    }

    fn contains(&self, number: u32) -> bool {
        self.0.get(&(number / 64)).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

/// That one of the flows has ended for which wait number `wait` waits, and when its node hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    pub wait: u32,
    pub at: Time,
    /// In place of that: that the wait is cancelled.
    pub cancels: bool,
}

/// The waits as one part sees them. A wait is counted down in the part of its node.
pub(crate) struct Waiting {
    waits: Arc<Waits>,
    /// Part and number therein of each node.
    place: Arc<[(u32, u32)]>,
    part: u32,
    /// The nodes of this part.
    ids: Vec<NodeId>,
    /// Of waits that have begun and are not over: ends that are still to come, and when the node hears of the latest.
    left: FxHashMap<u32, (u32, Time)>,
    /// When what requests under way wait for was over, if it was not the run's beginning.
    began: FxHashMap<u32, Time>,
    /// Those that are over, if more ends may come: a bit each.
    over: Numbers,
    servers: FxHashMap<u32, Server>,
    pools: FxHashMap<u32, Pool>,
    /// Tied requests that have been begun with, and those that are cancelled.
    begun: Numbers,
    cancelled: Numbers,
    reports: AllReports,
    /// What happens at the node at hand, and what no longer does.
    pub released: VecDeque<(Time, Release)>,
    pub needless: Vec<(Time, Release)>,
    /// For other nodes.
    pub news: Vec<News>,
}

impl Waiting {
    pub fn new(waits: Arc<Waits>, place: Arc<[(u32, u32)]>, part: u32, reports: AllReports) -> Waiting {
        let here = place.iter().zip((0..).map(NodeId)).filter(|(place, _)| place.0 == part);
        let ids = here.map(|(_, id)| id).collect();
        Waiting {
            waits,
            place,
            part,
            ids,
            left: FxHashMap::default(),
            began: FxHashMap::default(),
            over: Numbers::default(),
            servers: FxHashMap::default(),
            pools: FxHashMap::default(),
            begun: Numbers::default(),
            cancelled: Numbers::default(),
            reports,
            released: VecDeque::new(),
            needless: Vec::new(),
            news: Vec::new(),
        }
    }

    pub fn part(&self) -> u32 {
        self.part
    }

    /// The part and the number of the node that waits.
    pub fn place(&self, wait: u32) -> (u32, u32) {
        self.place[self.waits.order.wait(wait).node.0 as usize]
    }

    /// Called when all of a flow has come to a node of this part.
    pub fn ended(&mut self, flow: FlowId, node: u32, now: Time) {
        let (from, waits) = (self.ids[node as usize], self.waits.clone());
        waits.order.followers(flow, from, &mut |wait| self.tell(wait, from, now));
    }

    /// Called when so many bytes of a flow have come to a node of this part, for which somebody waits: all of it, where it is
    /// a message.
    pub fn delivered(&mut self, flow: FlowId, bytes: u64, node: u32, now: Time) {
        let (from, waits) = (self.ids[node as usize], self.waits.clone());
        if waits.order.is_message(flow) {
            self.reports.add(flow, FlowReport { delivered: bytes, completed: Some(now), ..FlowReport::default() });
            return self.ended(flow, node, now);
        }
        waits.order.waits_for(flow, bytes, &mut |wait| self.tell(wait, from, now));
    }

    /// Has a wait count, whose node hears of it when it can.
    fn tell(&mut self, wait: u32, from: NodeId, now: Time) {
        let to = self.waits.order.wait(wait).node;
        if to == from {
            self.on_predecessor_ended(wait, now);
        } else {
            self.news.push(News { wait, at: now.saturating_add(self.waits.delays[&(from, to)]), cancels: false });
        }
    }

    /// Called when a flow is to start: whether it is still needed.
    pub fn starts(&mut self, flow: FlowId, now: Time) -> bool {
        let guard = self.waits.order.guard(flow);
        if guard.is_some_and(|guard| self.over.contains(guard)) {
            return false;
        }
        if guard.is_some() {
            self.reports.started(flow, now);
        }
        if let Some(connection) = self.waits.order.opens(flow) {
            self.reports.started(connection, now);
        }
        true
    }

    /// Counts an end of which a node hears, later perhaps. What happens there because of it is in `released` and
    /// `needless`.
    pub fn hear(&mut self, news: News) {
        if news.cancels {
            self.released.push_back((news.at, Release::Alarm(CANCEL | news.wait)));
        } else {
            self.on_predecessor_ended(news.wait, news.at);
        }
    }

    /// Called when the time of an alarm has come.
    pub fn alarm(&mut self, token: u32, now: Time) {
        let number = token & NUMBER;
        match token & !NUMBER {
            GIVE_UP if self.over.contains(number) => {}
            GIVE_UP => {
                self.left.remove(&number);
                self.finish(number, now);
            }
            CANCEL => self.cancel(number),
            ASK => self.ask(number, now),
            _ => self.serve(number, now),
        }
    }

    /// Counts an end.
    fn on_predecessor_ended(&mut self, number: u32, at: Time) {
        if self.over.contains(number) {
            return;
        }
        let (left, latest) =
            self.left.entry(number).or_insert_with(|| (self.waits.order.wait(number).ends, Time::ZERO));
        (*left, *latest) = (*left - 1, at.max(*latest));
        if *left == 0 {
            let latest = *latest;
            self.left.remove(&number);
            self.finish(number, latest);
        }
    }

    /// A wait is over.
    fn finish(&mut self, number: u32, at: Time) {
        let rare = self.waits.order.details(number).unwrap_or_default();
        if let Some(call) = rare.call {
            self.over.insert(number);
            self.cancel_copies(number, call, at);
        }
        if let Some((pool, connection)) = self.waits.order.frees(number) {
            self.pool(pool).free(connection, at);
            self.begin_requests(pool, at);
        }
        let pooled = self.waits.pooled(number).and_then(|(mut requests, _)| requests.next());
        match (rare.server, pooled) {
            (Some(server), _) => self.arrive(server, number, at),
            (None, Some(request)) => {
                let ready = at.saturating_add(self.waits.order.later(request));
                self.released.push_back((ready, Release::Alarm(ASK | number)));
            }
            (None, None) => self.release(number, at),
        }
        let Some((next, later)) = rare.then else { return };
        self.on_predecessor_ended(next, at.saturating_add(later));
        let waits = self.waits.clone();
        waits.order.more_then(number, &mut |next, later| self.on_predecessor_ended(next, at.saturating_add(later)));
    }

    /// A request is over: what would ask again or give it up does not happen.
    fn cancel_copies(&mut self, number: u32, call: Call, now: Time) {
        let began = self.began.remove(&number).unwrap_or_default();
        let mut cancel = |what, later| {
            let at = began.saturating_add(later);
            if at >= now {
                self.needless.push((at, what));
            }
        };
        let order = &self.waits.order;
        order.guarded_by(number, &mut |flow| cancel(Release::Start(flow), order.later(flow)));
        call.over.into_iter().for_each(|over| cancel(Release::Alarm(GIVE_UP | number), over));
    }

    /// What has waited starts, each so much later.
    fn release(&mut self, number: u32, at: Time) {
        let waits = self.waits.clone();
        for what in waits.released(number) {
            let start = at.saturating_add(waits.later(what));
            match what {
                Release::Start(flow) => match waits.order.guard(flow) {
                    Some(call) => drop(self.began.insert(call, at)),
                    None => self.reports.started(flow, start),
                },
                Release::Alarm(token) => drop(self.began.insert(token & NUMBER, at)),
            }
            self.released.push_back((start, what));
        }
    }

    /// A request has come to its server.
    fn arrive(&mut self, server: u32, number: u32, now: Time) {
        if self.cancelled.contains(number) {
            return;
        }
        let work = self.waits.released(number).next().map_or(Time::ZERO, |what| self.waits.later(what));
        self.server(server).arrive(number, work, now);
        self.serve(server, now);
    }

    /// A request is ready to be sent.
    fn ask(&mut self, number: u32, now: Time) {
        let first = self.waits.pooled(number).and_then(|(mut requests, pool)| Some((requests.next()?, pool)));
        let Some((request, pool)) = first else { return };
        let rank = self.waits.order.rank(request);
        match self.pool(pool).ask(number, rank, now) {
            Ok(()) => self.begin_requests(pool, now),
            Err(later) => self.released.push_back((now.saturating_add(later), Release::Alarm(ASK | number))),
        }
    }

    fn pool(&mut self, number: u32) -> &mut Pool {
        self.pools.entry(number).or_insert_with(|| self.waits.pools[number as usize].clone())
    }

    /// Requests for which there is a connection begin.
    fn begin_requests(&mut self, pool: u32, now: Time) {
        let waits = self.waits.clone();
        while let Some((number, choice, connection)) = self.pool(pool).begin_next() {
            let Some(request) = waits.pooled(number).and_then(|(mut requests, _)| requests.nth(choice)) else {
                continue;
            };
            waits.order.assign(request, connection);
            self.reports.started(request, now);
            self.released.push_back((now, Release::Start(request)));
        }
    }

    fn server(&mut self, number: u32) -> &mut Server {
        self.servers.entry(number).or_insert_with(|| self.waits.servers[number as usize].clone())
    }

    /// A server goes on: what it is done with is released as if it had waited so long for its work.
    fn serve(&mut self, number: u32, now: Time) {
        let step = self.server(number).go_on(now);
        for (wait, work) in step.done {
            // Drawn as time after the request's arrival.
            self.release(wait, now.saturating_sub(work));
        }
        for wait in step.begun {
            let Some(twin) = self.waits.twin(wait) else { continue };
            self.begun.insert(wait);
            let [from, to] = [wait, twin].map(|wait| self.waits.order.wait(wait).node);
            let way = self.waits.delays.get(&(from, to)).copied().unwrap_or(Time::ZERO);
            self.news.push(News { wait: twin, at: now.saturating_add(way), cancels: true });
        }
        if let Some(at) = step.next {
            self.released.push_back((at, Release::Alarm(SERVED | number)));
        }
    }

    /// Another server works for a request, which may be still to come.
    fn cancel(&mut self, number: u32) {
        if self.begun.contains(number) {
            return;
        }
        self.cancelled.insert(number);
        if let Some(server) = self.waits.order.details(number).and_then(|rare| rare.server) {
            self.server(server).forget(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_those_that_were_inserted(put in prop::collection::btree_set(0u32..1000, 0..200)) {
            let mut numbers = Numbers::default();
            put.iter().for_each(|number| numbers.insert(*number));
            (0..1000).for_each(|number| assert_eq!(numbers.contains(number), put.contains(&number)));
        }

        #[test]
        fn releases_have_room_in_four_bytes(number in 0u32..1 << 30) {
            for what in [Release::Start(FlowId(number)), Release::Alarm(GIVE_UP | number)] {
                prop_assert_eq!(unpack(pack(what)), what);
            }
        }
    }
}
