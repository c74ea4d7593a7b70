//! Reading a scheme's table of parameters, with errors that name the key.

use midpath_core::spec::{SpecError, in_plain_terms};
use midpath_core::suggest::nearest;
use midpath_core::units::Ratio;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::map::Entry;
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

/// Whose text a scheme follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Text {
    /// The paper's, with what we add to it.
    #[default]
    Ours,
    /// The paper's alone: every addition of ours is off, unless a key names it.
    Paper,
}

/// Parameters with a key `text` of type [`Text`].
pub trait Texts: Params {
    /// The parameters with which nothing of ours is left: a table of those whose defaults are ours.
    fn paper() -> Value;
}

/// Reads a table of parameters like [`read`]. With `text = "paper"` what it does not name is as in
/// the paper.
pub fn read_text<P: Texts>(value: &Value) -> Result<P, SpecError> {
    if value.get("text") != serde_json::to_value(Text::Paper).ok().as_ref() {
        return read(value);
    }
    let mut table = value.clone();
    lay_under(&mut table, P::paper());
    read(&table)
}

/// Our additions to a paper's scheme, a switch each: a table of parameters lists under `without` those that are off.
///
/// For `#[serde(rename = "without", with = "crate::params::without")]`.
pub mod without {
    use super::*;

    /// The names of a scheme's additions.
    pub fn names<A: Default + Serialize>() -> Vec<String> {
        switches(&A::default()).into_iter().map(|(name, _)| name).collect()
    }

    fn switches<A: Serialize>(additions: &A) -> Map<String, Value> {
        match serde_json::to_value(additions) {
            Ok(Value::Object(table)) => table,
            _ => Map::new(),
        }
    }

    /// Writes the names of those that are off.
    pub fn serialize<A: Serialize, S: Serializer>(additions: &A, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(switches(additions).into_iter().filter(|(_, on)| on == &Value::Bool(false)).map(|(n, _)| n))
    }

    /// Reads the names of those that are off.
    pub fn deserialize<'de, A, D>(d: D) -> Result<A, D::Error>
    where
        A: Default + Serialize + DeserializeOwned,
        D: Deserializer<'de>,
    {
        let mut table = switches(&A::default());
        for name in Vec::<String>::deserialize(d)? {
            let Some(on) = table.get_mut(&name) else { return Err(Error::custom(unknown(&name, &names::<A>()))) };
            *on = Value::Bool(false);
        }
        A::deserialize(Value::Object(table)).map_err(Error::custom)
    }

    /// There may be many: all of them are on the scheme's page.
    fn unknown(name: &str, all: &[String]) -> String {
        let shown: String = name.chars().take(32).collect();
        match nearest(name, all.iter().map(String::as_str)) {
            Some(near) => format!("there is no addition `{shown}`; did you mean `{near}`?"),
            None => format!("there is no addition `{shown}`; there are `{}`, …", all[..all.len().min(5)].join("`, `")),
        }
    }

    /// The schema of the list.
    #[cfg(feature = "schema")]
    pub fn schema<A: Default + Serialize>(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "array", "items": { "type": "string", "enum": names::<A>() } })
    }
}

/// Adds to a table what it does not have, in tables within it, too.
fn lay_under(table: &mut Value, below: Value) {
    let (Value::Object(table), Value::Object(below)) = (table, below) else { return };
    for (key, value) in below {
        match table.entry(key) {
            Entry::Vacant(free) => _ = free.insert(value),
            Entry::Occupied(mut said) => lay_under(said.get_mut(), value),
        }
    }
}

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

/// The keys of a table of parameters, with their defaults.
pub(crate) fn defaults<P: Params>() -> Map<String, Value> {
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
        Share::Text(s) => s.parse::<Ratio>().map(Ratio::as_f64).map_err(D::Error::custom),
    }
}

/// `Ok` if `holds`, else an error at `key` that says what would have been accepted.
pub fn require(holds: bool, key: &str, accepted: &str) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(SpecError::new(key, format!("must be {accepted}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(default)]
    struct Own {
        text: Text,
        rate: u32,
        repair: bool,
        more: More,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(default)]
    struct More {
        hold: bool,
        least: u32,
    }

    impl Default for Own {
        fn default() -> Own {
            Own { text: Text::Ours, rate: 7, repair: true, more: More::default() }
        }
    }

    impl Default for More {
        fn default() -> More {
            More { hold: true, least: 32 }
        }
    }

    impl Texts for Own {
        fn paper() -> Value {
            json!({ "repair": false, "more": { "hold": false, "least": 0 } })
        }
    }

    #[test]
    fn the_papers_text_turns_all_additions_off_and_a_key_that_is_named_wins() {
        assert_eq!(read_text::<Own>(&json!({ "rate": 8 })), Ok(Own { rate: 8, ..Own::default() }));
        assert_eq!(read_text::<Own>(&json!({ "text": "ours" })), Ok(Own::default()));
        let paper = Own { text: Text::Paper, repair: false, more: More { hold: false, least: 0 }, rate: 7 };
        assert_eq!(read_text::<Own>(&json!({ "text": "paper" })).as_ref(), Ok(&paper));
        let one = json!({ "text": "paper", "rate": 9, "more": { "hold": true } });
        assert_eq!(read_text::<Own>(&one), Ok(Own { rate: 9, more: More { hold: true, least: 0 }, ..paper }));
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Additions {
        hold: bool,
        spread: bool,
    }

    impl Default for Additions {
        fn default() -> Additions {
            Additions { hold: true, spread: true }
        }
    }

    #[test]
    fn additions_are_listed_that_are_off() {
        let read = |list: Value| without::deserialize::<Additions, _>(list).map_err(|e| e.to_string());
        assert_eq!(read(json!([])), Ok(Additions::default()));
        let one = Additions { hold: true, spread: false };
        assert_eq!(without::serialize(&one, serde_json::value::Serializer).ok(), Some(json!(["spread"])));
        assert_eq!(read(json!(["spread"])), Ok(one));
        assert_eq!(read(json!(["spraed"])), Err("there is no addition `spraed`; did you mean `spread`?".to_owned()));
        let far = read(json!(["x".repeat(5000)])).expect_err("there is none");
        assert!(far.ends_with("there are `hold`, `spread`, …") && far.len() < 100, "{far}");
        assert!(read(json!([1])).is_err() && read(json!("spread")).is_err());
        assert_eq!(without::names::<Additions>(), ["hold", "spread"]);
    }

    #[test]
    fn a_wrong_text_is_named_like_any_wrong_value() {
        assert_eq!(read_text::<Own>(&json!({ "text": "papers" })).unwrap_err().key, "text");
        assert_eq!(read_text::<Own>(&json!({ "text": "paper", "more": 3 })).unwrap_err().key, "more");
        assert_eq!(read_text::<Own>(&json!({ "text": "paper", "mor": 3 })).unwrap_err().key, "mor");
        assert!(read_text::<Own>(&json!(3)).is_err());
    }
}
