//! What node and edge attributes mean, alike for GraphML, GML and node-link JSON.

use std::collections::BTreeMap;
use std::str::FromStr;

use midpath_core::units::{Rate, Ratio};
use rustc_hash::FxHashMap;

use crate::draft::{Draft, DraftLink, DraftNode, MAX_POPULATION};
use crate::graph::{MAX_LINKS, MAX_NODES, NodeKind};

/// Builds a draft from nodes with identifiers and edges between them.
#[derive(Default)]
pub(super) struct Builder {
    draft: Draft,
    index: FxHashMap<String, usize>,
    /// In a directed graph: edges whose opposite has not come yet, by (source, target).
    one_way: Option<FxHashMap<(usize, usize), Vec<usize>>>,
    /// Attributes left out for want of a unit, with how often.
    unitless: BTreeMap<String, usize>,
    /// Attributes whose values mean nothing here: how often, and the first.
    unused: BTreeMap<String, (usize, String)>,
    /// What 1 is of a capacity without a unit.
    capacity_unit: Option<Rate>,
}

/// An attribute's name and its value as text.
pub(super) type Attribute<'a> = (&'a str, &'a str);

impl Builder {
    /// For a graph whose edges are one-way (`directed`) or not. A one-way edge and its opposite
    /// make one link.
    pub fn new(directed: bool) -> Builder {
        Builder { one_way: directed.then(FxHashMap::default), ..Builder::default() }
    }

    /// With the unit of capacities that state none.
    #[must_use]
    pub fn with_unit(self, capacity_unit: Option<Rate>) -> Builder {
        Builder { capacity_unit, ..self }
    }

    /// Adds a node.
    pub fn node(&mut self, id: &str, attributes: &[Attribute<'_>]) -> Result<(), String> {
        if self.draft.nodes.len() >= MAX_NODES {
            return Err(format!("more than {MAX_NODES} nodes"));
        }
        if self.index.insert(id.to_owned(), self.draft.nodes.len()).is_some() {
            return Err(format!("a second node with the id `{}`; ids are unique", short(id)));
        }
        for (name, value) in attributes.iter().filter(|(name, value)| is_no_population(name, value)) {
            self.leave_out(name, value);
        }
        self.draft.nodes.push(node(id, attributes)?);
        Ok(())
    }

    /// Adds an edge between two nodes that have been added.
    pub fn edge(&mut self, source: &str, target: &str, attributes: &[Attribute<'_>]) -> Result<(), String> {
        let mut link = DraftLink::default();
        let mut speed = Speed::default();
        for &(name, value) in attributes {
            self.link_attribute(&mut link, &mut speed, name, value)?;
        }
        if link.rate.is_none() {
            link.rate = speed.rate();
            if let Some((name, value)) = speed.unused().filter(|_| link.rate.is_none()) {
                self.leave_out(name, &value);
            }
        }
        self.link(source, target, link)
    }

    /// Adds a link between two nodes that have been added.
    pub fn link(&mut self, source: &str, target: &str, link: DraftLink) -> Result<(), String> {
        if self.draft.links.len() >= MAX_LINKS {
            return Err(format!("more than {MAX_LINKS} links"));
        }
        let (a, b) = (self.find("source", source)?, self.find("target", target)?);
        let link = DraftLink { a, b, ..link };
        if !self.is_way_back(&link) {
            self.draft.links.push(link);
        }
        Ok(())
    }

    /// Remembers a value that is not used.
    fn leave_out(&mut self, name: &str, value: &str) {
        self.unused.entry(name.to_owned()).or_insert_with(|| (0, short(value))).0 += 1;
    }

    fn find(&self, end: &str, id: &str) -> Result<usize, String> {
        self.index.get(id).copied().ok_or_else(|| format!("{end} `{}` is not the id of a node", short(id)))
    }

    /// In a directed graph, merges an edge into its opposite, if that has come and has no way back
    /// yet.
    fn is_way_back(&mut self, link: &DraftLink) -> bool {
        let Some(one_way) = &mut self.one_way else { return false };
        if let Some(there) = one_way.get_mut(&(link.b, link.a)).and_then(Vec::pop) {
            let there = &mut self.draft.links[there];
            there.rate_back = link.rate.filter(|_| link.rate != there.rate);
            return true;
        }
        one_way.entry((link.a, link.b)).or_default().push(self.draft.links.len());
        false
    }

    fn link_attribute(
        &mut self,
        link: &mut DraftLink,
        speed: &mut Speed,
        name: &str,
        value: &str,
    ) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "rate" | "capacity" | "bandwidth" => link.rate = self.rate(name, value)?.or(link.rate),
            "delay" | "latency" => link.delay = self.quantity(name, value)?.or(link.delay),
            "linkspeedraw" => speed.raw = Some(number(name, value)?),
            // Sometimes a range or a remark ("<10"): then the speed stays unknown.
            "linkspeed" => (speed.value, speed.text) = (value.trim().parse().ok(), Some(value.trim().to_owned())),
            "linkspeedunits" => speed.unit = value.trim().chars().next(),
            "linktype" => speed.optical_carrier = value.trim().strip_prefix("OC-").and_then(|n| n.parse().ok()),
            "weight" | "cost" | "metric" => link.weight = Some(number(name, value)?),
            "dist" | "length_km" => link.length_km = Some(number(name, value)?),
            "mtu" => {
                link.mtu = Some(value.trim().parse().map_err(|_| format!("mtu `{}` is not in bytes", short(value)))?)
            }
            "corruption" => link.corruption = value.parse::<Ratio>().map_err(|e| e.to_string())?.as_f64(),
            _ => {}
        }
        Ok(())
    }

