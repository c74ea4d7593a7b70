//! INRPP, the In-Network Resource Pooling Protocol (Rene, Ascigil, Psaras and Pavlou, "A Congestion
//! Control Framework Based on In-Network Resource Pooling", IEEE/ACM Transactions on Networking,
//! 2021).
//!
//! Routers keep excess traffic in custody, detour part of it over neighbours with spare capacity, and apply
//! hop-by-hop backpressure when storage fills. Senders push at the processor-sharing share of their own link until
//! they are asked not to. Section, equation and line numbers in this folder are that paper's. `README.md` maps it to
//! functions.
//!
//! | file | holds |
//! |---|---|
//! | `algorithm1.rs` | algorithm 1, line by line |
//! | `equations.rs` | S_high and equations (1) to (3) |
//! | `describe.rs` | description: equipment, costs, gauges |
//! | `params.rs` | parameters and where their defaults come from |
//! | `header.rs` | the option on segments, control packets between neighbours |
//! | `note.rs` | common headers, read and written in place (fast path) |
//! | `state.rs` | the states of an interface, thresholds, notifications |
//! | `machine.rs` | the current state, and durations |
//! | `cache.rs` | the custody cache: fair lanes, gates of closed-loop flows |
//! | `nonces.rs` | the stored nonces |
//! | `port.rs` | the interface, as its node calls it |
//! | `port/config.rs` | common configuration of a network's ports |
//! | `port/limits.rs` | limits of a port's memory |
//! | `port/memory.rs` | occupancy, and admission of packets |
//! | `port/update.rs` | its state after each call, and what siblings read |
//! | `port/idle.rs` | packets that an idle port may skip (fast path) |
//! | `port/gates.rs` | flows in closed loop there |
//! | `port/report.rs` | gauges and warnings |
//! | `port/ack.rs` | what happens to an ACK, step by step |
//! | `port/steering.rs` | how many packets an ACK releases upstream; ours |
//! | `promises.rs` | allowances promised to starting flows; ours |
//! | `overdue.rs` | flows whose senders ignore feedback; ours |
//! | `port/trust.rs` | accepted notifications, and signing |
//! | `port/outage.rs` | around a link that is down; ours |
//! | `port/detours.rs` | probes, and packets around the link |
//! | `load.rs` | a port's load, what it offers to detours |
//! | `siblings.rs` | messages between the interfaces of a router |
//! | `detour.rs` | available detours and their rates |
//! | `forwarder.rs` | forwarding by the tag of detoured packets |
//! | `back.rs` | ACKs on the reverse path of their data |
//! | `endpoint.rs` | the two ends, and the receiver's answers |
//! | `endpoint/control.rs` | the sender, as TCP's calls it |
//! | `endpoint/open_loop.rs`, `closed_loop.rs` | its two loops |
//! | `endpoint/host.rs` | what the flows of a host share |
//! | `endpoint/trip.rs` | what arrives in a round trip |
//! | `auth.rs` | MACs between neighbours |
//! | `border.rs` | plain TCP carried through, and its windows |
//! | `unheard.rs` | detection of asymmetric paths |
//! | `attack.rs` | a host that forges router messages |
//! | `overlay.rs` | INRPP routers among plain ones |

mod algorithm1;
pub mod attack;
pub mod auth;
pub mod back;
pub mod border;
pub mod cache;
mod describe;
pub mod detour;
pub mod endpoint;
mod equations;
pub mod forwarder;
pub mod header;
mod intervals;
pub mod load;
mod machine;
pub mod nonces;
mod note;
mod overdue;
pub mod overlay;
pub mod params;
pub mod port;
mod promises;
pub mod siblings;
mod starts;
pub mod state;
#[cfg(test)]
mod tests;
pub mod tunnels;
pub mod unheard;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::NodeId;
use midpath_core::queue::Discipline;
use midpath_core::roles::{Forwarder, Names, Network, NodeSpec, PortSpec, Scheme, Transport};
use midpath_core::spec::SpecError;

pub(crate) use describe::schemes;
pub use params::{Additions, Notify, Params};

use crate::transport::Tcp;
use detour::Adjacency;
use endpoint::Ends;
use overlay::{InrppMap, PeerKind};
use port::{Config, InrppPort};
use siblings::Siblings;
use tunnels::Tunnels;

