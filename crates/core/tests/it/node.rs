//! The node's promises to schemes: what each role may ask for happens, at the time asked for, and
//! nothing is lost on the way.

use std::sync::{Arc, Mutex};

use crate::common::{Bench, ByPeer, ME, MS, Nobody, PEERS, RATE, Words, ample, cases, packet};
use midpath_core::node::{Driver, Flows, Forwarding, Node};
use midpath_core::packet::{Carried, Ecn, FlowId, Kind, NodeId, Note, NotePlace, Packet, PacketId, Pkt, Pool, PortId};
use midpath_core::queue::{
    AqmSpec, CodelParams, Discipline, DualPi2Params, Limit, PieParams, QueueSpec, SchedulerSpec,
};
use midpath_core::roles::{
    Accept, Backlog, CutThrough, Drop, Endpoint, EndpointCtx, Face, FlowReport, ForwardCtx, Forwarder, HopCtx, Inbound,
    LinkInfo, Port, PortCtx, Route, Transmitter,
};
use midpath_core::units::Time;
use proptest::prelude::*;

fn datagram(seq: u64) -> Packet {
    packet(0, seq, 1500, Ecn::NotEct)
}

fn to_me(flow: u32, kind: Kind, seq: u64) -> Packet {
    let mut p = Packet::new(FlowId(flow), NodeId(PEERS), ME, 100);
    (p.kind, p.seq) = (kind, seq as u32);
    p
}

// Ports
// ------------------------------------------------------------------------------------------------------------------------

/// A FIFO that does one more thing, chosen by its kind.
struct Special {
    kind: Trick,
    queue: Vec<Pkt>,
}

#[derive(Clone, Copy, PartialEq)]
enum Trick {
    /// Hands packets with odd numbers to the sibling port.
    Detour(PortId),
    /// Publishes each packet's number; sends nothing through this port, but has the sibling asked.
    Release(PortId),
    /// Sends only what the sibling's published number has reached.
    Gate(PortId),
    /// Answers each packet that comes in with a control packet to that neighbour, and uses up those
    /// that it gets.
    Notify,
    /// Refuses what comes in.
    Police,
    /// The same, but wants to see odd numbers only.
    PoliceOdd,
    /// Keeps packets until its timer, which each sets to its number in milliseconds; then they
    /// leave through port 2.
    Shape,
    /// Tells its neighbour when the node has restarted, a tick later.
    Chime,
    /// Tells the sender of each packet, wherever it is.
    Tell,
    /// Sends all through the tunnel whose end is flow 5's.
    Carry,
}

impl Special {
    fn held(kind: Trick) -> Discipline {
        let port = Special { kind, queue: Vec::new() };
        if kind == Trick::PoliceOdd { Discipline::cut_through(port) } else { Discipline::of(port) }
    }
}

impl Port for Special {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        let seq = u64::from(ctx.pool[&pkt].seq);
        ctx.pool[&pkt].queued = ctx.now;
        match self.kind {
            Trick::Detour(sibling) if seq % 2 == 1 => return ctx.sibling(sibling, pkt),
            Trick::Release(sibling) => {
                {
                    let (me, word) = (usize::from(ctx.me.0), seq);
                    ctx.state::<Words>().0[me] = word;
                }
                ctx.kick(sibling);
                return ctx.drop(pkt, Drop::Policy);
            }
            Trick::Shape => ctx.wake_at(MS * seq),
            Trick::Carry => return ctx.carried(pkt, FlowId(5)),
            Trick::Tell => ctx.route(answer(&ctx.pool[&pkt], Kind::Datagram)),
            _ => {}
        }
        self.queue.push(pkt);
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        let first = self.queue.first()?;
        match self.kind {
            Trick::Gate(sibling)
                if ctx.shared::<Words>().0[usize::from(sibling.0)] < u64::from(ctx.pool[first].seq) =>
            {
                return None;
            }
            Trick::Shape => return None,
            _ => {}
        }
        Some(self.queue.remove(0))
    }
    fn inbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) -> Inbound {
        match self.kind {
            Trick::Notify if ctx.pool[&pkt].kind == Kind::Control => Inbound::Consume(pkt),
            Trick::Notify => {
                let mut note = Packet::new(ctx.pool[&pkt].flow, ctx.node, ctx.link().peer, 20);
                (note.kind, note.seq) = (Kind::Control, ctx.pool[&pkt].seq);
                ctx.emit(ctx.me, note);
                Inbound::Forward(pkt)
            }
            Trick::Police | Trick::PoliceOdd => {
                ctx.note("refused", 1.0, Some(&pkt));
                Inbound::Drop(pkt, Drop::Policy)
            }
            _ => Inbound::Forward(pkt),
        }
    }
    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        if self.kind == Trick::Chime {
            let mut note = Packet::new(FlowId(0), ctx.node, ctx.link().peer, 20);
            note.kind = Kind::Control;
            ctx.emit(ctx.me, note);
        }
        {
            let (me, word) = (usize::from(ctx.me.0), ctx.now.0);
            ctx.state::<Words>().0[me] = word;
        }
        self.queue.drain(..).for_each(|pkt| ctx.sibling(PortId(2), pkt));
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.queue.len() as u64 * 1500 }
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.queue.drain(..).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        if self.kind == Trick::Chime {
            ctx.wake_at(ctx.now + TICK);
        }
    }
}

impl CutThrough for Special {
    fn cut_through(&mut self, _pkt: &Pkt, _hop: &mut HopCtx<'_>) -> bool {
        false
    }
    fn pass_inbound(&mut self, pkt: &Pkt, hop: &mut HopCtx<'_>) -> bool {
        hop.pool[pkt].seq.is_multiple_of(2)
    }
}

