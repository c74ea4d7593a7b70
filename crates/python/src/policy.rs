//! FCP policies written in Python: called by the simulator's thread whenever a host's budget is to
//! be split.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use midpath_schemes::policies::{CustomPolicies, Factory, GroupView, Policy, build_with};
use midpath_schemes::{Catalogue, params};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Why a policy or a controller failed: the first exception. The run is stopped by it.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Keeps the first error.
    pub(crate) fn set(&self, error: PyErr) {
        if let Ok(mut slot) = self.0.lock() {
            slot.get_or_insert(error);
        }
    }
    /// Whether there is one.
    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().is_ok_and(|slot| slot.is_some())
    }
    /// The error.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().ok().and_then(|mut slot| slot.take())
    }
}

/// The simulator's schemes, with `policies` (functions that make policies) for FCP.
pub(crate) fn catalogue(policies: Option<BTreeMap<String, Py<PyAny>>>, failure: &Failure) -> Catalogue {
    let Some(policies) = policies else { return crate::schemes::catalogue() };
    let custom: CustomPolicies =
        policies.into_iter().map(|(name, make)| (name.clone(), factory(name, make, failure.clone()))).collect();
    crate::schemes::catalogue().with("fcp", move |table| build_with("fcp", params::read(table)?, custom.clone()))
}

fn factory(name: String, make: Py<PyAny>, failure: Failure) -> Factory {
    Arc::new(move || {
        let policy = Python::attach(|py| make.call0(py)).map_err(|e| failure.set(e)).ok();
        Box::new(InPython { name: name.clone(), policy, failure: failure.clone() })
    })
}

/// One group's policy on one host.
struct InPython {
    name: String,
    /// What is called; none if it could not be made.
    policy: Option<Py<PyAny>>,
    failure: Failure,
}

impl InPython {
    fn ask(&self, py: Python<'_>, group: &GroupView<'_>) -> PyResult<Vec<f64>> {
        let Some(policy) = &self.policy else { return Ok(vec![0.0; group.flows.len()]) };
        let flows: Vec<_> = group
            .flows
            .iter()
            .map(|f| (f.flow.0.0, f.weight, f.target, f.spending, f.price, f.rtt, f.rate()))
            .collect();
        let answer = policy.call1(py, (group.now.as_secs_f64(), group.budget, group.rtt, group.changed, flows))?;
        let targets: Vec<f64> = answer.extract(py)?;
        if targets.len() == group.flows.len() {
            return Ok(targets);
        }
        let (got, wanted) = (targets.len(), group.flows.len());
        Err(PyValueError::new_err(format!("the policy `{}` returned {got} budgets for {wanted} flows", self.name)))
    }
}

impl Policy for InPython {
    fn assign(&mut self, group: &GroupView<'_>, targets: &mut [f64]) {
        if self.failure.is_set() {
            return;
        }
        match Python::attach(|py| self.ask(py, group)) {
            Ok(answer) => targets.copy_from_slice(&answer),
            Err(error) => self.failure.set(error),
        }
    }
}
