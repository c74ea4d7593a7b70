//! Hosts with a few links to routers: what routing knows of them beside its table of routers.

use crate::graph::Topology;
use crate::shortest::UNUSABLE;

/// Links of a homed host at most: all sets of its ports are written down below.
pub const MAX_HOMES: usize = 4;

/// Every set of ports below [`MAX_HOMES`], by its bits.
const PORTS: [&[u16]; 1 << MAX_HOMES] = [
    &[],
    &[0],
    &[1],
    &[0, 1],
    &[2],
    &[0, 2],
    &[1, 2],
    &[0, 1, 2],
    &[3],
    &[0, 3],
    &[1, 3],
    &[0, 1, 3],
    &[2, 3],
    &[0, 2, 3],
    &[1, 2, 3],
    &[0, 1, 2, 3],
];

/// One usable link of a homed host.
#[derive(Debug, Clone, Copy)]
pub struct Home {
    /// The router's row.
    pub router: u32,
    /// The router's port that leads to the host.
    pub down: u16,
    /// The host's port.
    up: u16,
    cost: u64,
}

/// All homed hosts, by number.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// Where a host's homes begin, and after the last host where all end.
    first: Vec<u32>,
    homes: Vec<Home>,
    anchors: usize,
    /// Between any two anchors; empty without homed hosts.
    distance: Vec<u64>,
}

impl Homes {
    /// The homes of `hosts`; `row` is that of a router.
    pub fn new(
        topology: &Topology,
        hosts: &[usize],
        anchors: usize,
        row: impl Fn(usize) -> u32,
        costs: &[u64],
    ) -> Homes {
        let (mut first, mut homes) = (vec![0], Vec::new());
        for &n in hosts {
            for (up, p) in topology.ports(n).iter().enumerate() {
                let (link, router) = (p.link as usize, p.peer as usize);
                if let (true, Some(down)) = (costs[link] != UNUSABLE, topology.port_of_link(router, link)) {
                    homes.push(Home { router: row(router), down, up: up as u16, cost: costs[link] });
                }
            }
            first.push(homes.len() as u32);
        }
        let distance = if hosts.is_empty() { Vec::new() } else { vec![UNUSABLE; anchors * anchors] };
        Homes { first, homes, anchors, distance }
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// The usable homes of a host.
    pub fn of(&self, host: usize) -> &[Home] {
        &self.homes[self.first[host] as usize..self.first[host + 1] as usize]
    }

    /// Takes in how far anchor `to` is from anchor `from`.
    #[inline]
    pub fn learn(&mut self, from: usize, to: usize, distance: u64) {
        if !self.distance.is_empty() {
            self.distance[from * self.anchors + to] = distance;
        }
    }

    /// How far a host is from an anchor by one of its homes; `None` if that doesn't lead there.
    pub fn by(&self, from: usize, home: &Home) -> Option<u64> {
        let there = self.distance[from * self.anchors + home.router as usize];
        (there != UNUSABLE).then(|| there.saturating_add(home.cost))
    }

    /// How far a host is from an anchor; `None` if it isn't reached.
    pub fn distance_to_host(&self, from: usize, host: usize) -> Option<u64> {
        self.of(host).iter().filter_map(|h| self.by(from, h)).min()
    }

    /// The ports of the homed host with column `here` on shortest paths to the node with column `there`.
    pub fn way_out(&self, here: u32, there: u32) -> &[u16] {
        let far = |router: usize| match (there as usize).checked_sub(self.anchors) {
            Some(host) => self.distance_to_host(router, host),
            None => Some(self.distance[router * self.anchors + there as usize]).filter(|d| *d != UNUSABLE),
        };
        let (mut best, mut set) = (UNUSABLE, 0);
        for home in self.of(here as usize - self.anchors) {
            let Some(whole) = far(home.router as usize).map(|d| d.saturating_add(home.cost)) else { continue };
            if whole < best {
                (best, set) = (whole, 0);
            }
            set |= usize::from(whole == best) << home.up;
        }
        PORTS[set]
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.distance.len() * size_of::<u64>()
            + self.homes.len() * size_of::<Home>()
            + self.first.len() * size_of::<u32>()
    }
}
