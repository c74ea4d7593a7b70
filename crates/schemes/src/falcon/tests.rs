//! Falcon's windows beside Google's own code, its header, and a network card's buffer by hand. Networks are tried in
//! `crates/sim/tests/scenarios/falcon.rs`.

use midpath_core::packet::{FlowId, HOP_LIMIT, Header, NodeId, Packet, body_of};
use midpath_core::queue::Limit;
use midpath_core::roles::{Action, Drop, Inbound, LinkInfo, Port, StandalonePort};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::equations::{Config, Plb, Signals, State};
use super::header::{FalconHeader, put_on, reflect};
use super::nic::NicPort;
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

/// A card of 32 kB, from which the host takes a byte per nanosecond: packets wait for each other, and say how long and at
/// which level of the buffer.
#[test]
fn a_network_card_holds_packets_until_the_host_takes_them() {
    let line = Rate::from_gbps(100);
    let mut bench = StandalonePort::new(LinkInfo { rate: line, delay: Time::from_us(1), mtu: 1500, peer: NodeId(1) });
    let mut port = NicPort::new(Limit::Packets(9).bound(line), Rate::from_gbps(8), 32_000);
    let data = |size: u16| {
        let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), u32::from(size));
        p.payload = size - 100;
        put_on(&mut p, &FalconHeader::default());
        p
    };
    let size = u64::from(data(976).size);
    for _ in 0..33 {
        let pkt = bench.pool.insert(data(976));
        match port.inbound(pkt, &mut bench.ctx()) {
            Inbound::Keep => {}
            Inbound::Drop(pkt, Drop::Queue) => {
                assert!(port.backlog().bytes + size > 32_000);
                bench.pool.free(pkt);
            }
            other => panic!("{other:?}"),
        }
    }
    let held = port.backlog().packets;
    assert_eq!(held, 32_000 / size);
    for nth in 1..=held {
        assert_eq!(bench.timer, Time::from_ns(nth * size));
        bench.now = bench.timer;
        port.on_timer(&mut bench.ctx());
        let Some(Action::Back(_, pkt)) = bench.actions.pop_front() else { panic!("it goes on") };
        let said = bench.pool.take(pkt).header::<FalconHeader>().expect("a header");
        let left = (held - nth) * size;
        assert_eq!((u64::from(said.waited), u64::from(said.level)), (nth * size, left * 32 / 32_000));
    }
    assert_eq!((bench.timer, port.backlog().packets), (Time::MAX, 0));
}
