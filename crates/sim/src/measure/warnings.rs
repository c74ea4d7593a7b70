//! What schemes warn of: each sentence once, with the ports that say it.

use std::collections::BTreeMap;

use midpath_core::packet::{NodeId, PortId};
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::setup::Setup;

/// More ports than these are counted, not named.
const MAX_NAMED: usize = 8;

/// `warnings` of `run.json`.
pub fn warnings(setup: &Setup, engine: &Engine) -> Value {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let name = |n: usize| &setup.topology.nodes()[n].name;
    for n in 0..setup.topology.nodes().len() {
        for (p, at) in setup.topology.ports(n).iter().enumerate() {
            let mut said = Vec::new();
            engine.node(NodeId(n as u32)).warnings(PortId(p as u16), &mut said);
            let place = || format!("{}>{}", name(n), name(at.peer as usize));
            let scheme = setup.scheme_at(n, p).unwrap_or_default();
            said.into_iter().for_each(|what| found.entry((scheme.to_owned(), what)).or_default().push(place()));
        }
    }
    let entry = |((scheme, message), ports): ((String, String), Vec<String>)| {
        json!({
            "scheme": scheme, "message": message, "count": ports.len(), "ports": ports[..ports.len().min(MAX_NAMED)],
        })
    };
    found.into_iter().map(entry).collect()
}
