use std::ops::Range;

use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;
use midpath_core::units::Time;
use midpath_traffic::Flow;
use rustc_hash::FxHashMap;

use crate::engine::{FlowFate, Reports};
use crate::output::{Column, Table};
use crate::setup::Setup;

/// What became of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowRow {
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

    /// The row of flow `i`.
    pub fn get(&self, i: usize) -> FlowRow {
        self.row(FlowId(i as u32), &self.setup.flows.get(i).flow)
    }

    /// The end of the run.
    pub const fn end(&self) -> Time {
        self.end
    }

    fn row(&self, id: FlowId, flow: &Flow<'_>) -> FlowRow {
        let report = self.reports.of(id);
        let fct = report.completed.map(|t| t.saturating_sub(flow.start));
        let had = flow.stop.map_or(self.end, |s| s.min(self.end)).saturating_sub(flow.start);
        let took = fct.unwrap_or(had).as_secs_f64();
        let goodput = if took > 0.0 { report.delivered as f64 * 8.0 / took } else { 0.0 };
        FlowRow { fct, report, fate: self.fates.get(&id).copied().unwrap_or_default(), goodput }
    }
}

impl FlowRow {
    /// Completion time over that on an unloaded path.
    pub fn slowdown(&self, unloaded: Option<Time>) -> Option<f64> {
        Some(self.fct?.as_secs_f64() / unloaded.filter(|u| !u.is_zero())?.as_secs_f64())
    }
}

fn seconds(t: Option<Time>) -> f64 {
    t.map_or(f64::NAN, Time::as_secs_f64)
}

/// The table `flows`, or the part of it that is about these flows.
pub fn flow_table(setup: &Setup, rows: &FlowRows<'_>, of: Range<usize>) -> Table {
    let name = |n: u32| setup.topology.nodes()[n as usize].name.as_str();
    let flows = || of.clone().map(|i| setup.flows.get(i));
    let rows = || of.clone().map(|i| rows.get(i));
    let f64s = |f: &dyn Fn(&FlowRow) -> f64| Column::F64(rows().map(|row| f(&row)).collect());
    let u64s = |f: &dyn Fn(&FlowRow) -> u64| Column::U64(rows().map(|row| f(&row)).collect());
    let measured = |r: &FlowRow, t: Time| if r.report.rtt_count > 0 { t.as_secs_f64() } else { f64::NAN };
    Table::default()
        .with("flow", Column::U32((of.start as u32..of.end as u32).collect()))
        .with("group", Column::texts(flows().map(|f| f.flow.terms.group.clone())))
        .with("scheme", Column::texts(of.clone().map(|i| setup.scheme_of(i))))
        .with("src", Column::texts(flows().map(|f| name(f.flow.src))))
        .with("dst", Column::texts(flows().map(|f| name(f.flow.dst))))
        // A float, for a flow without end has no size.
        .with("size_bytes", Column::F64(flows().map(|f| f.flow.size.map_or(f64::NAN, |b| b.as_f64())).collect()))
        .with("start_s", Column::F64(flows().map(|f| f.flow.start.as_secs_f64()).collect()))
        .with("fct_s", f64s(&|r| seconds(r.fct)))
        .with("ideal_fct_s", Column::F64(flows().map(|f| seconds(f.unloaded())).collect()))
        .with(
            "slowdown",
            Column::F64(rows().zip(flows()).map(|(r, f)| r.slowdown(f.unloaded()).unwrap_or(f64::NAN)).collect()),
        )
        .with("goodput_bps", f64s(&|r| r.goodput))
        .with("delivered_bytes", u64s(&|r| r.report.delivered))
        .with("sent_packets", u64s(&|r| r.report.sent))
        .with("retransmitted_packets", u64s(&|r| r.report.retransmitted))
        .with("lost_packets", u64s(&|r| r.fate.dropped + r.fate.corrupted))
        .with("marked_packets", u64s(&|r| r.fate.marked))
        .with("timeouts", u64s(&|r| r.report.timeouts))
        .with("rtt_min_s", f64s(&|r| measured(r, r.report.rtt_min)))
        .with("rtt_mean_s", f64s(&|r| r.report.rtt_sum as f64 / 1e12 / r.report.rtt_count as f64))
        .with("rtt_max_s", f64s(&|r| measured(r, r.report.rtt_max)))
        .with("hops", Column::U32(flows().map(|f| f.hops).collect()))
        .with("completed", Column::Bool(rows().map(|r| r.fct.is_some()).collect()))
}
