//! How networks price: one file for each policy of §4.1 to §4.3.

mod aggregate;
mod deadline;
mod domain;
mod metro;
mod stability;
mod uniform;
mod virtual_queue;

pub use aggregate::Aggregate;
pub use deadline::Deadline;
pub use domain::{Border, Exchange};
pub use metro::Metro;
pub use stability::Stability;
pub use uniform::Uniform;
pub use virtual_queue::{Basis, VirtualQueue};

use midpath_core::queue::{Discipline, Queue};
use midpath_core::roles::PortSpec;

use super::enforce::Edge;
use super::params::{Kind, Plan};
use super::port::{FcpPort, Pricing};

/// Groups with currencies of their own at most. Ours: each has a window and a price history at each
/// port.
pub const MOST_GROUPS: usize = 64;

/// The least window of a port, s.
fn least_window(spec: &PortSpec, packets: u32) -> f64 {
    f64::from(packets) * f64::from(spec.link.mtu) * 8.0 / spec.link.rate.as_f64()
}

/// The port that the plan asks for.
pub fn port(plan: &Plan, spec: &PortSpec) -> Discipline {
    if plan.params.network.pricing == Kind::Metro {
        return metro::port(spec, |all| admission(plan, all));
    }
    // What most ports do is compiled together.
    if plan.params.network.pricing == Kind::Uniform {
        return Discipline::of(Queue::of(with(plan, spec, |basis| uniform(plan, basis))));
    }
    Discipline::of(Queue::of(admission(plan, spec)))
}

fn uniform(plan: &Plan, basis: Basis) -> Uniform {
    let network = &plan.params.network;
    Uniform::new(basis.rule, basis.rtt).at_least(basis.least).catching_up(network.catch_up)
}

/// The rule of a port: it prices, and refuses what finds no room.
pub fn admission(plan: &Plan, spec: &PortSpec) -> FcpPort {
    let network = &plan.params.network;
    with(plan, spec, |basis| match network.pricing {
        Kind::Uniform => Box::new(uniform(plan, basis)) as Box<dyn Pricing>,
        Kind::Stability => Box::new(Stability::new(basis)),
        Kind::Deadline => Box::new(Deadline::new(basis, network.deadline_share)),
        Kind::Aggregate => Box::new(Aggregate::new(basis, &network.tenants)),
        Kind::Metro => Box::new(Metro::new(basis, network.metro_factor)),
    })
}

/// The rule of a port that prices like this.
fn with<P: Pricing>(plan: &Plan, spec: &PortSpec, pricing: impl FnOnce(Basis) -> P) -> FcpPort<P> {
    let (rule, network) = (plan.rule(), &plan.params.network);
    let basis = Basis { rule, rtt: spec.rtt.as_secs_f64(), least: least_window(spec, rule.additions.least_packets) };
    FcpPort::new(spec, pricing(basis), &rule, Edge::new(plan, spec))
        .perturbed(network.perturbation)
        .translating(Exchange::new(plan, spec, basis))
}
