use midpath_core::packet::FlowId;
use midpath_core::roles::FlowReport;
use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use crate::engine::FlowFate;
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

impl FlowRow {
    /// Joins what is known of each flow. `end` is the end of the run.
    pub fn collect(
        setup: &Setup,
        reports: impl Iterator<Item = (FlowId, FlowReport)>,
        fates: &FxHashMap<FlowId, FlowFate>,
        end: Time,
    ) -> Vec<FlowRow> {
        let mut rows = vec![FlowRow::default(); setup.flows.len()];
        for (flow, report) in reports {
            let row = &mut rows[flow.0 as usize];
            row.report = row.report.merge(report);
        }
        for (i, row) in rows.iter_mut().enumerate() {
            row.fate = fates.get(&FlowId(i as u32)).copied().unwrap_or_default();
            row.finish(setup, i, end);
        }
        rows
    }

    fn finish(&mut self, setup: &Setup, i: usize, end: Time) {
        let flow = &setup.flows[i].flow;
        self.fct = self.report.completed.map(|t| t.saturating_sub(flow.start));
        let had = flow.stop.map_or(end, |s| s.min(end)).saturating_sub(flow.start);
        let took = self.fct.unwrap_or(had).as_secs_f64();
        self.goodput = if took > 0.0 { self.report.delivered as f64 * 8.0 / took } else { 0.0 };
    }

    /// Completion time over that on an unloaded path.
    pub fn slowdown(&self, unloaded: Option<Time>) -> Option<f64> {
        Some(self.fct?.as_secs_f64() / unloaded.filter(|u| !u.is_zero())?.as_secs_f64())
    }
}

fn seconds(t: Option<Time>) -> f64 {
    t.map_or(f64::NAN, Time::as_secs_f64)
}

/// The table `flows`.
pub fn flow_table(setup: &Setup, rows: &[FlowRow]) -> Table {
    let name = |n: u32| setup.topology.nodes()[n as usize].name.as_str();
    let flows = || setup.flows.iter();
    let f64s = |f: &dyn Fn(&FlowRow) -> f64| Column::F64(rows.iter().map(f).collect());
    let u64s = |f: &dyn Fn(&FlowRow) -> u64| Column::U64(rows.iter().map(f).collect());
    let measured = |r: &FlowRow, t: Time| if r.report.rtt_count > 0 { t.as_secs_f64() } else { f64::NAN };
    Table::default()
        .with("flow", Column::U32((0..rows.len() as u32).collect()))
        .with("group", Column::texts(flows().map(|f| f.flow.group.clone())))
        .with("scheme", Column::texts((0..rows.len()).map(|i| setup.scheme_of(i))))
        .with("src", Column::texts(flows().map(|f| name(f.flow.src))))
        .with("dst", Column::texts(flows().map(|f| name(f.flow.dst))))
        // A float, for a flow without end has no size.
        .with("size_bytes", Column::F64(flows().map(|f| f.flow.size.map_or(f64::NAN, |b| b.as_f64())).collect()))
        .with("start_s", Column::F64(flows().map(|f| f.flow.start.as_secs_f64()).collect()))
        .with("fct_s", f64s(&|r| seconds(r.fct)))
        .with("ideal_fct_s", Column::F64(flows().map(|f| seconds(f.unloaded)).collect()))
        .with(
            "slowdown",
            Column::F64(rows.iter().zip(flows()).map(|(r, f)| r.slowdown(f.unloaded).unwrap_or(f64::NAN)).collect()),
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
        .with("completed", Column::Bool(rows.iter().map(|r| r.fct.is_some()).collect()))
}
