//! TOTEM's domains in XML (Leduc et al.: "An open source traffic engineering toolbox", Computer
//! Communications 29(5), 2006).
//!
//! `<info>` has the units, `<topology>` nodes and links: each direction is a `<link>` with `<from
//! node="…"/>`, `<to node="…"/>`, `<bw>` and `<delay>`; `<igp>` has a `<metric>` for each.

use roxmltree::Document;
use rustc_hash::FxHashMap;

use super::FormatError;
use super::attributes::{Attribute, Builder};
use super::lines::{at, child, delay, is, rate, required, text_of, xml};
use crate::draft::{Draft, DraftLink};

/// Reads a domain.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let document = xml(text)?;
    let topology = document.descendants().find(|n| is(*n, "topology"));
    let topology = topology.ok_or_else(|| FormatError::whole("no <topology>; is this TOTEM's XML?"))?;
    let (bps, seconds) = (unit(&document, "bandwidth", bandwidth_unit), unit(&document, "delay", delay_unit));
    let metrics = metrics(&document);
    let mut builder = Builder::new(true);
    let mut unitless = 0;
    for node in child(topology, "nodes").into_iter().flat_map(|n| n.children()).filter(|n| is(*n, "node")) {
        let place = child(node, "location");
        let attributes: Vec<Attribute<'_>> =
            ["longitude", "latitude"].into_iter().filter_map(|key| Some((key, place?.attribute(key)?))).collect();
        builder.node(required(node, "id")?, &attributes).map_err(|m| at(node, m))?;
    }
    for link in child(topology, "links").into_iter().flat_map(|n| n.children()).filter(|n| is(*n, "link")) {
        let end = |name: &str| {
            child(link, name)
                .and_then(|e| e.attribute("node"))
                .ok_or_else(|| at(link, format!("a <link> without <{name}>")))
        };
        let number = |name: &str| match text_of(link, name).map(str::parse::<f64>) {
            Some(Err(_)) => Err(at(link, format!("<{name}> is not a number"))),
            Some(Ok(number)) => Ok(Some(number)),
            None => Ok(None),
        };
        let (bw, wait) = (number("bw")?, number("delay")?);
        unitless += usize::from(bw.is_some() && bps.is_none());
        let made = DraftLink {
            rate: bw.zip(bps).and_then(|(bw, unit)| rate(bw, unit)),
            delay: wait.zip(seconds).and_then(|(wait, unit)| delay(wait, unit)),
            weight: link.attribute("id").and_then(|id| metrics.get(id).copied()),
            ..DraftLink::default()
        };
        builder.link(end("from")?, end("to")?, made).map_err(|m| at(link, m))?;
    }
    let mut draft = builder.finish();
    if unitless > 0 {
        draft.unused.push(format!("{unitless} links have a <bw> without <unit type=\"bandwidth\">"));
    }
    Ok(draft)
}

fn unit(document: &Document<'_>, kind: &str, known: fn(&str) -> Option<f64>) -> Option<f64> {
    let found = document.descendants().find(|n| is(*n, "unit") && n.attribute("type") == Some(kind))?;
    known(&found.attribute("value")?.to_ascii_lowercase())
}

fn bandwidth_unit(name: &str) -> Option<f64> {
    match name {
        "bps" => Some(1.0),
        "kbps" => Some(1e3),
        "mbps" => Some(1e6),
        "gbps" => Some(1e9),
        "tbps" => Some(1e12),
        _ => None,
    }
}

fn delay_unit(name: &str) -> Option<f64> {
    match name {
        "s" => Some(1.0),
        "ms" => Some(1e-3),
        "us" | "µs" => Some(1e-6),
        "ns" => Some(1e-9),
        _ => None,
    }
}

/// IGP metrics by the link's id.
fn metrics<'a>(document: &'a Document<'_>) -> FxHashMap<&'a str, f64> {
    let igp = document.descendants().find(|n| is(*n, "igp"));
    let links = igp.into_iter().flat_map(|igp| igp.descendants()).filter(|n| is(*n, "link"));
    let metric = |link: roxmltree::Node<'_, '_>| {
        let found = link.descendants().find(|n| is(*n, "metric"))?.text()?.trim().parse::<f64>().ok()?;
        Some(found).filter(|m| m.is_finite() && *m > 0.0)
    };
    links.filter_map(|l| Some((l.attribute("id")?, metric(l)?))).collect()
}