fn bench(ports: Vec<Discipline>) -> Bench {
    Bench::new(RATE, ports, Box::new(ByPeer), Arc::new(Nobody))
}

#[test]
fn a_detour_leaves_through_the_sibling() {
    let mut b = bench(vec![ample(), Special::held(Trick::Detour(PortId(2))), ample()]);
    (0..6).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    b.run_out();
    assert_eq!((b.seqs(1), b.seqs(2)), (vec![0, 2, 4], vec![1, 3, 5]));
    assert_eq!((b.pool.live(), b.log.lost.len()), (0, 0));
}

#[test]
fn a_detour_may_lead_to_a_held_sibling() {
    let mut b = bench(vec![ample(), Special::held(Trick::Detour(PortId(2))), Special::held(Trick::Notify)]);
    (0..4).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    b.run_out();
    assert_eq!((b.seqs(1), b.seqs(2)), (vec![0, 2], vec![1, 3]));
}

#[test]
fn a_kicked_sibling_reads_what_was_published() {
    let mut b = bench(vec![ample(), Special::held(Trick::Gate(PortId(2))), Special::held(Trick::Release(PortId(1)))]);
    (1..4).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    b.run_until(MS * 10);
    assert!(b.log.sent.is_empty(), "the gate is shut");
    let mut key = datagram(2);
    key.dst = NodeId(PEERS + 2);
    b.arrive(MS * 10, PortId(0), key);
    assert_eq!(b.log.sent[0].start, MS * 10, "at once");
    b.run_out();
    assert_eq!(b.seqs(1), [1, 2], "as far as was published");
    assert_eq!(b.node.backlog(PortId(1), MS * 20).packets, 1);
    assert_eq!(b.log.lost.iter().map(|l| l.why).collect::<Vec<_>>(), [Drop::Policy]);
    assert_eq!(b.node.counters(PortId(2)).drops_policy, 1);
}

#[test]
fn control_packets_go_to_the_neighbour_and_no_further() {
    let mut b = bench(vec![Special::held(Trick::Notify), ample()]);
    b.arrive(Time::ZERO, PortId(0), datagram(7));
    b.run_out();
    assert_eq!((b.seqs(0), b.seqs(1)), (vec![7], vec![7]), "one answer, one on its way");
    let note = b.log.sent.iter().find(|s| s.port == PortId(0)).expect("sent").packet;
    assert_eq!((note.kind, note.dst), (Kind::Control, NodeId(PEERS)));
    // One that comes in is used up by a port that knows it, without a trace.
    let mut control = Packet::control(NodeId(PEERS), ME);
    b.arrive(MS, PortId(0), control);
    assert_eq!((b.log.lost.len(), b.log.sent.len(), b.pool.live()), (0, 2, 0));
    // RFC 5082: one that has come further than from a neighbour is not shown to it.
    control.hops -= 1;
    b.arrive(MS, PortId(0), control);
    assert_eq!(b.log.lost.pop().map(|l| (l.port, l.why)), Some((Some(PortId(0)), Drop::Policy)));
    control.hops += 1;
    // A port that doesn't know it lets it end, counted.
    b.arrive(MS * 2, PortId(1), control);
    assert_eq!(b.log.lost.iter().map(|l| (l.port, l.why)).collect::<Vec<_>>(), [(None, Drop::Undeliverable)]);
    assert_eq!((b.log.sent.len(), b.pool.live()), (2, 0));
}

#[test]
fn what_a_port_refuses_on_the_way_in_is_counted_there() {
    let mut b = bench(vec![Special::held(Trick::Police), ample()]);
    b.arrive(Time::ZERO, PortId(0), datagram(0));
    assert_eq!((b.node.counters(PortId(0)).drops_policy, b.log.lost[0].port), (1, Some(PortId(0))));
    assert_eq!((b.pool.live(), b.log.sent.len()), (0, 0));
}

