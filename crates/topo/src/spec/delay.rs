//! A delay in a scenario: a time, or the word "distance".

use std::borrow::Cow;

use midpath_core::units::{QuantityVisitor, Time, UnitError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a link's delay comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelaySpec {
    /// That of the link's length in fibre.
    Distance,
    /// This.
    Constant(Time),
}

const WANTED: &str = "a delay";
const EXAMPLE: &str = "\"5 ms\", \"100 us\" or \"distance\"";

impl std::str::FromStr for DelaySpec {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<DelaySpec, UnitError> {
        if text.trim() == "distance" {
            return Ok(DelaySpec::Distance);
        }
        text.parse().map(DelaySpec::Constant).map_err(|e| UnitError { example: EXAMPLE, ..e })
    }
}

impl std::fmt::Display for DelaySpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DelaySpec::Distance => f.write_str("distance"),
            DelaySpec::Constant(time) => time.fmt(f),
        }
    }
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
        d.deserialize_any(QuantityVisitor { wanted: WANTED, example: EXAMPLE, plain: |_| None })
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
