//! The engine: nodes are grouped in parts, which threads process in windows no longer than the delay between parts.
//!
//! The result does not depend on the number of parts: a node sees only its arrivals and wake-ups, ordered by (time,
//! arrival before wake-up, port, order on the wire).

mod arrival_heap;
mod arrival_list;
mod assemble;
mod chance;
mod delays;
mod driver;
mod event_loops;
mod frames;
mod in_step;
mod mail;
mod network;
mod next_arrivals;
mod parallel;
mod part;
mod part_state;
mod partition;
mod passage;
mod players;
mod pools;
mod reports;
mod rings;
mod sched;
mod servers;
mod tally;
mod trace;
mod waits;
mod wire;

pub use assemble::{Crew, Engine, IsWorth};
pub use chance::{Bursts, Jitter, Law};
pub use delays::Delays;
pub use frames::{Arq, Frame, Framing};
pub use network::{Course, EcnHazards, NetLink, Network, Shaper, Variation};
pub(crate) use parallel::RestCheck;
pub use parallel::Survey;
pub(crate) use partition::END;
pub use passage::{Fate, Passage};
pub use players::Player;
pub use pools::Pool;
pub(crate) use reports::EndEvent;
pub use reports::Reports;
pub use servers::Server;
pub use tally::{FlowFate, Tally};
pub use trace::{Event as TraceEvent, Key, Life, Record, Trace, TracePlan, reason};
pub use waits::{Call, GIVE_UP, Order, Wait, WaitDetails, Waits, pack};

use midpath_core::node::Node;
use midpath_core::packet::{Carried, FlowId, PortId};
use midpath_core::roles::FlowReport;
use midpath_core::units::{Rate, Time};

/// What happens to a node during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The link of a port goes up or down.
    Up(PortId, bool),
    /// The rates of a port's link change: that out of the port, and that of the other direction.
    Rate(PortId, [Rate; 2]),
    /// The node goes over to the routes of this state of the network.
    Routes(u32),
    /// The node restarts.
    Restart,
}

/// Watches a part as it runs. Node numbers are the part's own.
pub trait Probe: Send {
    /// Whether [`Probe::transmitted`] and [`Probe::dropped`] want to be called.
    fn watches_packets(&self) -> bool {
        false
    }
    /// Called when a packet gets its place on the wire.
    fn transmitted(&mut self, _node: u32, _port: PortId, _packet: Carried<'_>, _start: Time) {}
    /// Called when a packet is dropped at a port, if it wants to be.
    fn dropped(&mut self, _node: u32, _port: PortId, _packet: Carried<'_>, _why: &'static str, _now: Time) {}
    /// Called when an endpoint finished.
    fn finished(&mut self, _node: u32, _flow: FlowId, _active: bool, _report: &FlowReport, _now: Time) {}
    /// Called for every node at sampling times, before anything else that happens then.
    fn sample(&mut self, _node: u32, _state: &mut Node, _now: Time) {}
    /// Called when all nodes have been sampled.
    fn end_sample(&mut self) {}
    /// Called with all nodes at the times of a watch, before anything else that happens then, and with how many events
    /// there have been.
    fn watch(&mut self, _nodes: &[Node], _events: u64, _now: Time) {}
    /// The probe itself, when the run is over.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any + Send>;
}

/// Watches nothing.
pub struct Blind;

impl Probe for Blind {
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any + Send> {
        self
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packet-hops so far.
    pub hops: u64,
}
