use std::ops::Range;

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use super::columns::{Columns, Values, seconds, table};
use crate::engine::{FlowFate, Reports};
use crate::output::Table;
use crate::setup::{FlowInfo, Setup};

/// What became of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowRow {
    /// When it started; `None` where it waited for others that have not ended.
    pub start: Option<Time>,
    /// From start to the last byte's delivery; `None` if it isn't complete.
    pub fct: Option<Time>,
    /// What both ends reported.
    pub report: FlowReport,
    /// What happened to its packets.
    pub fate: FlowFate,
    /// Payload over the time it took, or over the time it had; bits per second.
    pub goodput: f64,
}

/// What became of all flows. A flow's row is worked out when somebody looks at it: a million of them
/// would take more memory than what they come from.
pub struct FlowRows<'a> {
    setup: &'a Setup,
    reports: Reports,
    fates: FxHashMap<FlowId, FlowFate>,
    /// The end of the run.
    end: Time,
}

impl<'a> FlowRows<'a> {
    /// Joins what is known of each flow. `end` is the end of the run.
    pub const fn new(
        setup: &'a Setup,
        reports: Reports,
        fates: FxHashMap<FlowId, FlowFate>,
        end: Time,
    ) -> FlowRows<'a> {
        FlowRows { setup, reports, fates, end }
    }

    /// The rows, in the order of flows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FlowRow> + Clone + '_ {
        (0..self.setup.flows.len()).map(|i| self.get(i))
    }

    /// The same with their flows, and these flows' numbers.
    pub(super) fn with_flows(&self) -> impl Iterator<Item = (usize, FlowInfo<'a>, FlowRow)> + '_ {
        self.setup.flows.iter().enumerate().map(|(i, info)| (i, info, self.of(i, &info)))
    }

    /// The row of flow `i`.
    #[inline]
    pub fn get(&self, i: usize) -> FlowRow {
        self.of(i, &self.setup.flows.get(i))
    }

    /// Whether flow `i` is of a client that had no time for it: it asks as often as it can until `stop`.
    pub fn is_unasked(&self, i: usize) -> bool {
        let of_client = self.setup.flows.clients().iter().any(|client| client.flows_in_all().contains(&i));
        of_client && self.get(i).start.is_none_or(|start| self.setup.scenario.stop.is_some_and(|stop| start >= stop))
    }

    /// The end of the run.
    pub const fn end(&self) -> Time {
        self.end
    }

    /// The same of this flow.
    #[inline]
    pub(super) fn of(&self, i: usize, FlowInfo { flow, .. }: &FlowInfo<'_>) -> FlowRow {
        let (id, flows) = (FlowId(i as u32), &self.setup.flows);
        let report = self.reports.of(id);
        let fixed = flow.wait.is_none() && flows.guard(i).is_none() && flows.messages(i).is_none();
        let start = if fixed { Some(flow.start) } else { self.reports.start_of(id) };
        let from = start.unwrap_or(self.end);
        let fct = report.completed.map(|t| t.saturating_sub(from));
        let had = flow.stop.map_or(self.end, |s| s.min(self.end)).saturating_sub(from);
        let took = fct.unwrap_or(had).as_secs_f64();
        let goodput = if took > 0.0 { report.delivered as f64 * 8.0 / took } else { 0.0 };
        FlowRow { start, fct, report, fate: self.fates.get(&id).copied().unwrap_or_default(), goodput }
    }
}

impl FlowRow {
    /// Completion time over that on an unloaded path.
    pub fn slowdown(&self, unloaded: Option<Time>) -> Option<f64> {
        Some(self.fct?.as_secs_f64() / unloaded.filter(|u| !u.is_zero())?.as_secs_f64())
    }
}

/// The table `flows`, or the part of it that is about these flows.
pub fn flow_table(setup: &Setup, rows: &FlowRows<'_>, of: Range<usize>) -> Table {
    table(flow_columns(), of.map(|i| FlowAt::new(setup, rows, i)))
}

