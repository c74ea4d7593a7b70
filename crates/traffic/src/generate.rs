//! From specifications to flows.

use crate::after::{NewAfter, WaitFor};
use crate::arrivals::{ArrivalSpec, Intensity};
use crate::client::ClientSpec;
use crate::explicit::ExplicitFlow;
use crate::flow::{ArrivalPattern, Budget, FlowMemoryBudget, Terms, weight};
use crate::flows::{FlowList, NewFlow};
use crate::hosts::{Host, HostTable, LinkRates};
use crate::job::JobSpec;
use crate::list::{ListReader, ListSpec, ListedFlow};
use crate::matrix::{Matrix, MatrixSpec, members};
use crate::objects::Objects;
use crate::sizes::SizeSampler;
use crate::stream::{Purpose, Seed, Stream, stream};
use crate::workload::WorkloadSpec;
use midpath_core::files::Files;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use rand::RngExt;
use rand_distr::{Distribution, Exp, Pareto};
use std::sync::Arc;

/// What specifications refer to.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The hosts of the topology.
    pub hosts: &'a HostTable,
    /// Rates of its links, for loads of a link.
    pub links: &'a dyn LinkRates,
    /// Directory that file names are relative to: the scenario's.
    pub files: Files<'a>,
    /// Seed of the run.
    pub seed: &'a Seed,
    /// When the run stops, if that is known: no generated flow starts then or later.
    pub horizon: Option<Time>,
    /// For how many flows there is room.
    pub room: FlowMemoryBudget,
    /// The scheme of flows that have a rate of their own and name no scheme.
    pub constant_rate: &'a str,
    /// Whether flows of a scheme read a key of theirs; if not, what is wrong with it.
    pub reads: &'a dyn Fn(&str, &str) -> Result<(), String>,
}

impl Context<'_> {
    /// The scheme that a flow's own entry gives it.
    pub(crate) fn own_scheme<'s>(&'s self, named: Option<&'s str>, has_rate: bool) -> Option<&'s str> {
        named.or(has_rate.then_some(self.constant_rate))
    }

    /// The terms of flows of a client or a job.
    pub(crate) fn terms_of(&self, scheme: Option<&str>, rate: Option<Rate>) -> Result<Terms, SpecError> {
        if rate == Some(Rate::ZERO) {
            return Err(SpecError::new("rate", "must be above zero; leave `rate` out for flows of a scheme"));
        }
        self.check_read(self.own_scheme(scheme, rate.is_some()), [("rate", rate.is_some())])?;
        Ok(Terms { scheme: scheme.map(Arc::from), rate, ..Terms::plain() })
    }

    /// Refuses the first key that is given and that flows of `scheme` do not read. Those of the run's scheme may have
    /// any: another run of the scenario has a scheme that reads it.
    pub(crate) fn check_read<'k>(
        &self,
        scheme: Option<&str>,
        keys: impl IntoIterator<Item = (&'k str, bool)>,
    ) -> Result<(), SpecError> {
        let Some(scheme) = scheme else { return Ok(()) };
        let mut given = keys.into_iter().filter(|(_, given)| *given);
        given.try_for_each(|(key, _)| (self.reads)(scheme, key).map_err(|m| SpecError::new(key, m)))
    }
}

/// The traffic of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Specs<'a> {
    /// Its single flows.
    pub flow: &'a [ExplicitFlow],
    /// Its workloads.
    pub workload: &'a [WorkloadSpec],
    /// Its clients.
    pub client: &'a [ClientSpec],
    /// Its jobs.
    pub job: &'a [JobSpec],
}

