//! The table `trace`: the recorded events with names for their numbers.

use midpath_core::packet::FlowId;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::Warning;
use crate::engine::{Key, Life, Record, TraceEvent};
use crate::output::{Column, NONE, Table};
use crate::setup::{IDEAL, Setup};

/// What was recorded.
pub struct Traced {
    events: Vec<TraceEvent>,
    /// Events that did not fit.
    left_out: u64,
    /// Each packet's number in the table, by what it was in the record.
    packets: FxHashMap<u64, u32>,
}

impl Traced {
    /// The events in order.
    pub fn new(record: Record) -> Traced {
        let all = record.all;
        let events = record.sorted();
        let mut packets = FxHashMap::default();
        for event in events.iter().filter(|e| e.packet != Life::NONE.packet) {
            let next = packets.len() as u32;
            packets.entry(event.packet).or_insert(next);
        }
        Traced { left_out: all - events.len() as u64, events, packets }
    }

    /// `trace` of `run.json`.
    pub fn json(&self) -> Value {
        let span = self.events.first().zip(self.events.last());
        let [first, last] = span.map_or([None; 2], |(a, b)| [Some(a.at.as_secs_f64()), Some(b.at.as_secs_f64())]);
        json!({
            "events": self.events.len(), "left_out": self.left_out, "packets": self.packets.len(),
            "first_s": first, "last_s": last,
        })
    }

    /// What is to be known of it.
    pub fn warning(&self) -> Option<Warning> {
        let last = self.events.last().map(|e| e.at);
        match last {
            None => Some(Warning::of_run(
                "trace: nothing was recorded; nothing happened there, then, to these flows".to_owned(),
            )),
            Some(last) if self.left_out > 0 => Some(Warning::of_run(format!(
                "trace: {} events after {last} did not fit; give it more `events`, or less to record",
                self.left_out
            ))),
            Some(_) => None,
        }
    }

    /// The table.
    pub fn table(&self, setup: &Setup) -> Table {
        let events = &self.events;
        let rows: FxHashMap<Key, u32> = events.iter().map(|e| e.key).zip(0..).collect();
        let text = |f: fn(&TraceEvent) -> &'static str| Column::texts(events.iter().map(f));
        let u32s = |f: &dyn Fn(&TraceEvent) -> u32| events.iter().map(f).collect::<Vec<u32>>();
        let flow = |e: &TraceEvent| if e.flow == FlowId::NONE { NONE } else { e.flow.0 };
        Table::default()
            .with("time_ps", Column::U64(events.iter().map(|e| e.at.0).collect()))
            .with("event", text(|e| e.what))
            .with("node", Column::texts(events.iter().map(|e| name(setup, e.key.node().0))))
            .with("port", Column::U32OrNone(u32s(&|e| e.port.map_or(NONE, |p| p.0.into()))))
            .with("peer", Column::texts(events.iter().map(|e| peer(setup, e))))
            .with("flow", Column::U32OrNone(u32s(&flow)))
            .with("packet", Column::U32OrNone(u32s(&|e| self.packets.get(&e.packet).copied().unwrap_or(NONE))))
            .with("kind", text(|e| e.kind))
            .with("size_bytes", Column::U32(u32s(&|e| e.size)))
            .with("number", Column::U32(u32s(&|e| e.number)))
            .with("value", Column::F64(events.iter().map(|e| e.value).collect()))
            .with("why", text(|e| e.why))
            .with("cause", Column::U32OrNone(u32s(&|e| rows.get(&e.cause).copied().unwrap_or(NONE))))
    }
}

/// What is to be known where the fluid model was to be traced.
pub fn untraced_ideal(setup: &Setup) -> Option<Warning> {
    let asked = setup.scenario.trace.is_some() && setup.scenario.scheme == IDEAL;
    asked.then(|| Warning::of_run("trace: the ideal has no packets, so nothing was recorded".to_owned()))
}

fn name(setup: &Setup, node: u32) -> &str {
    &setup.topology.nodes()[node as usize].name
}

fn peer<'a>(setup: &'a Setup, event: &TraceEvent) -> &'a str {
    let ports = setup.topology.ports(event.key.node().0 as usize);
    event.port.and_then(|p| ports.get(usize::from(p.0))).map_or("", |at| name(setup, at.peer))
}
