//! Parts in every combination: a port decides the same as a timetable and held, and a queue per
//! flow has an AQM per flow.

use std::sync::{Arc, Mutex};

use crate::common::{Bench, RATE, cases, packet};
use midpath_core::packet::{Ecn, Flags, Kind, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::{
    Aqm, Bound, Ce, Classes, Discipline, Done, Fifo, Limit, Loss, NoAqm, Queue, Red, RedParams, Room, Share, Signal,
    Step, Unsignalled, Verdict, View,
};
use midpath_core::roles::{Backlog, Drop, LinkInfo, Port, PortCtx, StandalonePort};
use midpath_core::units::Time;
use proptest::prelude::*;

const IN: PortId = PortId(0);
const OUT: PortId = PortId(1);

/// A packet that arrives: for the queue under test, or back from where that leads to.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    gap: Time,
    flow: u32,
    size: u32,
    ecn: Ecn,
    back: bool,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    // Quarters of a full packet's 1.2 ms: many arrive just when a transmission ends.
    let gap = (0u64..6).prop_map(|q| Time::from_us(300 * q));
    let size = prop_oneof![Just(1500u32), Just(375), 40u32..1500];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ce)];
    let one = (gap, 0u32..3, size, ecn, prop::bool::weighted(0.3));
    prop::collection::vec(one.prop_map(|(gap, flow, size, ecn, back)| Arrival { gap, flow, size, ecn, back }), 1..80)
}

fn run(port: Discipline, arrivals: &[Arrival]) -> Bench {
    let mut bench = Bench::of_queue(RATE, port);
    let mut now = Time::ZERO;
    for (i, a) in arrivals.iter().enumerate() {
        now += a.gap;
        let mut p = packet(a.flow, i as u64, a.size, a.ecn);
        if a.back {
            (p.src, p.dst, p.kind, p.flags) = (p.dst, p.src, Kind::Segment, Flags::ACK);
        }
        bench.arrive(now, if a.back { OUT } else { IN }, p);
    }
    bench.run_out();
    assert_eq!(bench.pool.live(), 0);
    bench
}

/// Chooses every third packet, refuses every seventh, and lets every second go on that can't be
/// signalled.
#[derive(Default)]
struct Counting(u32, u32);

impl Aqm for Counting {
    fn enqueue(&mut self, _packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        self.0 += 1;
        match (self.0 % 3, self.0 % 7) {
            (_, 0) => Verdict::Drop(Drop::Policy),
            (0, _) => Verdict::Signal,
            _ => Verdict::Pass,
        }
    }
    fn unable(&mut self, _packet: &Packet) -> Unsignalled {
        self.1 += 1;
        if self.1.is_multiple_of(2) { Unsignalled::Pass } else { Unsignalled::Drop }
    }
}

/// Sends a note to the sender; and sets ECE on what comes back while fewer of these have come than
/// notes were sent.
#[derive(Default)]
struct Note {
    sent: u64,
    back: u64,
}

impl Signal for Note {
    fn signal(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) -> Done {
        let packet = &ctx.pool[pkt];
        if packet.ecn == Ecn::NotEct {
            return Done::Unable;
        }
        let mut note = Packet::new(packet.flow, ctx.node, packet.src, 40);
        note.seq = 1_000_000 + packet.seq;
        ctx.route(note);
        self.sent += 1;
        Done::Told
    }
    fn watches_inbound(&self) -> bool {
        true
    }
    fn inbound(&mut self, pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        if self.back < self.sent {
            self.back += 1;
            ctx.pool[pkt].flags = ctx.pool[pkt].flags.with(Flags::ECE);
        }
    }
}

