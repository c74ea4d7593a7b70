//! The network and its flows' paths, for drawing.

use serde::Serialize;
use serde_json::{Value, json};

use super::Setup;

/// A node of the drawing; keys stand in the order of the alphabet, as in the rest of `run.json`.
#[derive(Serialize)]
struct DrawnNode<'a> {
    kind: &'static str,
    label: Option<&'a str>,
    name: &'a str,
    x: Option<f64>,
    y: Option<f64>,
}

/// A link of the drawing.
#[derive(Serialize)]
struct DrawnLink<'a> {
    a: &'a str,
    b: &'a str,
    delay_s: f64,
    rate_bps: u64,
}

#[derive(Serialize)]
struct Drawing<'a> {
    links: Vec<DrawnLink<'a>>,
    nodes: Vec<DrawnNode<'a>>,
}

impl Setup {
    /// The nodes that each flow with series crosses, as routed at the start, so that its ports can
    /// be shown in order.
    pub(crate) fn paths(&self) -> Value {
        let name = |n: usize| &self.topology.nodes()[n].name;
        let of = |i: u32| {
            let info = &self.flows.get(i as usize).flow;
            let (src, dst) = (info.src as usize, info.dst as usize);
            let hops = self.routes.path(&self.topology, src, dst, i)?;
            let nodes: Vec<_> = hops.iter().map(|h| name(h.node)).chain([name(dst)]).collect();
            Some(json!({ "flow": i, "nodes": nodes }))
        };
        self.sampled_flows().filter_map(of).collect()
    }

    /// Nodes with positions and links, for a drawing, as JSON. It is written at once: as values it
    /// would be ten times as large.
    pub(crate) fn drawing(&self) -> String {
        let nodes = self.topology.nodes().iter().map(|n| DrawnNode {
            kind: if n.kind == midpath_topo::NodeKind::Host { "host" } else { "router" },
            label: n.label.as_deref(),
            name: &n.name,
            x: n.pos.map(|p| p.0),
            y: n.pos.map(|p| p.1),
        });
        let name = |n: usize| self.topology.nodes()[n].name.as_str();
        let links = self.topology.links().iter().map(|l| DrawnLink {
            a: name(l.a),
            b: name(l.b),
            delay_s: l.delay.as_secs_f64(),
            rate_bps: l.rate.0,
        });
        let drawing = Drawing { links: links.collect(), nodes: nodes.collect() };
        serde_json::to_string(&drawing).expect("texts and numbers")
    }
}
