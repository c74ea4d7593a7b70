//! A run from text to tables.

use std::sync::Arc;
use std::time::Duration;

use midpath_core::files::Files;
use midpath_core::packet::NodeId;
use midpath_core::pfc::SharedBuffer;
use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_schemes::tunnel::SharedPipe;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::engine::{self, Crew, Engine, IsWorth, NetLink, Network, Survey, TracePlan};
use crate::ideal;
use crate::measure::{
    Applications, Critical, Datagrams, Entity, FlowRows, Pages, Pauses, PortRow, Recorder, Recording, Traced, Videos,
    Warning, flow_table, found, of_run, phase_effects, port_table, rerouted_ideal, stalls, summarise, timeouts,
    underuse, unmarked, untraced_ideal, warnings, without_effect,
};
use crate::output::{RunOutput, Table};
use crate::pcap::Capture;
use crate::scenario::{self, Scenario, ScenarioError};
use crate::setup::{Found, IDEAL, Setup};

/// What the caller wants different from the scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Another default scheme.
    pub scheme: Option<String>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Threads at most; 0 and 1 are one. The result doesn't depend on it.
    pub threads: usize,
    /// Parts of the network, of which each thread runs whichever is next; 0: chosen by their number
    /// and the network. The result doesn't depend on it.
    pub parts: usize,
    /// One thread only, where several would wait for each other more than they work, or would be done
    /// before they have helped: a guess from links and flows.
    pub sparing: bool,
    /// Links carry bytes: each packet is encoded and decoded on every link. The result doesn't
    /// depend on it.
    pub wire: bool,
    /// A scenario without flows is accepted: programs use its network.
    pub flows_optional: bool,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Where it will stop at the latest, if that is known.
    pub stop_s: Option<f64>,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Flows of the run.
    pub flows: u64,
}

/// What a run does next: told to who measures what its parts cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The scenario is read and routes are known; nodes are built. `wall_s` of the result counts
    /// from here.
    Build,
    /// All is built; packets move.
    Simulate,
    /// Packets have stopped; tables are written.
    Collect,
}

/// Reads a scenario and builds its parts. `files` are those that it names.
pub fn prepare<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    catalogue: &Catalogue,
) -> Result<Setup, ScenarioError> {
    let scenario = read(text, options)?;
    Setup::new(scenario, files, catalogue).map_err(|e| ScenarioError::locate(e, text))
}

/// Reads a scenario as the caller wants it.
pub(crate) fn read(text: &str, options: &RunOptions) -> Result<Scenario, ScenarioError> {
    let mut scenario = scenario::parse(text)?;
    if let Some(scheme) = &options.scheme {
        scenario.scheme.clone_from(scheme);
    }
    scenario.seed = options.seed.unwrap_or(scenario.seed);
    scenario.flows_optional = options.flows_optional;
    scenario::split_scheme(&mut scenario).map_err(|e| ScenarioError::locate(e, text))?;
    Ok(scenario)
}

/// Runs a scenario with the standard schemes. `None` if `progress` returned false on the way.
pub fn run_text<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<RunOutput>, ScenarioError> {
    run_with(text, files, options, &Catalogue::standard(), progress)
}

/// Runs a scenario with the schemes of `catalogue`.
pub fn run_with<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    catalogue: &Catalogue,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<RunOutput>, ScenarioError> {
    let mut listener = Listener { clock: &wall_clock(), progress, watch: &mut |_| true, rows: None };
    run_in_pieces(text, files, options, catalogue, &mut listener)
}

/// The system's clock, from now on. WebAssembly has none: there, the caller hands in its own.
#[expect(clippy::disallowed_methods, reason = "the wall time is reported only")]
pub fn wall_clock() -> impl Fn() -> Duration {
    let began = std::time::Instant::now();
    move || began.elapsed()
}

/// Who is told of a run while it is under way.
pub struct Listener<'a> {
    /// Time from any moment on: the result's `wall_s` is measured with it, and nothing else.
    pub clock: &'a dyn Fn() -> Duration,
    /// Told how far it is; false ends the run.
    pub progress: &'a mut dyn FnMut(Progress) -> bool,
    /// Told when each phase begins; false ends the run.
    pub watch: &'a mut dyn FnMut(Phase) -> bool,
    /// Given the table `flows` in pieces of [`PIECE`] rows, in order; false ends the run. The result
    /// does not have that table, then, nor the memory for it.
    pub rows: Option<&'a mut dyn FnMut(Table) -> bool>,
}

