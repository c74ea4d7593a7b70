use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_topo::graph::{check_delay, check_rate};
use serde::{Deserialize, Serialize};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The link fails, until `until` or for good. The packet in transmission is lost; propagating ones arrive,
    /// queued ones wait.
    LinkDown,
    /// The link recovers.
    LinkUp,
    /// The rate changes to `rate`.
    Rate,
    /// The delay changes to `delay`, without overtaking.
    Delay,
    /// The node restarts: queues and learned scheme state are lost.
    Restart,
}

/// Something that goes wrong at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// When.
    pub at: Time,
    /// What.
    pub kind: FaultKind,
    /// The link by its ends, both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["r0", "r1"]]))]
    pub link: Option<[String; 2]>,
    /// The node, for `restart`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["r0"]))]
    pub node: Option<String>,
    /// The new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// `link-down`: end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl FaultSpec {
    /// Whether it has the keys that its kind needs and no others. Keys of errors are relative to
    /// the fault.
    pub fn check(&self) -> Result<(), SpecError> {
        let given = [
            ("link", self.link.is_some()),
            ("node", self.node.is_some()),
            ("rate", self.rate.is_some()),
            ("delay", self.delay.is_some()),
            ("until", self.until.is_some()),
        ];
        let (needed, optional): (&[&str], &[&str]) = match self.kind {
            FaultKind::LinkDown => (&["link"], &["until"]),
            FaultKind::LinkUp => (&["link"], &[]),
            FaultKind::Rate => (&["link", "rate"], &[]),
            FaultKind::Delay => (&["link", "delay"], &[]),
            FaultKind::Restart => (&["node"], &[]),
        };
        for (key, given) in given {
            if needed.contains(&key) && !given {
                return Err(SpecError::new(
                    key,
                    format!("is required; this fault takes at, kind, {}", needed.join(", ")),
                ));
            }
            if given && !needed.contains(&key) && !optional.contains(&key) {
                return Err(SpecError::new(key, "does not apply to this kind of fault"));
            }
        }
        if self.rate.is_some_and(|r| r == Rate::ZERO) {
            return Err(SpecError::new("rate", "must be above zero; to stop a link use `kind = \"link-down\"`"));
        }
        if self.delay.is_some_and(Time::is_zero) {
            return Err(SpecError::new("delay", "must be above zero"));
        }
        check_rate("rate", self.rate)?;
        self.delay.map_or(Ok(()), |delay| check_delay("delay", delay))?;
        if self.until.is_some_and(|u| u <= self.at) {
            return Err(SpecError::new("until", "must be later than `at`"));
        }
        Ok(())
    }
}
