//! The table `datagrams`: one-way delays, flow by flow, and of all together.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::packet::FlowId;
use midpath_core::stats::DelayHistogram;
use serde_json::{Value, json};

use super::FlowRows;
use super::columns::{Columns, Values, table};
use super::flows::FlowAt;
use crate::engine::Delays;
use crate::output::Table;
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
        let row = |flow: &FlowId| DatagramsOf {
            at: FlowAt::new(setup, rows, flow.0 as usize),
            delays: self.of.get(flow).map_or(&none, |delays| delays),
        };
        table(datagram_columns(), self.flows.iter().map(row))
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

/// A flow of datagrams, and what became of it.
pub(super) struct DatagramsOf<'a> {
    at: FlowAt<'a>,
    delays: &'a Delays,
}

impl DatagramsOf<'_> {
    /// NaN while none has arrived.
    fn seconds(&self, value: impl Fn(&Delays) -> Option<f64>) -> f64 {
        value(self.delays).filter(|_| self.delays.histogram.count() > 0).unwrap_or(f64::NAN)
    }
}

/// In this order.
pub(super) fn datagram_columns<'a>() -> Columns<'a, DatagramsOf<'a>> {
    use Values::{F64, Text, U32, U64};
    vec![
        ("flow", "its number", U32(|d| d.at.i as u32)),
        ("group", "its group", Text(|d| d.at.flow.flow.group())),
        ("src", "", Text(|d| d.at.name(d.at.flow.flow.src))),
        ("dst", "host names", Text(|d| d.at.name(d.at.flow.flow.dst))),
        ("sent_packets", "", U64(|d| d.at.row.report.sent)),
        ("received_packets", "", U64(|d| d.delays.histogram.count())),
        ("lost_packets", "", U64(|d| d.at.row.fate.datagrams.into())),
        ("late_packets", "datagrams; late: over `late_after`", U64(|d| d.delays.late)),
        ("delay_min_s", "", F64(|d| d.seconds(|delays| Some(delays.min.as_secs_f64())))),
        ("delay_mean_s", "", F64(|d| d.seconds(|delays| delays.histogram.mean()))),
        ("delay_p50_s", "", F64(|d| d.seconds(|delays| delays.quantile(0.5)))),
        ("delay_p95_s", "", F64(|d| d.seconds(|delays| delays.quantile(0.95)))),
        ("delay_p99_s", "", F64(|d| d.seconds(|delays| delays.quantile(0.99)))),
        ("delay_p999_s", "", F64(|d| d.seconds(|delays| delays.quantile(0.999)))),
        (
            "delay_max_s",
            "one-way delay; quantiles within 3.2 %",
            F64(|d| d.seconds(|delays| Some(delays.histogram.max().as_secs_f64()))),
        ),
        (
            "jitter_s",
            "mean difference of consecutive delays (RFC 3550's jitter is its moving average)",
            F64(|d| d.seconds(Delays::jitter)),
        ),
    ]
}
