//! containerlab's topologies in YAML (`topology.nodes`, `topology.links`).
//!
//! An end of a link is `node:interface`, or a mapping with `node`. A `linux` container with one link is
//! a host, everything else a router. Links to the machine that runs the laboratory (`host:…`,
//! `macvlan:…`, `mgmt-net:…`, and whatever has one `endpoint`) are left out. Rates and delays are not in such a file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::FormatError;
use super::attributes::{Builder, short};
use crate::draft::{Draft, DraftLink};
use crate::graph::NodeKind;

#[derive(Deserialize)]
struct Lab {
    topology: Option<Topology>,
}

#[derive(Deserialize)]
struct Topology {
    #[serde(default)]
    nodes: BTreeMap<String, Option<Container>>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Container {
    kind: Option<String>,
    group: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    endpoints: Vec<End>,
    /// Of links of one end: `host`, `mgmt-net`, `macvlan`, `vxlan`, `vxlan-stitch`, `dummy`.
    endpoint: Option<End>,
    mtu: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum End {
    Short(String),
    Long { node: String },
}

impl End {
    fn node(&self) -> &str {
        match self {
            End::Short(text) => text.split(':').next().unwrap_or(text),
            End::Long { node } => node,
        }
    }
}

/// Names that are no node of a laboratory.
const OUTSIDE: [&str; 4] = ["host", "mgmt-net", "macvlan", "dummy"];

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let lab: Lab = serde_saphyr::from_str(text).map_err(|e| not_yaml(text, &e))?;
    let topology = lab.topology.ok_or_else(|| FormatError::whole("no `topology`; is this containerlab's YAML?"))?;
    let mut builder = Builder::new(false);
    for (name, container) in &topology.nodes {
        let class = container.as_ref().and_then(|c| c.group.as_deref());
        let class: Vec<_> = class.into_iter().map(|class| ("class", class)).collect();
        builder.node(name, &class).map_err(FormatError::whole)?;
    }
    let mut outside = 0;
    for (i, link) in topology.links.iter().enumerate() {
        let at = |message: String| FormatError::whole(format!("links[{i}]: {message}"));
        if link.endpoint.is_some() && link.endpoints.is_empty() {
            outside += 1;
            continue;
        }
        let [a, b] = &link.endpoints[..] else {
            return Err(at(format!(
                "{} endpoints; a link has two, such as [\"a:eth1\", \"b:eth1\"]",
                link.endpoints.len()
            )));
        };
        let is_outside = |end: &End| OUTSIDE.contains(&end.node()) && !topology.nodes.contains_key(end.node());
        if is_outside(a) || is_outside(b) {
            outside += 1;
            continue;
        }
        let made = DraftLink { mtu: link.mtu, ..DraftLink::default() };
        builder.link(a.node(), b.node(), made).map_err(at)?;
    }
    let mut draft = builder.finish();
    set_kinds(&mut draft, &topology);
    if outside > 0 {
        draft.notes.push(format!("{outside} links out of the laboratory are ignored"));
    }
    Ok(draft)
}

fn not_yaml(text: &str, e: &serde_saphyr::Error) -> FormatError {
    // YAML takes a lone CR for the end of a line, too.
    let lines = text.split('\n').count();
    let line = e.location().map(|at| (at.line() as usize).clamp(1, lines));
    let what = e.without_snippet().to_string();
    let what = what.lines().find(|l| !l.trim().is_empty()).unwrap_or("unreadable");
    let template = if text.contains("{{") { " (a Go template? containerlab expands its braces first)" } else { "" };
    FormatError { line, message: format!("not containerlab's YAML: {}{template}", short(what)) }
}

fn set_kinds(draft: &mut Draft, topology: &Topology) {
    let adjacency = draft.adjacency();
    for (n, (node, container)) in draft.nodes.iter_mut().zip(topology.nodes.values()).enumerate() {
        let is_linux = container.as_ref().is_some_and(|c| c.kind.as_deref() == Some("linux"));
        let kind = if is_linux && adjacency.degree(n) == 1 { NodeKind::Host } else { NodeKind::Router };
        node.kind = Some(kind);
    }
}