/// Rows of a piece of the table `flows`. Ours: 20 MB.
pub const PIECE: usize = 1 << 17;

/// Runs a scenario, says when each phase begins, and may give the flows' rows away piece by piece. `None`
/// if the listener has ended it.
pub fn run_in_pieces<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    catalogue: &Catalogue,
    listener: &mut Listener<'_>,
) -> Result<Option<RunOutput>, ScenarioError> {
    let Listener { clock, progress, watch, rows } = listener;
    let setup = prepare(text, files, options, catalogue)?;
    if !watch(Phase::Build) {
        return Ok(None);
    }
    let began = clock();
    let wall = || clock().saturating_sub(began).as_secs_f64();
    let finished = if setup.scenario.scheme == IDEAL {
        if options.wire {
            let message = "`ideal` is a fluid model and has no packets to encode: run it without `--wire`";
            return Err(ScenarioError::locate(SpecError::new("scheme", message), text));
        }
        setup.refuse_unlike_fluid().map_err(|e| ScenarioError::locate(e, text))?;
        if !watch(Phase::Simulate) {
            return Ok(None);
        }
        let finished = run_ideal(&setup).map_err(|e| ScenarioError::locate(e, text))?;
        watch(Phase::Collect).then_some(finished)
    } else {
        let network = setup.network().map_err(|e| ScenarioError::locate(e, text))?;
        let trace = setup.trace_plan().map_err(|e| ScenarioError::locate(e, text))?;
        let search = setup.trace_search().map_err(|e| ScenarioError::locate(e, text))?;
        let Some((search, plan)) = search.zip(trace.clone()) else {
            let finished = run_packets(&setup, (network, trace), options, progress, watch);
            return Ok(finished.and_then(|f| f.output(&setup, text, wall(), rows)));
        };
        // The same run first without what is to be found: a run is repeatable.
        let first = setup.search_plan(search, &plan);
        let Some(first) = run_packets(&setup, (network, first), options, progress, &mut |_| true) else {
            return Ok(None);
        };
        let found = found(search, &first.rows, first.traced.as_ref());
        let found = found.map_err(|e| ScenarioError::locate(e, text))?;
        let network = setup.network().map_err(|e| ScenarioError::locate(e, text))?;
        let plan = Arc::new(setup.trace_around(&found, &plan));
        let second = run_packets(&setup, (network, Some(plan)), options, progress, watch);
        second.map(|finished| Finished { found: Some(found), ..finished })
    };
    Ok(finished.and_then(|f| f.output(&setup, text, wall(), rows)))
}

/// Who takes the flows' rows, if anybody does.
type Pieces<'a> = Option<&'a mut dyn FnMut(Table) -> bool>;

/// A run that has ended, before it is written down.
struct Finished<'a> {
    rows: FlowRows<'a>,
    /// Whether another seed may give another run.
    stochastic: bool,
    ports: Vec<PortRow>,
    recording: Recording,
    span: Time,
    threads: usize,
    survey: Survey,
    memory: usize,
    packet_bytes: usize,
    counts: Counts,
    warnings: Vec<Warning>,
    tunnels: Option<Value>,
    pauses: Option<Pauses>,
    datagrams: Option<Datagrams>,
    traced: Option<Traced>,
    /// What a first run has found for the trace.
    found: Option<Found>,
}

/// Where all packets are: sent = delivered + dropped + corrupted + consumed + stored + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    hops: u64,
    events: u64,
    sent: u64,
    delivered: u64,
    dropped: u64,
    no_route: u64,
    out_of_hops: u64,
    corrupted: u64,
    consumed: u64,
    stored: u64,
    in_flight: u64,
}

impl Counts {
    fn of(engine: &Engine, ports: &[PortRow]) -> Counts {
        let (tally, (stored, in_flight)) = (engine.tally(), engine.remaining());
        Counts {
            hops: ports.iter().map(|p| p.counters.packets).sum(),
            events: tally.events,
            sent: engine.created(),
            delivered: tally.delivered,
            dropped: tally.dropped,
            no_route: tally.no_route,
            out_of_hops: tally.out_of_hops,
            corrupted: tally.corrupted,
            consumed: tally.consumed,
            stored,
            in_flight,
        }
    }

    fn conserved(&self) -> bool {
        self.sent == self.delivered + self.dropped + self.corrupted + self.consumed + self.stored + self.in_flight
    }

