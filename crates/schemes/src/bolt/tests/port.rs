use midpath_core::packet::{FlowId, Interfaces, Kind, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Limit;
use midpath_core::roles::{Action, CutThrough, Drop, LinkInfo, Port, StandalonePort};
use midpath_core::units::{Bytes, Rate, Time};

use crate::bolt::header::{BoltFlags, BoltHeader, Notice};
use crate::bolt::params::BoltParams;
use crate::bolt::port::BoltPort;

/// A byte per nanosecond.
const LINE: Rate = Rate::from_mbps(8000);

fn bench() -> StandalonePort {
    StandalonePort::new(LinkInfo { rate: LINE, delay: Time::from_us(1), mtu: 1500, peer: NodeId(1) })
}

fn port(threshold: Option<u64>, packets: u64) -> BoltPort {
    let params = BoltParams { threshold: threshold.map(Bytes), ..BoltParams::default() };
    BoltPort::new(&params, Limit::Packets(packets).bound(LINE))
}

/// From node 3 to node 4: data, or what returns.
fn packet(payload: u16, marks: BoltFlags) -> Packet {
    let mut p = Packet::new(FlowId(7), NodeId(3), NodeId(4), 40 + u32::from(payload));
    p.payload = payload;
    p.set_interfaces(Interfaces::between(PortId(0), PortId(1)));
    p.set_header(&BoltHeader { marks, sent: 4711 });
    p
}

/// Brings packets to a port, and says what comes out of it.
fn bring(port: &mut BoltPort, bench: &mut StandalonePort, packets: &[Packet]) {
    for p in packets {
        let pkt = bench.pool.insert(*p);
        port.outbound(pkt, &mut bench.ctx());
    }
}

fn leave(port: &mut BoltPort, bench: &mut StandalonePort) -> Vec<Packet> {
    let mut found = Vec::new();
    while let Some(pkt) = port.poll_transmit(&mut bench.ctx()) {
        found.push(bench.pool.take(pkt));
    }
    found
}

/// The packets that the port has sent on their way itself.
fn told(bench: &mut StandalonePort) -> Vec<Packet> {
    let routed = |action| match action {
        Action::Route(pkt) => Some(pkt),
        _ => None,
    };
    let pkts: Vec<Pkt> = std::mem::take(&mut bench.actions).into_iter().filter_map(routed).collect();
    pkts.into_iter().map(|pkt| bench.pool.take(pkt)).collect()
}

#[test]
fn a_port_with_two_packets_waiting_tells_the_sender_of_the_third() {
    let (mut port, mut bench) = (port(None, 100), bench());
    let data = packet(1460, BoltFlags::INC);
    assert_eq!(data.size, 1512, "12 bytes for the header");
    bring(&mut port, &mut bench, &[data; 2]);
    assert!(told(&mut bench).is_empty());
    bring(&mut port, &mut bench, &[data]);
    let notices = told(&mut bench);
    let [notice] = &notices[..] else { panic!("{}", notices.len()) };
    assert_eq!((notice.src, notice.dst, notice.flow), (NodeId(4), NodeId(3), FlowId(7)));
    assert_eq!((notice.kind, notice.payload, notice.size), (Kind::Datagram, 0, 48));
    assert_eq!((notice.size, notice.key), (notice.wire_size(), data.key));
    assert_eq!(notice.interfaces, data.interfaces.reversed());
    assert_eq!(notice.header(), Some(Notice { queue: 3024, rate: 8e9, sent: 4711 }));
    let marks: Vec<BoltFlags> =
        leave(&mut port, &mut bench).iter().map(|p| p.header::<BoltHeader>().expect("it has one").marks).collect();
    // The first takes what supply there is: none at time zero.
    assert_eq!(marks, [BoltFlags::default(), BoltFlags::default(), BoltFlags::DEC]);
}

#[test]
fn a_threshold_is_as_given() {
    let (mut port, mut bench) = (port(Some(1000), 100), bench());
    bring(&mut port, &mut bench, &[packet(940, BoltFlags::INC); 2]);
    assert_eq!(told(&mut bench).len(), 0, "992 bytes wait");
    bring(&mut port, &mut bench, &[packet(940, BoltFlags::INC)]);
    assert_eq!(told(&mut bench).len(), 1);
}

#[test]
fn acks_and_notices_go_before_data() {
    let (mut port, mut bench) = (port(None, 100), bench());
    let mut notice = Packet::new(FlowId(8), NodeId(4), NodeId(3), 28);
    notice.kind = Kind::Datagram;
    notice.set_header(&Notice { queue: 1, rate: 1e9, sent: 1 });
    let ack = packet(0, BoltFlags::INC.with(BoltFlags::RETURNS));
    let mut plain = packet(0, BoltFlags::default());
    plain.take_header::<BoltHeader>();
    bring(&mut port, &mut bench, &[packet(100, BoltFlags::INC), plain, ack, notice]);
    assert!(told(&mut bench).is_empty());
    let left = leave(&mut port, &mut bench);
    let what: Vec<(u16, bool, bool)> =
        left.iter().map(|p| (p.payload, p.carries::<BoltHeader>(), p.carries::<Notice>())).collect();
    // An ACK of another scheme's waits with data.
    assert_eq!(what, [(0, true, false), (0, false, true), (100, true, false), (0, false, false)]);
    assert_eq!(left[0].header::<BoltHeader>(), ack.header(), "nothing is taken off an ACK");
}

#[test]
fn a_full_port_refuses_and_tells_all_the_same() {
    let (mut port, mut bench) = (port(None, 2), bench());
    bring(&mut port, &mut bench, &[packet(1460, BoltFlags::INC); 3]);
    let dropped = |action: &Action| matches!(action, Action::Drop(_, _, Drop::Queue));
    assert_eq!(bench.actions.iter().filter(|a| dropped(a)).count(), 1);
    assert_eq!(told(&mut bench).len(), 1);
}

/// What goes straight through is counted and told as what waits.
#[test]
fn a_packet_that_finds_nothing_waiting_goes_straight_with_the_same_marks() {
    let (mut kept, mut straight, mut bench) = (port(None, 9), port(None, 9), bench());
    for (at, marks) in
        [(5_000, BoltFlags::INC), (5_100, BoltFlags::INC), (9_000, BoltFlags::LAST), (9_100, BoltFlags::INC)]
    {
        bench.now = Time::from_ns(at);
        bring(&mut kept, &mut bench, &[packet(1460, marks)]);
        let by_queue = leave(&mut kept, &mut bench);
        let pkt = bench.pool.insert(packet(1460, marks));
        assert!(straight.cut_through(&pkt, &mut bench.ctx().hop()), "nothing waits");
        let at_once = bench.pool.take(pkt);
        assert_eq!(by_queue[0].header::<BoltHeader>(), at_once.header(), "{at}");
    }
    let read = |port: &BoltPort| {
        let mut out = Vec::new();
        port.gauges(&mut out);
        out
    };
    assert_eq!(read(&kept), read(&straight));
    bring(&mut straight, &mut bench, &[packet(10, BoltFlags::INC)]);
    let pkt = bench.pool.insert(packet(10, BoltFlags::INC));
    assert!(!straight.cut_through(&pkt, &mut bench.ctx().hop()), "another one waits");
}

#[test]
fn a_restart_forgets_all() {
    let (mut port, mut bench) = (port(None, 9), bench());
    bring(&mut port, &mut bench, &[packet(1460, BoltFlags::LAST); 2]);
    port.reset(&mut bench.ctx());
    assert_eq!((port.backlog().packets, bench.actions.len()), (0, 2));
    let mut out = Vec::new();
    port.gauges(&mut out);
    assert_eq!(out[..2], [("supply_bytes", 0.0), ("promised_packets", 0.0)]);
}
