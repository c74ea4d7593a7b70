//! Scenarios through the whole simulator: each module is a subject. One binary, for forty would be
//! linked forty times.
//!
//! `cargo test -p midpath-sim --test scenarios rcp::` runs one subject.

mod anchors;
mod anchors_a;
mod bbr;
mod bound;
mod causality;
mod closed_forms;
mod common;
mod deploy;
mod determinism;
mod faults;
mod fcp_budgets;
mod fcp_changes;
mod fcp_enforcement;
mod fcp_multicast;
mod fcp_network;
mod hpcc;
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
mod phase;
mod powertcp;
mod queue_kinds;
mod queues_ns3;
mod rcp;
mod reroute;
mod rpm;
mod rpm_signals;
mod rpm_transients;
mod stalls;
mod swift;
mod symmetric;
mod timely;
mod vary;
mod wire;
mod without;
mod xcp;
