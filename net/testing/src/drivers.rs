//! Drivers of [`midpath_core::node::Node`] that tests run whole networks with.
//!
//! [`hostile`] runs one in virtual time with the worst behaviour that the contract between node and driver allows: late
//! wake-ups, bursts of packets, occasional refusals to send. What holds there holds under an operating system.
//!
//! [`realtime`] runs it in real time on one machine: a thread for each node, and datagrams over the loopback interface
//! for links.
//!
//! Both carry files ([`Transfers`]), byte for byte: [`midpath_node::bytes`].

pub mod hostile;
pub mod realtime;

use std::collections::BTreeMap;

use midpath_core::node::{EndId, Node};
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::rng::{Stream, below, unit};
use midpath_core::roles::Ended;
use midpath_core::units::{Rate, Time};
use midpath_node::bytes::{Bytes, Windows};

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Sending end.
    pub from: (NodeId, PortId),
    /// Receiving end.
    pub to: (NodeId, PortId),
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
}

/// What a driver runs. Node `i` has number `i`; each port has a link.
pub struct Network {
    /// The nodes, with their flows' starts already asked for.
    pub nodes: Vec<Node>,
    /// Every direction of every link.
    pub links: Vec<Link>,
}

/// What a driver's wires do to packets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LossModel {
    /// How often a packet is lost.
    pub lose: f64,
    /// How often it arrives twice.
    pub twice: f64,
    /// How often it is late, so that others overtake it; its copy always is.
    pub late: f64,
    /// By up to so much.
    pub by: Time,
    /// How often one byte of its payload is changed.
    pub corrupt: f64,
}

/// What becomes of one packet on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mishap {
    lost: bool,
    late: Time,
    /// When its copy comes after that, if there is one.
    copy: Option<Time>,
    /// Which byte of its payload is changed, by what.
    changed: Option<(usize, u8)>,
}

impl LossModel {
    fn befall(&self, payload: usize, rng: &mut Stream) -> Mishap {
        let mut happens = |probability: f64| probability > 0.0 && unit(rng) < probability;
        let [lost, twice, late, corrupt] = [self.lose, self.twice, self.late, self.corrupt].map(&mut happens);
        let mut later = || Time(1 + below(rng, self.by.0.max(1)));
        let (late, copy) = (if late { later() } else { Time::ZERO }, twice.then(&mut later));
        let changed =
            (corrupt && payload > 0).then(|| (below(rng, payload as u64) as usize, 1 + below(rng, 255) as u8));
        Mishap { lost, late, copy, changed }
    }
}

/// What flows carry, and what happens to it on the way.
#[derive(Debug, Clone, Default)]
pub struct Transfers {
    /// The bytes of each flow, by its number.
    pub files: BTreeMap<FlowId, Vec<u8>>,
    /// What wires do to packets.
    pub chaos: LossModel,
}

impl Transfers {
    /// The table for it: every file is handed over whole, to the end that will send it.
    fn bytes(&self) -> Bytes {
        let mut bytes = Bytes::default();
        if !self.files.is_empty() {
            bytes = Bytes::new(Windows::ample());
        }
        for (flow, file) in &self.files {
            let end = EndId { flow: *flow, peer: EndId::ANYONE, active: true };
            bytes.send_from(end, file.len());
            assert_eq!(bytes.write(end, file), file.len(), "there is room for all");
            bytes.close(end);
        }
        bytes
    }
}

/// What has come of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// What each flow's passive end has read.
    pub files: BTreeMap<FlowId, Vec<u8>>,
    /// How flows ended, as each of their ends saw it.
    pub ends: BTreeMap<EndId, Ended>,
}

impl Delivered {
    /// Applications that take whatever has come, at once.
    fn read(&mut self, bytes: &mut Bytes) -> Vec<EndId> {
        let news = bytes.take_changed();
        for end in &news {
            let outgoing = bytes.outgoing(*end).and_then(|o| o.ended());
            if let Some(why) = bytes.incoming(*end).and_then(|i| i.ended()).or(outgoing) {
                self.ends.entry(*end).or_insert(why);
            }
            if bytes.incoming(*end).is_some() {
                bytes.read(*end, usize::MAX, self.files.entry(end.flow).or_default());
            }
        }
        news.into_iter().filter(|end| !end.active).collect()
    }
}
