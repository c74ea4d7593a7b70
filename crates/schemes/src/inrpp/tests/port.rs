//! The port as its node drives it: algorithm 1 from both sides.

use midpath_core::packet::{Kind, Packet};
use midpath_core::queue::Limit;
use midpath_core::roles::Drop;

use super::harness::{DOWN, HOST, RECEIVER, Router, SENDER, UP, small};
use crate::inrpp::header::{Control, InrppHeader, Nonce, Signed, Slow};
use crate::inrpp::{Additions, Notify, Params};

const PUSH: u8 = 0;
const STORE: u8 = 1;
const BACKPRESSURE: u8 = 2;
const DISABLE: u8 = 3;

fn slow(nonce: u32, release: u16) -> InrppHeader {
    InrppHeader { slow: Some(Slow { nonce: Nonce(nonce), release }), ..InrppHeader::default() }
}

#[test]
fn in_push_packets_go_straight_through() {
    let mut r = Router::new(small());
    r.data(1, 1);
    assert_eq!((r.passed(1), r.state()), (1, PUSH));
    r.data(1, 2);
    assert_eq!((r.passed(1), r.state()), (1, PUSH), "two wait in the buffer");
    assert_eq!(r.ack(1), InrppHeader { direction: crate::inrpp::header::Direction::Ack, ..InrppHeader::default() });
    r.until(3);
    assert_eq!((r.passed(1), r.node.stored()), (3, 0));
}

#[test]
fn the_states_follow_the_cache_and_acks_hear_of_it() {
    let mut r = Router::new(small());
    r.data(1, 4);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (STORE, 1500.0));
    r.data(1, 6);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 10_500.0));
    // Line 8: one flow alone has more than its part: it is told to hold while S is above S_high.
    let rounded = r.ack(1);
    assert!(rounded.slow.is_some_and(|s| s.release == 0) && rounded.nonces.iter().eq(rounded.slow.map(|s| s.nonce)));
    let carried = r.log.sent.iter().find(|s| s.0 == UP).unwrap().2;
    assert!(
        r.verifies(&carried) && carried.headers().len() == 2 + 18 + 10 + 16,
        "signed for the neighbour, and paid for on the wire"
    );
    r.until(5);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 6000.0));
    assert!(r.ack(1).slow.is_some_and(|s| s.release == 2), "halfway to S_low it is told to send more");
    r.until(7);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (DISABLE, 3000.0));
    let rounded = r.ack(1);
    assert!(rounded.slow.is_none() && rounded.cancel.is_some() && rounded.nonces.is_empty());
    r.until(60);
    assert_eq!((r.state(), r.node.stored()), (DISABLE, 0));
    r.until(120);
    assert_eq!(r.state(), PUSH, "the timer has expired, nobody has asked");
    assert!(r.ack(1).cancel.is_some(), "for ACKs that come late");
    r.until(1200);
    assert_eq!(r.ack(1).cancel, None);
    assert_eq!(r.log.dropped.len(), 0);
}

#[test]
fn a_port_in_backpressure_steers_flows_towards_equal_parts() {
    let mut r = Router::new(small());
    r.data(1, 8);
    r.data(2, 2);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 10_500.0));
    let release = |r: &mut Router, flow| r.ack(flow).slow.map(|s| s.release);
    // Above S_high: six packets wait of flow 1, one of flow 2, whose part is two at least; who has
    // none gets two for one, too.
    assert_eq!((release(&mut r, 1), release(&mut r, 2), release(&mut r, 3)), (Some(0), Some(1), Some(2)));
    r.until(5);
    // Below it: parts of the 4.5 packets halfway from S_low to S_high.
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 6000.0));
    assert_eq!((release(&mut r, 1), release(&mut r, 2)), (Some(1), Some(2)));
    let paper = Params { additions: Additions { steer: false, ..Additions::default() }, ..small() };
    let mut r = Router::new(paper);
    r.data(1, 10);
    assert_eq!((release(&mut r, 1), release(&mut r, 2)), (Some(1), Some(1)), "algorithm 1, line 18");
}