/// INRPP as a scheme.
pub struct Inrpp {
    name: String,
    ends: Arc<Tcp<Ends>>,
    network: Arc<Domain>,
}

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: Params) -> crate::Built {
    params.check()?;
    let ends = Arc::new(Tcp::new(name, params.tcp(), Ends::new(&params))?);
    let config = Arc::new(Config::new(&params));
    let network = Domain { params, borders: Vec::new(), config };
    Ok(Arc::new(Inrpp { name: name.to_owned(), ends, network: Arc::new(network) }))
}

/// The same for a catalogue of a process whose nodes have used all numbers up to `first` in an earlier
/// run: neighbours refuse those of notifications that they have seen.
pub fn build_after(first: u64) -> impl Fn(&serde_json::Value) -> crate::Built + Send + Sync + 'static {
    move |value| {
        let params: Params = crate::params::read_text(value)?;
        build("inrpp", Params { first_number: first, ..params })
    }
}

impl Scheme for Inrpp {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let network = Arc::new(self.network.bind(names)?);
        let ends = Arc::new(self.network.ends(&self.name, names)?);
        Ok(Some(Arc::new(Inrpp { name: self.name.clone(), ends, network })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(self.ends.clone())
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        Some(self.network.clone())
    }
}

/// What the nodes of an INRPP domain run.
struct Domain {
    params: Params,
    /// Routers that take no detours; known once the network is.
    borders: Vec<NodeId>,
    config: Arc<Config>,
}

impl Domain {
    fn bind(&self, names: &dyn Names) -> Result<Domain, SpecError> {
        let borders = find(names, "no_detours_at", &self.params.no_detours_at)?;
        Ok(Domain { params: self.params.clone(), borders, config: self.config.clone() })
    }

    /// The ends, where groups have numbers.
    fn ends(&self, name: &str, names: &dyn Names) -> Result<Tcp<Ends>, SpecError> {
        let number = |(i, group): (usize, &String)| {
            let unknown =
                || SpecError::new(format!("non_cooperative[{i}]"), format!("no flow belongs to the group `{group}`"));
            names.group(group).ok_or_else(unknown)
        };
        let groups = &self.params.non_cooperative;
        let non_cooperative = groups.iter().enumerate().map(number).collect::<Result<_, _>>()?;
        Tcp::new(name, self.params.tcp(), Ends { non_cooperative, ..Ends::new(&self.params) })
    }

    /// What a port knows of the network around it.
    fn adjacency(&self, spec: &PortSpec, node: &NodeSpec<'_>) -> Adjacency {
        let peer_kind = PeerKind::new(node, spec.port);
        let node = &NodeSpec { map: &InrppMap(node.map), ..*node };
        let two = self.params.detours > 1;
        let off = self.params.detours == 0 || self.borders.contains(&spec.node);
        let others = node.links.iter().enumerate().filter(|(i, _)| *i != usize::from(spec.port.0));
        Adjacency {
            inflow: others.map(|(_, l)| l.rate).sum(),
            interfaces: if off { Vec::new() } else { detour::detour_interfaces(node, spec.port, two) },
            second: if two && !spec.host { detour::seconds(node, spec.peer) } else { BTreeMap::new() },
            peer_kind,
            ways: back::Ways::new(node.routes.clone(), node.ecmp),
        }
    }
}

/// The nodes of these names, which stand in the parameter `key`.
fn find(names: &dyn Names, key: &str, list: &[String]) -> Result<Vec<NodeId>, SpecError> {
    let node = |(i, name): (usize, &String)| {
        let unknown = || SpecError::new(format!("{key}[{i}]"), format!("there is no node `{name}`"));
        names.node(name).ok_or_else(unknown)
    };
    list.iter().enumerate().map(node).collect()
}

impl Network for Domain {
    fn state(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(Siblings::new(node.links.len())))
    }
    fn port(&self, spec: &PortSpec, node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let port = InrppPort::new(self.config.clone(), spec, spec.queue.drop_tail()?, self.adjacency(spec, node));
        Ok(Discipline::cut_through(port))
    }
    fn takes_tunnels(&self) -> bool {
        true
    }
    fn forwarder(&self, node: &NodeSpec<'_>) -> Option<Box<dyn Forwarder>> {
        // A host has nothing to choose and forwards nothing.
        if node.map.is_host(node.node) && node.links.len() < 2 {
            return None;
        }
        let tunnels = Tunnels::new(node);
        let node = &NodeSpec { map: &InrppMap(node.map), ..*node };
        Some(Box::new(forwarder::Detouring::new(node, self.params.detours > 1, tunnels)))
    }
}
