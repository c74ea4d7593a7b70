use midpath_core::queue::{CodelParams, Limit, QueueSpec, RedParams};
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Ratio, Time};
use serde::{Deserialize, Serialize};

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// Refuses what does not fit.
    #[default]
    DropTail,
    /// Drop-tail that marks ECN-capable packets above `threshold` (DCTCP's switch).
    Step,
    /// Random early detection (Floyd and Jacobson, 1993).
    Red,
    /// Controlled delay (RFC 8289).
    Codel,
    /// Per-flow fair queueing by deficit round robin.
    Drr,
}

impl QueueKind {
    const fn name(self) -> &'static str {
        match self {
            QueueKind::DropTail => "drop-tail",
            QueueKind::Step => "step",
            QueueKind::Red => "red",
            QueueKind::Codel => "codel",
            QueueKind::Drr => "drr",
        }
    }

    /// The keys that mean something to it, besides `kind` and `limit`.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            QueueKind::DropTail => &[],
            QueueKind::Step => &["threshold"],
            QueueKind::Red => &["min", "max", "max_p", "weight", "ecn", "gentle"],
            QueueKind::Codel => &["target", "interval", "ecn"],
            QueueKind::Drr => &["quantum"],
        }
    }
}

/// The queue of a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueTable {
    /// Which queue; `drop-tail` unless said.
    pub kind: QueueKind,
    /// The most that may wait, the packet in transmission not counted; 50 ms of the port's rate unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// `step`: marks a packet that finds more than this waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Limit>,
    /// `red`: below this average nothing is marked or dropped; a quarter of the limit unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Limit>,
    /// `red`: above this average everything is (with `gentle`: above twice this); three times `min` unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Limit>,
    /// `red`: probability at `max`; 10 % unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<Ratio>,
    /// `red`: weight of the newest queue length in the average; 0.002 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Ratio>,
    /// `red`, `codel`: mark ECN-capable packets instead of dropping them; true unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// `red`: let the probability grow to 1 between `max` and twice `max`; true unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// `codel`: acceptable standing delay; 5 ms unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// `codel`: of the order of the longest usual round trip; 100 ms unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// `drr`: bytes a flow may send per round; 1500 B unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
}

/// 50 ms of the port's rate: the buffer of the INRPP paper's evaluation (§IV-A).
const DEFAULT_LIMIT: Limit = Limit::Time(Time::from_ms(50));

/// A fraction of a limit, in its own measure.
fn scale(limit: Limit, times: u64, over: u64) -> Limit {
    let scaled = |n: u64| u64::try_from(u128::from(n) * u128::from(times) / u128::from(over)).unwrap_or(u64::MAX);
    match limit {
        Limit::Bytes(n) => Limit::Bytes(scaled(n)),
        Limit::Packets(n) => Limit::Packets(scaled(n).max(1)),
        Limit::Time(t) => Limit::Time(Time(scaled(t.0))),
    }
}

impl QueueTable {
    /// The queue it asks for. Keys of errors are relative to the table.
    pub fn build(&self) -> Result<QueueSpec, SpecError> {
        self.refuse_foreign_keys()?;
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if matches!(limit, Limit::Packets(0)) || limit == Limit::Time(Time::ZERO) {
            return Err(SpecError::new("limit", "a queue needs room: write \"100 packets\", \"100 kB\" or \"50 ms\""));
        }
        Ok(match self.kind {
            QueueKind::DropTail => QueueSpec::DropTail { limit },
            QueueKind::Step => QueueSpec::Step { limit, threshold: self.threshold()? },
            QueueKind::Red => QueueSpec::Red { limit, params: self.red(limit)? },
            QueueKind::Codel => QueueSpec::Codel { limit, params: self.codel()? },
            QueueKind::Drr => QueueSpec::Drr { limit, quantum: self.quantum()? },
        })
    }

