//! The scheme's parameters. Each names where its default comes from.

use midpath_core::spec::SpecError;
use midpath_core::units::Time;
use midpath_schemes::params::require;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `[schemes.aimd]` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AimdParams {
    /// The queueing delay to hold. Ours: long enough to keep a link busy while windows shrink by a
    /// tenth at round trips up to 50 ms.
    pub target: Time,
    /// Packets that the window grows by in a round trip below the target. Ours: Reno's (RFC 5681,
    /// §3.1).
    pub increase: f64,
    /// What the window is multiplied by above the target, once per round trip. Ours: shallow, since
    /// a delay is an early signal.
    pub decrease: f64,
}

impl Default for AimdParams {
    fn default() -> AimdParams {
        AimdParams { target: Time::from_ms(5), increase: 1.0, decrease: 0.9 }
    }
}

impl AimdParams {
    /// Refuses values under which the window would not do what they say.
    pub fn check(&self) -> Result<(), SpecError> {
        require(self.target > Time::ZERO, "target", "a time above 0")?;
        require(self.increase > 0.0 && self.increase <= 1000.0, "increase", "above 0 and at most 1000 packets")?;
        require(self.decrease > 0.0 && self.decrease < 1.0, "decrease", "between 0 and 1, both excluded")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let key = |params: AimdParams| params.check().map_err(|e| e.key);
        let good = AimdParams::default();
        assert_eq!(key(good), Ok(()));
        assert_eq!(key(AimdParams { target: Time::ZERO, ..good }), Err("target".to_owned()));
        assert_eq!(key(AimdParams { increase: f64::NAN, ..good }), Err("increase".to_owned()));
        assert_eq!(key(AimdParams { decrease: 1.0, ..good }), Err("decrease".to_owned()));
    }
}
