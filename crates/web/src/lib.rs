//! The simulator in a browser tab: a request in, an answer out, both as bytes, and no I/O.
//!
//! A request is JSON: what to do ([`Request`]). An answer is a length (`u32`, little-endian), so many bytes of JSON, and
//! the bytes of what that JSON lists: `run.json`, the tables' columns, captures. `src/abi.rs` has the functions that
//! JavaScript calls and provides; docs/play/simulator.js is the other side.

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;

use std::collections::BTreeMap;
use std::time::Duration;

use midpath_core::files::Files;
use midpath_schemes::Catalogue;
use midpath_sim::{Listener, Progress, RunOptions, ScenarioError};
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
        return refused(format!("the scenario and its files are larger than {} MB", MAX_REQUEST >> 20));
    }
    let catalogue = Catalogue::standard();
    match serde_json::from_slice(request) {
        Err(error) => refused(format!("not a request: {error}")),
        Ok(Request::Run(scenario) | Request::Check(scenario)) if scenario.text.len() > MAX_SCENARIO => {
            refused(format!("the scenario is larger than {} kB", MAX_SCENARIO >> 10))
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

fn check(scenario: &Scenario, catalogue: &Catalogue) -> Answer {
    let found = midpath_sim::check(&scenario.text, scenario.given(), &scenario.options(), catalogue);
    let mut head = match found {
        Ok(checked) => json!({ "warnings": checked.warnings, "equipment": checked.equipment }),
        Err(found) => errors(&found),
    };
    // What the page asks of it: seed, faults, whether anything is drawn. Null where it is no TOML.
    head["scenario"] = toml::from_str(&scenario.text).unwrap_or_default();
    Answer::of(head)
}

fn run(scenario: &Scenario, catalogue: &Catalogue, host: &mut impl Host) -> Answer {
    let (text, files, options) = (&scenario.text, scenario.given(), scenario.options());
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
    match midpath_sim::run_in_pieces(text, files, &options, catalogue, &mut listener) {
        Ok(Some(output)) => Answer::of_run(output),
        Ok(None) => Answer::of(json!({ "stopped": { "simulated_s": reached.simulated_s, "stop_s": reached.stop_s } })),
        // A run says the first error; of errors of form, a check says all.
        Err(error) => match midpath_sim::check(text, files, &options, catalogue) {
            Err(found) => Answer::of(errors(&found)),
            Ok(_) => Answer::of(errors(&[error])),
        },
    }
}

#[cfg(test)]
mod tests;
