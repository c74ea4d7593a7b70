//! Ports that do what some middleboxes on the Internet do: the schemes `bleach` and `thin`.

use std::sync::Arc;

use midpath_core::packet::{Ecn, Packet};
use midpath_core::queue::{Aqm, Discipline, Fifo, Loss, Queue, Verdict, View};
use midpath_core::roles::{Drop, Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_schemes::{Built, Catalogue, Description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clears the ECN field (RFC 9000, §13.4.2).
#[derive(Debug)]
struct Bleach;

impl Aqm for Bleach {
    fn enqueue(&mut self, packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        packet.ecn = Ecn::NotEct;
        Verdict::Pass
    }
}

/// Takes three of four ACKs (RFC 3449, §5.2.1), known by their size. Those of a handshake pass, and so does all data.
#[derive(Debug, Default)]
struct Thin(u32);

const LARGEST_ACK: u32 = 120;
const OF_HANDSHAKE: u32 = 10;

impl Aqm for Thin {
    fn enqueue(&mut self, packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        self.0 += u32::from(packet.size <= LARGEST_ACK);
        let passes = packet.size > LARGEST_ACK || self.0 <= OF_HANDSHAKE || self.0.is_multiple_of(4);
        if passes { Verdict::Pass } else { Verdict::Drop(Drop::Policy) }
    }
}

/// They take no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NoParams {}

/// Before which queues it stands.
struct Before<A>(fn() -> A);

impl<A: Aqm + 'static> Network for Before<A> {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(Queue::new((self.0)(), Fifo::new(port.queue.drop_tail()?.bound(port.link.rate)), Loss).discipline())
    }
}

fn built(name: &str, network: Arc<dyn Network>) -> Built {
    Ok(Arc::new(Parts { name: name.to_owned(), transport: None, network: Some(network) }))
}

fn described(title: &'static str, summary: &'static str, routers: &'static str) -> Description {
    Description { title, summary, routers, ..Description::default() }
}

/// Both.
pub fn schemes() -> Catalogue {
    Catalogue::empty()
        .with_params::<NoParams>("bleach", |name, _| built(name, Arc::new(Before(|| Bleach))))
        .described("bleach", described("Bleach", "Clears the ECN field of every packet.", "bleach"))
        .with_params::<NoParams>("thin", |name, _| built(name, Arc::new(Before(Thin::default))))
        .described("thin", described("Thin", "Drops three of four ACKs.", "thin"))
}
