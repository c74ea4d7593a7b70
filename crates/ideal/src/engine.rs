//! The event loop of a fluid run.
//!
//! Flows of a class have the same level at all times, so one integral per class, its *service* ∫
//! level dt, serves all of them: a flow that arrives at service S ends when the service reaches S +
//! size / weight. Between events all levels are constant, and the next flow to end is known
//! exactly.

use crate::IdealError;
use crate::fluid::{Allocation, CapacityChange, FlowOutcome, FluidFlow, FluidFlows, FluidOptions, FluidOutput};
use crate::maxmin::MaxMin;
use crate::population::{Allocator, Population, check_caps, check_flow};
use crate::proportional::Shares;
use crate::series::Sampler;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
/// The heap of ends is not searched for what is past with fewer entries.
const FEWEST_ENTRIES: usize = 1024;
/// Flows that would end within half a picosecond, half a tick of the simulator's clock, end
/// together.
const SAME_TIME_S: f64 = 0.5e-12;

/// Runs `flows` over links of the given capacities (bits per second).
pub fn run(caps: &[f64], flows: &[FluidFlow], options: &FluidOptions) -> Result<FluidOutput, IdealError> {
    let mut outcomes = vec![FlowOutcome::default(); flows.len()];
    let output = run_each(caps, flows, options, |flow, outcome| outcomes[flow] = *outcome)?;
    Ok(FluidOutput { flows: outcomes, ..output })
}

/// The same for flows that are made when they arrive: `ended` is called once for each with what has become of it. Memory is
/// that of flows under way; four bytes come on top for each flow unless all are numbered in the order of their starts.
pub fn run_each(
    caps: &[f64],
    flows: &(impl FluidFlows + ?Sized),
    options: &FluidOptions,
    ended: impl FnMut(usize, &FlowOutcome),
) -> Result<FluidOutput, IdealError> {
    check_caps(caps)?;
    for change in &options.changes {
        let link = change.link as usize;
        if link >= caps.len() || !(change.bps.is_finite() && change.bps >= 0.0) || change.at_s.is_nan() {
            return Err(IdealError::Capacity(link));
        }
    }
    let sampler = options.sample_s.map(|s| Sampler::new(s, caps.len(), flows.groups())).transpose()?;
    let population = Population::new(caps);
    match options.allocation {
        Allocation::MaxMin => Engine::new(MaxMin::new(population), flows, sampler, ended).run(options),
        Allocation::Proportional => {
            let mut engine = Engine::new(Shares::new(population), flows, sampler, ended);
            let output = engine.run(options)?;
            Ok(FluidOutput { residual: engine.allocator.worst_residual(), ..output })
        }
    }
}

fn check(number: usize, f: &FluidFlow, links: usize) -> Result<(), IdealError> {
    check_flow(number, &f.path, f.weight, f.cap_bps, links)?;
    let times = [f.start_s, f.latency_s].iter().all(|t| t.is_finite() && *t >= 0.0);
    if !times || f.size_bits.is_nan() || f.size_bits <= 0.0 || f.stop_s.is_nan() {
        return Err(IdealError::Times(number));
    }
    Ok(())
}

/// What flows of a class have in common. With a series, flows of different groups are in different ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    path: Vec<u32>,
    weight: u64,
    cap: u64,
    group: u32,
}

/// The state of each class beside its level.
#[derive(Default)]
struct Classes {
    kind: Vec<Option<Kind>>,
    of: FxHashMap<Kind, u32>,
    /// ∫ level dt up to `since`, and the level from then on.
    service: Vec<f64>,
    since: Vec<f64>,
    level: Vec<f64>,
    /// When the first of its flows ends, if nothing changes.
    first_end: Vec<f64>,
    /// Its flows by the service at which they end (bits of a float that is not negative), and their seats.
    ends: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Classes by `first_end`, its bits; of a class, entries of before are left until they come up.
    next: BinaryHeap<Reverse<(u64, u32)>>,
    /// With more entries than this, those of before are taken out.
    most: usize,
}

