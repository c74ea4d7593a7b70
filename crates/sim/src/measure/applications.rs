//! Results by application: requests of clients, iterations of jobs. Times are those of their flows.

use std::ops::Range;

use midpath_core::units::Time;
use midpath_traffic::{ClientFlows, Collective, JobFlows};
use serde_json::{Value, json};

use super::columns::{Columns, Values, seconds, table};
use super::critical::{Kind, Span, slowest};
use super::ports::port_row;
use super::summary::{mean, number, quantile};
use super::{FlowRows, PortRow};
use crate::output::Table;
use crate::setup::Setup;

/// When the first of these flows started and the last ended; `None` where none has, or not all have.
fn span_of(rows: &FlowRows<'_>, begin: Range<usize>, end: Range<usize>) -> (Option<Time>, Option<Time>) {
    let start = begin.filter_map(|i| rows.get(i).start).min();
    let over = end.map(|i| rows.get(i).report.completed).collect::<Option<Vec<Time>>>();
    (start, over.and_then(|ends| ends.into_iter().max()))
}

/// How long after its start a request gives its server number `k` up, if it does.
fn given_up(setup: &Setup, client: &ClientFlows, number: usize, k: usize) -> Option<Time> {
    let step = client.calls.get(number * client.fan_out + k)?;
    setup.flows.call(*step as usize).map(|call| call.gives_up).filter(|wait| *wait < Time::MAX)
}

/// The first reply from a server, and when it had come.
fn first_reply(rows: &FlowRows<'_>, client: &ClientFlows, number: usize, k: usize) -> Option<(Time, usize)> {
    client.copies(number, k)[1].clone().filter_map(|i| Some((rows.get(i).report.completed?, i))).min()
}

/// When the first reply from each server had come, before it was given up; `None` where one is missing.
fn first_replies(setup: &Setup, rows: &FlowRows<'_>, client: &ClientFlows, number: usize) -> Option<Time> {
    let start = rows.get(client.flows(number)[0].start).start?;
    let first = |k: usize| {
        let (first, _) = first_reply(rows, client, number, k)?;
        let over = given_up(setup, client, number, k).map(|wait| start.saturating_add(wait));
        over.is_none_or(|over| first < over).then_some(first)
    };
    (0..client.fan_out).map(first).collect::<Option<Vec<Time>>>()?.into_iter().max()
}

/// What became of a request, in few bytes: there may be millions.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// [`Time::MAX`] for never, as of the next.
    start: Time,
    took: Time,
    /// How often servers were asked.
    attempts: u32,
    /// Whether it has taken longer than its deadline; one under way, until the end of the run.
    missed: bool,
    /// Whether one of its servers was given up.
    failed: bool,
}

impl Outcome {
    fn of(setup: &Setup, rows: &FlowRows<'_>, client: &ClientFlows, number: usize) -> Outcome {
        let [asked, replies] = client.flows(number);
        let begun = !rows.is_unasked(asked.start);
        let (start, end) = match &client.calls[..] {
            [] => span_of(rows, asked.clone(), replies),
            _ => (rows.get(asked.start).start, first_replies(setup, rows, client, number)),
        };
        let start = start.filter(|_| begun);
        let took = end.zip(start).map(|(end, start)| end.saturating_sub(start));
        let had = took.or_else(|| Some(rows.end().saturating_sub(start?)));
        let missed = client.deadline.zip(had).is_some_and(|(deadline, had)| had > deadline);
        let failed = took.is_none()
            && (0..client.fan_out).any(|k| {
                let over =
                    start.zip(given_up(setup, client, number, k)).map(|(start, wait)| start.saturating_add(wait));
                let late = |end: Option<Time>| end.is_none_or(|end| over.is_some_and(|over| end > over));
                let mut replies = client.copies(number, k)[1].clone();
                over.is_some_and(|over| over <= rows.end()) && replies.all(|i| late(rows.get(i).report.completed))
            });
        let attempts = asked.filter(|i| rows.get(*i).start.is_some()).count() as u32;
        Outcome { start: start.unwrap_or(Time::MAX), took: took.unwrap_or(Time::MAX), attempts, missed, failed }
    }

