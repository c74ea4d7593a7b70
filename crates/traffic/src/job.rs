//! `[[job]]`: collective communication between hosts, with computation between iterations.

use std::sync::Arc;

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::seq::SliceRandom;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::after::NewAfter;
use crate::collectives::Expansion;
use crate::durations::{Duration, Durations};
use crate::file::read;
use crate::flow::{ArrivalPattern, Budget};
use crate::flows::FlowList;
use crate::generate::Context;
use crate::hosts::Host;
use crate::matrix::in_order;
use crate::stream::{Purpose, stream};
use crate::trace;

/// Hosts that exchange data in iterations, as the ranks of a distributed training job. A message is a flow; it starts
/// when the messages on which it depends have come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// What they do, unless a `trace` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["all-reduce"]))]
    pub collective: Option<Collective>,
    /// Trace in place of a collective, relative to the scenario: GOAL as text or binary (LogGOPSim, ATLAHS), or htsim's
    /// connections with triggers (`.cm`). A message is done when its receiver has it; operations of a rank wait only for what they
    /// require. An iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["training.goal"]))]
    pub trace: Option<String>,
    /// Hosts of the ranks, as in `[[workload]]`.
    #[schemars(extend("examples" = [["h*"]]))]
    pub hosts: Vec<String>,
    /// Number of ranks; default all hosts, or those of the `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [16]))]
    pub ranks: Option<u64>,
    /// Which host has which rank.
    #[serde(default)]
    pub placement: Placement,
    /// Size as nccl-tests': of the whole buffer that is reduced, gathered, scattered, or sent; of a pipeline, what a
    /// stage sends per micro-batch. Required without `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["100 MB"]))]
    pub size: Option<Bytes>,
    /// Of `all-to-all`: the k-th of the ranks, in an order drawn for each iteration, receives a share like 1/k^skew
    /// (all-to-all-v, as a mixture of experts has it); default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1.0]))]
    pub skew: Option<f64>,
    /// Of `pipeline`: micro-batches of an iteration; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [8]))]
    pub micro_batches: Option<u64>,
    /// How often; default 1.
    #[serde(default = "one")]
    #[schemars(extend("examples" = [100]))]
    pub iterations: u64,
    /// From a rank's last receipt to its next iteration, of a pipeline for each micro-batch, forward and backward;
    /// default none.
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
    /// Waits for so many bytes of each of these flows, in place of their ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1 MB"]))]
    pub after_bytes: Option<Bytes>,
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
    /// `reduce-scatter-halving`, then `all-gather-doubling` (Rabenseifner's algorithm).
    AllReduceHalving,
    /// Ring: N − 1 steps of `size`/N.
    AllGather,
    /// Ring: N − 1 steps of `size`/N.
    ReduceScatter,
    /// Recursive doubling: log2 N steps of `size`/N, 2 `size`/N, …, `size`/2 between ever farther ranks. N is a power
    /// of 2.
    AllGatherDoubling,
    /// Recursive halving: the same steps the other way round.
    ReduceScatterHalving,
    /// `size`/N to each other rank, all at once.
    AllToAll,
    /// Stages in order: micro-batches pass forward through all of them, then backward (GPipe); a stage computes one at a
    /// time.
    Pipeline,
}

/// Which host has which rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In the order of `hosts` (default): neighbours of a rank are in its rack, and racks of a pod follow each other.
    #[default]
    Packed,
    /// One host of each router in turn.
    Spread,
    /// At random.
    Random,
}

impl Collective {
    /// Steps of a ring, or of halving and doubling.
    pub(crate) fn steps(self, n: usize) -> usize {
        match self {
            Collective::AllReduce => 2 * (n - 1),
            Collective::AllReduceHalving => 2 * n.ilog2() as usize,
            Collective::AllGatherDoubling | Collective::ReduceScatterHalving => n.ilog2() as usize,
            _ => n - 1,
        }
    }

    const fn needs_power_of_two(self) -> bool {
        matches!(self, Self::AllReduceHalving | Self::AllGatherDoubling | Self::ReduceScatterHalving)
    }

    /// Flows of an iteration with so many micro-batches.
    fn flows(self, n: usize, micro_batches: usize) -> usize {
        match self {
            Collective::AllReduceTree => 2 * (n - 1),
            Collective::AllToAll => n * (n - 1),
            Collective::Pipeline => 2 * (n - 1) * micro_batches,
            _ => n * self.steps(n),
        }
    }

