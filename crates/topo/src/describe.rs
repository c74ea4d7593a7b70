//! What a network is like, in numbers: what `midpath topo` prints.

use std::collections::BTreeMap;
use std::path::Path;

use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::adjacency::Adjacency;
use crate::classes;
use crate::detour::{Availability, SelfLinks};
use crate::draft::Draft;
use crate::format::{Format, FormatError, Options};
use crate::graph::{NodeKind, Topology};

/// Most nodes for which the diameter is computed; the work grows with the square.
const MAX_FOR_DIAMETER: usize = 20_000;

/// A network in numbers. What the source leaves open (rates, delays) is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Hosts and routers together.
    pub nodes: usize,
    /// Hosts.
    pub hosts: usize,
    /// Routers.
    pub routers: usize,
    /// Links, each both ways.
    pub links: usize,
    /// Routers by class.
    pub classes: BTreeMap<String, usize>,
    /// Links at a router, to routers and hosts.
    pub degree: Degrees,
    /// Whether every node reaches every other.
    pub connected: bool,
    /// Sizes of the connected parts, largest first; at most 20 of them.
    pub components: Vec<usize>,
    /// How many connected parts there are.
    pub component_count: usize,
    /// Longest shortest path in hops; `None` if not connected, or over 20,000 nodes without a stub.
    pub diameter_hops: Option<u32>,
    /// Number of links of each rate, from slow to fast; a link with two rates counts for both.
    pub capacities: Vec<Capacity>,
    /// Links without a rate.
    pub links_without_rate: usize,
    /// Sum over all links and both directions, in bits per second.
    pub capacity_total_bps: u64,
    /// Propagation delays in seconds; `None` where no link has one.
    pub delay_s: Option<Range>,
    /// INRPP's 1-hop detours between routers, as in that paper's Table I.
    pub detours: Availability,
    /// What was left out of the source.
    pub notes: Vec<String>,
}

/// How many links there are at a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Degrees {
    /// The fewest.
    pub min: usize,
    /// The average.
    pub mean: f64,
    /// The most.
    pub max: usize,
    /// How many routers have so many.
    pub histogram: BTreeMap<usize, usize>,
}

/// Links of one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Bits per second.
    pub rate_bps: u64,
    /// How many.
    pub links: usize,
}

/// The spread of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest.
    pub min: f64,
    /// Average.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

impl Range {
    fn of(values: &[f64]) -> Option<Range> {
        let fold = |f: fn(f64, f64) -> f64| values.iter().copied().reduce(f);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Range { min: fold(f64::min)?, mean, max: fold(f64::max)? })
    }
}

/// What is described, whether finished or not.
struct Parts<'a> {
    kinds: Vec<NodeKind>,
    classes: Vec<Option<&'a str>>,
    ends: Vec<(usize, usize)>,
    rates: Vec<[Option<Rate>; 2]>,
    delays: Vec<Option<Time>>,
    notes: Vec<String>,
}

/// Describes a finished topology.
pub fn topology(t: &Topology) -> Description {
    describe(&Parts {
        kinds: t.nodes().iter().map(|n| n.kind).collect(),
        classes: t.nodes().iter().map(|n| n.class.as_deref()).collect(),
        ends: t.links().iter().map(|l| (l.a, l.b)).collect(),
        rates: t.links().iter().map(|l| [Some(l.rate), Some(l.rate_back.unwrap_or(l.rate))]).collect(),
        delays: t.links().iter().map(|l| Some(l.delay)).collect(),
        notes: t.unused().to_vec(),
    })
}

/// Describes what a file states, without the links from a node to itself.
pub fn draft(mut d: Draft) -> Description {
    d.drop_self_loops();
    classes::assign(&mut d, classes::EDGE_DEGREE);
    describe(&Parts {
        kinds: d.nodes.iter().map(|n| n.kind.unwrap_or(NodeKind::Router)).collect(),
        classes: d.nodes.iter().map(|n| n.class.as_deref()).collect(),
        ends: d.links.iter().map(|l| (l.a, l.b)).collect(),
        rates: d.links.iter().map(|l| [l.rate, l.rate_back.or(l.rate)]).collect(),
        delays: d.links.iter().map(|l| l.delay).collect(),
        notes: d.notes.iter().chain(&d.unused).cloned().collect(),
    })
}

