//! A delay in a scenario: a time, or the word "distance".

use std::borrow::Cow;

use midpath_core::units::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a link's delay comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelaySpec {
    /// That of the link's length in fibre.
    Distance,
    /// This.
    Constant(Time),
}

impl Serialize for DelaySpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            DelaySpec::Distance => s.serialize_str("distance"),
            DelaySpec::Constant(t) => t.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for DelaySpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<DelaySpec, D::Error> {
        let text = Cow::<'de, str>::deserialize(d)?;
        if text.trim() == "distance" {
            return Ok(DelaySpec::Distance);
        }
        let time = text.parse().map(DelaySpec::Constant);
        time.map_err(|e| serde::de::Error::custom(format!("{e}, or \"distance\"")))
    }
}

impl schemars::JsonSchema for DelaySpec {
    fn schema_name() -> Cow<'static, str> {
        "Delay".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "a time such as \"5 ms\", or \"distance\": the link's length in fibre",
            "examples": ["5 ms", "100 us", "distance"],
        })
    }
}
