//! Flows that start when others have ended, and what servers and clients do between.
//!
//! A flow has ended when its receiver has all of it and, with TCP, the FIN. Another host hears of it the least
//! propagation delay later, the receiver's host at once. No packet could bring the news sooner, so the lookahead of
//! nodes and parts holds for it.

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::node::Release;
use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::reports::AllReports;
use super::servers::Server;

/// What waits at a node for the same ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wait {
    /// Where.
    pub node: NodeId,
    /// How many flows must have ended, or waits that count for it be over.
    pub ends: u32,
    /// Where its part of `Waits::released` begins; it ends where that of the next wait begins.
    pub first: u32,
    /// Number in `Waits::rare`, or [`Wait::PLAIN`].
    pub rare: u32,
}

impl Wait {
    /// Nothing else is said of it.
    pub const PLAIN: u32 = u32::MAX;
}

/// What is said of few waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rare {
    /// The wait of the same node for which it counts when it is over, and how much later.
    pub then: Option<(u32, Time)>,
    /// Whether further ends may come when it is over: its first reply counts.
    pub guards: bool,
    /// How long after its alarm was released it is over whatever has come.
    pub gives_up: Time,
    /// The server that works before it releases anything, as long as these wait.
    pub server: Option<u32>,
    /// The wait that is cancelled when a server begins to work for this one.
    pub twin: Option<u32>,
}

/// Which flows wait for which.
pub trait Order: Send + Sync {
    /// Called when a flow has ended at a node: each wait that this counts for, none unless all of the flow goes to that
    /// node.
    fn followers(&self, flow: FlowId, at: NodeId, tell: &mut dyn FnMut(u32));
    /// How long after what it waits for a flow starts.
    fn later(&self, flow: FlowId) -> Time;
    /// The wait that makes a flow needless when it is over.
    fn guard(&self, flow: FlowId) -> Option<u32>;
}

/// All waits of a network.
pub struct Waits {
    /// The waits, and one behind them that says where the last one's part of `released` ends.
    pub all: Vec<Wait>,
    /// What is said of some.
    pub rare: Vec<Rare>,
    /// What starts when waits are over. Alarms are those of [`GIVE_UP`].
    pub released: Vec<Release>,
    /// Those whose time is known.
    pub alarms: Vec<(NodeId, Time, Release)>,
    /// Who works for requests.
    pub servers: Vec<Server>,
    /// How long news takes from where a flow ends to another node that waits for it.
    pub delays: FxHashMap<(NodeId, NodeId), Time>,
    /// Which flows wait for which.
    pub order: Box<dyn Order>,
}

/// Alarms: a wait whose time is over, a request that another server works for, a server that is done with a request. The
/// lower bits say which.
pub const GIVE_UP: u32 = 0;
const CANCEL: u32 = 1 << 30;
const SERVED: u32 = 2 << 30;
const NUMBER: u32 = (1 << 30) - 1;

impl Waits {
    fn rare(&self, wait: u32) -> Option<&Rare> {
        self.rare.get(self.all[wait as usize].rare as usize)
    }

    fn released(&self, wait: u32) -> &[Release] {
        let of = |wait: u32| self.all[wait as usize].first as usize;
        &self.released[of(wait)..of(wait + 1)]
    }

