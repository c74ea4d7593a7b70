//! A stall: a link is almost unused although flows have data for it, and only their scheme keeps them from sending.
//!
//! A flow is held up by its scheme alone between two samples of the watch, if
//!
//! - it had data to send all the time;
//! - it got almost nothing of its path's rate, on any path;
//! - no link of its path, in both directions, was used more: so it waits for no other link;
//! - its receiver's window, its own rate and random loss would have allowed more;
//! - no fault and no step of a schedule covers that time on its path;
//! - it did not wait for a retransmission timeout, as far as one can last that long.
//!
//! The warning names the slowest link of the path.

use std::collections::BTreeMap;

use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::units::Time;
use midpath_topo::Hop;
use rustc_hash::FxHashMap;

use super::warnings::{Warning, port_name};
use super::watch::{NEXT_TO_NOTHING, Quiet, ROUND_TRIPS, Spell, Watched};
use super::{FlowRow, FlowRows, PortRow};
use crate::setup::{FlowInfo, Setup};

/// A flow that had timeouts may wait this long for one, and this long after a fault: the first is
/// 1 s (RFC 6298, §2.1), and is doubled once.
const PATIENCE: Time = Time::from_secs(3);

/// What a flow can carry must be this much of its path's rate before it is missed there. Ours: four
/// times what counts as next to nothing, for windows are rarely full.
const WANTED: f64 = 4.0 * NEXT_TO_NOTHING;

/// What one link's flows were held up by.
#[derive(Debug, Clone, Copy)]
struct Stall {
    flows: usize,
    /// The longest of their spells.
    longest: (Time, Time),
    /// What the link was used then, as a share.
    used: f64,
    /// Round trips of the flow with the longest.
    round_trips: u64,
}

/// A port with what its flows were held up by.
type AtPort = ((NodeId, PortId), Stall);

/// What was watched, by what is asked of it.
struct Spells<'a> {
    looks: &'a [Time],
    quiet: FxHashMap<(NodeId, PortId), Vec<Quiet>>,
    served: FxHashMap<FlowId, Vec<Spell>>,
}

impl Spells<'_> {
    fn new(watched: &Watched) -> Spells<'_> {
        let mut spells = Spells { looks: &watched.looks, quiet: FxHashMap::default(), served: FxHashMap::default() };
        watched.quiet.iter().for_each(|quiet| spells.quiet.entry(quiet.port).or_default().push(*quiet));
        watched.served.iter().for_each(|(flow, spell)| spells.served.entry(*flow).or_default().push(*spell));
        spells
    }

    /// When an interval begins.
    fn begins(&self, interval: u32) -> Time {
        interval.checked_sub(1).map_or(Time::ZERO, |before| self.looks[before as usize])
    }

    /// A spell in time.
    fn time(&self, spell: Spell) -> (Time, Time) {
        (self.begins(spell.from), self.begins(spell.to))
    }

    /// The intervals that lie in a time whole.
    fn within(&self, (from, to): (Time, Time)) -> Spell {
        let first = if from.is_zero() { 0 } else { 1 + self.looks.partition_point(|look| *look < from) as u32 };
        Spell { from: first, to: self.looks.partition_point(|look| *look <= to) as u32 }
    }

    /// The intervals that a time touches.
    fn touched(&self, (from, to): (Time, Time)) -> Spell {
        let first = self.looks.partition_point(|look| *look <= from) as u32;
        Spell { from: first, to: 1 + self.looks.partition_point(|look| *look < to) as u32 }
    }

    /// When no hop was used much, of these spells.
    fn quiet_over(&self, hops: &[Hop], mut spells: Vec<Spell>) -> Vec<Spell> {
        for hop in hops {
            let quiet = self.quiet.get(&place(hop)).map_or(&[][..], Vec::as_slice);
            let common = spells.iter().flat_map(|s| quiet.iter().filter_map(|q| s.common(q.spell)));
            spells = common.collect();
        }
        spells
    }
}

impl Spell {
    fn common(self, other: Spell) -> Option<Spell> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Spell { from, to })
    }

    /// What is left of it without `other`.
    fn without(self, other: Spell) -> impl Iterator<Item = Spell> {
        let before = Spell { from: self.from, to: self.to.min(other.from) };
        let after = Spell { from: self.from.max(other.to), to: self.to };
        [before, after].into_iter().filter(|spell| spell.from < spell.to)
    }
}

fn place(hop: &Hop) -> (NodeId, PortId) {
    (NodeId(hop.node as u32), PortId(hop.port))
}

/// What is left of `spells` without each of `others`.
fn without(spells: Vec<Spell>, others: impl IntoIterator<Item = Spell>) -> Vec<Spell> {
    others.into_iter().fold(spells, |left, other| left.into_iter().flat_map(|spell| spell.without(other)).collect())
}

/// What the run warns of: links on which flows were held up by their scheme alone.
pub fn stalls(setup: &Setup, watched: &Watched, rows: &FlowRows<'_>, ports: &[PortRow]) -> Vec<Warning> {
    let spells = Spells::new(watched);
    let mut found = BTreeMap::<(&str, (NodeId, PortId)), Stall>::new();
    for (i, info, row) in rows.with_flows() {
        let held = held_up(setup, &spells, (i, &info), &row, rows.end());
        let Some((path, longest)) = held else { continue };
        let Some(slowest) = slowest(setup, ports, &path) else { continue };
        let stall = Stall::new(setup, &spells, slowest, longest, round_trip(&info, &row));
        let known = found.entry((setup.scheme_of(i), place(slowest))).or_insert(Stall { flows: 0, ..stall });
        *known = known.and(stall);
    }
    said(setup, found)
}

