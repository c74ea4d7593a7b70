//! BFC's headers, its table of flows, its counters and its port: by hand, and beside what the packets that wait say.
//! Networks are tried in `crates/sim/tests/scenarios/bfc.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use midpath_core::packet::{FlowId, Header, NodeId, Packet, PacketId, PortId, body_of};
use midpath_core::queue::{Bound, Limit};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::{Action, Drop, Inbound, LinkInfo, Port, StandalonePort, Transmitter};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::header::{BfcHeader, PauseBitmap, SIZE};
use super::params::BfcParams;
use super::pauses::Pauses;
use super::port::{BfcPort, FRAME};
use super::table::{Flow, FlowTable};

/// A byte per nanosecond.
const LINE: Rate = Rate::from_mbps(8000);

/// A hop's round trip: a microsecond and 1500 B each way.
const HOP: u64 = 5000;

fn bench(params: &BfcParams) -> StandalonePort {
    let mut bench = StandalonePort::new(LinkInfo { rate: LINE, delay: Time::from_us(1), mtu: 1500, peer: NodeId(1) });
    bench.state = Some(Box::new(Pauses::new(1, params.queues as usize)));
    bench
}

fn packet(flow: u32, queue: Option<u8>, payload: u16) -> Packet {
    let mut p = Packet::new(FlowId(flow), NodeId(7), NodeId(8), 40 + u32::from(payload));
    p.payload = payload;
    p.set_header(&BfcHeader { queue, first: false });
    p.key = flow;
    p
}

/// Of a thousand bytes.
fn data(flow: u32, queue: u8) -> Packet {
    let p = packet(flow, Some(queue), 952);
    assert_eq!(p.size, 1000);
    p
}

/// A packet comes in through the only port and is to leave through it again. The frames that this makes.
fn pass(bench: &mut StandalonePort, port: &mut BfcPort, packet: Packet) -> Vec<u128> {
    let pkt = bench.pool.insert(packet);
    let Inbound::Forward(pkt) = port.inbound(pkt, &mut bench.ctx()) else { panic!("it goes on") };
    port.outbound(pkt, &mut bench.ctx());
    told(bench, port)
}

/// What the port has had its neighbour told, which the node offers to it.
fn told(bench: &mut StandalonePort, port: &mut BfcPort) -> Vec<u128> {
    let mut frames = Vec::new();
    while let Some(action) = bench.actions.pop_front() {
        match action {
            Action::Sibling(PortId(0), pkt) => {
                frames.push(PauseBitmap::in_packet(&bench.pool[&pkt]).expect("a frame").0);
                port.outbound(pkt, &mut bench.ctx());
            }
            Action::Consume(pkt) => bench.pool.free(pkt),
            other => panic!("{other:?}"),
        }
    }
    frames
}

fn next(bench: &mut StandalonePort, port: &mut BfcPort) -> Option<Packet> {
    let pkt = port.poll_transmit(&mut bench.ctx())?;
    Some(bench.pool.take(pkt))
}

fn hear(bench: &mut StandalonePort, port: &mut BfcPort, paused: u128) {
    let pkt = bench.pool.insert(PauseBitmap(paused).packet(NodeId(1), NodeId(0)));
    let Inbound::Consume(pkt) = port.inbound(pkt, &mut bench.ctx()) else { panic!("it is the port's") };
    bench.pool.free(pkt);
}

fn ready(params: &BfcParams) -> (StandalonePort, BfcPort) {
    (bench(params), BfcPort::new(params, Bound::EVERYTHING, true))
}

