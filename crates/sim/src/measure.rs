//! Measurement: tables of flows and ports, time series, and the summary.

mod bound;
mod capacity;
mod flows;
mod no_effect;
mod pauses;
mod phase;
mod plan;
mod ports;
mod series;
mod sought;
mod stalls;
mod summary;
mod timeouts;
mod trace;
mod underuse;
mod unmarked;
mod warnings;
mod watch;

pub use bound::afct_bound;
pub use capacity::Capacity;
pub use flows::{FlowRow, FlowRows, flow_table};
pub use no_effect::without_effect;
pub use pauses::Pauses;
pub use phase::phase_effects;
pub use ports::{PortRow, port_table};
pub use series::{Entity, Recorder, Recording, SeriesPlan};
pub use sought::found;
pub use stalls::stalls;
pub use summary::summarise;
pub use timeouts::timeouts;
pub use trace::{Traced, untraced_ideal};
pub use underuse::underuse;
pub use unmarked::unmarked;
pub use warnings::{Warning, of_run, rerouted_ideal, warnings, warnings_beforehand};
pub use watch::{Watch, WatchPlan, Watched};
