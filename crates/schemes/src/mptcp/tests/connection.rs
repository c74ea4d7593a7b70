//! The connection, packet by packet, over two links of 10 and 50 ms each way.

use midpath_core::packet::Flags;
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::units::{Rate, Time};

use super::harness::{Fate, Lab, MSS, Sent, Setup, per_link};
use crate::mptcp::header::Mapping;
use crate::mptcp::hello::Hello;
use crate::mptcp::keys::Key;
use crate::mptcp::{MptcpParams, Scheduler};
use crate::transport::TcpParams;

/// The data that were sent: over which link, their mapping counted from the stream's beginning,
/// DATA_FIN.
fn data(lab: &Lab) -> Vec<(usize, Mapping, bool)> {
    let first = key(lab).first;
    let said = |s: &Sent| match (s.hello(), s.dss()) {
        (Some(Hello::Keys { data: Some(len), .. }), None) => {
            Some((s.link, Mapping { data: 0, subflow: 1, len }, false))
        }
        (None, Some(dss)) => {
            let m = dss.mapping?;
            Some((s.link, Mapping { data: m.data.wrapping_sub(first), ..m }, dss.fin))
        }
        _ => None,
    };
    lab.log().iter().filter(|s| s.is_data()).filter_map(said).collect()
}

/// The sender's key, as its third packet has it.
fn key(lab: &Lab) -> Key {
    let told = |s: &Sent| match s.hello() {
        Some(Hello::Keys { own, .. }) => Some(Key::new(own)),
        _ => None,
    };
    lab.log().iter().find_map(told).expect("a third packet")
}

#[test]
fn the_second_subflow_joins_when_the_first_is_there() {
    let mut lab = Lab::new(&Setup::default(), per_link(2));
    lab.run();
    let syns: Vec<_> = lab.log().iter().filter(|s| s.packet.flags.has(Flags::SYN)).collect();
    let said: Vec<_> = syns.iter().map(|s| (s.from, s.link, s.packet.size)).collect();
    assert_eq!(said, [(0, 0, 64), (1, 0, 72), (0, 1, 72), (1, 1, 76)]);
    // RFC 8684, figures 4 and 8; addresses beyond the first subflow's have their interface's
    // number.
    let all: Vec<_> = syns.iter().filter_map(|s| s.hello()).collect();
    let [
        Hello::Capable,
        Hello::Listener(listener),
        Hello::Join { address: 2, token, .. },
        Hello::Joined { address: 2, .. },
    ] = all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!(token, Key::new(listener).token);
    assert!(syns[2].at >= Time::from_ms(40), "after the listener has shown that it has the keys");
    assert_eq!(lab.report().delivered, 100 * MSS);
    assert!(lab.finished().iter().all(Option::is_some), "both ends go: {:?}", lab.finished());
}

/// What went over link 1 until data came there: who sent, what it was, when in ms.
fn joining(fate: fn(&Sent, usize) -> Fate) -> Vec<(usize, &'static str, u64)> {
    let mut count = 0;
    let mut lab =
        Lab::new(&Setup { size: None, rate: Rate::from_mbps(100), ..Setup::default() }, per_link(2)).treat(move |s| {
            count += usize::from(s.link == 1);
            if s.link == 1 { fate(s, count) } else { Fate::Pass }
        });
    lab.run_until(Time::from_ms(1500));
    let name = |s: &Sent| match (s.packet.flags.has(Flags::SYN), s.is_data()) {
        (true, _) => "SYN",
        (_, true) => "data",
        _ => "ACK",
    };
    let all = lab.log().iter().filter(|s| s.link == 1).map(|s| (s.from, name(s), s.at.0 / 1_000_000_000));
    let until = all.clone().position(|s| s.1 == "data").expect("data come");
    all.take(until + 1).collect()
}

#[test]
fn data_wait_for_the_fourth_packet_of_a_join() {
    // RFC 8684, §3.2, figure 8.
    let usual = joining(|_, _| Fate::Pass);
    assert_eq!(usual, [(0, "SYN", 40), (1, "SYN", 90), (0, "ACK", 140), (1, "ACK", 190), (0, "data", 240)]);
    // The third is lost: the SYN-ACK comes again, after a second. The fourth is: the third comes
    // again, after a second.
    let third = joining(|_, n| if n == 3 { Fate::Lose } else { Fate::Pass });
    assert_eq!(
        third[3..],
        [(1, "SYN", 1090), (0, "ACK", 1140), (0, "ACK", 1140), (1, "ACK", 1190), (1, "ACK", 1190), (0, "data", 1240)]
    );
    let fourth = joining(|_, n| if n == 4 { Fate::Lose } else { Fate::Pass });
    assert_eq!(fourth[4..], [(0, "ACK", 1140), (1, "ACK", 1190), (0, "data", 1240)]);
}

