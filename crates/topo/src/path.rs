//! What an idle path would give: the yardstick for slowdowns.

use midpath_core::units::{Bytes, Rate, Time};

use crate::graph::Topology;
use crate::routing::Hop;

/// A path without other traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Unloaded {
    /// The rate of each hop in its direction of travel, in order.
    pub rates: Vec<Rate>,
    /// The links passed, in order.
    pub links: Vec<usize>,
    /// Sum of the propagation delays.
    pub delay: Time,
    /// The slowest hop.
    pub bottleneck: Rate,
    /// The smallest MTU.
    pub mtu: u32,
}

impl Unloaded {
    /// Of the path made of `hops`.
    pub fn new(topology: &Topology, hops: &[Hop]) -> Unloaded {
        let links: Vec<usize> = hops.iter().map(|h| h.link).collect();
        let rates: Vec<Rate> = hops.iter().map(|h| topology.links()[h.link].rate_from(h.node)).collect();
        Unloaded {
            delay: links.iter().map(|&l| topology.links()[l].delay).sum(),
            bottleneck: rates.iter().min().copied().unwrap_or(Rate(u64::MAX)),
            mtu: links.iter().map(|&l| topology.links()[l].mtu).min().unwrap_or(u32::MAX),
            rates,
            links,
        }
    }

    /// The number of hops.
    pub fn hops(&self) -> usize {
        self.links.len()
    }

    /// From the start of one packet of that size at the source to its end at the destination,
    /// stored and forwarded at each hop.
    pub fn packet_time(&self, wire: Bytes) -> Time {
        self.rates.iter().fold(self.delay, |t, rate| t.saturating_add(rate.time_for(wire)))
    }
}