/// Traces, and writes down in which order it is told of packets.
struct Order(Vec<(&'static str, PacketId)>);

impl Driver for Order {
    const TRACES: bool = true;
    fn transmitter(&mut self, _port: PortId, _now: Time) -> Transmitter {
        Transmitter::Busy { until: None }
    }
    fn start(&mut self, _port: PortId, _pkt: Pkt, _now: Time, _pool: &mut Pool) {
        unreachable!("a transmitter that is busy");
    }
    fn dropped(&mut self, _port: Option<PortId>, id: PacketId, _packet: Carried<'_>, _why: Drop) {
        self.0.push(("dropped", id));
    }
    fn noted(&mut self, note: Note, packet: Option<&Packet>) {
        assert_eq!((note.value, note.place, packet.is_some()), (1.0, NotePlace::Port(PortId(0)), true));
        self.0.push((note.what, note.packet.expect("of a packet")));
    }
}

#[test]
fn what_a_port_notes_of_a_packet_is_told_before_the_packet_s_fate() {
    // The second is of another kind.
    for kind in [Trick::Police, Trick::PoliceOdd] {
        let Bench { mut node, mut pool, .. } = bench(vec![Special::held(kind), Special::held(kind)]);
        let mut order = Order(Vec::new());
        pool.keep_notes();
        let pkt = pool.insert(datagram(1));
        let id = pkt.id();
        node.on_packet(Time::ZERO, PortId(0), pkt, &mut pool, &mut order);
        assert_eq!(order.0, [("refused", id), ("dropped", id)]);
    }
}

#[test]
fn what_passes_a_port_on_the_way_in_goes_on() {
    let mut b = bench(vec![Special::held(Trick::PoliceOdd), ample()]);
    (0..5).for_each(|seq| b.arrive(MS * seq, PortId(0), datagram(seq)));
    b.run_out();
    assert_eq!((b.seqs(1), b.node.counters(PortId(0)).drops_policy), (vec![0, 2, 4], 2));
    assert_eq!(b.pool.live(), 0);
}

#[test]
fn wishes_for_ports_that_are_not_there_are_undeliverable() {
    let mut b = bench(vec![ample(), Special::held(Trick::Detour(PortId(9)))]);
    (0..3).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    b.run_out();
    assert_eq!(b.seqs(1), [0, 2]);
    assert_eq!((b.log.lost[0].packet.seq, b.log.lost[0].why, b.pool.live()), (1, Drop::Undeliverable, 0));
}

proptest! {
    #![proptest_config(cases(200))]

    /// A port's timer comes up exactly at the last time it was set to, however often it was moved
    /// before.
    #[test]
    fn a_ports_timer_fires_at_the_last_deadline(steps in prop::collection::vec((0u64..4, 0u64..40), 1..40)) {
        let mut b = bench(vec![ample(), Special::held(Trick::Shape), ample()]);
        let (mut now, mut armed, mut want) = (0, None, Vec::new());
        for (later, deadline) in steps {
            now += later;
            want.extend(armed.take_if(|at| *at < now));
            // A wish per packet; 40 of 40 bytes are gone within a tick of 10 ms.
            b.arrive(TICK * now, PortId(0), packet(0, 10 * deadline, 40, Ecn::NotEct));
            armed = Some(deadline.max(now));
        }
        want.extend(armed);
        b.run_out();
        // When it fires, all that waits leaves through port 2, the first at once: on the tick.
        let fired: Vec<Time> = b.log.sent.iter().map(|s| s.start).filter(|t| t.0 % TICK.0 == 0).collect();
        prop_assert_eq!(fired, want.into_iter().map(|t| TICK * t).collect::<Vec<_>>());
        prop_assert_eq!((b.node.stored(), b.pool.live()), (0, 0));
        prop_assert!(b.log.sent.iter().all(|s| s.port == PortId(2)));
    }
}

const TICK: Time = Time::from_ms(10);

#[test]
fn a_port_that_is_down_gets_the_timer_it_asked_for() {
    let mut b = bench(vec![ample(), Special::held(Trick::Shape), ample()]);
    b.set_up(PortId(1), false, Time::ZERO);
    b.arrive(MS, PortId(0), datagram(4));
    b.run_out();
    assert_eq!(b.log.sent.iter().map(|s| (s.port, s.start)).collect::<Vec<_>>(), [(PortId(2), MS * 4)]);
}

#[test]
fn a_port_may_ask_for_a_timer_as_it_restarts() {
    let mut b = bench(vec![ample(), Special::held(Trick::Chime)]);
    b.node.restart(MS, &mut b.pool, &mut b.log);
    b.run_out();
    assert_eq!(b.log.sent.iter().map(|s| (s.port, s.start)).collect::<Vec<_>>(), [(PortId(1), MS + TICK)]);
}

// Restarts and links
// -------------------------------------------------------------------------------------------------------------

#[test]
fn a_restart_drops_what_is_held_and_counts_it() {
    let limit = Limit::Packets(100);
    let plain = QueueSpec::fifo(limit);
    let specs = [
        plain,
        QueueSpec { aqm: AqmSpec::Step { threshold: Limit::Packets(1) }, ..plain },
        QueueSpec { aqm: AqmSpec::Codel(CodelParams::default()), ..plain },
        QueueSpec { aqm: AqmSpec::Pie(PieParams::default()), ..plain },
        QueueSpec { aqm: AqmSpec::DualPi2(DualPi2Params::default()), ..plain },
        QueueSpec { scheduler: SchedulerSpec::Drr { quantum: 1500 }, ..plain },
        QueueSpec { scheduler: SchedulerSpec::Fq { quantum: 1500 }, ..plain },
    ];
    for spec in specs {
        let mut b = Bench::of_queue(RATE, spec.build(RATE).held());
        (0..8).for_each(|seq| b.arrive(Time::ZERO, PortId(0), packet(seq as u32 % 3, seq, 1500, Ecn::NotEct)));
        assert_eq!((b.node.stored(), b.log.sent.len()), (7, 1), "{spec:?}");
        b.node.restart(MS, &mut b.pool, &mut b.log);
        assert_eq!((b.node.stored(), b.pool.live()), (0, 0), "{spec:?}");
        assert_eq!(b.node.counters(PortId(1)).drops_fault, 7, "{spec:?}");
        assert!(b.log.lost.iter().all(|l| l.why == Drop::Fault && l.port == Some(PortId(1))));
        // What was being sent is; what comes next follows it.
        b.arrive(MS, PortId(0), datagram(9));
        b.run_out();
        assert_eq!(b.log.sent[1].start, b.log.sent[0].end, "{spec:?}");
        assert_eq!((b.pool.live(), b.node.next_wake()), (0, Time::MAX));
    }
}

#[test]
fn a_link_that_is_down_keeps_what_waits_and_a_new_rate_counts_from_the_next_packet() {
    let mut b = Bench::of_queue(RATE, QueueSpec::fifo(Limit::Packets(10)).build(RATE).held());
    (0..3).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    b.set_up(PortId(1), false, MS);
    b.run_until(MS * 50);
    assert_eq!((b.log.sent.len(), b.node.stored()), (1, 2));
    b.arrive(MS * 50, PortId(0), datagram(3));
    assert_eq!(b.log.sent.len(), 1);
    b.set_up(PortId(1), true, MS * 60);
    b.log.now = MS * 60;
    // Ten times as fast from now on: the packet that has started keeps its 1.2 ms.
    let faster = midpath_core::units::Rate::from_mbps(100);
    b.set_rate(PortId(1), faster, MS * 60);
    b.run_out();
    let times: Vec<_> = b.log.sent[1..].iter().map(|s| (s.start, s.end - s.start)).collect();
    let us = Time::from_us;
    assert_eq!(times, [(us(60_000), us(1200)), (us(61_200), us(120)), (us(61_320), us(120))]);
}

/// Says at what rate its link was when it was told that something has changed.
struct Learner(Arc<Mutex<Vec<midpath_core::units::Rate>>>);

impl Port for Learner {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        ctx.drop(pkt, Drop::Policy);
    }
    fn poll_transmit(&mut self, _ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        None
    }
    fn on_link(&mut self, ctx: &mut PortCtx<'_>) {
        self.0.lock().expect("one thread").push(ctx.link().rate);
    }
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {}
}

#[test]
fn a_port_learns_that_its_rate_has_changed() {
    let rates = Arc::new(Mutex::new(Vec::new()));
    let mut b = Bench::of_queue(RATE, Discipline::of(Learner(rates.clone())));
    let faster = midpath_core::units::Rate::from_mbps(100);
    b.set_rate(PortId(1), faster, MS);
    assert_eq!(*rates.lock().expect("one thread"), [faster]);
}

/// A driver that comes back by itself.
struct Pulls;

impl Driver for Pulls {
    fn transmitter(&mut self, _port: PortId, _now: Time) -> Transmitter {
        Transmitter::Busy { until: None }
    }
    fn start(&mut self, _port: PortId, _pkt: Pkt, _now: Time, _pool: &mut Pool) {
        unreachable!("it pulls");
    }
}

#[test]
fn a_port_is_named_once_for_what_it_has_and_again_for_what_comes_later() {
    let mut b = Bench::of_queue(RATE, QueueSpec::fifo(Limit::Packets(10)).build(RATE).held());
    for round in 0..3 {
        for seq in [2 * round, 2 * round + 1] {
            let pkt = b.pool.insert(datagram(seq));
            b.node.on_packet(Time::ZERO, PortId(0), pkt, &mut b.pool, &mut Pulls);
        }
        assert_eq!((b.node.ready(), b.node.ready()), (Some(PortId(1)), None));
        for seq in [2 * round, 2 * round + 1] {
            let pkt = b.node.poll_transmit(Time::ZERO, PortId(1), &mut b.pool, &mut Pulls).expect("it has two");
            assert_eq!(u64::from(b.pool.take(pkt).seq), seq);
        }
    }
}

/// For what a driver reads, and when a run is over.
#[test]
fn a_port_says_when_its_wire_is_free() {
    for held in [false, true] {
        let mut b = Bench::of_queue(RATE, if held { ample().held() } else { ample() });
        assert_eq!(b.node.free_at(PortId(1)), Time::ZERO);
        b.arrive(MS, PortId(0), datagram(0));
        assert_eq!(b.node.free_at(PortId(1)), MS + Time::from_us(1200), "held: {held}");
        b.arrive(MS, PortId(0), datagram(1));
        b.run_out();
        assert_eq!(b.node.free_at(PortId(1)), MS + Time::from_us(2400), "held: {held}");
    }
}

/// Whatever its discipline, and if it comes by way of a sibling.
#[test]
fn a_packet_larger_than_the_links_mtu_is_dropped_there() {
    fn marking() -> Discipline {
        let aqm = AqmSpec::Step { threshold: Limit::Packets(9) };
        QueueSpec { aqm, ..QueueSpec::fifo(Limit::Packets(9)) }.build(RATE)
    }
    assert!(matches!(marking(), Discipline::Timetable { .. }));
    let ports: [fn() -> Discipline; 3] = [ample, marking, || ample().held()];
    for (i, (port, detoured)) in ports.into_iter().flat_map(|port| [(port, false), (port, true)]).enumerate() {
        let first = if detoured { Special::held(Trick::Detour(PortId(2))) } else { port() };
        let mut b = bench(vec![ample(), first, port()]);
        [1500, 1501].iter().for_each(|size| b.arrive(MS, PortId(0), packet(0, 1, *size, Ecn::NotEct)));
        b.run_out();
        let end = PortId(1 + u16::from(detoured));
        assert_eq!(b.log.sent.iter().map(|s| (s.port, s.packet.size)).collect::<Vec<_>>(), [(end, 1500)], "{i}");
        let lost: Vec<_> = b.log.lost.iter().map(|l| (l.port, l.why, l.packet.size)).collect();
        assert_eq!((lost, b.pool.live()), (vec![(Some(PortId(1)), Drop::TooBig, 1501)], 0), "{i}");
    }
}

/// With a call to the port for each packet, not two: what waits is asked for when the transmitter becomes idle.
#[test]
fn an_idle_port_is_offered_a_packet_and_asked_for_one() {
    struct Calls(Arc<Mutex<Vec<&'static str>>>, Vec<Pkt>);
    impl Port for Calls {
        fn outbound(&mut self, pkt: Pkt, _ctx: &mut PortCtx<'_>) {
            self.0.lock().expect("one thread").push("offered");
            self.1.push(pkt);
        }
        fn poll_transmit(&mut self, _ctx: &mut PortCtx<'_>) -> Option<Pkt> {
            self.0.lock().expect("one thread").push("asked");
            self.1.pop()
        }
        fn backlog(&self) -> Backlog {
            Backlog { packets: self.1.len() as u64, bytes: 1500 * self.1.len() as u64 }
        }
        fn reset(&mut self, _ctx: &mut PortCtx<'_>) {}
    }
    let calls = Arc::default();
    let mut b = Bench::of_queue(RATE, Discipline::of(Calls(Arc::clone(&calls), Vec::new())));
    [0, 1, 5].iter().for_each(|ms| b.arrive(MS * *ms, PortId(0), datagram(*ms)));
    b.run_out();
    assert_eq!(*calls.lock().expect("one thread"), ["offered", "asked", "offered", "asked", "offered", "asked"]);
    assert_eq!(b.seqs(1), [0, 1, 5]);
}

/// 16 bytes for a packet that waits on a timetable, and a time, a number and a purpose for a timer.
#[test]
fn what_grows_with_packets_and_timers_is_counted() {
    let mut b = Bench::of_queue(RATE, ample());
    (0..101).for_each(|seq| b.arrive(Time::ZERO, PortId(0), datagram(seq)));
    let packets = b.node.packet_memory();
    assert!((100 * 16..=400 * 16).contains(&packets), "{packets} bytes");
    let before = b.node.memory();
    (0..101).for_each(|token| b.node.wake_driver(MS, token));
    let timers = b.node.memory() - before;
    assert!((100 * 24..=400 * 32).contains(&timers), "{timers} bytes");
}

#[test]
#[should_panic(expected = "a driver without timetables runs nodes with held ports only")]
fn a_driver_without_timetables_cannot_run_one() {
    let mut b = Bench::of_queue(RATE, ample());
    let pkt = b.pool.insert(datagram(0));
    b.node.on_packet(Time::ZERO, PortId(0), pkt, &mut b.pool, &mut Pulls);
}

// Forwarding
// -----------------------------------------------------------------------------------------------------------------------

/// Copies what is for node 99, to ports 1 and 2 and the endpoint here; answers what is for node 98
/// with a packet back.
struct Multicast;
impl Forwarder for Multicast {
    fn route(&mut self, pkt: Pkt, from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        match ctx.pool[&pkt].dst {
            dst @ (NodeId(97) | NodeId(99)) => {
                for port in [PortId(1), PortId(2)] {
                    ctx.copy_to(Face::Port(port), &pkt);
                }
                if dst == NodeId(99) { Route::Local(pkt) } else { Route::Consumed(pkt) }
            }
            NodeId(98) => {
                let mut nack = ctx.pool[&pkt];
                (nack.kind, nack.dst, nack.size) = (Kind::Nack, nack.src, 64);
                ctx.emit(from, nack);
                Route::Consumed(pkt)
            }
            ME => Route::Local(pkt),
            NodeId(n) if (PEERS..PEERS + 3).contains(&n) => Route::Port(PortId((n - PEERS) as u16), pkt),
            _ => Route::Unroutable(pkt),
        }
    }
}

fn multicast() -> (Bench, Events) {
    let events = Events::default();
    let flows = Arc::new(Scripts(events.clone()));
    (Bench::new(RATE, vec![ample(), ample(), ample()], Box::new(Multicast), flows), events)
}

#[test]
fn copies_leave_through_every_port_and_the_original_is_delivered_or_freed() {
    for (dst, local) in [(99, 1), (97, 0)] {
        let (mut b, _) = multicast();
        let mut p = datagram(5);
        p.dst = NodeId(dst);
        b.arrive(Time::ZERO, PortId(0), p);
        b.run_out();
        assert_eq!((b.seqs(0), b.seqs(1), b.seqs(2)), (vec![], vec![5], vec![5]));
        assert_eq!((b.log.delivered.len(), b.pool.live(), b.log.lost.len()), (local, 0, 0));
    }
}

#[test]
fn a_forwarder_uses_a_packet_up_and_answers_it() {
    let (mut b, _) = multicast();
    let mut p = datagram(5);
    p.dst = NodeId(98);
    b.arrive(Time::ZERO, PortId(0), p);
    b.run_out();
    assert_eq!(b.log.sent.iter().map(|s| (s.port, s.packet.kind)).collect::<Vec<_>>(), [(PortId(0), Kind::Nack)]);
    assert_eq!((b.pool.live(), b.log.lost.len()), (0, 0));
}

#[test]
fn a_packet_takes_no_more_hops_than_it_has() {
    let (mut b, _) = multicast();
    for hops in [2, 1, 0] {
        let mut p = datagram(hops.into());
        p.hops = hops;
        b.arrive(Time::ZERO, PortId(0), p);
    }
    b.run_out();
    let left: Vec<_> = b.log.sent.iter().map(|s| (s.packet.seq, s.packet.hops)).collect();
    assert_eq!(left, [(2, 1), (1, 0)]);
    assert_eq!((b.log.lost[0].packet.seq, b.log.lost[0].why), (0, Drop::Hops));
}

#[test]
fn what_has_no_route_is_undeliverable() {
    let (mut b, _) = multicast();
    let mut p = datagram(0);
    p.dst = NodeId(77);
    b.arrive(Time::ZERO, PortId(0), p);
    assert_eq!((b.log.lost[0].port, b.log.lost[0].why, b.pool.live()), (None, Drop::Undeliverable, 0));
}

/// Passes on what isn't for the peer at its port, and counts what it was shown in what it shares
/// with that port.
struct Only(PortId);
impl Forwarder for Only {
    fn route(&mut self, pkt: Pkt, _from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        ctx.state::<Words>().0[0] += 1;
        match ctx.pool[&pkt].dst == NodeId(PEERS + u32::from(self.0.0)) {
            true => Route::Port(self.0, pkt),
            false => Route::Pass(pkt),
        }
    }
}

/// Shows in a gauge what it shares, and adds a hundred for each packet.
struct Counting(Vec<Pkt>, u64);
impl Port for Counting {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        ctx.state::<Words>().0[0] += 100;
        self.1 = ctx.shared::<Words>().0[0];
        self.0.push(pkt);
    }
    fn poll_transmit(&mut self, _ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        self.0.pop()
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.0.len() as u64, bytes: self.0.len() as u64 * 1500 }
    }
    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {}
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("shared", self.1 as f64));
    }
}

