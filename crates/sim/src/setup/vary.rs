//! Varying links: turns `[[vary]]` into what engine and measurement need.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::files::Files;
use midpath_core::limit::Limit;
use midpath_core::node::{OPPORTUNITY_BYTES, Opportunities};
use midpath_core::roles::Backlog;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use midpath_topo::Topology;
use midpath_topo::graph::{LinkInfo, MIN_RATE, check_rate};
use midpath_topo::spec::links_between;

use super::link_fault::LinkFault;
use crate::engine::{Arq, EcnHazards, Frame, Framing, Shaper, Variation};
use crate::scenario::{ShaperSpec, StepSpec, VarySpec, check_steps};

pub use read::{parse_schedule, parse_trace};

/// Most steps of all schedules together, rounds counted. Ours: each is two events of the run, of
/// some 50 bytes.
const MAX_STEPS: usize = 1_000_000;

/// Over how long a port knows what its link has delivered. Ours: some packets at the slowest rates of
/// a cellular link, and a few round trips of a short path.
const WINDOW: Time = Time::from_ms(100);

/// How links vary.
#[derive(Default)]
pub(super) struct Variations {
    /// By link, what varies from packet to packet in each direction: that from its end `a`, and
    /// that from `b`.
    links: BTreeMap<usize, [Variation; 2]>,
    /// By link, the steps of its schedule.
    steps: Vec<(usize, Time, LinkFault)>,
}

impl Variations {
    /// Reads what `specs` name. A link whose rate or delay is set from the beginning has it in
    /// `topology`, too.
    pub fn new(
        specs: &[VarySpec],
        files: Files<'_>,
        stop: Option<Time>,
        topology: &mut Topology,
    ) -> Result<Variations, SpecError> {
        let mut all = Variations::default();
        for (i, spec) in specs.iter().enumerate() {
            all.add(spec, files, stop, topology).map_err(|e| e.under(&format!("vary[{i}]")))?;
        }
        for (i, spec) in specs.iter().enumerate() {
            all.add_framing(spec, topology).map_err(|e| e.under(&format!("vary[{i}]")))?;
        }
        Ok(all)
    }

    fn add(
        &mut self,
        spec: &VarySpec,
        files: Files<'_>,
        stop: Option<Time>,
        topology: &mut Topology,
    ) -> Result<(), SpecError> {
        spec.check()?;
        let [a, b] = &spec.link;
        let links = links_between(topology, a, b).map_err(|e| e.under("link"))?;
        let first = topology.find(a);
        let variation = spec.variation(files)?;
        let steps = spec.schedule(files)?;
        for link in links {
            let forward = usize::from(Some(topology.links()[link].a) != first);
            let directions = if spec.one_way { vec![forward] } else { vec![0, 1] };
            if let Some(shaper) = spec.shaper {
                self.add_shaper(shaper, link, &directions, topology).map_err(|e| e.under("shaper"))?;
            }
            for direction in &directions {
                merge(&mut self.links.entry(link).or_default()[*direction], &variation)?;
            }
            if let Some(all) = &variation.opportunities {
                require_stop(stop, "trace")?;
                self.add_trace(all, link, &directions, stop, topology)?;
            }
            self.add_steps(&steps, spec.repeat, link, &directions, stop, topology)?;
        }
        Ok(())
    }

