use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_topo::Topology;
use midpath_topo::spec::links_between;

use super::link_fault::LinkFault;
use super::vary::Variations;
use crate::engine::Event;
use crate::scenario::{FaultKind, FaultSpec};

/// What happens to which link and node when, in order of time.
#[derive(Default)]
pub(super) struct FaultPlan {
    links: BTreeMap<usize, Vec<(Time, LinkFault)>>,
    restarts: Vec<(Time, usize)>,
    ends: BTreeMap<usize, [(usize, u16); 2]>,
}

impl FaultPlan {
    pub fn new(specs: &[FaultSpec], varying: &Variations, topology: &Topology) -> Result<FaultPlan, SpecError> {
        let mut plan = FaultPlan::default();
        for (link, at, step) in varying.steps() {
            plan.note(*link, *at, *step, topology);
        }
        for (i, spec) in specs.iter().enumerate() {
            plan.add(spec, varying, topology).map_err(|e| e.under(&format!("fault[{i}]")))?;
        }
        plan.links.values_mut().for_each(settle_outages);
        Ok(plan)
    }

    fn note(&mut self, link: usize, at: Time, fault: LinkFault, topology: &Topology) {
        self.links.entry(link).or_default().push((at, fault));
        self.ends.entry(link).or_insert_with(|| {
            let ends = [topology.links()[link].a, topology.links()[link].b];
            ends.map(|n| (n, topology.port_of_link(n, link).unwrap_or(0)))
        });
    }

    fn add(&mut self, spec: &FaultSpec, varying: &Variations, topology: &Topology) -> Result<(), SpecError> {
        spec.check()?;
        if let Some(name) = &spec.node {
            let node =
                topology.find(name).ok_or_else(|| SpecError::new("node", format!("there is no node `{name}`")))?;
            self.restarts.push((spec.at, node));
            return Ok(());
        }
        let Some([a, b]) = &spec.link else { return Ok(()) };
        let link = find_link(topology, a, b)?;
        let fault = match spec.kind {
            FaultKind::LinkDown => LinkFault::Down,
            FaultKind::LinkUp => LinkFault::Up,
            FaultKind::Rate if (0..2).any(|d| varying.has_trace(link, d)) => {
                return Err(SpecError::new("link", "a [[vary]] gives this link a trace in place of a rate"));
            }
            FaultKind::Rate if varying.has_frames(link) => {
                return Err(SpecError::new(
                    "link",
                    "a [[vary]] gives this link frames: write its rates as `steps` there",
                ));
            }
            FaultKind::Rate => LinkFault::Rate([spec.rate; 2]),
            FaultKind::Delay => LinkFault::Delay([spec.delay; 2]),
            FaultKind::Restart => return Ok(()),
        };
        self.note(link, spec.at, fault, topology);
        if let Some(until) = spec.until {
            self.note(link, until, LinkFault::Ended, topology);
        }
        Ok(())
    }

    /// Whether the port's link, or its node, has anything coming: then it must be held.
    pub fn touches(&self, node: usize, port: usize) -> bool {
        self.restarts.iter().any(|r| r.1 == node) || self.ends.values().flatten().any(|e| *e == (node, port as u16))
    }

    pub fn downs(&self, link: usize) -> Vec<Time> {
        self.of(link).filter(|f| f.1 == LinkFault::Down).map(|f| f.0).collect()
    }

    /// The delays of a direction of a link from times on.
    pub fn delays(&self, link: usize, direction: usize) -> Vec<(Time, Time)> {
        let delay = |f: &(Time, LinkFault)| match f.1 {
            LinkFault::Delay(delays) => delays[direction].map(|d| (f.0, d)),
            _ => None,
        };
        self.of(link).filter_map(delay).collect()
    }

    fn of(&self, link: usize) -> impl Iterator<Item = &(Time, LinkFault)> {
        self.links.get(&link).into_iter().flatten()
    }