#[test]
fn the_seventh_packet_of_a_flow_alone_pauses_its_queue_until_a_hops_round_trip_waits() {
    let (mut bench, mut port) = ready(&BfcParams::default());
    // 1 to 6 find at most 5000 B, a hop's round trip of the link; the seventh finds 6000.
    for _ in 0..6 {
        assert_eq!(pass(&mut bench, &mut port, data(3, 9)), [] as [u128; 0]);
    }
    assert_eq!(pass(&mut bench, &mut port, data(3, 9)), [1 << 9]);
    assert_eq!(pass(&mut bench, &mut port, data(3, 9)), [] as [u128; 0], "it is paused already");
    let frame = next(&mut bench, &mut port).expect("the frame goes first");
    assert_eq!((PauseBitmap::in_packet(&frame), frame.size, frame.hops), (Some(PauseBitmap(1 << 9)), FRAME, u8::MAX));
    // 7000 B, 6000 B, 5000 B: from then on what a resume lets go is in time.
    for left in 1..=8 {
        let sent = next(&mut bench, &mut port).expect("a packet");
        assert_eq!(
            sent.header::<BfcHeader>(),
            Some(BfcHeader { queue: Some(0), first: false }),
            "it left from queue 0"
        );
        assert_eq!(told(&mut bench, &mut port), if left == 3 { vec![0] } else { vec![] }, "{left}");
        if left == 3 {
            assert_eq!(next(&mut bench, &mut port).as_ref().and_then(PauseBitmap::in_packet), Some(PauseBitmap(0)));
        }
    }
    assert_eq!(port.backlog().packets, 0);
}

#[test]
fn the_threshold_is_a_queues_part_of_a_hops_round_trip() {
    let (mut bench, mut port) = ready(&BfcParams::default());
    let mut first = |active: u32| {
        for flow in 1..active {
            pass(&mut bench, &mut port, data(1000 + flow, 1));
        }
        let sent = (1..).find(|_| !pass(&mut bench, &mut port, data(7, 20)).is_empty());
        port.reset(&mut bench.ctx());
        bench.actions.clear();
        sent
    };
    // More than 5000 B, 2500 B, 1666 B and 500 B.
    assert_eq!([1, 2, 3, 10].map(&mut first), [Some(7), Some(4), Some(3), Some(2)]);
    assert_eq!(HOP, 5000);
}

#[test]
fn queues_that_the_neighbour_has_paused_neither_send_nor_count() {
    let (mut bench, mut port) = ready(&BfcParams::default());
    pass(&mut bench, &mut port, data(1, 1));
    pass(&mut bench, &mut port, data(2, 2));
    hear(&mut bench, &mut port, 1); // the queue of flow 1
    let sent: Vec<u32> = std::iter::from_fn(|| next(&mut bench, &mut port)).map(|p| p.flow.0).collect();
    assert_eq!(sent, [2]);
    // Flow 2 is alone again: its seventh packet finds too much.
    let first = (1..).find(|_| !pass(&mut bench, &mut port, data(2, 2)).is_empty());
    assert_eq!(first, Some(7));
    hear(&mut bench, &mut port, 0);
    assert_eq!(std::iter::from_fn(|| next(&mut bench, &mut port)).filter(|p| p.flow.0 == 1).count(), 1);
}

#[test]
fn a_pause_that_is_not_repeated_ends_and_one_that_lasts_is_repeated() {
    let params = BfcParams::default();
    let (mut bench, mut port) = ready(&params);
    pass(&mut bench, &mut port, data(1, 1));
    hear(&mut bench, &mut port, 1);
    assert_eq!(bench.timer, Time(3 * params.refresh.0));
    bench.now = bench.timer;
    port.on_timer(&mut bench.ctx());
    assert_eq!(next(&mut bench, &mut port).map(|p| p.flow.0), Some(1));
    // Of its own: too much of what came from queue 1 waits on.
    (0..7).for_each(|_| drop(pass(&mut bench, &mut port, data(1, 1))));
    assert_eq!(next(&mut bench, &mut port).as_ref().and_then(PauseBitmap::in_packet), Some(PauseBitmap(2)));
    for _ in 0..3 {
        bench.now = bench.timer;
        port.on_timer(&mut bench.ctx());
        assert_eq!(told(&mut bench, &mut port), [2]);
    }
    assert_eq!(bench.timer, bench.now + params.refresh);
}

