//! SNDlib's networks, as native text, as XML and as JSON (Orlowski, Wessäly, Pióro, Tomaszewski: "SNDlib
//! 1.0 – Survivable Network Design Library", Networks 55(3), 2010).
//!
//! A link's capacity is what is installed already, else the one module that may be installed; of
//! several modules none is chosen. The unit is that of the network, which its file rarely states:
//! then capacities wait for `capacity_unit`.
//!
//! SNDlib itself has no JSON. What is read is its native text turned into JSON key by key, as sikorski-as/sndlib has it
//! (commit c06f3ef): `nodes` with `id`, `longitude`, `latitude`; `links` with `source`, `target`,
//! `pre_installed_capacity` and `modules`.

use midpath_core::units::Rate;
use serde::Deserialize;

use super::FormatError;
use super::attributes::{Attribute, Builder};
use super::lines::{Record, at, child, is, rate, required, text_of, xml};
use crate::draft::{Draft, DraftLink};

/// Reads native text.
pub fn parse_native(text: &str, unit: Option<Rate>) -> Result<Draft, FormatError> {
    let mut links = Capacities::new(unit.or_else(|| stated_unit(text)));
    let mut builder = Builder::new(false);
    let mut section = String::new();
    for line in Record::all(text, &['(', ')']) {
        let words = &line.words[..];
        let opens = |name: &str| words == [name];
        match section.as_str() {
            _ if words.is_empty() => section.clear(),
            _ if words[0].starts_with('?') => {}
            _ if opens("NODES") || opens("LINKS") || opens("DEMANDS") || opens("ADMISSIBLE_PATHS") || opens("META") => {
                words[0].clone_into(&mut section);
            }
            "NODES" => native_node(&mut builder, &line)?,
            "LINKS" => native_link(&mut builder, &mut links, &line)?,
            _ => {}
        }
    }
    links.finish(builder.finish())
}

/// `unit = MBITPERSEC` of the heading.
fn stated_unit(text: &str) -> Option<Rate> {
    let head = text.lines().take_while(|l| !l.starts_with("NODES")).find_map(|l| l.split_once("unit"))?.1;
    let word: String = head.chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| c.is_alphabetic()).collect();
    Rate::of_unit(&word)
}

fn native_node(builder: &mut Builder, line: &Record<'_>) -> Result<(), FormatError> {
    let id = line.word(0, "id of a node")?;
    let attributes: Vec<Attribute<'_>> = match line.words[1..] {
        [x, y] => vec![("x", x), ("y", y)],
        _ => Vec::new(),
    };
    builder.node(id, &attributes).map_err(|m| line.error(m))
}

/// `id ( source target ) installed cost routing setup ( {capacity cost}… )`
fn native_link(builder: &mut Builder, links: &mut Capacities, line: &Record<'_>) -> Result<(), FormatError> {
    let (source, target) = (line.word(1, "source")?, line.word(2, "target")?);
    let installed = if line.words.len() > 3 { line.parse::<f64>(3, "capacity")? } else { 0.0 };
    let modules = (7..line.words.len()).step_by(2).map(|i| line.parse::<f64>(i, "capacity of a module"));
    links.push(installed, &modules.collect::<Result<Vec<f64>, _>>()?);
    builder.edge(source, target, &[]).map_err(|m| line.error(m))
}

