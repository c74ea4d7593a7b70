//! Input of an engine.

use std::sync::Arc;

use midpath_core::node::{LinkTransmitter, Node, Opportunities, TokenBucket};
use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::pfc::SharedBuffer;
use midpath_core::rng::{Purpose, stream};
use midpath_core::units::{Rate, Time};
use midpath_schemes::tunnel::SharedPipe;
use rustc_hash::FxHashMap;

use super::Event;
use super::chance::{Bursts, Chain, Jitter};
use super::frames::{Frames, Framing};
use super::waits::Waits;
use super::wire::{Changes, Hazards, Loss, Thinning};

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct NetLink {
    /// Sending end.
    pub from: (NodeId, PortId),
    /// Receiving end.
    pub to: (NodeId, PortId),
    /// Transmission rate at the start.
    pub rate: Rate,
    /// Propagation delay, above zero.
    pub delay: Time,
    /// Probability that a packet is corrupted on the way.
    pub corruption: f64,
    /// What changes during the run; on most links nothing.
    pub course: Option<Box<Course>>,
}

/// What changes on one direction of a link during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// When it goes down.
    pub downs: Vec<Time>,
    /// Delays from a time on, in order.
    pub delays: Vec<(Time, Time)>,
    /// How it varies from packet to packet.
    pub variation: Variation,
}

impl Course {
    /// None where nothing changes.
    pub fn boxed(self) -> Option<Box<Course>> {
        (self != Course::default()).then(|| Box::new(self))
    }
}

/// How one direction of a link varies from packet to packet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variation {
    /// Loss in bursts, beside corruption.
    pub bursts: Option<Bursts>,
    /// What is added to the delay.
    pub jitter: Option<Jitter>,
    /// When packets are delivered, in place of a rate.
    pub opportunities: Option<Arc<Opportunities>>,
    /// What happens to ECN-capable packets.
    pub ecn: Option<EcnHazards>,
    /// Of a flow's ACKs one in so many passes.
    pub ack_thinning: Option<u32>,
    /// A token bucket before the transmitter.
    pub shaper: Option<Shaper>,
    /// How packets are gathered into frames and repeated.
    pub framing: Option<Framing>,
}

/// What happens to ECN-capable packets on a link: shares of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EcnHazards {
    /// Lost.
    pub loss: f64,
    /// Their field is cleared.
    pub bleach: f64,
}

/// A token bucket: `burst` bytes at the line's rate, then `rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shaper {
    /// The line's.
    pub line: Rate,
    /// The bucket's.
    pub rate: Rate,
    /// In bytes.
    pub burst: u64,
}

/// What an engine runs. Node `i` has number `i`.
pub struct Network {
    /// The nodes, with their flows' starts already asked for.
    pub nodes: Vec<Node>,
    /// Both directions of every link. Each port has exactly one link out and one in.
    pub links: Vec<NetLink>,
    /// What happens to nodes during the run.
    pub events: Vec<(NodeId, Time, Event)>,
    /// The run's seed.
    pub seed: u64,
    /// What is inside tunnels, for who reads the counts after the run.
    pub pipes: Vec<SharedPipe>,
    /// What nodes hold in lossless classes, by node; empty where there are none.
    pub buffers: Vec<SharedBuffer>,
    /// Flows that start when others have ended, if there are any.
    pub waits: Option<Arc<Waits>>,
    /// Of flows that say so: datagrams that take longer are late.
    pub late_after: Arc<FxHashMap<FlowId, Time>>,
}

impl NetLink {
    /// The smallest delay that it has during the run.
    pub(crate) fn shortest(&self) -> Time {
        let delays = self.course.iter().flat_map(|course| &course.delays);
        delays.map(|d| d.1).fold(self.delay, Time::min)
    }

    pub(super) fn line(&self) -> LinkTransmitter {
        let line = LinkTransmitter::new(self.rate);
        let Some(Course { variation, .. }) = self.course.as_deref() else { return line };
        if let Some(framing) = &variation.framing {
            return line.with_frames(framing.slot());
        }
        match (&variation.opportunities, variation.shaper) {
            (Some(all), _) => line.with_opportunities(all.clone()),
            (None, Some(Shaper { line: peak, rate, burst })) => line.with_bucket(TokenBucket::new(peak, rate, burst)),
            (None, None) => line,
        }
    }

    pub(super) fn hazards(&self, seed: u64, index: u64) -> Option<Box<Hazards>> {
        let (loss, changes) = (self.loss(seed, index), self.changes(seed, index));
        let bleach = self.ecn().map(|ecn| ecn.bleach).filter(|share| *share > 0.0);
        let bleaching = bleach.map(|share| (share, stream(seed, Purpose::Bleaching, index)));
        let thinning = self.course.as_ref().and_then(|course| course.variation.ack_thinning);
        let thinning = thinning.map(|one_of| Thinning { one_of, seen: FxHashMap::default() });
        let frames = self.framing().map(|framing| Frames::new(framing.clone()));
        let any = loss.is_some() || changes.is_some() || bleaching.is_some() || thinning.is_some() || frames.is_some();
        any.then(|| Box::new(Hazards { loss, bleaching, thinning, changes, frames }))
    }

    /// How its packets are gathered into frames and repeated, if they are.
    pub(crate) fn framing(&self) -> Option<&Framing> {
        self.course.as_ref()?.variation.framing.as_ref()
    }

    fn ecn(&self) -> Option<EcnHazards> {
        self.course.as_ref()?.variation.ecn
    }

    /// Whether anything on it is random.
    pub(crate) fn is_stochastic(&self) -> bool {
        let varies = |course: &Course| {
            let Variation { bursts, jitter, ecn, .. } = &course.variation;
            let ecn = ecn.is_some_and(|ecn| ecn.loss.max(ecn.bleach) > 0.0);
            bursts.is_some() || jitter.is_some() || ecn
        };
        self.corruption > 0.0 || self.course.as_deref().is_some_and(varies)
    }

    fn loss(&self, seed: u64, index: u64) -> Option<Loss> {
        let corruption = (self.corruption > 0.0).then(|| (self.corruption, stream(seed, Purpose::Corruption, index)));
        let bursts = self.course.as_ref().and_then(|course| course.variation.bursts);
        let bursts = bursts.map(|b| Chain::new(b, stream(seed, Purpose::Bursts, index)));
        let ect = self.ecn().map(|ecn| ecn.loss).filter(|share| *share > 0.0);
        let ect = ect.map(|share| (share, stream(seed, Purpose::EctLoss, index)));
        (corruption.is_some() || bursts.is_some() || ect.is_some()).then_some(Loss { corruption, bursts, ect })
    }

    fn changes(&self, seed: u64, index: u64) -> Option<Changes> {
        let Course { downs, delays, variation } = self.course.as_deref()?;
        let jitter = variation.jitter.map(|j| (j, stream(seed, Purpose::Jitter, index)));
        let changes = !downs.is_empty() || !delays.is_empty() || jitter.is_some();
        changes.then(|| {
            let (downs, delays) = (downs.clone(), delays.clone());
            Changes { downs, delays, jitter, ..Changes::default() }
        })
    }
}
