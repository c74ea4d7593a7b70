//! Critical paths of requests, pages, views of videos and iterations: from the end back, what waited for what.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use midpath_core::units::Time;
use midpath_traffic::{PageLoads, Resource, WaitFor};

use super::applications::slowest_link;
use super::columns::{Columns, Values, table};
use super::{Applications, FlowRows, Pages, PortRow, Videos};
use crate::output::Table;
use crate::setup::Setup;

/// Critical paths of an application that are kept, those of what took longest. Ours: each piece is a row, and there may
/// be ten million requests.
const KEPT: usize = 10_000;

/// What time went by with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Computation before a flow starts.
    Compute,
    /// Waiting for a connection, a retry, room in the buffer, or a rank that was behind.
    Blocked,
    /// A server's work on a request, its queue included.
    Service,
    /// A flow on its way, and the news of its end to another node that waits for it.
    Network,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Part::Compute => "compute",
            Part::Blocked => "blocked",
            Part::Service => "service",
            Part::Network => "network",
        }
    }
}

/// A part of a critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub part: Part,
    /// The flow that was on its way, or that started next; after the last one, that which had ended.
    pub flow: usize,
    pub from: Time,
    pub until: Time,
}

/// What an application did from its start to the end of a flow.
pub(super) struct Span {
    /// Its flows.
    pub flows: Range<usize>,
    pub start: Time,
    /// The flow with whose end it was over, and when that was.
    pub last: (usize, Time),
}

/// What an application is, and so what its flows wait for.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    Request,
    /// With its resources.
    Page(&'a [Resource]),
    View,
    /// Ranks compute between iterations.
    Collective,
    /// A pipeline, or a job that follows a trace: ranks compute between messages.
    Computation,
}

/// Which flows and steps count for the steps of a [`Span`].
struct Causes {
    /// Steps with flows whose ends count for them, in order.
    flows: Vec<(u32, u32)>,
    /// Steps with others of the same span that count for them, how much later, in order.
    steps: Vec<(u32, u32, Time)>,
}

impl Causes {
    fn of(setup: &Setup, span: &Span) -> Causes {
        let all = span.flows.clone();
        let mut flows: Vec<(u32, u32)> =
            all.flat_map(|flow| setup.flows.counts_for(flow).map(move |step| (step, flow as u32))).collect();
        flows.sort_unstable();
        // A span's steps follow each other.
        let of_span = flows.first().map_or(0, |first| first.0)..flows.last().map_or(0, |last| last.0 + 1);
        let mut steps = Vec::new();
        for step in of_span {
            let then = setup.flows.rare(step as usize).and_then(|rare| rare.then);
            steps.extend(then.map(|(next, later)| (next.get(), step, later)));
            steps.extend(setup.flows.more_then(step).iter().map(|(next, later)| (*next, step, *later)));
        }
        steps.sort_unstable();
        Causes { flows, steps }
    }

    fn flows_for(&self, step: u32) -> impl Iterator<Item = usize> {
        let first = self.flows.partition_point(|known| known.0 < step);
        self.flows[first..].iter().take_while(move |known| known.0 == step).map(|known| known.1 as usize)
    }

    fn steps_for(&self, step: u32) -> impl Iterator<Item = (u32, Time)> {
        let first = self.steps.partition_point(|known| known.0 < step);
        self.steps[first..].iter().take_while(move |known| known.0 == step).map(|known| (known.1, known.2))
    }

    /// Of the flows for whose end something waited at `step` that was over at `at`, or before if this is not `exact`: that
    /// which ended last.
    fn last(&self, setup: &Setup, rows: &FlowRows<'_>, (step, at): (u32, Time), exact: bool) -> Option<Ended> {
        let (mut open, mut seen, mut found) = (vec![(step, at)], BTreeSet::new(), None::<Ended>);
        while let Some((step, at)) = open.pop() {
            if !seen.insert((step, at)) {
                continue;
            }
            let node = setup.flows.steps()[step as usize].node;
            for flow in self.flows_for(step) {
                let Some(end) = rows.get(flow).report.completed.filter(|end| *end <= at) else { continue };
                let (info, rest) = (setup.flows.get(flow), at.saturating_sub(end));
                // News takes the least propagation delay.
                let far = info.flow.dst != node;
                let late = exact && rest > if far { info.propagation() } else { Time::ZERO };
                if !late && found.is_none_or(|found| rest < found.rest) {
                    found = Some(Ended { flow, end, rest, far });
                }
            }
            if found.is_some_and(|found| found.rest.is_zero()) {
                break;
            }
            let before = |(before, later): (u32, Time)| Some((before, Time(at.0.checked_sub(later.0)?)));
            open.extend(self.steps_for(step).filter_map(before));
        }
        found
    }
}

/// A flow for whose end another one waited.
#[derive(Debug, Clone, Copy)]
struct Ended {
    flow: usize,
    end: Time,
    /// From then until the wait was over, but for what steps took.
    rest: Time,
    /// Whether its end was at another node than the wait, which heard of it later.
    far: bool,
}

