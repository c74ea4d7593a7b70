//! The event loop of a fluid run.
//!
//! Flows of a class have the same level at all times, so one integral per class, its *service* ∫
//! level dt, serves all of them: a flow that arrives at service S ends when the service reaches S +
//! size / weight. Between events all levels are constant, and the next flow to end is known
//! exactly.

use crate::IdealError;
use crate::fluid::{Allocation, CapacityChange, FlowOutcome, FluidFlow, FluidOptions, FluidOutput};
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
    check(caps, flows, options)?;
    let (population, class_of, groups) = classes(caps, flows, options.sample_s.is_some());
    let sampler = options.sample_s.map(|s| Sampler::new(s, caps.len(), groups.count)).transpose()?;
    let classes = Classes::new(&population, groups.of_class);
    match options.allocation {
        Allocation::MaxMin => Engine::new(MaxMin::new(population), flows, class_of, classes, sampler).run(options),
        Allocation::Proportional => {
            let mut engine = Engine::new(Shares::new(population), flows, class_of, classes, sampler);
            let output = engine.run(options)?;
            Ok(FluidOutput { residual: engine.allocator.worst_residual(), ..output })
        }
    }
}

fn check(caps: &[f64], flows: &[FluidFlow], options: &FluidOptions) -> Result<(), IdealError> {
    check_caps(caps)?;
    for (i, f) in flows.iter().enumerate() {
        check_flow(i, &f.path, f.weight, f.cap_bps, caps.len())?;
        let times = [f.start_s, f.latency_s].iter().all(|t| t.is_finite() && *t >= 0.0);
        if !times || f.size_bits.is_nan() || f.size_bits <= 0.0 || f.stop_s.is_nan() {
            return Err(IdealError::Times(i));
        }
    }
    for change in &options.changes {
        let link = change.link as usize;
        if link >= caps.len() || !(change.bps.is_finite() && change.bps >= 0.0) || change.at_s.is_nan() {
            return Err(IdealError::Capacity(link));
        }
    }
    Ok(())
}

struct Groups {
    count: usize,
    of_class: Vec<u32>,
}

/// Sorts flows into classes; with a series, flows of different groups go into different ones.
fn classes(caps: &[f64], flows: &[FluidFlow], by_group: bool) -> (Population, Vec<u32>, Groups) {
    let mut population = Population::new(caps);
    let mut known: FxHashMap<(&[u32], u64, u64, u32), u32> = FxHashMap::default();
    let mut of_class = Vec::new();
    let mut class = |f| {
        let f: &FluidFlow = f;
        let group = if by_group { f.group } else { 0 };
        *known.entry((&f.path, f.weight.to_bits(), f.cap_bps.to_bits(), group)).or_insert_with(|| {
            of_class.push(group);
            population.add_class(&f.path, f.weight, f.cap_bps)
        })
    };
    let class_of: Vec<u32> = flows.iter().map(&mut class).collect();
    let count = of_class.iter().max().map_or(0, |g| *g as usize + 1);
    (population, class_of, Groups { count, of_class })
}

/// The state of each class beside its level.
struct Classes {
    group: Vec<u32>,
    /// ∫ level dt up to `since`, and the level from then on.
    service: Vec<f64>,
    since: Vec<f64>,
    level: Vec<f64>,
    /// When the first of its flows ends, if nothing changes.
    first_end: Vec<f64>,
    /// Its flows by the service at which they end (bits of a float that is not negative).
    ends: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Classes by `first_end`, its bits; of a class, entries of before are left until they come up.
    next: BinaryHeap<Reverse<(u64, u32)>>,
    /// With more entries than this, those of before are taken out.
    most: usize,
}