    fn json(&self) -> Value {
        json!({
            "sent": self.sent, "delivered": self.delivered, "dropped": self.dropped, "corrupted": self.corrupted,
            "consumed": self.consumed, "stored": self.stored, "in_flight": self.in_flight, "conserved": self.conserved(),
        })
    }
}

fn run_ideal(setup: &Setup) -> Result<Finished<'_>, SpecError> {
    let sample = setup.scenario.measure.series.then(|| setup.sample_interval());
    let run = ideal::run(setup, sample)?;
    let counts = Counts { events: run.events, ..Counts::default() };
    Ok(Finished {
        rows: FlowRows::new(setup, run.reports, FxHashMap::default(), run.end),
        stochastic: setup.is_stochastic(),
        ports: run.ports,
        recording: run.recording,
        span: run.end,
        threads: 1,
        survey: Survey::default(),
        memory: 0,
        packet_bytes: 0,
        counts,
        warnings: rerouted_ideal(setup).into_iter().chain(untraced_ideal(setup)).collect(),
        tunnels: None,
        pauses: None,
        datagrams: None,
        traced: None,
        found: None,
    })
}

fn run_packets<'a>(
    setup: &'a Setup,
    (network, trace): (Network, Option<Arc<TracePlan>>),
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress) -> bool,
    watch: &mut dyn FnMut(Phase) -> bool,
) -> Option<Finished<'a>> {
    let plan = setup.series_plan();
    let captures = setup.captures();
    let stalls_plan = setup.watch_plan();
    let (pipes, buffers) = (network.pipes.clone(), network.buffers.clone());
    let stochastic_links = network.links.iter().any(NetLink::is_stochastic);
    let is_worth = |part_of: &[u32]| setup.is_worth(part_of);
    let sparing = options.sparing.then_some(&is_worth as IsWorth<'_>);
    let crew = Crew { threads: options.threads, parts: options.parts, sparing };
    let mut engine = Engine::new(network, crew, |nodes| {
        let here = captures.iter().filter(|c| nodes.contains(&c.place.0)).cloned().collect();
        Box::new(Recorder::new(&plan, stalls_plan.clone(), nodes, here))
    });
    if options.wire {
        engine.carry_bytes();
    }
    if let Some(plan) = &trace {
        engine.trace(plan);
    }
    let stop_s = setup.scenario.stop.map(Time::as_secs_f64);
    let flows = setup.flows.len() as u64;
    let sample = Some(plan.interval).filter(|i| !i.is_zero());
    let every = stalls_plan.as_ref().map(|plan| plan.every);
    if !watch(Phase::Simulate) {
        return None;
    }
    let done = engine.run(setup.scenario.stop, sample, every, &mut |p: engine::Progress| {
        progress(Progress { simulated_s: p.now.as_secs_f64(), stop_s, packet_hops: p.hops, flows })
    });
    let ended = done && watch(Phase::Collect);
    ended.then(|| collect(setup, engine, &pipes, &buffers, stochastic_links))
}

/// What a run that has ended came to.
fn collect<'a>(
    setup: &'a Setup,
    mut engine: Engine,
    pipes: &[SharedPipe],
    buffers: &[SharedBuffer],
    stochastic_links: bool,
) -> Finished<'a> {
    let last = engine.tally().last_arrival;
    let (reports, fates, delays) = (engine.take_reports(), engine.take_fates(), engine.take_delays());
    let rows = FlowRows::new(setup, reports, fates, setup.scenario.stop.unwrap_or(last));
    let span = setup.scenario.stop.unwrap_or_else(|| length(&rows, last));
    let ports = PortRow::collect(setup, &mut engine, span);
    let counts = Counts::of(&engine, &ports);
    assert!(counts.conserved(), "packets are conserved: {counts:?}");
    assert_eq!(engine.live(), counts.stored + counts.in_flight, "what lives is stored or on a wire");
    assert!(engine.payloads() <= engine.live(), "bytes are released with their packets");
    let (threads, memory, mut warnings) = (engine.threads(), engine.memory(), of_run(setup, &engine));
    let (survey, packet_bytes) = (engine.survey(), engine.packet_memory());
    let stochastic = stochastic_links || setup.is_stochastic() || engine.has_drawn(setup.scenario.seed);
    let traced = engine.take_record().map(Traced::new);
    warnings.extend(traced.iter().filter_map(Traced::warning));
    let mut recording = Recording::default();
    for probe in engine.into_probes() {
        if let Ok(recorder) = probe.into_any().downcast::<Recorder>() {
            recording.merge(recorder.finish());
        }
    }
    warnings.extend(phase_effects(setup, &rows, &ports));
    warnings.extend(without_effect(setup, &ports));
    let stalled = stalls(setup, &recording.watched, &rows, &ports);
    warnings.extend(underuse(setup, &rows, &ports, &stalled));
    warnings.extend(stalled);
    warnings.extend(timeouts(setup, &rows));
    warnings.extend(unmarked(setup, &rows, &ports));
    let (tunnels, pauses) = (setup.carried(pipes), Pauses::collect(setup, buffers, span));
    let datagrams = Datagrams::collect(setup, delays);
    warnings.extend(pauses.iter().flat_map(|pauses| pauses.warnings(setup, &ports)));
    Finished {
        rows,
        stochastic,
        ports,
        recording,
        span,
        threads,
        survey,
        memory,
        packet_bytes,
        counts,
        warnings,
        tunnels,
        pauses,
        datagrams,
        traced,
        found: None,
    }
}