    /// A rate; a bare number counts capacity units, if somebody said what these are.
    fn rate(&mut self, name: &str, value: &str) -> Result<Option<Rate>, String> {
        match (self.capacity_unit, value.trim().parse::<f64>()) {
            (Some(unit), Ok(amount)) => Ok(super::lines::rate(amount, unit.as_f64())),
            _ => self.quantity(name, value),
        }
    }

    /// A quantity with its unit. A bare number is left out, and remembered: its unit would be a
    /// guess.
    fn quantity<T: FromStr<Err = midpath_core::units::UnitError>>(
        &mut self,
        name: &str,
        value: &str,
    ) -> Result<Option<T>, String> {
        if value.trim().parse::<f64>().is_ok() {
            *self.unitless.entry(name.to_owned()).or_default() += 1;
            return Ok(None);
        }
        value.parse().map(Some).map_err(|e| format!("{name}: {e}"))
    }

    /// The draft, with a remark on each thing that was left out.
    pub fn finish(mut self) -> Draft {
        for (name, count) in self.unitless {
            self.draft.unused.push(format!(
                "{count} links have a `{name}` without a unit, which is ignored: write it like \"10 Gbps\" or \
                    \"5 ms\", or set `capacity_unit` for rates"
            ));
        }
        for (name, (count, first)) in self.unused {
            let of = if count == 1 { format!("`{first}`") } else { format!("`{first}` and {} more", count - 1) };
            self.draft.unused.push(format!("`{name}` of {of} holds no usable value and is ignored"));
        }
        let unmatched = self.one_way.map_or(0, |m| m.values().map(Vec::len).sum::<usize>());
        if unmatched > 0 {
            self.draft.notes.push(format!("{unmatched} one-way edges became links both ways"));
        }
        self.draft
    }
}

/// Line rate of SONET's OC-1 (ANSI T1.105); OC-n is n times that.
const OC_1_BPS: f64 = 51.84e6;

/// The Topology Zoo's ways to state a link's speed.
#[derive(Default)]
struct Speed {
    /// n of a SONET OC-n.
    optical_carrier: Option<f64>,
    raw: Option<f64>,
    value: Option<f64>,
    /// What `value` was read from.
    text: Option<String>,
    unit: Option<char>,
}

impl Speed {
    fn rate(&self) -> Option<Rate> {
        let stated = self.raw.or_else(|| Some(self.value? * self.scale()?));
        let bps = stated.or_else(|| Some(self.optical_carrier? * OC_1_BPS))?;
        // Zero means "not known" in the Topology Zoo.
        (1.0..1e18).contains(&bps).then(|| Rate(bps.round() as u64))
    }

    /// What is stated and gives no rate. Zero is how the Topology Zoo says that it does not know.
    fn unused(&self) -> Option<(&'static str, String)> {
        match (self.raw, &self.text) {
            (Some(raw), _) => (raw != 0.0).then(|| ("LinkSpeedRaw", format!("{raw:e}"))),
            (None, Some(text)) => (self.value != Some(0.0)).then(|| ("LinkSpeed", text.clone())),
            (None, None) => None,
        }
    }

    fn scale(&self) -> Option<f64> {
        match self.unit?.to_ascii_uppercase() {
            'T' => Some(1e12),
            'G' => Some(1e9),
            'M' => Some(1e6),
            'K' => Some(1e3),
            _ => None,
        }
    }
}

fn node(id: &str, attributes: &[Attribute<'_>]) -> Result<DraftNode, String> {
    let mut node = DraftNode::default();
    let (mut name, mut x, mut y) = (None, None, None);
    for &(key, value) in attributes {
        match key.to_ascii_lowercase().as_str() {
            "name" => name = Some(value),
            "label" => name = name.or(Some(value)),
            "longitude" | "lon" | "x" => x = Some(number(key, value)?),
            "latitude" | "lat" | "y" => y = Some(number(key, value)?),
            "kind" | "type" => node.kind = kind(value),
            "class" => node.class = Some(value.to_owned()),
            "population" => node.population = people(value),
            _ => {}
        }
    }
    node.name = name.map(str::trim).filter(|n| !n.is_empty()).unwrap_or(id).to_owned();
    node.pos = x.zip(y);
    Ok(node)
}

/// Whether an attribute is a number of people, and its value is none that can be used.
fn is_no_population(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("population") && people(value).is_none()
}

/// How many people; other words ("unknown") say nothing about it.
fn people(value: &str) -> Option<f64> {
    value.trim().parse().ok().filter(|people| (0.0..=MAX_POPULATION).contains(people))
}

/// Host or router; other words ("Fiber", "Seacable Waypoint") say nothing about it.
fn kind(value: &str) -> Option<NodeKind> {
    match value.to_ascii_lowercase().as_str() {
        "host" | "server" => Some(NodeKind::Host),
        "router" | "switch" => Some(NodeKind::Router),
        _ => None,
    }
}

fn number(name: &str, value: &str) -> Result<f64, String> {
    let parsed = value.trim().parse::<f64>().ok().filter(|f| f.is_finite());
    parsed.ok_or_else(|| format!("{name} `{}` is not a number", short(value)))
}

/// The beginning of a text, for a message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(64).collect()
}
