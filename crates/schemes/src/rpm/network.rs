//! The switch.

use std::any::Any;
use std::sync::Arc;

use midpath_core::pfc::NO_LIMIT;
use midpath_core::queue::Loss;
use midpath_core::queue::{AqmSpec, CodelParams, Discipline, QueueSpec, SignalSpec};
use midpath_core::roles::{Network, NodeSpec, Parts, PortSpec};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use super::params::{Mode, RpmParams, Variant};
use super::registers::Registers;
use super::signal::Rpm;

/// The paper's parameters of CoDel (§V-B).
const PAPER: CodelParams = CodelParams { target: Time::from_ms(1), interval: Time::from_ms(20) };

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: RpmParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: None, network: Some(Arc::new(Switch(params))) }))
}

/// A switch under RPM.
struct Switch(RpmParams);

impl Switch {
    /// The AQM of a port whose queue has none.
    const fn codel(&self) -> AqmSpec {
        match self.0.codel {
            Variant::Rfc8289 => AqmSpec::Codel(PAPER),
            Variant::DataPlane => AqmSpec::CodelDataPlane(PAPER),
        }
    }

    /// The port's queue, with the AQM that it is to have.
    fn queue(&self, asked: QueueSpec) -> Result<QueueSpec, SpecError> {
        if asked.signal == SignalSpec::Drop {
            return Err(SpecError::new("signal", "must be \"ce\": `mode` of `rpm` selects the signal"));
        }
        if self.0.mode == Mode::Drop && asked.limit == NO_LIMIT {
            return Err(SpecError::new(
                "kind",
                "an AQM drops nothing in a lossless class of [pfc]: no `mode = \"drop\"`",
            ));
        }
        let aqm = match (self.0.mode, asked.aqm) {
            (Mode::Off, _) => AqmSpec::DropTail,
            (_, AqmSpec::DropTail) => self.codel(),
            (_, aqm) => aqm,
        };
        Ok(QueueSpec { aqm, ..asked })
    }
}

impl Network for Switch {
    fn state(&self, _node: &NodeSpec<'_>) -> Option<Box<dyn Any + Send>> {
        self.0.uses_registers().then(|| Box::new(Registers::new(&self.0)) as Box<dyn Any + Send>)
    }

    fn port(&self, port: &PortSpec, _node: &NodeSpec<'_>) -> Result<Discipline, SpecError> {
        let (queue, rate) = (self.queue(port.queue)?, port.link.rate);
        Ok(match self.0.mode {
            Mode::Off => queue.build(rate),
            Mode::Drop => queue.build_with(Loss, rate),
            Mode::Fwd | Mode::Rpm | Mode::Both => queue.build_with(Rpm::new(&self.0), rate),
        })
    }
}
