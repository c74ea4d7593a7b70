//! Falcon's windows beside Google's own code, and its header. Networks are tried in
//! `crates/sim/tests/scenarios/falcon.rs`.

use midpath_core::packet::{FlowId, HOP_LIMIT, Header, NodeId, Packet, body_of};
use midpath_core::roles::Received;
use midpath_core::units::Time;
use proptest::prelude::*;

use super::equations::{Config, Plb, Signals, State};
use super::header::{FalconHeader, put_on, reflect, stamp};
use crate::swift::equations::Scaling;
use crate::transport::cc::Seen;

/// isekai's configuration, in its units of 131.072 ns.
fn isekai() -> Config {
    Config {
        fabric: [0.01, 256.0],
        nic: [1.0, 256.0],
        increase: 1.0,
        beta: 0.8,
        most_decrease: 0.5,
        level: 15,
        base: 191.0,
        per_hop: 8.0,
        scaling: Scaling { range: 763.0, least: 0.1, most: 256.0 },
        retransmit_limit: 3,
        plb_delay: 1.01,
        plb_share: 0.5,
        plb_rounds: 5,
    }
}

/// A row of `tests/vectors/falcon/README.md`, by the names of its columns.
struct Row(std::collections::BTreeMap<&'static str, &'static str>);

impl Row {
    fn get(&self, name: &str) -> f64 {
        self.0[name].parse().expect("a number")
    }
    fn bits(&self, name: &str) -> Plb {
        let bits = self.get(name) as u32;
        Plb { congested: f64::from(bits & 1023), acknowledged: f64::from(bits >> 10 & 1023), rounds: bits >> 20 }
    }
    fn state(&self, after: &str) -> State {
        let of = |name: &str| self.get(&format!("{name}{after}"));
        State {
            fcwnd: of("fcwnd") / 1024.0,
            ncwnd: of("ncwnd"),
            fabric_marker: of("fmark"),
            nic_marker: of("nmark"),
            rising: of("rising") == 1.0,
            plb: self.bits(&format!("plb{after}")),
        }
    }
}

fn rows() -> Vec<Row> {
    let mut lines = include_str!("../../../../tests/vectors/falcon/events.csv").lines();
    let names: Vec<_> = lines.next().expect("a head").split(',').collect();
    lines.map(|line| Row(names.iter().copied().zip(line.split(',')).collect())).collect()
}

/// Windows to the rounding of their fixed point, markers, direction, PLB's counters and its decisions exactly: of 1,617 ACKs
/// and 193 retransmissions.
#[test]
fn windows_and_paths_are_those_of_googles_code() {
    let (config, mut acks, mut retransmits, mut moves) = (isekai(), 0, 0, 0);
    for (i, row) in rows().iter().enumerate() {
        let (mut state, after) = (row.state(""), row.state("_after"));
        let now = row.get("now");
        match row.0["event"] {
            "ack" => {
                let (rtt, delay, acked) = (row.get("rtt"), row.get("delay"), row.get("acked"));
                let (hops, level) = (row.get("hops") as u32, row.get("level") as u8);
                // Theirs is a whole number.
                let rounding = row.get("target") - config.target(state.fcwnd, hops);
                let config = Config { base: config.base + rounding, ..config };
                let moved = state.acknowledge(&config, &Signals { now, rtt, delay, hops, acked, level });
                assert_eq!(moved, row.get("reroute") == 1.0, "row {i}");
                (acks, moves) = (acks + 1, moves + u32::from(moved));
            }
            "retransmit" => {
                state.retransmit(&config, row.get("retransmits") as u32, now, row.get("rtt_before"));
                retransmits += 1;
            }
            // A receiver of ours sends no NACK.
            _ => continue,
        }
        assert!((state.fcwnd - after.fcwnd).abs() <= 0.5 / 1024.0 + 1e-9, "row {i}: {state:?} {after:?}");
        assert_eq!(state.ncwnd, after.ncwnd, "row {i}");
        assert_eq!((state.fabric_marker, state.nic_marker), (after.fabric_marker, after.nic_marker), "row {i}");
        assert_eq!(state.rising, after.rising, "row {i}");
        let counters = |plb: Plb| (plb.acknowledged, plb.congested, plb.rounds);
        assert_eq!(counters(state.plb), counters(after.plb), "row {i}");
    }
    assert_eq!((acks, retransmits), (1617, 193));
    assert!(moves >= 10, "{moves}");
}

