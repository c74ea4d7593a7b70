//! Columns of the tables of flows, ports, applications and datagrams, each said once: its name, its
//! meaning and its values. Python's laboratory has the same schema, and `docs/results.md` the same words.

use midpath_core::units::Time;
use serde_json::{Value, json};

use super::applications::{Iteration, Request, iteration_columns, request_columns};
use super::critical::{CriticalRow, critical_columns};
use super::datagrams::{DatagramsOf, datagram_columns};
use super::flows::{FlowAt, flow_columns};
use super::pages::{PageRow, ResourceRow, page_columns, resource_columns};
use super::ports::{PortAt, port_columns};
use super::videos::{SegmentRow, ViewRow, segment_columns, view_columns};
use crate::output::{Column, Table};

/// Name, meaning and values. Without a meaning it is in the line of the next one.
pub(super) type Columns<'a, R> = Vec<(&'static str, &'static str, Values<'a, R>)>;

/// Where a column's values are from. A missing float is NaN.
pub(super) enum Values<'a, R> {
    Text(fn(&R) -> &'a str),
    U64(fn(&R) -> u64),
    U32(fn(&R) -> u32),
    F64(fn(&R) -> f64),
    Bool(fn(&R) -> bool),
}

impl<R> Values<'_, R> {
    fn of(&self, rows: impl Iterator<Item = R>) -> Column {
        match self {
            Values::Text(value) => Column::texts(rows.map(|row| value(&row))),
            Values::U64(value) => Column::U64(rows.map(|row| value(&row)).collect()),
            Values::U32(value) => Column::U32(rows.map(|row| value(&row)).collect()),
            Values::F64(value) => Column::F64(rows.map(|row| value(&row)).collect()),
            Values::Bool(value) => Column::Bool(rows.map(|row| value(&row)).collect()),
        }
    }
}

/// In seconds; NaN where there is none.
pub(super) fn seconds(time: Option<Time>) -> f64 {
    time.map_or(f64::NAN, Time::as_secs_f64)
}

/// The table that these columns are of these rows.
pub(super) fn table<'a, R, I: Iterator<Item = R>>(columns: Columns<'a, R>, rows: impl Fn() -> I) -> Table {
    columns.iter().fold(Table::default(), |table, (name, _, values)| table.with(name, values.of(rows())))
}

/// The columns of these tables as `{table: [[name, type, meaning], …]}`, types as Arrow names them.
pub fn columns() -> Value {
    json!({ "flows": said(flow_columns as fn() -> Columns<'static, FlowAt<'static>>),
            "ports": said(port_columns as fn() -> Columns<'static, PortAt<'static>>),
            "requests": said(request_columns as fn() -> Columns<'static, Request<'static>>),
            "iterations": said(iteration_columns as fn() -> Columns<'static, Iteration<'static>>),
            "pages": said(page_columns as fn() -> Columns<'static, PageRow<'static>>),
            "resources": said(resource_columns as fn() -> Columns<'static, ResourceRow<'static>>),
            "videos": said(view_columns as fn() -> Columns<'static, ViewRow<'static>>),
            "segments": said(segment_columns as fn() -> Columns<'static, SegmentRow<'static>>),
            "critical": said(critical_columns as fn() -> Columns<'static, CriticalRow<'static>>),
            "datagrams": said(datagram_columns as fn() -> Columns<'static, DatagramsOf<'static>>) })
}

fn said<R>(columns: fn() -> Columns<'static, R>) -> Value {
    let kind = |values: &Values<'_, R>| match values {
        Values::Text(_) => "string",
        Values::U64(_) => "uint64",
        Values::U32(_) => "uint32",
        Values::F64(_) => "double",
        Values::Bool(_) => "bool",
    };
    columns().iter().map(|(name, meaning, values)| json!([name, kind(values), meaning])).collect()
}
