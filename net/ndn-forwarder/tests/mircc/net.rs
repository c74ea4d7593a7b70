//! Forwarders in virtual time, with links between them and applications beside them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use midpath_core::units::{Bytes, Rate, Time};
use midpath_ndn::{Data, Frame, Header, Name, View};
use midpath_ndn_forwarder::consumer::Consumer;
use midpath_ndn_forwarder::name::{SEGMENT, push_number};
use midpath_ndn_forwarder::rib::{CHILD_INHERIT, ORIGIN_STATIC, Route};
use midpath_ndn_forwarder::{FaceId, FaceSpec, Forwarder, Persistency, Rated, Scope, Settings, name};

/// Bytes of content in a segment.
pub const SEGMENT_BYTES: usize = 8000;
/// What stands around a datagram.
const OVERHEAD: usize = 42;
/// The type of Data.
const DATA: u8 = 6;
/// The longest.
const MTU: usize = 1420;

/// Where a face leads.
#[derive(Debug)]
enum End {
    Wire {
        to: (usize, FaceId),
        rated: Rated,
        delay: Time,
        queue: u64,
        free_at: Time,
    },
    /// Answers all that it is asked.
    Producer,
    Consumer(usize),
}

/// A consumer, and what it has got.
pub struct Fetching {
    at: (usize, FaceId),
    consumer: Consumer,
    /// Of Data that have come, and of those before which nothing is missing.
    pub bytes: u64,
    pub whole: u64,
    until: Time,
}

/// A frame on its way: when it comes, its number, and by which face of which node.
type Coming = (Time, u64, usize, FaceId, Vec<u8>);

/// The network.
pub struct Net {
    pub now: Time,
    pub nodes: Vec<Forwarder>,
    ends: BTreeMap<(usize, FaceId), End>,
    pub fetching: Vec<Fetching>,
    coming: BinaryHeap<Reverse<Coming>>,
    sent: u64,
    /// Frames that queues had no room for.
    pub dropped: u64,
    /// Changes frames on their way: of node and face that they come in by.
    pub tamper: Option<fn(usize, FaceId, &mut Header)>,
}

impl Net {
    /// So many forwarders.
    pub fn new(nodes: usize, settings: &Settings) -> Net {
        let each = |node: usize| Forwarder::new(Settings { seed: node as u64, ..settings.clone() });
        Net {
            now: Time::ZERO,
            nodes: (0..nodes).map(each).collect(),
            ends: BTreeMap::new(),
            fetching: Vec::new(),
            coming: BinaryHeap::new(),
            sent: 0,
            dropped: 0,
            tamper: None,
        }
    }

    fn face(&mut self, node: usize, scope: Scope) -> FaceId {
        let (remote, local) = Default::default();
        let spec = FaceSpec { scope, persistency: Persistency::Permanent, remote, local, mtu: MTU };
        self.nodes[node].add_face(spec).expect("there is room")
    }

    /// A link, with so many bytes of queue at both ends; the faces of both. `known`: which ends know the rate.
    pub fn link(&mut self, [a, b]: [usize; 2], rate: Rate, delay: Time, queue: u64, known: [bool; 2]) -> [FaceId; 2] {
        let rated = Rated { out: rate, back: rate, mtu: MTU, overhead: OVERHEAD };
        let faces = [self.face(a, Scope::NonLocal), self.face(b, Scope::NonLocal)];
        for (from, to, knows) in [((a, faces[0]), (b, faces[1]), known[0]), ((b, faces[1]), (a, faces[0]), known[1])] {
            self.ends.insert(from, End::Wire { to, rated, delay, queue, free_at: Time::ZERO });
            if knows {
                self.nodes[from.0].set_link(self.now, from.1, rated);
            }
        }
        faces
    }

    pub fn route(&mut self, node: usize, prefix: &[&str], face: FaceId) {
        let route = Route { face, origin: ORIGIN_STATIC, cost: 1, flags: CHILD_INHERIT, until: None };
        assert!(self.nodes[node].set_route(&name::of(prefix), route));
    }

    /// An application that has every segment below a prefix.
    pub fn produce(&mut self, node: usize, prefix: &[&str]) {
        let face = self.face(node, Scope::Local);
        self.ends.insert((node, face), End::Producer);
        self.route(node, prefix, face);
    }

    /// An application that fetches from now on; its number.
    pub fn fetch(&mut self, node: usize, object: &[&str], until: Time) -> usize {
        let face = self.face(node, Scope::Local);
        let number = self.fetching.len();
        let consumer = Consumer::new(&name::of(object), 256, number as u64, self.now);
        self.ends.insert((node, face), End::Consumer(number));
        self.fetching.push(Fetching { at: (node, face), consumer, bytes: 0, whole: 0, until });
        number
    }

    /// Nothing passes the link of these two nodes any more.
    pub fn cut(&mut self, nodes: [usize; 2]) {
        for ((from, _), end) in &mut self.ends {
            if let End::Wire { to, queue, .. } = end
                && nodes.contains(from)
                && nodes.contains(&to.0)
            {
                *queue = 0;
            }
        }
    }

