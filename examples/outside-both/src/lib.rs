//! Midpath's simulator with the schemes of crates outside. Written by `midpath add`.

use pyo3::prelude::*;

#[pymodule]
mod midpath_added {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use ::_midpath::_midpath;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        ::_midpath::register(&[outside_aqm::schemes, outside_scheme::schemes]).map_err(PyImportError::new_err)
    }
}
