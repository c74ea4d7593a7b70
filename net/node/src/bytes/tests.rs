use midpath_core::packet::FlowId;
use midpath_core::rng::{Purpose, below, stream};

use super::*;

const HERE: EndId = EndId { flow: FlowId(1), peer: NodeId(2), active: false };

fn file(length: usize) -> Vec<u8> {
    (0..length).map(|i| ((i * 7919) >> 3) as u8).collect()
}

/// Pieces of a file in any order, in part and several times, with other contents when they come
/// again: what is read is the file, and no more is held than was promised.
#[test]
fn whatever_the_order_what_is_read_is_what_was_sent() {
    let (file, mut rng) = (file(300_000), stream(3, Purpose::Fault, 0));
    let mut bytes = Bytes::new(Windows::new(1 << 20, 100_000));
    let (mut got, mut seen) = (Vec::new(), vec![false; file.len()]);
    while got.len() < file.len() {
        let room = bytes.room(HERE).expect("it receives") as usize;
        assert!(room <= got.len() + 100_000 && bytes.promised() <= 1 << 20);
        let at = got.len().saturating_sub(500) + below(&mut rng, 3000) as usize;
        let end = (at + 1 + below(&mut rng, 1500) as usize).min(room).min(file.len());
        if at >= end {
            continue;
        }
        let mut piece = file[at..end].to_vec();
        piece.iter_mut().zip(&seen[at..end]).filter(|(_, seen)| **seen).for_each(|(b, _)| *b ^= 0xff);
        seen[at..end].fill(true);
        let id = PacketId(7);
        bytes.pin(id, piece.into());
        bytes.delivered(id);
        bytes.arrived(HERE, at as u64);
        bytes.read(HERE, below(&mut rng, 2000) as usize, &mut got);
        assert_eq!(bytes.on_packets(), 0);
    }
    assert_eq!(got, file);
    bytes.forget(HERE);
    assert_eq!(bytes.promised(), 0, "what a flow was promised comes back");
}

#[test]
fn all_flows_together_are_promised_no_more_than_the_budget() {
    let mut bytes = Bytes::new(Windows::new(1 << 20, 1 << 18));
    let end = |flow| EndId { flow: FlowId(flow), ..HERE };
    (0..1000).for_each(|flow| {
        bytes.room(end(flow));
    });
    assert!(bytes.promised() <= 1 << 20);
    let starved = bytes.starved().len();
    assert!((500..1000 - Windows::new(1 << 20, 1 << 18).flows()).contains(&starved), "{starved}");
    (0..500).for_each(|flow| bytes.forget(end(flow)));
    let before = bytes.promised();
    assert!(bytes.room(end(999)) > Some(0) && bytes.promised() > before, "what came back is promised anew");
}

/// A packet's bytes stay what they were when it was made, whatever becomes of the stream.
#[test]
fn bytes_are_fixed_when_a_packet_is_made() {
    let (mut bytes, end) = (Bytes::default(), EndId { active: true, ..HERE });
    bytes.send_from(end, 1000);
    assert_eq!(bytes.write(end, &file(1500)), 1000);
    let mut packet = Packet::new(FlowId(1), NodeId(1), NodeId(2), 140);
    packet.payload = 100;
    bytes.made(end, PacketId(3), &packet, 200);
    bytes.copied(PacketId(3), PacketId(0));
    bytes.acknowledged(end, 400);
    assert_eq!(bytes.write(end, &file(1500)[1000..]), 400, "what is acknowledged makes room");
    for id in [3, 0].map(PacketId) {
        assert_eq!(bytes.take(id).as_deref(), Some(&file(1500)[200..300]));
    }
    assert_eq!((bytes.on_packets(), bytes.supply(end)), (0, Some(Supply { given: 1400, closed: false })));
}

#[test]
fn all_flows_together_write_no_more_than_the_budget() {
    let mut bytes = Bytes::new(Windows::new(1 << 20, 1 << 18));
    let end = |flow| EndId { flow: FlowId(flow), active: true, ..HERE };
    for flow in 0..200 {
        bytes.send_from(end(flow), 1 << 19);
        bytes.write(end(flow), &file(1 << 19));
    }
    assert!(bytes.written() <= 1 << 20 && bytes.written() > 1 << 19);
    let first = bytes.supply(end(0)).unwrap().given;
    bytes.acknowledged(end(0), first);
    assert!(bytes.room_to_write(end(199)) > 10_000, "what is acknowledged makes room for others");
    (0..200).for_each(|flow| bytes.forget(end(flow)));
    assert_eq!(bytes.written(), 0);
}

#[test]
fn a_stream_that_breaks_off_is_not_complete() {
    let mut bytes = Bytes::new(Windows::default());
    bytes.room(HERE);
    bytes.pin(PacketId(0), file(10).into());
    bytes.delivered(PacketId(0));
    bytes.arrived(HERE, 0);
    bytes.gone(HERE);
    let mut got = Vec::new();
    bytes.read(HERE, 100, &mut got);
    let incoming = bytes.incoming(HERE).unwrap();
    assert_eq!((incoming.ended(), incoming.is_done()), (Some(Ended::Aborted), false));
}
