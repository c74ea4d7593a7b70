//! One direction of an emulated link: a queue, a transmitter, and the way behind it.
//!
//! The queue is the simulator's port, and the delay the engine's: both use the times at which frames arrived and
//! were due, not those at which a thread woke. A late thread delays frames, but changes no queue.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use midpath_core::packet::{Ecn, FlowId, Interfaces, NodeId, Packet, PacketId, Pkt};
use midpath_core::queue::{Bound, Discipline};
use midpath_core::rng::mix;
use midpath_core::roles::{Action, Drop, Port, StandalonePort, TCP_HEADERS, Transmitter};
use midpath_core::stats::PortCounters;
use midpath_core::units::{Rate, Time};
use midpath_sim::engine::{Event, Fate, Passage};
use midpath_sim::pcap::Capture;
use midpath_sim::setup::Direction;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::frame::{Conversation, ETHERNET, Frame};

/// CE in the IP header.
const CE: u8 = 3;
/// All headers of IPv4 and TCP.
const HEADERS: usize = 120;

/// What became of a conversation's packets here, by their direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Dropped or corrupted.
    pub lost: u64,
    /// Marked CE.
    pub marked: u64,
}

/// What lines under Midpath's nodes are like, beside the links of the scenario, and where flows go in and out.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Lines {
    /// How much faster: the overlay's headers come on top, and queues are to be in the nodes.
    pub faster: f64,
    /// What has room in the line's queue, as a time at its rate.
    pub queue_s: f64,
    /// Flow `i` goes in at port `entrances + i` of its sender's node, and comes out at `exits + i` of its receiver's
    /// host.
    pub entrances: u16,
    pub exits: u16,
}

/// A direction at work.
pub struct Emulated {
    port: Box<dyn Port>,
    bench: StandalonePort,
    passage: Passage,
    waiting: FxHashMap<PacketId, Frame>,
    /// The transmitter has taken a packet since it was last found to have nothing to do.
    sending: bool,
    /// When the port wants to be called in the background.
    background: Option<Time>,
    events: VecDeque<(Time, Event)>,
    /// As [`Lines`] have it; 1 unless there are nodes.
    faster: f64,
    /// Frames on the way, by when they arrive and the order in which they left.
    on_the_way: BTreeMap<(Time, u64), Frame>,
    left: u64,
    /// What it has counted.
    pub counters: PortCounters,
    /// Lost on the way: by chance.
    pub corrupted: u64,
    /// And because the link went down.
    pub cut: u64,
    /// By conversation.
    pub losses: FxHashMap<Conversation, Losses>,
    /// Where somebody asks: each packet that was lost, by its identity.
    pub gone: Option<Vec<(Conversation, u64)>>,
    /// What it sends, if that is wanted.
    pub capture: Option<Capture>,
    /// Bytes that it keeps of each packet.
    pub captured: usize,
}

impl Emulated {
    /// Direction number `index` of a run of `seed`, which begins at zero.
    pub fn new(direction: Direction, seed: u64, index: u64) -> Emulated {
        let Direction { link, info, port, events } = direction;
        Emulated {
            port,
            bench: StandalonePort::new(info).with_stream(seed, index),
            passage: Passage::new(&link, seed, index),
            waiting: FxHashMap::default(),
            sending: false,
            background: None,
            events: events.into(),
            faster: 1.0,
            on_the_way: BTreeMap::new(),
            left: 0,
            counters: PortCounters::default(),
            corrupted: 0,
            cut: 0,
            losses: FxHashMap::default(),
            gone: None,
            capture: None,
            captured: HEADERS,
        }
    }

    /// The same with a queue that has room for all and waits for nothing: the kernel's comes before it.
    #[must_use]
    pub fn behind_the_kernel_s(mut self) -> Emulated {
        self.port = Discipline::DropTail(Bound { bytes: u64::MAX, packets: u64::MAX }).into_port();
        self
    }

    /// The same as a line under nodes, which have the queues: faster than the link, and a plain queue for what comes in
    /// a bunch.
    #[must_use]
    pub fn under_nodes(mut self, rate: Rate, lines: Lines) -> Emulated {
        self.faster = lines.faster;
        self.set_rate(rate);
        let room = (rate.0 as f64 / 8.0 * lines.queue_s) as u64;
        self.port = Discipline::DropTail(Bound { bytes: room, packets: u64::MAX }).into_port();
        self
    }

