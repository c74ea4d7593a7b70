//! A scenario in the form that the laboratory builds: nodes, links, routes, flows, with all drawn values.

use std::collections::BTreeSet;
use std::path::Path;

use midpath_core::packet::{FlowId, Interfaces, NodeId, flow_key};
use midpath_core::roles::Routes;
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::setup::Setup;
use midpath_sim::{RunOptions, prepare};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::qdisc;

/// A scenario with what is run in place of what it says.
#[derive(Debug, Clone, Deserialize)]
pub struct Asked {
    /// The TOML text.
    pub text: String,
    /// Where its file names are relative to.
    pub base: String,
    /// Another scheme.
    pub scheme: Option<String>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Programs run at its hosts: each has ways to all others, and there may be no flows.
    #[serde(default)]
    pub for_programs: bool,
}

impl Asked {
    /// Reads and checks it.
    pub fn setup(&self) -> Result<Setup, String> {
        let (scheme, seed, flows_optional) = (self.scheme.clone(), self.seed, self.for_programs);
        let options = RunOptions { scheme, seed, flows_optional, ..RunOptions::default() };
        let setup = prepare(&self.text, Path::new(&self.base), &options, &Catalogue::standard());
        let setup = setup.map_err(|error| error.to_string())?;
        setup.refuse_waits("the laboratory starts each flow at its time").map_err(|error| error.to_string())?;
        Ok(setup)
    }
}

/// The plan.
pub fn plan(setup: &Setup) -> Value {
    let topology = &setup.topology;
    // What changes at a port during the run, of each direction.
    let varying: Vec<bool> = setup.directions().iter().flatten().map(|way| !way.events.is_empty()).collect();
    let seconds = |time: Option<Time>| time.map(Time::as_secs_f64);
    let nodes = topology.nodes().iter().enumerate().map(|(n, node)| {
        json!({
            "name": node.name, "kind": if topology.is_host(n) { "host" } else { "router" },
            "x": node.pos.map(|p| p.0), "y": node.pos.map(|p| p.1),
        })
    });
    let links = topology.links().iter().enumerate().map(|(i, link)| {
        let queues = [0, 1].map(|end| queue(setup, i, end, &varying));
        let scheme = |n: usize| {
            let port = topology.port_of_link(n, i).unwrap_or(0);
            setup.scheme_at(n, usize::from(port)).filter(|scheme| *scheme != "none")
        };
        json!({
            "a": link.a, "b": link.b, "rates_bps": [link.rate_from(link.a).0, link.rate_from(link.b).0],
            "delay_s": link.delay.as_secs_f64(), "mtu": link.mtu, "schemes": [scheme(link.a), scheme(link.b)],
            "queues": queues,
        })
    });
    let flows = setup.flows.iter().enumerate().map(|(i, info)| {
        let flow = &info.flow;
        let hops = setup.routes.path(topology, flow.src as usize, flow.dst as usize, i as u32).unwrap_or_default();
        let path: Vec<usize> = hops.iter().map(|hop| hop.node).chain([flow.dst as usize]).collect();
        json!({
            "from": flow.src, "to": flow.dst, "size_bytes": flow.size.map(|size| size.0),
            "start_s": flow.start.as_secs_f64(), "stop_s": seconds(flow.stop), "scheme": setup.scheme_of(i),
            "group": flow.group(), "rate_bps": flow.rate.map(|rate| rate.0), "rtt_s": info.rtt.as_secs_f64(),
            "ideal_fct_s": seconds(info.unloaded()), "hops": info.hops, "path": path,
        })
    });
    let reroutes = setup.reroutes().map(|(at, then)| json!([at.as_secs_f64(), routes(setup, then)]));
    json!({
        "title": setup.scenario.title, "scheme": setup.scenario.scheme, "seed": setup.scenario.seed,
        "stop_s": seconds(setup.scenario.stop), "nodes": nodes.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(), "flows": flows.collect::<Vec<_>>(), "routes": routes(setup, &*setup.routes),
        "reroutes": reroutes.collect::<Vec<_>>(),
        "described": setup.described, "equipment": setup.equipment,
    })
}

/// The queue before an end of a link: the kernel's qdisc that does the same, and whether rate or state of the link
/// change.
fn queue(setup: &Setup, i: usize, end: usize, varying: &[bool]) -> Value {
    let link = &setup.topology.links()[i];
    let node = [link.a, link.b][end];
    json!({
        "qdisc": qdisc::of(&setup.queue_before(node, i), link.rate_from(node), link.mtu),
        "varies": varying.get(2 * i + end).copied().unwrap_or(false),
    })
}

/// At each node, towards each host that flows have to do with, or programs: the links that may be taken; none where
/// there is no way.
fn routes(setup: &Setup, table: &dyn Routes) -> Vec<Value> {
    let hosts = (0..setup.topology.nodes().len()).filter(|n| setup.topology.is_host(*n)).map(|n| n as u32);
    let ends: BTreeSet<u32> = match setup.scenario.flows_optional {
        true => hosts.collect(),
        false => setup.flows.iter().flat_map(|info| [info.flow.src, info.flow.dst]).collect(),
    };
    let mut found = Vec::new();
    for n in 0..setup.topology.nodes().len() {
        for &host in ends.iter().filter(|host| **host as usize != n) {
            let (node, to) = (NodeId(n as u32), NodeId(host));
            let key = flow_key(FlowId(0), node, to, Interfaces::ANY);
            let ports = table.ports_for(node, to, key).iter();
            let links: Vec<u32> = ports.map(|port| setup.topology.ports(n)[usize::from(*port)].link).collect();
            found.push(json!({ "at": n, "to": host, "links": links }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        seed = 3
        topology = { generate = "dumbbell", pairs = 2, bottleneck = { rate = "10 Mbps", delay = "5 ms" }, access = { rate = "50 Mbps", delay = "1 ms" } }
        flow = [{ from = "s0", to = "d0", size = "1 MB", start = "1 s" }]
        workload = [{ arrivals = { kind = "poisson", rate_per_s = 50.0 }, sizes = { kind = "fixed", size = "9 kB" }, until = "1 s" }]
    "#;

    #[test]
    fn a_plan_has_what_the_simulator_would_run() {
        let asked = Asked {
            text: SCENARIO.into(),
            base: ".".into(),
            scheme: Some("cubic".into()),
            seed: None,
            for_programs: false,
        };
        let plan = plan(&asked.setup().unwrap());
        let flows = plan["flows"].as_array().unwrap();
        assert!((20..100).contains(&flows.len()), "{}", flows.len());
        let one = flows.iter().find(|flow| flow["size_bytes"] == 1_000_000).unwrap();
        let names = |path: &Value| -> Vec<String> {
            let name = |n: &Value| plan["nodes"][n.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
            path.as_array().unwrap().iter().map(name).collect()
        };
        assert_eq!(names(&one["path"]), ["s0", "r0", "r1", "d0"]);
        assert_eq!((&one["scheme"], &one["start_s"]), (&json!("cubic"), &json!(1.0)));
        // 5 nodes of 6 have a way to each of 4 hosts, and each way is one link.
        let routes = plan["routes"].as_array().unwrap();
        assert_eq!(routes.len(), 4 * 5);
        assert!(routes.iter().all(|route| route["links"].as_array().unwrap().len() == 1));
        let other = Asked { seed: Some(4), ..asked.clone() };
        assert_ne!(super::plan(&other.setup().unwrap())["flows"], plan["flows"]);
        let wrong = Asked { text: "flow = 3".into(), ..asked };
        assert!(wrong.setup().is_err());
    }
}
