//! Traces that are read as jobs: operations of ranks that require each other, and how they become flows.

use std::collections::BTreeMap;

use midpath_core::units::{Bytes, Time};

use crate::after::{Step, WaitFor};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::list::{ListError, error};
use crate::{connections, goal, goal_binary};

/// Lines of a circle that its message names.
const MOST_LINES: usize = 8;

/// An operation of a rank.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Op {
    pub rank: u32,
    /// Where it stands.
    pub line: u64,
    pub kind: Kind,
    /// What it requires.
    pub needs: Vec<Need>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing for so long.
    Calc(Time),
    /// A message: done when its receiver has all of it.
    Send { to: u32, size: Bytes },
    /// Done when this message has come, and what it requires.
    Receive { message: u32 },
}

/// That another operation is done, or has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    pub of: u32,
    pub done: bool,
}

/// A trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Trace {
    pub ranks: u64,
    pub ops: Vec<Op>,
}

/// Reads a trace: GOAL's text or binary, or htsim's connections with triggers.
pub(crate) fn parse(bytes: &[u8]) -> Result<Trace, ListError> {
    if goal_binary::is_binary(bytes) {
        return goal_binary::parse(bytes);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| error(1, "neither text nor a binary that `txt2bin` has made"))?;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', '/', '*']));
    match first.and_then(|line| line.split_whitespace().next()) {
        Some("Nodes" | "Connections" | "Triggers" | "Failures") => connections::parse_trace(text),
        _ => goal::parse(text),
    }
}

impl Trace {
    /// How many messages it has.
    pub fn messages(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op.kind, Kind::Send { .. })).count()
    }

    /// What an operation waits for, in order: a receipt for its message, too.
    fn before(&self, op: &Op) -> impl Iterator<Item = u32> {
        let message = match op.kind {
            Kind::Receive { message } => Some(message),
            _ => None,
        };
        op.needs.iter().map(|need| need.of).chain(message).collect::<Vec<_>>().into_iter()
    }

    /// Its operations, each behind what it waits for.
    fn order(&self) -> Result<Vec<u32>, ListError> {
        let mut left: Vec<u32> = self.ops.iter().map(|op| self.before(op).count() as u32).collect();
        let mut followers = vec![Vec::new(); self.ops.len()];
        for (op, number) in self.ops.iter().zip(0u32..) {
            self.before(op).for_each(|of| followers[of as usize].push(number));
        }
        let mut order: Vec<u32> = (0u32..).zip(&left).filter(|(_, left)| **left == 0).map(|(op, _)| op).collect();
        let mut next = 0;
        while let Some(op) = order.get(next).copied() {
            next += 1;
            for follower in &followers[op as usize] {
                let left = &mut left[*follower as usize];
                *left -= 1;
                if *left == 0 {
                    order.push(*follower);
                }
            }
        }
        // Whoever is left waits for one that is left: from any of them on, an operation comes up again.
        let Some(first) = left.iter().position(|left| *left > 0) else { return Ok(order) };
        let (mut way, mut places) = (Vec::new(), vec![None; self.ops.len()]);
        let mut op = first as u32;
        loop {
            if let Some(at) = places[op as usize].replace(way.len()) {
                let round = &way[at..];
                let shown = round.iter().take(MOST_LINES).map(|op: &u32| self.ops[*op as usize].line.to_string());
                let lines = shown.collect::<Vec<_>>().join(", ");
                let more = if round.len() > MOST_LINES { ", …" } else { "" };
                let line = self.ops[op as usize].line;
                let message = format!("waits for itself, over lines {lines}{more}; take one of these waits out");
                return Err(error(line, message));
            }
            way.push(op);
            let mut before = self.before(&self.ops[op as usize]);
            op = before.find(|of| left[*of as usize] > 0).unwrap_or(op);
        }
    }
}

/// A time of a rank: so long after a step, or after the run's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Event {
    step: Option<u32>,
    later: Time,
}

/// A trace on its way to flows.
pub(crate) struct Expansion<'a> {
    pub trace: &'a Trace,
    /// The nodes of the ranks.
    pub nodes: &'a [u32],
    pub terms: u32,
    pub start: Time,
    /// The groups that it waits for.
    pub after: Option<u32>,
    pub out: &'a mut FlowList,
}