/// All that can be seen from outside.
fn seen(bench: &Bench) -> impl PartialEq + std::fmt::Debug + use<> {
    let line = |port: PortId| {
        let of = bench.log.sent.iter().filter(move |s| s.port == port);
        of.map(|s| (s.packet.seq, s.start, s.end, s.packet.ecn, s.packet.flags)).collect::<Vec<_>>()
    };
    let lost = bench.log.lost.iter().map(|l| (l.packet.seq, l.why, l.at)).collect::<Vec<_>>();
    let marked = bench.log.marked.iter().map(|m| m.seq).collect::<Vec<_>>();
    let c = bench.node.counters(OUT);
    (line(IN), line(OUT), lost, marked, [c.packets, c.bytes, c.marks, c.drops_queue, c.drops_aqm, c.drops_policy])
}

/// Both ways to run a port of these parts. The timetable is one indeed.
fn alike<A: Aqm + 'static, G: Signal + 'static>(
    aqm: impl Fn() -> A,
    signal: impl Fn() -> G,
    bound: Bound,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let port = || Queue::new(aqm(), Fifo::new(bound), signal()).discipline();
    let timetable = matches!(port(), Discipline::Timetable { .. });
    prop_assert!(timetable);
    prop_assert_eq!(seen(&run(port(), arrivals)), seen(&run(port().held(), arrivals)));
    Ok(())
}

fn alike_under<A: Aqm + 'static>(
    aqm: impl Fn() -> A + Copy,
    bound: Bound,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    alike(aqm, || Loss, bound, arrivals)?;
    alike(aqm, || Ce, bound, arrivals)?;
    alike(aqm, Note::default, bound, arrivals)
}

const RED: RedParams =
    RedParams { min: Limit::Bytes(1000), max: Limit::Bytes(5000), max_p: 0.3, weight: 0.3, gentle: true };

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn what_decides_on_arrival_in_a_fifo_decides_the_same_held(arrivals in arrivals(), limit in 1500u64..12_000) {
        let bound = Limit::Bytes(limit).bound(RATE);
        alike_under(|| NoAqm, bound, &arrivals)?;
        alike_under(|| Step::new(Limit::Packets(1).bound(RATE)), bound, &arrivals)?;
        alike_under(|| Red::new(RED, RATE), bound, &arrivals)?;
        alike_under(Counting::default, bound, &arrivals)?;
    }

    /// Each queue of two is a FIFO of its own bound; with strict priority no packet of the second
    /// starts while one of the first waits.
    #[test]
    fn of_two_queues_the_first_goes_first(arrivals in arrivals(), limit in 1u64..5) {
        let second = |p: &Packet| usize::from(p.flow.0 != 0);
        let two = Classes::new(2, Room::Each(Limit::Packets(limit).bound(RATE)), Share::Strict, second);
        let bench = run(Queue::new(NoAqm, two, Loss).discipline(), &arrivals);
        let came = |seq: u32| arrivals[..=seq as usize].iter().map(|a| a.gap).fold(Time::ZERO, |sum, gap| sum + gap);
        let sent: Vec<_> = bench.log.sent.iter().filter(|s| s.port == OUT).collect();
        for s in sent.iter().filter(|s| s.packet.flow.0 != 0) {
            let waits = |o: &&&crate::common::Sent| o.packet.flow.0 == 0 && came(o.packet.seq) < s.start && o.start > s.start;
            prop_assert_eq!(sent.iter().filter(waits).count(), 0);
        }
        for lane in [true, false] {
            let of = |flow: u32| (flow == 0) == lane;
            prop_assert!(sent.iter().filter(|s| of(s.packet.flow.0)).map(|s| s.packet.seq).is_sorted());
            for l in bench.log.lost.iter().filter(|l| of(l.packet.flow.0)) {
                let waiting = sent.iter().filter(|s| of(s.packet.flow.0) && came(s.packet.seq) <= l.at && s.packet.seq < l.packet.seq && s.start > l.at);
                prop_assert_eq!(waiting.count() as u64, limit);
            }
        }
    }
}

