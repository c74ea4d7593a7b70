//! Results by page and resource. Times are those of their flows.

use midpath_core::units::Time;
use midpath_traffic::{Cause, ClientFlows, Load, PageLoads, Resource};
use serde_json::{Value, json};

use super::FlowRows;
use super::columns::{Columns, Values, seconds, table};
use super::critical::{Kind, Part, Piece, Span, path, slowest};
use super::summary::{mean, number, quantile};
use crate::output::Table;
use crate::setup::Setup;

/// What became of a resource.
#[derive(Debug, Clone, Copy, Default)]
struct Loaded {
    /// When what it waits for had come, and its computation was over.
    ready: Option<Time>,
    start: Option<Time>,
    header: Option<Time>,
    end: Option<Time>,
    critical: bool,
}

/// What became of a page.
struct Outcome {
    start: Option<Time>,
    resources: Vec<Loaded>,
    ttfb: Option<Time>,
    onload: Option<Time>,
    loaded: Option<Time>,
    /// Its critical path until the load event.
    critical: Option<Vec<Piece>>,
    missed: bool,
}

impl Outcome {
    fn of(setup: &Setup, rows: &FlowRows<'_>, client: &ClientFlows, pages: &PageLoads, load: &Load) -> Outcome {
        let page = pages.page(load);
        let mut resources = Vec::<Loaded>::with_capacity(page.resources.len());
        for number in 0..page.resources.len() {
            let [request, header, body] = PageLoads::messages(load, number).map(|flow| rows.get(flow));
            let (start, header, end) = (request.start, header.report.completed, body.report.completed);
            resources.push(Loaded { start, header, end, ..Loaded::default() });
        }
        // The first that waits for nothing finds its connections free.
        let begins = page.resources.iter().zip(&resources).filter(|(resource, _)| resource.cause == Cause::Begin);
        let start = begins.filter_map(|(resource, own)| Some(own.start?.saturating_sub(resource.compute))).min();
        for (number, resource) in page.resources.iter().enumerate() {
            let cause = match resource.cause {
                Cause::Begin => start,
                Cause::All(other) => resources[other as usize].end,
                Cause::Header(other) => resources[other as usize].header,
            };
            resources[number].ready = cause.map(|at| at.saturating_add(resource.compute));
        }
        let ends = |gates: fn(&Resource) -> bool| {
            let own = page.resources.iter().zip(&resources).filter(|(resource, _)| gates(resource));
            own.map(|(_, own)| own.end).try_fold(Time::ZERO, |last, end| Some(last.max(end?)))
        };
        let since = |end: Option<Time>| Some(end?.saturating_sub(start?));
        let last_gate = ends(|resource| resource.gates);
        let onload = since(last_gate.map(|end| end.saturating_add(page.to_onload)));
        let loaded = since(ends(|_| true));
        let ttfb = since(resources[page.document as usize].header);
        let had = onload.or_else(|| since(Some(rows.end())));
        let missed = client.deadline.zip(had).is_some_and(|(deadline, had)| had > deadline);
        let critical = start.zip(last_gate).and_then(|(start, end)| {
            let last = page.resources.iter().zip(&resources).position(|(of, own)| of.gates && own.end == Some(end))?;
            let first = load.first;
            let flows = first..first + PageLoads::MESSAGES * page.resources.len();
            let [_, _, body] = PageLoads::messages(load, last);
            let span = Span { flows, start, last: (body, end) };
            let mut pieces = path(setup, rows, Kind::Page(&page.resources), &span);
            pieces.iter().for_each(|piece| resources[(piece.flow - first) / PageLoads::MESSAGES].critical = true);
            let (from, until) = (end, end.saturating_add(page.to_onload));
            pieces.extend((until > from).then_some(Piece { part: Part::Compute, flow: body, from, until }));
            Some(pieces)
        });
        Outcome { start, resources, ttfb, onload, loaded, critical, missed }
    }

    /// How long a part of its critical path took.
    fn part(&self, part: Part) -> Option<Time> {
        let own = self.critical.as_ref()?.iter().filter(|piece| piece.part == part);
        Some(own.fold(Time::ZERO, |sum, piece| sum.saturating_add(piece.until.saturating_sub(piece.from))))
    }
}

