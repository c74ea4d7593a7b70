//! How networks price: one file for each policy of §4.1 to §4.3.

mod lane;
mod stability;
mod uniform;

pub use stability::Stability;
pub use uniform::Uniform;

use midpath_core::queue::Discipline;
use midpath_core::roles::PortSpec;

use super::params::{Kind, Plan};
use super::port::{FcpPort, Pricing};

/// The port that the plan asks for.
pub fn port(plan: &Plan, spec: &PortSpec) -> Discipline {
    let rule = plan.rule();
    let rtt = spec.rtt.as_secs_f64();
    let pricing: Box<dyn Pricing> = match plan.params.network.pricing {
        Kind::Uniform => Box::new(Uniform::new(rule, rtt)),
        Kind::Stability => Box::new(Stability::new(rule, rtt)),
    };
    Discipline::Timetable(Box::new(FcpPort::new(spec, pricing, rule.minimum, None)))
}