impl Classes {
    /// Makes room for a class that has come.
    fn add(&mut self, class: u32, kind: Kind) {
        let n = class as usize + 1;
        if self.kind.len() < n {
            self.kind.resize_with(n, || None);
            self.service.resize(n, 0.0);
            self.since.resize(n, 0.0);
            self.level.resize(n, 0.0);
            self.first_end.resize(n, f64::INFINITY);
            self.ends.resize_with(n, BinaryHeap::new);
        }
        self.kind[class as usize] = Some(kind.clone());
        self.of.insert(kind, class);
    }

    fn forget(&mut self, class: u32) {
        if let Some(kind) = self.kind[class as usize].take() {
            self.of.remove(&kind);
        }
        // What it had room for may have been a crowd.
        self.ends[class as usize] = BinaryHeap::new();
    }

    /// Sets `first_end` after a change of level, service or flows.
    fn predict(&mut self, class: usize) {
        let head = self.ends[class].peek().map(|Reverse((bits, _))| f64::from_bits(*bits));
        let left = head.map(|end| (end - self.service[class]).max(0.0));
        let first = match left {
            Some(left) if self.level[class] > 0.0 => self.since[class] + left / self.level[class],
            _ => f64::INFINITY,
        };
        if first.is_finite() && first != self.first_end[class] {
            self.next.push(Reverse((first.to_bits(), class as u32)));
        }
        self.first_end[class] = first;
    }

    /// Whether an entry of `next` is of now.
    fn stands(&self, Reverse((bits, class)): &Reverse<(u64, u32)>) -> bool {
        self.first_end[*class as usize].to_bits() == *bits
    }

    /// The class whose first flow ends next, and when.
    fn first(&mut self) -> Option<(f64, u32)> {
        if self.next.len() > self.most.max(FEWEST_ENTRIES) {
            let mut entries = std::mem::take(&mut self.next).into_vec();
            entries.retain(|entry| self.stands(entry));
            self.most = 4 * entries.len() + FEWEST_ENTRIES;
            self.next = entries.into();
        }
        while let Some(entry) = self.next.peek() {
            if self.stands(entry) {
                let Reverse((bits, class)) = *entry;
                return Some((f64::from_bits(bits), class));
            }
            self.next.pop();
        }
        None
    }
}

/// A flow under way.
struct Seat {
    flow: u32,
    class: u32,
    size_bits: f64,
    start_s: f64,
    weight: f64,
    latency_s: f64,
    /// Service of its class when it arrived.
    arrived_at: f64,
    taken: bool,
}

struct Engine<'a, F: ?Sized, A, T> {
    allocator: A,
    flows: &'a F,
    ended: T,
    classes: Classes,
    seats: Vec<Seat>,
    free: Vec<u32>,
    /// FluidFlows that give up, by the bits of when: their numbers and seats.
    stops: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Classes whose last flow has gone in this moment.
    emptied: Vec<u32>,
    link_bits: Vec<f64>,
    sampler: Option<Sampler>,
    now: f64,
    events: u64,
    affected: Vec<u32>,
}

/// Arrivals or changes that are still to come.
struct Agenda<S> {
    start_s: S,
    count: usize,
    /// In order of time, where that is not the order of numbers.
    order: Option<Vec<u32>>,
    next: usize,
}