    /// Gathers packets of a link into frames, or repeats them. Its ports and the ideal have the mean rate that is left, at
    /// each rate of the link's own schedule.
    fn add_framing(&mut self, spec: &VarySpec, topology: &mut Topology) -> Result<(), SpecError> {
        let key = match (spec.aggregation, spec.arq) {
            (None, None) => return Ok(()),
            (Some(_), _) => "aggregation",
            (None, Some(_)) => "arq",
        };
        let [a, b] = &spec.link;
        for link in links_between(topology, a, b).map_err(|e| e.under("link"))? {
            let LinkInfo { mtu, corruption, a: end, b: other, .. } = topology.links()[link];
            let forward = usize::from(Some(end) != topology.find(a));
            for direction in if spec.one_way { vec![forward] } else { vec![0, 1] } {
                let variation = &mut self.links.entry(link).or_default()[direction];
                if variation.framing.is_some() {
                    return Err(SpecError::new(
                        key,
                        "another [[vary]] already sets frames for the same direction of the link",
                    ));
                }
                for (paced, key) in
                    [(variation.shaper.is_some(), "shaper"), (variation.opportunities.is_some(), "trace")]
                {
                    if paced {
                        return Err(SpecError::new(
                            key,
                            "has a pace of its own: leave it out, or `aggregation` and `arq`",
                        ));
                    }
                }
                let bursts = variation.bursts.map_or(0.0, |bursts| bursts.mean());
                let loss = 1.0 - (1.0 - corruption) * (1.0 - bursts);
                if spec.arq.is_some() && loss == 0.0 && variation.ecn.is_none_or(|ecn| ecn.loss == 0.0) {
                    return Err(SpecError::new(
                        "arq",
                        "has no effect: the link loses nothing; write `corruption` or `loss`, too",
                    ));
                }
                let own = topology.links()[link].rate_from([end, other][direction]);
                let framing = spec.framing(mtu, own)?;
                let framing = variation.framing.insert(framing);
                for (_, at, fault) in self.steps.iter_mut().filter(|step| step.0 == link) {
                    if let LinkFault::Rate(rates) = fault
                        && let Some(rate) = &mut rates[direction]
                    {
                        framing.rates.push((*at, *rate));
                        *rate = framing.mean_rate(*rate, loss).max(MIN_RATE);
                    }
                }
                let known = framing.mean_rate(own, loss).max(MIN_RATE);
                topology.set_rate(link, direction, known);
                self.steps.push((link, Time(1), LinkFault::Told(each(&[direction], known))));
            }
        }
        Ok(())
    }

    /// A port behind a token bucket has the bucket's rate, but for its bursts.
    fn add_shaper(
        &mut self,
        spec: ShaperSpec,
        link: usize,
        directions: &[usize],
        topology: &mut Topology,
    ) -> Result<(), SpecError> {
        check_rate("rate", Some(spec.rate))?;
        let LinkInfo { mtu, a, b, .. } = topology.links()[link];
        if spec.burst.0 < u64::from(mtu) {
            return Err(SpecError::new("burst", format!("must hold a packet, which is {mtu} B; increase it")));
        }
        for direction in directions {
            let line = topology.links()[link].rate_from([a, b][*direction]);
            if spec.rate >= line {
                return Err(SpecError::new("rate", format!("must be below the link's, which is {line}; reduce it")));
            }
            let shaper = Shaper { line, rate: spec.rate, burst: spec.burst.0 };
            let own = Variation { shaper: Some(shaper), ..Variation::default() };
            merge(&mut self.links.entry(link).or_default()[*direction], &own)?;
            topology.set_rate(link, *direction, spec.rate);
        }
        // Ports that reckon with times of departure are asked for each packet instead.
        self.steps.push((link, Time(1), LinkFault::Told(each(directions, spec.rate))));
        Ok(())
    }

    /// The trace as rates, for whoever reckons with rates.
    fn add_trace(
        &mut self,
        all: &Opportunities,
        link: usize,
        directions: &[usize],
        stop: Option<Time>,
        topology: &mut Topology,
    ) -> Result<(), SpecError> {
        let count = all.times().len() as u64;
        let mean = Rate::from_bytes_in(Bytes(count * u64::from(OPPORTUNITY_BYTES)), all.period());
        if mean < MIN_RATE {
            return Err(SpecError::new("trace", format!("its mean rate is {mean}, below the minimum of {MIN_RATE}")));
        }
        directions.iter().for_each(|direction| topology.set_rate(link, *direction, mean));
        let rounds = stop.unwrap_or_default().0.div_ceil(all.period().0);
        self.room(count.saturating_mul(rounds))?;
        for round in 0..rounds {
            for (from, rate) in rates(all) {
                let at = Time(round * all.period().0 + from.0);
                self.steps.push((link, at, LinkFault::Opportunity(each(directions, rate))));
            }
        }
        self.tell(all, link, directions, stop.unwrap_or_default())
    }

