//! The simulator in a browser tab: a request in, an answer out, both as bytes, and no I/O.
//!
//! A request is JSON: what to do ([`Request`]). An answer is a length (`u32`, little-endian), so many bytes of JSON, and
//! the bytes of what that JSON lists: `run.json`, the tables' columns, captures. `src/abi.rs` has the functions that
//! JavaScript calls and provides; docs/play/simulator.js is the other side.

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod variant;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use midpath_core::files::Files;
use midpath_schemes::Catalogue;
use midpath_sim::{Checked, Listener, Progress, RunOptions, ScenarioError};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use answer::Answer;

/// Longest scenario. Ours: a hundred times the longest example.
pub const MAX_SCENARIO: usize = 1 << 20;
/// Longest request, with the files that a scenario names. Ours: the longest topology file is as long.
pub const MAX_REQUEST: usize = 64 << 20;

/// What the page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", tag = "ask", deny_unknown_fields)]
pub enum Request {
    /// A run.
    Run(Scenario),
    /// Errors and warnings, without a run.
    Check(Scenario),
    /// The scenario's JSON Schema, for completion.
    Schema,
    /// What each scheme says of itself.
    Schemes,
}

/// A scenario, and what is to be different from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// TOML.
    text: String,
    /// Another default scheme.
    scheme: Option<String>,
    /// Another seed.
    seed: Option<u64>,
    /// One of its variants.
    variant: Option<String>,
    /// Contents of the files that it names: what Midpath reads is text.
    #[serde(default, deserialize_with = "contents")]
    files: BTreeMap<String, Vec<u8>>,
}

fn contents<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(from)?;
    Ok(texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect())
}

impl Scenario {
    fn given(&self) -> Files<'_> {
        Files::Given(&self.files)
    }

    fn options(&self) -> RunOptions {
        RunOptions { scheme: self.scheme.clone(), seed: self.seed, threads: 1, ..RunOptions::default() }
    }
}

/// What the page provides.
pub trait Host {
    /// Time from any moment on.
    fn now(&self) -> Duration;
    /// Told now and then how far a run is; false ends it.
    fn progress(&mut self, progress: Progress) -> bool;
}

/// Answers a request; whatever is wrong with it is part of the answer.
pub fn answer(request: &[u8], host: &mut impl Host) -> Vec<u8> {
    if request.len() > MAX_REQUEST {
        return refused(format!("the scenario and its files are larger than a tab takes ({} MB)", MAX_REQUEST >> 20));
    }
    let catalogue = Catalogue::standard();
    match serde_json::from_slice(request) {
        Err(error) => refused(format!("not a request: {error}")),
        Ok(Request::Run(scenario) | Request::Check(scenario)) if scenario.text.len() > MAX_SCENARIO => {
            refused(format!("the scenario is larger than a tab takes ({} kB)", MAX_SCENARIO >> 10))
        }
        Ok(Request::Schema) => Answer::of(json!({ "schema": midpath_sim::schema_of(&catalogue) })).bytes(),
        Ok(Request::Schemes) => Answer::of(json!({ "schemes": midpath_sim::schemes(&catalogue) })).bytes(),
        Ok(Request::Check(scenario)) => check(&scenario, &catalogue).bytes(),
        Ok(Request::Run(scenario)) => run(&scenario, &catalogue, host).bytes(),
    }
}

fn refused(message: String) -> Vec<u8> {
    Answer::of(errors(&[ScenarioError::whole(message)])).bytes()
}

fn errors(found: &[ScenarioError]) -> Value {
    let as_json = |e: &ScenarioError| json!({ "key": e.key, "line": e.line, "message": e.message });
    json!({ "errors": found.iter().map(as_json).collect::<Vec<_>>() })
}

/// What is run, and what is wrong with it.
struct Asked<'a> {
    scenario: &'a Scenario,
    catalogue: &'a Catalogue,
    text: Cow<'a, str>,
    /// Keys that the variant changes.
    changed: Vec<String>,
}

impl<'a> Asked<'a> {
    fn new(scenario: &'a Scenario, catalogue: &'a Catalogue) -> Result<Asked<'a>, Vec<ScenarioError>> {
        let (text, changed) = match &scenario.variant {
            None => (Cow::Borrowed(&*scenario.text), Vec::new()),
            Some(name) => match variant::text_of(&scenario.text, name) {
                Ok((text, changed)) => (Cow::Owned(text), changed),
                Err(error) => return Err(vec![ScenarioError { line: variant::line(&scenario.text, name), ..error }]),
            },
        };
        Ok(Asked { scenario, catalogue, text, changed })
    }

    fn check(&self, text: &str) -> Result<Checked, Vec<ScenarioError>> {
        midpath_sim::check(text, self.scenario.given(), &self.scenario.options(), self.catalogue)
    }

    /// Errors with lines of the text that the page has. A variant's text has lines of its own: either the scenario has
    /// the same error, or a change made it, and the variant's line counts.
    fn located(&self, found: Vec<ScenarioError>) -> Vec<ScenarioError> {
        let Some(name) = &self.scenario.variant else { return found };
        let original = self.check(&self.scenario.text).err().unwrap_or_default();
        let located = |error: ScenarioError| {
            let same = original.iter().find(|one| (&one.key, &one.message) == (&error.key, &error.message));
            let keys = if self.changed.is_empty() { "nothing".into() } else { self.changed.join(", ") };
            let message = format!("{} (after setting {keys} for the variant '{name}')", error.message);
            same.cloned().unwrap_or(ScenarioError { line: variant::line(&self.scenario.text, name), message, ..error })
        };
        found.into_iter().map(located).collect()
    }
}

fn check(scenario: &Scenario, catalogue: &Catalogue) -> Answer {
    let asked = Asked::new(scenario, catalogue);
    let text = asked.as_ref().map_or(&*scenario.text, |asked| &*asked.text);
    let found = asked.as_ref().map_err(Clone::clone).and_then(|one| one.check(text).map_err(|e| one.located(e)));
    let mut head = match found {
        Ok(checked) => json!({ "warnings": checked.warnings, "equipment": checked.equipment }),
        Err(found) => errors(&found),
    };
    // What the page asks of it: seed, faults, whether anything is drawn. Null where it is no TOML.
    head["scenario"] = toml::from_str(text).unwrap_or_default();
    head["variants"] = json!(variant::named(&scenario.text).iter().map(|(_, name)| name).collect::<Vec<_>>());
    Answer::of(head)
}

fn run(scenario: &Scenario, catalogue: &Catalogue, host: &mut impl Host) -> Answer {
    let asked = match Asked::new(scenario, catalogue) {
        Ok(asked) => asked,
        Err(found) => return Answer::of(errors(&found)),
    };
    let (files, options) = (scenario.given(), scenario.options());
    let mut reached = Progress::default();
    let host = std::cell::RefCell::new(host);
    let mut listener = Listener {
        clock: &|| host.borrow().now(),
        progress: &mut |progress| {
            reached = progress;
            host.borrow_mut().progress(progress)
        },
        watch: &mut |_| true,
        rows: None,
    };
    match midpath_sim::run_in_pieces(&asked.text, files, &options, catalogue, &mut listener) {
        Ok(Some(output)) => Answer::of_run(output),
        Ok(None) => Answer::of(json!({ "stopped": { "simulated_s": reached.simulated_s, "stop_s": reached.stop_s } })),
        // A run says the first error; of errors of form, a check says all.
        Err(error) => {
            let found = asked.check(&asked.text).err().unwrap_or_else(|| vec![error]);
            Answer::of(errors(&asked.located(found)))
        }
    }
}

#[cfg(test)]
mod tests;
