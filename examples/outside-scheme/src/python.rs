//! Midpath's simulator for Python, with this crate's scheme in it.

use pyo3::prelude::*;

/// The module that the package's entry point `midpath.simulator` names.
#[pymodule]
mod outside_scheme {
    use pyo3::prelude::*;

    #[pymodule_export]
    use ::_midpath::_midpath;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        ::_midpath::register(crate::catalogue());
        Ok(())
    }
}
