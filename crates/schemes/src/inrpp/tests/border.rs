use midpath_core::packet::{Flags, FlowId, NodeId, Options, Packet, Sequence};
use proptest::prelude::*;

use crate::inrpp::border::Border;
use crate::inrpp::header::{Direction, InrppHeader, Nonce, SIZE, Slow};

const SENDER: NodeId = NodeId(1);
const RECEIVER: NodeId = NodeId(2);
const MSS: u64 = 1448;
/// The receiver tells its windows in units of eight bytes; this is the largest.
const SCALE: u8 = 3;
const OWN: u64 = (u16::MAX as u64) << SCALE;
/// The sender's numbers wrap soon.
const NUMBERS: Sequence = Sequence::after_syn(u32::MAX - 10_000);

/// Links that take any packet with any header.
const LONG: u32 = 9000;

fn data(flow: u32, seq: u64, payload: u64) -> Packet {
    let mut p = Packet::new(FlowId(flow), SENDER, RECEIVER, 52 + payload as u32);
    (p.seq, p.payload, p.flags) = (NUMBERS.wire(seq), payload as u16, Flags::ACK);
    p
}

fn syn(flow: u32) -> Packet {
    let mut p = data(flow, 0, 0);
    (p.seq, p.flags, p.options, p.window_scale) = (NUMBERS.isn(), Flags::SYN, Options::WINDOW_SCALE, 9);
    p.measure();
    p
}

fn syn_ack(flow: u32) -> Packet {
    let mut p = ack(flow, 0, OWN);
    (p.flags, p.options, p.window_scale) = (Flags::SYN.with(Flags::ACK), Options::WINDOW_SCALE, SCALE);
    p.measure();
    p
}

/// The window that a packet tells, in bytes.
fn window(p: &Packet) -> u64 {
    u64::from(p.window) << SCALE
}

/// The right edge that it tells.
fn edge(p: &Packet) -> u64 {
    NUMBERS.offset(p.ack, 0).expect("after the SYN") + window(p)
}

fn ack(flow: u32, number: u64, window: u64) -> Packet {
    let mut p = Packet::new(FlowId(flow), RECEIVER, SENDER, 52);
    (p.ack, p.window, p.flags) = (NUMBERS.wire(number), (window >> SCALE) as u16, Flags::ACK);
    p
}

/// The ACK as it leaves the ingress with this request on it.
fn told(border: &mut Border, mut p: Packet, slow: Option<u16>, stored: bool) -> Packet {
    let slow = slow.map(|release| Slow { nonce: Nonce(7), release });
    let option = InrppHeader { direction: Direction::Ack, carried: true, slow, stored, ..InrppHeader::default() };
    p.set_header(&option);
    border.leave(&mut p);
    p
}

/// A flow of which `n` full packets have been seen.
fn opened(n: u64) -> Border {
    let mut border = Border::new(SIZE);
    border.enter(&mut syn(1), LONG);
    told(&mut border, syn_ack(1), None, false);
    (0..n).for_each(|i| border.enter(&mut data(1, i * MSS, MSS), LONG));
    border
}

#[test]
fn what_comes_in_is_marked_and_what_goes_out_is_as_it_was() {
    let (mut ingress, mut egress) = (Border::new(SIZE), Border::new(SIZE));
    for original in [syn(1), data(1, 0, MSS), data(1, MSS, MSS)] {
        let mut p = original;
        ingress.enter(&mut p, LONG);
        assert_eq!(
            (p.size, p.header::<InrppHeader>().map(|o| o.direction)),
            (original.size + SIZE, Some(Direction::Data))
        );
        egress.leave(&mut p);
        assert_eq!((p.size, p.has_headers(), p.payload, p.seq), (original.size, false, original.payload, original.seq));
    }
    let mut back = ack(1, 2 * MSS, OWN);
    egress.enter(&mut back, LONG);
    let option: InrppHeader = back.header().expect("carried");
    assert_eq!((option.direction, option.releases), (Direction::Ack, 2), "an ACK of two packets releases two");
    // The sender's own ACK is no ACK of data.
    let mut native = data(1, 2 * MSS, 0);
    ingress.enter(&mut native, LONG);
    assert_eq!(native.header::<InrppHeader>().map(|o| o.direction), Some(Direction::Data));
    // Of a flow that nobody has seen data of, ACKs stay what they are.
    let mut strange = ack(9, 0, OWN);
    egress.enter(&mut strange, LONG);
    assert_eq!((strange.has_headers(), strange.size), (false, 52));
}

#[test]
fn duplicates_stand_for_one_packet_each_and_are_not_counted_twice() {
    let mut egress = Border::new(SIZE);
    (0..10).for_each(|i| {
        let mut p = data(1, i * MSS, MSS);
        p.set_header(&InrppHeader { carried: true, ..InrppHeader::default() });
        egress.leave(&mut p);
    });
    let mut releases = |number: u64| {
        let mut p = ack(1, number * MSS, OWN);
        egress.enter(&mut p, LONG);
        p.header::<InrppHeader>().expect("carried").releases
    };
    // Two; the third is missing while three more come; then all five at once.
    assert_eq!([2, 2, 2, 2, 6].map(&mut releases), [2, 1, 1, 1, 1]);
    assert_eq!(releases(8), 2);
}