impl<S: Fn(usize) -> f64> Agenda<S> {
    fn new(count: usize, start_s: S) -> Agenda<S> {
        let sorted = (1..count).all(|i| start_s(i - 1) <= start_s(i));
        let order = (!sorted).then(|| {
            let mut order: Vec<u32> = (0..count as u32).collect();
            order.sort_by(|a, b| start_s(*a as usize).total_cmp(&start_s(*b as usize)));
            order
        });
        Agenda { start_s, count, order, next: 0 }
    }
    fn first(&self) -> Option<usize> {
        (self.next < self.count).then(|| self.order.as_ref().map_or(self.next, |order| order[self.next] as usize))
    }
    fn next_s(&self) -> f64 {
        self.first().map_or(f64::INFINITY, &self.start_s)
    }
    /// Takes the next that is due at `now`.
    fn take(&mut self, now: f64) -> Option<usize> {
        let first = self.first().filter(|i| (self.start_s)(*i) <= now)?;
        self.next += 1;
        Some(first)
    }
}

impl<'a, F: FluidFlows + ?Sized, A: Allocator, T: FnMut(usize, &FlowOutcome)> Engine<'a, F, A, T> {
    fn new(allocator: A, flows: &'a F, sampler: Option<Sampler>, ended: T) -> Engine<'a, F, A, T> {
        let links = allocator.population().caps.len();
        Engine {
            allocator,
            flows,
            ended,
            classes: Classes::default(),
            seats: Vec::new(),
            free: Vec::new(),
            stops: BinaryHeap::new(),
            emptied: Vec::new(),
            link_bits: vec![0.0; links],
            sampler,
            now: 0.0,
            events: 0,
            affected: Vec::new(),
        }
    }

    fn run(&mut self, options: &FluidOptions) -> Result<FluidOutput, IdealError> {
        let flows = self.flows;
        for flow in 0..flows.count() {
            if !flows.start_s(flow).is_finite() {
                return Err(IdealError::Times(flow));
            }
        }
        let mut arrivals = Agenda::new(flows.count(), |flow| flows.start_s(flow));
        let mut changes = Agenda::new(options.changes.len(), |change| options.changes[change].at_s);
        loop {
            let ends = self.classes.first().map_or(f64::INFINITY, |(at, _)| at);
            let next = ends.min(arrivals.next_s()).min(self.next_stop_s()).min(changes.next_s());
            self.samples_until(next.min(options.stop_s))?;
            if next > options.stop_s || next == f64::INFINITY {
                break;
            }
            self.now = self.now.max(next);
            self.end_flows();
            while self.next_stop_s() <= self.now
                && let Some(Reverse((_, flow, seat))) = self.stops.pop()
            {
                self.give_up(flow, seat);
            }
            while let Some(change) = changes.take(self.now) {
                let CapacityChange { link, bps, .. } = options.changes[change];
                self.allocator.set_capacity(link, bps);
            }
            while let Some(flow) = arrivals.take(self.now) {
                self.arrive(flow)?;
            }
            self.share();
        }
        // With flows left, time goes on to the stop; without, the run ended with the last event.
        if options.stop_s.is_finite() && !self.allocator.population().present().is_empty() {
            self.now = self.now.max(options.stop_s);
        }
        while let Some(flow) = arrivals.take(f64::INFINITY) {
            (self.ended)(flow, &FlowOutcome::default());
        }
        Ok(self.finish())
    }

    fn next_stop_s(&self) -> f64 {
        self.stops.peek().map_or(f64::INFINITY, |Reverse((bits, ..))| f64::from_bits(*bits))
    }

    /// Brings a class's service up to now.
    fn advance(&mut self, class: u32) {
        let (c, i) = (&mut self.classes, class as usize);
        let served = c.level[i] * (self.now - c.since[i]);
        c.service[i] += served;
        c.since[i] = self.now;
        let population = self.allocator.population();
        if let Some(sampler) = &mut self.sampler {
            let group = c.kind[i].as_ref().map_or(0, |kind| kind.group);
            sampler.add(population.path(class), group, served * population.total_weight(class));
        }
    }

    /// The class of a flow, with its state up to now.
    fn class_of(&mut self, kind: Kind, flow: &FluidFlow) -> u32 {
        let known = self.classes.of.get(&kind).copied();
        let class = known.unwrap_or_else(|| {
            let class = self.allocator.add_class(&kind.path, flow.weight, flow.cap_bps);
            self.classes.add(class, kind);
            class
        });
        let i = class as usize;
        if self.allocator.population().flows[i] == 0 {
            // An empty class starts from zero, so that sums stay small and exact.
            (self.classes.service[i], self.classes.since[i], self.classes.level[i]) = (0.0, self.now, 0.0);
        } else {
            self.advance(class);
        }
        class
    }

    fn arrive(&mut self, number: usize) -> Result<(), IdealError> {
        let mut flow = self.flows.flow(number);
        check(number, &flow, self.link_bits.len())?;
        if flow.stop_s <= flow.start_s {
            (self.ended)(number, &FlowOutcome::default());
            return Ok(());
        }
        let kind = Kind {
            path: std::mem::take(&mut flow.path),
            weight: flow.weight.to_bits(),
            cap: flow.cap_bps.to_bits(),
            group: if self.sampler.is_some() { flow.group } else { 0 },
        };
        let class = self.class_of(kind, &flow);
        let FluidFlow { size_bits, start_s, weight, latency_s, .. } = flow;
        let arrived_at = self.classes.service[class as usize];
        let sits = Seat { flow: number as u32, class, size_bits, start_s, weight, latency_s, arrived_at, taken: true };
        let seat = self.free.pop().unwrap_or(self.seats.len() as u32);
        match self.seats.get_mut(seat as usize) {
            Some(free) => *free = sits,
            None => self.seats.push(sits),
        }
        if size_bits.is_finite() {
            let end = arrived_at + size_bits / weight;
            self.classes.ends[class as usize].push(Reverse((end.to_bits(), seat)));
        }
        if flow.stop_s.is_finite() {
            self.stops.push(Reverse((flow.stop_s.to_bits(), number as u32, seat)));
        }
        self.allocator.join(class);
        Ok(())
    }

    /// Ends all flows that are done by now.
    fn end_flows(&mut self) {
        while let Some((at, class)) = self.classes.first()
            && at <= self.now + SAME_TIME_S
        {
            self.advance(class);
            let i = class as usize;
            self.classes.next.pop();
            // So that `predict` enters it again, be it at the same time.
            self.classes.first_end[i] = f64::INFINITY;
            // The flow that was predicted is done, whatever rounding says; others if they are as
            // good as done.
            let Some(Reverse((bits, _))) = self.classes.ends[i].peek() else { continue };
            let reached = f64::from_bits(*bits).max(self.classes.service[i]) + self.classes.level[i] * SAME_TIME_S;
            while let Some(&Reverse((bits, seat))) = self.classes.ends[i].peek() {
                if f64::from_bits(bits) > reached {
                    break;
                }
                self.classes.ends[i].pop();
                self.end(seat);
            }
            self.classes.predict(i);
        }
    }

    /// A flow has sent its last bit.
    fn end(&mut self, seat: u32) {
        let Seat { size_bits, start_s, latency_s, .. } = self.seats[seat as usize];
        let finish_s = self.now + latency_s;
        let mean_rate_bps = size_bits / (finish_s - start_s).max(f64::MIN_POSITIVE);
        self.leave(seat, &FlowOutcome { finish_s: Some(finish_s), delivered_bits: size_bits, mean_rate_bps });
    }

    /// A flow that isn't done has sent what it has by now.
    fn cut(&mut self, seat: u32) {
        let Seat { class, size_bits, start_s, weight, arrived_at, .. } = self.seats[seat as usize];
        let delivered_bits = ((self.classes.service[class as usize] - arrived_at) * weight).min(size_bits);
        let mean_rate_bps = delivered_bits / (self.now - start_s).max(f64::MIN_POSITIVE);
        self.leave(seat, &FlowOutcome { finish_s: None, delivered_bits, mean_rate_bps });
    }

    fn leave(&mut self, seat: u32, outcome: &FlowOutcome) {
        let Seat { flow, class, .. } = self.seats[seat as usize];
        self.seats[seat as usize].taken = false;
        self.free.push(seat);
        let path = self.allocator.population().path(class);
        path.iter().for_each(|l| self.link_bits[*l as usize] += outcome.delivered_bits);
        (self.ended)(flow as usize, outcome);
        self.allocator.leave(class);
        if self.allocator.population().flows[class as usize] == 0 {
            self.emptied.push(class);
        }
    }

    /// A flow's own stop has come.
    fn give_up(&mut self, flow: u32, seat: u32) {
        let Seat { flow: sits, class, taken, .. } = self.seats[seat as usize];
        if !taken || sits != flow {
            return;
        }
        self.advance(class);
        self.cut(seat);
        self.classes.ends[class as usize].retain(|Reverse((_, other))| *other != seat);
        self.classes.predict(class as usize);
    }

    /// Takes over the new levels.
    fn share(&mut self) {
        self.events += 1;
        let mut affected = std::mem::take(&mut self.affected);
        affected.clear();
        self.allocator.resolve(&mut affected);
        for &class in &affected {
            self.advance(class);
            self.classes.level[class as usize] = self.allocator.level(class);
            self.classes.predict(class as usize);
        }
        self.affected = affected;
        while let Some(class) = self.emptied.pop() {
            if self.allocator.population().flows[class as usize] == 0 && self.classes.kind[class as usize].is_some() {
                self.classes.forget(class);
                self.allocator.forget(class);
            }
        }
    }

    /// Takes all samples up to and including `until`; at the end of time there is nothing more to
    /// sample.
    fn samples_until(&mut self, until: f64) -> Result<(), IdealError> {
        while let Some(next) = self.sampler.as_ref().map(Sampler::next_s).filter(|s| *s <= until && until.is_finite()) {
            self.now = next;
            self.advance_all();
            self.sampler.as_mut().map_or(Ok(()), Sampler::sample)?;
        }
        Ok(())
    }

    fn advance_all(&mut self) {
        for k in 0..self.allocator.population().present().len() {
            self.advance(self.allocator.population().present()[k]);
        }
    }

    fn finish(&mut self) -> FluidOutput {
        self.advance_all();
        for seat in 0..self.seats.len() as u32 {
            if self.seats[seat as usize].taken {
                self.cut(seat);
            }
        }
        FluidOutput {
            flows: Vec::new(),
            link_bits: std::mem::take(&mut self.link_bits),
            end_s: self.now,
            events: self.events,
            series: self.sampler.take().map(Sampler::finish),
            residual: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows over a path of three of a hundred links each, no two paths alike, four at a time.
    struct Parade;

    impl FluidFlows for Parade {
        fn count(&self) -> usize {
            10_000
        }
        fn groups(&self) -> usize {
            1
        }
        fn start_s(&self, flow: usize) -> f64 {
            flow as f64 / 4.0
        }
        fn flow(&self, flow: usize) -> FluidFlow {
            let n = flow as u32;
            let path = vec![n % 100, (37 * n + n / 100) % 100, (61 * n + n / 7) % 100];
            FluidFlow { path, size_bits: 1.0, start_s: self.start_s(flow), ..FluidFlow::default() }
        }
    }

    #[test]
    fn memory_is_that_of_flows_under_way() {
        let population = Population::new(&[1.0; 100]);
        let mut engine = Engine::new(MaxMin::new(population), &Parade, None, |_, _: &FlowOutcome| {});
        let output = engine.run(&FluidOptions::default()).expect("valid");
        assert!(output.events >= 10_000);
        assert!(engine.seats.len() <= 40, "{} seats", engine.seats.len());
        assert!(engine.allocator.population().classes() <= 40, "{}", engine.allocator.population().classes());
        assert!(engine.classes.of.is_empty() && engine.stops.is_empty());
    }
}