#[test]
fn every_byte_has_one_place_and_the_last_has_the_data_fin() {
    let size = 50_000 * MSS + 77;
    let mut lab = Lab::new(&Setup { size: Some(size), ..Setup::default() }, per_link(2));
    lab.run();
    let mut all = data(&lab);
    assert!(all.iter().any(|d| d.0 == 1) && all.iter().any(|d| d.0 == 0), "both links are in use");
    all.sort_by_key(|d| d.1.data);
    let mut at = 0;
    for (_, m, fin) in &all {
        assert_eq!(m.data, at, "no gap, no overlap: nothing was lost");
        at += u64::from(m.len) - u64::from(*fin);
        assert_eq!(*fin, at == size);
    }
    assert_eq!(at, size);
    assert_eq!(lab.report().retransmitted, 0);
    let first = key(&lab).first;
    // The sender's FINs come when everything is acknowledged (RFC 8684, §3.3.3).
    let acked = lab.log().iter().find(|s| s.from == 1 && s.dss().is_some_and(|d| d.ack == first + size + 1));
    let fins = lab.log().iter().filter(|s| s.from == 0 && s.packet.flags.has(Flags::FIN));
    let before = acked.expect("the DATA_FIN is acknowledged").at;
    assert!(fins.clone().count() == 2 && fins.clone().all(|s| s.at > before));
}

#[test]
fn the_lowest_round_trip_comes_first() {
    // Ten segments leave on the third packet; the next ones when ACKs come back, 20 ms later: all
    // before link 1 is there at 240 ms.
    let few = Setup { size: Some(20 * MSS), ..Setup::default() };
    let mut lab = Lab::new(&few, per_link(2));
    lab.run();
    assert!(data(&lab).iter().all(|d| d.0 == 0));
    // With both there, the fast one gets what it has room for, and the slow one the rest.
    let mut lab = Lab::new(&Setup { size: Some(100_000 * MSS), ..Setup::default() }, per_link(2));
    lab.run_until(Time::from_ms(2000));
    let (fast, slow) = (lab.gauge("subflow1_bytes"), lab.gauge("subflow2_bytes"));
    assert!(fast > slow && slow > 0.0, "{fast} {slow}");
}

#[test]
fn round_robin_takes_turns() {
    let queue = QueueSpec::fifo(Limit::Packets(50));
    let delays = vec![Time::from_ms(10); 2];
    let both = Setup { delays, size: None, rate: Rate::from_mbps(10), queue, ..Setup::default() };
    let params = MptcpParams { scheduler: Scheduler::RoundRobin, ..per_link(2) };
    let mut lab = Lab::new(&both, params);
    lab.run_until(Time::from_secs(5));
    let (one, two) = (lab.gauge("subflow1_bytes"), lab.gauge("subflow2_bytes"));
    assert!(one > 0.0 && two > 0.8 * one, "{one} {two}");
}

#[test]
fn one_link_sends_what_a_tcp_sends() {
    let one = Setup { delays: vec![Time::from_ms(10)], size: Some(50 * MSS), ..Setup::default() };
    let mut lab = Lab::new(&one, MptcpParams::default());
    lab.run();
    // SYN, 50 segments, FIN, the ACK of the FIN. Data ride on the third packet.
    assert_eq!(lab.log().iter().filter(|s| s.from == 0).count(), 1 + 50 + 1 + 1);
    let third = lab.log().iter().filter(|s| s.from == 0).nth(1).expect("sent");
    assert!(third.is_data() && third.packet.size == 1496, "both keys and a length take 24 bytes, a DSS 28");
    let ack = lab.log().iter().filter(|s| s.from == 1).nth(1).expect("sent");
    assert_eq!(ack.packet.size, 64, "IPv4, TCP, timestamps, data ACK");
}

#[test]
fn no_bytes_are_a_data_fin() {
    let mut lab = Lab::new(&Setup { size: Some(0), ..Setup::default() }, per_link(2));
    lab.run();
    assert!(lab.report().completed.is_some() && lab.report().delivered == 0);
    assert!(lab.finished().iter().all(Option::is_some));
}