/// Reads XML.
pub fn parse_xml(text: &str, unit: Option<Rate>) -> Result<Draft, FormatError> {
    let document = xml(text)?;
    let structure = document.descendants().find(|n| is(*n, "networkStructure"));
    let structure = structure.ok_or_else(|| FormatError::whole("no <networkStructure>; is this SNDlib's XML?"))?;
    let unit = unit.or_else(|| document.descendants().find_map(|n| Rate::of_unit(text_of(n, "unit")?)));
    let (mut links, mut builder) = (Capacities::new(unit), Builder::new(false));
    let of = |list: &str, item: &'static str| {
        let list = child(structure, list);
        list.into_iter().flat_map(move |list| list.children().filter(move |n| is(*n, item))).collect::<Vec<_>>()
    };
    for node in of("nodes", "node") {
        let place = child(node, "coordinates");
        let number = |key: &str| place.and_then(|p| text_of(p, key));
        let attributes: Vec<Attribute<'_>> =
            [("x", number("x")), ("y", number("y"))].into_iter().filter_map(|(k, v)| Some((k, v?))).collect();
        builder.node(required(node, "id")?, &attributes).map_err(|m| at(node, m))?;
    }
    for link in of("links", "link") {
        let end = |name: &str| text_of(link, name).ok_or_else(|| at(link, format!("a <link> without <{name}>")));
        let capacity = |module| match text_of(module, "capacity").map(str::parse::<f64>) {
            Some(Ok(capacity)) => Ok(capacity),
            _ => Err(at(module, "a module without a number as its <capacity>")),
        };
        let installed = child(link, "preInstalledModule").map_or(Ok(0.0), capacity)?;
        let modules = child(link, "additionalModules").into_iter().flat_map(|m| m.children());
        let modules = modules.filter(|m| is(*m, "addModule")).map(capacity).collect::<Result<Vec<f64>, _>>()?;
        links.push(installed, &modules);
        builder.edge(end("source")?, end("target")?, &[]).map_err(|m| at(link, m))?;
    }
    links.finish(builder.finish())
}

#[derive(Deserialize)]
struct Json {
    nodes: Vec<JsonNode>,
    links: Vec<JsonLink>,
}

#[derive(Deserialize)]
struct JsonNode {
    id: String,
    longitude: Option<f64>,
    latitude: Option<f64>,
}

#[derive(Deserialize)]
struct JsonLink {
    source: String,
    target: String,
    #[serde(default)]
    pre_installed_capacity: f64,
    #[serde(default)]
    modules: Vec<JsonModule>,
}

#[derive(Deserialize)]
struct JsonModule {
    module_capacity: f64,
}

/// Reads JSON.
pub fn parse_json(text: &str, unit: Option<Rate>) -> Result<Draft, FormatError> {
    let network: Json = serde_json::from_str(text)
        .map_err(|e| FormatError::at(e.line().max(1), format!("not SNDlib's network in JSON: {e}")))?;
    let (mut links, mut builder) = (Capacities::new(unit), Builder::new(false));
    let entry = |list: &str, i: usize, m: String| FormatError::whole(format!("{list}[{i}]: {m}"));
    for (i, node) in network.nodes.iter().enumerate() {
        let place = node.longitude.zip(node.latitude).map(|(x, y)| [x.to_string(), y.to_string()]);
        let attributes = place.as_ref().map(|[x, y]| [("x", x.as_str()), ("y", y.as_str())]);
        let attributes: &[Attribute<'_>] = attributes.as_ref().map_or(&[], |both| both);
        builder.node(&node.id, attributes).map_err(|m| entry("nodes", i, m))?;
    }
    for (i, link) in network.links.iter().enumerate() {
        let modules: Vec<f64> = link.modules.iter().map(|m| m.module_capacity).collect();
        links.push(link.pre_installed_capacity, &modules);
        builder.edge(&link.source, &link.target, &[]).map_err(|m| entry("links", i, m))?;
    }
    links.finish(builder.finish())
}

/// Capacities of the links, in their order.
struct Capacities {
    unit: Option<Rate>,
    of: Vec<f64>,
    several: usize,
}

impl Capacities {
    fn new(unit: Option<Rate>) -> Capacities {
        Capacities { unit, of: Vec::new(), several: 0 }
    }

    fn push(&mut self, installed: f64, modules: &[f64]) {
        self.several += usize::from(installed == 0.0 && modules.len() > 1);
        self.of.push(match modules {
            [only] if installed == 0.0 => *only,
            _ => installed,
        });
    }

    fn finish(self, mut draft: Draft) -> Result<Draft, FormatError> {
        let stated = self.of.iter().filter(|c| **c != 0.0).count();
        match self.unit {
            Some(unit) => draft.links.iter_mut().zip(&self.of).for_each(|(link, c)| set(link, *c, unit)),
            None if stated > 0 => draft.unused.push(super::no_unit(stated)),
            None => {}
        }
        if self.several > 0 {
            draft.unused.push(format!(
                "{} links have no installed capacity but a choice of modules: they get no capacity",
                self.several
            ));
        }
        Ok(draft)
    }
}

fn set(link: &mut DraftLink, capacity: f64, unit: Rate) {
    link.rate = rate(capacity, unit.as_f64());
}
