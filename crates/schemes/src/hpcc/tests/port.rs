use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::queue::{Aqm, Limit, Verdict, View};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::{Backlog, Drop};
use midpath_core::units::{Rate, Time};

use crate::hpcc::Int;
use crate::hpcc::header::{IntHeader, Reading};
use crate::hpcc::port::HpccPort;

/// A million bytes per second.
const LINK: Rate = Rate::from_mbps(8);

fn port(int: Option<Int>) -> HpccPort {
    HpccPort::new(int, Limit::Bytes(5_000).bound(LINK), LINK)
}

fn packet(returns: bool) -> Packet {
    let mut p = Packet::new(FlowId(0), NodeId(0), NodeId(1), 1000);
    p.set_header(&IntHeader::empty(returns));
    p.size = 1000;
    p
}

fn with_view<R>(now: Time, waiting: u64, busy: bool, f: impl FnOnce(&mut View<'_>) -> R) -> R {
    let rng = &mut stream(1, Purpose::Ports, 0);
    let backlog = Backlog { packets: waiting.div_ceil(1000), bytes: waiting };
    let idle_since = (!busy).then_some(now);
    f(&mut View { now, backlog, lane: backlog, rate: LINK, mtu: 1500, idle_since, sojourn: Time::ZERO, rng })
}

fn arrive(port: &mut HpccPort, now: Time, waiting: u64, busy: bool) -> Verdict {
    with_view(now, waiting, busy, |view| port.enqueue(&mut packet(false), view))
}

fn readings(packet: &Packet) -> Vec<Reading> {
    packet.header::<IntHeader>().expect("it has one").readings().to_vec()
}

#[test]
fn an_ack_that_comes_back_is_told_of_the_moment() {
    let mut port = port(Some(Int::Ack));
    assert_eq!(arrive(&mut port, Time::ZERO, 0, false), Verdict::Pass);
    assert_eq!(arrive(&mut port, Time::ZERO, 0, true), Verdict::Pass);
    assert_eq!(arrive(&mut port, Time::ZERO, 1000, true), Verdict::Pass);
    // 2000 bytes wait at 0; half a millisecond later the link has sent 500 of them.
    let mut ack = packet(true);
    assert_eq!(port.inbound(&mut ack, Time::from_us(500)), Ok(()));
    assert_eq!(readings(&ack), [Reading { rate: 8e6, queue: 1500, sent: 1500, time: 500_000 }]);
    let mut data = packet(false);
    assert_eq!(port.inbound(&mut data, Time::from_us(500)), Ok(()));
    assert!(readings(&data).is_empty(), "data on their way to a receiver on this side");
    // An empty queue stays empty.
    let mut ack = packet(true);
    assert_eq!(port.inbound(&mut ack, Time::from_ms(9)), Ok(()));
    assert_eq!(readings(&ack), [Reading { rate: 8e6, queue: 0, sent: 3000, time: 9_000_000 }]);
}

#[test]
fn data_are_told_as_they_leave() {
    let mut port = port(Some(Int::Data));
    assert!(port.watches_leaving() && !port.watches_inbound());
    arrive(&mut port, Time::ZERO, 0, false);
    arrive(&mut port, Time::ZERO, 0, true);
    let mut data = packet(false);
    with_view(Time::from_ms(1), 700, false, |view| port.dequeue(&mut data, view));
    assert_eq!(readings(&data), [Reading { rate: 8e6, queue: 700, sent: 1300, time: 1_000_000 }]);
    let mut ack = packet(true);
    with_view(Time::from_ms(2), 0, false, |view| port.dequeue(&mut ack, view));
    assert!(readings(&ack).is_empty(), "an ACK of the other direction's");
}

#[test]
fn a_host_writes_nothing_and_a_full_port_refuses() {
    let mut port = port(None);
    assert!(!port.watches_leaving() && !port.watches_inbound());
    assert_eq!(arrive(&mut port, Time::ZERO, 4500, true), Verdict::Drop(Drop::Queue));
}
