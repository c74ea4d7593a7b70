//! Who may join, who may not, and how addresses become known: RFC 8684, §3.1, §3.2, §3.4.1.

use midpath_core::packet::{Flags, Packet};
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::roles::Accept;
use midpath_core::units::{Rate, Time};
use midpath_core::wire;

use super::harness::{FLOW, Fate, HOSTS, Lab, MSS, Sent, Setup, per_link};
use crate::Catalogue;
use crate::mptcp::address::Pair;
use crate::mptcp::announce::AddAddr;
use crate::mptcp::hello::{Hello, Refused};
use crate::mptcp::keys::Keys;
use crate::mptcp::{MAX_SUBFLOWS, MptcpParams};

/// The initiator's view of the keys.
fn keys(lab: &Lab) -> Keys {
    lab.sender().subflows()[0].keys().copied().expect("the SYN-ACK has come")
}

fn listeners(lab: &Lab) -> Keys {
    let Keys { own, peer } = keys(lab);
    Keys { own: peer, peer: own }
}

/// A stream without end over slow links.
fn endless() -> Setup {
    let queue = QueueSpec::fifo(Limit::Packets(30));
    Setup { size: None, rate: Rate::from_mbps(2), queue, ..Setup::default() }
}

/// A connection without end, whose first subflow alone is there.
fn open() -> Lab {
    let mut lab = Lab::new(&endless(), MptcpParams { subflows: Some(1), ..per_link(1) });
    lab.run_until(Time::from_ms(100));
    lab
}

/// A packet to the listener, over link 1, from somebody who may not be the initiator; between these
/// of their addresses.
fn stranger(flags: Flags, (seq, ack): (u32, u32), between: (u8, u8), hello: Hello) -> Packet {
    let mut p = Packet::new(FLOW, HOSTS[0], HOSTS[1], 40);
    (p.flags, p.seq, p.ack, p.window) = (flags, seq, ack, 1000);
    p.set_interfaces(Pair::new(between.0, between.1).interfaces());
    p.set_header(&hello);
    p
}

fn syn(between: (u8, u8), token: u32) -> Packet {
    stranger(Flags::SYN, (7000, 0), between, Hello::Join { address: 1, token, nonce: 5 })
}

/// What the listener has sent between these addresses since `from`.
fn answers(lab: &Lab, from: Time, between: (u8, u8)) -> Vec<Packet> {
    let back = Pair::new(between.0, between.1).reversed().interfaces();
    let all = lab.log().iter().filter(|s| s.from == 1 && s.at >= from && s.packet.interfaces == back);
    all.map(|s| s.packet).collect()
}

fn is_refused(answers: &[Packet]) -> bool {
    matches!(answers, [p] if p.flags.has(Flags::RST) && p.header::<Refused>().is_some())
}

#[test]
fn a_join_proves_itself_both_ways() {
    let mut lab = Lab::new(&endless(), per_link(2));
    lab.run_until(Time::from_ms(500));
    let keys = keys(&lab);
    let said: Vec<_> = lab.log().iter().filter(|s| s.link == 1).take(4).collect();
    let hellos: Vec<_> = said.iter().map(|s| s.hello()).collect();
    let [
        Some(Hello::Join { nonce: r_a, .. }),
        Some(Hello::Joined { proof, nonce: r_b, .. }),
        Some(Hello::Proof(third)),
        None,
    ] = hellos[..]
    else {
        panic!("{hellos:?}")
    };
    assert!(keys.proves(&proof, r_a, r_b));
    assert_eq!(third, keys.proof(r_a, r_b));
    assert_eq!(
        [2, 3].map(|i: usize| said[i].packet.size),
        [76, 64],
        "40, timestamps and 24; 40, timestamps and a data ACK"
    );
    assert!(said[3].dss().is_some());
}

#[test]
fn a_join_with_a_wrong_token_is_refused() {
    let mut lab = open();
    let now = lab.now;
    lab.arrive(1, 1, syn((1, 1), keys(&lab).peer.token ^ 1));
    lab.run_until(now + Time::from_ms(100));
    assert!(is_refused(&answers(&lab, now, (1, 1))));
    assert_eq!(lab.receiver().places(), 1);
}

#[test]
fn a_join_with_a_wrong_proof_is_refused_and_leaves_no_trace() {
    let mut lab = open();
    let now = lab.now;
    lab.arrive(1, 1, syn((1, 1), keys(&lab).peer.token));
    lab.run_until(now + Time::from_ms(1));
    let [answer] = answers(&lab, now, (1, 1))[..] else { panic!("a SYN-ACK") };
    assert!(matches!(answer.header::<Hello>(), Some(Hello::Joined { .. })) && lab.receiver().places() == 2);
    let third = |hello| stranger(Flags::ACK, (7001, answer.seq.wrapping_add(1)), (1, 1), hello);
    // Who has not the numbers cannot end it; who says nothing of the keys is not heard.
    let mut blind = third(Hello::Proof([0; 20]));
    blind.ack = blind.ack.wrapping_add(1000);
    lab.arrive(1, 1, blind);
    let mut data = third(Hello::Capable);
    data.take_header::<Hello>();
    (data.payload, data.size) = (100, 140);
    lab.arrive(1, 1, data);
    lab.run_until(now + Time::from_ms(2));
    assert_eq!(lab.receiver().places(), 2);
    let later = lab.now;
    lab.arrive(1, 1, third(Hello::Proof([0; 20])));
    lab.run_until(later + Time::from_ms(1));
    assert!(is_refused(&answers(&lab, later, (1, 1))));
    assert_eq!(lab.receiver().places(), 1);
}