    fn later(&self, release: Release) -> Time {
        match release {
            Release::Start(flow) => self.order.later(flow),
            Release::Alarm(token) => self.rare(token & NUMBER).map_or(Time::ZERO, |rare| rare.gives_up),
        }
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

/// What becomes of a request that may be cancelled while it waits for its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tied {
    Waits,
    Begun,
    Cancelled,
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
    /// Those that are over, if more ends may come.
    over: FxHashSet<u32>,
    servers: FxHashMap<u32, Server>,
    tied: FxHashMap<u32, Tied>,
    reports: AllReports,
    /// What happens at the node at hand.
    pub released: VecDeque<(Time, Release)>,
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
            over: FxHashSet::default(),
            servers: FxHashMap::default(),
            tied: FxHashMap::default(),
            reports,
            released: VecDeque::new(),
            news: Vec::new(),
        }
    }

    pub fn part(&self) -> u32 {
        self.part
    }

    /// The part and the number of the node that waits.
    pub fn place(&self, wait: u32) -> (u32, u32) {
        self.place[self.waits.all[wait as usize].node.0 as usize]
    }

    /// Called when all of a flow has come to a node of this part.
    pub fn ended(&mut self, flow: FlowId, node: u32, now: Time) {
        let (from, waits) = (self.ids[node as usize], self.waits.clone());
        waits.order.followers(flow, from, &mut |wait| {
            let to = waits.all[wait as usize].node;
            if to == from {
                self.count(wait, now);
            } else {
                self.news.push(News { wait, at: now.saturating_add(waits.delays[&(from, to)]), cancels: false });
            }
        });
    }

    /// Called when a flow is to start: whether it is still needed.
    pub fn starts(&mut self, flow: FlowId, now: Time) -> bool {
        let guard = self.waits.order.guard(flow);
        if guard.is_some_and(|guard| self.over.contains(&guard)) {
            return false;
        }
        if guard.is_some() {
            self.reports.started(flow, now);
        }
        true
    }

    /// Counts an end of which a node hears, later perhaps; gives what happens there because of it.
    pub fn hear(&mut self, news: News) -> impl Iterator<Item = (Time, Release)> {
        if news.cancels {
            self.released.push_back((news.at, Release::Alarm(CANCEL | news.wait)));
        } else {
            self.count(news.wait, news.at);
        }
        self.released.drain(..)
    }

    /// Called when the time of an alarm has come.
    pub fn alarm(&mut self, token: u32, now: Time) {
        let number = token & NUMBER;
        match token & !NUMBER {
            GIVE_UP if self.over.contains(&number) => {}
            GIVE_UP => {
                self.left.remove(&number);
                self.finish(number, now);
            }
            CANCEL => self.cancel(number),
            _ => self.serve(number, now),
        }
    }

    /// Counts an end.
    fn count(&mut self, number: u32, at: Time) {
        if self.over.contains(&number) {
            return;
        }
        let wait = &self.waits.all[number as usize];
        let (left, latest) = self.left.entry(number).or_insert((wait.ends, Time::ZERO));
        (*left, *latest) = (*left - 1, at.max(*latest));
        if *left == 0 {
            let latest = *latest;
            self.left.remove(&number);
            self.finish(number, latest);
        }
    }

    /// A wait is over.
    fn finish(&mut self, number: u32, at: Time) {
        let rare = self.waits.rare(number).copied().unwrap_or_default();
        if rare.guards {
            self.over.insert(number);
        }
        match rare.server {
            Some(server) => self.arrive(server, number, at),
            None => self.release(number, at),
        }
        if let Some((next, later)) = rare.then {
            self.count(next, at.saturating_add(later));
        }
    }

    /// What has waited starts, each so much later.
    fn release(&mut self, number: u32, at: Time) {
        let waits = self.waits.clone();
        for what in waits.released(number) {
            let start = at.saturating_add(waits.later(*what));
            if let Release::Start(flow) = *what
                && waits.order.guard(flow).is_none()
            {
                self.reports.started(flow, start);
            }
            self.released.push_back((start, *what));
        }
    }

    /// A request has come to its server.
    fn arrive(&mut self, server: u32, number: u32, now: Time) {
        if self.waits.rare(number).is_some_and(|rare| rare.twin.is_some()) {
            if self.tied.get(&number) == Some(&Tied::Cancelled) {
                return;
            }
            self.tied.insert(number, Tied::Waits);
        }
        let work = self.waits.released(number).first().map_or(Time::ZERO, |what| self.waits.later(*what));
        self.server(server).arrive(number, work, now);
        self.serve(server, now);
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
            let Some(twin) = self.waits.rare(wait).and_then(|rare| rare.twin) else { continue };
            self.tied.insert(wait, Tied::Begun);
            let [from, to] = [wait, twin].map(|wait| self.waits.all[wait as usize].node);
            let way = self.waits.delays.get(&(from, to)).copied().unwrap_or(Time::ZERO);
            self.news.push(News { wait: twin, at: now.saturating_add(way), cancels: true });
        }
        if let Some(at) = step.next {
            self.released.push_back((at, Release::Alarm(SERVED | number)));
        }
    }

    /// Another server works for a request.
    fn cancel(&mut self, number: u32) {
        match self.tied.get(&number) {
            Some(Tied::Begun | Tied::Cancelled) => return,
            Some(Tied::Waits) => {
                if let Some(server) = self.waits.rare(number).and_then(|rare| rare.server) {
                    self.server(server).forget(number);
                }
            }
            // It is still to come.
            None => {}
        }
        self.tied.insert(number, Tied::Cancelled);
    }
}
