//! The scenario: one TOML document, one schema, validated here and nowhere else.

pub(crate) mod column;
mod deploy;
mod faults;
mod form;
mod host;
mod lines;
mod pfc;
mod queue;
mod spec;
mod trace;
mod vary;

pub use column::split_scheme;
pub use deploy::DeploySpec;
pub use faults::{FaultKind, FaultSpec};
pub use form::faults_of_form;
pub use host::HostSpec;
pub use pfc::{PfcSpec, TrafficClass};
pub use queue::{QueueKind, QueueTable};
pub use spec::{FORMAT, MeasureSpec, PcapSpec, RoutingSpec, Scenario};
pub use trace::TraceSpec;
pub use vary::{BurstSpec, EcnSpec, JitterLaw, JitterSpec, ShaperSpec, StepSpec, VarySpec, check_steps};

use midpath_core::spec::{SpecError, in_plain_terms};

/// Why a scenario cannot be run: one sentence, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(.key, .line))]
pub struct ScenarioError {
    /// Path of the key, empty for the whole document.
    pub key: String,
    /// Line in the document, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what would have been accepted.
    pub message: String,
}

fn place(key: &str, line: &Option<usize>) -> String {
    match (key, line) {
        ("", None) => String::new(),
        ("", Some(n)) => format!("line {n}: "),
        (k, None) => format!("{k}: "),
        (k, Some(n)) => format!("line {n}: {k}: "),
    }
}

impl ScenarioError {
    /// An error without a place.
    pub fn whole(message: impl Into<String>) -> ScenarioError {
        ScenarioError { key: String::new(), line: None, message: message.into() }
    }

    /// A part's error, with the line of its key in `text`.
    pub fn locate(error: SpecError, text: &str) -> ScenarioError {
        // What is missing, and would stand at the root, is missing from the first line on.
        let line = lines::line_of(text, &error.key).unwrap_or(1);
        ScenarioError { key: error.key, line: Some(line), message: in_short(&error.message) }
    }
}

/// Longest scenario that is read. Ours: flow lists of any length go into files of their own.
const MAX_TEXT: usize = 64 << 20;

/// Reads and checks a scenario's form. What refers to other parts (a flow's host) is checked when
/// it is built.
pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    if text.len() > MAX_TEXT {
        return Err(ScenarioError::whole(format!(
            "the scenario has {} bytes; at most {MAX_TEXT} are read",
            text.len()
        )));
    }
    if let Some((key, line, written)) = lines::not_finite(text) {
        let message = format!("`{written}` is not a finite number");
        return Err(ScenarioError { key, line: Some(line), message });
    }
    toml::from_str(text).map_err(|e| {
        // What else is wrong with a scenario of another format, that format may know.
        if let Some(error) = of_another_format(text) {
            return error;
        }
        let message = one_line(e.message());
        // What is missing at the root has no line of its own.
        if let Some(field) = message.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`'))
            && e.span().is_none_or(|s| s.start == 0)
        {
            let message = format!("is missing; a scenario needs a `[{field}]`");
            return ScenarioError { key: field.to_owned(), line: Some(1), message };
        }
        let line = e.span().map(|s| lines::line_at(text, s.start));
        // Of a table that is read as a whole, such as `arrivals`, the parser knows only where it
        // begins.
        let key = match e.span() {
            // A text with a key twice is no TOML: nothing but its place is known.
            Some(span) if message == "duplicate key" => text.get(span).unwrap_or_default().to_owned(),
            span => span.map(|s| lines::blamed(text, s.start, &message)).unwrap_or_default(),
        };
        ScenarioError { key, line, message: in_short(&with_suggestion(&in_plain_terms(&message))) }
    })
}

fn of_another_format(text: &str) -> Option<ScenarioError> {
    let values: toml::Table = toml::from_str(text).ok()?;
    let format = values.get("format")?.as_integer()?;
    let error = SpecError::new("format", spec::other_format(format));
    (format != i64::from(spec::FORMAT)).then(|| ScenarioError::locate(error, text))
}

/// More of a name than this is not repeated.
const MOST_OF_A_NAME: usize = 32;

/// A message that fits a line: long names are cut, and long numbers written as powers of ten.
fn in_short(message: &str) -> String {
    let cut = |(i, part): (usize, &str)| match part.char_indices().nth(MOST_OF_A_NAME) {
        Some((end, _)) if i % 2 == 1 => format!("{}…", &part[..end]),
        _ => part.to_owned(),
    };
    with_short_numbers(&message.split('`').enumerate().map(cut).collect::<Vec<_>>().join("`"))
}

/// More digits than these in a row are written as a power of ten.
const MOST_DIGITS: usize = 25;

/// A message whose numbers can be read: 1e308 has 309 digits where it is written out.
fn with_short_numbers(message: &str) -> String {
    let mut short = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let digits = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        short.push_str(&rest[..start]);
        match number[..digits].parse::<f64>() {
            Ok(value) if digits > MOST_DIGITS => short.push_str(&format!("{value:e}")),
            _ => short.push_str(&number[..digits]),
        }
        rest = &number[digits..];
    }
    short + rest
}

/// The longest list of what a value may be, in bytes. Ours: a line of a terminal.
const LONGEST_LIST: usize = 80;

/// An unknown value with the first of those that it may be.
pub(crate) fn with_short_list(message: &str) -> String {
    let Some(list) = message.rfind("expected one of ") else { return message.to_owned() };
    // Names of values are ASCII.
    match message.get(..list + LONGEST_LIST).and_then(|shown| shown.rfind("`, `")) {
        Some(end) if end > list => {
            let more = message[end + 1..].matches(", `").count();
            format!("{} and {more} more", &message[..=end])
        }
        _ => message.to_owned(),
    }
}