#[test]
fn half_open_joins_take_few_places_and_not_for_ever() {
    let mut lab = open();
    let token = keys(&lab).peer.token;
    for from in 0..15 {
        for to in 0..2 {
            lab.arrive(1, 1, syn((from, to), token));
        }
    }
    lab.run_until(lab.now + Time::from_ms(1));
    assert_eq!(lab.receiver().places(), MAX_SUBFLOWS);
    // Six repeats of the SYN-ACK, the last after 64 s.
    lab.run_until(lab.now + Time::from_secs(200));
    assert_eq!(lab.receiver().places(), 1);
    let delivered = lab.report().delivered;
    lab.run_until(lab.now + Time::from_ms(100));
    assert!(lab.report().delivered > delivered, "the connection goes on");
}

#[test]
fn an_honest_join_takes_the_place_of_one_that_proved_nothing() {
    let mut lab = Lab::new(&endless(), per_link(2)).treat(|s| {
        // The join's SYN comes late: somebody else is there before.
        let late = s.from == 0 && s.packet.flags.has(Flags::SYN) && s.link == 1;
        if late { Fate::Late(Time::from_ms(20)) } else { Fate::Pass }
    });
    lab.run_until(Time::from_ms(95));
    lab.arrive(1, 1, syn((1, 1), keys(&lab).peer.token));
    lab.run_until(Time::from_ms(100));
    assert_eq!(lab.receiver().places(), 2);
    lab.run_until(Time::from_ms(800));
    assert!(lab.gauge("subflow2_bytes") > 0.0);
    assert_eq!(lab.receiver().places(), 2);
}

#[test]
fn a_listener_that_proves_nothing_is_refused() {
    let lose = |s: &Sent| if s.link == 1 && s.from == 1 { Fate::Lose } else { Fate::Pass };
    let mut lab = Lab::new(&Setup { size: Some(3000 * MSS), ..Setup::default() }, per_link(2)).treat(lose);
    lab.run_until(Time::from_ms(110));
    let answer = lab.log().iter().find(|s| s.link == 1 && s.from == 1).expect("a SYN-ACK").packet;
    let Some(Hello::Joined { address, mut proof, nonce }) = answer.header() else { panic!("{answer:?}") };
    proof[7] ^= 1;
    let mut wrong = answer;
    wrong.set_header(&Hello::Joined { address, proof, nonce });
    lab.arrive(0, 1, wrong);
    lab.run();
    assert!(lab.log().iter().any(|s| s.from == 0 && s.link == 1 && s.packet.flags.has(Flags::RST)));
    assert_eq!((lab.gauge("subflow2_bytes"), lab.report().delivered), (0.0, 3000 * MSS));
}

#[test]
fn nobody_joins_a_connection_that_is_not_there() {
    let mptcp = Catalogue::standard().build("mptcp", &serde_json::json!({})).expect("valid");
    let mptcp = mptcp.transport().expect("carries flows");
    let Accept::Refuse(reset) = mptcp.accept(&syn((0, 0), 3), None) else { panic!("accepted") };
    assert!(is_refused(&[reset]));
    assert!(matches!(mptcp.accept(&stranger(Flags::SYN, (1, 0), (0, 0), Hello::Capable), None), Accept::Take(_)));
    // An option with both keys is no SYN's.
    let keys = Hello::Keys { own: 1, peer: 2, data: None };
    assert!(matches!(mptcp.accept(&stranger(Flags::SYN, (1, 0), (0, 0), keys), None), Accept::Refuse(_)));
}

/// How often the listener told of its second address until then, and how often it was echoed.
fn told(lab: &Lab) -> [usize; 2] {
    let address = |s: &&Sent| s.address().filter(|a| a.id == 2 && a.address == wire::address(HOSTS[1], 2));
    [1, 0].map(|from| lab.log().iter().filter(|s| s.from == from && address(s).is_some()).count())
}

