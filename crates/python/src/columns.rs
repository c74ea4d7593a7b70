//! Columns to Python: little-endian buffers that `pyarrow` wraps without looking at single values.
//!
//! Arrow tables are made on the Python side, from these buffers: the Rust `arrow` crates would add
//! minutes to every build for what is one call of `pyarrow` per column.

use midpath_sim::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// A table as `{column: (kind, buffer, …)}`, in column order. Each column is freed when it has been
/// copied.
pub(crate) fn table_to_python(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table.columns {
        columns.set_item(name, column_to_python(py, &column)?)?;
    }
    Ok(columns)
}

/// Gives a table to Python piece by piece.
pub(crate) struct Pieces {
    callback: Py<PyAny>,
    error: Option<PyErr>,
}

impl Pieces {
    /// To this callback.
    pub(crate) fn new(callback: Py<PyAny>) -> Pieces {
        Pieces { callback, error: None }
    }

    /// Hands one over; false if Python could not take it.
    pub(crate) fn take(&mut self, table: Table) -> bool {
        let call = |py: Python<'_>| self.callback.bind(py).call1((table_to_python(py, table)?,)).map(drop);
        self.error = Python::attach(call).err();
        self.error.is_none()
    }

    /// Why it could not.
    pub(crate) fn into_error(self) -> Option<PyErr> {
        self.error
    }
}

/// A column as `(kind, values)`, or `("str", indices, dictionary)`.
fn column_to_python<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>> {
    let values = PyBytes::new_with(py, column.bytes(), |buffer| {
        column.write(buffer);
        Ok(())
    })?;
    match column {
        Column::Str { .. } => (column.kind(), values, column.dictionary()).into_pyobject(py),
        _ => (column.kind(), values).into_pyobject(py),
    }
}
