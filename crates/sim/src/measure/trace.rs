//! The table `trace`: the recorded events with names for their numbers.

use std::collections::VecDeque;

use midpath_core::packet::{FlowId, NodeId, PortId};
use midpath_core::roles::Drop;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::Warning;
use crate::engine::{Key, Life, Record, TraceEvent, reason};
use crate::output::{Column, NONE, Table};
use crate::pcap::Captured;
use crate::setup::{IDEAL, Setup};

/// What was recorded.
pub struct Traced {
    events: Vec<TraceEvent>,
    /// Events that did not fit.
    left_out: u64,
    /// Each event's packet by its number in the table; [`NONE`] for none.
    packets: Vec<u32>,
    /// How many packets.
    packet_count: u32,
}

impl Traced {
    /// The events in order.
    pub fn new(record: Record) -> Traced {
        let all = record.all;
        let events = record.sorted();
        let mut known = Numbers::default();
        let mut packet_count = 0;
        let packets = events.iter().map(|event| {
            if event.packet == Life::NONE.packet {
                return NONE;
            }
            let number = known.of(((event.packet >> 32) as u32, event.packet as u32));
            if *number == NONE {
                *number = packet_count;
                packet_count += 1;
            }
            *number
        });
        let packets = packets.collect();
        Traced { left_out: all - events.len() as u64, events, packets, packet_count }
    }

    /// When what was looked for happened. A packet that finds its flow over at its host is no loss.
    pub fn happened(&self) -> impl Iterator<Item = Time> + '_ {
        let late = reason(Drop::Undeliverable);
        self.events.iter().filter(move |e| e.why != late).map(|e| e.at)
    }

    /// `trace` of `run.json`.
    pub fn json(&self) -> Value {
        let span = self.events.first().zip(self.events.last());
        let [first, last] = span.map_or([None; 2], |(a, b)| [Some(a.at.as_secs_f64()), Some(b.at.as_secs_f64())]);
        json!({
            "events": self.events.len(), "left_out": self.left_out, "packets": self.packet_count,
            "first_s": first, "last_s": last,
        })
    }

    /// What is to be known of it.
    pub fn warning(&self) -> Option<Warning> {
        let last = self.events.last().map(|e| e.at);
        match last {
            None => Some(Warning::of_run(
                "trace: nothing was recorded: no event of these flows at these nodes and times".to_owned(),
            )),
            Some(last) if self.left_out > 0 => Some(Warning::of_run(format!(
                "trace: {} events after {last} did not fit; give it more `events`, or less to record",
                self.left_out
            ))),
            Some(_) => None,
        }
    }

    /// The numbers of packets by where and when they left, or were dropped.
    pub fn numbers(&self) -> PacketNumbers {
        let mut numbers = PacketNumbers::default();
        for (event, packet) in self.events.iter().zip(&self.packets) {
            if let (true, Some(port)) = (matches!(event.what, "left" | "dropped"), event.port) {
                numbers.0.entry((event.key.node(), port, event.at, event.why)).or_default().push_back(*packet);
            }
        }
        numbers
    }

    /// The table.
    pub fn table(&self, setup: &Setup) -> Table {
        let events = &self.events;
        let mut rows = Numbers::default();
        events.iter().zip(0..).for_each(|(event, row)| *rows.of(event.key.number()) = row);
        let mut cause = |e: &TraceEvent| if e.cause == Key::NONE { NONE } else { *rows.of(e.cause.number()) };
        let causes = events.iter().map(&mut cause).collect();
        let text = |f: fn(&TraceEvent) -> &'static str| statics(events.iter().map(f));
        let u32s = |f: &dyn Fn(&TraceEvent) -> u32| events.iter().map(f).collect::<Vec<u32>>();
        let flow = |e: &TraceEvent| if e.flow == FlowId::NONE { NONE } else { e.flow.0 };
        Table::default()
            .with("time_ps", Column::U64(events.iter().map(|e| e.at.0).collect()))
            .with("event", text(|e| e.what))
            .with("node", of_nodes(setup, events.iter().map(|e| Some(e.key.node().0))))
            .with("port", Column::U32OrNone(u32s(&|e| e.port.map_or(NONE, |p| p.0.into()))))
            .with("peer", of_nodes(setup, events.iter().map(|e| peer(setup, e))))
            .with("flow", Column::U32OrNone(u32s(&flow)))
            .with("packet", Column::U32OrNone(self.packets.clone()))
            .with("kind", text(|e| e.kind))
            .with("size_bytes", Column::U32(u32s(&|e| e.size)))
            .with("number", Column::U32(u32s(&|e| e.number)))
            .with("value", Column::F64(events.iter().map(|e| e.value).collect()))
            .with("why", text(|e| e.why))
            .with("cause", Column::U32OrNone(causes))
    }
}

