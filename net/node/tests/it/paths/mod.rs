//! Three nodes in a line whose links go over paths of any MTU, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::path::Path;

use midpath_core::node::{EndId, Limits};
use midpath_core::packet::{NodeId, PortId};
use midpath_core::rng::{Stream, below};
use midpath_core::units::{Rate, Time};
use midpath_link::SecretKey;
use midpath_node::bytes::Windows;
use midpath_node::event_loop::Links;
use midpath_node::host::{Host, Settings};
use midpath_node::overlay::{Kind, MTU, Neighbour, OVERHEAD, Overlay};
use midpath_node::udp::Outbox;
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;

const NODES: usize = 3;
/// Whom each node has a link to, by its ports.
const NEIGHBOURS: [&[usize]; NODES] = [&[1], &[0, 2], &[1]];
/// Rate of both links, and the delay of each.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    pub rate: Rate,
    pub delays: [Time; 2],
}

fn scenario(scheme: &str, lines: Lines) -> String {
    let ([near, far], rate) = (lines.delays.map(Time::as_ns), lines.rate.0);
    format!(
        r#"
scheme = "{scheme}"
[topology]
nodes = [{{ name = "a", kind = "host" }}, {{ name = "r" }}, {{ name = "b", kind = "host" }}]
links = [
    {{ a = "a", b = "r", rate = "{rate} bps", delay = "{near} ns" }},
    {{ a = "r", b = "b", rate = "{rate} bps", delay = "{far} ns" }},
]
[[flow]]
from = "a"
to = "b"
size = "1 kB"
"#
    )
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    Four,
    Six,
}

impl Family {
    pub const fn least(self) -> u64 {
        if matches!(self, Family::Four) { 576 } else { 1280 }
    }

    /// Headers outside of a datagram.
    pub const fn outside(self) -> usize {
        if matches!(self, Family::Four) { 28 } else { 48 }
    }

    fn address(self, node: usize) -> SocketAddr {
        let text = match self {
            Family::Four => format!("192.0.2.{}:9", node + 1),
            Family::Six => format!("[2001:db8::{}]:9", node + 1),
        };
        text.parse().expect("an address")
    }

    pub fn draw(self, rng: &mut Stream) -> usize {
        (self.least() + below(rng, 1501 - self.least())) as usize
    }
}

pub struct Node {
    pub host: Host,
    pub links: Overlay,
}

/// When a datagram comes, its number, from where, to where, and its bytes.
type Flying = Reverse<(Time, u64, usize, usize, Vec<u8>)>;

pub struct World {
    pub nodes: Vec<Node>,
    lines: Lines,
    family: Family,
    /// Of the two hops.
    pub mtus: [usize; 2],
    flying: BinaryHeap<Flying>,
    made: u64,
    pub now: Time,
    end: EndId,
    pub read: u64,
}

impl World {
    pub fn new(scheme: &str, family: Family, mtus: [usize; 2], lines: Lines) -> World {
        let options = RunOptions::default();
        let setup = midpath_sim::prepare(&scenario(scheme, lines), Path::new("."), &options, &Catalogue::standard());
        let setup = setup.expect("a scenario");
        let transport = setup.transport().expect("it carries flows");
        let keys: Vec<SecretKey> = (1..=NODES).map(|n| SecretKey::parse(&format!("{n}").repeat(64)).unwrap()).collect();
        let made = setup.pulled_network().expect("its ports can be built").nodes.into_iter().enumerate();
        let made = made.map(|(at, node)| {
            let settings = Settings {
                transport: transport.clone(),
                mtu: MTU,
                accepts: true,
                windows: Windows::default(),
                limits: Limits::default(),
                first_flow: 7,
                overhead: OVERHEAD,
            };
            let neighbour = |other: &usize| Neighbour {
                name: other.to_string(),
                keys: vec![keys[*other].public()],
                address: Some(family.address(*other)),
                kind: Kind::Udp,
                rate: lines.rate,
                dedicated: false,
            };
            let neighbours: Vec<Neighbour> = NEIGHBOURS[at].iter().map(neighbour).collect();
            let secret = SecretKey::parse(&format!("{}", at + 1).repeat(64)).unwrap();
            let links = Overlay::new(secret, &neighbours, Time::ZERO).expect("random numbers");
            Node { host: Host::new(node, settings), links }
        });
        let nodes = made.collect();
        let end = EndId { flow: midpath_core::packet::FlowId(0), peer: NodeId(2), active: true };
        let mut world =
            World { nodes, lines, family, mtus, flying: BinaryHeap::new(), made: 0, now: Time::ZERO, end, read: 0 };
        (0..NODES).for_each(|at| world.serve(at));
        world.run(Time::from_secs(2));
        let now = world.now;
        world.end = world.nodes[0].host.connect(NodeId(2), now);
        world
    }

