//! A queue specification in plain values, built by `queue/build.rs`.

use crate::limit::Limit;
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
    /// What exceeds a rate is dropped on arrival.
    Policer {
        /// The rate.
        rate: Rate,
        /// What may come at once after a pause; a time is that much at the rate.
        burst: Limit,
    },
    /// Random early detection.
    Red(RedParams),
    /// The Coupled DualQ with PI2 (RFC 9332): two queues, whatever the scheduler.
    DualPi2(DualPi2Params),
    /// CAKE: its own shaper, scheduler and AQM, whatever the scheduler.
    Cake(CakeParams),
    /// Packet trimming: a port of its own, whatever the scheduler.
    Trim(TrimParams),
    /// PIE (RFC 8033).
    Pie(PieParams),
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
    /// The same with new flows first (RFC 8290, §4).
    Fq {
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
            (AqmSpec::DropTail, SchedulerSpec::Fq { .. }) => "fq",
            (AqmSpec::Step { .. }, _) => "step",
            (AqmSpec::DelayStep { .. }, _) => "delay-step",
            (AqmSpec::Policer { .. }, _) => "policer",
            (AqmSpec::Red(_), _) => "red",
            (AqmSpec::Pie(_), _) => "pie",
            (AqmSpec::DualPi2(_), _) => "dualpi2",
            (AqmSpec::Cake(_), _) => "cake",
            (AqmSpec::Trim(_), _) => "trim",
            (AqmSpec::Codel(_) | AqmSpec::CodelDataPlane(_), _) => "codel",
        };
        let rule = "ports of this scheme have their own queue rule";
        Err(SpecError::new("kind", format!("must be \"drop-tail\": {rule}, so `{given}` would have no effect")))
    }
}

/// RED's parameters (Floyd and Jacobson, 1993); the defaults are those of Floyd's notes of 1997 and
/// 2000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedParams {
    /// Below this average nothing happens.
    pub min: Limit,
    /// Above this average everything does (with `gentle`: above twice this).
    pub max: Limit,
    /// Probability at `max`.
    pub max_p: f64,
    /// Weight of the newest queue length in the average.
    pub weight: f64,
    /// Let the probability grow from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
}

/// DualPI2's parameters (RFC 9332, figure 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualPi2Params {
    /// The Classic queue's delay; 15 ms.
    pub target: Time,
    /// `RTT_max`, from which the controller's gains follow; 100 ms.
    pub rtt_max: Time,
    /// k; 2.
    pub coupling: f64,
    /// `minTh`: from this delay on the L queue marks by itself. 1 ms, as in Linux; figure 2 has a
    /// ramp from 800 µs on.
    pub step: Time,
    /// `range`: how far above `step` it marks all. Nothing, as in Linux; figure 2 has 400 µs.
    pub ramp: Time,
}

impl Default for DualPi2Params {
    fn default() -> DualPi2Params {
        let ms = Time::from_ms;
        DualPi2Params { target: ms(15), rtt_max: ms(100), coupling: 2.0, step: ms(1), ramp: Time::ZERO }
    }
}

/// PIE's parameters, with the defaults of RFC 8033, appendix B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PieParams {
    /// `QDELAY_REF`; 15 ms.
    pub target: Time,
    /// `MAX_BURST`; 150 ms.
    pub burst: Time,
    /// `mark_ecnth`: from this probability on nothing is marked any more, but dropped; 10 %.
    pub mark_below: f64,
    /// Space drops out by an accumulated probability (§5.4).
    pub derandomize: bool,
}

impl Default for PieParams {
    fn default() -> PieParams {
        PieParams { target: Time::from_ms(15), burst: Time::from_ms(150), mark_below: 0.1, derandomize: true }
    }
}

/// CAKE's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CakeParams {
    /// The shaper's rate; the link's without one.
    pub rate: Option<Rate>,
    /// Bytes that each packet has more on the link that is shaped for.
    pub overhead: u32,
    /// COBALT's acceptable delay; 5 ms.
    pub target: Time,
    /// A time of the order of the longest usual round trip; 100 ms.
    pub interval: Time,
    /// What is fair.
    pub isolation: Isolation,
}

/// Parameters of packet trimming (`CompositeQueue` of HTSIM).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimParams {
    /// Room for packets without payload; two queues.
    pub headers: Limit,
    /// Packets without payload that are sent for each one with payload while both wait; 100,000. `None`: all wait in
    /// one queue.
    pub headers_per_packet: Option<u32>,
    /// Below this what leaves is not marked; a fifth of the queue.
    pub min: Limit,
    /// Above this all are, if ECN-capable; four fifths of the queue.
    pub max: Limit,
}

/// Among whom a link is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Flows.
    Flows,
    /// Sources, and the flows of each.
    DualSource,
    /// Destinations, and the flows of each.
    DualDestination,
    /// Sources and destinations, and the flows of each.
    Triple,
}

impl Default for CakeParams {
    fn default() -> CakeParams {
        let CodelParams { target, interval } = CodelParams::default();
        CakeParams { rate: None, overhead: 0, target, interval, isolation: Isolation::Triple }
    }
}

/// CoDel's parameters (RFC 8289, §4.2 and §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelParams {
    /// Acceptable standing delay; 5 ms.
    pub target: Time,
    /// A time of the order of the longest usual round trip; 100 ms.
    pub interval: Time,
}

impl Default for CodelParams {
    fn default() -> CodelParams {
        CodelParams { target: Time::from_ms(5), interval: Time::from_ms(100) }
    }
}