impl Expansion<'_> {
    /// Appends the flows: one for each message, in an order in which they can be sent.
    pub fn flows(&mut self) -> Result<(), ListError> {
        let order = self.trace.order()?;
        let ops = &self.trace.ops;
        let begins: Vec<Event> = self.nodes.iter().map(|node| self.begin(*node)).collect();
        // Where the ends of messages are waited for.
        let mut ends = BTreeMap::<(u32, u32), Event>::new();
        let of_messages = |op: &Op| {
            let receipt = if let Kind::Receive { message } = op.kind { Some(message) } else { None };
            let done = op.needs.iter().filter(|need| need.done).map(|need| need.of);
            let done = done.filter(|of| matches!(ops[*of as usize].kind, Kind::Send { .. }));
            done.chain(receipt).map(|of| (of, op.rank)).collect::<Vec<_>>()
        };
        let nowhere = Event { step: None, later: Time::MAX };
        ops.iter().flat_map(of_messages).for_each(|key| {
            ends.insert(key, nowhere);
        });
        // When each operation has begun, and is done where its own rank is concerned.
        let mut begun = vec![nowhere; ops.len()];
        let mut done = vec![nowhere; ops.len()];
        for number in order {
            let op = &ops[number as usize];
            let events = op.needs.iter().map(|need| match ops[need.of as usize].kind {
                Kind::Send { .. } if need.done => ends[&(need.of, op.rank)],
                _ if need.done => done[need.of as usize],
                _ => begun[need.of as usize],
            });
            let events: Vec<Event> = events.collect();
            let node = self.nodes[op.rank as usize];
            let event = self.join(node, &events).unwrap_or(begins[op.rank as usize]);
            begun[number as usize] = event;
            done[number as usize] = match op.kind {
                Kind::Calc(time) => Event { later: event.later.saturating_add(time), ..event },
                Kind::Send { to, size } => {
                    self.send(number, (op.rank, to), size, event, &mut ends);
                    event
                }
                Kind::Receive { message } => {
                    let come = ends[&(message, op.rank)];
                    let both = if op.needs.is_empty() { vec![come] } else { vec![come, event] };
                    self.join(node, &both).unwrap_or(come)
                }
            };
        }
        Ok(())
    }

    fn begin(&mut self, node: u32) -> Event {
        Event { step: self.after.map(|after| self.out.step_after(node, after)), later: self.start }
    }

    /// A message begins; where somebody waits for its end, a step comes up.
    fn send(
        &mut self,
        number: u32,
        (from, to): (u32, u32),
        size: Bytes,
        begin: Event,
        ends: &mut BTreeMap<(u32, u32), Event>,
    ) {
        let waiting = ends.range_mut((number, 0)..=(number, u32::MAX));
        if from == to {
            return waiting.for_each(|(_, event)| *event = begin);
        }
        let mut steps = Vec::new();
        for ((_, rank), event) in waiting {
            let step = self.out.step(Step::new(self.nodes[*rank as usize], 1));
            steps.push(step);
            *event = Event { step: Some(step), later: Time::ZERO };
        }
        let flow = NewFlow {
            src: self.nodes[from as usize],
            dst: self.nodes[to as usize],
            size: Some(size),
            start: begin.later,
            stop: None,
            wait: begin.step.map(WaitFor::Step),
            terms: self.terms,
        };
        let mut first = steps.iter().copied();
        self.out.push_step(flow, Counts([first.next(), first.next()]));
        self.out.count_more(first.collect());
    }

    /// When all of these have come up.
    fn join(&mut self, node: u32, events: &[Event]) -> Option<Event> {
        let first = *events.first()?;
        if events.iter().all(|event| event.step == first.step) {
            let later = events.iter().map(|event| event.later).max().unwrap_or_default();
            return Some(Event { later, ..first });
        }
        let all = self.out.step(Step::new(node, events.len()));
        for event in events {
            let step = event.step.unwrap_or_else(|| self.out.step_at(node, event.later));
            self.out.then(step, all, if event.step.is_some() { event.later } else { Time::ZERO });
        }
        Some(Event { step: Some(all), later: Time::ZERO })
    }
}

/// Reads a trace's bytes and works out its flows, on as many hosts as it has ranks: what is wrong with it, with its line.
/// For tests of parsers.
pub fn check_trace(bytes: &[u8]) -> Result<usize, ListError> {
    let trace = parse(bytes)?;
    trace.order()?;
    Ok(trace.messages())
}