#[test]
fn what_has_no_payload_goes_first_and_pauses_nobody_and_so_may_first_packets() {
    for on in [false, true] {
        let (mut bench, mut port) = ready(&BfcParams { first_packet_first: on, ..BfcParams::default() });
        (0..6).for_each(|_| drop(pass(&mut bench, &mut port, data(1, 1))));
        let mut first = data(2, 5);
        first.set_header(&BfcHeader { queue: Some(5), first: true });
        pass(&mut bench, &mut port, first);
        assert!(pass(&mut bench, &mut port, packet(3, Some(4), 0)).is_empty());
        let sent: Vec<u32> = std::iter::from_fn(|| next(&mut bench, &mut port)).map(|p| p.flow.0).collect();
        assert_eq!(sent[..3], if on { [2, 3, 1] } else { [3, 1, 2] });
    }
}

#[test]
fn towards_a_neighbour_that_obeys_nothing_packets_say_no_queue() {
    let mut bench = bench(&BfcParams::default());
    let mut port = BfcPort::new(&BfcParams::default(), Bound::EVERYTHING, false);
    pass(&mut bench, &mut port, data(1, 9));
    assert_eq!(next(&mut bench, &mut port).and_then(|p| p.header::<BfcHeader>()), Some(BfcHeader::default()));
}

/// What came in and finds no room is dropped; a host's own packets are not, as they are in its memory.
#[test]
fn a_full_port_drops_what_came_in() {
    let params = BfcParams::default();
    let (mut bench, mut port) = (bench(&params), BfcPort::new(&params, Limit::Packets(2).bound(LINE), true));
    (0..2).for_each(|_| drop(pass(&mut bench, &mut port, data(1, 1))));
    let came = bench.pool.insert(data(1, 1));
    let Inbound::Forward(came) = port.inbound(came, &mut bench.ctx()) else { panic!("it goes on") };
    port.outbound(came, &mut bench.ctx());
    assert!(matches!(bench.actions.pop_front(), Some(Action::Drop(_, _, Drop::Queue))));
    let own = bench.pool.insert(data(1, 1));
    port.outbound(own, &mut bench.ctx());
    assert_eq!((port.backlog().packets, bench.actions.len()), (3, 0));
    // What ended here leaves its number to what is sent next.
    let mut ends = data(1, 1);
    ends.dst = NodeId(0);
    let ends = bench.pool.insert(ends);
    let Inbound::Forward(ends) = port.inbound(ends, &mut bench.ctx()) else { panic!("it is the host's") };
    port.outbound(ends, &mut bench.ctx());
    assert_eq!((port.backlog().packets, bench.actions.len()), (4, 0));
}

#[test]
fn a_link_that_went_down_comes_back_without_pauses() {
    let (mut bench, mut port) = ready(&BfcParams::default());
    pass(&mut bench, &mut port, data(1, 1));
    hear(&mut bench, &mut port, 1);
    bench.transmitter = Transmitter::Busy { until: None };
    port.on_link(&mut bench.ctx());
    bench.transmitter = Transmitter::Idle { since: bench.now };
    port.on_link(&mut bench.ctx());
    assert_eq!(next(&mut bench, &mut port).map(|p| p.flow.0), Some(1));
}

fn flow(number: u32) -> Flow {
    (number, NodeId(0))
}

#[test]
fn a_flow_has_an_empty_queue_and_keeps_it_for_a_while() {
    let (mut table, mut rng) = (FlowTable::new(2), stream(1, Purpose::Ports, 0));
    let sticky = Time(10);
    assert_eq!(table.assign(flow(1), 0, Time(0), sticky, &mut rng), 0);
    assert_eq!(table.assign(flow(2), 0, Time(0), sticky, &mut rng), 1);
    assert_eq!(table.assign(flow(1), 0, Time(1), sticky, &mut rng), 0);
    let third = table.assign(flow(3), 0, Time(1), sticky, &mut rng);
    assert!(third < 2, "none is empty: one is drawn");
    (0..2).for_each(|_| table.leave(flow(1), Time(5)));
    table.leave(flow(3), Time(5));
    assert_eq!(table.assign(flow(1), 0, Time(15), sticky, &mut rng), 0, "its own");
    table.leave(flow(1), Time(16));
    assert_eq!(table.assign(flow(4), 0, Time(27), sticky, &mut rng), 0, "that of flow 1, which has gone");
    assert_eq!(table.len(), 2);
}

