//! Scenarios through the whole simulator: each module is a subject. One binary, for forty would be
//! linked forty times.
//!
//! `cargo test -p midpath-sim --test scenarios rcp::` runs one subject.

mod anchors;
mod anchors_a;
mod applications;
mod bbr;
mod bolt;
mod bound;
mod causality;

mod closed_forms;
mod common;
mod datagrams;
mod deploy;
mod determinism;
mod faults;
mod fcp_budgets;
mod fcp_changes;
mod fcp_enforcement;
mod fcp_multicast;
mod fcp_network;
mod hpcc;
mod impairments;
mod inrpp;
mod inrpp_deployment;
mod inrpp_edges;
mod inrpp_letter;
mod inrpp_little;
mod inrpp_loss;
mod invariants;
mod keys;
mod l4s;
mod measures;
mod mircc;
mod mircc_hostile;
mod mircc_icn;
mod mircc_sharing;
mod mptcp;
mod ndn;
mod no_effect;
mod opener;
mod outside;
mod paths;
mod pfc;
mod phase;
mod policer;
mod queue_kinds;
mod queues_ns3;
mod rack;
mod rcp;
mod reroute;
mod rpm;
mod rpm_signals;
mod rpm_transients;
mod said;
mod short_paths;
mod stalls;
mod supply;
mod symmetric;
mod traces;
mod vary;
mod waits;
mod wire;
mod without;
mod xcp;
