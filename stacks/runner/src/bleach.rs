//! A port that clears the ECN field, as some routers on the Internet do (RFC 9000, §13.4.2): the scheme `bleach`.

use std::sync::Arc;

use midpath_core::packet::{Ecn, Packet};
use midpath_core::queue::{Aqm, Discipline, Fifo, Loss, Queue, Verdict, View};
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_schemes::{Built, Catalogue, Description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
struct Bleach;

impl Aqm for Bleach {
    fn enqueue(&mut self, packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        packet.ecn = Ecn::NotEct;
        Verdict::Pass
    }
}

/// It takes no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct BleachParams {}

impl Network for BleachParams {
    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        Ok(Queue::new(Bleach, Fifo::new(port.queue.drop_tail()?.bound(port.link.rate)), Loss).discipline())
    }
}

fn build(name: &str, params: BleachParams) -> Built {
    Ok(Arc::new(Parts { name: name.to_owned(), transport: None, network: Some(Arc::new(params)) }))
}

/// The scheme.
pub fn schemes() -> Catalogue {
    let description = Description {
        title: "Bleach",
        summary: "Clears the ECN field of every packet.",
        routers: "bleach",
        ..Description::default()
    };
    Catalogue::empty().with_params::<BleachParams>("bleach", build).described("bleach", description)
}
