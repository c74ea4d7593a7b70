//! What the nodes of a part share, beside their packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use midpath_core::packet::{FlowId, Pkt, Pool};
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::delays::AllDelays;
use super::mail::{Address, Mail};
use super::reports::{AllReports, EndEvent};
use super::rings::{Entry, Rings};
use super::sched::Calendar;
use super::tally::{FlowFate, Tally};
use super::trace::Life;
use super::waits::Waiting;
use super::{Event, Probe};

/// What a node's driver reaches by one pointer: fourteen cost seven instructions a hop of a fat-tree.
pub(crate) struct PartState {
    pub rings: Rings,
    pub calendar: Calendar,
    pub tally: Tally,
    pub fates: FxHashMap<FlowId, FlowFate>,
    pub delays: AllDelays,
    /// All parts' together.
    pub reports: AllReports,
    /// What leaves for each part.
    pub outbox: Vec<Mail>,
    pub events: Vec<Event>,
    pub probe: Box<dyn Probe>,
    /// Packets are observed as they get their places on the wire: by the probe, or because links
    /// are of bytes.
    pub observed: bool,
    /// With links of bytes: where packets are written.
    pub bytes: Option<Vec<u8>>,
    /// Flows that wait for others, if any do.
    pub waiting: Option<Box<Waiting>>,
    /// In step: what ends of flows have come to. Else nobody is told, and their reports are kept.
    pub ends: Option<Vec<EndEvent>>,
    /// Nodes whose lookahead is smaller than a bucket, and when they have something to do in the
    /// bucket at hand.
    pub tight: BinaryHeap<Reverse<(Time, u32)>>,
    pub bucket_end: Time,
    /// Packets for other parts that are still being sent and may be marked then.
    pub staged: Vec<Staged>,
}

impl PartState {
    /// Hands a packet over to another part, where it arrives, corrupt or not.
    pub fn export(
        &mut self,
        (part, ring): (u32, u32),
        (at, corrupt): (Time, bool),
        (pkt, life): (Pkt, Life),
        pool: &mut Pool,
    ) {
        self.tally.exported += 1;
        self.outbox[part as usize].put(pkt, Address { ring, at, corrupt, life, payload: None }, pool);
    }
}

/// A packet that begins on a wire to another part.
pub(crate) struct Staged {
    /// When it will have been sent.
    pub end: Time,
    pub part: u32,
    pub ring: u32,
    /// When it arrives.
    pub at: Time,
    pub entry: Entry,
}
