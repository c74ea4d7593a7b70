//! A queue as a scenario asks for it.

use super::{
    Aqm, Ce, Codel, CodelDataPlane, CodelParams, DelayStep, Discipline, DropTail, Drr, Fifo, Limit, Loss, NoAqm,
    PerFlow, Queue, Red, RedParams, Signal, Step,
};
use crate::spec::SpecError;
use crate::units::{Rate, Time};

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
    /// A threshold on how long a packet has waited.
    DelayStep {
        /// Packets that waited longer are chosen.
        threshold: Time,
    },
    /// Random early detection.
    Red(RedParams),
    /// Controlled delay (RFC 8289).
    Codel(CodelParams),
    /// The same as a match-action pipeline runs it.
    CodelDataPlane(CodelParams),
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

    /// The limit of a drop-tail queue, for ports that have a rule of their own and would ignore any
    /// other.
    pub fn drop_tail(&self) -> Result<Limit, SpecError> {
        let given = match (self.aqm, self.scheduler) {
            (AqmSpec::DropTail, SchedulerSpec::Fifo) => return Ok(self.limit),
            (AqmSpec::DropTail, SchedulerSpec::Drr { .. }) => "drr",
            (AqmSpec::Step { .. }, _) => "step",
            (AqmSpec::DelayStep { .. }, _) => "delay-step",
            (AqmSpec::Red(_), _) => "red",
            (AqmSpec::Codel(_) | AqmSpec::CodelDataPlane(_), _) => "codel",
        };
        let rule = "ports of this scheme have a rule of their own";
        Err(SpecError::new("kind", format!("must be \"drop-tail\": {rule}, and `{given}` would mean nothing")))
    }

    /// Builds the queue for a port of `rate`.
    pub fn build(&self, rate: Rate) -> Discipline {
        if self.is_drop_tail() {
            return Discipline::DropTail(DropTail::new(self.limit.bound(rate)));
        }
        match self.signal {
            SignalSpec::Ce => self.build_with(Ce, rate),
            SignalSpec::Drop => self.build_with(Loss, rate),
        }
    }

    /// The same with another signal than it asks for.
    pub fn build_with(&self, signal: impl Signal + 'static, rate: Rate) -> Discipline {
        match self.aqm {
            AqmSpec::DropTail => self.scheduled(NoAqm, signal, rate),
            AqmSpec::Step { threshold } => self.scheduled(Step::new(threshold.bound(rate)), signal, rate),
            AqmSpec::DelayStep { threshold } => self.scheduled(DelayStep::new(threshold), signal, rate),
            AqmSpec::Red(params) => self.scheduled(Red::new(params, rate), signal, rate),
            AqmSpec::Codel(params) => self.per_flow(Codel::new(params), signal, rate),
            AqmSpec::CodelDataPlane(params) => self.per_flow(CodelDataPlane::new(params), signal, rate),
        }
    }

    /// With an AQM that goes by single packets' delays: where flows have queues of their own, each
    /// has its own AQM, too.
    fn per_flow<A: Aqm + Clone + 'static>(&self, aqm: A, signal: impl Signal + 'static, rate: Rate) -> Discipline {
        match self.scheduler {
            SchedulerSpec::Fifo => self.scheduled(aqm, signal, rate),
            SchedulerSpec::Drr { .. } => self.scheduled(PerFlow::new(aqm), signal, rate),
        }
    }

    fn scheduled(&self, aqm: impl Aqm + 'static, signal: impl Signal + 'static, rate: Rate) -> Discipline {
        let bound = self.limit.bound(rate);
        match self.scheduler {
            SchedulerSpec::Fifo => Discipline::of(Queue::new(aqm, Fifo::new(bound), signal)),
            SchedulerSpec::Drr { quantum } => Discipline::of(Queue::new(aqm, Drr::new(bound, quantum), signal)),
        }
    }
}
