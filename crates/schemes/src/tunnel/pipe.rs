//! The buffer between a port and the connection that carries its packets: the stream's content by offset.
//!
//! The simulator's segments have no bytes. So packets are kept here from when they enter the stream
//! until their last byte has come out of it. Its two ends may run on two threads. That changes no
//! result: the entrance looks at its own counts only, and the exit takes what lies below an offset
//! that a segment has brought, which was put in before that segment was sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use midpath_core::packet::{Packet, Payload};
use midpath_core::roles::FlowReport;

/// A packet's length, which goes before it (RFC 4571, §2).
const LENGTH: u64 = 2;

/// Bytes that may wait in the stream before they are sent first: what else waits does so at the port
/// (as with Linux's `TCP_NOTSENT_LOWAT`). Ours: four full packets, which is what an ACK of two
/// segments lets go in slow start, so that segments are full.
pub const UNSENT: u64 = 6000;

/// One direction of a tunnel.
#[derive(Debug, Default)]
pub struct Pipe {
    /// Packets inside and what they carry, with where the stream goes on after each.
    inside: VecDeque<(u64, Packet, Option<Payload>)>,
    /// Bytes of the stream: put in, sent at least once, acknowledged.
    taken: u64,
    sent: u64,
    acknowledged: u64,
    /// The port has found no room.
    waits: bool,
    report: PipeReport,
}

/// What one direction of a tunnel has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PipeReport {
    /// Packets put in.
    pub entered: u64,
    /// Packets that have come out.
    pub left: u64,
    /// Bytes put in, lengths included.
    pub bytes: u64,
    /// The most bytes that its entrance has kept, sent or not, until they were acknowledged.
    pub most_kept: u64,
    /// What the connection's sending end says.
    pub flow: FlowReport,
}

impl Pipe {
    /// Whether a port may put a packet in. If not, the port is asked again when there is room.
    pub fn has_room(&mut self) -> bool {
        self.waits = self.taken - self.sent >= UNSENT;
        !self.waits
    }

    /// Takes a packet in.
    pub fn enter(&mut self, packet: Packet, payload: Option<Payload>) {
        self.taken += LENGTH + u64::from(packet.size);
        self.report.entered += 1;
        self.report.bytes = self.taken;
        self.report.most_kept = self.report.most_kept.max(self.taken - self.acknowledged);
        self.inside.push_back((self.taken, packet, payload));
    }

    /// Bytes put in.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Called when the connection has sent up to `sent` and heard that `acknowledged` has arrived.
    /// Says whether the port waits for room that there is now.
    pub fn went_on(&mut self, sent: u64, acknowledged: u64) -> bool {
        self.sent = self.sent.max(sent);
        self.acknowledged = self.acknowledged.max(acknowledged);
        debug_assert!(self.acknowledged <= self.sent && self.sent <= self.taken, "{self:?}");
        std::mem::take(&mut self.waits) && self.has_room()
    }

    /// The next packet that lies below an offset of the stream.
    pub fn leave(&mut self, below: u64) -> Option<(Packet, Option<Payload>)> {
        let (end, ..) = self.inside.front()?;
        if *end > below {
            return None;
        }
        self.report.left += 1;
        self.inside.pop_front().map(|(_, packet, payload)| (packet, payload))
    }

    /// Takes over what the sending end says.
    pub fn note(&mut self, flow: FlowReport) {
        self.report.flow = flow;
    }

    /// Bytes put in that have not been sent yet.
    pub fn unsent(&self) -> u64 {
        self.taken - self.sent
    }

    /// What has been carried.
    pub fn report(&self) -> PipeReport {
        self.report
    }
}

/// A pipe as its port, its two ends and the results hold it.
#[derive(Debug, Clone, Default)]
pub struct SharedPipe(Arc<Mutex<Pipe>>);

impl SharedPipe {
    /// The pipe, for one look.
    pub fn get(&self) -> MutexGuard<'_, Pipe> {
        // Whoever panicked left counts that still add up, and the run ends with that panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