    fn send(&mut self, from: (usize, FaceId), frame: &[u8]) {
        let Some(end) = self.ends.get_mut(&from) else { return };
        let (at, (node, face)) = match end {
            End::Wire { to, rated, delay, queue, free_at } => {
                let waits = rated.out.bytes_in(free_at.saturating_sub(self.now));
                let size = u64::from(rated.on_link(frame.len()));
                if waits.0 + size > *queue {
                    self.dropped += 1;
                    return;
                }
                *free_at = (*free_at).max(self.now) + rated.out.time_for(Bytes(size));
                (*free_at + *delay, *to)
            }
            End::Producer => {
                let Some(answer) = answer(frame) else { return };
                self.push(self.now + Time::from_us(50), from, answer);
                return;
            }
            End::Consumer(number) => {
                let fetching = &mut self.fetching[*number];
                let _ = fetching.consumer.receive(self.now, frame);
                fetching.bytes += if frame[0] == DATA { SEGMENT_BYTES as u64 } else { 0 };
                fetching.whole += fetching.consumer.take().len() as u64;
                return;
            }
        };
        let mut frame = frame.to_vec();
        if let Some(tamper) = self.tamper {
            let read = Frame::of(&frame).expect("a frame");
            let (mut header, packet) = (read.header, read.packet.map(<[u8]>::to_vec));
            if let Some(packet) = packet {
                tamper(node, face, &mut header);
                frame.clear();
                header.wrap(&packet, &mut frame);
            }
        }
        self.push(at, (node, face), frame);
    }

    fn push(&mut self, at: Time, (node, face): (usize, FaceId), frame: Vec<u8>) {
        self.sent += 1;
        self.coming.push(Reverse((at, self.sent, node, face, frame)));
    }

    /// Takes out what forwarders and consumers send.
    fn settle(&mut self) {
        for number in 0..self.fetching.len() {
            let fetching = &mut self.fetching[number];
            if self.now >= fetching.until {
                continue;
            }
            let (at, sends) = (fetching.at, fetching.consumer.sends());
            for wire in sends {
                self.nodes[at.0].receive(self.now, at.1, &wire).expect("an Interest");
            }
        }
        for node in 0..self.nodes.len() {
            let frames: Vec<(FaceId, Vec<u8>)> =
                self.nodes[node].sends().map(|(face, frame)| (face, frame.to_vec())).collect();
            self.nodes[node].sent();
            frames.iter().for_each(|(face, frame)| self.send((node, *face), frame));
        }
    }

    /// Runs until then.
    pub fn run(&mut self, until: Time) {
        loop {
            self.settle();
            self.settle();
            let coming = self.coming.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
            let nodes = self.nodes.iter().map(Forwarder::next_wake).min().unwrap_or(Time::MAX);
            let consumers = self.fetching.iter().filter(|f| self.now < f.until).map(|f| f.consumer.next_wake()).min();
            let next = coming.min(nodes).min(consumers.unwrap_or(Time::MAX)).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            while let Some(Reverse((at, ..))) = self.coming.peek()
                && *at <= self.now
            {
                let Some(Reverse((_, _, node, face, frame))) = self.coming.pop() else { break };
                self.nodes[node].receive(self.now, face, &frame).expect("a packet");
            }
            self.nodes.iter_mut().filter(|node| node.next_wake() <= self.now).for_each(|node| node.on_time(self.now));
            self.fetching
                .iter_mut()
                .filter(|f| f.consumer.next_wake() <= self.now)
                .for_each(|f| f.consumer.on_time(self.now));
        }
    }

    /// Bits per second that a consumer gets until then, and its flow's rates meanwhile, as means.
    pub fn measure(&mut self, numbers: &[usize], until: Time) -> Vec<[f64; 3]> {
        let (began, before): (Time, Vec<u64>) = (self.now, numbers.iter().map(|n| self.fetching[*n].bytes).collect());
        let (mut sums, mut samples) = (vec![[0.0; 2]; numbers.len()], 0.0);
        while self.now < until {
            self.run((self.now + Time::from_ms(20)).min(until));
            samples += 1.0;
            for (sum, number) in sums.iter_mut().zip(numbers) {
                let (node, face) = self.fetching[*number].at;
                if let Some(flow) = self.nodes[node].flows().into_iter().find(|flow| flow.face == face) {
                    sum[0] += flow.rates[0];
                    sum[1] += flow.rates[1];
                }
            }
        }
        let seconds = (self.now - began).as_secs_f64();
        let got =
            numbers.iter().zip(before).map(|(n, before)| 8.0 * (self.fetching[*n].bytes - before) as f64 / seconds);
        got.zip(sums).map(|(bps, [p, s])| [bps, p / samples, s / samples]).collect()
    }
}

/// Data of a segment; the first if none is named.
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let frame = Frame::of(frame).ok()?;
    let Ok(View::Interest(interest)) = View::of(frame.packet?) else { return None };
    let mut full = interest.name.bytes().to_vec();
    if interest.name.last().is_none_or(|last| last.kind != SEGMENT) {
        push_number(&mut full, SEGMENT, 0);
    }
    let mut wire = Vec::new();
    Data::unsigned(Name::get(&full).ok()?, vec![7; SEGMENT_BYTES]).put(&mut wire);
    Some(wire)
}
