//! Values that no link can have, blamed on the key that states them.

use midpath_core::spec::SpecError;
use midpath_core::units::{Ratio, Time};

use super::{DelaySpec, HostsSpec, RuleSpec, TopologySpec};
use crate::generate::LinkParams;
use crate::graph::{check_corruption, check_longest, check_mtu, check_rate, check_weight};

/// Checks every rate, MTU, weight and loss that the table states outside of `links`, which are
/// checked one by one later.
pub fn values(spec: &TopologySpec) -> Result<(), SpecError> {
    if spec.min_delay == Some(Time::ZERO) {
        return Err(SpecError::new("min_delay", "a link needs a delay above zero, such as \"1 us\""));
    }
    check_rate("rate", spec.rate)?;
    check_rate("default_rate", spec.default_rate)?;
    check_longest("min_delay", spec.min_delay)?;
    check_longest("delay", constant(spec.delay))?;
    check_longest("default_delay", constant(spec.default_delay))?;
    for (i, delay) in spec.access_delays.iter().flatten().enumerate() {
        check_longest(&format!("access_delays[{i}]"), Some(*delay))?;
    }
    for (key, params) in [("link", &spec.link), ("access", &spec.access), ("bottleneck", &spec.bottleneck)] {
        params.as_ref().map_or(Ok(()), check_params).map_err(|e| e.under(key))?;
    }
    for (i, rule) in spec.rules.iter().enumerate() {
        check_rule(rule).map_err(|e| e.under(&format!("rules[{i}]")))?;
    }
    spec.hosts.as_ref().map_or(Ok(()), check_hosts).map_err(|e| e.under("hosts"))
}

fn constant(delay: Option<DelaySpec>) -> Option<Time> {
    match delay {
        Some(DelaySpec::Constant(time)) => Some(time),
        Some(DelaySpec::Distance) | None => None,
    }
}

fn check_params(p: &LinkParams) -> Result<(), SpecError> {
    check_rate("rate", Some(p.rate))?;
    check_longest("delay", p.delay)?;
    check_mtu("mtu", p.mtu)?;
    check_corruption("corruption", p.corruption.map(Ratio::as_f64))
}

fn check_rule(r: &RuleSpec) -> Result<(), SpecError> {
    check_rate("rate", r.rate)?;
    check_longest("delay", constant(r.delay))?;
    check_mtu("mtu", r.mtu)?;
    check_weight("weight", r.weight)?;
    check_corruption("corruption", r.corruption.map(Ratio::as_f64))
}

fn check_hosts(h: &HostsSpec) -> Result<(), SpecError> {
    check_rate("rate", h.rate)?;
    check_longest("delay", h.delay)?;
    check_mtu("mtu", h.mtu)
}