/// How long a run without a stop was: until its last flow's last byte was delivered, if all were;
/// what follows is connections being closed.
fn length(rows: &FlowRows<'_>, last_arrival: Time) -> Time {
    let ends = rows.iter().map(|r| r.report.completed);
    ends.reduce(|a, b| Some(a?.max(b?))).flatten().unwrap_or(last_arrival)
}

impl Finished<'_> {
    /// All that there is to say of it. `None` if `pieces`, which takes the flows' rows, does not want more.
    fn output(mut self, setup: &Setup, text: &str, wall: f64, pieces: &mut Pieces<'_>) -> Option<RunOutput> {
        let mut tables = Vec::new();
        match pieces {
            None => tables.push(("flows".to_owned(), flow_table(setup, &self.rows, 0..setup.flows.len()))),
            Some(take) => {
                let whole = setup.flows.len();
                let piece = |from| flow_table(setup, &self.rows, from..(from + PIECE).min(whole));
                if !(0..whole).step_by(PIECE).all(|from| take(piece(from))) {
                    return None;
                }
            }
        }
        tables.push(("ports".to_owned(), port_table(setup, &self.ports)));
        let mut run = self.summary(setup, text, wall);
        self.applications(setup, &mut run, &mut tables);
        let mut recording = std::mem::take(&mut self.recording);
        let files = files(setup, std::mem::take(&mut recording.captures), self.traced.as_ref());
        if setup.scenario.measure.series {
            tables.push(("series".to_owned(), series(recording, self.span, setup)));
        }
        if let Some(pauses) = &self.pauses {
            run["pfc"] = pauses.json(setup);
            tables.push(("pauses".to_owned(), pauses.table(setup)));
        }
        if let Some(datagrams) = &self.datagrams {
            run["summary"]["datagrams"] = datagrams.summary();
            tables.push(("datagrams".to_owned(), datagrams.table(setup, &self.rows)));
        }
        if let Some(traced) = &self.traced {
            run["trace"] = traced.json();
            tables.push(("trace".to_owned(), traced.table(setup)));
        }
        if let Some(found) = &self.found {
            run["trace"]["at_s"] = found.at.iter().map(|at| at.as_secs_f64()).collect();
            run["trace"]["flows"] = found.flows.iter().copied().collect();
        }
        let (survey, packet_bytes) = (self.survey, self.packet_bytes);
        Some(RunOutput { run, topology: setup.drawing(), tables, files, survey, packet_bytes })
    }

    /// What every `run.json` has.
    fn summary(&self, setup: &Setup, text: &str, wall: f64) -> Value {
        let mut run = json!({
            "midpath": env!("CARGO_PKG_VERSION"),
            "format": 1,
            "title": setup.scenario.title,
            "scheme": setup.scenario.called.as_ref().unwrap_or(&setup.scenario.scheme),
            "seed": setup.scenario.seed,
            "stochastic": self.stochastic,
            "scenario": text,
            "threads": self.threads,
            "wall_s": wall,
            "simulated_s": self.span.as_secs_f64(),
            "packet_hops": self.counts.hops,
            "hops_per_s": if wall > 0.0 { self.counts.hops as f64 / wall } else { 0.0 },
            "events": self.counts.events,
            "memory_bytes": self.memory,
            "deployment": setup.deployed(),
            "equipment": setup.equipment,
            "schemes": setup.described,
            "warnings": warnings(setup, &self.rows, self.warnings.clone()),
            "paths": setup.paths(),
            "invariants": self.counts.json(),
            "summary": summarise(setup, &self.rows, &self.ports, self.span, self.counts.sent),
        });
        if setup.scenario.routing.reconverge.is_some() {
            run["rerouting"] = json!({
                "at_s": setup.reroutes().map(|(at, _)| at.as_secs_f64()).collect::<Vec<_>>(),
                "no_route": self.counts.no_route,
                "out_of_hops": self.counts.out_of_hops,
            });
        }
        if let Some(tunnels) = &self.tunnels {
            run["tunnels"] = tunnels.clone();
        }
        run
    }

    /// Results by application.
    fn applications(&self, setup: &Setup, run: &mut Value, tables: &mut Vec<(String, Table)>) {
        let applications = Applications::new(setup, &self.rows, &self.ports);
        let (clients, jobs) = (applications.clients(), applications.jobs(setup));
        let (pages, videos) = (Pages::new(setup, &self.rows), Videos::new(setup, &self.rows));
        for (key, all) in [("clients", clients), ("jobs", jobs), ("pages", pages.json()), ("videos", videos.json())] {
            if !all.is_empty() {
                run[key] = all.into();
            }
        }
        tables.extend(applications.tables());
        tables.extend(pages.tables());
        tables.extend(videos.tables());
        tables.extend(Critical::new(setup, &self.rows, &self.ports, (&applications, &pages, &videos)).tables());
    }
}

