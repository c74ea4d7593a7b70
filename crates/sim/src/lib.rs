//! The packet-level simulator of Midpath: it owns [`midpath_core::node::Node`]s and runs them in
//! virtual time.
//!
//! [`run_text`] takes a scenario from text to tables; [`engine::Engine`] runs it. In a [`Session`] a program sends messages while
//! the network runs.

mod check;
pub mod engine;
mod ideal;
pub mod measure;
mod memory;
pub mod output;
pub mod pcap;
mod run;
pub mod scenario;
mod schemes;
mod session;
pub mod setup;

pub use check::{Checked, check, check_file};
pub use measure::columns;
pub use memory::PER_ACTIVE_FLOW;
pub use output::{Column, RunOutput, Table};
pub use run::{Listener, PIECE, Phase, Progress, RunOptions, prepare, run_in_pieces, run_text, run_with, wall_clock};
pub use scenario::{ScenarioError, schema, schema_of};
pub use schemes::schemes;
pub use session::{Callback, Ended, Host, Session, SessionError};