/// Two queues that always have packets share the link by their quanta, within a quantum and a
/// packet.
#[test]
fn of_two_queues_each_gets_its_share() {
    let share = Share::Weighted(vec![4500, 1500]);
    let two = Classes::new(2, Room::Each(Bound::EVERYTHING), share, |p: &Packet| p.flow.0 as usize);
    let size = |flow: u32| [1500, 700][flow as usize];
    let arrival = |i: u32| Arrival { gap: Time::ZERO, flow: i % 2, size: size(i % 2), ecn: Ecn::NotEct, back: false };
    let bench = run(Queue::new(NoAqm, two, Loss).discipline(), &(0..400).map(arrival).collect::<Vec<_>>());
    let mut served = [0i64; 2];
    for s in bench.log.sent.iter().skip(1).take(200) {
        served[s.packet.flow.0 as usize] += i64::from(s.packet.size);
        let apart = served[0] - 3 * served[1];
        assert!(apart.abs() <= 4500 + 1500 + 3 * (1500 + 700), "{served:?}");
    }
    assert!(served.iter().all(|s| *s > 20_000), "{served:?}");
}

/// Writes down what it is told.
struct Watching(Arc<Mutex<Vec<&'static str>>>);

impl Signal for Watching {
    fn signal(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Done {
        Done::Told
    }
    fn watches_leaving(&self) -> bool {
        true
    }
    fn leaving(&mut self, _pkt: &Pkt, left: Backlog, _ctx: &mut PortCtx<'_>) {
        assert_eq!(left.packets, 1, "what is behind it");
        self.0.lock().unwrap().push("leaving");
    }
    fn reset(&mut self, _ctx: &mut PortCtx<'_>) {
        self.0.lock().unwrap().push("reset");
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("watched", self.0.lock().unwrap().len() as f64));
    }
}

#[test]
fn a_signal_sees_what_leaves_and_is_reset_with_its_port() {
    let link = LinkInfo { rate: RATE, delay: Time::ZERO, mtu: 1500, peer: NodeId(1) };
    let (seen, mut bench) = (Arc::default(), StandalonePort::new(link));
    let fifo = Fifo::new(Limit::Packets(9).bound(RATE));
    let mut port = Queue::new(NoAqm, fifo, Watching(Arc::clone(&seen)));
    for seq in 0..2 {
        let pkt = bench.pool.insert(packet(0, seq, 100, Ecn::NotEct));
        port.outbound(pkt, &mut bench.ctx());
    }
    let left = port.poll_transmit(&mut bench.ctx()).expect("one waits");
    assert_eq!(bench.pool[&left].seq, 0);
    port.reset(&mut bench.ctx());
    assert_eq!((port.backlog().packets, seen.lock().unwrap().as_slice()), (0, ["leaving", "reset"].as_slice()));
    let mut gauges = Vec::new();
    port.gauges(&mut gauges);
    assert_eq!(gauges, [("watched", 2.0)]);
}

/// Writes down whether the transmitter is busy when something comes in.
struct Transmitting(Arc<Mutex<Vec<bool>>>);

impl Signal for Transmitting {
    fn signal(&mut self, _pkt: &Pkt, _ctx: &mut PortCtx<'_>) -> Done {
        Done::Told
    }
    fn watches_inbound(&self) -> bool {
        true
    }
    fn inbound(&mut self, _pkt: &Pkt, ctx: &mut PortCtx<'_>) {
        self.0.lock().unwrap().push(ctx.transmitter.is_busy());
    }
}

/// A full packet takes 1.2 ms.
#[test]
fn a_port_sees_whether_its_transmitter_is_busy_on_a_timetable_and_held() {
    let arrival = |ms, back| Arrival { gap: Time::from_ms(ms), flow: 0, size: 1500, ecn: Ecn::NotEct, back };
    let arrivals = [arrival(1, true), arrival(1, false), arrival(1, true), arrival(1, true)];
    for held in [false, true] {
        let seen = Arc::default();
        let port = Queue::new(NoAqm, Fifo::new(Bound::EVERYTHING), Transmitting(Arc::clone(&seen))).discipline();
        run(if held { port.held() } else { port }, &arrivals);
        assert_eq!(*seen.lock().unwrap(), [false, true, false], "held: {held}");
    }
}