    pub fn events(&self, topology: &Topology) -> Vec<(NodeId, Time, Event)> {
        let mut events = Vec::new();
        for (link, list) in &self.links {
            let mut rates = rates_of(topology, *link);
            for (at, fault) in list {
                if let LinkFault::Rate(new) | LinkFault::Told(new) = fault {
                    rates = changed(rates, *new);
                }
                for (end, (node, port)) in self.ends[link].into_iter().enumerate() {
                    let port = PortId(port);
                    let event = match *fault {
                        LinkFault::Down => Event::Up(port, false),
                        LinkFault::Up => Event::Up(port, true),
                        LinkFault::Rate(_) | LinkFault::Told(_) => Event::Rate(port, [rates[end], rates[1 - end]]),
                        // The wire knows, the transmitter knows, settled.
                        LinkFault::Delay(_) | LinkFault::Opportunity(_) | LinkFault::Ended => continue,
                    };
                    events.push((NodeId(node as u32), *at, event));
                }
            }
        }
        events.extend(self.restarts.iter().map(|(at, n)| (NodeId(*n as u32), *at, Event::Restart)));
        events
    }

    /// Links that go down (`false`) or come back, in order of time.
    pub fn outages(&self) -> Vec<(Time, usize, bool)> {
        let of = |(link, list): (&usize, &Vec<(Time, LinkFault)>)| {
            let link = *link;
            let outage = move |(at, fault): &(Time, LinkFault)| match fault {
                LinkFault::Down => Some((*at, link, false)),
                LinkFault::Up => Some((*at, link, true)),
                _ => None,
            };
            list.iter().filter_map(outage).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.links.iter().flat_map(of).collect();
        all.sort_by_key(|outage| outage.0);
        all
    }

    /// When a fault or a step of a schedule keeps a link's flows from their work: outages, and as
    /// long again, for timers that double wait up to that long; other changes from when they happen.
    /// `grace` more is given to each.
    pub fn covered(&self, link: usize, grace: Time) -> Vec<(Time, Time)> {
        let (mut all, mut down) = (Vec::new(), None);
        for (at, fault) in self.of(link) {
            match fault {
                LinkFault::Down => down = down.or(Some(*at)),
                LinkFault::Up => {
                    let from = down.take().unwrap_or(*at);
                    all.push((from, at.saturating_add(*at - from).saturating_add(grace)));
                }
                LinkFault::Rate(_) | LinkFault::Delay(_) => all.push((*at, at.saturating_add(grace))),
                LinkFault::Told(_) | LinkFault::Opportunity(_) | LinkFault::Ended => {}
            }
        }
        all.extend(down.map(|from| (from, Time::MAX)));
        all
    }

    /// When a node restarts, and `grace` more.
    pub fn restarting(&self, node: usize, grace: Time) -> impl Iterator<Item = (Time, Time)> + '_ {
        let own = self.restarts.iter().filter(move |restart| restart.1 == node);
        own.map(move |restart| (restart.0, restart.0.saturating_add(grace)))
    }

    /// The links whose capacity changes.
    pub fn changing(&self) -> impl Iterator<Item = usize> + '_ {
        self.links.keys().copied()
    }

    /// A link's rates from times on: that of its end `a`, and that of its end `b`; zero while it is
    /// down.
    pub fn capacity_changes(&self, link: usize, topology: &Topology) -> Vec<(Time, [f64; 2])> {
        let (mut changes, mut rates, mut up) = (Vec::new(), rates_of(topology, link), true);
        for (at, fault) in self.of(link) {
            match fault {
                LinkFault::Down => up = false,
                LinkFault::Up => up = true,
                LinkFault::Rate(new) | LinkFault::Opportunity(new) => rates = changed(rates, *new),
                LinkFault::Delay(_) | LinkFault::Told(_) | LinkFault::Ended => continue,
            }
            changes.push((*at, if up { rates.map(Rate::as_f64) } else { [0.0; 2] }));
        }
        changes
    }
}

fn rates_of(topology: &Topology, link: usize) -> [Rate; 2] {
    let info = &topology.links()[link];
    [info.a, info.b].map(|end| info.rate_from(end))
}

fn changed(rates: [Rate; 2], new: [Option<Rate>; 2]) -> [Rate; 2] {
    [0, 1].map(|d| new[d].unwrap_or(rates[d]))
}

/// Puts a link's faults in order, and makes overlapping outages one: it is up again when the last
/// of them has ended, or when `link-up` says so.
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
            LinkFault::Rate(_) | LinkFault::Delay(_) | LinkFault::Told(_) | LinkFault::Opportunity(_) => {}
        }
    }
    list.retain(|f| f.1 != LinkFault::Ended);
}

/// The link between two nodes by name; the first of several.
fn find_link(topology: &Topology, a: &str, b: &str) -> Result<usize, SpecError> {
    Ok(links_between(topology, a, b).map_err(|e| e.under("link"))?[0])
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