#[test]
fn of_empty_queues_one_that_is_not_paused_is_taken() {
    let (mut table, mut rng) = (FlowTable::new(3), stream(1, Purpose::Ports, 0));
    assert_eq!(table.assign(flow(1), 0b011, Time(0), Time(10), &mut rng), 2);
    assert_eq!(table.assign(flow(2), 0b011, Time(0), Time(10), &mut rng), 0, "all empty ones are paused");
}

#[test]
fn flows_without_an_empty_queue_are_spread() {
    let (mut table, mut rng) = (FlowTable::new(8), stream(1, Purpose::Ports, 0));
    let mut counts = [0; 8];
    (0..808).for_each(|i| counts[table.assign(flow(i), 0, Time(0), Time(1), &mut rng)] += 1);
    assert!(counts.iter().all(|n| (60..150).contains(n)), "{counts:?}");
}

proptest! {
    #[test]
    fn headers_come_back_and_others_do_not(queue in prop::option::of(0u8..128), first: bool, bits: u128, bad in 128u8..255) {
        let (header, frame) = (BfcHeader { queue, first }, PauseBitmap(bits));
        prop_assert_eq!(BfcHeader::get(&body_of(&header)), Some(header));
        prop_assert_eq!(PauseBitmap::get(&body_of(&frame)), Some(frame));
        prop_assert_eq!((BfcHeader::get(&[bad, 0]), BfcHeader::get(&[0, 2]), BfcHeader::get(&[0])), (None, None, None));
        prop_assert_eq!(PauseBitmap::get(&[0; 15]), None);
        prop_assert_eq!(SIZE, 8);
    }
}

/// BFC's rules written from the packets that wait alone: who is paused, and what may leave.
#[derive(Default)]
struct Oracle {
    /// Of each queue, the flows of its packets.
    queues: BTreeMap<u8, VecDeque<u32>>,
    /// The queues upstream that it has paused.
    pausing: BTreeMap<u8, BTreeSet<u8>>,
    /// Of flows that wait: their queue.
    of: BTreeMap<u32, u8>,
    paused: u128,
}

impl Oracle {
    fn frame(&self) -> u128 {
        self.pausing.values().flatten().fold(0, |bits, upstream| bits | 1 << upstream)
    }

    fn holds_too_much(&self, queue: u8) -> bool {
        let sends = |(q, waits): (&u8, &VecDeque<u32>)| *q != queue && !waits.is_empty() && self.paused & 1 << q == 0;
        let active = 1 + self.queues.iter().filter(|one| sends(*one)).count() as u64;
        1000 * self.queues.get(&queue).map_or(0, |waits| waits.len() as u64) > HOP / active
    }

    fn come(&mut self, flow: u32, upstream: u8, queue: u8) {
        assert!(self.of.get(&flow).is_none_or(|own| *own == queue), "a flow's packets wait in one queue");
        if !self.of.contains_key(&flow) && self.of.values().any(|own| *own == queue) {
            let taken: BTreeSet<u8> = self.of.values().copied().collect();
            assert_eq!(taken.len(), 4, "flows share a queue where none is empty");
        }
        self.of.insert(flow, queue);
        if self.holds_too_much(queue) {
            self.pausing.entry(queue).or_default().insert(upstream);
        }
        self.queues.entry(queue).or_default().push_back(flow);
    }

