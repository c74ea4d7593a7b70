//! MIRCC between forwarders: networks in virtual time.

mod net;

use midpath_core::units::{Rate, Time};
use midpath_ndn_forwarder::Settings;

use self::net::Net;

const S: fn(u64) -> Time = Time::from_secs;
const MS: fn(u64) -> Time = Time::from_ms;
const MBPS: fn(u64) -> Rate = Rate::from_mbps;
/// η of the rates, and the content's part of what Data take on a link.
const ETA: f64 = 0.95;
const CONTENT: f64 = 0.93;

fn settings() -> Settings {
    Settings { store_bytes: 0, ..Settings::default() }
}

/// Within 5 %: the bound of the simulator's figures.
fn near(got: f64, wanted: f64, what: &str) {
    assert!((got / wanted - 1.0).abs() < 0.05, "{what}: {got} is not {wanted}");
}

/// Consumer – 50 Mbps – router – 20 Mbps – producer. `known`: whether each end knows its links' rates.
fn line(known: [bool; 3]) -> Net {
    let mut net = Net::new(3, &settings());
    let [up, _] = net.link([0, 1], MBPS(50), MS(2), 60_000, [known[0], known[1]]);
    let [onward, _] = net.link([1, 2], MBPS(20), MS(2), 60_000, [known[1], known[2]]);
    net.route(0, &["a"], up);
    net.route(1, &["a"], onward);
    net.produce(2, &["a"]);
    net
}

#[test]
fn a_flow_has_the_rate_that_the_slowest_link_stamps() {
    let mut net = line([true; 3]);
    net.run(S(1));
    let flow = net.fetch(0, &["a", "x"], Time::MAX);
    net.run(S(2));
    let [[bps, primary, secondary]] = net.measure(&[flow], S(6))[..] else { panic!("one flow") };
    near(primary + secondary, ETA * 20e6, "what it asks for");
    assert!(bps > 0.95 * CONTENT * ETA * 20e6, "{bps}");
    assert_eq!(net.dropped, 0);
    let counted: Vec<u64> = net.nodes.iter().map(|node| node.counters().retried).collect();
    assert_eq!(counted, [0, 0, 0]);
}

#[test]
fn flows_of_one_link_share_it() {
    let mut net = line([true; 3]);
    net.run(S(1));
    let flows = [net.fetch(0, &["a", "x"], Time::MAX), net.fetch(0, &["a", "y"], S(8))];
    net.run(S(4));
    for [bps, primary, secondary] in net.measure(&flows, S(8)) {
        near(primary + secondary, ETA * 10e6, "half of the link");
        near(bps, CONTENT * ETA * 10e6, "and Data come so");
    }
    // What the other had asked for comes first.
    net.run(S(12));
    let [[_, primary, _]] = net.measure(&flows[..1], S(14))[..] else { panic!("one flow") };
    near(primary, ETA * 20e6, "the other has gone");
    assert_eq!(net.dropped, 0);
}

#[test]
fn where_an_end_does_not_speak_it_links_are_plain() {
    for known in [[false; 3], [true, false, true], [false, true, false]] {
        let mut net = line(known);
        net.run(S(1));
        let flow = net.fetch(0, &["a", "x"], Time::MAX);
        net.run(S(5));
        assert!(net.nodes.iter().all(|node| node.lines().all(|(_, line)| !line.speaks(net.now))), "{known:?}");
        assert!(net.nodes.iter().all(|node| node.flows().is_empty()));
        assert!(net.fetching[flow].bytes > 5_000_000, "{known:?}: {}", net.fetching[flow].bytes);
    }
}

/// The link next to the consumer is plain: the first router that speaks MIRCC asks for it.
#[test]
fn who_is_behind_a_plain_link_is_asked_for_at_the_border() {
    let mut net = line([false, true, true]);
    net.run(S(1));
    let flow = net.fetch(0, &["a", "x"], Time::MAX);
    net.run(S(3));
    let before = net.fetching[flow].bytes;
    net.run(S(7));
    let bps = 8.0 * (net.fetching[flow].bytes - before) as f64 / 4.0;
    assert_eq!((net.nodes[0].flows().len(), net.nodes[1].flows().len()), (0, 1));
    assert!(bps > 0.9 * CONTENT * ETA * 20e6, "{bps}");
}

