//! Lower bound of a run's mean completion time: [`completion_bound`] over its completed flows.

use midpath_core::units::Time;
use midpath_ideal::{BoundFlow, Crossing, completion_bound};

use super::{Capacity, FlowRow, FlowRows};
use crate::setup::{FlowInfo, Setup};

/// In seconds; `None` if nothing completed. Only links that a flow must cross whichever way it
/// takes count: bridges of the network. What some may have got from elsewhere (objects that several
/// flows move, or several hosts have) counts as no bits.
pub fn afct_bound(setup: &Setup, rows: &FlowRows<'_>) -> Option<f64> {
    let bridges = bridges(setup);
    let links = 0..setup.topology.links().len();
    let speeds: Vec<_> = links
        .flat_map(|link| {
            let info = &setup.topology.links()[link];
            [info.a, info.b].map(|end| Capacity::of(setup, link, end).speed())
        })
        .collect();
    let mut done = 0;
    let flows = rows.with_flows().filter(|(.., row)| row.fct.is_some()).map(|(i, info, row)| {
        done += 1;
        bound_flow(setup, &row, (i, &info), &bridges)
    });
    let bound = completion_bound(&speeds, flows);
    (done > 0).then(|| bound / f64::from(done))
}

fn bound_flow(setup: &Setup, row: &FlowRow, (i, info): (usize, &FlowInfo<'_>), bridges: &[bool]) -> BoundFlow {
    let whole = info.flow.size.is_some_and(|size| row.report.delivered >= size.0);
    let bytes = info.wire_bytes().filter(|_| whole).unwrap_or(row.report.delivered);
    let shared = info.flow.object.is_some() || info.flow.replicas.is_some();
    let (src, dst) = (info.flow.src as usize, info.flow.dst as usize);
    let hops = setup.routes.path(&setup.topology, src, dst, i as u32).unwrap_or_default();
    let must: Vec<_> = hops.iter().filter(|hop| bridges[hop.link] && !shared).collect();
    let delays: Vec<f64> = must.iter().map(|hop| setup.least_delay(hop.link).as_secs_f64()).collect();
    let all: f64 = delays.iter().sum();
    let mut before_s = 0.0;
    let links = must.iter().zip(&delays).map(|(hop, delay)| {
        let crossing = Crossing { link: setup.directed(hop.link, hop.node), before_s, after_s: all - before_s };
        before_s += delay;
        crossing
    });
    BoundFlow {
        start_s: row.start.unwrap_or(Time::MAX).as_secs_f64(),
        bits: bytes as f64 * 8.0,
        links: links.collect(),
    }
}

/// Which links are bridges: without them the network falls apart (Tarjan, 1974, without recursion).
fn bridges(setup: &Setup) -> Vec<bool> {
    let topology = &setup.topology;
    let nodes = topology.nodes().len();
    let (mut found, mut order, mut low) =
        (vec![false; topology.links().len()], vec![usize::MAX; nodes], vec![0; nodes]);
    let mut count = 0;
    for root in 0..nodes {
        if order[root] != usize::MAX {
            continue;
        }
        // Node, the link that it was reached by, the next of its ports to look at.
        let mut path = vec![(root, usize::MAX, 0)];
        while let Some((node, by, port)) = path.last_mut() {
            let (node, by) = (*node, *by);
            if *port == 0 {
                (order[node], low[node]) = (count, count);
                count += 1;
            }
            let Some(at) = topology.ports(node).get(*port) else {
                path.pop();
                if let Some((parent, ..)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                    found[by] = low[node] > order[*parent];
                }
                continue;
            };
            *port += 1;
            let (peer, link) = (at.peer as usize, at.link as usize);
            if order[peer] == usize::MAX {
                path.push((peer, link, 0));
            } else if link != by {
                low[node] = low[node].min(order[peer]);
            }
        }
    }
    found
}

impl Setup {
    /// The smallest delay that a link has during the run.
    fn least_delay(&self, link: usize) -> Time {
        let changes = (0..2).flat_map(|direction| self.delay_changes(link, direction)).map(|change| change.1);
        changes.fold(self.topology.links()[link].delay, Time::min)
    }
}
