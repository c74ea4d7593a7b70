//! Senders and receivers held to csg-htsim's (`tests/vectors/ndp/README.md`), and the parts alone.

use midpath_core::packet::{FlowId, FlowKey, NodeId};
use midpath_core::roles::LinkInfo;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::params::NdpParams;
use super::paths::Paths;
use super::window::Window;
use crate::testing::cases;
use crate::uec::arrived::Arrived;
use crate::uec::credits::{Demand, Pacer, Rules};
use crate::uec::header::SIZE;

const SENDER: &str = include_str!("../../../../tests/vectors/ndp/sender.csv");
const RECEIVER: &str = include_str!("../../../../tests/vectors/ndp/receiver.csv");

/// The lines after the first: what happened, and its numbers.
fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    text.lines().skip(1).map(|line| {
        let mut fields = line.split(',');
        let kind = fields.next().expect(line);
        (kind, fields.map(|n| n.parse().expect(line)).collect())
    })
}

#[test]
fn what_is_sent_after_each_answer_is_htsims() {
    let mut rows = rows(SENDER).enumerate().peekable();
    let (mut flow, mut paths): (Option<Window>, Option<Paths>) = (None, None);
    let (mut count, mut sent, mut again) = (0, 0, 0);
    while let Some((line, (kind, n))) = rows.next() {
        match kind {
            "flow" => {
                let mss = n[0] as u32;
                flow = Some(Window::new(u64::from(mss) * n[1], mss, n[2] as u16));
                count = n[3] as u16;
                continue;
            }
            "paths" => {
                let mut draws = n.iter();
                let mut draw = |below: u32| (draws.next().expect("as many draws") % u64::from(below)) as u32;
                paths = Some(Paths::new(count, &mut draw));
                assert_eq!(draws.next(), None);
            }
            _ => {}
        }
        // What htsim sent then, and what it drew.
        let mut expected = Vec::new();
        let draws = loop {
            let (_, (kind, n)) = rows.next().expect("draws come last");
            match kind {
                "sent" => expected.push((n[0] as u32, n[1] as u16, n[2] == 1)),
                _ => break n,
            }
        };
        let mut draws = draws.iter();
        let mut draw = |below: u32| (draws.next().expect("as many draws") % u64::from(below)) as u32;
        let (flow, paths) = (flow.as_mut().expect("a flow comes first"), paths.as_mut().expect("and its paths"));
        let now = Time(line as u64);
        match kind {
            "ack" => flow.on_ack(n[0] as u32, n[1] as u32, (n[3] == 1).then_some(n[2] as u32)),
            "nack" => {
                paths.next(&mut draw);
                flow.on_nack(n[0] as u32, n[2] as u32, n[3] == 1);
            }
            "pull" => flow.pull(n[2] as u32),
            _ => {}
        }
        let mut own = Vec::new();
        while flow.may_send() > 0 {
            let path = paths.next(&mut draw);
            let next = flow.send(path, now).expect("it may");
            own.push((next.psn, path, next.again > 0));
        }
        assert_eq!(own, expected, "row {line}: {kind} {n:?}");
        assert_eq!(draws.next(), None, "row {line}: as many draws");
        sent += own.len();
        again += own.iter().filter(|(_, _, again)| *again).count();
    }
    assert!(sent > 300 && again > 50, "{sent} {again}");
}

