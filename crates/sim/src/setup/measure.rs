//! Checks of `[measure]`: bounds, and existence of what is measured.

use std::collections::BTreeSet;

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_topo::Topology;

use crate::scenario::{MeasureSpec, PcapSpec, Scenario};

/// Most points of a series. Ours: a hundred times what a plot can show, and 8 MB for each number
/// that is watched.
const MAX_POINTS: u32 = 100_000;
/// The least time between samples. Ours: less than a packet of 1500 B takes at 10 Gbps.
const MIN_INTERVAL: Time = Time::from_us(1);
/// Most packets of a capture. Ours: their headers fill 1 GB.
const MAX_CAPTURED: u32 = 10_000_000;

/// Refuses what cannot be measured.
pub(super) fn check(scenario: &Scenario, topology: &Topology) -> Result<(), SpecError> {
    let measure = &scenario.measure;
    series(measure).and_then(|()| captures(&measure.pcap, topology)).map_err(|e| e.under("measure"))
}

fn series(measure: &MeasureSpec) -> Result<(), SpecError> {
    if !(2..=MAX_POINTS).contains(&measure.points) {
        let message =
            format!("{} is out of range; a series has at least 2 points, and at most {MAX_POINTS}", measure.points);
        return Err(SpecError::new("points", message));
    }
    match measure.interval {
        Some(interval) if interval < MIN_INTERVAL => Err(SpecError::new(
            "interval",
            format!("{interval} is too short; samples are at least {MIN_INTERVAL} apart"),
        )),
        _ => Ok(()),
    }
}

fn captures(wanted: &[PcapSpec], topology: &Topology) -> Result<(), SpecError> {
    let mut seen = BTreeSet::new();
    for (i, capture) in wanted.iter().enumerate() {
        check_capture(capture, topology).map_err(|e| e.under(&format!("pcap[{i}]")))?;
        if !seen.insert((&capture.from, &capture.to)) {
            return Err(SpecError::new(format!("pcap[{i}]"), "this port is captured twice; list it once"));
        }
    }
    Ok(())
}

fn check_capture(capture: &PcapSpec, topology: &Topology) -> Result<(), SpecError> {
    let node = |key: &str, name: &str| topology.named(name).map_err(|why| SpecError::new(key, why));
    let (from, to) = (node("from", &capture.from)?, node("to", &capture.to)?);
    if topology.port_to(from, to).is_none() {
        let neighbours = topology.ports(from).iter().map(|p| topology.nodes()[p.peer as usize].name.as_str());
        let neighbours = neighbours.take(8).collect::<Vec<_>>().join(", ");
        let message = format!("`{}` is not a neighbour of `{}`; neighbours are {neighbours}", capture.to, capture.from);
        return Err(SpecError::new("to", message));
    }
    if !(1..=MAX_CAPTURED).contains(&capture.packets) {
        let message =
            format!("{} is out of range; a capture has at least 1 packet, and at most {MAX_CAPTURED}", capture.packets);
        return Err(SpecError::new("packets", message));
    }
    Ok(())
}
