//! Reading a scheme's table of parameters, with errors that name the key.

use midpath_core::spec::{SpecError, in_plain_terms};
use midpath_core::units::Ratio;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// What [`read`] needs of a table of parameters, and nothing else: derive serde's traits (and, with
/// the feature `schema`, `JsonSchema`), give it a default, and mark it `#[serde(default)]`.
#[cfg(not(feature = "schema"))]
pub trait Params: DeserializeOwned + Serialize + Default + 'static {}
#[cfg(not(feature = "schema"))]
impl<P: DeserializeOwned + Serialize + Default + 'static> Params for P {}

/// What [`read`] needs of a table of parameters, and nothing else: derive serde's traits (and, with
/// the feature `schema`, `JsonSchema`), give it a default, and mark it `#[serde(default)]`.
#[cfg(feature = "schema")]
pub trait Params: DeserializeOwned + Serialize + Default + schemars::JsonSchema + 'static {}
#[cfg(feature = "schema")]
impl<P: DeserializeOwned + Serialize + Default + schemars::JsonSchema + 'static> Params for P {}

/// Reads a table of parameters. Unknown keys are refused with the list of known ones.
///
/// The known keys are those of the default value's own serialisation, so that parameters shared by
/// several schemes can be flattened into each (serde alone cannot refuse unknown keys there).
pub fn read<P: Params>(value: &Value) -> Result<P, SpecError> {
    let empty = Map::new();
    let table = match value {
        Value::Null => &empty,
        Value::Object(table) => table,
        other => return Err(SpecError::new("", format!("`{other}` is not a table of parameters"))),
    };
    let defaults = defaults::<P>();
    if let Some(key) = table.keys().find(|k| !defaults.contains_key(*k)) {
        let known: Vec<&str> = defaults.keys().map(String::as_str).collect();
        return Err(SpecError::new(key, format!("is not a parameter here; the parameters are {}", known.join(", "))));
    }
    P::deserialize(over(&defaults, table))
        .map_err(|e| blame::<P>(&defaults, table).unwrap_or(SpecError::new("", in_plain_terms(&e.to_string()))))
}

fn defaults<P: Params>() -> Map<String, Value> {
    match serde_json::to_value(P::default()) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

/// What is said laid over the scheme's own defaults: a flattened struct would have its type's
/// defaults otherwise.
fn over(defaults: &Map<String, Value>, table: &Map<String, Value>) -> Value {
    let mut all = defaults.clone();
    all.extend(table.clone());
    Value::Object(all)
}

/// The first key whose value is refused even when all others have their defaults.
fn blame<P: Params>(defaults: &Map<String, Value>, table: &Map<String, Value>) -> Option<SpecError> {
    table.iter().find_map(|(key, value)| {
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        P::deserialize(over(defaults, &alone)).err().map(|e| SpecError::new(key, in_plain_terms(&e.to_string())))
    })
}

/// For `#[serde(deserialize_with)]`: a share as a number (`0.7`) or as a text (`"70 %"`).
pub fn share<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Share {
        Number(f64),
        Text(String),
    }
    match Share::deserialize(d)? {
        Share::Number(x) => Ok(x),
        Share::Text(s) => s.parse::<Ratio>().map(Ratio::as_f64).map_err(serde::de::Error::custom),
    }
}

/// `Ok` if `holds`, else an error at `key` that says what would have been accepted.
pub fn require(holds: bool, key: &str, accepted: &str) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(SpecError::new(key, format!("must be {accepted}"))) }
}