/// A page of the table.
#[derive(Clone, Copy)]
pub(super) struct PageRow<'a> {
    setup: &'a Setup,
    client: &'a ClientFlows,
    number: usize,
    load: &'a Load,
    outcome: &'a Outcome,
}

/// A resource of the table.
#[derive(Clone, Copy)]
pub(super) struct ResourceRow<'a> {
    page: PageRow<'a>,
    origin: &'a str,
    resource: &'a Resource,
    number: usize,
    own: &'a Loaded,
}

impl<'a> PageRow<'a> {
    fn first_flow(self) -> usize {
        self.load.first
    }
    fn critical(self, part: Part) -> f64 {
        seconds(self.outcome.part(part))
    }
    fn node(self, node: u32) -> &'a str {
        &self.setup.topology.nodes()[node as usize].name
    }
    fn resources(self) -> impl Iterator<Item = ResourceRow<'a>> {
        let pages = self.client.page.as_ref();
        let resources = pages.map_or(&[][..], |pages| &pages.page(self.load).resources);
        let all = resources.iter().zip(&self.outcome.resources).enumerate();
        all.filter_map(move |(number, (resource, own))| {
            let origin = pages?.har.origins.get(resource.origin as usize)?;
            Some(ResourceRow { page: self, origin, resource, number, own })
        })
    }
}

impl ResourceRow<'_> {
    fn request(self) -> usize {
        PageLoads::messages(self.page.load, self.number)[0]
    }
    fn since_start(self, end: Option<Time>) -> f64 {
        seconds(end.zip(self.own.start).map(|(end, start)| end.saturating_sub(start)))
    }
}

/// Pages of a run.
pub struct Pages<'a> {
    setup: &'a Setup,
    /// Of each client that loads pages, with the outcomes of its loads.
    clients: Vec<(&'a ClientFlows, &'a PageLoads, Vec<Outcome>)>,
}

impl<'a> Pages<'a> {
    /// Joins what is known of their flows.
    pub fn new(setup: &'a Setup, rows: &FlowRows<'_>) -> Pages<'a> {
        let of_client = |client: &'a ClientFlows| {
            let pages = client.page.as_ref()?;
            let all = pages.loads.iter().map(|load| Outcome::of(setup, rows, client, pages, load));
            Some((client, pages, all.collect()))
        };
        Pages { setup, clients: setup.flows.clients().iter().filter_map(of_client).collect() }
    }

    fn rows(&self) -> impl Iterator<Item = PageRow<'_>> {
        self.clients.iter().flat_map(|(client, pages, outcomes)| {
            let all = pages.loads.iter().zip(outcomes).enumerate();
            let row = |(number, (load, outcome))| PageRow { setup: self.setup, client, number, load, outcome };
            all.map(row).filter(|row| row.outcome.start.is_some())
        })
    }

    /// Tells of the critical paths of pages that were loaded, of each client those that took longest.
    pub(super) fn paths(&self, kept: usize, tell: &mut dyn FnMut(&'a str, usize, &[Piece])) {
        for (client, _, outcomes) in &self.clients {
            let ended = outcomes.iter().enumerate().filter_map(|(number, page)| Some((number, page.onload?)));
            for number in slowest(ended, kept) {
                tell(&client.group, number, outcomes[number].critical.as_deref().unwrap_or_default());
            }
        }
    }

    /// Their tables, by name: none where there is no page.
    pub fn tables(&self) -> Vec<(String, Table)> {
        if self.clients.is_empty() {
            return Vec::new();
        }
        let resources = self.rows().flat_map(PageRow::resources);
        vec![
            ("pages".to_owned(), table(page_columns(), self.rows())),
            ("resources".to_owned(), table(resource_columns(), resources)),
        ]
    }

    /// `pages` of `run.json`.
    pub fn json(&self) -> Vec<Value> {
        let one = |(client, pages, outcomes): &(&ClientFlows, &PageLoads, Vec<Outcome>)| {
            let begun = || outcomes.iter().filter(|page| page.start.is_some());
            let sorted = |of: fn(&Outcome) -> Option<Time>| {
                let mut all: Vec<f64> = begun().filter_map(of).map(Time::as_secs_f64).collect();
                all.sort_unstable_by(f64::total_cmp);
                all
            };
            let (onload, ttfb, loaded) =
                (sorted(|page| page.onload), sorted(|page| page.ttfb), sorted(|page| page.loaded));
            let part = |part: Part| {
                let all = begun().filter_map(|page| page.part(part)).map(Time::as_secs_f64);
                number(mean(&all.collect::<Vec<_>>()))
            };
            json!({
                "group": *client.group,
                "pages": pages.har.pages.len(),
                "loads": begun().count(),
                "completed": onload.len(),
                "ttfb_mean_s": number(mean(&ttfb)),
                "mean_s": number(mean(&onload)),
                "p50_s": number(quantile(&onload, 0.5)),
                "p99_s": number(quantile(&onload, 0.99)),
                "max_s": number(onload.last().copied().unwrap_or(f64::NAN)),
                "loaded_mean_s": number(mean(&loaded)),
                "critical": {
                    "compute_s": part(Part::Compute),
                    "blocked_s": part(Part::Blocked),
                    "service_s": part(Part::Service),
                    "network_s": part(Part::Network),
                },
                "deadline_s": client.deadline.map(Time::as_secs_f64),
                "missed": client.deadline.map(|_| begun().filter(|page| page.missed).count()),
            })
        };
        self.clients.iter().map(one).collect()
    }
}