#[test]
fn two_packets_for_an_ack_that_says_so_and_ten_to_begin_with() {
    let mut r = Router::new(small());
    r.ack_with(1, DOWN, slow(77, 2), true);
    r.data(1, 5);
    r.until(20);
    assert_eq!(r.passed(1), 2);
    let mut r = Router::new(Params { cache: Some(Limit::Bytes(60_000)), high: None, ..small() });
    r.syn_ack_with(1, DOWN, slow(77, 10));
    r.data(1, 15);
    r.until(40);
    assert_eq!(r.passed(1), 10, "a handshake closes the loop with what it says in it");
}

#[test]
fn a_handshake_is_told_only_if_flows_are_steered() {
    for steer in [true, false] {
        let mut r = Router::new(Params { additions: Additions { steer, ..Additions::default() }, ..small() });
        r.data(1, 10);
        let rounded = r.syn_ack_with(2, DOWN, InrppHeader::default());
        assert_eq!(rounded.slow.is_some(), steer);
    }
}

#[test]
fn a_handshake_says_what_a_small_cache_has_room_for_whatever_else_it_says() {
    // A cache of 15,000 bytes without an S_high of the scenario's: half of its room, as that has less
    // than ten packets; without promises a quarter.
    let tight = || Router::new(Params { high: None, ..small() });
    let cancel = InrppHeader { cancel: Some(Nonce(77)), ..InrppHeader::default() };
    for option in [InrppHeader::default(), slow(77, 10), cancel] {
        assert_eq!(tight().syn_ack_with(1, DOWN, option).begin, Some(7500), "{option:?}");
        let mut without = Router::new(Params {
            high: None,
            additions: Additions { promises: false, ..Additions::default() },
            ..small()
        });
        assert_eq!(without.syn_ack_with(1, DOWN, option).begin, Some(3750), "{option:?}");
        let least = InrppHeader { begin: Some(1000), ..option };
        assert_eq!(tight().syn_ack_with(1, DOWN, least).begin, Some(1000), "another hop has less");
    }
    assert_eq!(tight().ack(1).begin, None, "said once");
    assert_eq!(Router::new(small()).syn_ack_with(1, DOWN, cancel).begin, None, "S_high was given");
}

#[test]
fn what_many_handshakes_are_told_has_room_once() {
    let start = |promises: bool| {
        let additions = Additions { promises, ..Additions::default() };
        let mut r = Router::new(Params { cache: Some(Limit::Bytes(150_000)), additions, ..small() });
        r.data(1, 60);
        assert_eq!(r.state(), BACKPRESSURE);
        let told = (2..30).map(|f| r.syn_ack_with(f, DOWN, InrppHeader::default()).slow.expect("pressed").release);
        let told: Vec<u16> = told.collect();
        (told, r.gauge(DOWN, "promised_bytes"), r.gauge(DOWN, "room_bytes"))
    };
    let (told, promised, room) = start(true);
    assert!(told[0] > 1 && promised > 0.0 && promised <= room, "{promised} of {room}, {told:?}");
    assert_eq!(told.last(), Some(&1), "a packet where there is no room");
    let (told, ..) = start(false);
    assert!(
        1500.0 * told.iter().map(|t| f64::from(*t)).sum::<f64>() > room,
        "the room is given more than once: {told:?}"
    );
}

#[test]
fn a_new_load_in_disable_backpressure_presses_again() {
    let mut r = Router::new(small());
    r.data(1, 10);
    r.until(7);
    assert_eq!(r.state(), DISABLE);
    r.data(2, 5);
    assert_eq!(r.state(), BACKPRESSURE);
}

