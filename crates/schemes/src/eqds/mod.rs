//! EQDS's NDP back end (Olteanu et al., NSDI 2022): receivers grant credit, senders begin with a window that nobody has granted, and
//! those whose packets were trimmed come first.
//!
//! Implemented and omitted parts: `docs/schemes/eqds.md`. Map from htsim's functions to files: `README.md`. The ends are UET's
//! (`uec`), which grew out of EQDS, with EQDS's rules of credit and paths; here are `params.rs` and what chooses them.

mod describe;
mod params;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use midpath_core::roles::{self, Names, Network, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use crate::uec::Uec;
pub(crate) use describe::schemes;
pub use params::EqdsParams;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: EqdsParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Scheme { name: name.to_owned(), params }))
}

/// The scheme.
struct Scheme {
    name: String,
    params: EqdsParams,
}

impl roles::Scheme for Scheme {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn roles::Scheme>>, SpecError> {
        let known = (names.rtt() > Time::ZERO).then(|| names.rtt());
        let params = EqdsParams { rto: self.params.rto.or(known.map(EqdsParams::timeout)), ..self.params };
        Ok(Some(Arc::new(Scheme { name: self.name.clone(), params })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(Uec(self.params.profile())))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }
}
