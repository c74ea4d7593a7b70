//! Flows that start when others have ended.
//!
//! A flow has ended when its receiver has all of it and, with TCP, the FIN. Another host hears of it the least
//! propagation delay later, the receiver's host at once. No packet could bring the news sooner, so the lookahead of
//! nodes and parts holds for it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::reports::AllReports;

/// What waits at a node for the same ends.
#[derive(Debug, Clone, Default)]
pub struct Wait {
    /// Where.
    pub node: NodeId,
    /// How many flows must have ended, or waits that count for it be over.
    pub ends: u64,
    /// Its flows in [`Waits::flows`].
    pub flows: Range<usize>,
    /// The wait of the same node for which it counts when it is over, and how much later.
    pub then: Option<(u32, Time)>,
}

/// Calls back with each wait that the end of a flow at a node is for: none unless all of the flow goes to that node.
pub type Followers = dyn Fn(FlowId, NodeId, &mut dyn FnMut(u32)) + Send + Sync;

/// All waits of a network.
pub struct Waits {
    /// The waits.
    pub all: Vec<Wait>,
    /// Flows that wait, and how long after the last end each starts.
    pub flows: Vec<(Time, FlowId)>,
    /// How long news takes from where a flow ends to another node that waits for it.
    pub delays: FxHashMap<(NodeId, NodeId), Time>,
    /// Which of them a flow's end is for.
    pub of: Box<Followers>,
}

/// That one of the flows has ended for which wait number `wait` waits, and when its node hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    pub wait: u32,
    pub at: Time,
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
    left: FxHashMap<u32, (u64, Time)>,
    reports: AllReports,
    /// Flows that start at the node at hand.
    pub released: VecDeque<(Time, FlowId)>,
    /// For other nodes.
    pub news: Vec<News>,
}

impl Waiting {
    pub fn new(waits: Arc<Waits>, place: Arc<[(u32, u32)]>, part: u32, reports: AllReports) -> Waiting {
        let here = place.iter().zip((0..).map(NodeId)).filter(|(place, _)| place.0 == part);
        let ids = here.map(|(_, id)| id).collect();
        let left = FxHashMap::default();
        Waiting { waits, place, part, ids, left, reports, released: VecDeque::new(), news: Vec::new() }
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
        (waits.of)(flow, from, &mut |wait| {
            let node = waits.all[wait as usize].node;
            if node == from {
                let released = self.hear(News { wait, at: now });
                self.released.extend(released);
            } else {
                self.news.push(News { wait, at: now.saturating_add(waits.delays[&(from, node)]) });
            }
        });
    }

    /// Counts an end; gives the flows that start because it was the last.
    pub fn hear(&mut self, mut news: News) -> Vec<(Time, FlowId)> {
        let mut starts = Vec::new();
        loop {
            let News { wait: number, at } = news;
            let wait = &self.waits.all[number as usize];
            let (left, latest) = self.left.entry(number).or_insert((wait.ends, Time::ZERO));
            (*left, *latest) = (*left - 1, at.max(*latest));
            if *left > 0 {
                return starts;
            }
            let latest = *latest;
            self.left.remove(&number);
            for (after, flow) in &self.waits.flows[wait.flows.clone()] {
                let start = latest.saturating_add(*after);
                self.reports.started(*flow, start);
                starts.push((start, *flow));
            }
            let Some((next, later)) = wait.then else { return starts };
            news = News { wait: next, at: latest.saturating_add(later) };
        }
    }
}
