//! INT of a port: its counters, and writing them into packets.

use midpath_core::packet::Packet;
use midpath_core::queue::{Aqm, Bound, Discipline, Queue, Verdict, View};
use midpath_core::roles::{Drop, Network, NodeSpec, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};

use super::header::{IntHeader, Reading};
use super::params::{HpccParams, Int};

/// A drop-tail port with telemetry.
#[derive(Debug, Clone)]
pub struct HpccPort {
    /// What it writes into; hosts' ports write nothing, as HPCC's network cards.
    int: Option<Int>,
    bound: Bound,
    rate: Rate,
    /// Bytes taken so far.
    taken: u64,
    /// Bytes that waited after the last arrival, and when that was.
    waiting: u64,
    seen: Time,
}

impl Network for HpccParams {
    fn port(&self, spec: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let bound = spec.queue.drop_tail()?.bound(spec.link.rate);
        let int = (!spec.host).then_some(self.int);
        Ok(Discipline::with_shortcuts(Queue::of(HpccPort::new(int, bound, spec.link.rate))))
    }
}

impl HpccPort {
    /// A port of `rate` that holds at most `bound`.
    pub const fn new(int: Option<Int>, bound: Bound, rate: Rate) -> HpccPort {
        HpccPort { int, bound, rate, taken: 0, waiting: 0, seen: Time::ZERO }
    }

    /// Its reading between arrivals: what waited then, less what the link has sent since.
    fn reading(&self, now: Time) -> Reading {
        let gone = self.rate.bytes_in(now.saturating_sub(self.seen)).0;
        self.written(self.waiting.saturating_sub(gone), now)
    }

    fn written(&self, queue: u64, now: Time) -> Reading {
        Reading {
            rate: (self.rate.0 as f32).max(1.0),
            queue: u32::try_from(queue).unwrap_or(u32::MAX),
            sent: (self.taken - queue.min(self.taken)) as u32,
            time: now.as_ns() as u32,
        }
    }
}

/// Adds a reading to a packet that is on its way there, or back.
fn write(packet: &mut Packet, returns: bool, reading: Reading) {
    if let Some(mut header) = packet.header::<IntHeader>()
        && header.returns == returns
    {
        header.push(reading);
        packet.set_header(&header);
    }
}

impl Aqm for HpccPort {
    fn watches_leaving(&self) -> bool {
        self.int == Some(Int::Data)
    }

    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        (self.rate, self.seen) = (view.rate, view.now);
        let admitted = self.bound.admits(view.backlog, packet.size);
        self.waiting = view.backlog.bytes;
        if !admitted {
            return Verdict::Drop(Drop::Queue);
        }
        let size = u64::from(packet.size);
        self.taken += size;
        self.waiting += if view.busy() { size } else { 0 };
        Verdict::Pass
    }

    /// HPCC, §3.1: a switch writes as it sends.
    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let reading = self.written(view.backlog.bytes, view.now);
        write(packet, false, reading);
        Verdict::Pass
    }

    fn watches_inbound(&self) -> bool {
        self.int == Some(Int::Ack)
    }

    /// FNCC: a switch writes into the ACK what it knows of the port that the ACK's data have left
    /// through.
    fn inbound(&mut self, packet: &mut Packet, now: Time) -> Result<(), Drop> {
        let reading = self.reading(now);
        write(packet, true, reading);
        Ok(())
    }

    fn reset(&mut self) {
        (self.taken, self.waiting) = (0, 0);
    }
}
