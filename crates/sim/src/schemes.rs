//! Descriptions of schemes as JSON, for `run.json` and `midpath schemes`.

use midpath_schemes::Catalogue;
use serde_json::{Map, Value, json};

/// Each scheme of a catalogue by name: what it says of itself, and its parameters with default and
/// meaning.
pub fn schemes(catalogue: &Catalogue) -> Value {
    let about = |name: &str| {
        let mut entry = described(name, catalogue, parameters(name, catalogue));
        entry["bibtex"] = json!(catalogue.description(name).map_or("", |own| own.bibtex));
        entry
    };
    catalogue.names().map(|name| (name.to_owned(), about(name))).collect()
}

/// A scheme of a run: what it says of itself, and the parameters that it runs with: its table in
/// the scenario over its defaults.
pub(crate) fn of_run(name: &str, catalogue: &Catalogue, table: &Value) -> Value {
    let defaults = parameters(name, catalogue).into_iter().map(|(key, about)| (key, about["default"].clone()));
    let mut values: Map<String, Value> = defaults.collect();
    values.extend(table.as_object().cloned().unwrap_or_default());
    described(name, catalogue, values)
}

/// One that says nothing of itself has its name.
fn described(name: &str, catalogue: &Catalogue, parameters: Map<String, Value>) -> Value {
    let own = catalogue.description(name).and_then(|own| serde_json::to_value(own).ok());
    let mut entry = own.unwrap_or_else(|| json!({ "title": name }));
    entry["parameters"] = Value::Object(parameters);
    entry
}

/// Parameters by key, from the scheme's schema.
fn parameters(name: &str, catalogue: &Catalogue) -> Map<String, Value> {
    let schema = catalogue.schema(name);
    let properties = schema.as_ref().and_then(|schema| schema.as_value()["properties"].as_object());
    let about = |(key, property): (&String, &Value)| {
        let about = json!({ "default": property["default"], "meaning": property["description"] });
        (key.clone(), about)
    };
    properties.into_iter().flatten().map(about).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_standard_scheme_is_there_with_its_parameters() {
        let all = schemes(&Catalogue::standard());
        assert_eq!(all.as_object().map(Map::len), Some(Catalogue::standard().names().count()));
        assert_eq!(all["cubic"]["title"], "CUBIC");
        assert_eq!(all["cubic"]["parameters"]["c"]["default"], 0.4);
        assert!(all["cubic"]["parameters"]["c"]["meaning"].is_string(), "{}", all["cubic"]["parameters"]["c"]);
    }

    #[test]
    fn a_run_says_which_values_its_parameters_have() {
        let entry = of_run("cubic", &Catalogue::standard(), &json!({ "c": 0.8 }));
        assert_eq!((&entry["parameters"]["c"], &entry["parameters"]["beta"]), (&json!(0.8), &json!(0.7)));
    }

    #[test]
    fn a_scheme_that_says_nothing_has_its_name() {
        let silent = Catalogue::empty().with("mine", |p| Catalogue::standard().build("cubic", p));
        assert_eq!(schemes(&silent), json!({ "mine": { "title": "mine", "parameters": {}, "bibtex": "" } }));
    }
}