#[test]
fn forwarders_pass_packets_on_and_each_scheme_shares_its_own_state() {
    let port = || Discipline::of(Counting(Vec::new(), 0));
    let links = (0..3).map(|i| LinkInfo { rate: RATE, delay: MS, mtu: 1500, peer: NodeId(PEERS + i) }).collect();
    let chain: Vec<Box<dyn Forwarder>> = vec![Box::new(Only(PortId(1))), Box::new(Only(PortId(2)))];
    let streams = midpath_core::rng::Streams::of(7, 0);
    let node = Node::new(ME, links, vec![ample(), port(), port()], Forwarding::only(chain), Arc::new(Nobody), streams);
    let (one, two) = (Box::new(Words(vec![0])), Box::new(Words(vec![0])));
    let mut b = bench(vec![ample(), ample(), ample()]);
    b.node = node.sharing(one, &[PortId(1)], Some(0)).sharing(two, &[PortId(2)], Some(1));
    for (i, peer) in [1, 2, 2, 9].into_iter().enumerate() {
        let mut p = datagram(i as u64);
        p.dst = NodeId(PEERS + peer);
        b.arrive(Time::ZERO, PortId(0), p);
    }
    b.run_out();
    assert_eq!((b.seqs(1), b.seqs(2)), (vec![0], vec![1, 2]));
    // What nobody knows has no way.
    assert_eq!(b.log.lost.iter().map(|l| (l.packet.seq, l.why)).collect::<Vec<_>>(), [(3, Drop::NoRoute)]);
    let shared = |b: &Bench, port| {
        let mut all = Vec::new();
        b.node.gauges(PortId(port), &mut all);
        all[0].1
    };
    // At its last packet: the first forwarder was shown one, then its port one; the second two, and
    // its port two.
    assert_eq!((shared(&b, 1), shared(&b, 2)), (101.0, 202.0));
}

