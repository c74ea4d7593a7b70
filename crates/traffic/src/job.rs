//! `[[job]]`: collective communication between hosts, with computation between iterations.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::{After, Step, WaitFor};
use crate::durations::{Duration, Durations};
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::{Counts, FlowList, NewFlow};
use crate::generate::Context;
use crate::matrix::in_order;
use crate::stream::{Purpose, Stream, stream};

/// Hosts that exchange data in iterations, as the ranks of a distributed training job. A message is a flow; it starts
/// when the messages on which it depends have come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// What they do.
    pub collective: Collective,
    /// Ranks, in order.
    #[schemars(extend("examples" = [["h*"]]))]
    pub hosts: Vec<String>,
    /// Size as nccl-tests': of the whole buffer that is reduced, gathered, scattered, or sent.
    pub size: Bytes,
    /// How often; default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [100]))]
    pub iterations: u64,
    /// From a rank's last receipt to its next iteration; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_time: Option<Duration>,
    /// Group in results; default "job" and its number, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["training"]))]
    pub group: Option<String>,
    /// Scheme, over the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dcqcn"]))]
    pub scheme: Option<String>,
    /// Each flow's, as in `[[flow]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// First iteration; default at once.
    #[serde(default)]
    pub start: Time,
    /// As in `[[flow]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["load"]]))]
    pub after: Vec<String>,
}

fn one() -> u64 {
    1
}

/// Collectives, of N ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collective {
    /// Ring: reduce-scatter, then all-gather.
    AllReduce,
    /// Binomial tree: reduced to the first rank, then broadcast; messages of `size`.
    AllReduceTree,
    /// Ring: N − 1 steps of `size`/N.
    AllGather,
    /// Ring: N − 1 steps of `size`/N.
    ReduceScatter,
    /// `size`/N to each other rank, all at once.
    AllToAll,
}

impl Collective {
    /// Steps of a ring.
    fn steps(self, n: usize) -> usize {
        match self {
            Collective::AllReduce => 2 * (n - 1),
            _ => n - 1,
        }
    }

    /// Flows of an iteration.
    fn flows(self, n: usize) -> usize {
        match self {
            Collective::AllReduceTree => 2 * (n - 1),
            Collective::AllToAll => n * (n - 1),
            _ => n * self.steps(n),
        }
    }

    /// What nccl-tests divides by the time for the bus bandwidth, as a share of `size` (its `doc/PERFORMANCE.md`).
    fn bus_share(self, n: usize) -> f64 {
        let share = (n - 1) as f64 / n as f64;
        match self {
            Collective::AllReduce | Collective::AllReduceTree => 2.0 * share,
            _ => share,
        }
    }

    /// As scenarios spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::AllReduceTree => "all-reduce-tree",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::AllToAll => "all-to-all",
        }
    }
}

/// Where the flows of a job are: iteration after iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFlows {
    /// Its group.
    pub group: Arc<str>,
    /// What it does.
    pub collective: Collective,
    /// How many ranks.
    pub hosts: usize,
    /// As given.
    pub size: Bytes,
    /// Its first flow.
    pub first: usize,
    /// Flows of an iteration.
    pub each: usize,
    /// How many iterations.
    pub iterations: usize,
    /// Bytes that make the bus bandwidth of an iteration.
    pub bus_bytes: f64,
}

impl JobFlows {
    /// The flows of iteration `k`.
    pub fn flows(&self, k: usize) -> std::ops::Range<usize> {
        let first = self.first + self.each * k;
        first..first + self.each
    }
}

