//! Queue limits and occupancy of ports.

use std::iter::Sum;
use std::ops::Add;

use crate::units::{Bytes, QuantityVisitor, Rate, Time, UnitError};

const WANTED: &str = "a queue limit";
const EXAMPLE: &str = "\"100 kB\", \"100 packets\" or \"50 ms\"";

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
        bytes.or_else(|in_bytes| {
            let part = in_bytes.what == Bytes::WHOLE;
            let what = if part { in_bytes.what } else { WANTED };
            let spelled = |e: &UnitError| in_bytes.spelled.or(e.spelled);
            let in_time = s.parse::<Time>().map(Limit::Time);
            in_time.map_err(|e| UnitError { what, example: EXAMPLE, spelled: spelled(&e), ..e })
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
        d.deserialize_any(QuantityVisitor { wanted: WANTED, example: EXAMPLE, plain: |_| None })
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
            "description": "Queue limit: bytes, packets, or a time at the link's rate",
            "examples": ["100 kB", "100 packets", "50 ms"],
        })
    }
}

/// What waits at a port, the packet in transmission not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

impl Backlog {
    /// Whether packets and bytes go together: no packet is empty.
    #[inline]
    pub const fn is_sound(self) -> bool {
        (self.packets == 0) == (self.bytes == 0) && self.packets <= self.bytes
    }
}

impl Add for Backlog {
    type Output = Backlog;
    #[inline]
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl Sum for Backlog {
    fn sum<I: Iterator<Item = Backlog>>(all: I) -> Backlog {
        all.fold(Backlog::default(), Add::add)
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
    /// Room for nothing.
    pub const NOTHING: Bound = Bound { bytes: 0, packets: 0 };
    /// Room for everything.
    pub const EVERYTHING: Bound = Bound { bytes: u64::MAX, packets: u64::MAX };

    /// What both admit.
    #[must_use]
    pub fn min(self, other: Bound) -> Bound {
        Bound { bytes: self.bytes.min(other.bytes), packets: self.packets.min(other.packets) }
    }

    /// Whether so much may wait.
    #[inline]
    pub const fn holds(&self, backlog: Backlog) -> bool {
        backlog.bytes <= self.bytes && backlog.packets <= self.packets
    }

    /// Whether `size` more bytes fit on top of `backlog`.
    #[inline]
    pub const fn admits(&self, backlog: Backlog, size: u32) -> bool {
        backlog.bytes + size as u64 <= self.bytes && backlog.packets < self.packets
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