// Endpoints
// ------------------------------------------------------------------------------------------------------------------------

/// What endpoints were called for.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Call>>>);

/// Flow, call, when.
type Call = (u32, &'static str, Time);

impl Events {
    fn push(&self, ctx: &EndpointCtx<'_>, what: &'static str) {
        self.0.lock().expect("no test panicked").push((ctx.flow.0, what, ctx.now));
    }
    fn all(&self) -> Vec<Call> {
        self.0.lock().expect("no test panicked").clone()
    }
    fn of(&self, what: &str) -> Vec<(u32, Time)> {
        self.all().into_iter().filter(|e| e.1 == what).map(|e| (e.0, e.2)).collect()
    }
}

struct Scripts(Events);
impl Flows for Scripts {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Script { events: self.0.clone(), packets: 0 }))
    }
    /// Takes datagrams, refuses Interests, ignores all else.
    fn accept(&self, node: NodeId, first: &Packet) -> Accept {
        assert_eq!(node, ME);
        match first.kind {
            Kind::Datagram => Accept::Take(Box::new(Script { events: self.0.clone(), packets: 0 })),
            Kind::Interest => Accept::Refuse(answer(first, Kind::Nack)),
            _ => Accept::Ignore,
        }
    }
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        (packet.kind == Kind::Datagram).then(|| answer(packet, Kind::Nack))
    }
}