/// Packets' numbers by node, port, time, and why they were dropped; in order, where several were dropped at once.
#[derive(Default)]
pub struct PacketNumbers(FxHashMap<(NodeId, PortId, Time, &'static str), VecDeque<u32>>);

impl PacketNumbers {
    /// The number of a packet of a capture at this port. Asked in order.
    pub fn of(&mut self, (node, port): (NodeId, PortId), packet: &Captured) -> Option<u32> {
        self.0.get_mut(&(node, port, packet.at, packet.dropped))?.pop_front()
    }
}

/// What is to be known where the fluid model was to be traced.
pub fn untraced_ideal(setup: &Setup) -> Option<Warning> {
    let asked = setup.scenario.trace.is_some() && setup.scenario.scheme == IDEAL;
    asked.then(|| Warning::of_run("trace: nothing was recorded: the ideal has no packets".to_owned()))
}

/// A number for each of what is known by a node and its number there.
#[derive(Default)]
struct Numbers(Vec<Vec<u32>>);

impl Numbers {
    /// The number of this one; [`NONE`] until it is given.
    fn of(&mut self, (node, number): (u32, u32)) -> &mut u32 {
        let (node, number) = (node as usize, number as usize);
        if node >= self.0.len() {
            self.0.resize_with(node + 1, Vec::new);
        }
        if number >= self.0[node].len() {
            self.0[node].resize(number + 1, NONE);
        }
        &mut self.0[node][number]
    }
}

/// A column of texts that are the program's own: told apart by where they stand first.
fn statics(texts: impl Iterator<Item = &'static str>) -> Column {
    let mut known = FxHashMap::<(*const u8, usize), u32>::default();
    let mut dictionary: Vec<String> = Vec::new();
    let index = texts.map(|text| {
        *known.entry((text.as_ptr(), text.len())).or_insert_with(|| {
            // The same words may stand in two places.
            dictionary.iter().position(|t| t == text).unwrap_or_else(|| {
                dictionary.push(text.to_owned());
                dictionary.len() - 1
            }) as u32
        })
    });
    let index = index.collect();
    Column::Str { dictionary, index }
}

/// A column of the names of nodes, in the order in which they come up; empty for none.
fn of_nodes(setup: &Setup, nodes: impl Iterator<Item = Option<u32>>) -> Column {
    let all = setup.topology.nodes();
    let (mut known, mut dictionary) = (vec![NONE; all.len() + 1], Vec::new());
    let index = nodes.map(|node| {
        let place = node.map_or(all.len(), |n| n as usize);
        if known[place] == NONE {
            known[place] = dictionary.len() as u32;
            dictionary.push(all.get(place).map_or(String::new(), |n| n.name.clone()));
        }
        known[place]
    });
    let index = index.collect();
    Column::Str { dictionary, index }
}

/// The node behind an event's port.
fn peer(setup: &Setup, event: &TraceEvent) -> Option<u32> {
    let ports = setup.topology.ports(event.key.node().0 as usize);
    event.port.and_then(|p| ports.get(usize::from(p.0))).map(|at| at.peer)
}