    fn start(&self) -> Option<Time> {
        Some(self.start).filter(|at| *at < Time::MAX)
    }

    fn took(&self) -> Option<Time> {
        Some(self.took).filter(|took| *took < Time::MAX)
    }
}

/// A request of the table.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    setup: &'a Setup,
    client: &'a ClientFlows,
    number: usize,
    outcome: &'a Outcome,
}

impl Request<'_> {
    fn first_flow(self) -> usize {
        self.client.flows(self.number)[0].start
    }
}

/// An iteration of the table.
#[derive(Clone, Copy)]
pub(super) struct Iteration<'a> {
    job: &'a JobFlows,
    number: usize,
    start: Option<Time>,
    took: Option<Time>,
    /// The flow that took longest, and how long.
    straggler: Option<(usize, Time)>,
    /// The slowest link on its path.
    link: Option<(&'a str, &'a str)>,
}

impl<'a> Iteration<'a> {
    fn of(setup: &'a Setup, rows: &FlowRows<'_>, ports: &[PortRow], job: &'a JobFlows, number: usize) -> Iteration<'a> {
        let flows = job.flows(number);
        let (start, end) = span_of(rows, flows.clone(), flows.clone());
        let took = end.zip(start).map(|(end, start)| end.saturating_sub(start));
        let longest = flows.filter_map(|i| Some((rows.get(i).fct?, std::cmp::Reverse(i)))).max();
        let straggler = longest.map(|(took, i)| (i.0, took)).filter(|_| end.is_some());
        let link = straggler.and_then(|(flow, _)| slowest_link(setup, ports, flow));
        Iteration { job, number, start, took, straggler, link }
    }

    /// As nccl-tests has it.
    fn bus_bandwidth(self) -> f64 {
        self.took.map_or(f64::NAN, |took| 8.0 * self.job.bus_bytes / took.as_secs_f64())
    }
}

/// Of the links on a flow's path the one of the lowest rate; of several, that with the longest mean queueing delay.
/// `None` where its packets draw among several paths: which links they took is not known.
pub(super) fn slowest_link<'a>(setup: &'a Setup, ports: &[PortRow], flow: usize) -> Option<(&'a str, &'a str)> {
    let info = setup.flows.get(flow).flow;
    let topology = &setup.topology;
    // A message goes where its connection goes.
    let number = setup.flows.connection(flow).unwrap_or(flow as u32);
    let hops = setup.routes.path(topology, info.src as usize, info.dst as usize, number)?;
    if setup.draws_paths(flow, number, &hops) {
        return None;
    }
    let slow = |hop: &midpath_topo::routing::Hop| {
        let delay = port_row(ports, (hop.node, hop.port)).and_then(|row| row.counters.delay.mean()).unwrap_or(0.0);
        (topology.links()[hop.link].rate_from(hop.node), -delay)
    };
    let hop = hops.iter().min_by(|a, b| {
        let (a, b) = (slow(a), slow(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let peer = topology.ports(hop.node)[usize::from(hop.port)].peer as usize;
    Some((&topology.nodes()[hop.node].name, &topology.nodes()[peer].name))
}

/// Requests and iterations of a run.
pub struct Applications<'a> {
    setup: &'a Setup,
    requests: Vec<Outcome>,
    iterations: Vec<Iteration<'a>>,
}

impl<'a> Applications<'a> {
    /// Joins what is known of their flows.
    pub fn new(setup: &'a Setup, rows: &FlowRows<'_>, ports: &[PortRow]) -> Applications<'a> {
        let of_client = |client: &'a ClientFlows| (0..client.requests).map(move |i| (client, i));
        let of_job = |job: &'a JobFlows| (0..job.iterations).map(move |k| (job, k));
        let requests = setup.flows.clients().iter().flat_map(of_client);
        let iterations = setup.flows.jobs().iter().flat_map(of_job);
        Applications {
            setup,
            requests: requests.map(|(client, i)| Outcome::of(setup, rows, client, i)).collect(),
            iterations: iterations.map(|(job, k)| Iteration::of(setup, rows, ports, job, k)).collect(),
        }
    }

    /// Their tables, by name: of what there is.
    pub fn tables(&self) -> Vec<(String, Table)> {
        let mut tables = Vec::new();
        if !self.requests.is_empty() {
            let all = self.of_clients().flat_map(|(client, own)| own.iter().enumerate().map(move |row| (client, row)));
            let request = |(client, (number, outcome))| Request { setup: self.setup, client, number, outcome };
            let begun = all.map(request).filter(|request| request.outcome.start().is_some());
            tables.push(("requests".to_owned(), table(request_columns(), begun)));
        }
        if !self.iterations.is_empty() {
            tables.push(("iterations".to_owned(), table(iteration_columns(), self.iterations.iter().copied())));
        }
        tables
    }

    /// Tells of the requests and iterations that ended, of each client and job the slowest.
    pub(super) fn spans(
        &self,
        rows: &FlowRows<'_>,
        kept: usize,
        tell: &mut dyn FnMut(&'a str, Kind<'a>, usize, &Span),
    ) {
        for (client, own) in self.of_clients() {
            let ended = own.iter().enumerate().filter_map(|(number, request)| Some((number, request.took()?)));
            for number in slowest(ended, kept) {
                let (first, each) = (client.first + client.each * number, client.each);
                let last = (0..client.fan_out).filter_map(|k| first_reply(rows, client, number, k)).max();
                let (Some((end, last)), start) = (last, own[number].start) else { continue };
                let span = Span { flows: first..first + each, start, last: (last, end) };
                tell(&client.group, Kind::Request, number, &span);
            }
        }
        let mut left = &self.iterations[..];
        for job in self.setup.flows.jobs() {
            let (own, others) = left.split_at(job.iterations);
            left = others;
            let kind = match job.collective {
                None | Some(Collective::Pipeline) => Kind::Computation,
                Some(_) => Kind::Collective,
            };
            for number in slowest(own.iter().filter_map(|k| Some((k.number, k.took?))), kept) {
                let flows = job.flows(number);
                let last = flows.clone().filter_map(|i| Some((rows.get(i).report.completed?, i))).max();
                let (Some((end, last)), Some(start)) = (last, own[number].start) else { continue };
                tell(&job.group, kind, number, &Span { flows, start, last: (last, end) });
            }
        }
    }

    fn of_clients(&self) -> impl Iterator<Item = (&'a ClientFlows, &[Outcome])> {
        let mut left = &self.requests[..];
        self.setup.flows.clients().iter().map(move |client| {
            let (own, others) = left.split_at(client.requests);
            left = others;
            (client, own)
        })
    }

    /// `clients` of `run.json`.
    pub fn clients(&self) -> Vec<Value> {
        let one = |(client, own): (&ClientFlows, &[Outcome])| {
            let begun = || own.iter().filter(|request| request.start().is_some());
            let mut took: Vec<f64> = begun().filter_map(Outcome::took).map(Time::as_secs_f64).collect();
            took.sort_unstable_by(f64::total_cmp);
            let first = begun().filter_map(Outcome::start).min();
            let last = begun().filter_map(|r| Some(r.start()?.saturating_add(r.took()?))).max();
            let span = seconds(last) - seconds(first);
            let missed = begun().filter(|request| request.missed).count();
            json!({
                "group": *client.group,
                "requests": begun().count(),
                "completed": took.len(),
                "mean_s": number(mean(&took)),
                "p50_s": number(quantile(&took, 0.5)),
                "p99_s": number(quantile(&took, 0.99)),
                "p999_s": number(quantile(&took, 0.999)),
                "max_s": number(took.last().copied().unwrap_or(f64::NAN)),
                "per_s": number(took.len() as f64 / span),
                "deadline_s": client.deadline.map(Time::as_secs_f64),
                "missed": client.deadline.map(|_| missed),
                "failed": begun().filter(|request| request.failed).count(),
                "attempts": begun().map(|request| request.attempts).sum::<u32>(),
            })
        };
        self.of_clients().filter(|(client, _)| client.page.is_none() && client.video.is_none()).map(one).collect()
    }

    /// `jobs` of `run.json`.
    pub fn jobs(&self, setup: &Setup) -> Vec<Value> {
        let mut left = &self.iterations[..];
        let one = |job: &JobFlows| {
            let (own, others) = left.split_at(job.iterations);
            left = others;
            let mut took: Vec<f64> = own.iter().filter_map(|k| k.took).map(Time::as_secs_f64).collect();
            took.sort_unstable_by(f64::total_cmp);
            let slowest = own.iter().filter(|k| k.took.is_some()).max_by_key(|k| (k.took, std::cmp::Reverse(k.number)));
            json!({
                "group": *job.group,
                "collective": job.collective.map_or("trace", Collective::name),
                "hosts": job.hosts,
                "size_bytes": job.size.0,
                "iterations": job.iterations,
                "completed": took.len(),
                "mean_s": number(mean(&took)),
                "p50_s": number(quantile(&took, 0.5)),
                "p99_s": number(quantile(&took, 0.99)),
                "max_s": number(took.last().copied().unwrap_or(f64::NAN)),
                "bus_bandwidth_bps": number(8.0 * job.bus_bytes / mean(&took)),
                "slowest": slowest.map(|k| json!({
                    "iteration": k.number,
                    "straggler": k.straggler.map(|(flow, _)| flow),
                    "straggler_s": number(seconds(k.straggler.map(|(_, took)| took))),
                    "link": k.link.map(|(a, b)| format!("{a}>{b}")),
                })),
            })
        };
        setup.flows.jobs().iter().map(one).collect()
    }
}

/// In this order.
pub(super) fn request_columns<'a>() -> Columns<'a, Request<'a>> {
    use Values::{Bool, F64, Text, U32};
    vec![
        ("client", "its `group`", Text(|r| &r.client.group)),
        ("request", "number from 0, loop after loop", U32(|r| r.number as u32)),
        (
            "src",
            "the host that asks",
            Text(|r| &r.setup.topology.nodes()[r.setup.flows.get(r.first_flow()).flow.src as usize].name),
        ),
        ("flow", "its first flow: `fan_out` requests, then their replies", U32(|r| r.first_flow() as u32)),
        ("start_s", "when the client asks", F64(|r| seconds(r.outcome.start()))),
        ("completion_s", "until the last reply", F64(|r| seconds(r.outcome.took()))),
        ("missed", "longer than `deadline`", Bool(|r| r.outcome.missed)),
        ("attempts", "how often servers were asked: `fan_out`, retries and hedges", U32(|r| r.outcome.attempts)),
        ("failed", "given up after the last `timeout`", Bool(|r| r.outcome.failed)),
        ("completed", "true or false", Bool(|r| r.outcome.took().is_some())),
    ]
}

/// In this order.
pub(super) fn iteration_columns<'a>() -> Columns<'a, Iteration<'a>> {
    use Values::{F64, Text, U32};
    vec![
        ("job", "its `group`", Text(|k| &k.job.group)),
        ("iteration", "number from 0", U32(|k| k.number as u32)),
        ("start_s", "when its first flow starts", F64(|k| seconds(k.start))),
        ("completion_s", "until the last flow ends", F64(|k| seconds(k.took))),
        (
            "bus_bandwidth_bps",
            "nccl-tests' busbw: `size` / `completion_s` times (N − 1) / N, for an all-reduce twice that",
            F64(|k| k.bus_bandwidth()),
        ),
        ("straggler", "the flow that took longest", F64(|k| k.straggler.map_or(f64::NAN, |(flow, _)| flow as f64))),
        ("straggler_s", "its completion time", F64(|k| seconds(k.straggler.map(|(_, took)| took)))),
        ("link_from", "", Text(|k| k.link.map_or("", |(from, _)| from))),
        (
            "link_to",
            "its path's link of the lowest rate; of equals, that with the longest mean queueing delay; none where packets draw their paths",
            Text(|k| k.link.map_or("", |(_, to)| to)),
        ),
    ]
}
