//! The extension in Midpath's wheel: the simulator's binding (`midpath_python`) and NDN's consumer, as one module. It stands
//! above the houses; none depends on it.
//!
//! `midpath add` builds another extension, with the schemes of crates outside: a module that exports
//! [`_midpath`] and calls [`register`] (`examples/outside-both`).

#[cfg(not(target_os = "emscripten"))]
mod ndn;
mod sources;

pub use midpath_python::register;

use pyo3::prelude::*;

/// The module `midpath._midpath`.
#[pymodule]
pub mod _midpath {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[cfg(not(target_os = "emscripten"))]
    #[pymodule_export]
    use crate::ndn::NdnConsumer;
    use crate::sources::SOURCES;

    /// The Rust sources that this simulator was built from: paths, and what the files hold.
    #[pyfunction]
    fn sources(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let files = PyDict::new(py);
        for (path, text) in SOURCES {
            files.set_item(path, text)?;
        }
        Ok(files)
    }

    /// Adds what the simulator's binding has.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let binding = pyo3::wrap_pymodule!(midpath_python::_midpath)(module.py());
        for (name, value) in binding.bind(module.py()).cast::<PyModule>()?.dict() {
            let name: String = name.extract()?;
            if !name.starts_with("__") {
                module.add(name, value)?;
            }
        }
        Ok(())
    }
}