    /// What ports are told of a trace: after each [`WINDOW`] what it could deliver in that. The mean
    /// before.
    fn tell(&mut self, all: &Opportunities, link: usize, directions: &[usize], stop: Time) -> Result<(), SpecError> {
        let windows = stop.0 / WINDOW.0;
        self.room(windows)?;
        let (mut turns, mut last, mut known) = (all.from_start().peekable(), Time::ZERO, None);
        for end in (1..=windows).map(|w| WINDOW * w) {
            let mut count = 0u64;
            while let Some(at) = turns.next_if(|at| *at <= end) {
                (last, count) = (at, count + 1);
            }
            // Where it has been silent, one opportunity in as long.
            let (bytes, over) = if count == 0 { (1, end - last) } else { (count, WINDOW) };
            let rate = Rate::from_bytes_in(Bytes(bytes * u64::from(OPPORTUNITY_BYTES)), over).max(MIN_RATE);
            if known.replace(rate) != Some(rate) {
                self.steps.push((link, end, LinkFault::Told(each(directions, rate))));
            }
        }
        Ok(())
    }

    fn add_steps(
        &mut self,
        steps: &[StepSpec],
        repeat: Option<Time>,
        link: usize,
        directions: &[usize],
        stop: Option<Time>,
        topology: &mut Topology,
    ) -> Result<(), SpecError> {
        if let Some(step) = steps.first().filter(|s| s.at.is_zero()) {
            step.rate.iter().for_each(|rate| directions.iter().for_each(|d| topology.set_rate(link, *d, *rate)));
            step.delay.iter().filter(|_| directions.len() == 2).for_each(|delay| topology.set_delay(link, *delay));
        }
        let rounds = match repeat {
            None => 1,
            Some(repeat) => require_stop(stop, "repeat")?.0.div_ceil(repeat.0),
        };
        self.room((steps.len() as u64).saturating_mul(rounds))?;
        for round in 0..rounds {
            for step in steps {
                let at = Time(round * repeat.unwrap_or_default().0 + step.at.0);
                // What holds from the beginning is the topology's already.
                let rate = step.rate.filter(|_| !at.is_zero()).map(|r| LinkFault::Rate(each(directions, r)));
                let delay = step.delay.map(|d| LinkFault::Delay(each(directions, d)));
                self.steps.extend(rate.into_iter().chain(delay).map(|fault| (link, at, fault)));
            }
        }
        Ok(())
    }

    fn room(&self, more: u64) -> Result<(), SpecError> {
        if more.saturating_add(self.steps.len() as u64) <= MAX_STEPS as u64 {
            return Ok(());
        }
        Err(SpecError::new(
            "",
            format!("the schedules have more than {MAX_STEPS} steps until `stop`, which is the maximum"),
        ))
    }

    /// How a direction of a link varies from packet to packet.
    pub fn of(&self, link: usize, direction: usize) -> Variation {
        self.links.get(&link).map(|both| both[direction].clone()).unwrap_or_default()
    }

    /// All steps of schedules: link, time, and what changes.
    pub fn steps(&self) -> &[(usize, Time, LinkFault)] {
        &self.steps
    }

    /// Whether packets of a link are gathered into frames or repeated.
    pub fn has_frames(&self, link: usize) -> bool {
        self.links.get(&link).is_some_and(|both| both.iter().any(|direction| direction.framing.is_some()))
    }

    /// Whether a direction of a link has a trace in place of its rate.
    pub fn has_trace(&self, link: usize, direction: usize) -> bool {
        self.links.get(&link).is_some_and(|both| both[direction].opportunities.is_some())
    }
}

fn require_stop(stop: Option<Time>, key: &str) -> Result<Time, SpecError> {
    stop.ok_or_else(|| SpecError::new(key, "a repeated schedule needs an end: write `stop` at the top of the scenario"))
}

/// `value` for these directions of a link.
fn each<T: Copy>(directions: &[usize], value: T) -> [Option<T>; 2] {
    [0, 1].map(|d| directions.contains(&d).then_some(value))
}