    /// What nccl-tests divides by the time for the bus bandwidth, as a share of `size` (its `doc/PERFORMANCE.md`). Ours
    /// for a pipeline: what passes between two stages.
    fn bus_share(self, n: usize, micro_batches: usize) -> f64 {
        let share = (n - 1) as f64 / n as f64;
        match self {
            Collective::AllReduce | Collective::AllReduceTree | Collective::AllReduceHalving => 2.0 * share,
            Collective::Pipeline => 2.0 * micro_batches as f64,
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
            Collective::AllReduceHalving => "all-reduce-halving",
            Collective::AllGatherDoubling => "all-gather-doubling",
            Collective::ReduceScatterHalving => "reduce-scatter-halving",
            Collective::AllToAll => "all-to-all",
            Collective::Pipeline => "pipeline",
        }
    }
}

/// Where the flows of a job are: iteration after iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFlows {
    /// Its group.
    pub group: Arc<str>,
    /// What it does; `None` for a trace.
    pub collective: Option<Collective>,
    /// How many ranks.
    pub hosts: usize,
    /// As given; of a trace, of all messages.
    pub size: Bytes,
    /// Its first flow.
    pub first: usize,
    /// Flows of an iteration.
    pub each: usize,
    /// How many iterations.
    pub iterations: usize,
    /// Bytes that make the bus bandwidth of an iteration; NaN for a trace, which has none.
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
        let collective = match (&self.trace, self.collective) {
            (Some(file), None) => return self.push_trace(file, index, cx, budget, out),
            (None, Some(collective)) => collective,
            (Some(_), Some(_)) => return Err(SpecError::new("trace", "says what ranks do; leave out `collective`")),
            (None, None) => return Err(SpecError::new("collective", "is missing; give it, or a `trace`")),
        };
        let size = self.size.ok_or_else(|| SpecError::new("size", "is missing; write how much, such as \"100 MB\""))?;
        let ranks = self.place(in_order(&self.hosts, "hosts", cx.hosts)?, self.ranks, index, cx)?;
        let n = ranks.len();
        self.check(n, collective, size)?;
        let micro_batches = self.micro_batches.unwrap_or(1) as usize;
        let each = collective.flows(n, micro_batches);
        budget.take((each as u64).saturating_mul(self.iterations), ArrivalPattern::Spaced, "iterations")?;
        let (group, terms, after) = self.terms(index, cx, out)?;
        let compute = Durations::new(self.compute_time.as_ref(), "compute_time")?;
        let streams = [Purpose::ComputeTimes, Purpose::Experts].map(|purpose| stream(cx.seed, purpose, index));
        let first = out.len();
        let what = (collective, size, self.micro_batches.unwrap_or(1) as usize);
        let mut expansion = Expansion::new(self, what, ranks, terms, compute, streams, out);
        expansion.wait_for(after);
        (1..=self.iterations).for_each(|iteration| expansion.iteration(iteration == self.iterations));
        out.add_job(JobFlows {
            group,
            collective: Some(collective),
            hosts: n,
            size,
            first,
            each,
            iterations: self.iterations as usize,
            bus_bytes: size.as_f64() * collective.bus_share(n, micro_batches),
        });
        Ok(())
    }

    /// Its group, the number of its flows' terms, and what it waits for.
    fn terms(
        &self,
        index: usize,
        cx: &Context<'_>,
        out: &mut FlowList,
    ) -> Result<(Arc<str>, u32, Option<u32>), SpecError> {
        let group: Arc<str> = self.group.clone().unwrap_or_else(|| format!("job{index}")).into();
        let terms = out.number(&group, cx.terms_of(self.scheme.as_deref(), self.rate)?);
        let after = NewAfter::of(&self.after, format!("job[{index}].after"));
        let after = NewAfter::bytes(after, self.after_bytes)?;
        let number = out.group(&group);
        let after = after.map(|after| out.add_after(after.by(number)));
        Ok((group, terms, after))
    }

    /// Appends the messages of a trace.
    fn push_trace(
        &self,
        file: &str,
        index: usize,
        cx: &Context<'_>,
        budget: &mut Budget,
        out: &mut FlowList,
    ) -> Result<(), SpecError> {
        let of_collectives = [
            ("size", self.size.is_some()),
            ("skew", self.skew.is_some()),
            ("micro_batches", self.micro_batches.is_some()),
            ("compute_time", self.compute_time.is_some()),
            ("iterations", self.iterations != 1),
        ];
        if let Some((key, _)) = of_collectives.into_iter().find(|(_, given)| *given) {
            return Err(SpecError::new(key, "applies to a `collective`; a trace says it itself: leave it out"));
        }
        let wrong = |message: String| SpecError::new("trace", format!("{file}: {message}"));
        let bytes = read(cx.files, file).map_err(|e| wrong(e.to_string()))?;
        let trace = trace::parse(&bytes).map_err(|e| wrong(format!("line {}: {}", e.line, e.message)))?;
        let n = trace.ranks;
        if let Some(ranks) = self.ranks.filter(|ranks| *ranks != n) {
            return Err(SpecError::new("ranks", format!("{ranks}; the trace has {n}: leave it out")));
        }
        let hosts = in_order(&self.hosts, "hosts", cx.hosts)?;
        if n > hosts.len() as u64 {
            let message = format!("{n} ranks on {} hosts; name more in `hosts`, or take a smaller trace", hosts.len());
            return Err(wrong(message));
        }
        let nodes = self.place(hosts, Some(n), index, cx)?;
        budget.take(trace.messages() as u64, ArrivalPattern::Spaced, "trace")?;
        let (group, terms, after) = self.terms(index, cx, out)?;
        let first = out.len();
        let mut expansion =
            trace::Expansion { trace: &trace, nodes: &nodes, terms, start: self.start, after, out: &mut *out };
        expansion.flows().map_err(|e| wrong(format!("line {}: {}", e.line, e.message)))?;
        let each = out.len() - first;
        if each == 0 {
            return Err(wrong("no message from one rank to another; nothing would be sent".to_owned()));
        }
        let size = Bytes((first..out.len()).filter_map(|i| out.get(i).size).map(|size| size.0).sum());
        let hosts = nodes.len();
        out.add_job(JobFlows { group, collective: None, hosts, size, first, each, iterations: 1, bus_bytes: f64::NAN });
        Ok(())
    }

    /// The nodes of the ranks, in order.
    fn place(
        &self,
        mut hosts: Vec<&Host>,
        ranks: Option<u64>,
        index: usize,
        cx: &Context<'_>,
    ) -> Result<Vec<u32>, SpecError> {
        let ranks = ranks.unwrap_or(hosts.len() as u64);
        if ranks > hosts.len() as u64 {
            let message = format!("{ranks} ranks on {} hosts; reduce it, or name more in `hosts`", hosts.len());
            return Err(SpecError::new("ranks", message));
        }
        match self.placement {
            Placement::Packed => {}
            Placement::Spread => {
                let mut taken = FxHashMap::<Option<&str>, usize>::default();
                let mut round = |host: &Host| {
                    let round = taken.entry(cx.hosts.place_of(host)).or_default();
                    *round += 1;
                    *round
                };
                let mut rounds: Vec<_> = hosts.iter().map(|host| (round(host), *host)).collect();
                rounds.sort_by_key(|(round, _)| *round);
                hosts = rounds.into_iter().map(|(_, host)| host).collect();
            }
            Placement::Random => hosts.shuffle(&mut stream(cx.seed, Purpose::Placement, index)),
        }
        Ok(hosts.iter().take(ranks as usize).map(|host| host.node).collect())
    }

    fn check(&self, n: usize, collective: Collective, size: Bytes) -> Result<(), SpecError> {
        if n < 2 {
            let key = if self.ranks.is_some() { "ranks" } else { "hosts" };
            return Err(SpecError::new(key, format!("{n} host; a job needs at least two")));
        }
        if collective.needs_power_of_two() && !n.is_power_of_two() {
            let message = format!("{n} ranks; this collective needs a power of two, such as {}", 1 << n.ilog2());
            return Err(SpecError::new("ranks", message));
        }
        if self.iterations == 0 {
            return Err(SpecError::new("iterations", "at least 1"));
        }
        let of_others = [
            ("skew", self.skew.is_some(), Collective::AllToAll),
            ("micro_batches", self.micro_batches.is_some(), Collective::Pipeline),
        ];
        if let Some((key, _, of)) = of_others.into_iter().find(|(_, given, of)| *given && *of != collective) {
            return Err(SpecError::new(key, format!("applies to `{}`; leave it out", of.name())));
        }
        if self.micro_batches == Some(0) {
            return Err(SpecError::new("micro_batches", "at least 1"));
        }
        if self.skew.is_some_and(|skew| !(0.0..=10.0).contains(&skew)) {
            return Err(SpecError::new("skew", "a number from 0 to 10"));
        }
        let whole = matches!(collective, Collective::AllReduceTree | Collective::Pipeline);
        if size.0 < if whole { 1 } else { n as u64 } {
            return Err(SpecError::new("size", format!("must be at least 1 B for each of {n} hosts")));
        }
        Ok(())
    }
}