/// A flow of the table, and what became of it.
pub(super) struct FlowAt<'a> {
    setup: &'a Setup,
    pub(super) i: usize,
    pub(super) flow: FlowInfo<'a>,
    pub(super) row: FlowRow,
    unloaded: Option<Time>,
}

impl<'a> FlowAt<'a> {
    pub(super) fn new(setup: &'a Setup, rows: &FlowRows<'_>, i: usize) -> FlowAt<'a> {
        let flow = setup.flows.get(i);
        FlowAt { setup, i, flow, row: rows.of(i, &flow), unloaded: flow.unloaded() }
    }
    pub(super) fn name(&self, node: u32) -> &'a str {
        &self.setup.topology.nodes()[node as usize].name
    }
    /// A round-trip time of the sender's in seconds, if it has measured one.
    fn measured(&self, rtt: fn(&FlowReport) -> f64) -> f64 {
        let report = &self.row.report;
        if report.rtt_count > 0 { rtt(report) } else { f64::NAN }
    }
}

/// In this order.
pub(super) fn flow_columns<'a>() -> Columns<'a, FlowAt<'a>> {
    use Values::{Bool, F64, Text, U32, U64};
    vec![
        (
            "flow",
            "number from 0 in order of start, not the line of a list or the position among `[[flow]]`",
            U32(|at| at.i as u32),
        ),
        ("group", "group in results, or the flow's name", Text(|at| at.flow.flow.group())),
        ("scheme", "its scheme", Text(|at| at.setup.scheme_of(at.i))),
        ("src", "", Text(|at| at.name(at.flow.flow.src))),
        ("dst", "host names", Text(|at| at.name(at.flow.flow.dst))),
        // A float, for a flow without end has no size.
        (
            "size_bytes",
            "payload to move; null for a flow without end",
            F64(|at| at.flow.flow.size.map_or(f64::NAN, |b| b.as_f64())),
        ),
        ("start_s", "start time; null where it waited (`after`) until the end", F64(|at| seconds(at.row.start))),
        (
            "fct_s",
            "completion time, from start to delivery of the last byte, with handshake",
            F64(|at| seconds(at.row.fct)),
        ),
        (
            "ideal_fct_s",
            "the same on an idle path without handshake: full packets back to back at the bottleneck, stored and \
             forwarded at each hop",
            F64(|at| seconds(at.unloaded)),
        ),
        (
            "slowdown",
            "`fct_s` / `ideal_fct_s`, without faults",
            F64(|at| at.row.slowdown(at.unloaded).unwrap_or(f64::NAN)),
        ),
        ("goodput_bps", "delivered payload over completion or elapsed time", F64(|at| at.row.goodput)),
        ("delivered_bytes", "payload delivered in order", U64(|at| at.row.report.delivered)),
        ("sent_packets", "packets with payload, including retransmissions", U64(|at| at.row.report.sent)),
        ("retransmitted_packets", "", U64(|at| at.row.report.retransmitted)),
        ("lost_packets", "retransmissions; packets dropped or corrupted, including ACKs", U64(|at| at.row.fate.lost())),
        ("marked_packets", "packets marked CE", U64(|at| at.row.fate.marked.into())),
        ("timeouts", "retransmission timeouts", U64(|at| at.row.report.timeouts)),
        ("rtt_min_s", "", F64(|at| at.measured(|report| report.rtt_min.as_secs_f64()))),
        ("rtt_mean_s", "", F64(|at| at.measured(|report| report.rtt_sum as f64 / 1e12 / report.rtt_count as f64))),
        ("rtt_max_s", "the sender's RTTs", F64(|at| at.measured(|report| report.rtt_max.as_secs_f64()))),
        ("hops", "links on its (first) path", U32(|at| at.flow.hops)),
        ("completed", "true or false", Bool(|at| at.row.fct.is_some())),
    ]
}
