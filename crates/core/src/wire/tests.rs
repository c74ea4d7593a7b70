use proptest::prelude::*;

use super::*;
use crate::packet::{Flags, MAX_SACK, Options, SackBlock, TCP_OPTION};

/// Any packet that an endpoint or a router could make.
fn packet() -> impl Strategy<Value = Packet> {
    let who = (0u32..1 << 20, 0u32..1 << 20, 0u32..1 << 29, any::<u8>()).prop_filter("two ends", |w| w.0 != w.1);
    let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u16>(), 0u8..=14);
    let sack = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=MAX_SACK);
    let kind = prop::sample::select(vec![
        Kind::Segment,
        Kind::Segment,
        Kind::Datagram,
        Kind::Interest,
        Kind::Data,
        Kind::Nack,
        Kind::Control,
    ]);
    let headers = prop::collection::vec((1u8..TCP_OPTION, prop::collection::vec(any::<u8>(), 0..30)), 0..3);
    let option = prop::option::of(prop::collection::vec(any::<u8>(), 0..10));
    let bits = (0u16..512, 0u8..16, 0usize..4, any::<u8>(), 0u16..1400);
    (who, numbers, sack, kind, headers, option, bits).prop_map(|(w, n, sack, kind, headers, option, bits)| {
        let mut p = Packet::new(FlowId(w.2), NodeId(w.0), NodeId(w.1), 0);
        p.set_interfaces(Interfaces(w.3));
        (p.kind, p.payload, p.hops) = (kind, bits.4, bits.3);
        p.ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][bits.2];
        match kind {
            Kind::Segment => {
                (p.flags, p.seq, p.ack, p.window) = (Flags(bits.0), n.0, n.1, n.2);
                let syn = p.flags.has(Flags::SYN);
                p.options = Options(if syn { bits.1 } else { bits.1 & Options::TIMESTAMPS.0 });
                if p.options.has(Options::TIMESTAMPS) {
                    (p.ts_val, p.ts_ecr) = (n.3, n.4);
                }
                p.mss = if p.options.has(Options::MSS) { n.5 } else { 0 };
                p.window_scale = if p.options.has(Options::WINDOW_SCALE) { n.6 } else { 0 };
                let sack = if syn || option.is_some() { Vec::new() } else { sack };
                p.sack_len = sack.len() as u8;
                sack.iter().enumerate().for_each(|(i, s)| p.sack_mut()[i] = SackBlock { from: s.0, to: s.1 });
                option.iter().for_each(|body| assert!(p.push_raw(TCP_OPTION | 30, body)));
            }
            Kind::Interest | Kind::Data | Kind::Nack => (p.seq, p.ack, p.ts_val) = (n.0, n.1, n.3),
            Kind::Control => (p.flow, p.payload) = (FlowId::NONE, bits.4),
            Kind::Datagram => {}
        }
        p.set_interfaces(p.interfaces);
        headers.iter().for_each(|(tag, body)| {
            p.push_raw(*tag, body);
        });
        if let Some(entropy) = p.body(ENTROPY).and_then(|body| body.first_chunk().copied()) {
            p.set_entropy(u16::from_be_bytes(entropy));
        }
        p.measure();
        p
    })
}

fn bytes_of(p: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(p, &mut bytes);
    bytes
}

fn carried(p: &Packet, first: u8) -> Vec<u8> {
    (0..p.payload).map(|i| first.wrapping_add((i % 251) as u8)).collect()
}

proptest! {
    #[test]
    fn a_packet_comes_back_with_the_bytes_that_it_carries(p in packet(), first in any::<u8>()) {
        let (payload, mut bytes) = (carried(&p, first), Vec::new());
        encode_with(&p, &payload, &mut bytes);
        let (read, at) = read(&bytes).expect("what was written can be read");
        prop_assert_eq!(read, p);
        prop_assert_eq!(&bytes[at], &payload[..]);
    }

    #[test]
    fn zeros_that_are_carried_or_left_out_are_the_same_packet(p in packet()) {
        let (mut whole, headers) = (Vec::new(), bytes_of(&p));
        encode_with(&p, &vec![0; usize::from(p.payload)], &mut whole);
        prop_assert_eq!(&whole[..headers.len()], &headers[..]);
        prop_assert_eq!(decode(&whole), Ok(p));
    }

    /// The Internet checksum finds each change of a single byte, and anything else that does not
    /// add up to the same.
    #[test]
    fn a_changed_byte_of_the_payload_is_found(p in packet(), first in any::<u8>(), at in any::<u16>(), by in 1u8..) {
        let transports = [Kind::Segment, Kind::Datagram];
        prop_assume!(p.payload > 0 && transports.contains(&p.kind));
        let mut bytes = Vec::new();
        encode_with(&p, &carried(&p, first), &mut bytes);
        let place = bytes.len() - 1 - usize::from(at % p.payload);
        bytes[place] = bytes[place].wrapping_add(by);
        prop_assert!(matches!(read(&bytes), Err(WireError::Checksum(_))));
    }

    #[test]
    fn a_packet_with_bytes_missing_or_too_many_is_refused(p in packet(), cut in 1usize..2000) {
        let mut bytes = Vec::new();
        encode_with(&p, &carried(&p, 1), &mut bytes);
        let short = &bytes[..bytes.len().saturating_sub(cut)];
        prop_assert!(read(short).is_err());
        bytes.push(0);
        prop_assert_eq!(read(&bytes).map(|r| r.0), Err(WireError::Length));
    }

    #[test]
    fn a_packet_is_as_long_as_its_encoding_and_comes_back(p in packet()) {
        let bytes = bytes_of(&p);
        prop_assert_eq!(bytes.len() + usize::from(p.payload), p.size as usize);
        prop_assert_eq!(decode(&bytes), Ok(p));
    }

    #[test]
    fn what_is_read_is_written_the_same(p in packet(), at in 0usize..160, with in any::<u8>()) {
        let mut bytes = bytes_of(&p);
        let at = at % bytes.len();
        bytes[at] = with;
        if let Ok(read) = decode(&bytes) {
            // Options may come in another order or padding than ours; then there is one encoding of
            // what they say.
            prop_assert_eq!(decode(&bytes_of(&read)), Ok(read));
        }
    }

    #[test]
    fn hostile_bytes_are_errors_not_panics(p in packet(), cut in 0usize..200, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = bytes_of(&p);
        for hostile in [&noise[..], &bytes[..cut.min(bytes.len())]] {
            let _ = (decode(hostile), read(hostile));
        }
    }
}

