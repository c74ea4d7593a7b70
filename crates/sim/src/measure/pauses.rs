//! Pauses by port and duration, and deadlocks.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::packet::PortId;
use midpath_core::pfc::{Account, Pool, SharedBuffer, Thresholds};
use midpath_core::units::{Bytes, Time};
use serde_json::{Value, json};

use super::ports::PortRow;
use super::warnings::{Warning, port_name};
use crate::output::{Column, Table};
use crate::setup::{Lossless, Setup};

/// One lossless class of what came in through one port of a router.
#[derive(Debug, Clone)]
pub struct PauseRow {
    /// Node, port number there, and node on the other end, which is paused.
    place: (usize, u16, usize),
    class: usize,
    account: Account,
    /// What its router's ports share.
    pool: Option<Pool>,
    /// How long its transmitter was stopped in all, the longest time, and since when it is.
    stopped: (Time, Time),
    since: Option<Time>,
}

/// What PFC did in a run.
#[derive(Debug, Clone)]
pub struct Pauses {
    rows: Vec<PauseRow>,
    deadlock: Option<Deadlock>,
}

/// Ports that wait for each other, by the port of the node that pauses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Deadlock {
    /// Each waits for the next, the last for the first.
    cycle: Vec<Key>,
    /// How many more wait for these.
    more: usize,
}

/// A class of what comes in through a port: node, port, class.
type Key = (usize, u16, usize);

/// What a neighbour that is paused waits for.
#[derive(Debug, Clone, Default)]
struct Wait {
    /// It goes on by these.
    at: Thresholds,
    /// Bytes that are held, by where they are to come in next.
    held: Vec<(Key, u64)>,
}

impl PauseRow {
    /// XOFF and XON; with dynamic ones the least that they were.
    fn thresholds(&self) -> (u64, u64) {
        self.account.at.of(self.pool.as_ref(), self.pool.map_or(0, |pool| pool.most()))
    }
}

impl Pauses {
    /// Of a run of this length; `None` where there is no PFC.
    pub fn collect(setup: &Setup, buffers: &[SharedBuffer], span: Time) -> Option<Pauses> {
        let lossless = setup.lossless.as_ref()?;
        let mut rows = Vec::new();
        for n in 0..buffers.len() {
            for port in 0..lossless.at(n).len() {
                let (peer, back) = setup.across(n, port);
                for class in classes(lossless) {
                    let stopped = *buffers[peer].get().pause_record(back, class);
                    let buffer = buffers[n].get();
                    rows.push(PauseRow {
                        place: (n, port as u16, peer),
                        class,
                        account: *buffer.account(PortId(port as u16), class),
                        pool: buffer.pool().copied(),
                        stopped: stopped.until(span),
                        since: stopped.since(),
                    });
                }
            }
        }
        let pools = rows.iter().filter_map(|row| Some((row.place.0, row.pool?))).collect();
        let deadlock = deadlock(waits(setup, buffers, &rows), &pools);
        Some(Pauses { rows, deadlock })
    }

    /// The table `pauses`.
    pub fn table(&self, setup: &Setup) -> Table {
        let (rows, name) = (&self.rows, |n: usize| setup.topology.nodes()[n].name.as_str());
        let u64s = |f: &dyn Fn(&PauseRow) -> u64| Column::U64(rows.iter().map(f).collect());
        let f64s = |f: &dyn Fn(&PauseRow) -> f64| Column::F64(rows.iter().map(f).collect());
        Table::default()
            .with("node", Column::texts(rows.iter().map(|r| name(r.place.0))))
            .with("port", Column::U32(rows.iter().map(|r| u32::from(r.place.1)).collect()))
            .with("peer", Column::texts(rows.iter().map(|r| name(r.place.2))))
            .with("class", Column::texts(rows.iter().map(|r| class_name(setup, r.class))))
            .with("pauses", u64s(&|r| r.account.pauses))
            .with("paused_s", f64s(&|r| r.stopped.0.as_secs_f64()))
            .with("paused_longest_s", f64s(&|r| r.stopped.1.as_secs_f64()))
            .with("held_max_bytes", u64s(&|r| r.account.most))
            .with("xoff_bytes", u64s(&|r| r.thresholds().0))
            .with("xon_bytes", u64s(&|r| r.thresholds().1))
            .with("headroom_bytes", u64s(&|r| r.account.at.headroom))
            .with("headroom_max_bytes", u64s(&|r| r.account.above_most))
            .with("refused_packets", u64s(&|r| r.account.refused))
    }

