//! Several parts, one thread each, in windows no longer than the shortest link between parts.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use midpath_core::units::Time;

use super::Progress;
use super::part::{Agenda, Part};
use super::tally::Crossing;

/// When a run ends and what it stops for on the way.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub stop: Time,
    /// Sampling interval; [`Time::MAX`] for none.
    pub sample: Time,
    /// Shortest time between checks for stalls; [`Time::MAX`] for none.
    pub watch: Time,
    /// How long a window may be: the smallest delay between parts.
    pub window: Time,
}

/// When to check whether the nodes have only housekeeping left: such a run is over, although
/// something will always happen next. The times depend on nothing, so that all runs of a scenario
/// end at the same one.
#[derive(Clone, Copy)]
struct RestCheck(Time);

impl RestCheck {
    const FIRST: RestCheck = RestCheck(Time::from_ms(10));

    /// The time of the next check: a 64th of the run's length later, so that long runs don't check
    /// too often.
    fn following(self) -> RestCheck {
        RestCheck(self.0.saturating_add(RestCheck::FIRST.0.max(Time(self.0.0 / 64))))
    }
}

/// When to stop and observe the nodes: at samples, and where a watch begins anew. The times depend
/// on nothing.
#[derive(Clone, Copy)]
struct Observations {
    sample: Time,
    next_sample: Time,
    watch: Time,
    next_watch: Time,
}

impl Observations {
    fn new(plan: Plan) -> Observations {
        Observations { sample: plan.sample, next_sample: plan.sample, watch: plan.watch, next_watch: plan.watch }
    }

    /// When the next one is.
    fn next(self) -> Time {
        self.next_sample.min(self.next_watch)
    }

    /// Lets the part's probe observe, for the time of the next one has come. Watches get longer with
    /// the run, as [`RestCheck`] does, so that there are few.
    fn make(&mut self, part: &mut Part) {
        let now = self.next();
        if now == self.next_sample {
            part.sample(now);
            self.next_sample = now.saturating_add(self.sample);
        }
        if now == self.next_watch {
            part.watch(now);
            self.next_watch = now.saturating_add(self.watch.max(Time(now.0 / 64)));
        }
    }
}

/// When it is time to say how far the run is, and to ask whether to go on: after so many rounds of a
/// loop, or after so much work in them.
#[derive(Default)]
struct Pulse {
    rounds: u32,
    told: u64,
}

impl Pulse {
    /// Ours: work of less than a tenth of a second, so that Ctrl-C is heard at once.
    const EVENTS: u64 = 1 << 20;

    /// Called once a round, with the events so far.
    fn is_due(&mut self, events: u64, rounds: u32) -> bool {
        self.rounds += 1;
        let due = self.rounds >= rounds || events - self.told >= Pulse::EVENTS;
        if due {
            *self = Pulse { rounds: 0, told: events };
        }
        due
    }
}

/// A barrier that spins before it sleeps: windows last microseconds, and to be woken costs more than
/// they do. But who spins for longer than that waits for a thread that has no core, and may have
/// taken it. Who yields in place of sleeping gives away the rest of its share each time: 16 times as
/// slow on a busy machine.
struct Barrier {
    waiting: AtomicUsize,
    generation: AtomicUsize,
    size: usize,
    /// How often to look before the thread sleeps: not at all when there are more threads than cores.
    patience: u32,
    /// Threads that sleep, or are about to.
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wakes: Condvar,
}

impl Barrier {
    /// Ours: about what a window lasts.
    const PATIENCE: u32 = 2_000;

    fn new(size: usize) -> Barrier {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (waiting, generation, asleep, lock, wakes) = Default::default();
        let patience = if size <= cores { Barrier::PATIENCE } else { 0 };
        Barrier { waiting, generation, size, patience, asleep, lock, wakes }
    }

    fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.waiting.store(0, Ordering::Relaxed);
            self.open(generation.wrapping_add(1));
            return;
        }
        for _ in 0..self.patience {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleep(generation);
    }

    /// All have come: whoever sleeps is woken.
    fn open(&self, generation: usize) {
        self.generation.store(generation, Ordering::SeqCst);
        // Who is about to sleep holds the lock, and looks once more.
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().expect("no thread panicked"));
            self.wakes.notify_all();
        }
    }

    fn sleep(&self, generation: usize) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.lock.lock().expect("no thread panicked");
        while self.generation.load(Ordering::SeqCst) == generation {
            lock = self.wakes.wait(lock).expect("no thread panicked");
        }
        drop(lock);
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What the threads share. They meet once in each round: a thread that has met the others may be
/// far into the next round, and no further, while another still reads what was said in this one. So
/// what is said has a place for even rounds and one for odd ones.
struct Exchange {
    /// `boxes[to * parts + from]`.
    boxes: Vec<Mutex<Vec<Crossing>>>,
    /// By parity of the round: when each part has something to do next, or sends something to
    /// others.
    earliest: [Vec<AtomicU64>; 2],
    agendas: Mutex<Vec<Agenda>>,
    hops: Vec<AtomicU64>,
    events: Vec<AtomicU64>,
    barrier: Barrier,
    /// The round after which the run is cancelled.
    cancelled: AtomicU64,
}

/// No round.
const NEVER: u64 = u64::MAX;

impl Exchange {
    fn new(parts: usize) -> Exchange {
        let zeros = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        Exchange {
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
            earliest: [zeros(), zeros()],
            agendas: Mutex::new(vec![Agenda::default(); parts]),
            hops: zeros(),
            events: zeros(),
            barrier: Barrier::new(parts),
            cancelled: AtomicU64::new(NEVER),
        }
    }