#[test]
fn shims_that_cannot_be_are_refused() {
    let mut p = Packet::new(FlowId(5), NodeId(1), NodeId(2), 0);
    assert!(p.push_raw(7, &[1, 2, 3]));
    p.measure();
    let good = bytes_of(&p);
    // Next protocol, 3 words, 0, 0, tag, length, body of three, padding of three.
    assert_eq!(good[IP..IP + 12], [TCP, 3, 0, 0, 7, 3, 1, 2, 3, 0, 0, 0]);
    for (at, with) in [(1, 0), (1, 2), (1, 60), (2, 1), (4, 200), (5, 90), (9, 200), (0, 99)] {
        let mut bad = good.clone();
        bad[IP + at] = with;
        assert!(decode(&bad).is_err(), "{with} at {at}");
    }
}

/// Linux sends four SACK blocks where there are no timestamps, and pads by its own taste.
#[test]
fn what_packets_have_no_place_for_is_left_out() {
    let mut p = Packet::new(FlowId(7), NodeId(1), NodeId(2), 0);
    (p.flags, p.payload, p.sack_len) = (Flags::ACK, 3, 3);
    for i in 0..3 {
        p.sack_mut()[i] = SackBlock { from: 10 * i as u32, to: 10 * i as u32 + 5 };
    }
    p.set_interfaces(p.interfaces);
    p.measure();
    let mut bytes = Vec::new();
    encode_with(&p, b"abc", &mut bytes);
    // A fourth block behind the third.
    let options = IP + 20;
    bytes.splice(options + 28..options + 28, [0, 0, 0, 90, 0, 0, 0, 95]);
    bytes[options + 3] += 8;
    bytes[IP + 12] += 2 << 4;
    let size = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&size.to_be_bytes());
    for (at, from, to) in [(10, 0, IP), (IP + 16, IP, bytes.len())] {
        bytes[at..at + 2].copy_from_slice(&[0, 0]);
        let addresses: Vec<u8> = bytes[12..20].to_vec();
        let length = ((to - from) as u16).to_be_bytes();
        let sum = match from {
            0 => checksum::checksum(&[&bytes[..IP]]),
            _ => checksum::checksum(&[&addresses, &[0, TCP], &length, &bytes[from..to]]),
        };
        bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    let (back, payload) = read(&bytes).expect("it is a packet");
    assert_eq!((back, &bytes[payload]), (p, &b"abc"[..]));
}

/// RFC 9293, §3.1: behind the end of the list is padding, whatever it looks like.
#[test]
fn what_follows_the_end_of_options_is_padding() {
    let read = |bytes: &[u8]| {
        let mut p = Packet::new(FlowId(7), NodeId(1), NodeId(2), 0);
        p.flags = Flags::SYN;
        options::decode(&mut p, bytes, &mut Vec::new()).map(|()| p.mss)
    };
    assert_eq!(read(&[2, 4, 5, 180, 0, 2, 4, 1]), Ok(1460));
    assert_eq!(read(&[2, 4, 5, 180, 1, 2, 4, 1]), Err(WireError::Options));
}

/// Flows have numbers of 29 bits: no port above theirs is one's.
#[test]
fn ports_end_where_flows_numbers_do() {
    let last = FlowId((1 << 29) - 1);
    let (low, high) = ports(last);
    assert_eq!(flow_of(low, high), Ok(last));
    for (low, high) in [(low, high + 1), (low, 0x13ff), (0x7fff, high)] {
        assert_eq!(flow_of(low, high), Err(WireError::Address));
    }
}

/// A header that TCP carries as an option of its own needs no shim.
#[test]
fn options_of_tcp_alone_make_no_shim() {
    let mut p = Packet::new(FlowId(5), NodeId(1), NodeId(2), 0);
    assert!(p.push_raw(TCP_OPTION, &[1, 2]));
    p.measure();
    assert_eq!(bytes_of(&p)[9], TCP, "the protocol behind the IP header");
}