#[test]
fn a_flow_that_is_stopped_delivers_what_it_has_sent() {
    let setup = Setup { size: None, stop: Some(Time::from_ms(300)), ..Setup::default() };
    let mut lab = Lab::new(&setup, per_link(2));
    lab.run();
    let sent: u64 = data(&lab).iter().map(|d| u64::from(d.1.len) - u64::from(d.2)).sum();
    assert!(lab.report().completed.is_some());
    assert_eq!(lab.report().delivered, sent);
    assert!(lab.finished().iter().all(Option::is_some));
    let early = Setup { size: None, stop: Some(Time::from_ms(5)), ..Setup::default() };
    let mut lab = Lab::new(&early, per_link(2));
    lab.run();
    assert_eq!(lab.report().delivered, 0);
}

#[test]
fn what_a_dead_subflow_had_goes_out_on_the_other() {
    // Link 1 loses everything from 200 ms on.
    let setup = Setup { size: Some(100_000 * MSS), ..Setup::default() };
    let mut lab = Lab::new(&setup, per_link(2)).treat(|s| {
        let dead = s.link == 1 && s.at > Time::from_ms(200);
        if dead { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    assert_eq!(lab.report().delivered, 100_000 * MSS);
    assert!(lab.gauge("reinjected") > 0.0);
    let done = lab.report().completed.expect("complete");
    // A timeout of at least a second, then a few round trips of 20 ms.
    assert!(done > Time::from_secs(1) && done < Time::from_ms(2500), "{done}");
    assert!(lab.finished().iter().all(Option::is_some));
}

#[test]
fn a_subflow_that_is_reset_leaves_its_data_to_the_other() {
    let mut lab = Lab::new(&Setup { size: Some(2000 * MSS), ..Setup::default() }, per_link(2));
    lab.run_until(Time::from_ms(250));
    let mut reset =
        midpath_core::packet::Packet::new(super::harness::FLOW, super::harness::HOSTS[1], super::harness::HOSTS[0], 40);
    (reset.flags, reset.interfaces) = (Flags::RST, crate::mptcp::address::Pair::new(1, 1).interfaces());
    lab.arrive(0, 1, reset);
    lab.run();
    assert_eq!(lab.report().delivered, 2000 * MSS);
    assert!(lab.report().completed.expect("complete") < Time::from_secs(2), "no timeout is waited for");
}

#[test]
fn when_all_subflows_die_the_connection_does() {
    let tcp = TcpParams { max_retries: 3, ..TcpParams::default() };
    let params = MptcpParams { tcp, ..per_link(2) };
    let mut lab =
        Lab::new(&Setup::default(), params).treat(|s| if s.at > Time::from_ms(30) { Fate::Lose } else { Fate::Pass });
    lab.run();
    assert!(lab.report().completed.is_none());
    // The receiver hears of nothing: it stays, as a TCP without keepalive does.
    assert!(lab.finished()[0].is_some());
}

#[test]
fn the_window_is_one_for_all() {
    let tcp = TcpParams { receive_window: midpath_core::units::Bytes(20 * MSS), ..TcpParams::default() };
    let params = MptcpParams { tcp, opportunistic: false, ..per_link(2) };
    let mut lab = Lab::new(&Setup { size: Some(1000 * MSS), ..Setup::default() }, params);
    let mut most = 0;
    for ms in 0..3000 {
        lab.run_until(Time::from_ms(ms));
        let sender = lab.sender();
        most = most.max(sender.data().next().saturating_sub(sender.data().una()));
        drop(sender);
        assert!(lab.receiver().stream().held() <= 20 * MSS);
    }
    assert_eq!(most, 20 * MSS, "all of the buffer is used, and no more");
    lab.run();
    assert_eq!(lab.report().delivered, 1000 * MSS);
}

#[test]
fn a_gap_that_another_subflow_fills_is_told_at_once() {
    // The first segment on link 0 comes 200 ms late; what link 1 brings meanwhile is held.
    let mut late = true;
    let setup = Setup { delays: vec![Time::from_ms(10); 2], size: Some(400 * MSS), ..Setup::default() };
    let mut lab = Lab::new(&setup, per_link(2)).treat(move |s| {
        let hit = late && s.is_data() && s.at > Time::from_ms(60) && s.link == 0;
        late &= !hit;
        if hit { Fate::Lose } else { Fate::Pass }
    });
    let mut held = 0.0f64;
    for ms in 0..400 {
        lab.run_until(Time::from_ms(ms));
        held = held.max(lab.gauge("held_bytes"));
    }
    lab.run();
    assert!(held > 5.0 * MSS as f64, "{held}");
    assert_eq!(lab.report().delivered, 400 * MSS);
    assert_eq!(lab.report().timeouts, 0);
}