    fn leave(&mut self, flow: u32, queue: u8) {
        assert_eq!(self.paused & 1 << queue, 0, "a paused queue sends nothing");
        let left = self.queues.get_mut(&queue).and_then(VecDeque::pop_front).expect("it waits");
        assert_eq!(left, flow, "in order");
        if !self.queues.values().flatten().any(|waits| *waits == flow) {
            self.of.remove(&flow);
        }
        if !self.holds_too_much(queue) {
            self.pausing.remove(&queue);
        }
    }

    fn may_send(&self) -> bool {
        self.queues.iter().any(|(queue, waits)| !waits.is_empty() && self.paused & 1 << queue == 0)
    }
}

proptest! {
    /// Whatever comes, leaves and is paused: the neighbour is told what the packets that wait say, and whoever may send does.
    #[test]
    fn a_port_says_and_sends_what_the_packets_that_wait_say(
        steps in prop::collection::vec((0u8..10, 0u32..9, 0u8..4, any::<u8>()), 1..300),
    ) {
        let params = BfcParams { queues: 4, sticky: Some(Time::ZERO), refresh: Time::from_secs(1), ..BfcParams::default() };
        let (mut bench, mut port) = ready(&params);
        let (mut oracle, mut said) = (Oracle::default(), 0);
        let (mut came, mut sent) = (0, 0);
        for (what, flow, upstream, paused) in steps {
            bench.now += Time(1);
            let mut frames = Vec::new();
            match what {
                0..5 => {
                    frames = pass(&mut bench, &mut port, data(flow, upstream));
                    came += 1;
                    let queue = port_queue(&mut port, flow);
                    oracle.come(flow, upstream, queue);
                }
                5..9 => match next(&mut bench, &mut port) {
                    Some(one) if one.payload == 0 => prop_assert!(PauseBitmap::in_packet(&one).is_some()),
                    Some(one) => {
                        let queue = one.header::<BfcHeader>().and_then(|h| h.queue).expect("it left from a queue");
                        oracle.leave(one.flow.0, queue);
                        sent += 1;
                        frames = told(&mut bench, &mut port);
                    }
                    None => prop_assert!(!oracle.may_send()),
                },
                _ => {
                    hear(&mut bench, &mut port, u128::from(paused & 15));
                    oracle.paused = u128::from(paused & 15);
                }
            }
            let now = oracle.frame();
            prop_assert_eq!(frames, if now == said { vec![] } else { vec![now] });
            said = now;
        }
        hear(&mut bench, &mut port, 0);
        while let Some(one) = next(&mut bench, &mut port) {
            sent += u32::from(one.payload > 0);
            said = told(&mut bench, &mut port).pop().unwrap_or(said);
        }
        prop_assert_eq!((came, said, port.backlog().packets), (sent, 0, 0));
    }
}

fn port_queue(port: &mut BfcPort, flow: u32) -> u8 {
    port.queue_of((flow, NodeId(7))).expect("it has one")
}

#[test]
fn counters_go_up_and_down_by_queues() {
    let mut pauses = Pauses::new(2, 4);
    let at = |queue| (PortId(1), queue);
    assert_eq!([2, 2, 0, 4].map(|queue| pauses.raise(at(queue))), [Some(true), Some(false), Some(true), None]);
    assert_eq!((pauses.frame(PortId(1)), pauses.frame(PortId(0))), (PauseBitmap(0b101), PauseBitmap(0)));
    assert_eq!([2, 0, 2].map(|queue| pauses.lower(at(queue))), [false, true, true]);
    assert_eq!(pauses.frame(PortId(1)), PauseBitmap(0));
}

#[test]
fn only_the_packet_that_came_in_just_now_has_an_ingress() {
    let mut pauses = Pauses::new(2, 4);
    pauses.came_in(PacketId(5), PortId(1), Time(9));
    assert_eq!(pauses.take_ingress(PacketId(5), Time(9)), Some(PortId(1)));
    assert_eq!(pauses.take_ingress(PacketId(5), Time(9)), None);
    pauses.came_in(PacketId(5), PortId(1), Time(9));
    assert_eq!(pauses.take_ingress(PacketId(5), Time(10)), None, "a number that was used again");
}