#[test]
fn a_request_closes_the_loop_here_and_goes_no_further() {
    let mut r = Router::new(small());
    // Figure 5 B: the request is for this hop; the nonce stays on the ACK for the sender.
    let rounded = r.ack_with(1, DOWN, InrppHeader { nonces: nonces(77), ..slow(77, 1) }, true);
    assert!(rounded.slow.is_none() && rounded.nonces.iter().eq([Nonce(77)]));
    assert_eq!(r.gauge(DOWN, "closed_loop"), 1.0);
    r.data(1, 4);
    r.data(2, 1);
    r.until(20);
    assert_eq!((r.passed(1), r.passed(2)), (1, 1), "one for the ACK that came; another flow's go through");
    r.ack_with(1, DOWN, slow(77, 1), true);
    assert_eq!(r.passed(1), 2);
    r.ack_with(1, DOWN, slow(77, 0), true);
    assert_eq!(r.passed(1), 2, "held back");
    // Lines 23–27: the cancellation opens the loop, and goes on.
    let rounded = r.ack_with(1, DOWN, InrppHeader { cancel: Some(Nonce(77)), ..InrppHeader::default() }, true);
    assert_eq!(rounded.cancel, Some(Nonce(77)));
    r.until(30);
    assert_eq!((r.passed(1), r.gauge(DOWN, "closed_loop"), r.gauge(DOWN, "nonces")), (4, 0.0, 0.0));
}

fn nonces(n: u32) -> crate::inrpp::header::Nonces {
    let mut all = crate::inrpp::header::Nonces::default();
    all.add(Nonce(n));
    all
}

#[test]
fn when_this_cache_fills_the_loop_moves_up() {
    let mut r = Router::new(small());
    r.ack_with(1, DOWN, slow(77, 1), true);
    r.data(1, 8);
    assert_eq!(r.state(), BACKPRESSURE);
    // Figure 5 C: its own nonce, not the one from downstream.
    let rounded = r.ack_with(1, DOWN, InrppHeader { nonces: nonces(77), ..slow(77, 1) }, true);
    let port = rounded.slow.expect("a request to the next hop").nonce;
    assert!(port != Nonce(77) && rounded.nonces.iter().eq([port, Nonce(77)]));
}

#[test]
fn data_with_a_stored_nonce_are_stored() {
    let mut r = Router::new(small());
    r.ack_with(1, DOWN, slow(77, 1), true);
    let echo = InrppHeader { nonces: nonces(77), ..InrppHeader::default() };
    (0..11).for_each(|_| r.data_with(2, Some(echo)));
    r.until(40);
    // Nothing is known of flow 2's loop: it may begin one.
    assert_eq!((r.passed(2), r.gauge(DOWN, "cache_bytes")), (2, 13_500.0));
    (0..3).for_each(|_| r.data_with(3, Some(InrppHeader { nonces: nonces(78), ..InrppHeader::default() })));
    r.until(50);
    assert_eq!(r.passed(3), 3, "another interface's nonce means nothing here");
}

#[test]
fn what_nobody_asks_for_any_more_expires() {
    let mut r = Router::new(Params { additions: Additions { sparse: false, ..Additions::default() }, ..small() });
    r.ack_with(1, DOWN, slow(77, 0), true);
    r.data(1, 3);
    r.until(990);
    assert_eq!(r.passed(1), 0);
    r.until(1010);
    assert_eq!((r.passed(1) > 0, r.gauge(DOWN, "closed_loop"), r.gauge(DOWN, "nonces")), (true, 0.0, 0.0));
}

#[test]
fn a_flow_whose_acks_are_lost_begins_anew_while_others_go_on() {
    let mut r = Router::new(small());
    r.ack_with(1, DOWN, slow(77, 0), true);
    r.data(1, 3);
    for ms in (10..1500).step_by(10) {
        r.until(ms);
        r.ack_with(2, DOWN, slow(77, 1), true);
    }
    assert_eq!((r.passed(1), r.gauge(DOWN, "nonces")), (3, 1.0));
}

