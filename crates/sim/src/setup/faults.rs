use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_topo::Topology;

use crate::engine::Event;
use crate::scenario::{FaultKind, FaultSpec};

/// What happens to which link and node when, in order of time.
#[derive(Default)]
pub(super) struct FaultPlan {
    links: BTreeMap<usize, Vec<(Time, LinkFault)>>,
    restarts: Vec<(Time, usize)>,
    ends: BTreeMap<usize, [(usize, u16); 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LinkFault {
    Down,
    Up,
    /// One outage is over; another may still last.
    Ended,
    Rate(Rate),
    Delay(Time),
}

impl FaultPlan {
    pub fn new(specs: &[FaultSpec], topology: &Topology) -> Result<FaultPlan, SpecError> {
        let mut plan = FaultPlan::default();
        for (i, spec) in specs.iter().enumerate() {
            plan.add(spec, topology).map_err(|e| e.under(&format!("fault[{i}]")))?;
        }
        plan.links.values_mut().for_each(settle_outages);
        Ok(plan)
    }

    fn add(&mut self, spec: &FaultSpec, topology: &Topology) -> Result<(), SpecError> {
        spec.check()?;
        if let Some(name) = &spec.node {
            let node =
                topology.find(name).ok_or_else(|| SpecError::new("node", format!("there is no node `{name}`")))?;
            self.restarts.push((spec.at, node));
            return Ok(());
        }
        let Some([a, b]) = &spec.link else { return Ok(()) };
        let link = find_link(topology, a, b)?;
        let list = self.links.entry(link).or_default();
        let fault = match spec.kind {
            FaultKind::LinkDown => LinkFault::Down,
            FaultKind::LinkUp => LinkFault::Up,
            FaultKind::Rate => LinkFault::Rate(spec.rate.unwrap_or_default()),
            FaultKind::Delay => LinkFault::Delay(spec.delay.unwrap_or_default()),
            FaultKind::Restart => return Ok(()),
        };
        list.push((spec.at, fault));
        list.extend(spec.until.map(|until| (until, LinkFault::Ended)));
        let ends = [topology.links()[link].a, topology.links()[link].b];
        self.ends.insert(link, ends.map(|n| (n, topology.port_of_link(n, link).unwrap_or(0))));
        Ok(())
    }

    /// Whether the port's link, or its node, has anything coming: then it must be held.
    pub fn touches(&self, node: usize, port: usize) -> bool {
        self.restarts.iter().any(|r| r.1 == node) || self.ends.values().flatten().any(|e| *e == (node, port as u16))
    }

    pub fn downs(&self, link: usize) -> Vec<Time> {
        self.of(link).filter(|f| f.1 == LinkFault::Down).map(|f| f.0).collect()
    }

    pub fn delays(&self, link: usize) -> Vec<(Time, Time)> {
        let delay = |f: &(Time, LinkFault)| match f.1 {
            LinkFault::Delay(d) => Some((f.0, d)),
            _ => None,
        };
        self.of(link).filter_map(delay).collect()
    }

    fn of(&self, link: usize) -> impl Iterator<Item = &(Time, LinkFault)> {
        self.links.get(&link).into_iter().flatten()
    }

    pub fn events(&self) -> Vec<(NodeId, Time, Event)> {
        let mut events = Vec::new();
        for (link, list) in &self.links {
            for (at, fault) in list {
                for (node, port) in self.ends[link] {
                    let port = PortId(port);
                    let event = match *fault {
                        LinkFault::Down => Event::Up(port, false),
                        LinkFault::Up => Event::Up(port, true),
                        LinkFault::Rate(rate) => Event::Rate(port, rate),
                        LinkFault::Delay(_) | LinkFault::Ended => continue, // the wire knows; settled
                    };
                    events.push((NodeId(node as u32), *at, event));
                }
            }
        }
        events.extend(self.restarts.iter().map(|(at, n)| (NodeId(*n as u32), *at, Event::Restart)));
        events
    }

    /// Time, link, and its rates from then on: that of its end `a`, and that of its end `b`.
    pub fn capacity_changes(&self, topology: &Topology) -> Vec<(Time, usize, [f64; 2])> {
        let mut changes = Vec::new();
        for (link, list) in &self.links {
            let info = &topology.links()[*link];
            let (mut rates, mut up) = ([info.a, info.b].map(|end| info.rate_from(end).as_f64()), true);
            for (at, fault) in list {
                match fault {
                    LinkFault::Down => up = false,
                    LinkFault::Up => up = true,
                    LinkFault::Rate(r) => rates = [r.as_f64(); 2],
                    LinkFault::Delay(_) | LinkFault::Ended => continue,
                }
                changes.push((*at, *link, if up { rates } else { [0.0; 2] }));
            }
        }
        changes
    }
}

/// Puts a link's faults in order, and makes overlapping outages one: it is up again when the last of them has ended, or
/// when `link-up` says so.
fn settle_outages(list: &mut Vec<(Time, LinkFault)>) {
    list.sort_by_key(|f| f.0);
    let mut lasting = 0u32;
    for (_, fault) in list.iter_mut() {
        match fault {
            LinkFault::Down => lasting += 1,
            LinkFault::Up => lasting = 0,
            LinkFault::Ended => {
                lasting = lasting.saturating_sub(1);
                if lasting == 0 {
                    *fault = LinkFault::Up;
                }
            }
            LinkFault::Rate(_) | LinkFault::Delay(_) => {}
        }
    }
    list.retain(|f| f.1 != LinkFault::Ended);
}

fn find_link(topology: &Topology, a: &str, b: &str) -> Result<usize, SpecError> {
    let node = |i: usize, name: &str| {
        topology.find(name).ok_or_else(|| SpecError::new(format!("link[{i}]"), format!("there is no node `{name}`")))
    };
    let (na, nb) = (node(0, a)?, node(1, b)?);
    let port = topology
        .port_to(na, nb)
        .ok_or_else(|| SpecError::new("link", format!("there is no link between `{a}` and `{b}`")))?;
    Ok(topology.ports(na)[port as usize].link as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_outages_are_one() {
        let at = Time::from_secs;
        let mut list = vec![
            (at(1), LinkFault::Down),
            (at(5), LinkFault::Ended),
            (at(3), LinkFault::Down),
            (at(4), LinkFault::Ended),
            (at(8), LinkFault::Down),
            (at(9), LinkFault::Up),
        ];
        settle_outages(&mut list);
        let ups: Vec<_> = list.iter().filter(|f| f.1 == LinkFault::Up).map(|f| f.0).collect();
        assert_eq!(ups, [at(5), at(9)]);
    }
}
