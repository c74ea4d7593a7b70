//! Several parts, run by threads that take the next free part, in windows no longer than the shortest link between
//! parts.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use midpath_core::units::Time;

use super::pace::Pace;
use super::rounds::{OVER, Rounds};
use super::survey::{Count, Survey};
use super::{Plan, Pulse, Schedule, Task};
use crate::engine::Progress;
use crate::engine::mail::Mail;
use crate::engine::part::{Agenda, Part};

/// A part beside what others see of it.
struct Piece<'a> {
    part: Mutex<&'a mut Part>,
    node_of_ring: &'a [u32],
    inbox: Mutex<Inbox>,
    /// When it has something to do next, or when what it has sent to others arrives.
    earliest: AtomicU64,
    hops: AtomicU64,
    events: AtomicU64,
}

/// What others have sent a part, and what was emptied and can be used again.
#[derive(Default)]
struct Inbox {
    full: Vec<Mail>,
    empty: Vec<Mail>,
}

/// What the threads share.
struct Shared<'a> {
    pieces: Vec<Piece<'a>>,
    rounds: Rounds,
    task: Mutex<Task>,
    schedule: Mutex<Schedule>,
    count: Mutex<Count>,
    /// What is left to be done in parts that were asked.
    agenda: Mutex<Agenda>,
    cancelled: AtomicBool,
}

/// No thread that panicked goes on, so that what it locked is never seen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}

/// Runs all parts by so many threads, of which this is the first. Says whether it was not cancelled,
/// and what there was to do at a time.
pub(in crate::engine) fn run_together(
    parts: &mut [Part],
    nodes_of_rings: &[Vec<u32>],
    threads: usize,
    plan: Plan,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> (bool, Survey) {
    let mut schedule = Schedule::new(plan);
    let pieces: Vec<_> = parts.iter_mut().zip(nodes_of_rings).map(|(part, rings)| Piece::new(part, rings)).collect();
    let Some(task) = schedule.next(earliest(&pieces)) else { return (true, Survey::default()) };
    let shared = Shared {
        rounds: Rounds::new(pieces.len(), threads),
        pieces,
        task: Mutex::new(task),
        schedule: Mutex::new(schedule),
        count: Mutex::new(Count::default()),
        agenda: Mutex::default(),
        cancelled: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let shared = &shared;
        let others: Vec<_> =
            (1..threads).map(|me| scope.spawn(move || shared.work(me, threads, &mut |_| {}))).collect();
        let mut overseer = Overseer::new(shared, progress);
        shared.work(0, threads, &mut |task| overseer.look(task));
        others.iter().for_each(|other| other.thread().unpark());
        // A panic goes on as itself.
        if let Some(panic) = others.into_iter().find_map(|other| other.join().err()) {
            resume_unwind(panic);
        }
    });
    // What is on its way is counted.
    shared.pieces.iter().for_each(|piece| piece.fetch(&mut lock(&piece.part), &mut Vec::new()));
    let survey = lock(&shared.count).survey;
    (!shared.cancelled.load(Ordering::Relaxed), survey)
}

fn earliest(pieces: &[Piece<'_>]) -> Time {
    Time(pieces.iter().map(|piece| piece.earliest.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX))
}

impl<'a> Piece<'a> {
    fn new(part: &'a mut Part, node_of_ring: &'a [u32]) -> Piece<'a> {
        let earliest = AtomicU64::new(part.earliest().0);
        let (inbox, hops, events) = Default::default();
        Piece { part: Mutex::new(part), node_of_ring, inbox, earliest, hops, events }
    }

    /// Takes in what has come. Who is ahead in this round may have put more in: that arrives after
    /// it, and is as good here.
    fn fetch(&self, part: &mut Part, mail: &mut Vec<Mail>) {
        std::mem::swap(&mut lock(&self.inbox).full, mail);
        if !mail.is_empty() {
            mail.iter_mut().for_each(|mail| part.import(mail, self.node_of_ring));
            lock(&self.inbox).empty.append(mail);
        }
    }
}

