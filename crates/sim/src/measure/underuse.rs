//! Flows that always had data but used less than half of each link of their paths, while max-min fairness fills one
//! of them.
//!
//! The rule uses only the rows of flows and ports. A flow counts if
//!
//! - it had data for [`ROUND_TRIPS`] of its round trips or more, no rate of its own, and no object with other senders;
//! - it got less than half of its path's rate, so it took no other path either;
//! - each link of its path, there and back, sent in the whole run less than half of what it could have sent while the
//!   flow was there. This bounds each link's use then, so a full access link excludes its flows;
//! - waiting for `min_rto` does not explain it (`timeouts`), if it has a size;
//! - its scheme has no stall in the run, which is the more specific warning;
//! - no link of its path changes, no pause and no tunnel is in the run: a path's links may then be idle in turn.
//!
//! The run warns if at least half of a scheme's flows with data for that long count, as a single flow that left slow
//! start early says little. In a max-min fair allocation each flow has a full link on its path. If its receiver's
//! window or random loss limits it, the warning says so.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::units::Time;
use midpath_topo::Hop;

use super::ports::port_row;
use super::warnings::{Warning, port_name};
use super::{Capacity, FlowRow, FlowRows, PortRow, stalls, timeouts};
use crate::setup::{FlowInfo, Setup};

/// Less use than this is warned of.
const HALF: f64 = 0.5;
/// Round trips that a flow must have had data. Ours: slow start fills any link in less.
const ROUND_TRIPS: u64 = 50;

/// What one scheme's flows left unused, by whether something else than their scheme bounds them.
#[derive(Debug, Default)]
struct Underuse {
    flows: usize,
    /// Of the flow with the highest, the share of its busiest link.
    used: f64,
    /// The fewest round trips.
    round_trips: u64,
    busiest: BTreeSet<(usize, u16)>,
}

/// What the run warns of, by scheme.
pub fn underuse(setup: &Setup, rows: &FlowRows<'_>, ports: &[PortRow], stalled: &[Warning]) -> Vec<Warning> {
    if setup.lossless.is_some() || setup.scenario.routing.reconverge.is_some() || setup.has_tunnels() {
        return Vec::new();
    }
    let changing: BTreeSet<usize> = setup.changing_links().collect();
    let mut found = BTreeMap::<(&str, bool), Underuse>::new();
    let mut long = BTreeMap::<&str, usize>::new();
    for (i, info, row) in rows.with_flows() {
        let Some((round_trips, life)) = backlogged(setup, (i, &info), &row, rows.end()) else { continue };
        *long.entry(setup.scheme_of_flow(&info)).or_default() += 1;
        if row.goodput >= half_of_path(&info) * info.payload_share() {
            continue;
        }
        let Some((there, back)) = setup.ways(i) else { continue };
        let hops: Vec<Hop> = there.iter().chain(&back).copied().collect();
        if hops.is_empty() || hops.iter().any(|hop| changing.contains(&hop.link)) {
            continue;
        }
        let used = hops.iter().map(|hop| (used_at_most(setup, ports, hop, life), (hop.node, hop.port)));
        let Some((used, busiest)) = used.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(used, _)| *used < HALF) else {
            continue;
        };
        let bounded = setup.ceiling(i, &there).is_some_and(|most| most.as_f64() < half_of_path(&info));
        let known = found.entry((setup.scheme_of_flow(&info), bounded)).or_default();
        known.round_trips = if known.flows == 0 { round_trips } else { known.round_trips.min(round_trips) };
        known.flows += 1;
        known.used = known.used.max(used);
        known.busiest.insert(busiest);
    }
    found.retain(|(scheme, _), of| 2 * of.flows >= long[scheme] && stalled.iter().all(|said| said.scheme() != *scheme));
    found.into_iter().map(|((scheme, bounded), of)| of.warning(setup, scheme, bounded)).collect()
}

/// Half of the rate of a flow's path.
fn half_of_path(info: &FlowInfo<'_>) -> f64 {
    HALF * info.bottleneck.as_f64()
}

/// Round trips in which a flow had data, and from when to when, if those are enough and nothing else bounds it.
fn backlogged(
    setup: &Setup,
    (i, info): (usize, &FlowInfo<'_>),
    row: &FlowRow,
    end: Time,
) -> Option<(u64, (Time, Time))> {
    let start = row.start?;
    let until = row.report.completed.unwrap_or(end).min(info.flow.stop.unwrap_or(end));
    let round_trips = until.saturating_sub(start).0 / stalls::round_trip(info, row).0.max(1);
    let shared = || info.flow.object.is_some() || info.flow.replicas.is_some();
    let skipped =
        || setup.flows.is_application_limited(i, info) || shared() || timeouts::is_explained(setup, info, row);
    (round_trips >= ROUND_TRIPS && !skipped()).then_some((round_trips, (start, until)))
}

/// A bound on the share of a link that was used during a time: what it sent in the whole run.
fn used_at_most(setup: &Setup, ports: &[PortRow], hop: &Hop, (from, to): (Time, Time)) -> f64 {
    let sent = port_row(ports, (hop.node, hop.port)).map_or(0, |row| row.counters.bytes);
    sent as f64 * 8.0 / Capacity::of(setup, hop.link, hop.node).bits(from, to)
}

impl Underuse {
    fn warning(self, setup: &Setup, scheme: &str, bounded: bool) -> Warning {
        let Underuse { flows, used, round_trips, busiest } = self;
        let flows = if flows == 1 { "1 flow".to_owned() } else { format!("{flows} flows") };
        let why = if bounded { "; limited by a receiver's window or random loss" } else { "" };
        let message = format!(
            "under half of the ideal: {flows} had data for {round_trips} round trips or more, but no link on \
                their paths was used above {:.1} %; max-min fairness would fill one{why}",
            100.0 * used
        );
        Warning::new(scheme, message, busiest.into_iter().map(|(n, p)| port_name(setup, n, p.into())).collect())
    }
}