/// All flows of a run, in order of their start. Flows that start together keep the order in which
/// they are specified: explicit flows first, then workload by workload, each in the order in which
/// it draws (or lists) them. Then those of clients and of jobs, in the order of their requests and iterations.
///
/// Keys of errors start with `flow[2]` or `workload[0]`.
pub fn generate(specs: &Specs<'_>, cx: &Context<'_>) -> Result<FlowList, SpecError> {
    let (mut flows, mut budget) = (FlowList::default(), Budget::new(cx.room));
    for (i, flow) in specs.flow.iter().enumerate() {
        flow.push(i, cx, &mut budget, &mut flows).map_err(|e| e.under(&format!("flow[{i}]")))?;
    }
    for (i, workload) in specs.workload.iter().enumerate() {
        let mut run = Run::new(workload, i, cx, &mut budget, &mut flows);
        run.push().map_err(|e| e.under(&format!("workload[{i}]")))?;
    }
    flows.sort();
    for (i, client) in specs.client.iter().enumerate() {
        client.push(i, cx, &mut budget, &mut flows).map_err(|e| e.under(&format!("client[{i}]")))?;
    }
    for (i, job) in specs.job.iter().enumerate() {
        job.push(i, cx, &mut budget, &mut flows).map_err(|e| e.under(&format!("job[{i}]")))?;
    }
    flows.finish();
    Ok(flows)
}

/// Arrivals to be expected, below which most likely none comes.
const RARE: f64 = 0.05;

/// One workload on its way to flows. Keys of errors are relative to it.
struct Run<'a> {
    spec: &'a WorkloadSpec,
    index: usize,
    cx: &'a Context<'a>,
    budget: &'a mut Budget,
    out: &'a mut FlowList,
    group: Arc<str>,
    /// What is said of all flows.
    terms: Terms,
    /// Flows still allowed by `flows`.
    left: u64,
    /// First time at which no flow starts any more.
    end: Time,
    objects: Option<Objects>,
    pattern: ArrivalPattern,
    /// What all flows wait for.
    wait: Option<WaitFor>,
}