/// One round of a trace as rates from times on: what an opportunity delivers, spread over the time
/// since the one before it.
fn rates(all: &Opportunities) -> Vec<(Time, Rate)> {
    let (mut out, mut from, mut count) = (Vec::new(), Time::ZERO, 0u64);
    for (i, at) in all.times().iter().enumerate() {
        count += 1;
        // What comes at the very beginning of a round is spread over the first gap of it.
        let last_of_several = all.times().get(i + 1).is_none_or(|next| next > at);
        if last_of_several && *at > from {
            out.push((from, Rate::from_bytes_in(Bytes(count * u64::from(OPPORTUNITY_BYTES)), *at - from)));
            (from, count) = (*at, 0);
        }
    }
    out
}

/// Adds what one table says of a direction to what others say.
fn merge(into: &mut Variation, from: &Variation) -> Result<(), SpecError> {
    fn one<T: Clone>(into: &mut Option<T>, from: &Option<T>, key: &str) -> Result<(), SpecError> {
        if into.is_some() && from.is_some() {
            return Err(SpecError::new(key, "another [[vary]] already sets this for the same direction of the link"));
        }
        if from.is_some() {
            into.clone_from(from);
        }
        Ok(())
    }
    one(&mut into.bursts, &from.bursts, "loss")?;
    one(&mut into.jitter, &from.jitter, "jitter")?;
    one(&mut into.ecn, &from.ecn, "ecn")?;
    one(&mut into.ack_thinning, &from.ack_thinning, "ack_thinning")?;
    one(&mut into.shaper, &from.shaper, "shaper")?;
    one(&mut into.opportunities, &from.opportunities, "trace")
}

impl VarySpec {
    fn variation(&self, files: Files<'_>) -> Result<Variation, SpecError> {
        let jitter = self.jitter.as_ref().map(|j| j.build().map_err(|e| e.under("jitter"))).transpose()?;
        let opportunities = self.trace.as_ref().map(|file| {
            let bytes = read::file(files, file, "trace")?;
            parse_trace(&bytes).map_err(|m| SpecError::new("trace", format!("{file}, {m}")))
        });
        Ok(Variation {
            bursts: self.loss.map(|l| l.build()),
            jitter,
            opportunities: opportunities.transpose()?.map(Arc::new),
            ecn: self.ecn.map(|ecn| EcnHazards { loss: ecn.loss.as_f64(), bleach: ecn.bleach.as_f64() }),
            ack_thinning: self.ack_thinning,
            shaper: None,
            framing: None,
        })
    }

    /// The frames of a link of `rate`.
    fn framing(&self, mtu: u32, rate: Rate) -> Result<Framing, SpecError> {
        let one = Frame::Access { most: Limit::Packets(1), access: Time::ZERO };
        let frame = self.aggregation.map_or(one, |frames| match (frames.max, frames.slot) {
            (_, Some(slot)) => Frame::Slot(slot),
            (max, None) => {
                Frame::Access { most: max.unwrap_or(Limit::Packets(1)), access: frames.access.unwrap_or_default() }
            }
        });
        if let Frame::Access { most, .. } = frame
            && !most.bound(rate).admits(Backlog::default(), mtu)
        {
            return Err(SpecError::new(
                "aggregation.max",
                format!("must hold a packet, which is {mtu} B; increase it"),
            ));
        }
        let arq = self.arq.map_or(Arq::NONE, |arq| Arq {
            attempts: arq.attempts,
            delay: arq.delay,
            reorder: arq.reorder,
            whole: arq.whole,
        });
        Ok(Framing { rates: vec![(Time::ZERO, rate)], mtu, frame, arq })
    }

    fn schedule(&self, files: Files<'_>) -> Result<Vec<StepSpec>, SpecError> {
        let Some(file) = &self.file else { return Ok(self.steps.clone()) };
        let bytes = read::file(files, file, "file")?;
        let wrong = |m: String| SpecError::new("file", format!("{file}, {m}"));
        let steps = parse_schedule(&bytes).map_err(wrong)?;
        check_steps(&steps, self.repeat).map_err(|e| match e.key.as_str() {
            "repeat" => e,
            _ => wrong(e.to_string()),
        })?;
        Ok(steps)
    }
}