/// The critical path of a span, in order: its pieces follow each other without a gap from the start to the end.
pub(super) fn path(setup: &Setup, rows: &FlowRows<'_>, kind: Kind<'_>, span: &Span) -> Vec<Piece> {
    let (mut flow, mut end) = span.last;
    let (mut pieces, mut causes) = (Vec::new(), None::<Causes>);
    loop {
        let start = rows.get(flow).start.unwrap_or(span.start).max(span.start);
        pieces.push(Piece { part: Part::Network, flow, from: start, until: end });
        let info = setup.flows.get(flow).flow;
        let before = match info.wait {
            Some(WaitFor::Step(step)) => {
                let causes = causes.get_or_insert_with(|| Causes::of(setup, span));
                let ready = start.saturating_sub(info.start);
                causes.last(setup, rows, (step, ready), kind.is_exact()).filter(|ended| ended.end >= span.start)
            }
            _ => None,
        };
        let since =
            before.map_or(span.start, |ended| if ended.far { ended.end.saturating_add(ended.rest) } else { ended.end });
        pieces.extend(kind.waited(flow, flow - span.flows.start, before.is_some(), since..start));
        let Some(ended) = before else { break };
        pieces.push(Piece { part: Part::Network, flow: ended.flow, from: ended.end, until: since });
        (flow, end) = (ended.flow, ended.end);
    }
    pieces.retain(|piece| piece.until > piece.from);
    pieces.reverse();
    pieces
}

impl Kind<'_> {
    /// Whether flows start as soon as what they wait for is over. What waits for a connection, a player or a server starts
    /// later, and after nothing else.
    const fn is_exact(self) -> bool {
        matches!(self, Kind::Collective | Kind::Computation)
    }

    /// What went by before a flow started, number `place` of its span: the later piece first. `follows` says whether it
    /// waited for another flow of the span.
    fn waited(self, flow: usize, place: usize, follows: bool, time: Range<Time>) -> [Piece; 2] {
        let asks = place.is_multiple_of(PageLoads::MESSAGES);
        let (computed, rest) = match self {
            Kind::Page(resources) if asks => (resources[place / PageLoads::MESSAGES].compute, Part::Blocked),
            Kind::Page(_) => (Time::ZERO, Part::Service),
            Kind::Computation => (Time::MAX, Part::Compute),
            Kind::Request if follows => (Time::ZERO, Part::Service),
            Kind::View if place % 2 == 1 => (Time::ZERO, Part::Service),
            _ => (Time::ZERO, Part::Blocked),
        };
        let turn = time.start.saturating_add(computed).min(time.end);
        let piece = |part, from, until| Piece { part, flow, from, until };
        [piece(rest, turn, time.end), piece(Part::Compute, time.start, turn)]
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct CriticalRow<'a> {
    application: &'a str,
    number: usize,
    piece: Piece,
    /// The slowest link on the way of a flow.
    link: Option<(&'a str, &'a str)>,
}

/// Critical paths of a run.
pub struct Critical<'a> {
    rows: Vec<CriticalRow<'a>>,
}

impl<'a> Critical<'a> {
    /// Of what took longest of each application.
    pub fn new(
        setup: &'a Setup,
        rows: &FlowRows<'_>,
        ports: &[PortRow],
        (applications, pages, videos): (&Applications<'a>, &Pages<'a>, &Videos<'a>),
    ) -> Critical<'a> {
        let mut found = Vec::new();
        let mut add = |application: &'a str, number: usize, pieces: &[Piece]| {
            found.extend(pieces.iter().map(|piece| {
                let link = (piece.part == Part::Network).then(|| slowest_link(setup, ports, piece.flow)).flatten();
                CriticalRow { application, number, piece: *piece, link }
            }));
        };
        applications.spans(rows, KEPT, &mut |application, kind, number, span| {
            add(application, number, &path(setup, rows, kind, span));
        });
        videos.spans(KEPT, &mut |application, kind, number, span| {
            add(application, number, &path(setup, rows, kind, span));
        });
        pages.paths(KEPT, &mut add);
        Critical { rows: found }
    }

    /// Its table, by name: none where there is no application.
    pub fn tables(&self) -> Vec<(String, Table)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        vec![("critical".to_owned(), table(critical_columns(), self.rows.iter().copied()))]
    }
}

/// The numbers of those that took longest, as many as are kept, in order.
pub(super) fn slowest(took: impl Iterator<Item = (usize, Time)>, kept: usize) -> Vec<usize> {
    let mut all: Vec<(Reverse<Time>, usize)> = took.map(|(number, took)| (Reverse(took), number)).collect();
    if all.len() > kept {
        all.select_nth_unstable(kept);
        all.truncate(kept);
    }
    let mut numbers: Vec<usize> = all.into_iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    numbers
}

/// In this order.
pub(super) fn critical_columns<'a>() -> Columns<'a, CriticalRow<'a>> {
    use Values::{F64, Text, U32};
    vec![
        ("application", "", Text(|p| p.application)),
        ("number", "`group` of a client or job; its request, load, view or iteration", U32(|p| p.number as u32)),
        (
            "part",
            "`network`, a flow; before its start `compute`, `service` (a server's work and queue) or `blocked` (by \
             connections, timeouts, a full buffer, ranks that were behind)",
            Text(|p| p.piece.part.name()),
        ),
        ("flow", "that flow; of a page's last computation, the one before", U32(|p| p.piece.flow as u32)),
        ("from_s", "", F64(|p| p.piece.from.as_secs_f64())),
        ("until_s", "when it began and ended: the next part begins then", F64(|p| p.piece.until.as_secs_f64())),
        ("link_from", "", Text(|p| p.link.map_or("", |(from, _)| from))),
        ("link_to", "of a flow, its slowest link, as in `iterations`", Text(|p| p.link.map_or("", |(_, to)| to))),
    ]
}