/// The longest spell in which flow `i` was held up by its scheme alone, with its path.
fn held_up(
    setup: &Setup,
    spells: &Spells<'_>,
    (i, info): (usize, &FlowInfo<'_>),
    row: &FlowRow,
    end: Time,
) -> Option<(Vec<Hop>, Spell)> {
    if setup.flows.is_application_limited(i, info) {
        return None;
    }
    let until = row.report.completed.unwrap_or(end).min(info.flow.stop.unwrap_or(end));
    let whole = spells.within((row.start?, until));
    let served = spells.served.get(&FlowId(i as u32)).into_iter().flatten().copied();
    let slow = without((whole.from < whole.to).then_some(whole).into_iter().collect(), served);
    if slow.is_empty() {
        return None;
    }
    let (there, back) = setup.ways(i)?;
    let both: Vec<Hop> = there.iter().chain(&back).copied().collect();
    let quiet = spells.quiet_over(&both, slow);
    if quiet.is_empty() || setup.ceiling(i, &there).is_some_and(|c| c.as_f64() < WANTED * info.bottleneck.as_f64()) {
        return None;
    }
    let least = Time(round_trip(info, row).0.saturating_mul(ROUND_TRIPS));
    let least = if row.report.timeouts > 0 { least.max(PATIENCE) } else { least };
    let covered = setup.covered(&both, PATIENCE).into_iter().map(|time| spells.touched(time));
    let lasts = |spell: &Spell| {
        let (from, to) = spells.time(*spell);
        to - from
    };
    let held = without(quiet, covered).into_iter().filter(|spell| lasts(spell) >= least);
    held.max_by_key(|spell| (lasts(spell), std::cmp::Reverse(spell.from))).map(|longest| (there, longest))
}

/// A flow's round trip: that of its path, or what it measured, if that is longer.
pub(super) fn round_trip(info: &FlowInfo<'_>, row: &FlowRow) -> Time {
    let measured = row.report.rtt_sum.checked_div(u128::from(row.report.rtt_count)).unwrap_or(0);
    info.rtt.max(Time(u64::try_from(measured).unwrap_or(u64::MAX)))
}

/// The hop with the slowest link; of several, that which was used most.
fn slowest<'a>(setup: &Setup, ports: &[PortRow], path: &'a [Hop]) -> Option<&'a Hop> {
    let rate = |hop: &Hop| setup.topology.links()[hop.link].rate_from(hop.node);
    let used = |hop: &Hop| {
        let at = (hop.node as u32, hop.port);
        let row = ports.binary_search_by_key(&at, |row| (row.place.0, row.place.1));
        row.map_or(0.0, |row| ports[row].utilisation)
    };
    path.iter().min_by(|a, b| rate(a).cmp(&rate(b)).then(used(b).total_cmp(&used(a))))
}

impl Stall {
    fn new(setup: &Setup, spells: &Spells<'_>, hop: &Hop, spell: Spell, round_trip: Time) -> Stall {
        let longest = spells.time(spell);
        let of_port = spells.quiet.get(&place(hop)).into_iter().flatten();
        let at_all = of_port.filter(|quiet| quiet.spell.common(spell).is_some());
        let (bits, could) = at_all.fold((0.0, 0.0), |(bits, could), quiet| {
            let (from, to) = spells.time(quiet.spell);
            (bits + quiet.bits as f64, could + super::Capacity::of(setup, hop.link, hop.node).bits(from, to))
        });
        let used = if could > 0.0 { bits / could } else { 0.0 };
        Stall { flows: 1, longest, used, round_trips: (longest.1 - longest.0).0 / round_trip.0.max(1) }
    }

    /// Both together.
    fn and(self, other: Stall) -> Stall {
        let length = |stall: &Stall| stall.longest.1 - stall.longest.0;
        let longest = if length(&other) > length(&self) { other } else { self };
        Stall { flows: self.flows + other.flows, ..longest }
    }
}

/// A time in seconds, to four digits.
fn seconds(time: Time) -> String {
    let exact = time.as_secs_f64();
    let digits = if exact > 0.0 { (3.0 - exact.log10().floor()).clamp(0.0, 12.0) } else { 0.0 };
    let rounded: f64 = format!("{exact:.*}", digits as usize).parse().unwrap_or(exact);
    format!("{rounded} s")
}

/// A sentence for each scheme: of the link with the longest stall, with the others' names.
fn said(setup: &Setup, found: BTreeMap<(&str, (NodeId, PortId)), Stall>) -> Vec<Warning> {
    let mut by_scheme = BTreeMap::<&str, Vec<AtPort>>::new();
    found.into_iter().for_each(|((scheme, port), stall)| by_scheme.entry(scheme).or_default().push((port, stall)));
    let warning = |(scheme, mut stalls): (&str, Vec<AtPort>)| {
        stalls.sort_by_key(|(port, stall)| (std::cmp::Reverse(stall.longest.1 - stall.longest.0), *port));
        let (_, Stall { flows, longest: (from, to), used, round_trips }) = stalls[0];
        let names = stalls.iter().map(|((node, port), _)| port_name(setup, node.0 as usize, usize::from(port.0)));
        let flows = if flows == 1 { "1 flow".to_owned() } else { format!("{flows} flows") };
        let message = format!(
            "a stall: {:.1} % used from {} to {} ({round_trips} round trips), while {flows} had data to send, \
                not limited by a fault, another link or a receiver's window",
            100.0 * used,
            seconds(from),
            seconds(to)
        );
        Warning::new(scheme, message, names.collect())
    };
    by_scheme.into_iter().map(warning).collect()
}
