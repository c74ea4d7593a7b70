//! Estimates from the flows whether several threads pay: load of each part, and length of the run.

use midpath_core::packet::{FlowId, Interfaces, NodeId, flow_key};
use midpath_core::roles::{Ecmp, Routes};
use midpath_core::units::{Rate, Time};
use midpath_topo::routing::follow;

use super::{FlowInfo, Setup};
use crate::engine::END;

/// Flows that are looked at. Ours: a thousand tell parts' shares to some percent.
const SAMPLE: usize = 1_000;
/// Hops and ends of packets, in hops, below which a run is over before threads have helped, or have
/// found that the machine is busy. Ours: about a second.
const SHORT: f64 = 1e7;
/// How many times as fast as one enough cores would have to be. Ours: what crosses between parts costs
/// a tenth, and guesses are off by as much again.
const GAIN: f64 = 1.4;

/// Whether parts are worth it in which so much is to be done.
fn pays(work: &[f64]) -> bool {
    let (total, most) = (work.iter().sum::<f64>(), work.iter().copied().fold(0.0, f64::max));
    total >= SHORT && total >= GAIN * most
}

impl Setup {
    /// Whether it pays to run the network in these parts, by threads of their own.
    pub fn is_worth(&self, part_of: &[u32]) -> bool {
        let parts = part_of.iter().max().map_or(1, |most| *most as usize + 1);
        parts > 1 && pays(&self.work(part_of, parts))
    }

    /// What is to be done in each part, in hops, about.
    fn work(&self, part_of: &[u32], parts: usize) -> Vec<f64> {
        let mut work = vec![0.0; parts];
        let every = self.flows.len().div_ceil(SAMPLE).max(1);
        for i in (0..self.flows.len()).step_by(every) {
            let packets = self.packets(&self.flows.get(i)) * every as f64;
            let Some(nodes) = self.nodes_of(i) else { continue };
            let last = nodes.len() - 1;
            for (at, node) in nodes.into_iter().enumerate() {
                // A packet and its ACK.
                let cost = if at == 0 || at == last { END as f64 } else { 2.0 };
                work[part_of[node] as usize] += packets * cost;
            }
        }
        // Flows share links: no more is sent than they carry.
        let most = self.most_packets();
        let total: f64 = work.iter().sum();
        if total > most {
            work.iter_mut().for_each(|part| *part *= most / total);
        }
        work
    }

    /// Packets of a flow that had its path for itself.
    fn packets(&self, info: &FlowInfo<'_>) -> f64 {
        let flow = &info.flow;
        let end = flow.stop.or(self.scenario.stop).unwrap_or(Time::MAX);
        let alone = info.bottleneck.as_f64() * end.saturating_sub(flow.start).as_secs_f64() / 8.0;
        let bytes = flow.size.map_or(alone, |size| alone.min(size.0 as f64));
        (bytes / f64::from(info.mtu.saturating_sub(info.headers).max(1))).ceil()
    }

    /// Hops that all links could carry until the run's end: as many full packets as ACKs.
    fn most_packets(&self) -> f64 {
        let Some(stop) = self.scenario.stop else { return f64::INFINITY };
        let packets = |rate: Rate, mtu: u32| rate.as_f64() * stop.as_secs_f64() / (8.0 * f64::from(mtu));
        2.0 * self.topology.links().iter().map(|link| packets(link.rate_from(link.a), link.mtu)).sum::<f64>()
    }

    /// The nodes on a flow's path; where each packet draws one, one of them.
    fn nodes_of(&self, i: usize) -> Option<Vec<usize>> {
        let flow = &self.flows.get(i).flow;
        let (from, to) = (NodeId(flow.src), NodeId(flow.dst));
        let key = flow_key(FlowId(i as u32), from, to, Interfaces::ANY);
        let pick = |node| Ecmp::Flow.expected(self.routes.ports_for(node, to, key), key, to, node);
        let hops = follow(&self.topology, (flow.src as usize, flow.dst as usize), pick)?;
        Some(hops.iter().map(|hop| hop.node).chain([flow.dst as usize]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::pays;

    #[test]
    fn threads_are_worth_it_where_parts_have_as_much_to_do_for_long() {
        assert!(pays(&[6e6, 6e6]));
        assert!(!pays(&[5e6, 4e6]), "over at once");
        assert!(!pays(&[4e7, 1e7]), "one has most");
        assert!(pays(&[2e7, 1e7, 1e7]));
        assert!(!pays(&[]));
    }
}