    /// `pfc` of `run.json`.
    pub fn json(&self, setup: &Setup) -> Value {
        let sum = |of: fn(&PauseRow) -> u64| self.rows.iter().map(of).sum::<u64>();
        let lossless = setup.lossless.as_ref().map(|l| classes(l).map(|c| class_name(setup, c)).collect::<Vec<_>>());
        json!({
            "lossless": lossless,
            "pauses": sum(|row| row.account.pauses),
            "paused_s": self.rows.iter().map(|row| row.stopped.0.as_secs_f64()).sum::<f64>(),
            "paused_longest_s": self.rows.iter().map(|row| row.stopped.1).max().unwrap_or_default().as_secs_f64(),
            "refused_packets": self.refused(),
            "deadlock": self.deadlock.iter().flat_map(|d| &d.cycle).map(|key| link_name(setup, *key)).collect::<Vec<_>>(),
        })
    }

    /// What the run warns of.
    pub fn warnings(&self, setup: &Setup, ports: &[PortRow]) -> Vec<Warning> {
        let dead = self.deadlock.as_ref().map(|deadlock| self.warning(setup, deadlock));
        let lost = self.refusals(setup).into_iter().chain(self.losses(setup, ports));
        dead.into_iter().chain(lost).chain(short_headroom(setup)).chain(changes(setup)).collect()
    }

    /// Packets of lossless classes for which there was no headroom.
    fn refusals(&self, setup: &Setup) -> Option<Warning> {
        let rows = self.rows.iter().filter(|row| row.account.refused > 0);
        let links = rows.map(|row| link_name(setup, (row.place.0, row.place.1, row.class))).collect();
        let refused = self.refused();
        (refused > 0).then(|| Warning::new("", lost(refused, "PFC (insufficient headroom)"), links))
    }

    fn refused(&self) -> u64 {
        self.rows.iter().map(|row| row.account.refused).sum()
    }

    /// Packets lost where all classes are lossless, by who dropped them. A port does not count by class.
    fn losses(&self, setup: &Setup, ports: &[PortRow]) -> Vec<Warning> {
        if !setup.lossless.as_ref().is_some_and(|lossless| lossless.classes().all(|(_, lossless)| lossless)) {
            return Vec::new();
        }
        let by = |who: &str, already: u64, count: fn(&PortRow) -> u64| {
            let lost_here = ports.iter().filter(|row| count(row) > 0);
            let packets = lost_here.clone().map(count).sum::<u64>() - already;
            let names = lost_here.map(|row| port_name(setup, row.place.0 as usize, row.place.1.into())).collect();
            (packets > 0).then(|| Warning::new("", lost(packets, who), names))
        };
        let all = [
            by("a full queue of the ports' scheme", self.refused(), |row| row.counters.drops_queue),
            by("an AQM of the ports' scheme", 0, |row| row.counters.drops_aqm),
            by("faults", 0, |row| row.counters.drops_fault + row.cut),
            by("another rule of the ports' scheme, or the MTU", 0, |row| row.counters.drops_policy),
        ];
        all.into_iter().flatten().collect()
    }

    fn warning(&self, setup: &Setup, deadlock: &Deadlock) -> Warning {
        let links: Vec<String> = deadlock.cycle.iter().map(|key| link_name(setup, *key)).collect();
        let of = |row: &&PauseRow| deadlock.cycle.contains(&(row.place.0, row.place.1, row.class));
        let since = self.rows.iter().filter(of).filter_map(|row| row.since).max();
        let since = since.map(|at| format!(" since {:.6} s", at.as_secs_f64())).unwrap_or_default();
        let more = match deadlock.more {
            0 => String::new(),
            n => format!("; {n} more wait for these"),
        };
        let message = format!(
            "deadlock: {}>{} pause each other in a cycle{since} and never send again{more}",
            links.iter().filter_map(|link| link.split('>').next()).collect::<Vec<_>>().join(">"),
            links[0].split('>').next().unwrap_or_default()
        );
        Warning::new("", message, links)
    }
}

/// What is said of packets that were lost in spite of PFC.
fn lost(packets: u64, by: &str) -> String {
    format!("{packets} packets of a lossless class were dropped by {by}")
}

/// The lossless classes.
fn classes(lossless: &Lossless) -> impl Iterator<Item = usize> + '_ {
    lossless.classes().enumerate().filter_map(|(i, (_, lossless))| lossless.then_some(i))
}

fn class_name(setup: &Setup, class: usize) -> &'static str {
    setup.lossless.as_ref().and_then(|l| l.classes().nth(class)).map_or("", |(class, _)| class.name())
}

/// The link that leads to a port.
fn link_name(setup: &Setup, (n, port, _): Key) -> String {
    let (peer, back) = setup.across(n, usize::from(port));
    port_name(setup, peer, usize::from(back.0))
}

/// What each neighbour that is paused waits for.
fn waits(setup: &Setup, buffers: &[SharedBuffer], rows: &[PauseRow]) -> BTreeMap<Key, Wait> {
    let paused = rows.iter().filter(|row| row.account.paused);
    let key = |row: &PauseRow| (row.place.0, row.place.1, row.class);
    let mut all: BTreeMap<Key, Wait> =
        paused.map(|row| (key(row), Wait { at: row.account.at, held: Vec::new() })).collect();
    let nodes: BTreeSet<usize> = all.keys().map(|key| key.0).collect();
    for n in nodes {
        for ((from, class, to), bytes) in buffers[n].get().waiting() {
            if let Some(wait) = all.get_mut(&(n, from.0, class)) {
                let (next, port) = setup.across(n, usize::from(to.0));
                wait.held.push(((next, port.0, class), bytes));
            }
        }
    }
    all
}

