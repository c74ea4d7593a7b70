//! Measurement: what flows, ports and series show, and the summary.

mod bound;
mod capacity;
mod flows;
mod plan;
mod ports;
mod series;
mod summary;
mod warnings;

pub use bound::afct_bound;
pub use capacity::Capacity;
pub use flows::{FlowRow, FlowRows, flow_table};
pub use ports::{PortRow, port_table};
pub use series::{Entity, Recorder, Recording, SeriesPlan};
pub use summary::summarise;
pub use warnings::{Warning, of_run, rerouted_ideal, warnings};
