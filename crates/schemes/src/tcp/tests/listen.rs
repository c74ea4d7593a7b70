//! What opens a connection, and what is said to those who have none.

use std::sync::Arc;

use midpath_core::packet::{Flags, FlowId, Interfaces, Kind, NodeId, Packet};
use midpath_core::roles::{Accept, Transport};
use serde_json::json;

use crate::Catalogue;
use crate::mptcp::hello::Hello;

const STRANGER: NodeId = NodeId(4);
const ME: NodeId = NodeId(9);

fn segment(flags: Flags) -> Packet {
    let mut p = Packet::new(FlowId(3), STRANGER, ME, 100);
    (p.flags, p.seq, p.ack, p.payload, p.interfaces) = (flags, 1000, 77, 60, Interfaces(0x12));
    p
}

fn other(kind: Kind) -> Packet {
    let mut p = segment(Flags::SYN);
    p.kind = kind;
    p
}

fn transport(name: &str) -> Arc<dyn Transport> {
    Catalogue::standard().build(name, &json!({})).expect("valid").transport().expect("carries flows")
}

/// The answer, if the packet opens nothing.
fn answer(transport: &dyn Transport, packet: &Packet) -> Result<Option<Packet>, ()> {
    match transport.accept(packet, None) {
        Accept::Take(_) => Err(()),
        Accept::Refuse(answer) => Ok(Some(answer)),
        Accept::Ignore => Ok(None),
    }
}

#[test]
fn a_syn_opens_a_connection_and_nothing_else_does() {
    let ecn = Flags::ECE.with(Flags::CWR);
    for name in ["newreno", "cubic", "dctcp", "rcp", "xcp", "fcp", "inrpp", "mptcp"] {
        let transport = transport(name);
        for flags in [Flags::SYN, Flags::SYN.with(ecn)] {
            let mut syn = segment(flags);
            assert!(name != "mptcp" || syn.set_header(&Hello::Capable));
            assert!(answer(&*transport, &syn).is_err(), "{name} {flags:?}");
        }
        for flags in [Flags::SYN.with(Flags::ACK), Flags::ACK, Flags::ACK.with(Flags::FIN), Flags(0)] {
            let refused = answer(&*transport, &segment(flags)).expect("opens nothing");
            assert_eq!(refused, transport.refuse(&segment(flags)), "{name} {flags:?}");
            assert!(refused.is_some_and(|r| r.flags.has(Flags::RST)), "{name} {flags:?}");
        }
        assert_eq!(answer(&*transport, &segment(Flags::RST)), Ok(None), "{name}: no reset for a reset");
        for kind in [Kind::Datagram, Kind::Interest, Kind::Data] {
            assert_eq!(answer(&*transport, &other(kind)), Ok(None), "{name} {kind:?}");
        }
    }
}

#[test]
fn a_reset_has_the_numbers_of_rfc_9293_section_3_10_7_1() {
    let tcp = transport("newreno");
    // "If the ACK bit is on: <SEQ=SEG.ACK><CTL=RST>".
    let with_ack = tcp.refuse(&segment(Flags::ACK)).expect("an answer");
    assert_eq!((with_ack.flags, with_ack.seq, with_ack.ack), (Flags::RST, 77, 0));
    // "If the ACK bit is off: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>".
    let without = tcp.refuse(&segment(Flags(0))).expect("an answer");
    assert_eq!((without.flags, without.seq, without.ack), (Flags::RST.with(Flags::ACK), 0, 1060));
    assert_eq!((with_ack.src, with_ack.dst, with_ack.size, with_ack.payload), (ME, STRANGER, 40, 0));
    assert_eq!(with_ack.interfaces, Interfaces(0x21), "back between the same addresses");
}

#[test]
fn datagrams_open_a_sink_and_get_no_answer() {
    let udp = transport("udp");
    assert!(answer(&*udp, &other(Kind::Datagram)).is_err());
    assert_eq!(answer(&*udp, &segment(Flags::SYN)), Ok(None));
    assert_eq!(udp.refuse(&other(Kind::Datagram)), None);
}

#[test]
fn an_attack_has_no_receiver() {
    let attack = transport("inrpp-attack");
    assert_eq!(answer(&*attack, &segment(Flags::SYN)), Ok(None));
}