/// Finds those that wait for each other. Whoever holds enough that can go on is no part of it, nor who
/// waits for these. What a node's ports share is in use by what cannot go on.
fn deadlock(mut waits: BTreeMap<Key, Wait>, pools: &BTreeMap<usize, Pool>) -> Option<Deadlock> {
    loop {
        let stuck =
            |wait: &Wait| wait.held.iter().filter(|(next, _)| waits.contains_key(next)).map(|h| h.1).sum::<u64>();
        let mut used = BTreeMap::<usize, u64>::new();
        for (key, wait) in &waits {
            *used.entry(key.0).or_default() += stuck(wait).saturating_sub(wait.at.xoff);
        }
        let goes_on = |(key, wait): &(&Key, &Wait)| stuck(wait) < wait.at.of(pools.get(&key.0), used[&key.0]).1;
        let free: Vec<Key> = waits.iter().filter(goes_on).map(|(key, _)| *key).collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|key| {
            waits.remove(key);
        });
    }
    let mut way = vec![*waits.keys().next()?];
    loop {
        let held = &waits[way.last()?].held;
        let next = held.iter().map(|h| h.0).find(|next| waits.contains_key(next))?;
        if let Some(first) = way.iter().position(|key| *key == next) {
            let cycle = way.split_off(first);
            return Some(Deadlock { more: waits.len() - cycle.len(), cycle });
        }
        way.push(next);
    }
}

/// Ports with less headroom than nothing is lost with.
fn short_headroom(setup: &Setup) -> Option<Warning> {
    let lossless = setup.lossless.as_ref()?;
    let given = lossless.given_headroom()?;
    let all = (0..setup.topology.nodes().len()).flat_map(|n| (0..).zip(lossless.at(n)).map(move |(p, at)| (n, p, at)));
    let short: Vec<_> = all.filter(|(_, _, at)| at.at.headroom < at.needs).collect();
    let most = short.iter().map(|(_, _, at)| at.needs).max()?;
    let message = format!(
        "pfc.headroom is {given}, but up to {} can arrive after a pause, by rates, delays and largest packets: \
            packets can be lost",
        Bytes(most)
    );
    Some(Warning::new("", message, short.iter().map(|(n, port, _)| link_name(setup, (*n, *port, 0))).collect()))
}

/// Changes that headroom is not worked out for.
fn changes(setup: &Setup) -> Option<Warning> {
    let changes = !setup.scenario.fault.is_empty() || !setup.scenario.vary.is_empty();
    let message = "headroom is computed from initial rates and delays: changes by `[[fault]]` and `[[vary]]` \
        can cause loss";
    changes.then(|| Warning::of_run(message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each link its number, XOFF and XON, and what is held by the number of the next.
    type Link<'a> = (usize, u64, &'a [(usize, u64)]);

    fn waits(links: &[Link<'_>]) -> BTreeMap<Key, Wait> {
        let key = |n: usize| (n, 0, 0);
        let held = |next: &[(usize, u64)]| next.iter().map(|(n, bytes)| (key(*n), *bytes)).collect();
        links
            .iter()
            .map(|(n, xon, next)| {
                (key(*n), Wait { at: Thresholds { xoff: *xon, ..Thresholds::default() }, held: held(next) })
            })
            .collect()
    }

    #[test]
    fn those_that_wait_for_each_other_are_found_and_those_behind_them_counted() {
        let ring = waits(&[(1, 10, &[(2, 10)]), (2, 10, &[(3, 12), (9, 5)]), (3, 10, &[(1, 11)]), (4, 10, &[(1, 10)])]);
        let found = Some(Deadlock { cycle: vec![(1, 0, 0), (2, 0, 0), (3, 0, 0)], more: 1 });
        assert_eq!(deadlock(ring.clone(), &BTreeMap::new()), found);
        // Each switch shares 8 bytes: with what it holds above its own 10 stuck, XON is 18, 16 and 17.
        let pools = [1, 2, 3, 4].map(|n| (n, Pool::new(8, 1.0))).into();
        assert_eq!(deadlock(ring, &pools), None);
    }

    #[test]
    fn who_holds_enough_that_can_go_on_resolves_it() {
        // Of what 3 holds, 2 bytes less than XON wait for 1: 9 is not paused, so the rest leaves.
        let ring = waits(&[(1, 10, &[(2, 10)]), (2, 10, &[(3, 12)]), (3, 10, &[(1, 8), (9, 4)])]);
        assert_eq!(deadlock(ring, &BTreeMap::new()), None);
        assert_eq!(deadlock(BTreeMap::new(), &BTreeMap::new()), None);
    }
}