/// Figure 5's network: l_a 15, l_b 12, l_c 9 Mbps. Nodes e1, x, e2, e3, y; producer 1 at y, producer 2 at e3.
fn slingshot() -> Net {
    let mut net = Net::new(5, &settings());
    let both = [true; 2];
    let [a, _] = net.link([0, 1], MBPS(15), MS(4), 120_000, both);
    let [b, _] = net.link([1, 2], MBPS(12), MS(4), 120_000, both);
    let [c, _] = net.link([1, 3], MBPS(9), MS(4), 120_000, both);
    let [e2, _] = net.link([2, 4], MBPS(1000), MS(3), 120_000, both);
    let [e3, _] = net.link([3, 4], MBPS(1000), MS(3), 120_000, both);
    for (node, prefix, face) in
        [(0, "p1", a), (0, "p2", a), (1, "p1", b), (1, "p1", c), (1, "p2", c), (2, "p1", e2), (3, "p1", e3)]
    {
        net.route(node, &[prefix], face);
    }
    net.produce(4, &["p1"]);
    net.produce(3, &["p2"]);
    net
}

#[test]
fn figure_6_comes_out_as_in_the_simulator() {
    let mut net = slingshot();
    net.run(S(1));
    let one = net.fetch(0, &["p1", "x"], Time::MAX);
    net.run(S(10));
    let [[bps, primary, secondary]] = net.measure(&[one], S(20))[..] else { panic!("one flow") };
    near(primary / ETA, 12e6, "the best path's rate");
    // Of the 3 Mbps that are left the simulator has as much in such large packets: so few fit into T.
    assert!((2.3e6..2.8e6).contains(&(secondary / ETA)), "{secondary}");
    near(bps / CONTENT / ETA, 14.5e6, "all of l_a but that");
    let two = net.fetch(0, &["p2", "x"], S(50));
    net.run(S(30));
    let [[first, ..], [second, ..]] = net.measure(&[one, two], S(50))[..] else { panic!("two flows") };
    near((first + second) / CONTENT / ETA, 15e6, "all of l_a");
    // The equations' fixed point, by the solver of `midpath paper run mircc/figure6`.
    near(first / second, 1.721, "consumer 1 over consumer 2");
    assert_eq!(net.dropped, 0);
}

#[test]
fn a_path_that_fails_is_left_and_others_carry_the_flow() {
    let mut net = slingshot();
    net.run(S(1));
    let one = net.fetch(0, &["p1", "x"], Time::MAX);
    net.run(S(5));
    // Neither Interests nor Data pass l_b any more.
    net.cut([1, 2]);
    net.run(S(6));
    let before = net.fetching[one].bytes;
    net.run(S(9));
    let bps = 8.0 * (net.fetching[one].bytes - before) as f64 / 3.0;
    assert!(bps > 0.8 * CONTENT * ETA * 9e6, "soon: {bps}");
    net.run(S(15));
    let [[bps, ..]] = net.measure(&[one], S(20))[..] else { panic!("one flow") };
    assert!(bps > 0.85 * CONTENT * ETA * 9e6, "{bps}");
}

/// Whoever is above stamps what it likes: more than the link's rate is cut.
#[test]
fn absurd_stamps_are_cut() {
    let mut net = line([true; 3]);
    net.tamper = Some(|_, _, header| {
        if header.mircc.rates.is_some() {
            (header.mircc.rates, header.mircc.path_id) = (Some((u64::MAX, u64::MAX)), Some(u64::MAX));
        }
    });
    net.run(S(1));
    let flow = net.fetch(0, &["a", "x"], Time::MAX);
    net.run(S(3));
    let [[bps, primary, secondary]] = net.measure(&[flow], S(6))[..] else { panic!("one flow") };
    assert!(primary.max(secondary) <= ETA * 50e6 * 1.001, "{primary} {secondary}");
    assert!(bps > 0.5 * ETA * 20e6, "{bps}: the router's shaper refuses what is too much");
}
