// Copyright 2026 The Midpath developers
// SPDX-License-Identifier: Apache-2.0
//
// Parsimon's estimate for a list of flows: parsimon LINKS FLOWS OUT
//
// LINKS: a line "hosts nodes", then "a b gbps ns" for each link; nodes below `hosts` are hosts. FLOWS: a line "src dst
// bytes start_ns ..." for each flow. OUT gets a line "delay_ns ideal_ns" for each flow; a line of JSON goes to stdout.
// Our own code; it only links to Parsimon.

use std::fmt::Write;
use std::time::Instant;

use anyhow::Context;
use linksim_impls::minim::MinimLink;
use parsimon_core::cluster::DefaultClustering;
use parsimon_core::network::{Flow, FlowId, Link, Node, NodeId};
use parsimon_core::opts::SimOpts;
use parsimon_core::run::run;
use parsimon_core::spec::Spec;
use parsimon_core::units::{Bytes, Gbps, Mbps, Nanosecs};
use rand::{rngs::StdRng, SeedableRng};

fn rows(path: &str) -> anyhow::Result<Vec<Vec<u64>>> {
    let text = std::fs::read_to_string(path).context(path.to_owned())?;
    text.lines().map(|line| line.split_whitespace().map(|word| Ok(word.parse()?)).collect()).collect()
}

fn node(number: u64) -> NodeId {
    NodeId::new(number as usize)
}

fn topology(path: &str) -> anyhow::Result<(Vec<Node>, Vec<Link>)> {
    let rows = rows(path)?;
    let (hosts, all) = (rows[0][0], rows[0][1]);
    let kind = |i| if i < hosts { Node::new_host(node(i)) } else { Node::new_switch(node(i)) };
    let link = |row: &Vec<u64>| Link::new(node(row[0]), node(row[1]), Gbps::new(row[2]), Nanosecs::new(row[3]));
    Ok(((0..all).map(kind).collect(), rows[1..].iter().map(link).collect()))
}

fn flows(path: &str) -> anyhow::Result<Vec<Flow>> {
    let flow = |(i, row): (usize, Vec<u64>)| Flow {
        id: FlowId::new(i),
        src: node(row[0]),
        dst: node(row[1]),
        size: Bytes::new(row[2]),
        start: Nanosecs::new(row[3]),
    };
    Ok(rows(path)?.into_iter().enumerate().map(flow).collect())
}

/// The values of Parsimon's own example, `examples/poisson`; it marks above 3 kB a Gbps.
fn link_simulator() -> MinimLink {
    MinimLink::builder().window(Bytes::new(18_000)).dctcp_gain(0.0625).dctcp_ai(Mbps::new(615)).build()
}

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, links, list, out] = &words[..] else { anyhow::bail!("parsimon LINKS FLOWS OUT") };
    let ((nodes, links), flows) = (topology(links)?, flows(list)?);
    let begin = Instant::now();
    let spec = Spec::builder().nodes(nodes).links(links).flows(flows.clone()).build();
    let network = run(spec, SimOpts::builder().link_sim(link_simulator()).build(), DefaultClustering)?;
    let mut random = StdRng::seed_from_u64(1);
    let mut text = String::new();
    for flow in &flows {
        let pair = (flow.src, flow.dst);
        let delay = network.predict(flow.size, pair, &mut random).context("no estimate")?;
        let ideal = network.ideal_fct(flow.size, pair, &mut random).context("no path")?;
        writeln!(text, "{} {}", delay.into_u64(), ideal.into_u64())?;
    }
    std::fs::write(out, text)?;
    println!("{{\"wall_s\":{}}}", begin.elapsed().as_secs_f64());
    Ok(())
}
