use super::*;
use crate::packet::{Ecn, FlowId, NodeId, Packet, PacketId, PortId};
use crate::queue::{Aqm, Bound, Ce, Fifo, Loss, NoAqm, Queue, Verdict, View};
use crate::roles::{Action, Inbound, LinkInfo, Port, StandalonePort};
use proptest::prelude::*;

const HTSIM: &str = include_str!("../../../../tests/vectors/pfc/pauses.csv");

/// csg-htsim's lossless queues, packet by packet: what is held, and each pause and its end.
#[test]
fn it_pauses_when_htsim_does() {
    let at = Thresholds { xoff: 9000, gap: 3000, headroom: u64::MAX / 2 };
    let mut buffer = Buffer::new(1, 3, [at; 3].into_iter());
    // Of each input and output the packets that wait there, first in first out.
    let mut waiting: std::collections::BTreeMap<(u16, u16), std::collections::VecDeque<PacketId>> = Default::default();
    let (mut next, mut said, mut pauses) = (0, None, 0);
    for line in HTSIM.lines().skip(1) {
        let mut fields = line.split(',');
        let time = Time(fields.next().unwrap().parse().unwrap());
        let event = fields.next().unwrap();
        let [input, size, output, held] = [(); 4].map(|()| fields.next().unwrap().parse::<u64>().unwrap());
        let (input, output) = (PortId(input as u16), PortId(output as u16));
        match event {
            "came" => {
                assert_eq!(said.take(), None, "before {line}");
                let id = PacketId(next);
                next += 1;
                buffer.came_in(id, input, time);
                let pause = buffer.take(id, output, 0, size as u32, time).expect("there is room");
                said = pause.map(|port| (port, true));
                waiting.entry((input.0, output.0)).or_default().push_back(id);
            }
            "left" => {
                assert_eq!(said.take(), None, "before {line}");
                let id = waiting.get_mut(&(input.0, output.0)).and_then(|w| w.pop_front()).expect("it waits");
                said = buffer.leave(id).map(|port| (port, false));
            }
            "pause" | "resume" => {
                assert_eq!(said.take(), Some((input, event == "pause")), "{line}");
                pauses += 1;
            }
            other => panic!("{other}"),
        }
        assert_eq!(buffer.account(input, 0).held, held, "{line}");
    }
    assert_eq!((next, pauses, said), (450, 42, None));
}

#[test]
fn headroom_by_hand() {
    // 100 Gbps, 2 us: the largest packet takes 120 ns, a frame 3.52 ns, there and back 4 us: 4.12352 us are 51,544 bytes, and two
    // largest packets. One more for what is rounded.
    let (rate, delay) = (Rate::from_gbps(100), Time::from_us(2));
    let up = Upstream { rate, back: rate, delay, jitter: Time::ZERO, mtu: 1500 };
    assert_eq!((FRAME_SIZE, up.headroom()), (44, Bytes(51_544 + 3000 + 1)));
    // Of a neighbour ten times as slow a tenth is under way, while the frame waits as long as before.
    let slow = Upstream { rate: Rate::from_gbps(10), ..up };
    assert_eq!(slow.headroom(), Bytes(5154 + 3000 + 1));
    assert_eq!(Upstream { jitter: Time::from_us(4), ..slow }.headroom(), Bytes(10_154 + 3000 + 1));
}

fn bench() -> StandalonePort {
    StandalonePort::new(LinkInfo { rate: Rate::from_gbps(1), delay: Time::from_us(1), mtu: 1500, peer: NodeId(1) })
}

fn port(classes: usize, quanta: Option<[u32; 2]>, buffer: &SharedBuffer) -> PfcPort {
    let lane = |i: usize| {
        let port = Box::new(Queue::new(NoAqm, Fifo::new(Bound::EVERYTHING), Loss));
        Lane { port, lossless: true, quantum: quanta.map(|quanta| quanta[i]) }
    };
    PfcPort::new((0..classes).map(lane).collect(), |packet| packet.flow.0 as usize, buffer.clone())
}

fn buffer(classes: usize) -> SharedBuffer {
    let at = Thresholds { xoff: 3000, gap: 1500, headroom: 3000 };
    SharedBuffer::new(Buffer::new(classes, 1, (0..classes).map(|_| at)))
}

