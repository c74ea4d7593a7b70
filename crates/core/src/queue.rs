//! Queues: drop-tail, step marking, RED, CoDel, and fair queueing by deficit round robin.
//!
//! FIFO queues whose decisions depend on order alone are [`Admission`] rules and run as timetables; CoDel and fair
//! queueing are held ports. [`HeldFifo`] runs any rule as a held port, for links whose rate changes during the run.

mod codel;
mod droptail;
mod drr;
mod held;
mod red;

pub use codel::{Codel, CodelParams, CodelState};
pub use droptail::{DropTail, Step};
pub use drr::Drr;
pub use held::HeldFifo;
pub use red::{Red, RedParams};

use crate::roles::{Admission, Port};
use crate::spec::SpecError;
use crate::units::{Bytes, Rate, Time, UnitError};

/// How much may wait, as people say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
    /// What the link sends in this time, in bytes.
    Time(Time),
}

impl Limit {
    /// The bound it is on a port of `rate`.
    pub fn bound(self, rate: Rate) -> Bound {
        match self {
            Limit::Bytes(bytes) => Bound { bytes, packets: u64::MAX },
            Limit::Packets(packets) => Bound { bytes: u64::MAX, packets },
            Limit::Time(t) => Bound { bytes: rate.bytes_in(t).0, packets: u64::MAX },
        }
    }
}

impl std::str::FromStr for Limit {
    type Err = UnitError;
    fn from_str(s: &str) -> Result<Limit, UnitError> {
        let packets = ["packets", "packet", "pkts", "p"].iter().find_map(|u| s.trim().strip_suffix(u));
        if let Some(n) = packets.and_then(|n| n.trim().parse().ok()) {
            return Ok(Limit::Packets(n));
        }
        let bytes = s.parse::<Bytes>().map(|b| Limit::Bytes(b.0));
        bytes.or_else(|_| s.parse::<Time>().map(Limit::Time)).map_err(|e| UnitError {
            what: "a queue limit",
            example: "\"100 kB\", \"100 packets\" or \"50 ms\"",
            ..e
        })
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Bytes(b) => Bytes(*b).fmt(f),
            Limit::Packets(1) => f.write_str("1 packet"),
            Limit::Packets(n) => write!(f, "{n} packets"),
            Limit::Time(t) => t.fmt(f),
        }
    }
}

impl serde::Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Limit, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "how much may wait: bytes, packets, or what the link sends in a time",
            "examples": ["100 kB", "100 packets", "50 ms"],
        })
    }
}

/// A limit resolved to a port: both must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Most bytes waiting.
    pub bytes: u64,
    /// Most packets waiting.
    pub packets: u64,
}

impl Bound {
    /// Whether `size` more bytes fit on top of `backlog`.
    #[inline]
    pub const fn admits(&self, backlog: crate::roles::Backlog, size: u32) -> bool {
        backlog.bytes + size as u64 <= self.bytes && backlog.packets < self.packets
    }
}

/// A queue as a scenario asks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueSpec {
    /// Refuses what does not fit.
    DropTail {
        /// Most that may wait.
        limit: Limit,
    },
    /// Drop-tail that marks above a threshold (DCTCP, RFC 8257 §1).
    Step {
        /// Most that may wait.
        limit: Limit,
        /// Marks when more than this waits.
        threshold: Limit,
    },
    /// Random early detection.
    Red {
        /// Most that may wait.
        limit: Limit,
        /// RED's own parameters.
        params: RedParams,
    },
    /// Controlled delay.
    Codel {
        /// Most that may wait.
        limit: Limit,
        /// CoDel's own parameters.
        params: CodelParams,
    },
    /// Per-flow fair queueing.
    Drr {
        /// Most that may wait, all flows together.
        limit: Limit,
        /// Bytes a flow may send per round.
        quantum: u32,
    },
}

impl QueueSpec {
    /// The most that may wait, whatever the kind.
    pub const fn limit(&self) -> Limit {
        match *self {
            QueueSpec::DropTail { limit }
            | QueueSpec::Step { limit, .. }
            | QueueSpec::Red { limit, .. }
            | QueueSpec::Codel { limit, .. }
            | QueueSpec::Drr { limit, .. } => limit,
        }
    }

    /// As scenarios write its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            QueueSpec::DropTail { .. } => "drop-tail",
            QueueSpec::Step { .. } => "step",
            QueueSpec::Red { .. } => "red",
            QueueSpec::Codel { .. } => "codel",
            QueueSpec::Drr { .. } => "drr",
        }
    }

    /// The limit of a drop-tail queue, for ports that have a rule of their own and would ignore any other.
    pub fn drop_tail(&self) -> Result<Limit, SpecError> {
        match self {
            QueueSpec::DropTail { limit } => Ok(*limit),
            other => {
                let message = format!(
                    "must be \"drop-tail\": ports of this scheme have a rule of their own, and `{}` would mean nothing",
                    other.kind()
                );
                Err(SpecError::new("kind", message))
            }
        }
    }

    /// Builds the queue for a port of `rate`.
    pub fn build(&self, rate: Rate) -> Discipline {
        match *self {
            QueueSpec::DropTail { limit } => Discipline::DropTail(DropTail::new(limit.bound(rate))),
            QueueSpec::Step { limit, threshold } => {
                Discipline::Timetable(Box::new(Step::new(limit.bound(rate), threshold.bound(rate))))
            }
            QueueSpec::Red { limit, params } => {
                Discipline::Timetable(Box::new(Red::new(limit.bound(rate), params, rate)))
            }
            QueueSpec::Codel { limit, params } => Discipline::Held(Box::new(Codel::new(limit.bound(rate), params))),
            QueueSpec::Drr { limit, quantum } => Discipline::Held(Box::new(Drr::new(limit.bound(rate), quantum))),
        }
    }
}

/// How a port decides: by timetable or held.
pub enum Discipline {
    /// The usual case, without an indirect call.
    DropTail(DropTail),
    /// A FIFO rule: the start of transmission is known on arrival.
    Timetable(Box<dyn Admission>),
    /// Asked for a packet when the transmitter is idle.
    Held(Box<dyn Port>),
}

impl Discipline {
    /// The same rule as a held port: what links with faults need, for their timetable can change.
    pub fn held(self) -> Discipline {
        match self {
            Discipline::DropTail(rule) => Discipline::Held(Box::new(HeldFifo::new(Box::new(rule)))),
            Discipline::Timetable(rule) => Discipline::Held(Box::new(HeldFifo::new(rule))),
            held @ Discipline::Held(_) => held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_and_print() {
        assert_eq!("100 kB".parse(), Ok(Limit::Bytes(100_000)));
        assert_eq!("100 packets".parse(), Ok(Limit::Packets(100)));
        assert_eq!("50 ms".parse(), Ok(Limit::Time(Time::from_ms(50))));
        assert!("50 parsecs".parse::<Limit>().is_err_and(|e| e.to_string().contains("100 packets")));
        for l in [Limit::Bytes(1500), Limit::Packets(1), Limit::Packets(9), Limit::Time(Time::from_us(3))] {
            assert_eq!(l.to_string().parse(), Ok(l));
        }
        assert_eq!(Limit::Time(Time::from_ms(50)).bound(Rate::from_mbps(10)).bytes, 62_500);
    }
}