#[test]
fn forged_replayed_and_bogus_requests_are_refused_and_counted() {
    let mut r = Router::new(small());
    let rounded = r.ack_with(1, DOWN, slow(77, 0), false);
    assert!(rounded.slow.is_none(), "the ACK goes on without it");
    assert_eq!((r.gauge(DOWN, "forged"), r.gauge(DOWN, "closed_loop")), (1.0, 0.0));
    // From a host, however well signed: end-points originate none (§V-C).
    r.ack_with(1, HOST, slow(78, 0), true);
    assert_eq!((r.gauge(HOST, "forged"), r.gauge(HOST, "closed_loop")), (1.0, 0.0));
    // A copy of what was good once.
    r.ack_with(1, DOWN, slow(79, 1), true);
    let mut copy = InrppHeader { direction: crate::inrpp::header::Direction::Ack, ..slow(79, 1) };
    copy.number = 1;
    r.ack_with(1, DOWN, copy, false);
    assert_eq!(r.gauge(DOWN, "forged"), 2.0, "a number that was not signed is a forgery");
    // Bogus nonces on data store nothing.
    (0..50).for_each(|n| r.data_with(9, Some(InrppHeader { nonces: nonces(1000 + n), ..InrppHeader::default() })));
    assert_eq!(r.gauge(DOWN, "nonces"), 1.0);
}

#[test]
fn without_authentication_a_forged_request_is_obeyed() {
    let mut r = Router::new(Params { auth: false, ..small() });
    r.ack_with(1, DOWN, slow(77, 0), false);
    assert_eq!(r.gauge(DOWN, "closed_loop"), 1.0);
}

#[test]
fn an_ack_that_releases_nothing_leaves_one_packet_to_a_loop_with_nothing_here() {
    let passed = |sparse| {
        let mut r = Router::new(Params { additions: Additions { sparse, ..Additions::default() }, ..small() });
        r.ack_with(1, DOWN, slow(77, 0), true);
        r.data(1, 2);
        r.until(60);
        r.passed(1)
    };
    assert_eq!((passed(true), passed(false)), (1, 0));
}

#[test]
fn the_nonce_store_is_bounded_and_evicted_loops_open() {
    let additions = Additions { sparse: false, ..Additions::default() };
    let mut r = Router::new(Params { auth: false, nonces: 4, additions, ..small() });
    for n in 1..=20 {
        r.ack_with(n, DOWN, slow(n, 0), false);
    }
    assert_eq!(r.gauge(DOWN, "nonces"), 4.0);
    r.data(1, 2);
    r.data(20, 2);
    r.until(60);
    assert_eq!((r.passed(1), r.passed(20)), (2, 0));
}

#[test]
fn only_a_full_cache_drops_and_only_what_arrives() {
    let mut r = Router::new(small());
    r.data(1, 13);
    assert_eq!((r.log.dropped.len(), r.gauge(DOWN, "cache_bytes")), (0, 15_000.0));
    r.data(1, 2);
    assert_eq!((r.log.dropped.len(), r.gauge(DOWN, "cache_refused")), (2, 2.0));
    assert!(r.log.dropped.iter().all(|d| d.0 == Drop::Queue));
    r.until(30);
    assert_eq!(r.passed(1), 13, "what was taken in is delivered");
}

#[test]
fn others_have_a_partition_of_their_own() {
    let mut r = Router::new(small());
    (0..8).for_each(|_| r.data_with(5, None));
    // One on the wire, two in the buffer, one in the partition: 4500 B in all wait.
    assert_eq!((r.log.dropped.len(), r.gauge(DOWN, "cache_bytes"), r.state()), (4, 0.0, PUSH));
    r.data(1, 6);
    assert_eq!((r.log.dropped.len(), r.gauge(DOWN, "cache_bytes")), (4, 9000.0));
    r.until(30);
    assert_eq!((r.passed(1), r.passed(5)), (6, 4));
}

#[test]
fn without_symmetric_paths_the_data_carry_the_request() {
    let mut r = Router::new(Params { notify: Notify::Data, ..small() });
    r.data(1, 10);
    assert!(r.ack(1).slow.is_none());
    r.until(30);
    let far = |p: &Packet| {
        p.header::<InrppHeader>().map_or((false, false), |o| (o.far_slow.is_some(), o.far_cancel.is_some()))
    };
    let tags: Vec<_> = r.log.sent.iter().filter(|s| s.0 == DOWN).map(|s| far(&s.2)).collect();
    assert_eq!(tags.len(), 10);
    assert_eq!((tags[0], tags[2], tags[9]), ((false, false), (true, false), (false, true)));
}