#[test]
fn a_request_moves_the_edge_by_what_is_acknowledged_or_not_at_all() {
    let mut border = opened(40);
    let open = told(&mut border, ack(1, 10 * MSS, OWN), None, false);
    assert!(edge(&open) >= 10 * MSS + 2 * 30 * MSS, "twice the flight is never the limit");
    // The edge stays until what is in flight has come down to what it was at the request: 28
    // packets.
    let first = told(&mut border, ack(1, 12 * MSS, OWN), Some(1), true);
    assert_eq!(edge(&first), edge(&open));
    let mut last = first;
    for i in 13..200 {
        last = told(&mut border, ack(1, i * MSS, OWN), Some(1), true);
    }
    assert_eq!(window(&last), 28 * MSS);
    let grown = told(&mut border, ack(1, 200 * MSS, OWN), Some(2), true);
    assert_eq!(window(&grown), 29 * MSS, "two for one");
    let held = told(&mut border, ack(1, 205 * MSS, OWN), Some(0), true);
    assert_eq!(edge(&held), edge(&grown));
    let still = told(&mut border, ack(1, 300 * MSS, OWN), Some(0), true);
    assert_eq!(window(&still), MSS, "never less than a segment");
}

#[test]
fn of_a_flow_that_was_not_seen_from_its_beginning_nobody_knows_what_windows_are_worth() {
    let mut border = Border::new(SIZE);
    border.enter(&mut data(1, 1000 * MSS, MSS), LONG);
    for i in 1000..1100 {
        border.enter(&mut data(1, i * MSS, MSS), LONG);
        assert_eq!(window(&told(&mut border, ack(1, i * MSS, OWN), Some(0), true)), OWN);
    }
    // But what its ACKs release is counted.
    let mut p = ack(1, 1101 * MSS, OWN);
    border.enter(&mut p, LONG);
    assert_eq!(p.header::<InrppHeader>().map(|o| o.releases), Some(64), "as many as one ACK may stand for");
    let mut p = ack(1, 1103 * MSS, OWN);
    border.enter(&mut p, LONG);
    assert_eq!(p.header::<InrppHeader>().map(|o| o.releases), Some(2));
}

#[test]
fn windows_are_told_in_whole_units_and_leave_room_for_a_segment() {
    let mut border = Border::new(SIZE);
    border.enter(&mut syn(1), LONG);
    let mut coarse = syn_ack(1);
    coarse.window_scale = 14; // units of 16 KiB, as of a receiver with a gigabyte
    told(&mut border, coarse, None, false);
    (0..40).for_each(|i| border.enter(&mut data(1, i * MSS, MSS), LONG));
    let units = |border: &mut Border, number: u64, slow| {
        let mut p = ack(1, number, 0);
        p.window = u16::MAX;
        told(border, p, slow, true).window
    };
    // 40 packets are 3.5 units; what was told before, 14,600 bytes, is behind them.
    assert_eq!(units(&mut border, MSS, Some(1)), 3);
    assert_eq!(units(&mut border, 30 * MSS, Some(0)), 1, "a unit is more than a segment");
    assert_eq!(units(&mut border, 40 * MSS, Some(0)), 1);
}

#[test]
fn another_connection_between_the_same_ports_begins_anew() {
    let mut border = opened(40);
    let mut again = syn(1);
    again.seq = 77;
    border.enter(&mut again, LONG);
    let mut p = syn_ack(1);
    p.ack = 78;
    assert_eq!(told(&mut border, p, None, false).window, 14_600, "not scaled, and room for an initial window");
}

#[test]
fn memory_is_bounded() {
    let mut border = Border::new(SIZE);
    (0..200_000).for_each(|flow| border.enter(&mut data(flow, 0, MSS), LONG));
    assert!(border.flows() <= 1 << 16, "{}", border.flows());
    border.clear();
    assert_eq!(border.flows(), 0);
}

proptest! {
    /// Whatever comes: the edge never moves left, no window is above the receiver's own, none is
    /// below a segment unless that is.
    #[test]
    fn windows_are_never_larger_and_edges_never_recede(
        steps in prop::collection::vec((0u8..6, 0u64..1 << 40, 0u64..4, 0u64..100), 1..200),
        wild: bool,
    ) {
        let mut border = opened(1);
        let (mut nxt, mut una, mut right, mut receivers_right) = (MSS, 0u64, 0u64, 0u64);
        for (what, any, n, room) in steps {
            if what < 2 {
                let seq = if wild && n == 0 { any } else { nxt };
                border.enter(&mut data(1, seq, MSS), LONG);
                nxt = if seq == nxt { nxt + MSS } else { nxt };
                continue;
            }
            una = (una + n * MSS).min(nxt);
            let number = if wild && n == 3 { any } else { una };
            // A receiver doesn't take back what it has said either.
            let receivers_edge = receivers_right.max(number + room * 1000);
            receivers_right = if number == una { receivers_edge } else { receivers_right };
            let advertised = receivers_edge.saturating_sub(number) & !0b111;
            let slow = [None, Some(1), Some(0), Some(2)][usize::from(what) - 2];
            let p = told(&mut border, ack(1, number, advertised), slow, room % 2 == 0);
            prop_assert!(window(&p) <= advertised);
            prop_assert!(window(&p) >= MSS.min(advertised));
            prop_assert_eq!(p.size, 52);
            if !wild {
                // But for the unit in which it is told (RFC 7323, §2.4).
                prop_assert!(edge(&p) + (1 << SCALE) > right, "{} after {}", edge(&p), right);
                right = right.max(edge(&p));
            }
        }
    }
}

/// A sender whose SYN-ACK came another way has not been told of the headers' room.
#[test]
fn what_would_be_too_long_with_a_header_goes_beside() {
    let mut border = Border::new(SIZE);
    border.enter(&mut syn(1), 1500);
    for (payload, carried) in [(1448, false), (1500 - 52 - SIZE as u64, true)] {
        let mut p = data(1, 0, payload);
        border.enter(&mut p, 1500);
        assert_eq!((p.carries::<InrppHeader>(), p.size <= 1500), (carried, true), "{payload}");
    }
}
