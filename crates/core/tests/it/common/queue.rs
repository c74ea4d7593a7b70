//! What tests of queues share: arrivals, a port that serves them, the same for an RFC's pseudo-code, and
//! RFC 8289's, word for word.

use std::collections::VecDeque;

use midpath_core::packet::{Ecn, PortId};
use midpath_core::queue::{AqmSpec, CodelParams, Discipline, Limit, QueueSpec, RedParams, SchedulerSpec, SignalSpec};
use midpath_core::roles::Drop;
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::{Bench, RATE, packet};

/// An arrival: how long after the one before, and what.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: Time,
    pub size: u32,
    pub flow: u32,
    pub ecn: Ecn,
}

/// Arrivals whose gaps often hit the ends of transmissions exactly (quarters of a full packet's 1.2
/// ms).
pub fn arrivals(most: usize, flows: u32) -> impl Strategy<Value = Vec<Arrival>> {
    let gap =
        prop_oneof![4 => (0u64..8).prop_map(|q| Time::from_us(300 * q)), 1 => (0u64..2_000_000_000).prop_map(Time)];
    let size = prop_oneof![2 => Just(1500u32), 1 => Just(375u32), 1 => 40u32..1500];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    prop::collection::vec((gap, size, 0..flows, ecn), 1..most).prop_map(|list| {
        let mut at = Time::ZERO;
        let place = |(gap, size, flow, ecn): (Time, u32, u32, Ecn)| {
            at += gap;
            Arrival { at, size, flow, ecn }
        };
        list.into_iter().map(place).collect()
    })
}

pub fn run(rate: Rate, queue: Discipline, arrivals: &[Arrival]) -> Bench {
    let mut bench = Bench::of_queue(rate, queue);
    for (i, a) in arrivals.iter().enumerate() {
        bench.arrive(a.at, PortId(0), packet(a.flow, i as u64, a.size, a.ecn));
    }
    bench.run_out();
    assert_eq!(bench.pool.live(), 0, "all packets have been sent or dropped");
    assert_eq!(bench.log.sent.len() + bench.log.lost.len(), arrivals.len());
    let mut last = Time::ZERO;
    for s in &bench.log.sent {
        assert!(s.start >= last, "one at a time");
        assert!(s.end - s.start >= rate.time_for(Bytes(s.packet.size.into())));
        last = s.end;
    }
    bench
}

/// What was sent: which, when, and with what mark.
pub fn sent(bench: &Bench) -> Vec<(u64, Time, Time, Ecn)> {
    bench.log.sent.iter().map(|s| (u64::from(s.packet.seq), s.start, s.end, s.packet.ecn)).collect()
}

/// What was dropped: which, why, and when.
pub fn lost(bench: &Bench) -> Vec<(u64, Drop, Time)> {
    bench.log.lost.iter().map(|l| (u64::from(l.packet.seq), l.why, l.at)).collect()
}

pub fn red(gentle: bool) -> RedParams {
    // A heavy weight, so that the average moves within a test's few packets.
    RedParams { min: Limit::Bytes(1000), max: Limit::Bytes(5000), max_p: 0.3, weight: 0.3, gentle }
}

/// A FIFO with an AQM and a signal.
pub fn fifo(limit: Limit, aqm: AqmSpec, signal: SignalSpec) -> QueueSpec {
    QueueSpec { limit, aqm, scheduler: SchedulerSpec::Fifo, signal }
}

pub fn drr(limit: Limit, quantum: u32) -> QueueSpec {
    QueueSpec { scheduler: SchedulerSpec::Drr { quantum }, ..QueueSpec::fifo(limit) }
}

pub fn signals() -> impl Strategy<Value = SignalSpec> {
    prop_oneof![Just(SignalSpec::Ce), Just(SignalSpec::Drop)]
}

pub fn fifo_specs() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        (1500u64..12_000).prop_map(Limit::Bytes),
        (1u64..8).prop_map(Limit::Packets),
        (1u64..8).prop_map(|ms| Limit::Time(Time::from_ms(ms))),
    ];
    let threshold = prop_oneof![(0u64..6_000).prop_map(Limit::Bytes), (0u64..4).prop_map(Limit::Packets)];
    let aqm = prop_oneof![
        Just(AqmSpec::DropTail),
        threshold.prop_map(|threshold| AqmSpec::Step { threshold }),
        any::<bool>().prop_map(|gentle| AqmSpec::Red(red(gentle))),
    ];
    (limit, aqm, signals()).prop_map(|(limit, aqm, signal)| fifo(limit, aqm, signal))
}

/// What a port has done: what it sent and when, and what it marked and dropped.
#[derive(Debug, Default, PartialEq)]
pub struct Done {
    pub sent: Vec<(u64, Time)>,
    pub marked: Vec<u64>,
    pub dropped: Vec<u64>,
}

pub fn done_by(spec: &QueueSpec, arrivals: &[Arrival]) -> Done {
    let bench = run(RATE, spec.build(RATE), arrivals);
    Done {
        sent: sent(&bench).iter().map(|s| (s.0, s.1)).collect(),
        marked: bench.log.marked.iter().map(|m| u64::from(m.seq)).collect(),
        dropped: lost(&bench).iter().map(|l| l.0).collect(),
    }
}

/// A queue before a transmitter, which asks when it becomes idle, and once more if it found nothing
/// when a packet comes.
pub trait Oracle {
    fn enqueue(&mut self, number: u64, arrival: &Arrival);
    fn dequeue(&mut self, now: Time) -> Option<Waiting>;
    /// Called at each multiple of this time.
    const TICK: Time = Time::MAX;
    fn tick(&mut self) {}
    fn done(self) -> Done;
}