#[test]
fn an_address_is_told_until_it_is_echoed() {
    let mut lab = Lab::new(&endless(), per_link(2));
    lab.run_until(Time::from_secs(5));
    assert_eq!(told(&lab), [1, 1]);
    let first = lab.log().iter().find(|s| s.address().is_some()).expect("told");
    assert!(first.at < Time::from_ms(60) && first.packet.size == 80, "on the first ACK: {first:?}");
    // Without echoes it is told again after 1, 2, 4 … s, seven times in all.
    let mute = |s: &Sent| if s.from == 0 && s.address().is_some() { Fate::Lose } else { Fate::Pass };
    let mut lab = Lab::new(&endless(), per_link(2)).treat(mute);
    lab.run_until(Time::from_ms(3500));
    assert_eq!(told(&lab), [3, 3]);
    lab.run_until(Time::from_secs(200));
    assert_eq!(told(&lab), [7, 7]);
}

#[test]
fn an_address_that_the_peer_does_not_vouch_for_is_none() {
    let setup = Setup { delays: vec![Time::from_ms(10); 2], ..endless() };
    let lose = |s: &Sent| if s.from == 1 && s.address().is_some() { Fate::Lose } else { Fate::Pass };
    let mut lab = Lab::new(&setup, MptcpParams { subflows: Some(8), ..per_link(2) }).treat(lose);
    lab.run_until(Time::from_ms(500));
    let pairs = |lab: &Lab| {
        let sender = lab.sender();
        sender.subflows().iter().map(|s| (s.pair.source().0, s.pair.destination().0)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&lab), [(0, 0), (1, 0)], "one address of the listener's is known");
    let listener = listeners(&lab);
    let address = wire::address(HOSTS[1], 2);
    let tell = |lab: &mut Lab, proof| {
        let last =
            lab.log().iter().rev().find(|s| s.from == 1 && s.link == 0 && s.dss().is_some()).expect("ACKs").packet;
        let mut p = last;
        p.push_raw(
            <AddAddr as midpath_core::packet::Header>::TAG,
            &midpath_core::packet::body_of(&AddAddr { id: 2, address, proof }),
        );
        lab.arrive(0, 0, p);
        lab.run_until(lab.now + Time::from_ms(1));
    };
    let mut wrong = listener.vouch(2, address);
    wrong[0] ^= 1;
    tell(&mut lab, Some(wrong));
    tell(&mut lab, None);
    assert_eq!((pairs(&lab).len(), told(&lab)[1]), (2, 0));
    tell(&mut lab, Some(listener.vouch(2, address)));
    assert_eq!((pairs(&lab).len(), told(&lab)[1]), (4, 1));
}

#[test]
fn the_first_data_may_come_last() {
    // RFC 8684, §3.1: only they have the keys. What follows is kept until they come again, and
    // acknowledged by TCP meanwhile.
    let mut first = true;
    let mut lab = Lab::new(&Setup::default(), per_link(2)).treat(move |s| {
        let hit = first && s.is_data();
        first &= !hit;
        if hit { Fate::Lose } else { Fate::Pass }
    });
    lab.run_until(Time::from_ms(45));
    let acks: Vec<_> = lab.log().iter().filter(|s| s.from == 1 && !s.packet.flags.has(Flags::SYN)).collect();
    assert!(acks.iter().take(9).all(|s| s.dss().is_none() && s.packet.sack_len > 0), "no data ACK without the keys");
    assert!(
        lab.log().iter().filter(|s| s.from == 0).all(|s| s.link == 0),
        "nobody joins before the listener has the keys"
    );
    lab.run();
    assert_eq!((lab.report().delivered, lab.report().timeouts, lab.report().retransmitted), (100 * MSS, 0, 1));
    assert!(lab.gauge("subflows") == 0.0 && lab.log().iter().any(|s| s.link == 1));
}

#[test]
fn of_two_that_would_be_first_one_is() {
    // SYN-ACKs over link 0 are late by more than a timeout, so that the other address is tried,
    // too. Its SYN-ACK comes back over link 0.
    let mut lab = Lab::new(&endless(), per_link(2)).treat(|s| {
        let late = s.from == 1 && s.link == 0 && s.packet.flags.has(Flags::SYN);
        if late { Fate::Late(Time::from_ms(1200)) } else { Fate::Pass }
    });
    lab.run_until(Time::from_secs(5));
    let capable = lab.log().iter().filter(|s| s.hello() == Some(Hello::Capable));
    assert!(capable.clone().any(|s| s.link == 0) && capable.clone().any(|s| s.link == 1));
    // Link 0's SYN-ACK is there first; the other attempt is given up, and its address joins.
    let joins = |s: &&Sent| s.from == 0 && matches!(s.hello(), Some(Hello::Join { .. }));
    let join = lab.log().iter().find(joins).expect("a join");
    assert!(join.link == 1 && join.packet.interfaces == Pair::new(1, 1).interfaces());
    let tried: Vec<_> = lab.sender().subflows().iter().map(|s| (s.pair, s.is_alive())).collect();
    assert_eq!(tried, [(Pair::new(0, 0), true), (Pair::new(1, 0), false), (Pair::new(1, 1), true)]);
    assert_eq!(lab.gauge("subflows"), 2.0);
    assert!(lab.gauge("subflow3_bytes") > 0.0);
}
