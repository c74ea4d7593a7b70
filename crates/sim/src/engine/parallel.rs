//! Main loop of a run, with one part or several.

mod crew;
mod pace;
mod rounds;
mod survey;

pub(super) use crew::run_together;
pub use survey::Survey;

use midpath_core::units::Time;

use super::Progress;
use super::part::Part;

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

    /// What is observed next, whose time has come. Watches get longer with the run, as
    /// [`RestCheck`] does, so that there are few.
    fn take(&mut self) -> Observation {
        let at = self.next();
        let due = Observation { at, sample: at == self.next_sample, watch: at == self.next_watch };
        if due.sample {
            self.next_sample = at.saturating_add(self.sample);
        }
        if due.watch {
            self.next_watch = at.saturating_add(self.watch.max(Time(at.0 / 64)));
        }
        due
    }
}

/// What a part's probe observes at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Observation {
    at: Time,
    sample: bool,
    watch: bool,
}

impl Observation {
    fn make(self, part: &mut Part) {
        if self.sample {
            part.sample(self.at);
        }
        if self.watch {
            part.watch(self.at);
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

/// Runs one part alone. Says when it ended and whether it was not cancelled.
pub(super) fn run_alone(part: &mut Part, plan: Plan, progress: &mut dyn FnMut(Progress) -> bool) -> bool {
    let (mut observations, mut check) = (Observations::new(plan), RestCheck::FIRST);
    let mut pulse = Pulse::default();
    let mut go_on = |part: &Part| {
        !pulse.is_due(part.common.tally.events, 4096)
            || progress(Progress { now: part.now(), hops: part.common.tally.hops })
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
            observations.take().make(part);
        }
    }
}

/// What all parts do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Everything that happens before this time.
    Run(Time),
    Observe(Observation),
    /// Say what is left to be done.
    Rest,
}

/// The tasks of a run of several parts, one after another. They depend on simulated times alone.
struct Schedule {
    plan: Plan,
    observations: Observations,
    check: RestCheck,
}

impl Schedule {
    fn new(plan: Plan) -> Schedule {
        Schedule { plan, observations: Observations::new(plan), check: RestCheck::FIRST }
    }

    /// What is to be done where nothing happens before `now`; `None` at the end.
    fn next(&mut self, now: Time) -> Option<Task> {
        let (check, observe) = (self.check.0, self.observations.next());
        if now == Time::MAX || now.min(observe) >= self.plan.stop {
            return None;
        }
        if now >= check && check <= observe {
            self.check = self.check.following();
            return Some(Task::Rest);
        }
        if now >= observe {
            return Some(Task::Observe(self.observations.take()));
        }
        Some(Task::Run(now.saturating_add(self.plan.window).min(self.plan.stop).min(observe).min(check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_checks_for_rest_observes_and_never_runs_past_either() {
        let (ms, never) = (Time::from_ms, Time::MAX);
        let plan = Plan { stop: ms(25), sample: ms(10), watch: never, window: ms(4) };
        let mut schedule = Schedule::new(plan);
        let sampled = |at| Task::Observe(Observation { at, sample: true, watch: false });
        assert_eq!(schedule.next(ms(1)), Some(Task::Run(ms(5))));
        assert_eq!(schedule.next(ms(8)), Some(Task::Run(ms(10))), "up to the sample");
        // Nothing happens before 21 ms: first the check of 10 ms, then the sample, then the next of both.
        let tasks = std::array::from_fn::<_, 5, _>(|_| schedule.next(ms(21)).unwrap());
        assert_eq!(tasks, [Task::Rest, sampled(ms(10)), Task::Rest, sampled(ms(20)), Task::Run(ms(25))]);
        assert_eq!(schedule.next(ms(25)), None, "the end");
        assert_eq!(Schedule::new(plan).next(never), None, "nothing will happen any more");
    }
}
