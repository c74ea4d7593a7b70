//! What is asked for, and the tables.

use std::error::Error;
use std::fs;
use std::time::Duration;

use clap::Parser;
use midpath_core::units::Rate;
use serde_json::{Value, json};

use crate::hop::{self, Case, Hop};
use crate::wakes::{self, Wakes};

/// What the shaper is to keep.
const SHAPED: Rate = Rate::from_mbps(50);
/// More than any machine serves.
const UNSHAPED: Rate = Rate::from_mbps(100_000);

const HOW: [(&str, &str); 4] = [
    (
        "packet_hop",
        "CPU time of a router's thread, system calls included, over the packets that it forwards: one datagram of \
         1,500 B (IP, UDP and the overlay's headers included) taken from a socket, forwarded, and sent. Source and \
         sink are a second thread, over the loopback interface, whose own work is not counted; the kernel's for the \
         receiver of what was sent is.",
    ),
    ("saturated", "The source keeps 256 packets under way, and the link has no rate that the router reaches."),
    ("shaped", "The source keeps 32 packets under way, over a link of 50 Mbps. Kept is what arrives, of that."),
    ("wakes", "A thread sleeps for 240 us (1,500 B at 50 Mbps) again and again by ppoll, with a timer slack of 1 ns."),
];

/// What is asked for.
#[derive(Parser)]
struct Asked {
    /// How long each row is measured.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// For machines: one JSON object.
    #[arg(long)]
    json: bool,
}

/// Measures, and prints tables, or one JSON object.
pub fn main() -> Result<(), Box<dyn Error>> {
    let Asked { seconds, json } = Asked::parse();
    let time = Duration::try_from_secs_f64(seconds)?;
    if !json {
        println!("# What a node does on this machine\n\n{}; midpathd {}; {seconds} s a row.\n", machine(), VERSION);
        println!("{}", Hop::HEAD);
    }
    let mut hops = Vec::new();
    for case in cases() {
        let hop = hop::run(case, time)?;
        if !json {
            println!("{}", hop.row());
        }
        hops.push(hop);
    }
    if !json {
        println!("\n{}", Wakes::HEAD);
    }
    let mut wakes = Vec::new();
    for real_time in [false, true] {
        let wake = wakes::run(real_time, time);
        if !json {
            println!("{}", wake.row());
        }
        wakes.push(wake);
    }
    if json {
        let hops: Vec<Value> = hops.iter().map(Hop::json).collect();
        let wakes: Vec<Value> = wakes.iter().map(Wakes::json).collect();
        let how: serde_json::Map<String, Value> =
            HOW.iter().map(|(what, how)| ((*what).into(), (*how).into())).collect();
        let all = json!({
            "machine": machine(), "version": VERSION, "seconds": seconds, "packet_hops": hops, "wakes": wakes, "how": how,
        });
        println!("{all:#}");
    } else {
        println!();
        HOW.iter().for_each(|(what, how)| println!("- {}: {how}", what.replace('_', "-")));
    }
    Ok(())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Saturated and shaped, with and without what costs and what saves; shaped by real-time priority, too.
fn cases() -> Vec<Case> {
    let plain = Case { rate: UNSHAPED, shaped: false, crypto: false, offload: false, real_time: false };
    let mut all = Vec::new();
    for (shaped, rate) in [(false, UNSHAPED), (true, SHAPED)] {
        for crypto in [false, true] {
            for offload in [false, true] {
                all.push(Case { rate, shaped, crypto, offload, ..plain });
            }
        }
    }
    all.push(Case { rate: SHAPED, shaped: true, crypto: true, offload: true, real_time: true });
    all
}

/// What this was measured on.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    format!(
        "{}, {cores} cores, Linux {}, load {}{}",
        model.map_or("a processor", |(_, name)| name),
        kernel.trim(),
        load.split(' ').next().unwrap_or("unknown"),
        if cfg!(debug_assertions) { ", a debug build" } else { "" }
    )
}