/// Describes a topology file: `midpath topo FILE`.
pub fn file(path: &Path, format: Option<Format>, options: Options) -> Result<Description, FormatError> {
    crate::spec::read_path(path, format, options).map(draft)
}

fn describe(p: &Parts<'_>) -> Description {
    let graph = Adjacency::new(p.kinds.len(), p.ends.iter().copied());
    let components = graph.components();
    let is_router = |n: usize| p.kinds[n] == NodeKind::Router;
    let routers = (0..p.kinds.len()).filter(|&n| is_router(n)).count();
    let between_routers = p.ends.iter().copied().filter(|&(a, b)| is_router(a) && is_router(b));
    let mut classes = BTreeMap::new();
    for class in (0..p.kinds.len()).filter(|&n| is_router(n)).filter_map(|n| p.classes[n]) {
        *classes.entry(class.to_owned()).or_default() += 1;
    }
    let stubless = (0..graph.len()).filter(|&n| graph.degree(n) != 1).count();
    let delays: Vec<f64> = p.delays.iter().flatten().map(|t| t.as_secs_f64()).collect();
    Description {
        nodes: p.kinds.len(),
        hosts: p.kinds.len() - routers,
        routers,
        links: p.ends.len(),
        classes,
        degree: degrees(&graph, is_router),
        connected: components.len() <= 1,
        components: components.iter().take(20).map(Vec::len).collect(),
        component_count: components.len(),
        diameter_hops: if stubless <= MAX_FOR_DIAMETER { graph.diameter() } else { None },
        capacities: capacities(&p.rates),
        links_without_rate: p.rates.iter().filter(|r| r[0].is_none()).count(),
        capacity_total_bps: p.rates.iter().flatten().flatten().fold(0, |sum, r| sum.saturating_add(r.0)),
        delay_s: Range::of(&delays),
        detours: Availability::of(&Adjacency::new(p.kinds.len(), between_routers), SelfLinks::LeftOut),
        notes: p.notes.clone(),
    }
}

fn degrees(graph: &Adjacency, is_router: impl Fn(usize) -> bool) -> Degrees {
    let mut histogram = BTreeMap::new();
    for n in (0..graph.len()).filter(|&n| is_router(n)) {
        *histogram.entry(graph.degree(n)).or_default() += 1;
    }
    let count: usize = histogram.values().sum();
    let total: usize = histogram.iter().map(|(degree, nodes)| degree * nodes).sum();
    Degrees {
        min: histogram.keys().next().copied().unwrap_or(0),
        mean: if count == 0 { 0.0 } else { total as f64 / count as f64 },
        max: histogram.keys().next_back().copied().unwrap_or(0),
        histogram,
    }
}

fn capacities(rates: &[[Option<Rate>; 2]]) -> Vec<Capacity> {
    let mut links: BTreeMap<u64, usize> = BTreeMap::new();
    for [there, back] in rates {
        let second = back.filter(|_| back != there);
        for rate in there.iter().chain(second.iter()) {
            *links.entry(rate.0).or_default() += 1;
        }
    }
    links.into_iter().map(|(rate_bps, links)| Capacity { rate_bps, links }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilene_in_numbers() {
        let d = draft(crate::builtin::builtin("abilene").expect("ships"));
        assert_eq!((d.nodes, d.routers, d.hosts, d.links, d.connected), (11, 11, 0, 14, true));
        assert_eq!((d.degree.min, d.degree.max, d.diameter_hops), (2, 3, Some(5)));
        assert_eq!(d.capacities, [Capacity { rate_bps: 9_953_280_000, links: 14 }]);
        assert_eq!(d.capacity_total_bps, 28 * 9_953_280_000);
        // Abilene's only triangle is Seattle–Sunnyvale–Denver.
        assert_eq!((d.detours.with_detour, d.detours.max), (3, 1));
        assert_eq!(d.delay_s, None);
    }

    #[test]
    fn a_description_survives_json() {
        let d = draft(crate::builtin::builtin("geant").expect("ships"));
        let json = serde_json::to_string(&d).expect("plain data");
        assert_eq!(serde_json::from_str::<Description>(&json).expect("its own"), d);
    }
}