/// In this order.
pub(super) fn page_columns<'a>() -> Columns<'a, PageRow<'a>> {
    use Values::{Bool, F64, Text, U32};
    vec![
        ("client", "", Text(|p| &p.client.group)),
        ("load", "", U32(|p| p.number as u32)),
        ("page", "its `group`; number of the load, and of its page in the HAR", U32(|p| p.load.page as u32)),
        ("src", "", Text(|p| p.node(p.setup.flows.get(p.first_flow()).flow.src))),
        ("flow", "the host; its first flow", U32(|p| p.first_flow() as u32)),
        ("start_s", "when the navigation begins", F64(|p| seconds(p.outcome.start))),
        ("ttfb_s", "until the document's header has come, redirects included", F64(|p| seconds(p.outcome.ttfb))),
        ("onload_s", "page load time: until the load event", F64(|p| seconds(p.outcome.onload))),
        ("loaded_s", "until all has come", F64(|p| seconds(p.outcome.loaded))),
        ("compute_s", "", F64(|p| p.critical(Part::Compute))),
        ("blocked_s", "", F64(|p| p.critical(Part::Blocked))),
        ("service_s", "", F64(|p| p.critical(Part::Service))),
        (
            "network_s",
            "parts of `onload_s` on its critical path: computation, waiting for a connection, servers, the rest",
            F64(|p| p.critical(Part::Network)),
        ),
        ("missed", "", Bool(|p| p.outcome.missed)),
        ("completed", "whether it took longer than `deadline`, and was loaded", Bool(|p| p.outcome.onload.is_some())),
    ]
}

/// In this order.
pub(super) fn resource_columns<'a>() -> Columns<'a, ResourceRow<'a>> {
    use Values::{Bool, F64, Text, U32};
    vec![
        ("client", "", Text(|r| &r.page.client.group)),
        ("load", "", U32(|r| r.page.number as u32)),
        ("entry", "its page's; number in the HAR", U32(|r| r.resource.entry)),
        ("origin", "", Text(|r| r.origin)),
        ("dst", "", Text(|r| r.page.node(r.page.setup.flows.get(r.request()).flow.dst))),
        ("flow", "scheme, host and port; its server and request", U32(|r| r.request() as u32)),
        (
            "waits_for",
            "the entry on which it depends",
            F64(|r| match r.resource.cause {
                Cause::Begin => f64::NAN,
                Cause::All(other) | Cause::Header(other) => {
                    let pages = r.page.client.page.as_ref();
                    pages.map_or(f64::NAN, |pages| pages.page(r.page.load).resources[other as usize].entry.into())
                }
            }),
        ),
        ("ready_s", "", F64(|r| seconds(r.own.ready))),
        (
            "start_s",
            "when it may be requested, and is: later where it waits for a connection",
            F64(|r| seconds(r.own.start)),
        ),
        ("ttfb_s", "", F64(|r| r.since_start(r.own.header))),
        ("completion_s", "from there to its header, and its end", F64(|r| r.since_start(r.own.end))),
        ("critical", "", Bool(|r| r.own.critical)),
        ("completed", "whether it is on the page's critical path, and has come", Bool(|r| r.own.end.is_some())),
    ]
}