impl Shared<'_> {
    /// One thread's loop. `between` is called before each round.
    fn work(&self, me: usize, threads: usize, between: &mut dyn FnMut(Task)) {
        let _alarm = Alarm(&self.rounds);
        let order = order(me, threads, self.pieces.len());
        let (mut seen, mut mail) = (0, Vec::new());
        loop {
            seen = self.rounds.wait(seen, me);
            if seen == OVER {
                return;
            }
            let task = *lock(&self.task);
            between(task);
            for piece in order.iter().copied().filter(|piece| self.rounds.take(*piece, seen)) {
                self.act(piece, task, &mut mail);
                if self.rounds.done() {
                    self.go_on(seen, task);
                }
            }
        }
    }

    /// What a part does in a round.
    fn act(&self, piece: usize, task: Task, mail: &mut Vec<Mail>) {
        let piece = &self.pieces[piece];
        let part: &mut Part = &mut lock(&piece.part);
        piece.fetch(part, mail);
        let mut sent = Time::MAX;
        match task {
            Task::Observe(observation) => observation.make(part),
            Task::Rest => {
                let mine = part.agenda();
                let mut all = lock(&self.agenda);
                *all = all.and(mine);
            }
            Task::Run(limit) => {
                while part.run_bucket(limit) {}
                part.export_sent(limit);
                sent = self.post(part);
                piece.hops.store(part.common.tally.hops, Ordering::Relaxed);
                piece.events.store(part.common.tally.events, Ordering::Relaxed);
            }
        }
        piece.earliest.store(part.earliest().min(sent).0, Ordering::Relaxed);
    }

    /// Hands over what leaves a part; says when the first of it arrives.
    fn post(&self, part: &mut Part) -> Time {
        let mut first = Time::MAX;
        for (to, mail) in part.common.outbox.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            first = first.min(mail.first());
            let inbox = &mut lock(&self.pieces[to].inbox);
            let empty = inbox.empty.pop().unwrap_or_default();
            inbox.full.push(std::mem::replace(mail, empty));
        }
        first
    }

    /// All parts have done their task: opens the next round, or ends. Who comes here is alone.
    fn go_on(&self, round: u64, task: Task) {
        let agenda = std::mem::take(&mut *lock(&self.agenda));
        let over = self.cancelled.load(Ordering::Relaxed) || task == Task::Rest && agenda.is_empty();
        let next = if over { None } else { lock(&self.schedule).next(earliest(&self.pieces)) };
        if let Task::Run(_) = task {
            lock(&self.count).round(self.pieces.iter().map(|piece| piece.events.load(Ordering::Relaxed)));
        }
        let Some(next) = next else { return self.rounds.end() };
        *lock(&self.task) = next;
        self.rounds.open(round + 1);
    }

    fn sum(&self, count: impl for<'b> Fn(&'b Piece<'_>) -> &'b AtomicU64) -> u64 {
        self.pieces.iter().map(|piece| count(piece).load(Ordering::Relaxed)).sum()
    }
}

/// In which order a thread looks at the parts: first its own, the same in each round, for these are
/// in its cache; then those that another comes to last.
fn order(me: usize, threads: usize, pieces: usize) -> Vec<usize> {
    let (first, last) = (me * pieces / threads, (me + 1) * pieces / threads);
    (first..last).chain((0..first).rev()).chain((last..pieces).rev()).collect()
}

/// A thread that panics ends the run for the others, who would wait for it.
struct Alarm<'a>(&'a Rounds);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// What the first thread does between rounds: it says how far the run is, hears whether to go on,
/// and looks whether several threads are worth it.
struct Overseer<'a, 'b> {
    shared: &'a Shared<'a>,
    progress: &'b mut dyn FnMut(Progress) -> bool,
    pulse: Pulse,
    pace: Pace,
    now: Time,
}

impl<'a, 'b> Overseer<'a, 'b> {
    fn new(shared: &'a Shared<'a>, progress: &'b mut dyn FnMut(Progress) -> bool) -> Overseer<'a, 'b> {
        Overseer { shared, progress, pulse: Pulse::default(), pace: Pace::new(clock()), now: Time::ZERO }
    }

    fn look(&mut self, task: Task) {
        let events = self.shared.sum(|piece| &piece.events);
        match task {
            Task::Run(limit) => self.now = limit,
            Task::Observe(observation) => self.now = observation.at,
            Task::Rest => {}
        }
        if self.pulse.is_due(events, 1024) {
            let reached = Progress { now: self.now, hops: self.shared.sum(|piece| &piece.hops) };
            if !(self.progress)(reached) {
                self.shared.cancelled.store(true, Ordering::Relaxed);
            }
        }
        if self.pace.is_due() {
            self.shared.rounds.leave_alone(self.pace.look(clock(), events));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "which threads work depends on it, and nothing else")]
fn clock() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;
    use std::sync::mpsc;
    use std::time::Duration;

