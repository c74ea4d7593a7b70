//! Phase effects (Floyd and Jacobson, 1992): without randomness, which flow a full queue drops can depend on less
//! than a packet time, and always be the same one.
//!
//! Flows are alike if they have the same scheme, weight and budget, start within a round trip of each other, last to
//! the end of the run, and their unloaded round trips differ by at most a packet time at the link that drops or
//! marks most on their path. If alike flows have that link to themselves, its queue decides by occupancy alone, and
//! no randomness is on their path, then only phase effects can make their shares differ.

use std::collections::BTreeMap;

use midpath_core::units::{Bytes, Time};
use rustc_hash::FxHashSet;

use super::ports::port_row;
use super::summary::jain;
use super::warnings::{Warning, port_name};
use super::{FlowRow, FlowRows, PortRow};
use crate::setup::{FlowInfo, Setup};

/// Jain's index below which the shares of flows that lose packets are unlike: three to one of two
/// flows. Ours: of 130 random dumbbells 47 gave a warning, and with jitter at hosts the index was
/// less than half as far from 1 in all of them.
const UNLIKE: f64 = 0.8;
/// The same of flows that are marked often. Ours: marks come one by one, and shares differ less.
const UNLIKE_MARKED: f64 = 0.95;
/// Marks, or losses of all, from which on shares are not those of a few unlucky ones. Ours.
const OFTEN: u32 = 1000;
const LOSSES: u64 = 100;
/// Measured round trips that a run must last. Ours: what begins unlike needs time to become alike.
const ROUND_TRIPS: u64 = 100;
/// The share of the port's bytes that must be these flows'. Ours: the rest are headers, repeats and
/// what passes by.
const MOSTLY: f64 = 0.8;
/// More flows than these are counted, not named.
const MAX_NAMED: usize = 4;

/// A flow that may be like others.
struct Candidate {
    flow: usize,
    rtt: Time,
    start: Time,
    row: FlowRow,
}

/// What alike flows have in common, besides times: scheme, port, weight, budget, and when they stop.
type Kind<'a> = (&'a str, (usize, u16), u64, Option<&'a str>, Option<Time>);

/// What the run warns of: alike flows whose shares differ.
pub fn phase_effects(setup: &Setup, rows: &FlowRows<'_>, ports: &[PortRow]) -> Vec<Warning> {
    let mut kinds = BTreeMap::<Kind<'_>, Vec<Candidate>>::new();
    for (flow, info, row) in rows.with_flows() {
        for kind in kinds_of(setup, ports, (flow, &info), &row) {
            kinds.entry(kind).or_default().push(Candidate {
                flow,
                rtt: info.rtt,
                start: row.start.unwrap_or(Time::MAX),
                row,
            });
        }
    }
    // The ports that hit most come first: flows that share several are named with one.
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, _)| std::cmp::Reverse(hit(ports, kind.1)));
    let (mut named, mut all) = (FxHashSet::default(), Vec::new());
    for (kind, flows) in kinds {
        let packet = packet_time(setup, kind.1, flows[0].flow);
        for flows in alike(flows, packet) {
            if flows.iter().all(|f| !named.contains(&f.flow))
                && let Some(warning) = warning(setup, ports, kind, packet, &flows, rows.end())
            {
                named.extend(flows.iter().map(|f| f.flow));
                all.push(warning);
            }
        }
    }
    all
}

/// Packets that a port dropped or marked.
fn hit(ports: &[PortRow], place: (usize, u16)) -> u64 {
    let counters = port_row(ports, place).map(|row| &row.counters);
    counters.map_or(0, |c| c.drops_queue + c.drops_aqm + c.marks)
}

fn packet_time(setup: &Setup, (node, port): (usize, u16), flow: usize) -> Time {
    let link = &setup.topology.links()[setup.topology.ports(node)[usize::from(port)].link as usize];
    link.rate_from(node).time_for(Bytes(u64::from(setup.flows.get(flow).mtu)))
}

