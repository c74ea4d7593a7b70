//! Selects a port's discipline by the parameters.

use midpath_core::packet::Packet;
use midpath_core::queue::{Classes, Discipline, Limit, Loss, Queue, QueueSpec, Room, Share};
use midpath_core::roles::PortSpec;

use super::enforce::Edge;
use super::header::{Class, FcpHeader};
use super::network::{Aggregate, Basis, Deadline, Exchange, Metro, Stability, Uniform};
use super::params::additions::LEAST_PACKETS;
use super::params::{Additions, PricingKind};
use super::port::FcpPort;
use super::pricing::Pricing;
use super::resolved::Resolved;

/// The least window of a port, s.
fn least_window(spec: &PortSpec, additions: Additions) -> f64 {
    let packets = if additions.least_packets { LEAST_PACKETS } else { 0 };
    f64::from(packets) * f64::from(spec.link.mtu) * 8.0 / spec.link.rate.as_f64()
}

/// The discipline of a port.
pub fn port(params: &Resolved, spec: &PortSpec) -> Discipline {
    if params.given.network.pricing == PricingKind::Metro {
        return metro(spec, |all| admission(params, all));
    }
    // What most ports do is compiled together.
    if params.given.network.pricing == PricingKind::Uniform {
        return Queue::of(with(params, spec, |basis| uniform(params, basis))).discipline();
    }
    Queue::of(admission(params, spec)).discipline()
}

fn uniform(params: &Resolved, basis: Basis) -> Uniform {
    Uniform::new(basis.rule, basis.rtt)
        .at_least(basis.least)
        .catching_up(params.additions().catch_up)
        .on_departure(basis.on_departure)
}

/// The rule of a port: it prices, and refuses what finds no room.
pub fn admission(params: &Resolved, spec: &PortSpec) -> FcpPort {
    let network = &params.given.network;
    with(params, spec, |basis| match network.pricing {
        PricingKind::Uniform => Box::new(uniform(params, basis)) as Box<dyn Pricing>,
        PricingKind::Stability => Box::new(Stability::new(basis)),
        PricingKind::Deadline => Box::new(Deadline::new(basis, network.deadline_share)),
        PricingKind::Aggregate => Box::new(Aggregate::new(basis, &network.tenants)),
        PricingKind::Metro => Box::new(Metro::new(basis, network.metro_factor)),
    })
}

/// The rule of a port that prices like this.
fn with<P: Pricing>(params: &Resolved, spec: &PortSpec, pricing: impl FnOnce(Basis) -> P) -> FcpPort<P> {
    let (rule, network) = (params.rule(), &params.given.network);
    let (rtt, least) = (spec.rtt.as_secs_f64(), least_window(spec, rule.additions));
    let basis = Basis { rule, rtt, least, on_departure: spec.pulled };
    FcpPort::new(spec, pricing(basis), &rule, Edge::new(params, spec))
        .perturbed(network.perturbation)
        .translating(Exchange::new(params, spec, basis))
}

/// A port with two FIFOs, the priority one served first. Each holds what the scenario's queue limit
/// says. `rule` prices both by what waits in them together.
fn metro(spec: &PortSpec, rule: impl FnOnce(&PortSpec) -> FcpPort) -> Discipline {
    let bound = spec.queue.limit.bound(spec.link.rate);
    // The rule sees both queues; whether there is room is said queue by queue.
    let all = PortSpec { queue: QueueSpec::fifo(Limit::Packets(u64::MAX)), ..*spec };
    let classes = Classes::new(2, Room::Each(bound), Share::Strict, |packet| usize::from(!paid(packet)));
    Queue::new(rule(&all), classes, Loss).discipline()
}

/// Who paid for priority gets it; acknowledgements and other schemes' packets pay for nothing.
fn paid(packet: &Packet) -> bool {
    packet.header::<FcpHeader>().is_some_and(|h| h.class == Class::Priority && !h.echo)
}