fn answer(to: &Packet, kind: Kind) -> Packet {
    let mut p = Packet::new(to.flow, to.dst, to.src, 40);
    p.kind = kind;
    p
}

/// Does what the packets it gets say: `window` is what, `seq` an amount.
struct Script {
    events: Events,
    packets: u64,
}

const SET_TIMER: u16 = 1;
const CANCEL: u16 = 2;
const POKE: u16 = 3;
const FINISH: u16 = 4;
const SEND: u16 = 5;
const SEND_TO_ME: u16 = 6;
/// A datagram for port 1's peer comes out of the tunnel behind port 0.
const COME_IN: u16 = 7;

impl Endpoint for Script {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.events.push(ctx, "start");
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        self.packets += 1;
        self.events.push(ctx, "packet");
        match packet.window {
            SET_TIMER => ctx.set_timer(Time::from_us(packet.seq.into())),
            CANCEL => ctx.cancel_timer(),
            POKE => ctx.poke((FlowId(packet.seq), NodeId(PEERS))),
            FINISH => {
                ctx.set_timer(ctx.now + MS);
                ctx.send_via(PortId(1), Packet::new(ctx.flow, ctx.node, NodeId(PEERS + 1), 40));
                ctx.finish();
            }
            SEND => ctx.send(Packet::new(ctx.flow, ctx.node, NodeId(PEERS + packet.seq), 40)),
            SEND_TO_ME => ctx.send(Packet::new(ctx.flow, ctx.node, ME, 40)),
            COME_IN => ctx.came_in(PortId(0), datagram(packet.seq.into()), None),
            _ => {}
        }
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.events.push(ctx, "timer");
    }
    fn report(&self) -> FlowReport {
        FlowReport { sent: self.packets, ..FlowReport::default() }
    }
}

/// A datagram that tells the endpoint of its flow what to do.
fn order(flow: u32, what: u16, amount: u64) -> Packet {
    let mut p = to_me(flow, Kind::Datagram, amount);
    p.window = what;
    p
}

