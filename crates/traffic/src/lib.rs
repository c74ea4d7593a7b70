//! Workloads: who sends how much to whom, and when. Pure functions of a specification and a seed;
//! the only files read are the ones that a specification names.
//!
//! | part | holds |
//! |---|---|
//! | [`ExplicitFlow`] | `[[flow]]`: one flow, or `count` like it |
//! | [`WorkloadSpec`] | `[[workload]]`: arrivals × sizes × matrix, or a flow list |
//! | [`ClientSpec`], [`JobSpec`] | `[[client]]` (requests, pages, videos), `[[job]]`: flows that wait for flows |
//! | [`generate`] | all, as a [`FlowList`] |
//! | [`parse_flow_list_bytes`] | flow lists: CSV, the HPCC flow text format, htsim's connection matrices |
//! | [`parse_matrix_bytes`] | traffic matrices: CSV, and demands of topohub, SNDlib and Repetita |
//!
//! # Randomness
//!
//! Each entry of `[[flow]]`, `[[workload]]`, `[[client]]` and `[[job]]` has random streams of its own, derived from the seed
//! and the entry's index (xoshiro256++ seeded through SplitMix64). So adding a workload behind the
//! others doesn't change what they draw. Within a workload, arrivals, sizes and pairs draw from
//! separate streams: another size distribution with the same mean arrives at the same times between
//! the same hosts.

mod after;
mod arrivals;
mod cdf;
mod client;
mod collectives;
mod connections;
mod demands;
mod durations;
mod explicit;
mod file;
mod flow;
mod flows;
mod generate;
mod goal;
mod goal_binary;
mod groups;
mod har;
mod hosts;
mod job;
mod list;
mod matrix;
mod objects;
mod pages;
mod rates;
mod repetita;
mod requests;
mod sizes;
mod sndlib;
mod stream;
mod trace;
mod video;
mod workload;
mod writes;

use midpath_core::suggest;

pub use after::{After, Call, ConnectionPool, Number, RareStep, Server, Step, WaitFor};
pub use arrivals::{ArrivalSpec, LoadOf};
pub use cdf::{BUILT_IN_CDFS, CdfError, EmpiricalCdf};
pub use client::{ClientFlows, ClientSpec, Connections, LevelSpec, Scheduling};
pub use durations::{Drawn, Duration, DurationSpec};
pub use explicit::ExplicitFlow;
pub use flow::{Flow, FlowMemoryBudget, MAX_FLOWS, Terms};
pub use flows::FlowList;
pub use generate::{Context, Specs, generate};
pub use groups::GroupNames;
pub use har::{Cause, Har, Page, Resource, check_har};
pub use hosts::{Host, HostTable, LinkRates, NoLinks};
pub use job::{Collective, JobFlows, JobSpec, Placement};
pub use list::{FlowListFormat, ListError, ListSpec, ListedFlow, csv_line, parse_flow_list_bytes, whole_lines};
pub use matrix::{Direction, GravityBy, MatrixSpec};
pub use objects::ObjectSpec;
pub use pages::{Load, PageLoads};
pub use rates::{Entries, Entry, parse_matrix_bytes};
pub use sizes::{SizeSampler, SizeSpec};
pub use stream::Seed;
pub use trace::check_trace;
pub use video::{BitrateRule, Playback, VideoFlows, VideoSpec};
pub use workload::WorkloadSpec;
pub use writes::{WriteLaws, Writes};
