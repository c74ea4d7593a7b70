//! The network and its flows' paths, for whoever draws them.

use serde_json::{Value, json};

use super::Setup;

impl Setup {
    /// The nodes that each flow with series crosses, as routed at the start, so that its ports can be shown in order.
    pub(crate) fn paths(&self) -> Value {
        let name = |n: usize| &self.topology.nodes()[n].name;
        let of = |i: u32| {
            let info = &self.flows[i as usize].flow;
            let (src, dst) = (info.src as usize, info.dst as usize);
            let hops = self.routes.path(&self.topology, src, dst, i)?;
            let nodes: Vec<_> = hops.iter().map(|h| name(h.node)).chain([name(dst)]).collect();
            Some(json!({ "flow": i, "nodes": nodes }))
        };
        self.sampled_flows().filter_map(of).collect()
    }

    /// Nodes with positions and links, for a drawing.
    pub(crate) fn drawing(&self) -> Value {
        let nodes = self.topology.nodes().iter().map(|n| {
            json!({
                "name": n.name,
                "kind": if n.kind == midpath_topo::NodeKind::Host { "host" } else { "router" },
                "label": n.label,
                "x": n.pos.map(|p| p.0),
                "y": n.pos.map(|p| p.1),
            })
        });
        let name = |n: usize| &self.topology.nodes()[n].name;
        let links =
            self.topology.links().iter().map(
                |l| json!({ "a": name(l.a), "b": name(l.b), "rate_bps": l.rate.0, "delay_s": l.delay.as_secs_f64() }),
            );
        json!({ "nodes": nodes.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>() })
    }
}
