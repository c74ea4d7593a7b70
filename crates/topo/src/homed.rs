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

impl Home {
    /// How far the host is by this home from where the router is `far`; `None` if that doesn't lead
    /// there.
    pub fn beyond(&self, far: u64) -> Option<u64> {
        (far != UNUSABLE).then(|| far.saturating_add(self.cost))
    }
}

/// All homed hosts, by number.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// Where a host's homes begin, and after the last host where all end.
    first: Vec<u32>,
    homes: Vec<Home>,
}

impl Homes {
    /// The homes of `hosts`; `row` is that of a router.
    pub fn new(topology: &Topology, hosts: &[usize], row: impl Fn(usize) -> u32, costs: &[u64]) -> Homes {
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
        Homes { first, homes }
    }

    /// Whether there is no homed host.
    pub fn is_empty(&self) -> bool {
        self.first.len() == 1
    }

    /// The usable homes of a host.
    pub fn of(&self, host: usize) -> &[Home] {
        &self.homes[self.first[host] as usize..self.first[host + 1] as usize]
    }

    /// The ports of a host on shortest paths to where its routers are `far` from.
    pub fn way_out(&self, host: usize, far: impl Fn(u32) -> Option<u64>) -> &[u16] {
        let (mut best, mut set) = (UNUSABLE, 0);
        for home in self.of(host) {
            let Some(whole) = far(home.router).map(|d| d.saturating_add(home.cost)) else { continue };
            if whole < best {
                (best, set) = (whole, 0);
            }
            set |= usize::from(whole == best) << home.up;
        }
        PORTS[set]
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.homes.len() * size_of::<Home>() + self.first.len() * size_of::<u32>()
    }
}