#[test]
fn targets_are_those_of_googles_code() {
    for row in rows() {
        let target = isekai().target(row.get("fcwnd") / 1024.0, row.get("hops") as u32);
        assert!((target - row.get("target")).abs() < 1.0, "{target} and not {}", row.get("target"));
    }
}

proptest! {
    #[test]
    fn a_header_comes_back_and_others_do_not(
        entropy: u16, sent: u32, waited: u32, level in 0u8..32, hops: u8, returns: bool, bad in 32u8..,
    ) {
        let header = FalconHeader { entropy, sent, waited, level, hops, returns };
        let mut body = body_of(&header);
        prop_assert_eq!(FalconHeader::get(&body), Some(header));
        prop_assert_eq!(FalconHeader::get(&body[1..]), None);
        body[10] = bad;
        prop_assert_eq!(FalconHeader::get(&body), None);
    }

    /// Whatever ACKs, losses and timeouts say.
    #[test]
    fn windows_stay_within_their_bounds(
        events in prop::collection::vec((0u8..10, 1f64..5000.0, 0f64..3000.0, 0f64..40.0, 0u8..32, 0u32..8), 1..300),
    ) {
        let (config, mut state, mut now) = (isekai(), State::new(32.0, 256.0), 0.0);
        for (what, delay, host, acked, level, count) in events {
            now += delay;
            match what {
                0 => state.retransmit(&config, count, now, delay + host),
                _ => {
                    state.acknowledge(&config, &Signals { now, rtt: delay + host, delay, hops: 4, acked, level });
                }
            }
            prop_assert!((0.01..=256.0).contains(&state.fcwnd) && (1.0..=256.0).contains(&state.ncwnd), "{:?}", state);
            prop_assert!(state.fabric_marker <= now && state.nic_marker <= now);
        }
    }
}

#[test]
fn an_ack_says_what_its_packet_said_and_takes_its_path() {
    let mut data = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000);
    let mut ack = Packet::new(FlowId(0), NodeId(1), NodeId(0), 40);
    reflect(Seen::of(&data), &mut ack);
    assert!(!ack.has_headers());
    put_on(&mut data, &FalconHeader { entropy: 77, sent: 5, waited: 9, level: 3, ..FalconHeader::default() });
    data.hops = HOP_LIMIT - 4;
    reflect(Seen::of(&data), &mut ack);
    let expected = FalconHeader { entropy: 77, sent: 5, waited: 9, level: 3, hops: 4, returns: true };
    assert_eq!(ack.header(), Some(expected));
    let mut other = data;
    put_on(&mut other, &FalconHeader { entropy: 78, ..FalconHeader::default() });
    assert_ne!(other.key, data.key, "another path");
}

/// 20,000 of 32,000 bytes wait behind the packet: level 20 of 32.
#[test]
fn an_ack_says_how_long_its_packet_waited_and_what_waits_behind_it() {
    let mut data = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000);
    put_on(&mut data, &FalconHeader { entropy: 77, sent: 5, ..FalconHeader::default() });
    let mut headers = data.headers().to_vec();
    stamp(&mut headers, &Received { waited: Time::from_us(3), held: 20_000, buffer: 32_000 });
    let mut ack = Packet::new(FlowId(0), NodeId(1), NodeId(0), 40);
    reflect(Seen { headers: &headers, ..Seen::of(&data) }, &mut ack);
    let said: FalconHeader = ack.header().expect("a header");
    assert_eq!((said.entropy, said.sent, said.waited, said.level, said.returns), (77, 5, 3000, 20, true));
}