    /// The same before the run begins: nothing changes.
    #[must_use]
    pub fn before_all(mut self) -> Emulated {
        self.events.clear();
        self
    }

    /// The link has this rate from now on, the line its own.
    fn set_rate(&mut self, rate: Rate) {
        let rate = Rate((rate.0 as f64 * self.faster) as u64);
        self.passage.set_rate(rate);
        self.bench.set_rate(rate);
    }

    /// A frame came then; what was to happen before that happens first. At one time arrivals come first,
    /// as in the engine.
    pub fn accept(&mut self, frame: Frame, at: Time) {
        self.accept_since(frame, at, at);
    }

    /// The same of a frame that has waited elsewhere since then.
    pub fn accept_since(&mut self, frame: Frame, at: Time, since: Time) {
        let at = at.max(self.bench.now);
        self.advance(Time(at.0.saturating_sub(1)));
        self.step(at);
        let mut packet = packet_of(&frame);
        packet.queued = since.min(at);
        let pkt = self.bench.pool.insert(packet);
        self.waiting.insert(pkt.id(), frame);
        self.port.outbound(pkt, &mut self.bench.ctx());
        self.carry_out();
        self.poll();
        self.counters.max_bytes = self.counters.max_bytes.max(self.port.backlog().bytes);
    }