/// Captures as files, with the numbers of their packets in a trace.
fn files(setup: &Setup, mut captures: Vec<Capture>, traced: Option<&Traced>) -> Vec<(String, Vec<u8>)> {
    // Parts know theirs in order; the whole order is the scenario's, whatever the parts.
    let order = setup.captures();
    captures.sort_by_key(|c| order.iter().position(|o| o.place == c.place));
    let mut numbers = traced.filter(|_| !captures.is_empty()).map(Traced::numbers).unwrap_or_default();
    let file = |c: Capture| {
        let (name, place) = (c.name.clone(), c.place);
        (name, c.file_with(|packet| numbers.of(place, packet)))
    };
    captures.into_iter().map(file).collect()
}

/// The table of series.
fn series(recording: Recording, span: Time, setup: &Setup) -> Table {
    let name = |n: NodeId| &setup.topology.nodes()[n.0 as usize].name;
    recording.table(span, |entity| match entity {
        Entity::Port(node, port) => {
            let peer = setup.topology.ports(node.0 as usize)[usize::from(port.0)].peer;
            format!("port:{}>{}", name(node), name(NodeId(peer)))
        }
        Entity::Group(g) => format!("group:{}", setup.groups.name(g)),
        Entity::Flow(flow) => format!("flow:{}", flow.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        stop = "1 ms"
        topology = { generate = "dumbbell", pairs = 1, bottleneck = { rate = "1 Gbps", delay = "1 us" }, access = { rate = "1 Gbps", delay = "1 us" } }
        flow = [{ from = "s0", to = "d0", size = "1 kB" }]
    "#;

    /// The phases of a run that ends before `last`, and whether it has a result.
    fn phases(scheme: &str, last: Option<Phase>) -> (Vec<Phase>, bool) {
        let options = RunOptions { scheme: Some(scheme.into()), ..RunOptions::default() };
        let mut seen = vec![];
        let mut watch = |phase| {
            seen.push(phase);
            Some(phase) != last
        };
        let catalogue = Catalogue::standard();
        let clock = || Duration::ZERO;
        let mut listener = Listener { clock: &clock, progress: &mut |_| true, watch: &mut watch, rows: None };
        let ended = run_in_pieces(SCENARIO, ".", &options, &catalogue, &mut listener);
        (seen, ended.expect("a good scenario").is_some())
    }

    #[test]
    fn phases_begin_in_order_and_end_a_run_where_asked() {
        let all = [Phase::Build, Phase::Simulate, Phase::Collect];
        for scheme in ["newreno", IDEAL] {
            assert_eq!(phases(scheme, None), (all.to_vec(), true), "{scheme}");
            for (at, phase) in all.iter().enumerate() {
                assert_eq!(phases(scheme, Some(*phase)), (all[..=at].to_vec(), false), "{scheme}");
            }
        }
    }
}
