//! Packet trimming against a model written from the definitions (lists of packets, counted anew each time), and what holds of
//! any arrivals: no payload on what was cut, nothing lost or made, bounds of both queues.

use midpath_core::packet::{Ecn, FlowId, Kind, NodeId, Packet, Pkt, PortId, Trim};
use midpath_core::queue::{AqmSpec, Discipline, Limit, QueueSpec, TrimParams};
use midpath_core::rng::{Purpose, Stream, below, stream, unit};
use midpath_core::roles::{Action, Drop, LinkInfo, Port, StandalonePort, Transmitter};
use midpath_core::units::Time;
use proptest::prelude::*;

use crate::common::queue::{arrivals, lost, run, sent};
use crate::common::{Bench, PEERS, RATE, cases};

const PEER: NodeId = NodeId(1);
/// IPv4 and UDP.
const HEADER: u32 = 28;

fn spec(limit: u64, headers: u64, headers_per_packet: Option<u32>) -> QueueSpec {
    let bytes = Limit::Bytes;
    let params =
        TrimParams { headers: bytes(headers), headers_per_packet, min: bytes(limit / 5), max: bytes(4 * limit / 5) };
    QueueSpec { aqm: AqmSpec::Trim(params), ..QueueSpec::fifo(bytes(limit)) }
}

fn packet(seq: u32, payload: u16, trim: Trim, ecn: Ecn, dst: NodeId) -> Packet {
    let mut p = Packet::new(FlowId(0), NodeId(7), dst, HEADER + u32::from(payload));
    (p.seq, p.payload, p.trim, p.ecn, p.kind) = (seq, payload, trim, ecn, Kind::Datagram);
    p
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(u16, Trim, Ecn, bool),
    Send,
}

/// Bursts and pauses: the queue is full at times, and empty at others.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let payload = prop_oneof![3 => Just(972u16), 1 => 0u16..=972, 2 => Just(0u16)];
    let trim = prop_oneof![5 => Just(Trim::May), 1 => Just(Trim::No)];
    let ecn = prop_oneof![3 => Just(Ecn::Ect0), 1 => Just(Ecn::NotEct)];
    let arrive = (payload, trim, ecn, any::<bool>()).prop_map(|(p, t, e, last)| Step::Arrive(p, t, e, last));
    let arrive = arrive.boxed();
    let mixed = prop_oneof![3 => arrive.clone(), 2 => Just(Step::Send)];
    let burst = prop::collection::vec(arrive, 1..20);
    let pause = (1usize..25).prop_map(|n| vec![Step::Send; n]);
    let part = prop_oneof![burst, pause, prop::collection::vec(mixed, 1..20)];
    prop::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

/// The model.
struct Lists {
    data: Vec<Packet>,
    headers: Vec<Packet>,
    /// Where there is one queue: all, in order.
    order: Vec<u32>,
    spec: QueueSpec,
    params: TrimParams,
    turn: u64,
    rng: Stream,
    lost: Vec<u32>,
    /// Whether a packet is marked when it has been sent; that which was sent last, and those that were marked so.
    late: bool,
    last: Option<u32>,
    marked: Vec<u32>,
}

fn size(list: &[Packet]) -> u64 {
    list.iter().map(|p| u64::from(p.size)).sum()
}

fn of(limit: Limit) -> u64 {
    limit.bound(RATE).bytes
}