impl Classes {
    fn new(population: &Population, group: Vec<u32>) -> Classes {
        let n = population.classes();
        Classes {
            group,
            service: vec![0.0; n],
            since: vec![0.0; n],
            level: vec![0.0; n],
            first_end: vec![f64::INFINITY; n],
            ends: vec![BinaryHeap::new(); n],
            next: BinaryHeap::new(),
            most: FEWEST_ENTRIES,
        }
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
        if self.next.len() > self.most {
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

struct Engine<'a, A> {
    allocator: A,
    flows: &'a [FluidFlow],
    class_of: Vec<u32>,
    classes: Classes,
    /// Service of its class when each flow arrived.
    arrived_at: Vec<f64>,
    active: Vec<bool>,
    outcomes: Vec<FlowOutcome>,
    sampler: Option<Sampler>,
    now: f64,
    events: u64,
    affected: Vec<u32>,
}

/// What is still to come: indices in order of time, and how far we are.
struct Agenda {
    order: Vec<(f64, u32)>,
    next: usize,
}

impl Agenda {
    fn new(times: impl Iterator<Item = f64>) -> Agenda {
        let mut order: Vec<(f64, u32)> = times.zip(0..).filter(|(t, _)| t.is_finite()).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        Agenda { order, next: 0 }
    }
    fn next_s(&self) -> f64 {
        self.order.get(self.next).map_or(f64::INFINITY, |e| e.0)
    }
    /// Takes the next index that is due at `now`.
    fn take(&mut self, now: f64) -> Option<u32> {
        let (_, index) = self.order.get(self.next).filter(|e| e.0 <= now)?;
        self.next += 1;
        Some(*index)
    }
}

impl<'a, A: Allocator> Engine<'a, A> {
    fn new(
        allocator: A,
        flows: &'a [FluidFlow],
        class_of: Vec<u32>,
        classes: Classes,
        sampler: Option<Sampler>,
    ) -> Engine<'a, A> {
        Engine {
            allocator,
            flows,
            class_of,
            classes,
            arrived_at: vec![0.0; flows.len()],
            active: vec![false; flows.len()],
            outcomes: vec![FlowOutcome::default(); flows.len()],
            sampler,
            now: 0.0,
            events: 0,
            affected: Vec::new(),
        }
    }

    fn run(&mut self, options: &FluidOptions) -> Result<FluidOutput, IdealError> {
        let mut arrivals = Agenda::new(self.flows.iter().map(|f| f.start_s));
        let mut stops = Agenda::new(self.flows.iter().map(|f| f.stop_s));
        let mut changes = Agenda::new(options.changes.iter().map(|c| c.at_s));
        loop {
            let ends = self.classes.first().map_or(f64::INFINITY, |(at, _)| at);
            let next = ends.min(arrivals.next_s()).min(stops.next_s()).min(changes.next_s());
            self.samples_until(next.min(options.stop_s))?;
            if next > options.stop_s || next == f64::INFINITY {
                break;
            }
            self.now = self.now.max(next);
            self.end_flows();
            while let Some(flow) = stops.take(self.now) {
                self.give_up(flow);
            }
            while let Some(change) = changes.take(self.now) {
                let CapacityChange { link, bps, .. } = options.changes[change as usize];
                self.allocator.set_capacity(link, bps);
            }
            while let Some(flow) = arrivals.take(self.now) {
                self.arrive(flow);
            }
            self.share();
        }
        // With flows left, time goes on to the stop; without, the run ended with the last event.
        if options.stop_s.is_finite() && !self.allocator.population().present().is_empty() {
            self.now = self.now.max(options.stop_s);
        }
        Ok(self.finish())
    }

    /// Brings a class's service up to now.
    fn advance(&mut self, class: u32) {
        let (c, i) = (&mut self.classes, class as usize);
        let served = c.level[i] * (self.now - c.since[i]);
        c.service[i] += served;
        c.since[i] = self.now;
        let population = self.allocator.population();
        if let Some(sampler) = &mut self.sampler {
            sampler.add(population.path(class), c.group[i], served * population.total_weight(class));
        }
    }

    fn arrive(&mut self, flow: u32) {
        let (f, class) = (&self.flows[flow as usize], self.class_of[flow as usize]);
        if f.stop_s <= f.start_s {
            return;
        }
        let i = class as usize;
        if self.allocator.population().flows[i] == 0 {
            // An empty class starts from zero, so that sums stay small and exact.
            (self.classes.service[i], self.classes.since[i], self.classes.level[i]) = (0.0, self.now, 0.0);
        } else {
            self.advance(class);
        }
        self.arrived_at[flow as usize] = self.classes.service[i];
        self.active[flow as usize] = true;
        if f.size_bits.is_finite() {
            let end = self.classes.service[i] + f.size_bits / f.weight;
            self.classes.ends[i].push(Reverse((end.to_bits(), flow)));
        }
        self.allocator.join(class);
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
            while let Some(&Reverse((bits, flow))) = self.classes.ends[i].peek() {
                if f64::from_bits(bits) > reached {
                    break;
                }
                self.classes.ends[i].pop();
                self.end(flow);
            }
            self.classes.predict(i);
        }
    }

    /// A flow has sent its last bit.
    fn end(&mut self, flow: u32) {
        let f = &self.flows[flow as usize];
        let finish_s = self.now + f.latency_s;
        let mean_rate_bps = f.size_bits / (finish_s - f.start_s).max(f64::MIN_POSITIVE);
        self.outcomes[flow as usize] =
            FlowOutcome { finish_s: Some(finish_s), delivered_bits: f.size_bits, mean_rate_bps };
        self.active[flow as usize] = false;
        self.allocator.leave(self.class_of[flow as usize]);
    }

    /// Notes what a flow that isn't done has sent by now.
    fn cut(&mut self, flow: u32) {
        let f = &self.flows[flow as usize];
        let served = self.classes.service[self.class_of[flow as usize] as usize] - self.arrived_at[flow as usize];
        let delivered_bits = (served * f.weight).min(f.size_bits);
        let mean_rate_bps = delivered_bits / (self.now - f.start_s).max(f64::MIN_POSITIVE);
        self.outcomes[flow as usize] = FlowOutcome { finish_s: None, delivered_bits, mean_rate_bps };
    }

    /// A flow's own stop has come.
    fn give_up(&mut self, flow: u32) {
        if !std::mem::take(&mut self.active[flow as usize]) {
            return;
        }
        let class = self.class_of[flow as usize];
        self.advance(class);
        self.cut(flow);
        self.allocator.leave(class);
        let active = &self.active;
        self.classes.ends[class as usize].retain(|Reverse((_, f))| active[*f as usize]);
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
        for flow in 0..self.flows.len() as u32 {
            if self.active[flow as usize] {
                self.cut(flow);
            }
        }
        let mut link_bits = vec![0.0; self.allocator.population().caps.len()];
        for (flow, outcome) in self.flows.iter().zip(&self.outcomes) {
            flow.path.iter().for_each(|l| link_bits[*l as usize] += outcome.delivered_bits);
        }
        FluidOutput {
            flows: std::mem::take(&mut self.outcomes),
            link_bits,
            end_s: self.now,
            events: self.events,
            series: self.sampler.take().map(Sampler::finish),
            residual: 0.0,
        }
    }
}
