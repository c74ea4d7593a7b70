//! Rates, delays and the rest of each link: rules, then the table's word, then the source's, then
//! the defaults.

use midpath_core::spec::SpecError;
use midpath_core::units::{Ratio, Time};

use super::{DelaySpec, RuleSpec, TopologySpec, source};
use crate::classes;
use crate::draft::{Draft, DraftLink, DraftNode};
use crate::geo;
use crate::graph::NodeKind;
use crate::suggest;

/// Completes every link of the draft.
pub fn links(spec: &TopologySpec, draft: &mut Draft, min_delay: Time) -> Result<(), SpecError> {
    check_rules(&spec.rules, &draft.nodes)?;
    let Draft { nodes, links, unused, .. } = draft;
    let mut without_distance = 0;
    for (i, link) in links.iter_mut().enumerate() {
        let ends = (&nodes[link.a], &nodes[link.b]);
        let rules: Vec<(usize, &RuleSpec)> = spec.rules.iter().enumerate().filter(|(_, r)| matches(r, ends)).collect();
        details(&rules, link);
        rate(spec, &rules, link).ok_or_else(|| no_rate(spec, i, ends))?;
        without_distance += usize::from(delay(spec, &rules, i, link, ends, min_delay)?);
    }
    if let Some(fallback) = spec.default_delay.filter(|_| without_distance > 0) {
        let all = links.len();
        unused.push(format!(
            "{without_distance} of {all} links have no length, as an end has no position: they get \
                default_delay = \"{fallback}\""
        ));
    }
    Ok(())
}

fn check_rules(rules: &[RuleSpec], nodes: &[DraftNode]) -> Result<(), SpecError> {
    let mut known = vec!["*", "host", "router", classes::EDGE, classes::GATEWAY, classes::BACKBONE];
    for class in nodes.iter().filter_map(|n| n.class.as_deref()) {
        if !known.contains(&class) {
            known.push(class);
        }
    }
    for (i, rule) in rules.iter().enumerate() {
        for (key, class) in [("from", rule.from.as_str()), ("to", rule.to.as_str())] {
            if !known.contains(&class) {
                let message = suggest::unknown("class", class, known.iter().copied());
                return Err(SpecError::new(format!("rules[{i}].{key}"), message));
            }
        }
    }
    Ok(())
}

fn matches(rule: &RuleSpec, (a, b): (&DraftNode, &DraftNode)) -> bool {
    let is = |class: &str, node: &DraftNode| match class {
        "*" => true,
        "host" => node.kind == Some(NodeKind::Host),
        "router" => node.kind != Some(NodeKind::Host),
        class => node.class.as_deref() == Some(class),
    };
    (is(&rule.from, a) && is(&rule.to, b)) || (is(&rule.from, b) && is(&rule.to, a))
}

/// What the first rule that states it says.
fn first<T>(rules: &[(usize, &RuleSpec)], stated: impl Fn(&RuleSpec) -> Option<T>) -> Option<(usize, T)> {
    rules.iter().find_map(|&(i, r)| Some((i, stated(r)?)))
}

fn details(rules: &[(usize, &RuleSpec)], link: &mut DraftLink) {
    let said = |x: Option<(usize, f64)>| x.map(|x| x.1);
    link.weight = said(first(rules, |r| r.weight)).or(link.weight);
    link.mtu = first(rules, |r| r.mtu).map(|x| x.1).or(link.mtu);
    link.corruption = said(first(rules, |r| r.corruption.map(Ratio::as_f64))).unwrap_or(link.corruption);
    link.queue = first(rules, |r| r.queue.clone()).map(|x| x.1).or_else(|| link.queue.take());
}

fn rate(spec: &TopologySpec, rules: &[(usize, &RuleSpec)], link: &mut DraftLink) -> Option<()> {
    if let Some(imposed) = first(rules, |r| r.rate).map(|x| x.1).or(spec.rate) {
        link.rate = Some(imposed);
        link.rate_back = None;
    }
    link.rate = link.rate.or(spec.default_rate);
    link.rate.map(|_| ())
}

fn no_rate(spec: &TopologySpec, i: usize, (a, b): (&DraftNode, &DraftNode)) -> SpecError {
    if spec.links.is_some() {
        let message = "the link has no rate; write one, such as rate = \"10 Mbps\", or `default_rate` for all";
        return SpecError::new(format!("links[{i}].rate"), message);
    }
    let message = format!(
        "the link `{}` – `{}` has no rate; write default_rate = \"10 Gbps\" (for example), `rate`, or `rules`",
        a.name, b.name
    );
    SpecError::new(source::key(spec), message)
}

/// Decides a link's delay, and says whether it is `default_delay` for want of a distance.
fn delay(
    spec: &TopologySpec,
    rules: &[(usize, &RuleSpec)],
    i: usize,
    link: &mut DraftLink,
    ends: (&DraftNode, &DraftNode),
    min_delay: Time,
) -> Result<bool, SpecError> {
    let written = spec.links.as_ref().and_then(|l| l.get(i)?.delay).filter(|d| *d == DelaySpec::Distance);
    let (key, chosen) = if let Some((rule, delay)) = first(rules, |r| r.delay) {
        (format!("rules[{rule}].delay"), delay)
    } else if let Some(delay) = spec.delay {
        ("delay".to_owned(), delay)
    } else if let Some(delay) = written {
        (format!("links[{i}].delay"), delay)
    } else if let Some(delay) = link.delay {
        (String::new(), DelaySpec::Constant(delay))
    } else {
        let key = if spec.links.is_some() { format!("links[{i}].delay") } else { "default_delay".to_owned() };
        (key, spec.default_delay.unwrap_or(DelaySpec::Distance))
    };
    let (delay, fell_back) = match (chosen, spec.default_delay) {
        (DelaySpec::Constant(t), _) => (t, false),
        (DelaySpec::Distance, Some(DelaySpec::Constant(t))) if has_no_distance(link, ends) => (t, true),
        (DelaySpec::Distance, _) => {
            let km = length_km(link, ends).map_err(|m| SpecError::new(key, m))?;
            (geo::fibre_delay(km).max(min_delay), false)
        }
    };
    link.delay = Some(delay);
    Ok(fell_back)
}

/// Whether the source states neither the link's length nor where both ends are.
fn has_no_distance(link: &DraftLink, (a, b): (&DraftNode, &DraftNode)) -> bool {
    link.length_km.is_none() && (a.pos.is_none() || b.pos.is_none())
}

fn length_km(link: &DraftLink, (a, b): (&DraftNode, &DraftNode)) -> Result<f64, String> {
    if let Some(km) = link.length_km {
        let ok = km.is_finite() && (0.0..=1e6).contains(&km);
        return if ok { Ok(km) } else { Err(format!("`{}` – `{}`: {km} km is not a length", a.name, b.name)) };
    }
    let position = |n: &DraftNode| match n.pos {
        Some(pos) if geo::is_geographic(pos) => Ok(pos),
        Some((x, y)) => Err(format!("`{}` is at {x}, {y}, which is not a longitude and latitude in degrees", n.name)),
        None => Err(format!(
            "the link `{}` – `{}` has no delay, and no length, as `{}` has no position; write one, such as \
                default_delay = \"5 ms\" for all links without a length",
            a.name, b.name, n.name
        )),
    };
    Ok(geo::great_circle_km(position(a)?, position(b)?))
}