pub fn done_by_oracle<O: Oracle>(mut oracle: O, arrivals: &[Arrival]) -> Done {
    let (mut free, mut tick, mut sent) = (None, O::TICK, Vec::new());
    let mut serve = |oracle: &mut O, now: Time| {
        let p = oracle.dequeue(now)?;
        sent.push((p.0, now));
        Some(now + RATE.time_for(Bytes(p.1.into())))
    };
    for i in 0..=arrivals.len() {
        let at = arrivals.get(i).map_or(Time::MAX, |a| a.at);
        while let Some(end) = free.filter(|f| *f <= at) {
            while tick < end {
                oracle.tick();
                tick += O::TICK;
            }
            free = serve(&mut oracle, end);
        }
        let Some(arrival) = arrivals.get(i) else { break };
        while tick < at {
            oracle.tick();
            tick += O::TICK;
        }
        oracle.enqueue(i as u64, arrival);
        if free.is_none() {
            free = serve(&mut oracle, at);
        }
    }
    Done { sent, ..oracle.done() }
}

/// Small enough that a short test enters and leaves the dropping state many times.
pub fn quick() -> CodelParams {
    CodelParams { target: Time::from_ms(2), interval: Time::from_ms(8) }
}

/// RFC 8289, §5, word for word: `codel_queue_t`. Times are picoseconds; `f64` as in the RFC would
/// not be exact at ties.
pub struct Rfc8289 {
    pub queue: VecDeque<(u64, u32, Time, Ecn)>,
    pub bytes: u64,
    pub params: CodelParams,
    pub ecn: bool,
    pub first_above_time: Time,
    pub drop_next: Time,
    pub count: u32,
    pub lastcount: u32,
    pub dropping: bool,
    pub dropped: Vec<u64>,
    pub marked: Vec<u64>,
}

pub type Waiting = (u64, u32, Time, Ecn);

impl Rfc8289 {
    pub fn new(params: CodelParams, ecn: bool) -> Rfc8289 {
        Rfc8289 {
            queue: VecDeque::new(),
            bytes: 0,
            params,
            ecn,
            first_above_time: Time::ZERO,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            dropped: Vec::new(),
            marked: Vec::new(),
        }
    }

    /// §5.5
    pub fn dodequeue(&mut self, now: Time) -> (Option<Waiting>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above_time = Time::ZERO;
            return (None, false);
        };
        self.bytes -= u64::from(p.1);
        let sojourn_time = now - p.2;
        if sojourn_time < self.params.target || self.bytes <= 1500 {
            self.first_above_time = Time::ZERO;
            (Some(p), false)
        } else if self.first_above_time == Time::ZERO {
            self.first_above_time = now + self.params.interval;
            (Some(p), false)
        } else {
            (Some(p), now >= self.first_above_time)
        }
    }

    /// §5.3
    fn control_law(&self, t: Time) -> Time {
        t + Time((self.params.interval.0 as f64 / f64::from(self.count).sqrt()).round() as u64)
    }

    /// What "drop" is with ECN (§6.2 leaves it open; as Linux does): mark instead, and let that
    /// packet go.
    fn marks(&mut self, p: Option<Waiting>) -> bool {
        let Some(p) = p.filter(|p| self.ecn && p.3.capable()) else { return false };
        self.marked.push(p.0);
        true
    }
}

impl Oracle for Rfc8289 {
    fn enqueue(&mut self, number: u64, a: &Arrival) {
        self.queue.push_back((number, a.size, a.at, a.ecn));
        self.bytes += u64::from(a.size);
    }

    /// §5.6
    fn dequeue(&mut self, now: Time) -> Option<Waiting> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.marks(p) {
                    self.drop_next = self.control_law(self.drop_next);
                    return p;
                }
                self.dropped.extend(p.map(|p| p.0));
                (p, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !self.marks(p) {
                self.dropped.extend(p.map(|p| p.0));
                (p, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count.saturating_sub(self.lastcount);
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < self.params.interval * 16 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        p
    }

    fn done(self) -> Done {
        Done { marked: self.marked, dropped: self.dropped, ..Done::default() }
    }
}

/// Arrivals at twice the link's rate in bursts with pauses: sojourn times that rise, stay, and fall
/// again.
pub fn waves() -> impl Strategy<Value = Vec<Arrival>> {
    let burst = (1usize..40, 100u64..1500, 0u64..60_000);
    prop::collection::vec(burst, 1..12).prop_map(|bursts| in_bursts(Time::ZERO, bursts))
}

/// One flow's packets from `at` on, in bursts: how many, how many µs before each, and after the last.
pub fn in_bursts(mut at: Time, bursts: Vec<(usize, u64, u64)>) -> Vec<Arrival> {
    let mut all = Vec::new();
    for (n, gap_us, pause_us) in bursts {
        for i in 0..n {
            at += Time::from_us(gap_us);
            let (size, ecn) = ([1500, 900, 300][i % 3], [Ecn::NotEct, Ecn::Ect0][i / 2 % 2]);
            all.push(Arrival { at, size, flow: 0, ecn });
        }
        at += Time::from_us(pause_us);
    }
    all
}

/// Several flows of full packets, each in waves of its own.
pub fn flows_in_waves() -> impl Strategy<Value = Vec<Arrival>> {
    prop::collection::vec(waves(), 1..4).prop_map(|flows| {
        let of = |(flow, list): (usize, Vec<Arrival>)| {
            list.into_iter().map(move |a| Arrival { flow: flow as u32, size: 1500, ..a })
        };
        let mut all: Vec<Arrival> = flows.into_iter().enumerate().flat_map(of).collect();
        all.sort_by_key(|a| a.at);
        all
    })
}