impl JobSpec {
    /// Appends the flows of entry `index`; keys of errors are relative to the entry.
    pub(crate) fn push(
        &self,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        let ranks: Vec<u32> = in_order(&self.hosts, "hosts", cx.hosts)?.iter().map(|host| host.node).collect();
        let n = ranks.len();
        self.check(n)?;
        let each = self.collective.flows(n);
        budget.take((each as u64).saturating_mul(self.iterations), ArrivalPattern::Spaced, "iterations")?;
        let group: Arc<str> = self.group.clone().unwrap_or_else(|| format!("job{index}")).into();
        let terms = out.number(cx.terms_of(group.clone(), self.scheme.as_deref(), self.rate)?);
        let after = After::of(&self.after, format!("job[{index}].after"), None);
        let after = after.map(|after| out.after(after.by(&group)));
        let compute = Durations::new(self.compute_time.as_ref(), "compute_time")?;
        let rng = stream(cx.seed, Purpose::ComputeTimes, index);
        let first = out.len();
        let begins = ranks.iter().map(|_| Begin { step: None, start: self.start }).collect();
        let mut expansion = Expansion { spec: self, ranks, terms, compute, rng, begins, out };
        expansion.wait_for(after);
        (1..=self.iterations).for_each(|iteration| expansion.iteration(iteration == self.iterations));
        out.add_job(JobFlows {
            group,
            collective: self.collective,
            hosts: n,
            size: self.size,
            first,
            each,
            iterations: self.iterations as usize,
            bus_bytes: self.size.as_f64() * self.collective.bus_share(n),
        });
        Ok(())
    }

    fn check(&self, n: usize) -> Result<(), SpecError> {
        if n < 2 {
            return Err(SpecError::new("hosts", format!("{n} host; a job needs at least two")));
        }
        if self.iterations == 0 {
            return Err(SpecError::new("iterations", "at least 1"));
        }
        let least = if self.collective == Collective::AllReduceTree { 1 } else { n as u64 };
        if self.size.0 < least {
            return Err(SpecError::new("size", format!("must be at least 1 B for each of {n} hosts")));
        }
        Ok(())
    }
}

/// When a rank begins an iteration: so long after a step, or after the run's beginning.
#[derive(Clone, Copy)]
struct Begin {
    step: Option<u32>,
    start: Time,
}

/// A job on its way to flows.
struct Expansion<'a> {
    spec: &'a JobSpec,
    ranks: Vec<u32>,
    terms: u32,
    compute: Durations,
    rng: Stream,
    /// When each rank begins the iteration at hand.
    begins: Vec<Begin>,
    out: &'a mut FlowList,
}