impl Lists {
    fn header(&mut self, p: Packet) {
        if size(&self.headers) + u64::from(p.size) > of(self.params.headers) {
            self.lost.push(p.seq);
        } else {
            self.order.push(p.seq);
            self.headers.push(p);
        }
    }
    fn cut(&mut self, mut p: Packet) {
        if p.trim == Trim::No {
            return self.lost.push(p.seq);
        }
        p.trim = if p.dst == PEER { Trim::CutAtLastHop } else { Trim::Cut };
        (p.payload, p.size) = (0, HEADER);
        self.header(p);
    }
    fn arrive(&mut self, p: Packet) {
        let limit = of(self.spec.limit);
        if p.payload == 0 {
            return self.header(p);
        }
        let mut cut = p;
        if size(&self.data) + u64::from(p.size) > limit {
            if self.params.headers_per_packet.is_none() || below(&mut self.rng, 2) == 0 {
                return self.cut(p);
            }
            let Some(newest) = self.data.last().copied() else { return self.cut(p) };
            if size(&self.data) - u64::from(newest.size) + u64::from(p.size) > limit {
                return self.cut(p);
            }
            self.data.pop();
            cut = newest;
        }
        if cut.seq != p.seq {
            self.cut(cut);
        }
        self.order.push(p.seq);
        self.data.push(p);
    }
    fn marks(&mut self) -> bool {
        let (left, min, max) = (size(&self.data), of(self.params.min), of(self.params.max));
        left > max || left > min && unit(&mut self.rng) * ((max - min) as f64) < (left - min) as f64
    }
    fn send(&mut self) -> Option<Packet> {
        if let Some(last) = self.last.take()
            && self.marks()
        {
            self.marked.push(last);
        }
        let first = |list: &mut Vec<Packet>| (!list.is_empty()).then(|| list.remove(0));
        let headers_next = match self.params.headers_per_packet {
            None => self.headers.first().is_some_and(|p| Some(&p.seq) == self.order.first()),
            Some(ratio) if !self.data.is_empty() && !self.headers.is_empty() => {
                self.turn += 1;
                self.turn % u64::from(ratio + 1) != u64::from(ratio)
            }
            Some(_) => self.data.is_empty(),
        };
        let mut p = if headers_next { first(&mut self.headers) } else { first(&mut self.data) }?;
        self.order.retain(|seq| *seq != p.seq);
        let capable = p.payload > 0 && p.ecn.capable();
        if capable && self.late {
            self.last = Some(p.seq);
        } else if capable && self.marks() {
            p.ecn = Ecn::Ce;
        }
        Some(p)
    }
}

fn bench() -> StandalonePort {
    let link = LinkInfo { rate: RATE, delay: Time::ZERO, mtu: 9000, peer: PEER };
    StandalonePort::new(link).with_stream(3, 0)
}

fn drops(bench: &mut StandalonePort) -> Vec<u32> {
    let gone: Vec<Pkt> = bench
        .actions
        .drain(..)
        .map(|action| match action {
            Action::Drop(_, pkt, Drop::Queue) => pkt,
            other => panic!("{other:?}"),
        })
        .collect();
    gone.into_iter().map(|pkt| bench.pool.take(pkt).seq).collect()
}

fn port(spec: &QueueSpec) -> Box<dyn Port> {
    spec.build(RATE).into_port()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn it_does_as_its_model(
        steps in steps(), limit in 1000u64..6000, headers in 28u64..400, ratio in prop::option::of(1u32..6),
        late in any::<bool>(),
    ) {
        let spec = spec(limit, headers, ratio);
        let AqmSpec::Trim(params) = spec.aqm else { unreachable!() };
        let (mut bench, mut queue) = (if late { bench().with_sent_marks() } else { bench() }, port(&spec));
        let rng = stream(3, Purpose::Ports, 0);
        let mut model = Lists {
            data: vec![], headers: vec![], order: vec![], spec, params, turn: 0, rng, lost: vec![], late, last: None, marked: vec![]
        };
        let (mut came, mut left, mut gone, mut begun) = (0, 0, 0, None);
        for step in steps {
            match step {
                Step::Arrive(payload, trim, ecn, last) => {
                    let p = packet(came, payload, trim, ecn, if last { PEER } else { NodeId(5) });
                    came += 1;
                    model.arrive(p);
                    let pkt = bench.pool.insert(p);
                    bench.transmitter = Transmitter::Busy { until: None };
                    queue.outbound(pkt, &mut bench.ctx());
                    let lost = drops(&mut bench);
                    gone += lost.len();
                    prop_assert_eq!(&lost, &model.lost);
                    model.lost.clear();
                }
                Step::Send => {
                    bench.transmitter = Transmitter::Idle { since: bench.now };
                    let pkt = queue.poll_transmit(&mut bench.ctx());
                    let id = pkt.as_ref().map(Pkt::id);
                    let p = pkt.map(|pkt| bench.pool.take(pkt));
                    prop_assert_eq!(p, model.send());
                    // The one that is marked is the one that was sent before.
                    let marked = bench.take_sent_mark().map(|id| (Some(id), begun.filter(|(before, _)| *before == id)));
                    let expected = model.marked.pop().map(|seq| (begun.map(|(id, _)| id), begun.filter(|(_, s)| *s == seq)));
                    prop_assert_eq!(marked, expected);
                    begun = id.zip(p.map(|p| p.seq)).or(begun);
                    if let Some(p) = p {
                        left += 1;
                        prop_assert!(!p.trim.is_cut() || p.payload == 0, "a payload on what was cut");
                        prop_assert_eq!(p.size, p.wire_size());
                    }
                }
            }
            // What came is here, has left or was dropped; each queue is within its bound.
            let waits = queue.backlog();
            prop_assert_eq!(waits.packets as usize, came as usize - left - gone);
            prop_assert_eq!(waits.bytes, size(&model.data) + size(&model.headers));
            prop_assert!(size(&model.data) <= limit && size(&model.headers) <= headers);
            let mut gauges = Vec::new();
            queue.gauges(&mut gauges);
            prop_assert!(gauges[0].1 <= headers as f64);
        }
        queue.reset(&mut bench.ctx());
        prop_assert_eq!(queue.backlog().packets, 0);
    }

    /// A port of a node: with cut-through it decides and times as one that is asked for each packet.
    #[test]
    fn cut_through_changes_nothing(arrivals in arrivals(60, 3), limit in 1500u64..9000) {
        let spec = spec(limit, 2 * limit, Some(10));
        let held = Discipline::Held(spec.build(RATE).into_port());
        let (through, held) = (run(RATE, spec.build(RATE), &arrivals), run(RATE, held, &arrivals));
        prop_assert_eq!((sent(&through), lost(&through)), (sent(&held), lost(&held)));
    }
}

