//! A queue as a scenario asks for it.

use super::{
    Aqm, Ce, Codel, CodelParams, Discipline, DropTail, Drr, Fifo, Limit, Loss, NoAqm, PerFlow, Queue, Red, RedParams,
    Scheduler, Signal, Step,
};
use crate::spec::SpecError;
use crate::units::Rate;

/// Which packets are told of congestion before the queue is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AqmSpec {
    /// None.
    DropTail,
    /// Those that find more than a threshold waiting (DCTCP, RFC 8257 §1).
    Step {
        /// The threshold.
        threshold: Limit,
    },
    /// Random early detection.
    Red(RedParams),
    /// Controlled delay.
    Codel(CodelParams),
}

/// In which order packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerSpec {
    /// As they came.
    Fifo,
    /// Per-flow fair queueing by deficit round robin.
    Drr {
        /// Bytes a flow may send per round.
        quantum: u32,
    },
}

/// How the senders of chosen packets are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalSpec {
    /// By a mark, if the packet is ECN-capable; otherwise the AQM decides what becomes of it.
    Ce,
    /// By the loss of the packet.
    Drop,
}

/// A queue: its parts, and how much may wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSpec {
    /// Most that may wait, all flows together.
    pub limit: Limit,
    /// Which packets are chosen.
    pub aqm: AqmSpec,
    /// In which order packets leave.
    pub scheduler: SchedulerSpec,
    /// How the chosen packets' senders are told.
    pub signal: SignalSpec,
}

impl QueueSpec {
    /// A FIFO that refuses what does not fit.
    pub const fn fifo(limit: Limit) -> QueueSpec {
        QueueSpec { limit, aqm: AqmSpec::DropTail, scheduler: SchedulerSpec::Fifo, signal: SignalSpec::Ce }
    }

    /// Whether it is that.
    pub const fn is_drop_tail(&self) -> bool {
        matches!((self.aqm, self.scheduler), (AqmSpec::DropTail, SchedulerSpec::Fifo))
    }

    /// The limit of a drop-tail queue, for ports that have a rule of their own and would ignore any other.
    pub fn drop_tail(&self) -> Result<Limit, SpecError> {
        let given = match (self.aqm, self.scheduler) {
            (AqmSpec::DropTail, SchedulerSpec::Fifo) => return Ok(self.limit),
            (AqmSpec::DropTail, SchedulerSpec::Drr { .. }) => "drr",
            (AqmSpec::Step { .. }, _) => "step",
            (AqmSpec::Red(_), _) => "red",
            (AqmSpec::Codel(_), _) => "codel",
        };
        let rule = "ports of this scheme have a rule of their own";
        Err(SpecError::new("kind", format!("must be \"drop-tail\": {rule}, and `{given}` would mean nothing")))
    }

    /// Builds the queue for a port of `rate`.
    pub fn build(&self, rate: Rate) -> Discipline {
        match self.aqm {
            AqmSpec::DropTail if self.is_drop_tail() => Discipline::DropTail(DropTail::new(self.limit.bound(rate))),
            AqmSpec::DropTail => self.scheduled(NoAqm, rate),
            AqmSpec::Step { threshold } => self.scheduled(Step::new(threshold.bound(rate)), rate),
            AqmSpec::Red(params) => self.scheduled(Red::new(params, rate), rate),
            AqmSpec::Codel(params) => self.per_flow(Codel::new(params), rate),
        }
    }

    /// With an AQM that goes by single packets' delays: where flows have queues of their own, each has its own AQM, too.
    fn per_flow<A: Aqm + Clone + 'static>(&self, aqm: A, rate: Rate) -> Discipline {
        match self.scheduler {
            SchedulerSpec::Fifo => self.scheduled(aqm, rate),
            SchedulerSpec::Drr { .. } => self.scheduled(PerFlow::new(aqm), rate),
        }
    }

    fn scheduled<A: Aqm + 'static>(&self, aqm: A, rate: Rate) -> Discipline {
        let bound = self.limit.bound(rate);
        match self.scheduler {
            SchedulerSpec::Fifo => self.signalled(aqm, Fifo::new(bound)),
            SchedulerSpec::Drr { quantum } => self.signalled(aqm, Drr::new(bound, quantum)),
        }
    }

    fn signalled<A: Aqm + 'static, S: Scheduler + 'static>(&self, aqm: A, scheduler: S) -> Discipline {
        fn of(
            aqm: impl Aqm + 'static,
            scheduler: impl Scheduler + 'static,
            signal: impl Signal + 'static,
        ) -> Discipline {
            Discipline::of(Queue::new(aqm, scheduler, signal))
        }
        match self.signal {
            SignalSpec::Ce => of(aqm, scheduler, Ce),
            SignalSpec::Drop => of(aqm, scheduler, Loss),
        }
    }
}