proptest! {
    #![proptest_config(cases(300))]

    /// An endpoint's timer comes up exactly at the last time it was set to (now, if that is past),
    /// once per wish, however often it was moved back and forth or withdrawn before.
    #[test]
    fn an_endpoints_timer_fires_exactly_at_the_last_deadline(
        steps in prop::collection::vec((0u64..20, prop_oneof![4 => (0u64..60).prop_map(Some), 1 => Just(None)], 0u32..3), 1..60),
    ) {
        let (mut b, events) = multicast();
        let (mut now, mut armed, mut want) = (0, [u64::MAX; 3], Vec::new());
        for (later, deadline, flow) in steps {
            now += later;
            // What arrives comes before what was asked for at the same time.
            for (flow, at) in armed.iter_mut().enumerate().filter(|(_, at)| **at < now) {
                want.push((std::mem::replace(at, u64::MAX), flow as u32));
            }
            let what = deadline.map_or(order(flow, CANCEL, 0), |d| order(flow, SET_TIMER, now + d - d.min(20)));
            b.arrive(Time::from_us(now), PortId(0), what);
            armed[flow as usize] = deadline.map_or(u64::MAX, |d| now + d - d.min(20));
        }
        want.extend(armed.iter().enumerate().filter(|(_, at)| **at < u64::MAX).map(|(flow, at)| (*at, flow as u32)));
        b.run_out();
        let mut got: Vec<(u64, u32)> = events.of("timer").into_iter().map(|(flow, at)| (at.0 / 1_000_000, flow)).collect();
        prop_assert!(got.is_sorted_by_key(|g| g.0), "time does not go back");
        got.sort_unstable();
        want.sort_unstable();
        prop_assert_eq!(got, want);
        prop_assert_eq!(b.node.next_wake(), Time::MAX);
    }
}

/// Opens its flow with a packet of its own.
struct Greeter;
impl Flows for Greeter {
    fn open(&self, _flow: FlowId) -> Option<Box<dyn Endpoint>> {
        None
    }
    fn accept(&self, _node: NodeId, _first: &Packet) -> Accept {
        Accept::Take(Box::new(Greeter))
    }
}
impl Endpoint for Greeter {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        ctx.send(Packet::new(ctx.flow, ctx.node, NodeId(PEERS + 1), 40));
    }
    fn on_packet(&mut self, _packet: &Packet, _ctx: &mut EndpointCtx<'_>) {}
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        FlowReport::default()
    }
}

#[test]
fn a_packets_fate_is_told_before_another_gets_its_name() {
    let mut b = Bench::new(RATE, vec![ample(), ample()], Box::new(ByPeer), Arc::new(Greeter));
    b.arrive(Time::ZERO, PortId(0), order(1, 0, 0));
    b.run_out();
    let (first, id) = b.log.named[0];
    assert_eq!(first, "delivered");
    assert_eq!(b.log.named[1..], [("sent", id)], "the greeting has the place of the packet that was answered");
}

#[test]
fn a_timer_set_to_the_past_comes_now() {
    let (mut b, events) = multicast();
    b.arrive(MS * 5, PortId(0), order(1, SET_TIMER, 3));
    b.run_out();
    assert_eq!(events.of("timer"), [(1, MS * 5)]);
}

#[test]
fn a_poked_endpoint_is_called_now_and_its_own_wish_is_used_up() {
    let (mut b, events) = multicast();
    b.arrive(Time::ZERO, PortId(0), order(1, SET_TIMER, 10_000));
    b.arrive(MS, PortId(0), order(2, POKE, 1));
    b.arrive(MS, PortId(0), order(2, POKE, 77)); // nobody there
    b.arrive(MS, PortId(0), order(2, POKE, 2)); // itself
    b.run_out();
    assert_eq!(events.of("timer"), [(1, MS), (2, MS)]);
}

#[test]
fn a_finished_endpoint_is_reported_once_and_gone() {
    let (mut b, events) = multicast();
    b.arrive(Time::ZERO, PortId(0), order(1, 0, 0));
    b.arrive(MS, PortId(0), order(1, FINISH, 0));
    b.run_out();
    assert_eq!(b.log.finished.iter().map(|f| (f.0, f.1, f.2.sent)).collect::<Vec<_>>(), [(FlowId(1), false, 2)]);
    assert_eq!(b.log.sent.len(), 1, "what it sent in its last call is sent");
    assert!(events.of("timer").is_empty(), "what it wished for in its last call is not");
    assert_eq!((b.node.reports().count(), b.pool.live()), (0, 0));
}

#[test]
fn a_finished_flow_is_not_opened_again_but_another_may_have_its_seat() {
    let (mut b, events) = multicast();
    b.arrive(Time::ZERO, PortId(0), order(1, FINISH, 0));
    b.arrive(MS, PortId(0), order(1, 0, 0));
    b.arrive(MS, PortId(0), to_me(1, Kind::Interest, 0));
    assert_eq!(events.of("start"), [(1, Time::ZERO)]);
    assert_eq!(b.log.lost.iter().map(|l| l.why).collect::<Vec<_>>(), [Drop::Undeliverable; 2]);
    let answers = b.log.sent.iter().filter(|s| s.packet.kind == Kind::Nack);
    assert_eq!(answers.count(), 1, "to the late datagram; to the Interest the flow has nothing to say");
    b.arrive(MS * 2, PortId(0), order(2, SET_TIMER, 4_000));
    b.run_out();
    assert_eq!((events.of("start").len(), events.of("timer")), (2, vec![(2, MS * 4)]));
}

