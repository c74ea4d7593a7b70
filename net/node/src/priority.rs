//! Real-time priority within a budget: a loop that has it wakes in time on a busy machine, and one that
//! is overloaded would leave nothing to others. Such a one loses it for a while.

use std::io;

use midpath_core::units::Time;

/// So much CPU time in so long, and the loop is of normal priority. Ours: half of a core, which is
/// looked at often enough that nobody waits for more than two ticks of it.
const WINDOW: Time = Time::from_ms(200);
const BUSY: Time = Time::from_ms(100);

/// Then it has normal priority for so long: twice as long each time, up to this, and as at first after
/// it was not too busy for as long as that. Ours.
const FIRST_REST: Time = Time::from_secs(1);
const LONGEST_REST: Time = Time::from_secs(60);

/// What a thread's priority is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Before all of normal priority.
    RealTime,
    /// In turns with all others.
    Normal,
}

/// When a loop has which priority.
#[derive(Debug, Clone, Copy)]
struct Budget {
    now: Priority,
    /// When the window began, and what the thread had used then.
    since: Time,
    used: Time,
    /// When it may have real-time priority again, or has had it since.
    turn: Time,
    rest: Time,
}

impl Budget {
    /// It has real-time priority.
    fn new(now: Time, used: Time) -> Budget {
        Budget { now: Priority::RealTime, since: now, used, turn: now, rest: FIRST_REST }
    }

    /// Called a few times in each window with what the thread has used so far: its priority from now
    /// on, if that is another.
    fn look(&mut self, now: Time, used: Time) -> Option<Priority> {
        let busy = used.saturating_sub(self.used) > BUSY;
        if busy || now.saturating_sub(self.since) >= WINDOW {
            (self.since, self.used) = (now, used);
        }
        match self.now {
            Priority::RealTime if busy => {
                self.turn = now.saturating_add(self.rest);
                self.rest = Time(2 * self.rest.0).min(LONGEST_REST);
                self.now = Priority::Normal;
                Some(Priority::Normal)
            }
            Priority::Normal if now >= self.turn => {
                (self.now, self.turn) = (Priority::RealTime, now);
                (self.since, self.used) = (now, used); // what it had in turns was nobody else's
                Some(Priority::RealTime)
            }
            Priority::RealTime if now.saturating_sub(self.turn) >= self.rest => {
                self.rest = FIRST_REST;
                None
            }
            _ => None,
        }
    }
}

/// Gives the calling thread a priority.
pub type Set = Box<dyn FnMut(Priority) -> io::Result<()>>;

/// A loop's priority: real-time where that is allowed, within a budget.
pub struct Guard {
    set: Set,
    budget: Option<Budget>,
    /// How often it was too busy.
    pub losses: u64,
}

impl Guard {
    /// Takes real-time priority for this thread, if that is allowed.
    pub fn new(mut set: Set, now: Time) -> Guard {
        let allowed = set(Priority::RealTime).is_ok();
        Guard { budget: allowed.then(|| Budget::new(now, used())), set, losses: 0 }
    }

    /// To be called five times a second or more often.
    pub fn look(&mut self, now: Time) {
        let Some(change) = self.budget.as_mut().and_then(|budget| budget.look(now, used())) else { return };
        self.losses += u64::from(change == Priority::Normal);
        if (self.set)(change).is_err() {
            self.budget = None; // it is not allowed any more, and then it is normal
        }
    }

    /// Whether it has real-time priority now; `None`: that is not allowed.
    pub fn is_real_time(&self) -> Option<bool> {
        self.budget.map(|budget| budget.now == Priority::RealTime)
    }
}

/// The CPU time that this thread has used.
pub fn used() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Time::from_secs(now.tv_sec.cast_unsigned()).saturating_add(Time::from_ns(now.tv_nsec.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop looks each 50 ms, and uses this share of a core, in percent, up to `until`.
    fn run(
        budget: &mut Budget,
        (now, used): (&mut Time, &mut Time),
        percent: u64,
        until: Time,
    ) -> Vec<(Priority, Time)> {
        let mut changes = Vec::new();
        while *now < until {
            (*now, *used) = (*now + Time::from_ms(50), *used + Time(Time::from_ms(50).0 * percent / 100));
            changes.extend(budget.look(*now, *used).map(|priority| (priority, *now)));
        }
        changes
    }

    #[test]
    fn half_of_a_core_is_kept_and_more_is_not() {
        let (mut now, mut used, ms) = (Time::ZERO, Time::ZERO, Time::from_ms);
        let mut budget = Budget::new(now, used);
        assert_eq!(run(&mut budget, (&mut now, &mut used), 50, Time::from_secs(10)), []);
        let changes = run(&mut budget, (&mut now, &mut used), 90, Time::from_secs(17));
        let expected = [(Priority::Normal, 150), (Priority::RealTime, 1150), (Priority::Normal, 1300)];
        let expected = expected.map(|(priority, at)| (priority, Time::from_secs(10) + ms(at)));
        assert_eq!(changes[..3], expected);
        // What an overloaded loop has at real-time priority becomes less and less.
        let rests: Vec<u64> = changes.chunks_exact(2).map(|c| (c[1].1 - c[0].1).as_ns() / 1_000_000).collect();
        assert_eq!(rests, [1000, 2000]);
        // And it is forgotten.
        let changes = run(&mut budget, (&mut now, &mut used), 20, Time::from_secs(60));
        assert_eq!(changes.last().map(|c| c.0), Some(Priority::RealTime));
        assert_eq!(budget.rest, FIRST_REST);
    }

    /// A thread that may not have it stays as it is, and one that loses the right does so once.
    #[test]
    fn what_is_not_allowed_is_not_tried_again() {
        let refuse = |_| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let mut guard = Guard::new(Box::new(refuse), Time::ZERO);
        assert_eq!(guard.is_real_time(), None);
        guard.look(Time::from_secs(9));
        assert_eq!((guard.losses, guard.is_real_time()), (0, None));
    }
}
