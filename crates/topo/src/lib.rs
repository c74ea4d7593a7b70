//! Topologies: the graph that the simulator runs on, and where it comes from.

pub mod adjacency;
pub mod detour;
pub mod draft;
pub mod format;
pub mod generate;
pub mod geo;
pub mod graph;
pub mod path;
pub mod routing;
pub mod suggest;

pub use graph::{LinkInfo, NodeInfo, NodeKind, Port, Topology};
pub use routing::{Hop, Metric, Routes, ecmp_choice, ecmp_hash};