    /// Says when this part has something to do next, and hears when anybody has.
    fn meet(&self, me: usize, round: u64, earliest: Time) -> Time {
        let said = &self.earliest[(round % 2) as usize];
        said[me].store(earliest.0, Ordering::Release);
        self.barrier.wait();
        Time(said.iter().map(|e| e.load(Ordering::Acquire)).min().unwrap_or(u64::MAX))
    }

    /// Whether the run was cancelled before the threads met for this round.
    fn is_cancelled(&self, round: u64) -> bool {
        self.cancelled.load(Ordering::Acquire) <= round
    }

    /// Whether nothing is left to be done: each thread says what its part has to do, and waits for
    /// the others.
    fn is_over(&self, me: usize, part: &Part) -> bool {
        let mine = part.agenda();
        self.agendas.lock().expect("no thread panicked")[me] = mine;
        self.barrier.wait();
        let over = self.agendas.lock().expect("no thread panicked").iter().copied().fold(mine, Agenda::and).is_empty();
        self.barrier.wait();
        over
    }

    /// Hands over what leaves a part; says when the first of it arrives.
    fn post(&self, me: usize, parts: usize, part: &mut Part) -> Time {
        let mut first = Time::MAX;
        for (to, letters) in part.outbox.iter_mut().enumerate().filter(|(_, l)| !l.is_empty()) {
            first = letters.iter().map(|l| l.at).fold(first, Time::min);
            self.boxes[to * parts + me].lock().expect("no thread panicked").append(letters);
        }
        first
    }

    /// Takes in what has come for a part. A thread that is ahead may have put more in: that arrives
    /// after this round, and is as good here.
    fn fetch(&self, me: usize, parts: usize, part: &mut Part, node_of_ring: &[u32]) {
        for from in 0..parts {
            let mut letters = self.boxes[me * parts + from].lock().expect("no thread panicked");
            part.import(&mut letters, node_of_ring);
        }
    }
}

fn sum(counts: &[AtomicU64]) -> u64 {
    counts.iter().map(|c| c.load(Ordering::Relaxed)).sum()
}

/// Runs one part alone. Says when it ended and whether it was not cancelled.
pub(super) fn run_alone(part: &mut Part, plan: Plan, progress: &mut dyn FnMut(Progress) -> bool) -> bool {
    let (mut observations, mut check) = (Observations::new(plan), RestCheck::FIRST);
    let mut pulse = Pulse::default();
    let mut go_on = |part: &Part| {
        !pulse.is_due(part.tally.events, 4096) || progress(Progress { now: part.now(), hops: part.tally.hops })
    };
    loop {
        let limit = plan.stop.min(observations.next()).min(check.0);
        while part.run_bucket(limit) {
            if !go_on(part) {
                return false;
            }
        }
        // Also where samples are so close that no bucket lies between them.
        if !go_on(part) {
            return false;
        }
        if limit >= plan.stop || part.earliest() == Time::MAX {
            return true;
        }
        if limit == check.0 {
            if part.agenda().is_empty() {
                return true;
            }
            check = check.following();
        } else {
            observations.make(part);
        }
    }
}

/// Runs all parts, the first on this thread.
pub(super) fn run_together(
    parts: &mut [Part],
    nodes_of_rings: &[Vec<u32>],
    plan: Plan,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> bool {
    let shared = Exchange::new(parts.len());
    let count = parts.len();
    let (first, rest) = parts.split_first_mut().expect("at least one part");
    std::thread::scope(|scope| {
        for (i, part) in rest.iter_mut().enumerate() {
            let shared = &shared;
            scope.spawn(move || run_one(i + 1, count, part, &nodes_of_rings[i + 1], plan, shared, &mut |_| true));
        }
        run_one(0, count, first, &nodes_of_rings[0], plan, &shared, progress);
    });
    !shared.is_cancelled(NEVER - 1)
}

/// One thread's loop. Every thread takes the same decisions from the same shared times.
fn run_one(
    me: usize,
    count: usize,
    part: &mut Part,
    node_of_ring: &[u32],
    plan: Plan,
    shared: &Exchange,
    progress: &mut dyn FnMut(Progress) -> bool,
) {
    let (mut observations, mut check) = (Observations::new(plan), RestCheck::FIRST);
    let mut pulse = Pulse::default();
    // Told before the threads meet for a round: then all hear of it in that round.
    let mut tell = |now: Time, round: u64| {
        let due = me == 0 && pulse.is_due(sum(&shared.events), 1024);
        if due && !progress(Progress { now, hops: sum(&shared.hops) }) {
            shared.cancelled.fetch_min(round, Ordering::AcqRel);
        }
    };
    let mut sent = Time::MAX;
    for round in 0.. {
        let now = shared.meet(me, round, part.earliest().min(sent));
        // Also at the end: what is on its way is counted.
        shared.fetch(me, count, part, node_of_ring);
        sent = Time::MAX;
        if now == Time::MAX || now.min(observations.next()) >= plan.stop || shared.is_cancelled(round) {
            return;
        }
        if now >= check.0 && check.0 <= observations.next() {
            if shared.is_over(me, part) {
                return;
            }
            check = check.following();
        } else if now >= observations.next() {
            tell(observations.next(), round + 1);
            observations.make(part);
        } else {
            let limit = now.saturating_add(plan.window).min(plan.stop).min(observations.next()).min(check.0);
            while part.run_bucket(limit) {}
            sent = shared.post(me, count, part);
            shared.hops[me].store(part.tally.hops, Ordering::Relaxed);
            shared.events[me].store(part.tally.events, Ordering::Relaxed);
            tell(now, round + 1);
        }
    }
}