impl<'a> Run<'a> {
    fn new(
        spec: &'a WorkloadSpec,
        index: usize,
        cx: &'a Context<'a>,
        budget: &'a mut Budget,
        out: &'a mut FlowList,
    ) -> Run<'a> {
        let terms = Terms {
            scheme: spec.scheme.as_deref().map(Arc::from),
            budget: spec.budget.as_deref().map(Arc::from),
            ..Terms::plain()
        };
        let group = spec.group.clone().unwrap_or_else(|| format!("workload{index}")).into();
        let left = spec.flows.unwrap_or(u64::MAX);
        Run {
            spec,
            index,
            cx,
            budget,
            out,
            group,
            terms,
            left,
            end: Time::MAX,
            objects: None,
            pattern: ArrivalPattern::Spaced,
            wait: None,
        }
    }

    fn push(&mut self) -> Result<(), SpecError> {
        self.end = self.end()?;
        self.terms.weight = weight(self.spec.weight)?;
        let has_rate = matches!(self.spec.arrivals, Some(ArrivalSpec::Ppbp { .. }));
        self.check_read(self.cx.own_scheme(self.spec.scheme.as_deref(), has_rate))?;
        self.objects = self.objects()?;
        let after = NewAfter::of(&self.spec.after, format!("workload[{}].after", self.index));
        let after = NewAfter::bytes(after, self.spec.after_bytes)?;
        self.wait = after.map(|after| WaitFor::Groups(self.out.add_after(after)));
        match (&self.spec.arrivals, &self.spec.list) {
            (Some(arrivals), None) => self.arrive(arrivals),
            (None, Some(list)) => self.list(list),
            _ => Err(SpecError::new("arrivals", "give exactly one of `arrivals` and `list`")),
        }
    }

    /// Whether flows of this scheme read what the workload says of them.
    fn check_read(&self, scheme: Option<&str>) -> Result<(), SpecError> {
        let keys = [("weight", self.spec.weight.is_some()), ("budget", self.spec.budget.is_some())];
        self.cx.check_read(scheme, keys)
    }

    fn objects(&self) -> Result<Option<Objects>, SpecError> {
        let Some(spec) = &self.spec.objects else { return Ok(None) };
        if self.spec.sizes.is_none() {
            return Err(SpecError::new("objects", "applies to `sizes`, which these arrivals do not take"));
        }
        let objects = Objects::new(spec, self.group.clone(), self.stream(Purpose::Objects));
        objects.map(Some).map_err(|e| e.under("objects"))
    }

    fn end(&self) -> Result<Time, SpecError> {
        let (key, end) = match (self.spec.until, self.spec.duration) {
            (Some(_), Some(_)) => return Err(SpecError::new("duration", "give only one of `until` and `duration`")),
            (Some(_), None) if !self.spec.after.is_empty() => {
                let message = "is a time of the run, and `after` leaves the start open; give a `duration` in its place";
                return Err(SpecError::new("until", message));
            }
            (Some(until), None) => ("until", until),
            (None, Some(duration)) => ("duration", self.spec.start.saturating_add(duration)),
            (None, None) => return Ok(self.cx.horizon.filter(|_| self.spec.after.is_empty()).unwrap_or(Time::MAX)),
        };
        if end <= self.spec.start {
            return Err(SpecError::new(key, "ends before the workload starts"));
        }
        Ok(end.min(self.cx.horizon.unwrap_or(Time::MAX)))
    }

    fn stream(&self, purpose: Purpose) -> Stream {
        stream(self.cx.seed, purpose, self.index)
    }

    fn arrive(&mut self, arrivals: &ArrivalSpec) -> Result<(), SpecError> {
        if self.spec.flows == Some(0) {
            return Err(SpecError::new("flows", "at least 1"));
        }
        let hosts = members(self.spec.hosts.as_deref(), self.cx.hosts)?;
        let spec = self.spec.matrix.clone().unwrap_or_default();
        if matches!(spec, MatrixSpec::File { .. }) && self.spec.hosts.is_some() {
            return Err(SpecError::new("hosts", "a matrix from a file names its hosts itself; leave this out"));
        }
        let matrix = spec.draw(hosts, self.cx.hosts, self.cx.files, &mut self.stream(Purpose::Matrix));
        let matrix = matrix.map_err(|e| e.under("matrix"))?;
        if let Some(note) = matrix.note() {
            self.out.note(format!("workload[{}].matrix: {note}", self.index));
        }
        match arrivals {
            ArrivalSpec::Poisson { rate_per_s, load, load_of, rounds } => {
                let rate = Intensity { rate_per_s: *rate_per_s, load: *load, load_of: load_of.as_deref() };
                self.poisson(rate, *rounds, &matrix)
            }
            ArrivalSpec::Ppbp { rate_per_s, load, load_of, hurst, mean_burst, burst_rate } => {
                let rate = Intensity { rate_per_s: *rate_per_s, load: *load, load_of: load_of.as_deref() };
                let bursts = Bursts::new(*hurst, *mean_burst, *burst_rate).map_err(|e| e.under("arrivals"))?;
                self.ppbp(rate, &bursts, &matrix)
            }
            ArrivalSpec::Periodic { interval, jitter } => self.periodic(*interval, *jitter, &matrix),
            ArrivalSpec::Once { jitter } => self.once(*jitter, &matrix),
        }
    }

    fn sizes(&self) -> Result<SizeSampler, SpecError> {
        let example = "required with these arrivals: { kind = \"fixed\", size = \"1 MB\" } or another distribution";
        let sizes = self.spec.sizes.as_ref().ok_or_else(|| SpecError::new("sizes", example))?;
        sizes.sampler(self.cx.files).map_err(|e| e.under("sizes"))
    }

    fn poisson(&mut self, rate: Intensity<'_>, rounds: bool, matrix: &Matrix<'_>) -> Result<(), SpecError> {
        let sizes = self.sizes()?;
        let per_arrival = if rounds { round_len(matrix)? } else { 1 };
        let bytes = sizes.mean() * per_arrival as f64;
        let per_s = rate.per_s(bytes, matrix, self.cx.links).map_err(|e| e.under("arrivals"))?;
        self.check_not_rare(per_s, matrix)?;
        let (mut size_rng, mut pair_rng) = (self.stream(Purpose::Sizes), self.stream(Purpose::Pairs));
        self.arrivals(per_s, per_arrival, |run, at| {
            for k in 0..per_arrival {
                let pair = if rounds { matrix.round_pair(k) } else { matrix.pair(&mut pair_rng) };
                run.start(pair, sizes.sample(&mut size_rng), at, None)?;
            }
            Ok(())
        })
    }

    fn ppbp(&mut self, rate: Intensity<'_>, bursts: &Bursts, matrix: &Matrix<'_>) -> Result<(), SpecError> {
        if self.spec.sizes.is_some() {
            return Err(SpecError::new(
                "sizes",
                "PPBP arrivals have their own sizes; leave `sizes` out, or use \
                `poisson`",
            ));
        }
        let scheme = self.spec.scheme.as_deref();
        self.cx.check_read(scheme, [("rate", true)]).map_err(|e| SpecError::new("arrivals.burst_rate", e.message))?;
        let per_s = rate.per_s(bursts.mean_bytes(), matrix, self.cx.links).map_err(|e| e.under("arrivals"))?;
        self.check_not_rare(per_s, matrix)?;
        let (mut size_rng, mut pair_rng) = (self.stream(Purpose::Sizes), self.stream(Purpose::Pairs));
        self.arrivals(per_s, 1, |run, at| {
            run.start(matrix.pair(&mut pair_rng), bursts.sample(&mut size_rng), at, Some(bursts.rate))
        })
    }

    /// Calls `arrival` at the times of a Poisson process until the workload ends.
    fn arrivals(
        &mut self,
        per_s: f64,
        flows_each: u64,
        mut arrival: impl FnMut(&mut Self, Time) -> Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        self.check_count(per_s * flows_each as f64)?;
        let gap = Exp::new(per_s).map_err(|e| SpecError::new("arrivals", e.to_string()))?;
        let mut rng = self.stream(Purpose::Arrivals);
        let mut at = self.spec.start;
        loop {
            at = at.saturating_add(Time::from_secs_f64(gap.sample(&mut rng)));
            if at >= self.end || self.left == 0 {
                return self.reached_clock_end(at);
            }
            arrival(self, at)?;
        }
    }

    /// Refuses a process that has no end, or that comes to too many flows, before drawing any.
    fn check_count(&self, flows_per_s: f64) -> Result<(), SpecError> {
        let seconds = self.end.saturating_sub(self.spec.start).as_secs_f64();
        let expected = (flows_per_s * seconds).min(self.left as f64);
        if self.end == Time::MAX && self.left == u64::MAX {
            return Err(SpecError::new("flows", "these arrivals have no end; give `flows`, `duration` or `until`"));
        }
        let key = if self.spec.flows.is_some() { "flows" } else { "arrivals" };
        self.cx.room.admit(expected as u64, ArrivalPattern::Spaced, || format!("about {expected:.3e}"), key)
    }

    /// Refuses a process that most likely brings nothing: a rate in another unit than was meant.
    fn check_not_rare(&self, per_s: f64, matrix: &Matrix<'_>) -> Result<(), SpecError> {
        let span = self.end.saturating_sub(self.spec.start);
        let expected = per_s * span.as_secs_f64();
        if self.end == Time::MAX || expected >= RARE {
            return Ok(());
        }
        let of_matrix = matrix.total_bps().map(|bps| format!("the matrix adds up to {}: ", Rate(bps as u64)));
        let hint = of_matrix.as_ref().map_or("", |_| "; are its numbers Mbps?");
        let message =
            format!("{}{expected:.1e} arrivals are expected in {span}{hint}", of_matrix.as_deref().unwrap_or(""));
        Err(SpecError::new("arrivals", message))
    }

    /// A clock that ran out before the wanted number of flows is not a workload that was asked for.
    fn reached_clock_end(&self, at: Time) -> Result<(), SpecError> {
        if at == Time::MAX && self.end == Time::MAX {
            return Err(SpecError::new(
                "arrivals",
                "too rare: the requested flows take longer than the clock's 213 days",
            ));
        }
        Ok(())
    }

    fn periodic(&mut self, interval: Time, jitter: Time, matrix: &Matrix<'_>) -> Result<(), SpecError> {
        if interval.is_zero() {
            return Err(SpecError::new("arrivals.interval", "must be above zero"));
        }
        let sizes = self.sizes()?;
        let each = round_len(matrix)?;
        self.check_count(each as f64 / interval.as_secs_f64())?;
        let mut streams = (self.stream(Purpose::Arrivals), self.stream(Purpose::Sizes));
        let mut at = self.spec.start;
        while at < self.end && self.left > 0 {
            self.round(matrix, at, jitter, &sizes, &mut streams)?;
            at = at.saturating_add(interval);
        }
        self.reached_clock_end(at)
    }

    fn once(&mut self, jitter: Time, matrix: &Matrix<'_>) -> Result<(), SpecError> {
        let sizes = self.sizes()?;
        let mut streams = (self.stream(Purpose::Arrivals), self.stream(Purpose::Sizes));
        self.pattern = ArrivalPattern::Simultaneous;
        self.round(matrix, self.spec.start, jitter, &sizes, &mut streams)
    }

    /// Starts a flow on every pair, at `at` and up to `jitter` later.
    fn round(
        &mut self,
        matrix: &Matrix<'_>,
        at: Time,
        jitter: Time,
        sizes: &SizeSampler,
        (arrivals, size_rng): &mut (Stream, Stream),
    ) -> Result<(), SpecError> {
        let each = round_len(matrix)?;
        self.cx.room.admit(each.min(self.left), ArrivalPattern::Simultaneous, || each.to_string(), "matrix")?;
        for k in 0..each {
            let later = if jitter.is_zero() { 0 } else { arrivals.random_range(0..=jitter.0) };
            self.start(matrix.round_pair(k), sizes.sample(size_rng), at.saturating_add(Time(later)), None)?;
        }
        Ok(())
    }

    /// One flow, unless the workload has all its flows or is over by then.
    fn start(&mut self, pair: (&Host, &Host), size: Bytes, at: Time, rate: Option<Rate>) -> Result<(), SpecError> {
        let (src, dst) = (pair.0.node, pair.1.node);
        let (object, size) = match &mut self.objects {
            Some(objects) => {
                let (object, size) = objects.draw(src, size);
                (Some(object), size)
            }
            None => (None, size),
        };
        let terms = self.out.number(&self.group, Terms { rate, object, ..self.terms.clone() });
        self.add(NewFlow { src, dst, size: Some(size), start: at, stop: None, wait: self.wait, terms })
    }

    fn add(&mut self, flow: NewFlow) -> Result<(), SpecError> {
        if self.left > 0 && flow.start < self.end {
            self.left -= 1;
            self.budget.take(1, self.pattern, "flows")?;
            self.out.push(flow);
        }
        Ok(())
    }

    fn list(&mut self, list: &ListSpec) -> Result<(), SpecError> {
        let spec = self.spec;
        let unused =
            [("sizes", spec.sizes.is_some()), ("matrix", spec.matrix.is_some()), ("hosts", spec.hosts.is_some())];
        if let Some((key, _)) = unused.into_iter().find(|(_, given)| *given) {
            return Err(SpecError::new(key, "a `list` defines this; leave it out"));
        }
        let at_file = |e: &dyn std::fmt::Display| SpecError::new("list.file", format!("{}: {e}", list.file));
        let open = || crate::file::open(self.cx.files, &list.file);
        let mut reader = ListReader::new(list.format(&open), &open).map_err(|e| at_file(&e))?;
        let mut before: Option<(Time, u64)> = None;
        let mut in_order = true;
        while let Some(listed) = reader.next().map_err(|e| at_file(&e))? {
            let flow = self
                .listed(&listed, reader.counts_hosts(), &list.file)
                .map_err(|m| at_file(&format!("line {}: {m}", listed.line)))?;
            if let Some((start, line)) =
                before.filter(|(start, _)| in_order && flow.wait.is_none() && flow.start < *start)
            {
                in_order = false;
                self.out.note(format!(
                    "workload[{}].list: {}: line {} starts at {}, before line {line} at {start}: the list is \
                        not sorted by start, and flows are numbered in that order, not by line",
                    self.index, list.file, listed.line, flow.start
                ));
            }
            if flow.wait.is_none() || before.is_none() {
                before = Some((flow.start, listed.line));
            }
            self.add(flow)?;
        }
        match before {
            None => Err(at_file(&"lists no flow: it has only a first line")),
            Some(_) => Ok(()),
        }
    }

    /// The flow of a line; `counted` where its hosts are numbers in the network's order.
    fn listed(&mut self, listed: &ListedFlow, counted: bool, file: &str) -> Result<NewFlow, String> {
        let hosts = self.cx.hosts;
        let host = |name: &str| if counted { hosts.nth(name) } else { hosts.find(name) };
        let (src, dst) = (host(&listed.src)?.node, host(&listed.dst)?.node);
        if src == dst {
            return Err(format!("`{}` would send to itself", listed.src));
        }
        let named_scheme = listed.scheme.as_deref().or(self.spec.scheme.as_deref());
        let scheme = self.cx.own_scheme(named_scheme, listed.rate.is_some());
        self.check_read(scheme).map_err(|e| format!("the workload's `{}` {}", e.key, e.message))?;
        let rate = [("rate", listed.rate.is_some())];
        self.cx.check_read(scheme, rate).map_err(|e| format!("rate: {}", e.message))?;
        let later = |t: Time| t.saturating_add(self.spec.start);
        let named = |name: &Option<String>| name.as_deref().map(Arc::from);
        let terms = Terms {
            scheme: named(&listed.scheme).or_else(|| self.terms.scheme.clone()),
            rate: listed.rate,
            ..self.terms.clone()
        };
        let names = listed.group.iter().chain(&listed.after);
        if let Some(name) = names.into_iter().find(|name| !self.out.groups().has_room(name)) {
            return Err(format!("group: with `{name}` the names of groups take more than 4 GiB; shorten them"));
        }
        let terms = self.out.number(listed.group.as_deref().unwrap_or(&self.group), terms);
        let own = NewAfter::of(&listed.after, format!("workload[{}].list.file", self.index));
        let own = own.map(|after| after.at(file, listed.line));
        if own.is_some() && self.wait.is_some() {
            return Err("after: the workload has an `after`, too; leave one out".to_owned());
        }
        let wait = own.map(|after| WaitFor::Groups(self.out.add_after(after))).or(self.wait);
        if listed.stop.is_some() && wait.is_some() {
            return Err("stop: is a time of the run, and `after` leaves the start open; leave it out".to_owned());
        }
        let (start, stop) = (later(listed.start), listed.stop.map(later));
        Ok(NewFlow { src, dst, size: listed.size, start, stop, wait, terms })
    }
}