    use midpath_core::packet::{Carried, NodeId, PortId};
    use midpath_core::units::Time;
    use midpath_schemes::Catalogue;

    use super::order;
    use crate::engine::{Crew, Engine, Probe};
    use crate::run::{RunOptions, prepare};

    const TREE: &str = r#"
        stop = "1 s"
        topology = { generate = "fat-tree", k = 4, link = { rate = "1 Gbps", delay = "10 us" } }
        workload = [{ matrix = { kind = "permutation" }, sizes = { kind = "fixed", size = "10 MB" }, arrivals = { kind = "once" } }]
    "#;

    /// Breaks at a packet of its part that is sent at `at` or later.
    struct Breaks(Time);

    impl Probe for Breaks {
        fn watches_packets(&self) -> bool {
            true
        }
        fn transmitted(&mut self, _: u32, _: PortId, _: Carried<'_>, start: Time) {
            assert!(start < self.0, "broken");
        }
        fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
            self
        }
    }

    /// What a run panics with of which the part with the last node breaks at 3 ms, or who listens to
    /// its progress. None if it ended; an error if it did not within a minute.
    fn outcome(threads: usize, parts: usize, listener: bool) -> Result<Option<String>, mpsc::RecvTimeoutError> {
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let setup = prepare(TREE, Path::new("."), &RunOptions::default(), &Catalogue::standard()).expect("valid");
            let last = NodeId(setup.topology.nodes().len() as u32 - 1);
            let crew = Crew { threads, parts, sparing: None };
            let mut engine = Engine::new(setup.network().expect("valid"), crew, |nodes| {
                let breaks = nodes.contains(&last) && !listener;
                Box::new(Breaks(if breaks { Time::from_ms(3) } else { Time::MAX }))
            });
            assert_eq!(engine.threads(), threads.min(parts));
            let mut progress = |reached: crate::engine::Progress| {
                assert!(!listener || reached.now < Time::from_ms(3), "broken");
                true
            };
            // Only the first thread talks to who listens: on a busy machine others may go on without it for long.
            let stop = Time::from_ms(if listener { 1000 } else { 20 });
            let run = || engine.run(Some(stop), None, None, &mut progress);
            let panic = catch_unwind(AssertUnwindSafe(run)).err();
            let said = panic.map(|panic| (*panic.downcast::<&str>().expect("a word")).to_owned());
            done.send(said).expect("somebody waits");
        });
        ended.recv_timeout(Duration::from_secs(60))
    }

    /// Whichever thread has the part that panics: the others do not wait for it, and what it said is
    /// what the run panics with.
    #[test]
    fn a_part_that_panics_ends_the_run() {
        for (threads, parts) in [(1, 2), (2, 2), (2, 4), (3, 4), (4, 4)] {
            assert_eq!(outcome(threads, parts, false), Ok(Some("broken".to_owned())), "{threads} of {parts}");
        }
    }

    #[test]
    fn a_listener_that_panics_ends_the_run() {
        for (threads, parts) in [(1, 2), (2, 2), (3, 4)] {
            assert_eq!(outcome(threads, parts, true), Ok(Some("broken".to_owned())), "{threads} of {parts}");
        }
    }

    /// By however many threads: the same events, and of each window those of the part that had most.
    #[test]
    fn what_there_was_to_do_at_a_time_is_counted() {
        let surveys = [1, 2].map(|threads| {
            let setup = prepare(TREE, Path::new("."), &RunOptions::default(), &Catalogue::standard()).expect("valid");
            let crew = Crew { threads, parts: 4, sparing: None };
            let mut engine = Engine::new(setup.network().expect("valid"), crew, |_| Box::new(Breaks(Time::MAX)));
            assert!(engine.run(Some(Time::from_ms(3)), None, None, &mut |_| true));
            engine.survey()
        });
        assert_eq!(surveys[0].work, surveys[1].work);
        for survey in surveys {
            let (windows, at_most) = (survey.windows, survey.at_most());
            assert!(windows > 100 && (1.0..=4.0).contains(&at_most) && survey.critical < survey.work, "{survey:?}");
        }
    }

    #[test]
    fn a_thread_begins_with_its_own_parts_and_takes_others_from_their_ends() {
        assert_eq!(order(0, 2, 6), [0, 1, 2, 5, 4, 3]);
        assert_eq!(order(1, 2, 6), [3, 4, 5, 2, 1, 0]);
        assert_eq!(order(2, 3, 2), [1, 0]);
    }
}
