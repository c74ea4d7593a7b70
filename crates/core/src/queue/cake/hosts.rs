use rustc_hash::FxHashMap;

use super::{QUEUES, WAYS};

/// Places for hosts, as for flows: sources and destinations apart. A place has a host's hash and its bulk flows.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    sides: [FxHashMap<u16, (u32, u64)>; 2],
}

impl Hosts {
    /// The places of a source and a destination: those that they have, free ones of their sets, or ones that they share.
    pub fn find(&mut self, source: u32, destination: u32) -> [u16; 2] {
        let [sources, destinations] = &mut self.sides;
        [place(sources, source), place(destinations, destination)]
    }

    /// A bulk flow more.
    pub fn join(&mut self, hosts: [u16; 2], by_host: [bool; 2]) {
        self.change(hosts, by_host, |flows| flows + 1);
    }

    /// One less.
    pub fn leave(&mut self, hosts: [u16; 2], by_host: [bool; 2]) {
        self.change(hosts, by_host, |flows| flows.saturating_sub(1));
    }

    fn change(&mut self, hosts: [u16; 2], by_host: [bool; 2], to: impl Fn(u64) -> u64) {
        for side in (0..2).filter(|side| by_host[*side]) {
            let flows = &mut self.sides[side].entry(hosts[side]).or_default().1;
            *flows = to(*flows);
        }
    }

    /// Bulk flows of the host that has more of them; at least one.
    pub fn load(&self, hosts: [u16; 2], by_host: [bool; 2]) -> u64 {
        let of = |side: usize| self.sides[side].get(&hosts[side]).map_or(0, |host| host.1);
        (0..2).filter(|side| by_host[*side]).map(of).max().unwrap_or(0).max(1)
    }
}

fn place(side: &mut FxHashMap<u16, (u32, u64)>, host: u32) -> u16 {
    let reduced = (host % u32::from(QUEUES)) as u16;
    let set = reduced - reduced % WAYS;
    let ways = || (0..WAYS).map(move |i| set + (reduced + i) % WAYS);
    let own = ways().find(|place| side.get(place).is_some_and(|other| other.0 == host));
    let free = || ways().find(|place| side.get(place).is_none_or(|other| other.1 == 0));
    let place = own.or_else(free).unwrap_or(reduced);
    side.entry(place).or_default().0 = host;
    place
}
