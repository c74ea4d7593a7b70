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
use crate::output::{Column, Table, Texts};

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

/// A column that is being filled, and from what.
enum Filling<'a, R> {
    Text(fn(&R) -> &'a str, Texts<'a>),
    U64(fn(&R) -> u64, Vec<u64>),
    U32(fn(&R) -> u32, Vec<u32>),
    F64(fn(&R) -> f64, Vec<f64>),
    Bool(fn(&R) -> bool, Vec<bool>),
}

impl<'a, R> Values<'a, R> {
    fn begin(&self, room: usize) -> Filling<'a, R> {
        match *self {
            Values::Text(value) => Filling::Text(value, Texts::default()),
            Values::U64(value) => Filling::U64(value, Vec::with_capacity(room)),
            Values::U32(value) => Filling::U32(value, Vec::with_capacity(room)),
            Values::F64(value) => Filling::F64(value, Vec::with_capacity(room)),
            Values::Bool(value) => Filling::Bool(value, Vec::with_capacity(room)),
        }
    }
}

impl<R> Filling<'_, R> {
    fn extend(&mut self, rows: &[R]) {
        match self {
            Filling::Text(value, texts) => rows.iter().for_each(|row| texts.push(value(row))),
            Filling::U64(value, values) => values.extend(rows.iter().map(*value)),
            Filling::U32(value, values) => values.extend(rows.iter().map(*value)),
            Filling::F64(value, values) => values.extend(rows.iter().map(*value)),
            Filling::Bool(value, values) => values.extend(rows.iter().map(*value)),
        }
    }

    fn end(self) -> Column {
        match self {
            Filling::Text(_, texts) => texts.into(),
            Filling::U64(_, values) => Column::U64(values),
            Filling::U32(_, values) => Column::U32(values),
            Filling::F64(_, values) => Column::F64(values),
            Filling::Bool(_, values) => Column::Bool(values),
        }
    }
}

/// In seconds; NaN where there is none.
pub(super) fn seconds(time: Option<Time>) -> f64 {
    time.map_or(f64::NAN, Time::as_secs_f64)
}

/// Rows that stand in memory at once, from which all columns are filled before the next.
const STRIP: usize = 256;

/// The table that these columns are of these rows.
pub(super) fn table<'a, R>(columns: Columns<'a, R>, mut rows: impl Iterator<Item = R>) -> Table {
    let room = rows.size_hint().0;
    let mut filling: Vec<_> = columns.into_iter().map(|(name, _, values)| (name, values.begin(room))).collect();
    loop {
        let strip: Vec<_> = rows.by_ref().take(STRIP).collect();
        if strip.is_empty() {
            break;
        }
        filling.iter_mut().for_each(|(_, column)| column.extend(&strip));
    }
    filling.into_iter().fold(Table::default(), |table, (name, column)| table.with(name, column.end()))
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