#[test]
fn what_is_accepted_is_delivered_and_all_else_is_lost_with_or_without_an_answer() {
    for (kind, taken, answered) in [(Kind::Datagram, 1, 0), (Kind::Interest, 0, 1), (Kind::Data, 0, 0)] {
        let (mut b, events) = multicast();
        b.arrive(Time::ZERO, PortId(0), to_me(3, kind, 0));
        b.run_out();
        assert_eq!((events.of("start").len(), b.log.delivered.len()), (taken, taken), "{kind:?}");
        assert_eq!((b.log.lost.len(), b.pool.live()), (1 - taken, 0), "{kind:?}");
        let to: Vec<_> = b.log.sent.iter().map(|s| (s.packet.flow, s.packet.dst)).collect();
        assert_eq!(to, vec![(FlowId(3), NodeId(PEERS)); answered], "{kind:?}");
    }
}

#[test]
fn an_answer_to_this_very_node_is_not_sent() {
    let (mut b, _) = multicast();
    let mut p = to_me(3, Kind::Interest, 0);
    p.src = ME;
    b.arrive(Time::ZERO, PortId(0), p);
    b.run_out();
    assert_eq!((b.log.sent.len(), b.log.lost.len(), b.pool.live()), (0, 1, 0));
}

/// A host's own port may be the first that is congested.
#[test]
fn a_port_tells_the_sender_of_a_packet_also_where_that_is_an_end_of_the_same_node() {
    let events = Events::default();
    let ports = vec![ample(), Special::held(Trick::Tell)];
    let mut b = Bench::new(RATE, ports, Box::new(ByPeer), Arc::new(Scripts(events.clone())));
    b.arrive(Time::ZERO, PortId(0), datagram(7));
    b.run_out();
    assert_eq!((b.seqs(1), b.log.sent.len()), (vec![7], 2), "a sender elsewhere");
    b.arrive(MS, PortId(0), order(5, SEND, 1));
    b.run_out();
    assert_eq!(events.of("packet"), [(5, MS); 2], "an order, and what is said of the packet that it asked for");
    assert_eq!((b.log.lost.len(), b.pool.live()), (0, 0));
}

/// The port counts what it carries, and has the tunnel's end called; what comes out is the port's to let in.
#[test]
fn a_port_before_a_tunnel_counts_what_goes_in_and_sees_what_comes_out() {
    let events = Events::default();
    let ports = vec![Special::held(Trick::Police), Special::held(Trick::Carry)];
    let mut b = Bench::new(RATE, ports, Box::new(ByPeer), Arc::new(Scripts(events.clone())));
    b.arrive(MS, PortId(1), order(5, SET_TIMER, 9_000));
    b.arrive(MS * 2, PortId(1), datagram(1));
    b.run_until(MS * 3);
    let counted = b.node.counters(PortId(1));
    assert_eq!((counted.packets, counted.bytes, events.of("timer")), (1, 1500, vec![(5, MS * 2)]));
    b.arrive(MS * 3, PortId(1), order(5, COME_IN, 2));
    b.run_out();
    assert_eq!(
        b.log.lost.iter().map(|l| (l.port, l.why, l.packet.seq)).collect::<Vec<_>>(),
        [(Some(PortId(0)), Drop::Policy, 2)]
    );
    assert_eq!((b.node.counters(PortId(0)).drops_policy, b.log.sent.len(), b.pool.live()), (1, 0, 0));
}

#[test]
fn flows_start_when_asked_and_drivers_are_woken_in_between() {
    use midpath_core::node::Woken;
    let (mut b, events) = multicast();
    b.node.start_flow(MS * 2, FlowId(8));
    b.node.wake_driver(MS, 5);
    b.node.start_flow(MS, FlowId(9));
    let mut woken = Vec::new();
    while b.node.next_wake() < Time::MAX {
        let at = b.node.next_wake();
        woken.push((at, b.node.on_wake(at, &mut b.pool, &mut b.log)));
    }
    assert_eq!(woken, [(MS, Woken::Driver(5)), (MS, Woken::Node), (MS * 2, Woken::Node)]);
    assert_eq!(events.of("start"), [(9, MS), (8, MS * 2)]);
    assert_eq!(b.node.on_wake(MS * 3, &mut b.pool, &mut b.log), Woken::Nothing);
}

#[test]
fn endpoints_send_along_routes_and_a_packet_to_oneself_ends() {
    let (mut b, _) = multicast();
    b.arrive(Time::ZERO, PortId(0), order(1, SEND, 2));
    b.arrive(Time::ZERO, PortId(0), order(1, SEND_TO_ME, 0));
    b.run_out();
    assert_eq!(b.log.sent.iter().map(|s| s.port).collect::<Vec<_>>(), [PortId(2)]);
    assert_eq!((b.log.lost.len(), b.log.lost[0].why, b.pool.live()), (1, Drop::Undeliverable, 0));
}

/// The pool of a bench whose packets are all over is empty: said once more for a mixture of
/// everything.
#[test]
fn nothing_is_left_over() {
    let (mut b, _) = multicast();
    for i in 0..200u64 {
        let at = Time::from_us(i * 37);
        let p = match i % 7 {
            0 => order((i % 3) as u32, SEND, i % 3),
            1 => order((i % 5) as u32, FINISH, 0),
            2 => order((i % 3) as u32, SET_TIMER, at.0 / 1_000_000 + i),
            3 => order((i % 3) as u32, POKE, i % 4),
            n => {
                let mut p = datagram(i);
                p.dst = NodeId(93 + n as u32);
                p
            }
        };
        b.arrive(at, PortId((i % 3) as u16), p);
    }
    b.run_out();
    let pool: &Pool = &b.pool;
    assert_eq!((pool.live(), b.node.stored()), (0, 0));
}