    /// Does all that is due by `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(at) = self.next_step().filter(|at| *at <= now) {
            self.step(at);
            while let Some((_, event)) = self.events.front().copied().filter(|event| event.0 <= at) {
                self.events.pop_front();
                self.happen(event);
            }
            if self.background.is_some_and(|due| due <= at) {
                self.background = None;
                self.port.on_timer(&mut self.bench.ctx());
            }
            if self.bench.timer <= at {
                self.bench.timer = Time::MAX;
                self.port.on_timer(&mut self.bench.ctx());
            }
            self.carry_out();
            self.poll();
        }
    }

    /// When something happens at the queue next.
    fn next_step(&self) -> Option<Time> {
        let free = match self.passage.state(self.bench.now) {
            Transmitter::Busy { until } if self.sending => until,
            _ => None,
        };
        let timer = Some(self.bench.timer).filter(|at| *at != Time::MAX);
        [free, timer, self.background, self.events.front().map(|event| event.0)].into_iter().flatten().min()
    }

    /// When [`Emulated::due`] may have something at the earliest.
    pub fn next_due(&self) -> Option<Time> {
        let first = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
        let step = self.next_step().map(|at| at.saturating_add(self.passage.shortest()));
        first.into_iter().chain(step).min()
    }

    /// The next frame that has arrived by `now`, and when.
    pub fn due(&mut self, now: Time) -> Option<(Time, Frame)> {
        self.advance(now);
        let first = self.on_the_way.first_entry().filter(|first| first.key().0 <= now)?;
        let ((at, _), frame) = first.remove_entry();
        Some((at, frame))
    }

    /// Bytes that wait.
    pub fn backlog(&self) -> u64 {
        self.port.backlog().bytes
    }

    /// Frames that are here: in the queue, and on the way.
    pub fn stored(&self) -> u64 {
        (self.waiting.len() + self.on_the_way.len()) as u64
    }

    fn step(&mut self, at: Time) {
        self.bench.now = self.bench.now.max(at);
        self.bench.transmitter = self.passage.state(self.bench.now);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Up(_, up) => {
                self.passage.set_up(up);
                // It is asked for a packet when it comes back.
                self.sending |= up;
            }
            Event::Rate(_, [rate, _]) => self.set_rate(rate),
            Event::Restart => self.port.reset(&mut self.bench.ctx()),
            Event::Routes(_) => {}
        }
        self.bench.transmitter = self.passage.state(self.bench.now);
        if !matches!(event, Event::Restart) {
            self.port.on_link(&mut self.bench.ctx());
        }
    }

    /// Sends while the transmitter can.
    fn poll(&mut self) {
        loop {
            self.bench.transmitter = self.passage.state(self.bench.now);
            if self.bench.transmitter.is_busy() {
                return;
            }
            let next = self.port.poll_transmit(&mut self.bench.ctx());
            self.carry_out();
            self.sending = next.is_some();
            let Some(pkt) = next else { return };
            self.send(pkt);
        }
    }

    fn send(&mut self, pkt: Pkt) {
        let now = self.bench.now;
        let packet = &mut self.bench.pool[&pkt];
        let (size, ecn, waited) = (packet.size, packet.ecn, now.saturating_sub(packet.queued));
        let fate = self.passage.start(packet, now).1;
        let bleached = ecn != packet.ecn;
        let frame = self.waiting.remove(&pkt.id());
        self.bench.pool.free(pkt);
        let Some(mut frame) = frame else { return };
        self.counters.packets += 1;
        self.counters.bytes += u64::from(size);
        self.counters.delay.add(waited);
        self.counters.waited += u128::from(waited.0) * u128::from(size);
        if ecn == Ecn::Ce && frame.ecn() != CE {
            frame.set_ecn(CE);
            self.counters.marks += 1;
            self.tell(&frame, |losses| losses.marked += 1);
        }
        if let Some(capture) = &mut self.capture {
            let packet = &frame.data[ETHERNET.min(frame.data.len())..];
            capture.add_bytes(size, &packet[..packet.len().min(self.captured)], now);
        }
        if bleached {
            frame.set_ecn(0);
        }
        match fate {
            Fate::Arrives(at) => {
                self.left += 1;
                self.on_the_way.insert((at, self.left), frame);
            }
            Fate::Corrupted => {
                self.corrupted += 1;
                self.lose(&frame);
            }
            Fate::Cut => {
                self.cut += 1;
                self.lose(&frame);
            }
        }
    }

    /// What a queue of the kernel has done to a conversation's packets before this link.
    pub fn note(&mut self, frame: &Frame, gone: &[u64], marked: bool) {
        let lost = gone.len() as u64;
        self.counters.drops_queue += lost;
        self.counters.marks += u64::from(marked);
        if let (Some(all), Some(conversation)) = (&mut self.gone, frame.conversation()) {
            all.extend(gone.iter().map(|identity| (conversation, *identity)));
        }
        if lost > 0 || marked {
            self.tell(frame, |losses| {
                losses.lost += lost;
                losses.marked += u64::from(marked);
            });
        }
    }

    fn lose(&mut self, frame: &Frame) {
        self.tell(frame, |losses| losses.lost += 1);
        if let (Some(gone), Some(conversation)) = (&mut self.gone, frame.conversation()) {
            gone.push((conversation, frame.identity()));
        }
    }

    fn tell(&mut self, frame: &Frame, what: impl FnOnce(&mut Losses)) {
        if let Some(conversation) = frame.conversation() {
            what(self.losses.entry(conversation).or_default());
        }
    }

    /// What the port has wished for. It has no siblings and no forwarder, so only some wishes can come.
    fn carry_out(&mut self) {
        while let Some(action) = self.bench.actions.pop_front() {
            match action {
                Action::Drop(_, pkt, why) => {
                    match why {
                        Drop::Queue => self.counters.drops_queue += 1,
                        Drop::Aqm => self.counters.drops_aqm += 1,
                        Drop::Fault => self.counters.drops_fault += 1,
                        _ => self.counters.drops_policy += 1,
                    }
                    self.end(pkt);
                }
                Action::Background(_, at) => self.background = Some(at),
                Action::Sibling(_, pkt)
                | Action::Route(pkt)
                | Action::Back(_, pkt)
                | Action::HandOver(_, pkt)
                | Action::Consume(pkt)
                | Action::Carried(_, pkt)
                | Action::Arrived(_, pkt) => self.end(pkt),
                Action::Kick(_) | Action::Poke(_) | Action::Delivered(..) => {}
            }
        }
    }

    fn end(&mut self, pkt: Pkt) {
        let frame = self.waiting.remove(&pkt.id());
        self.bench.pool.free(pkt);
        if let Some(frame) = frame {
            self.lose(&frame);
        }
    }
}

