//! The table `datagrams`: one-way delays, flow by flow, and of all together.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::packet::FlowId;
use midpath_core::stats::DelayHistogram;
use serde_json::{Value, json};

use super::FlowRows;
use crate::engine::Delays;
use crate::output::{Column, Table};
use crate::setup::Setup;

/// Delays of the flows that have datagrams.
pub struct Datagrams {
    of: BTreeMap<FlowId, Box<Delays>>,
    /// Those of which none may have arrived, too.
    flows: BTreeSet<FlowId>,
}

impl Datagrams {
    /// `None` where no flow has any.
    pub fn collect(setup: &Setup, of: BTreeMap<FlowId, Box<Delays>>) -> Option<Datagrams> {
        let bounded = setup.flows.iter().enumerate().filter(|(_, info)| info.flow.late_after.is_some());
        let flows: BTreeSet<_> = of.keys().copied().chain(bounded.map(|(i, _)| FlowId(i as u32))).collect();
        (!flows.is_empty()).then_some(Datagrams { of, flows })
    }

    /// The table.
    pub fn table(&self, setup: &Setup, rows: &FlowRows<'_>) -> Table {
        let none = Delays::default();
        let of = |flow: &FlowId| self.of.get(flow).map_or(&none, |delays| delays);
        let info = |flow: &FlowId| setup.flows.get(flow.0 as usize).flow;
        let name = |node: u32| setup.topology.nodes()[node as usize].name.as_str();
        let flows = || self.flows.iter();
        let counts = |count: &dyn Fn(&FlowId) -> u64| Column::U64(flows().map(count).collect());
        let seconds = |value: &dyn Fn(&Delays) -> Option<f64>| {
            Column::F64(flows().map(|flow| value(of(flow)).unwrap_or(f64::NAN)).collect())
        };
        let lost = |flow: &FlowId| {
            let fate = rows.get(flow.0 as usize).fate;
            fate.dropped + fate.corrupted
        };
        let any = |d: &Delays| (d.histogram.count() > 0).then_some(());
        Table::default()
            .with("flow", Column::U32(flows().map(|flow| flow.0).collect()))
            .with("group", Column::texts(flows().map(|flow| &info(flow).terms.group)))
            .with("src", Column::texts(flows().map(|flow| name(info(flow).src))))
            .with("dst", Column::texts(flows().map(|flow| name(info(flow).dst))))
            .with("sent_packets", counts(&|flow| rows.get(flow.0 as usize).report.sent))
            .with("received_packets", counts(&|flow| of(flow).histogram.count()))
            .with("lost_packets", counts(&lost))
            .with("late_packets", counts(&|flow| of(flow).late))
            .with("delay_min_s", seconds(&|d| any(d).map(|()| d.min.as_secs_f64())))
            .with("delay_mean_s", seconds(&|d| d.histogram.mean()))
            .with("delay_p50_s", seconds(&|d| d.quantile(0.5)))
            .with("delay_p95_s", seconds(&|d| d.quantile(0.95)))
            .with("delay_p99_s", seconds(&|d| d.quantile(0.99)))
            .with("delay_p999_s", seconds(&|d| d.quantile(0.999)))
            .with("delay_max_s", seconds(&|d| any(d).map(|()| d.histogram.max().as_secs_f64())))
            .with("jitter_s", seconds(&Delays::jitter))
    }

    /// All datagrams of the run in the summary.
    pub fn summary(&self) -> Value {
        let (mut all, mut late) = (DelayHistogram::default(), 0);
        for delays in self.of.values() {
            all.merge(&delays.histogram);
            late += delays.late;
        }
        json!({
            "received_packets": all.count(),
            "late_packets": late,
            "delay_mean_s": all.mean(),
            "delay_p50_s": all.quantile(0.5),
            "delay_p95_s": all.quantile(0.95),
            "delay_p99_s": all.quantile(0.99),
            "delay_p999_s": all.quantile(0.999),
            "delay_max_s": all.max().as_secs_f64(),
        })
    }
}
