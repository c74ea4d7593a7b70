//! Flows that start when others have ended.
//!
//! A flow has ended when its receiver has all of it and, with TCP, the FIN. Another host hears of it the least
//! propagation delay later, the receiver's host at once. No packet could bring the news sooner, so the lookahead of
//! nodes and parts holds for it.

use std::collections::VecDeque;
use std::sync::Arc;

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::reports::AllReports;

/// Flows of one node that wait for the same others.
#[derive(Debug, Default)]
pub struct Wait {
    /// Where they start.
    pub node: NodeId,
    /// The flows, and how long after the last end each starts.
    pub flows: Vec<(Time, FlowId)>,
    /// How many flows must have ended.
    pub ends: u64,
    /// How long news takes from each node where one of these ends.
    pub delays: FxHashMap<NodeId, Time>,
}

/// Which waits the end of a flow at a node is for: none unless all of the flow goes to that node.
pub type Followers = dyn Fn(FlowId, NodeId) -> Arc<[u32]> + Send + Sync;

/// All waits of a network.
pub struct Waits {
    /// The waits.
    pub all: Vec<Wait>,
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
    /// Ends that are still to come, by wait, and when the node hears of the latest.
    left: Vec<(u64, Time)>,
    reports: AllReports,
    /// Flows that start at the node at hand.
    pub released: VecDeque<(Time, FlowId)>,
    /// For other nodes.
    pub news: Vec<News>,
}

impl Waiting {
    pub fn new(waits: Arc<Waits>, place: Arc<[(u32, u32)]>, part: u32, reports: AllReports) -> Waiting {
        let left = waits.all.iter().map(|wait| (wait.ends, Time::ZERO)).collect();
        let here = place.iter().zip((0..).map(NodeId)).filter(|(place, _)| place.0 == part);
        let ids = here.map(|(_, id)| id).collect();
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
        let from = self.ids[node as usize];
        for &wait in (self.waits.of)(flow, from).iter() {
            let Wait { node, delays, .. } = &self.waits.all[wait as usize];
            if *node == from {
                let released = self.hear(News { wait, at: now });
                self.released.extend(released);
            } else {
                self.news.push(News { wait, at: now.saturating_add(delays[&from]) });
            }
        }
    }

    /// Counts an end; gives the flows that start because it was the last.
    pub fn hear(&mut self, News { wait, at }: News) -> Vec<(Time, FlowId)> {
        let (left, latest) = &mut self.left[wait as usize];
        (*left, *latest) = (*left - 1, at.max(*latest));
        if *left > 0 {
            return Vec::new();
        }
        let latest = *latest;
        let start = |(after, flow): &(Time, FlowId)| (latest.saturating_add(*after), *flow);
        let starts: Vec<_> = self.waits.all[wait as usize].flows.iter().map(start).collect();
        starts.iter().for_each(|(at, flow)| self.reports.started(*flow, *at));
        starts
    }
}