#[test]
fn a_restart_forgets_everything_but_keeps_count() {
    let mut r = Router::new(small());
    r.data(1, 10);
    let old = r.ack(1).slow.expect("pressed").nonce;
    r.ack_with(2, DOWN, slow(77, 0), true);
    r.node.restart(r.now, &mut r.pool, &mut r.log);
    assert!(r.log.dropped.iter().all(|d| d.0 == Drop::Fault));
    assert_eq!((r.state(), r.node.stored(), r.gauge(DOWN, "nonces"), r.pool.live()), (PUSH, 0, 0.0, 0));
    let (before, lost) = (r.passed(1), r.log.dropped.len());
    assert_eq!(before + lost, 10);
    r.data(1, 10);
    assert_ne!(r.ack(1).slow.expect("pressed again").nonce, old);
}

#[test]
fn control_packets_that_are_not_the_neighbours_are_refused() {
    let mut r = Router::new(small());
    let mut p = Packet::new(midpath_core::packet::FlowId(0), midpath_core::packet::NodeId(2), super::harness::ME, 56);
    p.kind = Kind::Control;
    r.arrive(DOWN, p);
    assert_eq!(r.log.dropped.len(), 1);
}

/// Twelve flows with a packet each: one leaves, two wait in the buffer, and nine in the cache.
fn a_packet_of_each_of_twelve(sparse: bool) -> Router {
    let mut r = Router::new(Params { additions: Additions { sparse, ..Additions::default() }, ..small() });
    (1..=12).for_each(|flow| r.data(flow, 1));
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 13_500.0));
    r
}

/// Above S_high a part of less than a packet is a packet, unless flows may have less in a round trip (`sparse`).
#[test]
fn who_has_one_packet_keeps_its_loop_unless_loops_may_be_sparse() {
    for (sparse, release) in [(false, 1), (true, 0)] {
        let slow = a_packet_of_each_of_twelve(sparse).ack(12).slow.expect("pressed");
        assert_eq!(slow.release, release, "sparse: {sparse}");
    }
}

/// Below S_high, too: two for one only to flows that have less than their part, a packet at least.
#[test]
fn who_has_its_part_gets_one_for_one() {
    let mut r = a_packet_of_each_of_twelve(true);
    r.until(6);
    assert_eq!((r.state(), r.gauge(DOWN, "cache_bytes")), (BACKPRESSURE, 7500.0));
    let mut release = |flow| r.ack(flow).slow.expect("pressed").release;
    assert_eq!((release(12), release(13)), (1, 2));
}

/// A router that asks the hop upstream to slow down is not in closed loop by that itself.
#[test]
fn who_presses_is_not_pressed() {
    let mut r = Router::new(small());
    r.data(1, 10);
    assert!(r.ack(1).slow.is_some());
    assert_eq!(r.gauge(DOWN, "closed_loop"), 0.0);
}

/// A port in backpressure watches whether ACKs of those that send return through it.
#[test]
fn whose_acks_return_is_not_unheard() {
    let unheard = |every: u64| {
        let mut r = Router::new(small());
        r.data(1, 12);
        for ms in 1..=1500 {
            r.until(ms);
            r.data(1, 2);
            if every > 0 && ms % every == 0 {
                r.ack(1);
            }
        }
        r.gauge(DOWN, "unheard")
    };
    assert_eq!((unheard(0), unheard(100)), (1.0, 0.0));
}

/// §V-C: hosts have no key, so that none may ask for detours.
#[test]
fn a_control_packet_from_a_host_counts_as_forged() {
    let control = Control::Probe { origin: SENDER, port: 0, target: RECEIVER, more: 0 };
    let mut p = Packet::control(midpath_core::packet::NodeId(3), super::harness::ME);
    p.set_header(&Signed { control, number: 1, mac: 0 });
    let mut r = Router::new(small());
    r.arrive(HOST, p);
    assert_eq!((r.log.dropped.len(), r.gauge(HOST, "forged")), (1, 1.0));
}
