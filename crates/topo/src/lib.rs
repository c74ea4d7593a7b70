//! Topologies: the graph that the simulator runs on, where it comes from, and the routes over it.
//!
//! A scenario's `[topology]` table is a [`spec::TopologySpec`]; [`spec::build`] turns it into a
//! checked [`Topology`], from a network that ships with Midpath ([`mod@builtin`]), a rule
//! ([`generate`]), a file ([`mod@format`]) or links written in the scenario. On the way it is a
//! [`draft::Draft`], which may still lack rates and delays. [`Routes`] answers in constant time
//! through which ports a node reaches a destination; [`detour`] what INRPP can do about a congested
//! link; [`describe`] what a network is like in numbers; [`layout`] where to draw it.
//!
//! No I/O but the reading of a topology file, no clock, no randomness but the seed's.
//!
//! ```
//! use midpath_topo::{Metric, Routes, path::Unloaded, spec};
//!
//! let table = r#"{"builtin": "abilene", "hosts": {"per_node": 1, "rate": "1 Gbps"}}"#;
//! let table: spec::TopologySpec = serde_json::from_str(table).unwrap();
//! let topology = spec::build(&table, std::path::Path::new("."), 1).unwrap();
//!
//! let routes = Routes::compute(&topology, Metric::Delay);
//! let (from, to) = (topology.find("h0").unwrap(), topology.find("h7").unwrap());
//! let hops = routes.flow_path(&topology, from, to, 7).unwrap();
//! let path = Unloaded::new(&topology, &hops);
//!
//! let names: Vec<_> = hops.iter().map(|h| topology.nodes()[h.node].name.as_str()).collect();
//! assert_eq!(names, ["h0", "Seattle", "Denver", "Kansas City", "Indianapolis", "Atlanta"]);
//! assert_eq!(path.bottleneck.to_string(), "1 Gbps");
//! ```

pub mod adjacency;
pub mod builtin;
pub mod classes;
mod columns;
pub mod describe;
pub mod detour;
pub mod draft;
pub mod format;
pub mod generate;
pub mod geo;
pub mod graph;
mod homed;
pub mod layout;
pub mod path;
pub mod routing;
mod shortest;
pub mod spec;
pub mod symmetric;
mod twins;

pub use midpath_core::suggest;

pub use graph::{LinkInfo, NodeInfo, NodeKind, Port, Topology};
pub use routing::{Hop, Metric, Routes};
