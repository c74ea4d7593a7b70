//! How long a fluid run takes:
//! `cargo run --release -p midpath-ideal --example fluid_speed [max-min|proportional] [concurrent]`, or
//! `... --example fluid_speed fat-tree [k] [flows]`.
//!
//! The first has 500 links, random paths of 4 to 6 of them, `concurrent` flows at any time (each that
//! ends is soon replaced), 20,000 events after the first batch has arrived. The second has a fat-tree
//! of 10 Gbps, Poisson arrivals at 40 % of its hosts' links and sizes with a long tail: nine of ten
//! are of 1 kB, the others uniform in their logarithm up to 10 MB.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use midpath_ideal::{Allocation, FluidFlow, FluidOptions, run};
use std::time::Instant;

/// Knuth's MMIX generator is enough here.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn uniform(&mut self) -> f64 {
        (self.next() as f64 + 0.5) / 2f64.powi(31)
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let kind = args.get(1).map_or("max-min", String::as_str);
    let (caps, flows, stop_s) = match kind {
        "fat-tree" => fat_tree(number(2, 16), number(3, 20_000)),
        _ => random(number(2, 10_000), number(3, 20_000)),
    };
    let allocation = if kind == "proportional" { Allocation::Proportional } else { Allocation::MaxMin };
    let started = Instant::now();
    let output = run(&caps, &flows, &FluidOptions { allocation, stop_s, ..FluidOptions::default() }).expect("valid");
    let wall = started.elapsed().as_secs_f64();
    let left = output.flows.iter().filter(|f| f.finish_s.is_none()).count();
    let sum: f64 = output.flows.iter().filter_map(|f| f.finish_s).sum();
    println!(
        "{kind}: {} flows on {} links, {} events, {left} flows left at the end, {wall:.2} s, {:.1} us an event, \
         residual {:.1e}, sum of ends {sum:.9}",
        flows.len(),
        caps.len(),
        output.events,
        wall * 1e6 / output.events as f64,
        output.residual
    );
}

fn random(concurrent: usize, events: usize) -> (Vec<f64>, Vec<FluidFlow>, f64) {
    let (mut draw, links) = (Draw(7), 500);
    let caps: Vec<f64> = (0..links).map(|_| [1e9, 2.5e9, 10e9][draw.below(3)]).collect();
    let flows = (0..concurrent + events / 2)
        .map(|i| {
            let hops = 4 + draw.below(3);
            // Half of the flows stay through; the others are of sizes that keep ends as frequent as
            // arrivals.
            let late = i.saturating_sub(concurrent);
            FluidFlow {
                path: (0..hops).map(|_| draw.below(links) as u32).collect(),
                size_bits: 1e7 * (1 + draw.below(1000)) as f64,
                start_s: if late == 0 { 0.0 } else { late as f64 * 250.0 / concurrent as f64 },
                ..FluidFlow::default()
            }
        })
        .collect();
    (caps, flows, (events / 2) as f64 * 250.0 / concurrent as f64)
}

/// Directed links: hosts' up and down, then those of edge switches to their pod's others, then to the
/// core, up and down each.
fn fat_tree(k: usize, flows: usize) -> (Vec<f64>, Vec<FluidFlow>, f64) {
    const RATE: f64 = 10e9;
    let (mut draw, half) = (Draw(7), k / 2);
    let hosts = k * half * half;
    let link = |layer: usize, i: usize, down: usize| (2 * (layer * hosts + i) + down) as u32;
    let size = |draw: &mut Draw| 8e3 * if draw.below(10) < 9 { 1.0 } else { 1e4f64.powf(draw.uniform()) };
    let mean = 8e3 * (0.9 + 0.1 * (1e4 - 1.0) / 1e4f64.ln());
    let mut at = 0.0;
    let flows = (0..flows)
        .map(|_| {
            at -= draw.uniform().ln() * mean / (0.4 * RATE * hosts as f64);
            let (from, hop) = (draw.below(hosts), draw.below(hosts - 1));
            let (to, up, core) = ((from + 1 + hop) % hosts, draw.below(half), draw.below(half));
            let (edge, other) = (from / half, to / half);
            let mut path = vec![link(0, from, 0)];
            if edge != other {
                path.push(link(1, edge * half + up, 0));
                if edge / half != other / half {
                    path.push(link(2, (edge / half * half + up) * half + core, 0));
                    path.push(link(2, (other / half * half + up) * half + core, 1));
                }
                path.push(link(1, other * half + up, 1));
            }
            path.push(link(0, to, 1));
            FluidFlow { path, size_bits: size(&mut draw), start_s: at, ..FluidFlow::default() }
        })
        .collect();
    (vec![RATE; 6 * hosts], flows, f64::INFINITY)
}