    fn given(&self) -> [(&'static str, bool); 10] {
        [
            ("threshold", self.threshold.is_some()),
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("max_p", self.max_p.is_some()),
            ("weight", self.weight.is_some()),
            ("ecn", self.ecn.is_some()),
            ("gentle", self.gentle.is_some()),
            ("target", self.target.is_some()),
            ("interval", self.interval.is_some()),
            ("quantum", self.quantum.is_some()),
        ]
    }

    fn refuse_foreign_keys(&self) -> Result<(), SpecError> {
        let own = self.kind.keys();
        match self.given().iter().find(|(key, given)| *given && !own.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                let keys = ["kind", "limit"].iter().chain(own).copied().collect::<Vec<_>>().join(", ");
                Err(SpecError::new(*key, format!("means nothing to a {} queue; its keys are {keys}", self.kind.name())))
            }
        }
    }

    fn threshold(&self) -> Result<Limit, SpecError> {
        self.threshold.ok_or_else(|| SpecError::new("threshold", "a step queue needs one, such as \"65 packets\""))
    }

    fn red(&self, limit: Limit) -> Result<RedParams, SpecError> {
        let min = self.min.unwrap_or(scale(limit, 1, 4));
        let max = self.max.unwrap_or(scale(min, 3, 1));
        let ordered = match (min, max) {
            (Limit::Bytes(a), Limit::Bytes(b)) | (Limit::Packets(a), Limit::Packets(b)) => a < b,
            (Limit::Time(a), Limit::Time(b)) => a < b,
            _ => return Err(SpecError::new("max", "`min` and `max` must be of one kind: bytes, packets or times")),
        };
        if !ordered {
            return Err(SpecError::new("max", format!("must be above `min`, which is {min}")));
        }
        let share = |key, value: Option<Ratio>, default| match value.map_or(default, Ratio::as_f64) {
            v if v > 0.0 && v <= 1.0 => Ok(v),
            _ => Err(SpecError::new(key, "must be above 0 and at most 1")),
        };
        Ok(RedParams {
            min,
            max,
            max_p: share("max_p", self.max_p, 0.1)?,
            weight: share("weight", self.weight, 0.002)?,
            ecn: self.ecn.unwrap_or(true),
            gentle: self.gentle.unwrap_or(true),
        })
    }

    fn codel(&self) -> Result<CodelParams, SpecError> {
        let default = CodelParams::default();
        let interval = self.interval.unwrap_or(default.interval);
        if interval.is_zero() {
            return Err(SpecError::new("interval", "must be above zero"));
        }
        Ok(CodelParams { target: self.target.unwrap_or(default.target), interval, ecn: self.ecn.unwrap_or(true) })
    }

    fn quantum(&self) -> Result<u32, SpecError> {
        match self.quantum.map_or(1500, |b| b.0) {
            0 => Err(SpecError::new("quantum", "must be above zero")),
            n => u32::try_from(n).map_err(|_| SpecError::new("quantum", "must be below 4 GiB")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<QueueSpec, String> {
        toml::from_str::<QueueTable>(text).map_err(|e| e.to_string())?.build().map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_and_scaling() {
        assert_eq!(build(""), Ok(QueueSpec::DropTail { limit: DEFAULT_LIMIT }));
        let Ok(QueueSpec::Red { params, .. }) = build("kind = \"red\"\nlimit = \"400 packets\"") else { panic!() };
        assert_eq!((params.min, params.max), (Limit::Packets(100), Limit::Packets(300)));
    }

    #[test]
    fn a_key_of_another_queue_is_named() {
        let e = build("kind = \"codel\"\nthreshold = \"9 packets\"").unwrap_err();
        assert!(e.contains("threshold: means nothing to a codel queue") && e.contains("target"), "{e}");
        assert!(build("kind = \"step\"").unwrap_err().contains("65 packets"));
        assert!(build("kind = \"red\"\nmin = \"9 kB\"\nmax = \"8 kB\"").unwrap_err().contains("above `min`"));
        assert!(build("limit = \"0 packets\"").unwrap_err().contains("room"));
    }
}
