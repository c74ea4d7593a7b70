//! How long a bound takes:
//! `cargo run --release -p midpath-ideal --example fluid_speed [max-min|proportional] [concurrent]`.
//!
//! 500 links, random paths of 4 to 6 of them, `concurrent` flows at any time (each that ends is
//! soon replaced), 20,000 events after the first batch has arrived.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use midpath_ideal::{Allocation, FluidFlow, FluidOptions, run};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let proportional = args.get(1).is_some_and(|a| a == "proportional");
    let concurrent: usize = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(10_000);
    let events: usize = args.get(3).and_then(|a| a.parse().ok()).unwrap_or(20_000);
    let mut state = 7u64;
    let mut draw = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let links = 500;
    let caps: Vec<f64> = (0..links).map(|_| [1e9, 2.5e9, 10e9][draw(3) as usize]).collect();
    let flows: Vec<FluidFlow> = (0..concurrent + events / 2)
        .map(|i| {
            let hops = 4 + draw(3);
            // Half of the flows stay through; the others are of sizes that keep ends as frequent as
            // arrivals.
            let late = i.saturating_sub(concurrent);
            FluidFlow {
                path: (0..hops).map(|_| draw(links) as u32).collect(),
                size_bits: 1e7 * (1 + draw(1000)) as f64,
                start_s: if late == 0 { 0.0 } else { late as f64 * 250.0 / concurrent as f64 },
                ..FluidFlow::default()
            }
        })
        .collect();
    let allocation = if proportional { Allocation::Proportional } else { Allocation::MaxMin };
    let stop_s = (events / 2) as f64 * 250.0 / concurrent as f64;
    let started = Instant::now();
    let output = run(&caps, &flows, &FluidOptions { allocation, stop_s, ..FluidOptions::default() }).expect("valid");
    let wall = started.elapsed().as_secs_f64();
    let left = output.flows.iter().filter(|f| f.finish_s.is_none()).count();
    println!(
        "{allocation:?}: {} flows on {links} links, {} events, {left} flows left at the end, {wall:.2} s, {:.1} us an event, residual {:.1e}",
        flows.len(),
        output.events,
        wall * 1e6 / output.events as f64,
        output.residual
    );
}
