//! Two hosts with a router between them, in virtual time, over wires that lose, repeat, reorder and
//! corrupt.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use midpath_core::node::{EndId, Limits};
use midpath_core::packet::{NodeId, PortId};
use midpath_core::rng::{Purpose, Stream, below, stream, unit};
use midpath_core::units::Time;
use midpath_node::bytes::Windows;
use midpath_node::host::{Host, Settings};
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;

/// Two hosts with a router between them: `a` is node 0, `b` node 2. A window of this many bytes sets
/// the scale that windows are told with; `keys` are others of the scheme's.
fn scenario(scheme: &str, window: u64, keys: &str) -> String {
    format!(
        r#"
scheme = "{scheme}"
[topology]
nodes = [{{ name = "a", kind = "host" }}, {{ name = "r" }}, {{ name = "b", kind = "host" }}]
links = [
    {{ a = "a", b = "r", rate = "50 Mbps", delay = "1 ms" }},
    {{ a = "r", b = "b", rate = "20 Mbps", delay = "5 ms" }},
]
[schemes.{scheme}]
receive_window = "{window} B"
{keys}
[[flow]]
from = "a"
to = "b"
size = "1 kB"
"#
    )
}

pub const A: usize = 0;
pub const B: usize = 2;

/// What comes next: a frame for a host's port.
type Flying = Reverse<(Time, u64, usize, u16, Vec<u8>)>;

pub struct World {
    pub hosts: Vec<Host>,
    /// Where each port leads, and how long that takes.
    links: BTreeMap<(usize, u16), (usize, u16, Time)>,
    flying: BinaryHeap<Flying>,
    made: u64,
    pub now: Time,
    pub rng: Stream,
    /// How often a frame is lost, comes twice, is late, or has a byte changed; each as often.
    harm: f64,
    /// The host that loses one frame, after so many that come to it.
    pub spares: Option<(usize, usize)>,
    /// Frames that have come to a host, if they are kept.
    pub seen: Option<Vec<(usize, u16, Vec<u8>)>>,
}

impl World {
    /// Whose flows carry data one way.
    pub fn new(scheme: &str, windows: Windows, harm: f64, seed: u64) -> World {
        World::with(scheme, windows, harm, seed, false)
    }

    /// Whose flows carry data both ways, if `both_ways`.
    pub fn with(scheme: &str, windows: Windows, harm: f64, seed: u64, both_ways: bool) -> World {
        World::under(scheme, "", windows, harm, seed, both_ways)
    }

    /// The same with these keys of the scheme's.
    pub fn under(scheme: &str, keys: &str, windows: Windows, harm: f64, seed: u64, both_ways: bool) -> World {
        let (text, options) = (scenario(scheme, windows.most(), keys), RunOptions::default());
        let setup = midpath_sim::prepare(&text, Path::new("."), &options, &Catalogue::standard()).expect("a scenario");
        let transport = setup.transport().expect("it carries flows");
        let network = setup.pulled_network().expect("its ports can be built");
        let host = |node| {
            let (limits, transport) = (Limits::default(), transport.clone());
            let settings =
                Settings { transport, mtu: 1500, accepts: true, windows, limits, first_flow: 7, overhead: 58 };
            let host = Host::new(node, settings);
            if both_ways { host.both_ways() } else { host }
        };
        let mut hosts: Vec<Host> = network.nodes.into_iter().map(host).collect();
        let mut links = BTreeMap::new();
        for link in &network.links {
            let ((from, port), (to, at)) = (link.from, link.to);
            links.insert((from.0 as usize, port.0), (to.0 as usize, at.0, link.delay));
            hosts[from.0 as usize].set_rate(port, Some(link.rate), Time::ZERO);
        }
        let rng = stream(seed, Purpose::Fault, 0);
        World { hosts, links, flying: BinaryHeap::new(), made: 0, now: Time::ZERO, rng, harm, spares: None, seen: None }
    }

    fn happens(&mut self) -> bool {
        unit(&mut self.rng) < self.harm
    }

    /// Puts what hosts have sent onto the wires.
    fn collect(&mut self) {
        for from in 0..self.hosts.len() {
            for (port, frame) in self.hosts[from].frames() {
                let (to, at, delay) = self.links[&(from, port.0)];
                for copy in 0..2 {
                    if copy == 1 && !self.happens() || self.happens() {
                        continue; // there is no copy, or it is lost
                    }
                    let late = if copy == 1 || self.happens() {
                        Time(below(&mut self.rng, 3_000_000_000))
                    } else {
                        Time::ZERO
                    };
                    let mut bytes = frame.clone();
                    if self.happens() {
                        // The transport's header and payload are covered by its checksum; what stands in
                        // front of it is the link's business.
                        let place = bytes.len() - 1 - below(&mut self.rng, 20) as usize;
                        bytes[place] ^= 0x40;
                    }
                    self.made += 1;
                    self.flying.push(Reverse((self.now + delay + late, self.made, to, at, bytes)));
                }
            }
        }
    }

    /// Does the next thing that is due before `until`; false if there is none. A host is woken late
    /// now and then.
    pub fn step(&mut self, until: Time) -> bool {
        self.collect();
        let arrives = self.flying.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let wakes = self.hosts.iter().map(Host::next_wake).min().unwrap_or(Time::MAX);
        let next = arrives.min(wakes).max(self.now);
        if next > until {
            self.now = until;
            return false;
        }
        self.now = next;
        if arrives <= wakes {
            let Some(Reverse((_, _, to, port, bytes))) = self.flying.pop() else { return false };
            if self.is_lost(to) {
                return true;
            }
            self.seen.iter_mut().for_each(|seen| seen.push((to, port, bytes.clone())));
            // Bytes that are no packet are counted and forgotten.
            let _ = self.hosts[to].on_frame(PortId(port), &bytes, next);
        } else {
            if self.happens() {
                self.now += Time(below(&mut self.rng, 500_000_000));
            }
            let now = self.now;
            self.hosts.iter_mut().for_each(|host| host.on_time(now));
        }
        true
    }

    fn is_lost(&mut self, to: usize) -> bool {
        let Some((_, left)) = self.spares.as_mut().filter(|(victim, _)| *victim == to) else { return false };
        if *left > 0 {
            *left -= 1;
            return false;
        }
        self.spares = None;
        true
    }

    /// All that has come to a host comes once more.
    pub fn repeat(&mut self, host: usize) {
        let now = self.now;
        for (to, port, bytes) in self.seen.take().unwrap_or_default() {
            if to == host {
                let _ = self.hosts[to].on_frame(PortId(port), &bytes, now);
            }
        }
    }

    pub fn tick(&mut self) {
        let now = self.now;
        self.hosts.iter_mut().for_each(|host| host.on_tick(now));
    }

    /// Nothing arrives for so long.
    pub fn lose_all(&mut self, time: Time) {
        let until = self.now + time;
        while self.now < until {
            self.run(Time::from_us(100));
            self.collect();
            self.flying.clear();
        }
    }

    pub fn run(&mut self, time: Time) {
        let until = self.now + time;
        while self.step(until) {}
    }
}

pub fn file(length: usize, seed: u64) -> Vec<u8> {
    (0..length as u64).map(|i| ((i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

/// The other end of a flow that `a` has opened to `b`.
pub fn other(end: EndId, from: usize) -> EndId {
    EndId { flow: end.flow, peer: NodeId(from as u32), active: false }
}