    fn hop(from: usize, to: usize) -> usize {
        from.min(to)
    }

    /// As an event loop does.
    fn serve(&mut self, at: usize) {
        let (now, mut out) = (self.now, Outbox::default());
        let Node { host, links } = &mut self.nodes[at];
        for port in links.poll(now, &mut out) {
            links.whole(port).into_iter().for_each(|whole| host.set_whole(port, whole, now));
            host.set_rate(port, links.rate(port, now), now);
        }
        for (port, frame) in host.frames() {
            links.send(now, port, &frame, &mut out);
        }
        for (to, datagram) in out.datagrams() {
            let to = (0..NODES).find(|node| to == self.family.address(*node).into()).expect("a node");
            let hop = World::hop(at, to);
            if datagram.len() + self.family.outside() <= self.mtus[hop] {
                self.made += 1;
                self.flying.push(Reverse((now + self.lines.delays[hop], self.made, at, to, datagram.to_vec())));
            }
        }
    }

    fn applications(&mut self) {
        let (now, end) = (self.now, self.end);
        let bytes = [7; 60_000];
        self.nodes[0].host.write(end, &bytes, now);
        let there = EndId { peer: NodeId(0), active: false, ..end };
        let mut read = Vec::new();
        self.read += self.nodes[2].host.read(there, usize::MAX, &mut read, now) as u64;
    }

    pub fn run(&mut self, time: Time) {
        let until = self.now + time;
        let mut tick = self.now;
        while self.now < until {
            let arrives = self.flying.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
            let wakes = self.nodes.iter().map(|node| node.host.next_wake().min(node.links.next_wake())).min().unwrap();
            self.now = arrives.min(wakes).min(tick).min(until).max(self.now);
            let now = self.now;
            if arrives <= now {
                let Reverse((_, _, from, to, bytes)) = self.flying.pop().expect("one arrives");
                let (from, mut out) = (self.family.address(from), Outbox::default());
                let Node { host, links } = &mut self.nodes[to];
                if let Some((port, frame)) = links.receive(now, from.into(), &bytes, &mut out) {
                    host.on_frame(port, frame, now).expect("a packet");
                }
                let answers: Vec<_> = out.datagrams().map(|(to, bytes)| (to, bytes.to_vec())).collect();
                for (address, bytes) in answers {
                    let there = (0..NODES).find(|node| address == self.family.address(*node).into()).expect("a node");
                    let hop = World::hop(to, there);
                    self.made += 1;
                    self.flying.push(Reverse((now + self.lines.delays[hop], self.made, to, there, bytes)));
                }
                self.serve(to);
            }
            if tick <= now {
                tick = now + Time::from_ms(20);
                self.applications();
                (0..NODES).for_each(|at| {
                    self.nodes[at].host.on_tick(now);
                    self.serve(at);
                });
            }
            (0..NODES).for_each(|at| {
                self.nodes[at].host.on_time(now);
                self.serve(at);
            });
        }
    }

    /// Runs for so long: bytes a second.
    pub fn goodput(&mut self, time: Time) -> f64 {
        let before = self.read;
        self.run(time);
        (self.read - before) as f64 / time.as_secs_f64()
    }

    pub fn described(&self, at: usize, port: u16, key: &str) -> u64 {
        self.nodes[at].links.describe(PortId(port))[key].as_u64().unwrap_or_else(|| panic!("{key} is there"))
    }
}