fn packet(flow: u32, size: u32) -> Packet {
    Packet::new(FlowId(flow), NodeId(7), NodeId(8), size)
}

/// Lets a packet in through the only port and out through it again.
fn pass(bench: &mut StandalonePort, port: &mut PfcPort, flow: u32, size: u32) {
    let pkt = bench.pool.insert(packet(flow, size));
    let Inbound::Forward(pkt) = port.inbound(pkt, &mut bench.ctx()) else { panic!("it goes on") };
    port.outbound(pkt, &mut bench.ctx());
}

/// The flows that leave until it gives none.
fn flows(bench: &mut StandalonePort, port: &mut PfcPort) -> Vec<u32> {
    std::iter::from_fn(|| {
        let pkt = port.poll_transmit(&mut bench.ctx())?;
        Some(bench.pool.take(pkt).flow.0)
    })
    .collect()
}

fn frame(bench: &mut StandalonePort, port: &mut PfcPort, paused: &[bool]) {
    let pkt = bench.pool.insert(PauseFrame::of(paused.iter().copied()).packet(NodeId(1), NodeId(0)));
    let Inbound::Consume(pkt) = port.inbound(pkt, &mut bench.ctx()) else { panic!("it is the port's") };
    bench.pool.free(pkt);
}

/// What the port has told its neighbour: of each class whether to pause. The node offers it to the port.
fn told(bench: &mut StandalonePort, port: &mut PfcPort) -> Vec<Option<PauseFrame>> {
    let mut frames = Vec::new();
    while let Some(action) = bench.actions.pop_front() {
        match action {
            Action::Sibling(PortId(0), pkt) => {
                frames.push(PauseFrame::in_packet(&bench.pool[&pkt]));
                port.outbound(pkt, &mut bench.ctx());
            }
            Action::Consume(pkt) => bench.pool.free(pkt),
            other => panic!("{other:?}"),
        }
    }
    frames
}

#[test]
fn a_pause_holds_back_one_class() {
    let (buffer, mut bench) = (buffer(2), bench());
    let mut port = port(2, None, &buffer);
    frame(&mut bench, &mut port, &[true, false]);
    [0, 1, 0].into_iter().for_each(|flow| pass(&mut bench, &mut port, flow, 100));
    assert_eq!(flows(&mut bench, &mut port), [1]);
    bench.now = Time::from_us(5);
    frame(&mut bench, &mut port, &[false, false]);
    assert_eq!(flows(&mut bench, &mut port), [0, 0]);
    let stopped = |class| buffer.get().pause_record(PortId(0), class).until(Time::from_us(9));
    assert_eq!([stopped(0).0, stopped(1).0], [Time::from_us(5), Time::ZERO]);
}

#[test]
fn classes_share_by_their_weights() {
    let (buffer, mut bench) = (buffer(2), bench());
    let mut port = port(2, Some([300, 100]), &buffer);
    for _ in 0..6 {
        [0, 1].into_iter().for_each(|flow| pass(&mut bench, &mut port, flow, 100));
    }
    let sent = flows(&mut bench, &mut port);
    assert_eq!((sent.len(), sent[..8].iter().filter(|flow| **flow == 0).count()), (12, 6), "{sent:?}");
    frame(&mut bench, &mut port, &[true, false]);
    [0, 1, 1].into_iter().for_each(|flow| pass(&mut bench, &mut port, flow, 100));
    assert_eq!(flows(&mut bench, &mut port), [1, 1]);
}