/// What flow `flow` is like at each port of its way that drops or marks. Nothing, if it has ended,
/// sends at a rate of its own, or chance has a say on its way.
fn kinds_of<'a>(
    setup: &'a Setup,
    ports: &[PortRow],
    (flow, info): (usize, &FlowInfo<'a>),
    row: &FlowRow,
) -> Vec<Kind<'a>> {
    if row.fct.is_some() || info.flow.rate.is_some() {
        return Vec::new();
    }
    let Some((there, back)) = setup.ways(flow) else { return Vec::new() };
    if setup.is_random(&there) || setup.is_random(&back) {
        return Vec::new();
    }
    let places = there.iter().map(|hop| (hop.node, hop.port)).filter(|place| hit(ports, *place) > 0);
    let blind = places.filter(|(node, port)| setup.is_blind(*node, usize::from(*port)));
    let (scheme, weight) = (setup.scheme_of_flow(info), info.flow.weight.to_bits());
    blind.map(|place| (scheme, place, weight, info.flow.terms.budget.as_deref(), info.flow.stop)).collect()
}

/// Flows of one kind in groups: round trips to within a packet's time, starts within a round trip.
fn alike(mut flows: Vec<Candidate>, packet: Time) -> Vec<Vec<Candidate>> {
    flows.sort_by_key(|f| (f.rtt, f.start, f.flow));
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for flow in flows {
        let fits = |group: &Vec<Candidate>| {
            let first = &group[0];
            let apart = first.start.max(flow.start) - first.start.min(flow.start);
            flow.rtt - first.rtt <= packet && apart <= measured(&first.row).max(first.rtt)
        };
        match groups.iter_mut().rev().find(|group| fits(group)) {
            Some(group) => group.push(flow),
            None => groups.push(vec![flow]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The round-trip time that a flow measured, in the mean.
fn measured(row: &FlowRow) -> Time {
    let mean = row.report.rtt_sum.checked_div(u128::from(row.report.rtt_count)).unwrap_or(0);
    Time(u64::try_from(mean).unwrap_or(u64::MAX))
}

fn warning(
    setup: &Setup,
    ports: &[PortRow],
    (scheme, port, ..): Kind<'_>,
    packet: Time,
    flows: &[Candidate],
    end: Time,
) -> Option<Warning> {
    let sum = |of: fn(&Candidate) -> u64| flows.iter().map(of).sum::<u64>();
    let bytes = port_row(ports, port)?.counters.bytes;
    let most = flows.iter().max_by_key(|f| f.row.report.delivered)?;
    let last = flows.iter().map(|f| f.start).max()?;
    let long = end.saturating_sub(last).0 / ROUND_TRIPS >= measured(&most.row).0.max(most.rtt.0);
    if !long || (sum(|f| f.row.report.delivered) as f64) < MOSTLY * bytes as f64 {
        return None;
    }
    let often = flows.iter().all(|f| f.row.fate.marked >= OFTEN);
    let lost = sum(|f| f.row.fate.dropped.into()) >= LOSSES;
    let jain = jain(&flows.iter().map(|f| f.row.goodput).collect::<Vec<f64>>());
    if !(often && jain < UNLIKE_MARKED || (lost || often) && jain < UNLIKE) {
        return None;
    }
    let (least, most) = flows.iter().fold((f64::MAX, 0f64), |(a, b), f| (a.min(f.row.goodput), b.max(f.row.goodput)));
    let message = format!(
        "phase effects: {} differ by less than a packet time, and got from {:.3} to {:.3} Mbps (Jain's index \
            {jain:.2}); such timing alone decides which flow a full queue drops. `host_jitter = \"{} us\"` \
            removes this",
        names(setup, flows),
        least / 1e6,
        most / 1e6,
        (packet.as_secs_f64() * 1e7).round() / 10.0
    );
    Some(Warning::new(scheme, message, vec![port_name(setup, port.0, usize::from(port.1))]))
}

fn names(setup: &Setup, flows: &[Candidate]) -> String {
    let name = |n: u32| &setup.topology.nodes()[n as usize].name;
    let one = |f: &Candidate| {
        let flow = &setup.flows.get(f.flow).flow;
        format!("{} ({}>{})", f.flow, name(flow.src), name(flow.dst))
    };
    let named: Vec<String> = flows.iter().take(MAX_NAMED).map(one).collect();
    match flows.len().saturating_sub(MAX_NAMED) {
        0 => format!("flows {}", named.join(", ")),
        more => format!("flows {} and {more} more", named.join(", ")),
    }
}