/// Without room for headers what was cut is dropped; a packet that must not be cut is dropped whole.
#[test]
fn a_node_counts_what_it_cuts() {
    let mut bench = Bench::of_queue(RATE, spec(2000, 56, Some(10)).build(RATE));
    let to_peer = NodeId(PEERS + 1);
    for seq in 0..8 {
        let trim = if seq == 7 { Trim::No } else { Trim::May };
        bench.arrive(Time::ZERO, PortId(0), packet(seq, 972, trim, Ecn::NotEct, to_peer));
    }
    bench.run_out();
    let counters = bench.node.counters(PortId(1));
    // One leaves at once, two wait, two headers fit: the rest is lost, the last packet with it or by its neighbour's luck.
    let cut = bench.log.sent.iter().filter(|s| s.packet.trim == Trim::CutAtLastHop).count();
    assert_eq!((bench.log.sent.len(), bench.log.lost.len(), cut), (5, 3, 2));
    assert!(bench.log.sent.iter().all(|s| s.packet.trim.is_cut() == (s.packet.payload == 0)));
    assert!(counters.trims >= 4 && counters.drops_queue == 3, "{} {}", counters.trims, counters.drops_queue);
    assert_eq!(bench.pool.live(), 0);
}

/// By hand: with one header per packet they take turns; with priority the headers come first; in one queue they wait.
#[test]
fn headers_come_first_take_turns_or_wait() {
    let order = |ratio: Option<u32>| {
        let (mut bench, mut queue) = (bench(), port(&spec(10_000, 10_000, ratio)));
        for (seq, payload) in [(0, 972), (1, 972), (2, 972), (3, 0), (4, 0), (5, 0)] {
            let pkt = bench.pool.insert(packet(seq, payload, Trim::May, Ecn::NotEct, PEER));
            queue.outbound(pkt, &mut bench.ctx());
        }
        let next = std::iter::from_fn(|| queue.poll_transmit(&mut bench.ctx()).map(|pkt| bench.pool.take(pkt).seq));
        next.collect::<Vec<_>>()
    };
    assert_eq!(order(None), [0, 1, 2, 3, 4, 5]);
    assert_eq!(order(Some(100_000)), [3, 4, 5, 0, 1, 2]);
    assert_eq!(order(Some(1)), [0, 3, 1, 4, 2, 5]);
}

/// The six codepoints survive the wire; others are of packets that are not cut.
#[test]
fn a_dscp_says_what_may_be_cut_and_what_was() {
    for trim in (0..64).map(Trim::of_dscp) {
        let p = packet(3, if trim.is_cut() { 0 } else { 100 }, trim, Ecn::Ect1, PEER);
        let mut bytes = Vec::new();
        midpath_core::wire::encode(&p, &mut bytes);
        assert_eq!(bytes[1], trim.dscp() << 2 | 1);
        assert_eq!(midpath_core::wire::decode(&bytes).map(|p| p.trim), Ok(trim));
    }
    assert!((0..64).filter(|dscp| Trim::of_dscp(*dscp) != Trim::No).eq([3, 7, 11, 15, 19, 23]));
}