#[test]
fn a_frame_goes_first_and_a_newer_one_takes_its_place() {
    let (buffer, mut bench) = (buffer(1), bench());
    let mut port = port(1, None, &buffer);
    (0..3).for_each(|_| pass(&mut bench, &mut port, 0, 1100));
    let frames = told(&mut bench, &mut port);
    assert_eq!(frames.iter().map(|f| f.and_then(|f| f.says(0))).collect::<Vec<_>>(), [Some(true)]);
    assert_eq!(port.backlog().packets, 4, "the frame waits, too");
    let first = port.poll_transmit(&mut bench.ctx()).map(|pkt| bench.pool.take(pkt));
    assert_eq!(first.as_ref().and_then(PauseFrame::in_packet).and_then(|f| f.says(0)), Some(true));
    assert_eq!(first.map(|p| (p.size, p.hops)), Some((FRAME_SIZE, u8::MAX)));
    // Two leave: less than XON is held. Meanwhile XOFF is crossed again: one frame waits, the last.
    assert_eq!(flows(&mut bench, &mut port).len(), 3);
    (0..3).for_each(|_| pass(&mut bench, &mut port, 0, 1100));
    let frames = told(&mut bench, &mut port);
    assert_eq!(frames.iter().map(|f| f.and_then(|f| f.says(0))).collect::<Vec<_>>(), [Some(false), Some(true)]);
    let first = port.poll_transmit(&mut bench.ctx()).map(|pkt| bench.pool.take(pkt));
    assert_eq!(first.as_ref().and_then(PauseFrame::in_packet).and_then(|f| f.says(0)), Some(true));
}

#[test]
fn without_room_above_the_headroom_a_packet_is_refused() {
    let (buffer, mut bench) = (buffer(1), bench());
    let mut port = port(1, None, &buffer);
    (0..5).for_each(|_| pass(&mut bench, &mut port, 0, 1500));
    let drops = bench.actions.iter().filter(|a| matches!(a, Action::Drop(_, _, Drop::Queue))).count();
    let account = *buffer.get().account(PortId(0), 0);
    assert_eq!((drops, account.refused, account.held, account.pauses), (1, 1, 6000, 1));
}

/// An AQM that chooses each packet on arrival, to be signalled or dropped by the packet's flow.
struct Chooser;

impl Aqm for Chooser {
    fn enqueue(&mut self, packet: &mut Packet, _view: &mut View<'_>) -> Verdict {
        if packet.flow.0 == 0 { Verdict::Signal } else { Verdict::Drop(Drop::Aqm) }
    }
}

/// What is ECN-capable is marked, whatever the AQM says, and what is not goes on; elsewhere both can end.
#[test]
fn an_aqm_never_drops_in_a_lossless_class() {
    for (lossless, left, marks) in [(true, vec![0, 1, 0, 1], 2), (false, vec![0], 1)] {
        let (buffer, mut bench) = (buffer(1), bench());
        let queue = Box::new(Queue::new(Chooser, Fifo::new(Bound::EVERYTHING), Ce));
        let mut port = PfcPort::new(vec![Lane { port: queue, lossless, quantum: None }], |_| 0, buffer);
        for (flow, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ect0), (0, Ecn::NotEct), (1, Ecn::NotEct)] {
            let mut packet = packet(flow, 100);
            packet.ecn = ecn;
            let pkt = bench.pool.insert(packet);
            port.outbound(pkt, &mut bench.ctx());
        }
        assert_eq!(flows(&mut bench, &mut port), left, "lossless: {lossless}");
        let drops = bench.actions.iter().filter(|a| matches!(a, Action::Drop(_, _, Drop::Aqm))).count();
        assert_eq!((drops, bench.marks), (4 - left.len(), marks));
    }
}

use crate::roles::Drop;

proptest! {
    #[test]
    fn a_frame_survives_the_wire_and_no_bytes_panic(paused in prop::collection::vec(any::<bool>(), 0..9), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        use crate::packet::{Header, body_of};
        let frame = PauseFrame::of(paused.iter().copied());
        prop_assert_eq!(PauseFrame::get(&body_of(&frame)), Some(frame));
        let said: Vec<_> = (0..9).map(|class| frame.says(class)).collect();
        prop_assert!((0..9).all(|class| said[class] == paused.get(class).copied().filter(|_| class < MAX_CLASSES)));
        if let Some(read) = PauseFrame::get(&bytes) {
            prop_assert_eq!(body_of(&read), bytes);
        }
    }
}

/// One packet of a run of the oracle below.
#[derive(Debug, Clone, Copy)]
struct Held {
    id: u32,
    port: u16,
    size: u32,
}

/// Dynamic XOFF written from the packets that are held: where each byte is follows from the order of arrivals and
/// departures alone (reserve, pool, headroom; a departure frees headroom first).
struct Oracle {
    reserve: u64,
    pool: u64,
    headroom: u64,
    /// alpha is 2 to the power of this.
    shift: i32,
    /// By port: bytes outside and in the headroom, and whether it is paused.
    ports: Vec<(u64, u64, bool)>,
}