/// A frame as queues see it: its size, its ECN field, and whose it is.
fn packet_of(frame: &Frame) -> Packet {
    let size = frame.size() as u32;
    let key = frame.conversation().map_or(0, |c| {
        let end = |end: SocketAddr| match end.ip() {
            IpAddr::V4(v4) => mix(u64::from(v4.to_bits()) << 16 | u64::from(end.port())),
            IpAddr::V6(v6) => mix(mix(v6.to_bits() as u64) ^ (v6.to_bits() >> 64) as u64 ^ u64::from(end.port())),
        };
        // The same both ways.
        (mix(end(c.from).wrapping_add(end(c.to))) >> 32) as u32
    });
    let mut packet = Packet::between(FlowId(key), NodeId(0), NodeId(1), Interfaces::ANY, key, size);
    packet.payload = size.saturating_sub(TCP_HEADERS) as u16;
    packet.ecn = Ecn::from_bits(frame.ecn());
    packet
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use midpath_schemes::Catalogue;
    use midpath_sim::{RunOptions, prepare};

    use super::*;
    use crate::frame::tests::segment;

    /// 12 Mbps are a packet of 1,500 bytes in a ms; 5 ms of delay. `more` is put into the scenario.
    fn link(more: &str) -> Emulated {
        let text = format!(
            "topology.links = [{{ a = \"a\", b = \"b\", rate = \"12 Mbps\", delay = \"5 ms\" }}]\n\
             flow = [{{ from = \"a\", to = \"b\", size = \"1 MB\" }}]\nstop = \"60 s\"\n{more}"
        );
        let setup = prepare(&text, Path::new("."), &RunOptions::default(), &Catalogue::standard()).expect(&text);
        Emulated::new(setup.directions().expect("links").swap_remove(0), 1, 0)
    }

    /// When frames come out that come at these times, in ms.
    fn out(link: &mut Emulated, come: &[u64]) -> Vec<u64> {
        come.iter().for_each(|at| link.accept(segment(1448), Time::from_ms(*at)));
        let mut times = Vec::new();
        while let Some((at, _)) = link.due(Time::from_secs(60)) {
            times.push(at.as_ns() / 1_000_000);
        }
        assert_eq!(link.stored(), 0);
        times
    }

    #[test]
    fn frames_leave_one_after_the_other_and_wait_as_far_as_there_is_room() {
        let mut link = link("queue.limit = \"2 packets\"");
        assert_eq!(out(&mut link, &[100, 100, 100, 100, 102, 200]), [106, 107, 108, 109, 206]);
        let counters = &link.counters;
        assert_eq!((counters.packets, counters.drops_queue, counters.max_bytes), (5, 1, 3000));
        assert_eq!(counters.delay.max().as_ns(), 2_000_000);
        let lost: Vec<u64> = link.losses.values().map(|losses| losses.lost).collect();
        assert_eq!(lost, [1]);
    }

    /// A line of 24 Mbps for a link of 12, and room for two packets; the link's rate changes, and so does the line's.
    #[test]
    fn a_line_under_nodes_is_faster_than_the_link_and_fails_with_it() {
        let lines = Lines { faster: 2.0, queue_s: 0.002, entrances: 0, exits: 0 };
        let mut link = link(
            "queue.limit = \"1 packets\"\nfault = [{ at = \"300 ms\", kind = \"rate\", link = [\"a\", \"b\"], rate = \"3 Mbps\" }]",
        )
        .under_nodes(Rate::from_mbps(12), lines);
        assert_eq!(out(&mut link, &[100, 100, 100, 100, 400, 400]), [105, 106, 106, 407, 409]);
        assert_eq!(link.counters.drops_queue, 1);
        let mut early = self::link("fault = [{ at = \"0 s\", kind = \"link-down\", link = [\"a\", \"b\"] }]")
            .under_nodes(Rate::from_mbps(12), lines)
            .before_all();
        assert_eq!(out(&mut early, &[100]), [105]);
    }

    #[test]
    fn bytes_are_a_limit_too() {
        assert_eq!(out(&mut link("queue.limit = \"3100 B\""), &[0, 0, 0, 0]), [6, 7, 8]);
    }

    /// The same times, however late the thread looks.
    #[test]
    fn a_late_thread_changes_no_queue() {
        let come: Vec<u64> = (0..300).map(|i| i * 9 / 10).collect();
        let mut eager = link("queue = { kind = \"codel\", limit = \"1 MB\" }");
        let mut late = link("queue = { kind = \"codel\", limit = \"1 MB\" }");
        for at in &come {
            (0..10).for_each(|tenth| eager.advance(Time::from_us(1000 * at + 100 * tenth)));
            eager.accept(segment(1448), Time::from_ms(*at));
        }
        assert_eq!(out(&mut eager, &[]), out(&mut late, &come));
        assert_eq!(eager.counters.marks, late.counters.marks);
        assert!(late.counters.marks > 0, "ECT packets are marked");
    }

    #[test]
    fn an_aqm_of_ours_marks_frames_and_drops_those_without_ecn() {
        let mut link = link("queue = { kind = \"delay-step\", target = \"1500 us\", limit = \"1 MB\" }");
        for _ in 0..4 {
            link.accept(segment(1448), Time::ZERO);
        }
        let frames: Vec<u8> = std::iter::from_fn(|| link.due(Time::from_secs(1))).map(|(_, f)| f.ecn()).collect();
        assert_eq!(frames, [2, 2, 3, 3]);
        assert_eq!((link.counters.marks, link.losses.values().next().map(|l| l.marked)), (2, Some(2)));
    }

    /// A link that bleaches lets no frame seem capable, which leaves the queue before it as it was.
    #[test]
    fn what_a_middlebox_does_is_done_to_frames() {
        let more = "ecn = { bleach = \"100 %\" }, ack_thinning = 4";
        let mut link = link(&format!("vary = [{{ link = [\"a\", \"b\"], {more} }}]"));
        (0..30).for_each(|i| link.accept(segment(if i < 2 { 1448 } else { 0 }), Time::from_ms(i)));
        let frames: Vec<Frame> = std::iter::from_fn(|| link.due(Time::from_secs(1))).map(|(_, f)| f).collect();
        assert_eq!(frames.len(), 2 + 10 + 5, "numbers 12, 16, 20, 24, 28 of the small ones");
        assert!(frames.iter().all(|frame| frame.ecn() == 0));
        assert_eq!(link.corrupted, 13);
    }

    /// PIE has a timer, which runs on the times of frames.
    #[test]
    fn pie_drops_when_its_timer_has_run() {
        let mut link = link("queue = { kind = \"pie\", signal = \"drop\", burst = \"1 ms\", limit = \"10 MB\" }");
        let come: Vec<u64> = (0..4000).map(|i| i / 2).collect();
        let left = out(&mut link, &come).len() as u64;
        assert!(link.counters.drops_aqm > 100, "{}", link.counters.drops_aqm);
        assert_eq!(left + link.counters.drops_aqm, 4000);
    }

    #[test]
    fn schedules_and_outages_are_the_scenario_s() {
        let steps = "{ at = \"100 ms\", rate = \"6 Mbps\", delay = \"1 ms\" }";
        let mut link = link(&format!(
            "vary = [{{ link = [\"a\", \"b\"], steps = [{steps}] }}]\n\
             fault = [{{ at = \"200 ms\", kind = \"link-down\", link = [\"a\", \"b\"], until = \"300 ms\" }}]"
        ));
        // 98 and 99 arrive before the delay changes; 101 is sent at the lower rate, and overtakes nothing.
        assert_eq!(out(&mut link, &[10, 98, 101, 110, 199, 250]), [16, 104, 104, 113, 303]);
        assert_eq!(link.cut, 1, "what is being sent is lost, what waits is not");
    }

    #[test]
    fn loss_jitter_and_reordering_are_drawn() {
        let vary = "vary = [{ link = [\"a\", \"b\"], loss = { p = \"10 %\", r = \"50 %\" }, \
                    jitter = { law = \"uniform\", max = \"20 ms\", reorder = true } }]";
        let mut link = link(vary);
        let come: Vec<u64> = (0..500).map(|i| 2 * i).collect();
        let mut sent = Vec::new();
        for at in come {
            let mut frame = segment(1448);
            frame.at_ns = at;
            link.accept(frame, Time::from_ms(at));
        }
        while let Some((at, frame)) = link.due(Time::from_secs(60)) {
            let late = at.as_ns() / 1_000_000 - frame.at_ns;
            assert!((6..=26).contains(&late), "{late}");
            sent.push(frame.at_ns);
        }
        assert!((40..140).contains(&link.corrupted), "{}", link.corrupted);
        assert_eq!(sent.len() as u64 + link.corrupted, 500);
        assert!(!sent.is_sorted(), "some overtake");
    }

    #[test]
    fn frames_of_any_length_are_carried() {
        let mut link = link("queue.limit = \"1 MB\"");
        link.accept(segment(60_000), Time::ZERO);
        let (at, frame) = link.due(Time::from_secs(1)).expect("it arrives");
        assert_eq!((frame.size(), at), (60_052, Time::from_ps(60_052 * 8_000_000 / 12 + 5_000_000_000 + 1)));
    }
}
