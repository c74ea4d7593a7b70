//! Credit, its pacer and entropies held to csg-htsim's (`tests/vectors/eqds/README.md`).

use midpath_core::packet::{FlowId, FlowKey, NodeId};
use midpath_core::roles::LinkInfo;
use midpath_core::units::{Rate, Time};

use super::params::EqdsParams;
use crate::uec::credits::{Credit, Demand, Pacer, Rules};
use crate::uec::entropy::{Entropy, Feedback};

const CREDIT: &str = include_str!("../../../../tests/vectors/eqds/credit.csv");
const PACER: &str = include_str!("../../../../tests/vectors/eqds/pacer.csv");
const ENTROPIES: &str = include_str!("../../../../tests/vectors/eqds/entropies.csv");

/// The lines after the first: what happened, and its numbers.
fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    text.lines().skip(1).map(|line| {
        let (kind, numbers) = line.split_once(',').expect(line);
        (kind, numbers.split(',').map(|n| n.parse::<i64>().expect(line).cast_unsigned()).collect())
    })
}

#[test]
fn a_senders_credit_is_htsims() {
    let mut own: Option<(Credit, i64)> = None;
    let (mut refused, mut endless, mut compared) = (0, 0, 0);
    for (line, (kind, n)) in rows(CREDIT).enumerate() {
        if kind == "flow" {
            let (mtu, packets) = (n[0].cast_signed(), n[1]);
            own = Some((Credit::new(Rules::Eqds(packets as u16), mtu * packets.cast_signed()), mtu));
            continue;
        }
        let (credit, mtu) = own.as_mut().expect("a flow comes first");
        let what = n[0].cast_signed();
        match kind {
            "spend" => {
                assert!(credit.is_there(), "row {line}");
                let sent = credit.spend(what);
                refused += i32::from(!sent);
                assert_eq!(u64::from(sent), n[1], "row {line}");
            }
            "stop" => credit.stop_speculating(),
            "pull" => credit.grant(what as u32),
            _ => {
                let target = credit.target(what, 0, None, 1, *mtu);
                endless += i32::from(target == u32::MAX);
                assert_eq!((target, target), (n[1] as u32, credit.last_target()), "row {line}");
            }
        }
        assert_eq!(credit.bytes(), n[2].cast_signed(), "row {line}: {kind}");
        compared += 1;
    }
    assert!(compared > 1200 && refused > 20 && endless == 3, "{compared} {refused} {endless}");
}

#[test]
fn a_hosts_grants_are_htsims() {
    let key = |i: u64| -> FlowKey { (FlowId(i as u32), NodeId(0)) };
    let mut link = LinkInfo { rate: Rate::ZERO, delay: Time::ZERO, mtu: 0, peer: NodeId(0) };
    let (mut pacer, mut demands, mut rules) = (Pacer::default(), Vec::new(), Rules::Ndp);
    // Since when somebody waits.
    let (mut since, mut pulls) = (Time::ZERO, 0);
    for (line, (kind, n)) in rows(PACER).enumerate() {
        if kind == "host" {
            (link.rate, link.mtu) = (Rate::from_mbps(1000 * n[0]), n[1] as u32);
            rules = Rules::Eqds(n[2] as u16);
            (pacer, demands) = (Pacer::default(), vec![Demand::default(); n[3] as usize]);
            continue;
        }
        let (now, flow) = (Time(n[0]), key(n[1]));
        let demand = &mut demands[n[1] as usize];
        let due = pacer.due().map(|(first, next)| (first, next.max(since)));
        if kind == "pull" {
            assert_eq!(due, Some((flow, now)), "row {line}");
            pacer.grant(rules, demand, &link, now);
            assert_eq!(u64::from(demand.granted()), n[2], "row {line}");
            pulls += 1;
            continue;
        }
        assert!(due.is_none_or(|(_, due)| due >= now), "row {line}: a grant is late");
        match kind {
            "ask" => {
                if demand.ask(n[2] as u32) {
                    pacer.enter(rules, flow, demand);
                }
            }
            _ => pacer.enter_again(rules, flow, demand, link.mtu),
        }
        if due.is_none() {
            since = now;
        }
    }
    assert!(pulls > 2500, "{pulls}");
}

#[test]
fn a_senders_entropies_are_htsims() {
    let mut own: Option<Entropy> = None;
    let mut compared = 0;
    for (line, (kind, n)) in rows(ENTROPIES).enumerate() {
        let mut draws = n[1..].iter();
        let mut draw = |below: u32| (draws.next().expect("as many draws") % u64::from(below)) as u32;
        match kind {
            "paths" => own = Some(Entropy::of_eqds(n[0] as u16, &mut draw)),
            "next" => {
                let entropy = own.as_mut().expect("paths come first").next(&mut draw);
                assert_eq!(u64::from(entropy), n[0], "row {line}");
                compared += 1;
            }
            _ => own.as_mut().expect("paths come first").hear(n[0] as u16, Feedback::Trimmed, Time::ZERO),
        }
        assert_eq!(draws.next(), None, "row {line}: as many draws");
    }
    assert!(compared > 800, "{compared}");
}

/// What is granted is less than the link carries, whatever the share says and the largest packet is.
#[test]
fn grants_are_within_the_links_rate() {
    for mtu in [1500, 4150, 9000] {
        let link = LinkInfo { rate: Rate::from_mbps(100_000), delay: Time::ZERO, mtu, peer: NodeId(0) };
        let spacing = Rules::Eqds(50).spacing(&link, 8);
        let rate = 4096.0 * 8.0 / spacing.as_secs_f64() / 100e9;
        assert!((rate - 0.9856).abs() < 1e-3, "{mtu}: {rate}");
    }
}

#[test]
fn parameters_that_cannot_be_are_named() {
    let named = |params: EqdsParams| params.check().expect_err("refused").to_string();
    assert!(named(EqdsParams { paths: 48, ..EqdsParams::default() }).contains("paths: must be a power of two"));
    assert!(named(EqdsParams { window: 0, ..EqdsParams::default() }).contains("window"));
    assert!(named(EqdsParams { rto: Some(Time::ZERO), ..EqdsParams::default() }).contains("rto"));
    assert_eq!(EqdsParams::default().profile().params.timeout(), Time::from_us(150 + 72));
}