impl Oracle {
    fn threshold(&self) -> u64 {
        let used: u64 = self.ports.iter().map(|port| port.0.saturating_sub(self.reserve)).sum();
        assert!(used <= self.pool, "{used} of {}", self.pool);
        let free = self.pool - used;
        if self.shift < 0 { free >> -self.shift } else { free << self.shift }
    }

    /// Whether it is taken, and whether the neighbour is to pause.
    fn take(&mut self, port: usize, size: u64) -> Option<bool> {
        let (limit, free) = (self.threshold(), self.pool - self.used());
        let (own, above, paused) = self.ports[port];
        let shared = |own: u64| own.saturating_sub(self.reserve);
        if shared(own + size) <= limit && shared(own + size) - shared(own) <= free {
            self.ports[port].0 += size;
        } else if above + size <= self.headroom {
            self.ports[port].1 += size;
        } else {
            return None;
        }
        let (own, above, _) = self.ports[port];
        let over = above > 0 || own.saturating_sub(self.reserve) > self.threshold();
        self.ports[port].2 |= over;
        Some(over && !paused)
    }

    fn used(&self) -> u64 {
        self.ports.iter().map(|port| port.0.saturating_sub(self.reserve)).sum()
    }

    /// Whether the neighbour may go on.
    fn leave(&mut self, port: usize, size: u64, gap: u64) -> bool {
        let from_headroom = self.ports[port].1.min(size);
        self.ports[port].1 -= from_headroom;
        self.ports[port].0 -= size - from_headroom;
        let (own, above, paused) = self.ports[port];
        let below = own <= self.reserve || own + gap < self.reserve + self.threshold();
        self.ports[port].2 &= !(above == 0 && below);
        paused && !self.ports[port].2
    }
}

proptest! {
    /// What is taken, each pause and each end of one, for any order of packets, sizes and alphas from 1/32 to 16. In the
    /// end, when all has left, nobody is paused.
    #[test]
    fn dynamic_thresholds_are_those_of_the_packets_held(
        (reserve, pool, headroom, gap) in (0u64..6000, 1500u64..60_000, 0u64..20_000, 0u64..4000),
        shift in -5i32..5,
        steps in prop::collection::vec((0u16..4, 40u32..1500, any::<bool>(), any::<prop::sample::Index>()), 1..400),
    ) {
        let at = Thresholds { xoff: reserve, gap, headroom };
        let mut buffer = Buffer::new(1, 4, [at; 4].into_iter()).sharing(Some(Pool::new(pool, 2f64.powi(shift))));
        let mut oracle = Oracle { reserve, pool, headroom, shift, ports: vec![(0, 0, false); 4] };
        let mut held: Vec<Held> = Vec::new();
        let leave = |buffer: &mut Buffer, oracle: &mut Oracle, gone: Held| {
            let on = buffer.leave(PacketId(gone.id));
            let ours = oracle.leave(gone.port.into(), gone.size.into(), gap);
            assert_eq!(on, ours.then_some(PortId(gone.port)));
        };
        for (id, (port, size, comes, which)) in (0u32..).zip(steps) {
            if comes || held.is_empty() {
                buffer.came_in(PacketId(id), PortId(port), Time::ZERO);
                let taken = buffer.take(PacketId(id), PortId(0), 0, size, Time::ZERO);
                let ours = oracle.take(port.into(), size.into()).ok_or(Full);
                prop_assert_eq!(taken, ours.map(|pause| pause.then_some(PortId(port))));
                if taken.is_ok() {
                    held.push(Held { id, port, size });
                }
            } else {
                leave(&mut buffer, &mut oracle, held.swap_remove(which.index(held.len())));
            }
            let all: u64 = (0..4).map(|port| buffer.account(PortId(port), 0).held).sum();
            prop_assert!(all <= pool + 4 * (reserve + headroom));
        }
        held.into_iter().for_each(|gone| leave(&mut buffer, &mut oracle, gone));
        prop_assert!((0..4).all(|port| !buffer.account(PortId(port), 0).paused));
        prop_assert!(buffer.pool().is_some_and(|pool| pool.most() <= pool.size()));
    }
}