fn round_len(matrix: &Matrix<'_>) -> Result<u64, SpecError> {
    let message = "a gravity matrix draws pairs; these arrivals need a matrix with a fixed set of pairs";
    matrix.round_len().ok_or_else(|| SpecError::new("matrix", message))
}

/// The bursts of a PPBP.
struct Bursts {
    /// Duration in seconds.
    duration: Pareto<f64>,
    mean_s: f64,
    rate: Rate,
}

impl Bursts {
    fn new(hurst: f64, mean: Time, rate: Rate) -> Result<Bursts, SpecError> {
        if !(hurst > 0.5 && hurst < 1.0) {
            return Err(SpecError::new("hurst", format!("{hurst} is not between 0.5 and 1")));
        }
        if mean.is_zero() {
            return Err(SpecError::new("mean_burst", "must be above zero"));
        }
        if rate == Rate::ZERO {
            return Err(SpecError::new("burst_rate", "must be above zero"));
        }
        // H = (3 − γ) / 2 for a Pareto tail index γ (Zukerman et al. 2003); its mean is γ/(γ − 1)
        // times the least.
        let shape = 3.0 - 2.0 * hurst;
        let mean_s = mean.as_secs_f64();
        let duration = Pareto::new(mean_s * (shape - 1.0) / shape, shape);
        let duration = duration.map_err(|e| SpecError::new("hurst", e.to_string()))?;
        Ok(Bursts { duration, mean_s, rate })
    }

    fn mean_bytes(&self) -> f64 {
        self.mean_s * self.rate.as_f64() / 8.0
    }

    fn sample(&self, rng: &mut Stream) -> Bytes {
        let bytes = self.duration.sample(rng) * self.rate.as_f64() / 8.0;
        Bytes((bytes.round() as u64).max(1))
    }
}