impl Expansion<'_> {
    fn step(&mut self, rank: usize, ends: usize, then: Option<(u32, Time)>) -> u32 {
        self.out.step(Step { node: self.ranks[rank], ends: ends as u32, after: None, then })
    }

    /// Makes all ranks wait for `after`.
    fn wait_for(&mut self, after: Option<u32>) {
        for (begin, node) in self.begins.iter_mut().zip(&self.ranks).filter(|_| after.is_some()) {
            begin.step = Some(self.out.step(Step { node: *node, ends: 0, after, then: None }));
        }
    }

    fn push(&mut self, (from, to): (usize, usize), size: Bytes, begin: Begin, counts: Counts) {
        let (src, dst, terms) = (self.ranks[from], self.ranks[to], self.terms);
        let wait = begin.step.map(WaitFor::Step);
        let flow = NewFlow { src, dst, size: Some(size), start: begin.start, stop: None, wait, terms };
        self.out.push_step(flow, counts);
    }

    fn iteration(&mut self, last: bool) {
        // What ends an iteration at a rank: that so many messages have come.
        let n = self.ranks.len();
        let ends: Vec<usize> = match self.spec.collective {
            Collective::AllToAll => vec![n - 1; n],
            Collective::AllReduceTree => vec![1; n],
            // The last two: those before them have come with these (see `ring`).
            ring => vec![ring.steps(n).min(2); n],
        };
        let next: Option<Vec<u32>> =
            (!last).then(|| ends.into_iter().enumerate().map(|(rank, ends)| self.step(rank, ends, None)).collect());
        let end = |rank: usize| next.as_ref().map(|next| next[rank]);
        match self.spec.collective {
            Collective::AllToAll => self.all_to_all(&end),
            Collective::AllReduceTree => self.tree(&end),
            ring => self.ring(ring.steps(n), &end),
        }
        if let Some(next) = next {
            let begin = |step| Begin { step: Some(step), start: self.compute.sample(&mut self.rng) };
            self.begins = next.into_iter().map(begin).collect();
        }
    }

    /// The part of `size` with this number, of as many as there are ranks.
    fn share(&self, number: usize) -> Bytes {
        let (n, size) = (self.ranks.len() as u64, self.spec.size.0);
        Bytes(size / n + u64::from((number as u64) < size % n))
    }

    /// Step s of a rank waits for what comes in step s − 1, and for its own message of step s − 2: two messages at most
    /// are on the way from a rank, as with double buffering. So what comes last but one ends with the last two.
    fn ring(&mut self, steps: usize, end: &dyn Fn(usize) -> Option<u32>) {
        let n = self.ranks.len();
        let begins = self.begins.clone();
        // Of step 1 on: which of a rank.
        let mut waits: Vec<Vec<u32>> = vec![Vec::with_capacity(steps); n];
        for (rank, begin) in begins.iter().enumerate() {
            for step in 1..steps {
                // A rank that has not begun has nothing to add to what comes: step 1 waits for that, too.
                let ends = if step == 1 { 1 + usize::from(begin.step.is_some()) } else { 2 };
                let wait = self.step(rank, ends, None);
                waits[rank].push(wait);
            }
            if let (Some(begun), Some(second)) = (begin.step, waits[rank].first()) {
                self.out.then(begun, *second, begin.start);
            }
        }
        let of_step = |rank: usize, step: usize| waits[rank].get(step - 1).copied();
        for step in 0..steps {
            for (rank, begin) in begins.iter().enumerate() {
                let next = (rank + 1) % n;
                let come = of_step(next, step + 1);
                let other = if step + 2 < steps { of_step(rank, step + 2) } else { end(next) };
                let begin = match step {
                    0 => *begin,
                    _ => Begin { step: of_step(rank, step), start: Time::ZERO },
                };
                // The chunk that a rank has reduced, or has gathered, last.
                let chunk = (rank + n - step % n) % n;
                self.push((rank, next), self.share(chunk), begin, Counts([come, other]));
            }
        }
    }

    fn all_to_all(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let n = self.ranks.len();
        for (from, begin) in self.begins.clone().into_iter().enumerate() {
            // From the next rank on, so that not all begin with the same receiver.
            for to in (1..n).map(|apart| (from + apart) % n) {
                self.push((from, to), self.share(to), begin, Counts::one(end(to)));
            }
        }
    }

    /// A binomial tree: the parent of a rank is the rank without its lowest bit. A rank sends up when all children have,
    /// and down to one child after the other, for they share its link.
    fn tree(&mut self, end: &dyn Fn(usize) -> Option<u32>) {
        let (n, size) = (self.ranks.len(), self.spec.size);
        let children = |rank: usize| {
            let bits = if rank == 0 { usize::BITS } else { rank.trailing_zeros() };
            (0..bits.min(usize::BITS - 1)).map(move |bit| rank | 1 << bit).take_while(move |child| *child < n)
        };
        let parent = |rank: usize| rank & (rank - 1);
        let begins = self.begins.clone();
        // Of ranks with children: when all of them have sent up, and when what comes down has come.
        let (mut up, mut down) = (vec![None; n], vec![None; n]);
        for (rank, begin) in begins.iter().enumerate() {
            let own = children(rank).count();
            if own == 0 {
                continue;
            }
            let over = end(rank).map(|end| (end, Time::ZERO));
            let ups = own + usize::from(begin.step.is_some());
            up[rank] = Some(self.step(rank, ups, if rank == 0 { over } else { None }));
            down[rank] = if rank == 0 { up[0] } else { Some(self.step(rank, 1, over)) };
            if let (Some(begun), Some(up)) = (begin.step, up[rank]) {
                self.out.then(begun, up, begin.start);
            }
        }
        for rank in (1..n).rev() {
            let begin = up[rank].map_or(begins[rank], |step| Begin { step: Some(step), start: Time::ZERO });
            self.push((rank, parent(rank)), size, begin, Counts::one(up[parent(rank)]));
        }
        for rank in 0..n {
            let mut step = down[rank];
            let mut left = children(rank).count();
            for child in children(rank).collect::<Vec<_>>().into_iter().rev() {
                left -= 1;
                let next = (left > 0).then(|| self.step(rank, 1, None));
                let come = down[child].or_else(|| end(child));
                self.push((rank, child), size, Begin { step, start: Time::ZERO }, Counts([come, next]));
                step = next;
            }
        }
    }
}
