//! Builds queues from their specifications.

use super::{
    Aqm, Cake, Ce, Classes, Codel, CodelDataPlane, DelayStep, Drr, DualPi2, Fifo, Fq, Loss, NoAqm, PerFlow, Pie,
    Policer, Queue, Red, Room, Share, Signal, Step, Trimming, l4s_class,
};
use crate::queue_spec::{AqmSpec, QueueSpec, SchedulerSpec, SignalSpec};
use crate::roles::Discipline;
use crate::units::Rate;

/// Bytes per round of DualPI2's two queues: 15:1 ("a small weight for Classic, e.g. 1/16", RFC 9332,
/// A.2), an Ethernet packet of the Classic one.
const L_AND_C: [u32; 2] = [15 * 1500, 1500];

impl QueueSpec {
    /// Builds the queue for a port of `rate`.
    pub fn build(&self, rate: Rate) -> Discipline {
        if self.is_drop_tail() {
            return Discipline::DropTail(self.limit.bound(rate));
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
            AqmSpec::Policer { rate, burst } => self.scheduled(Policer::new(rate, burst), signal, rate),
            AqmSpec::Red(params) => self.scheduled(Red::new(params, rate), signal, rate),
            AqmSpec::DualPi2(params) => {
                let room = Room::Shared(self.limit.bound(rate));
                let classes = Classes::new(2, room, Share::Weighted(L_AND_C.to_vec()), l4s_class);
                Queue::new(DualPi2::new(params), classes, signal).discipline()
            }
            AqmSpec::Cake(params) => Discipline::of(Cake::new(params, self.limit.bound(rate), signal)),
            AqmSpec::Trim(params) => Discipline::cut_through(Trimming::new(params, self.limit.bound(rate), rate)),
            AqmSpec::Pie(params) => self.per_flow(Pie::new(params), signal, rate),
            AqmSpec::Codel(params) => self.per_flow(Codel::new(params), signal, rate),
            AqmSpec::CodelDataPlane(params) => self.per_flow(CodelDataPlane::new(params), signal, rate),
        }
    }

    /// With an AQM that goes by single packets' delays: where flows have queues of their own, each
    /// has its own AQM, too.
    fn per_flow<A: Aqm + Clone + 'static>(&self, aqm: A, signal: impl Signal + 'static, rate: Rate) -> Discipline {
        match self.scheduler {
            SchedulerSpec::Fifo => self.scheduled(aqm, signal, rate),
            SchedulerSpec::Drr { .. } | SchedulerSpec::Fq { .. } => self.scheduled(PerFlow::new(aqm), signal, rate),
        }
    }

    fn scheduled(&self, aqm: impl Aqm + 'static, signal: impl Signal + 'static, rate: Rate) -> Discipline {
        let bound = self.limit.bound(rate);
        match self.scheduler {
            SchedulerSpec::Fifo => Queue::new(aqm, Fifo::new(bound), signal).discipline(),
            SchedulerSpec::Drr { quantum } => Queue::new(aqm, Drr::new(bound, quantum), signal).discipline(),
            SchedulerSpec::Fq { quantum } => Queue::new(aqm, Fq::new(bound, quantum), signal).discipline(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::limit::Limit;
    use crate::queue_spec::{QueueSpec, SignalSpec};
    use crate::roles::Discipline;
    use crate::units::Rate;

    /// What the simulator runs fastest is what most scenarios have.
    #[test]
    fn a_queue_that_only_drops_is_run_without_calls() {
        for signal in [SignalSpec::Ce, SignalSpec::Drop] {
            let spec = QueueSpec { signal, ..QueueSpec::fifo(Limit::Packets(9)) };
            assert!(matches!(spec.build(Rate::from_mbps(10)), Discipline::DropTail(bound) if bound.packets == 9));
        }
    }
}