/// Adds what an unknown key or value may have been meant to be; of many values the first are named.
fn with_suggestion(message: &str) -> String {
    let (key, value) = (message.strip_prefix("unknown field `"), message.strip_prefix("unknown variant `"));
    let Some(rest) = key.or(value) else { return message.to_owned() };
    let mut quoted = rest.split('`').step_by(2);
    let near = quoted.next().and_then(|name| midpath_topo::suggest::nearest(name, quoted));
    let shown = if value.is_some() { with_short_list(message) } else { message.to_owned() };
    match near {
        Some(near) => shown.replacen("`, ", &format!("`, did you mean `{near}`? "), 1),
        None => shown,
    }
}

/// The scenario's JSON Schema, for editors. It has no `$id`: its base is where it was read from, which always resolves,
/// while taplo refuses a relative one.
pub fn schema() -> serde_json::Value {
    schema_of(&midpath_schemes::Catalogue::standard())
}

/// The same with the parameters of the schemes in `catalogue`.
pub fn schema_of(catalogue: &midpath_schemes::Catalogue) -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    schema["title"] = format!("Midpath scenario, format {FORMAT}").into();
    describe_schemes(&mut schema, catalogue);
    schema
}

/// Adds what `[schemes.NAME]` takes for each scheme of `catalogue`, so that editors complete it.
fn describe_schemes(schema: &mut serde_json::Value, catalogue: &midpath_schemes::Catalogue) {
    let mut tables = serde_json::Map::new();
    for (name, own) in catalogue.names().filter_map(|n| Some((n, catalogue.schema(n)?))) {
        let mut table = own.clone().to_value();
        let Some(map) = table.as_object_mut() else { continue };
        map.remove("$schema");
        // References count from the document's root, so definitions move there.
        if let Some(serde_json::Value::Object(definitions)) = map.remove("$defs") {
            for (key, definition) in definitions {
                if schema["$defs"].get(&key).is_none() {
                    schema["$defs"][key] = definition;
                }
            }
        }
        table["properties"]["queue"] = serde_json::json!({
            "$ref": "#/$defs/QueueTable",
            "description": "The queue of ports where this scheme runs in the network, in place of `[queue]`.",
        });
        tables.insert(name.to_owned(), table);
    }
    schema["properties"]["schemes"]["properties"] = tables.into();
}

fn one_line(message: &str) -> String {
    message.split('\n').map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_written_short() {
        assert_eq!(
            with_short_numbers(&format!("weight: {} is above 1e6, line 12.", 1e308)),
            "weight: 1e308 is above 1e6, line 12."
        );
        assert_eq!(with_short_numbers(&format!("{} is below", 1e-300)), "1e-300 is below");
        assert_eq!(with_short_numbers("18446744073709551615 and 0.25"), "18446744073709551615 and 0.25");
    }

    #[test]
    fn long_names_are_cut() {
        let message = format!("there is no node `{}`; there are `a` and `b`", "x".repeat(5000));
        assert_eq!(in_short(&message), format!("there is no node `{}…`; there are `a` and `b`", "x".repeat(32)));
    }

    #[test]
    fn another_format_is_refused_before_what_only_it_knows() {
        let text = "format = 2\ncolour = \"red\"\n[topology]\nbuiltin = \"abilene\"\n";
        let error = parse(text).expect_err("of a later format");
        assert_eq!(error.to_string(), "line 1: format: is 2; this version of Midpath reads format 1");
        assert!(parse(&text.replace('2', "1")).expect_err("no key").to_string().starts_with("line 2: colour"));
        let plain = parse("format = 1\n[topology]\nbuiltin = \"abilene\"\n").expect("the format of today");
        assert!(serde_json::to_value(plain).expect("JSON").get("format").is_none());
    }

    #[test]
    fn what_is_no_number_is_named_as_it_is_written() {
        let error = parse("seed = 1\n[schemes.cubic]\nbeta = nan\n").expect_err("not a number");
        assert_eq!(error.to_string(), "line 3: schemes.cubic.beta: `nan` is not a finite number");
        let error = parse("[[flow]]\nweight = -inf\ntitle = \"x\"\n").expect_err("not finite");
        assert!(error.to_string().starts_with("line 2: flow[0].weight: `-inf`"), "{error}");
    }

    #[test]
    fn the_schema_knows_what_schemes_take() {
        let schema = schema();
        let cubic = &schema["properties"]["schemes"]["properties"]["cubic"];
        assert!(cubic["properties"]["beta"].is_object() && cubic["properties"]["min_rto"].is_object(), "{cubic}");
        let reference = cubic["properties"]["queue"]["$ref"].as_str().unwrap_or_default();
        assert!(schema.pointer(reference.trim_start_matches('#')).is_some(), "{reference} leads nowhere");
    }

    #[test]
    fn errors_speak_of_keys_and_tables() {
        let error = |text: &str| parse(text).expect_err(text).to_string();
        assert_eq!(error("title = \"x\""), "line 1: topology: is missing; a scenario needs a `[topology]`");
        assert_eq!(error("seed = 1\nseed = 2"), "line 2: seed: duplicate key");
        assert_eq!(error("topology = 3"), "line 1: topology: `3` is not a table");
        assert!(
            error("[topology]\nbuiltn = 3").contains("unknown field `builtn`, did you mean `builtin`? expected one of")
        );
        let unknown = error("[topology]\nformat = \"dot\"\nfile = \"x\"");
        assert!(unknown.contains("expected one of `rocketfuel-cch`, ") && unknown.ends_with(" more"), "{unknown}");
        assert!(
            error("[topology]\nbuiltin = \"abilene\"\nspeed = 3").starts_with("line 3: topology.speed: unknown field")
        );
    }
}
