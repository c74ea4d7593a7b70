//! State that drivers read between events: counters, backlogs, gauges, reports.

use super::Node;
use super::forwarding::Chain;
use super::slot::{Slot, Transmitted};
use crate::packet::{FlowId, PortId};
use crate::roles::{Backlog, Endpoint, FlowReport};
use crate::stats::PortCounters;
use crate::units::{Rate, Time};

impl Node {
    /// How many ports it has.
    pub fn ports(&self) -> usize {
        self.slots.len()
    }

    /// The rate of a port's link now.
    pub fn rate(&self, port: PortId) -> Rate {
        self.links[usize::from(port.0)].rate
    }

    /// A port's counters.
    pub fn counters(&self, port: PortId) -> PortCounters {
        self.slots[usize::from(port.0)].counted()
    }

    /// Says when the run ends: what ports count of waiting ends there.
    pub fn measure_until(&mut self, end: Time) {
        self.until = end;
    }

    /// What a port has put onto its wire by `now`. (Its counters have what waits on a timetable,
    /// too.)
    pub fn transmitted(&self, port: PortId, now: Time) -> Transmitted {
        self.slots[usize::from(port.0)].transmitted(now, self.links[usize::from(port.0)].rate)
    }

    /// A port's counters as they are at `until`, the end of the run. The delays are handed over, and
    /// none are left here.
    pub fn measured(&mut self, port: PortId, until: Time) -> PortCounters {
        self.slots[usize::from(port.0)].measured(until, self.links[usize::from(port.0)].rate)
    }

    /// When a port will have sent everything that has a place on its wire.
    pub fn free_at(&self, port: PortId) -> Time {
        self.slots[usize::from(port.0)].free_at()
    }

    /// What waits at a port now.
    pub fn backlog(&mut self, port: PortId, now: Time) -> Backlog {
        self.slots[usize::from(port.0)].backlog(now)
    }

    /// Packets that held ports, the forwarder and the receive queue keep. (Those of a timetable are the driver's
    /// already.)
    pub fn stored(&self) -> u64 {
        let held = |s: &Slot| s.held().map_or(0, |port| port.backlog().packets);
        let kept = self.forwarding.chain().map_or(0, Chain::kept);
        self.slots.iter().map(held).sum::<u64>() + kept + self.awaiting_host()
    }

    /// What a port's scheme shows of itself; of a host's first port, what waits for the host.
    pub fn gauges(&self, port: PortId, out: &mut Vec<(&'static str, f64)>) {
        if let Some(queue) = self.receive_queue().filter(|_| port.0 == 0) {
            out.push(("host_bytes", queue.received.held as f64));
        }
        if let Some(port) = self.slots[usize::from(port.0)].port() {
            port.gauges(out);
        }
    }

    /// What a port's scheme warns of.
    pub fn warnings(&self, port: PortId, out: &mut Vec<String>) {
        if let Some(port) = self.slots[usize::from(port.0)].port() {
            port.warnings(out);
        }
    }

    /// The endpoints that are still here: flow, whether it is the active end, endpoint.
    pub fn endpoints(&self) -> impl Iterator<Item = (FlowId, bool, &dyn Endpoint)> + '_ {
        self.endpoints.iter().map(|(end, endpoint)| (end.flow, end.active, endpoint))
    }

    /// The reports of the endpoints that are still here: flow, whether it is the active end,
    /// report.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, bool, FlowReport)> + '_ {
        self.endpoints.iter().map(|(end, endpoint)| (end.flow, end.active, endpoint.report()))
    }

    /// Bytes of memory that grow with flows and timers.
    pub fn memory(&self) -> usize {
        self.endpoints.memory() + self.timers.memory()
    }

    /// Those that grow with the packets which wait for ports with a timetable.
    pub fn packet_memory(&self) -> usize {
        self.slots.iter().map(Slot::memory).sum()
    }
}