#[test]
fn a_hosts_answers_and_pulls_are_htsims() {
    let key = |i: u64| -> FlowKey { (FlowId(i as u32), NodeId(0)) };
    let mut link = LinkInfo { rate: Rate::ZERO, delay: Time::ZERO, mtu: 0, peer: NodeId(0) };
    let mut pacer = Pacer::default();
    let mut flows: Vec<(Demand, Arrived, Option<u32>)> = Vec::new();
    let (mut since, mut pulls) = (Time::ZERO, 0);
    // What the last packet was answered by.
    let mut answer: Option<Vec<u64>> = None;
    for (line, (kind, n)) in rows(RECEIVER).enumerate() {
        if kind == "host" {
            (link.rate, link.mtu) = (Rate::from_mbps(1000 * n[0]), n[1] as u32 + SIZE);
            pacer = Pacer::default();
            flows = (0..n[2]).map(|_| (Demand::default(), Arrived::default(), None)).collect();
            continue;
        }
        let (now, flow) = (Time(n[0]), key(n[1]));
        let (demand, arrived, last) = &mut flows[n[1] as usize];
        let due = pacer.due().map(|(first, next)| (first, next.max(since)));
        match kind {
            "data" | "header" => {
                assert!(due.is_none_or(|(_, due)| due >= now), "row {line}: a pull is late");
                if n[3] == 1 && kind == "data" {
                    *last = Some(n[2] as u32);
                }
                if kind == "data" {
                    assert!(arrived.add(n[2] as u32), "row {line}");
                }
                let pulls = pacer.take(Rules::Ndp, flow, demand, &link, now);
                let pulled = if pulls { demand.granted() } else { 0 };
                answer = Some(vec![n[0], n[1], arrived.expected().into(), pulled.into(), pulls.into()]);
                if due.is_none() {
                    since = now;
                }
                if last.is_some_and(|last| last < arrived.expected()) {
                    pacer.remove(flow);
                }
            }
            "pull" => {
                assert_eq!(due, Some((flow, now)), "row {line}");
                pacer.grant(Rules::Ndp, demand, &link, now);
                assert_eq!(u64::from(demand.granted()), n[3], "row {line}");
                pulls += 1;
            }
            _ => assert_eq!(Some(n), answer.take(), "row {line}: {kind}"),
        }
    }
    assert!(pulls > 500, "{pulls}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    /// Between two permutations each path is taken once.
    #[test]
    fn paths_are_taken_in_turn(count in 1u16..70, seed in any::<u32>()) {
        let mut n = seed;
        let mut draw = |below: u32| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (n >> 8) % below
        };
        let mut paths = Paths::new(count, &mut draw);
        // The first one of the first permutation is passed over, as htsim's is.
        for _ in 1..count {
            paths.next(&mut draw);
        }
        for _ in 0..3 {
            let mut used: Vec<u16> = (0..count).map(|_| paths.next(&mut draw)).collect();
            used.sort_unstable();
            prop_assert_eq!(used, (0..count).collect::<Vec<_>>());
        }
    }

    /// Whatever is acknowledged, refused, pulled and lost: no more is sent than the first window, pulls and timeouts allow,
    /// and each number's payload is the same each time.
    #[test]
    fn no_more_is_sent_than_is_pulled(
        events in prop::collection::vec((0u8..6, any::<u16>()), 0..200), first in 1u16..20, packets in 1u64..60,
    ) {
        let (mss, mut sent, mut allowed) = (1000, 0u64, u64::from(first));
        let size = packets * u64::from(mss) - 17;
        let mut window = Window::new(size, mss, first);
        let (mut places, mut pulled, mut now) = (Vec::new(), 0u32, Time::ZERO);
        for (what, n) in events {
            now += Time::from_us(1);
            while let Some(next) = window.send(0, now) {
                sent += 1;
                match places.get(next.psn as usize) {
                    Some(place) => prop_assert_eq!(*place, (next.at, next.payload)),
                    None => places.push((next.at, next.payload)),
                }
            }
            prop_assert!(sent <= allowed + u64::from(pulled));
            let psn = u32::from(n) % places.len().max(1) as u32;
            match what {
                0 => window.on_ack(psn, 0, None),
                1 => window.on_nack(psn, pulled, false),
                2 => {
                    pulled += u32::from(n % 4);
                    window.pull(pulled);
                }
                3 => window.pull(pulled / 2),
                // At most one more for each that comes back.
                4 => {
                    allowed += u64::from(window.outstanding.on_its_way(psn).is_some());
                    window.on_returned(psn);
                }
                _ => if window.outstanding.on_its_way(psn).is_some() {
                    window.on_timeout(psn);
                    allowed += 1;
                },
            }
        }
        let bytes: u64 = places.iter().map(|(_, payload)| u64::from(*payload)).sum();
        prop_assert_eq!(bytes, window.progress);
        prop_assert!(bytes <= size);
    }
}

/// What comes back waits for the pulls that are still to come. The last of a first window is sent at once.
#[test]
fn what_comes_back_waits_for_pulls_if_any_come() {
    let sent = |window: &mut Window| std::iter::from_fn(|| window.send(0, Time::ZERO)).map(|next| next.psn).collect();
    let mut window = Window::new(10_000, 1000, 3);
    let first: Vec<u32> = sent(&mut window);
    assert_eq!(first, [0, 1, 2]);
    // Two of the first window have not been heard of: a pull may still come for one.
    window.on_returned(1);
    assert_eq!(sent(&mut window), Vec::<u32>::new());
    window.on_returned(0);
    assert_eq!(sent(&mut window), [0]);
    window.on_ack(2, 0, None);
    // A pull will come for the answer.
    window.on_returned(0);
    assert_eq!(sent(&mut window), Vec::<u32>::new());
    window.pull(1);
    assert_eq!(sent(&mut window), [0]);
    window.on_returned(0);
    assert_eq!(sent(&mut window), [0]);
}

#[test]
fn parameters_that_cannot_be_are_named() {
    let named = |params: NdpParams| params.check().expect_err("refused").to_string();
    assert!(named(NdpParams { paths: 0, ..NdpParams::default() }).contains("paths"));
    assert!(named(NdpParams { initial_window: 0, ..NdpParams::default() }).contains("initial_window"));
    assert!(named(NdpParams { rto: Some(Time::ZERO), ..NdpParams::default() }).contains("rto"));
    assert_eq!(NdpParams::default().timeout(Time::from_us(12)), Time::from_ms(1));
    assert_eq!(NdpParams::default().timeout(Time::from_ms(40)), Time::from_ms(400));
}
