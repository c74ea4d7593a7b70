//! Runs that stop whenever a flow has ended. Nodes run event by event, in order of time over the whole network, so that what
//! follows from an end may begin at its time anywhere. A node sees the same arrivals and wake-ups as in other runs.

use std::cmp::Reverse;

use midpath_core::node::Release;
use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;

use super::assemble::Engine;
use super::part::Part;
use super::reports::EndEvent;

/// Flows whose packets' fates are kept for a while, since nobody asks for them here. Ours: 10 kB.
const FATES: usize = 256;

impl Engine {
    /// Makes it a run in step, of a network in one part. No reports of flows are kept.
    ///
    /// # Panics
    ///
    /// If the network is in several parts.
    pub(crate) fn keep_in_step(&mut self, stop: Option<Time>) {
        let part = self.only_part();
        part.common.ends = Some(Vec::new());
        part.nodes.iter_mut().for_each(|node| node.measure_until(stop.unwrap_or(Time::MAX)));
    }

    /// Runs until ends of flows have come to something, which is put into `events`, or nothing is left before `limit`. Says
    /// when that was.
    pub(crate) fn run_in_step(&mut self, limit: Time, events: &mut Vec<EndEvent>) -> Option<Time> {
        let part = self.only_part();
        let at = part.run_in_step(limit)?;
        events.append(part.common.ends.get_or_insert_default());
        if part.common.fates.len() > FATES {
            part.common.fates.clear();
        }
        Some(at)
    }

    /// Has a flow start at a node, no sooner than anything that has happened.
    pub(crate) fn start_flow(&mut self, node: NodeId, at: Time, flow: FlowId) {
        self.only_part().release(node.0, at, Release::Start(flow));
    }

    /// Whether nothing but housekeeping will happen any more, unless a flow starts.
    pub(crate) fn is_resting(&mut self) -> bool {
        self.only_part().agenda().is_empty()
    }

    fn only_part(&mut self) -> &mut Part {
        let [part] = self.parts.as_mut_slice() else { panic!("a run in step is of one part") };
        part
    }
}

impl Part {
    fn run_in_step(&mut self, limit: Time) -> Option<Time> {
        loop {
            let Some(Reverse((at, n))) = self.common.tight.peek().copied() else {
                if !self.open_bucket(limit) {
                    return None;
                }
                continue;
            };
            if at >= limit {
                return None;
            }
            self.common.tight.pop();
            if self.common.calendar.next_of(n) != at {
                continue; // it has run since
            }
            self.run_node(n, at.saturating_add(Time(1)));
            let next = self.common.calendar.next_of(n);
            if next < self.common.bucket_end {
                self.common.tight.push(Reverse((next, n)));
            }
            if self.common.ends.as_ref().is_some_and(|ends| !ends.is_empty()) {
                return Some(at);
            }
        }
    }

    /// Takes up the nodes of the next bucket, however near they are to each other. Says whether one begins before `limit`.
    fn open_bucket(&mut self, limit: Time) -> bool {
        let mut batch = std::mem::take(&mut self.batch);
        let start = self.common.calendar.take_bucket(limit, &mut batch);
        if let Some(start) = start {
            self.common.bucket_end = start.saturating_add(self.common.calendar.width());
            let of_bucket = batch
                .drain(..)
                .map(|n| (self.common.calendar.next_of(n), n))
                .filter(|(at, _)| *at < self.common.bucket_end);
            self.common.tight.extend(of_bucket.map(Reverse));
        }
        self.batch = batch;
        start.is_some()
    }
}
