//! Stands in for `midpath_sim` until it has these functions.
#![allow(missing_docs, dead_code)]

use std::path::Path;

use serde_json::Value;

pub struct RunOptions {
    pub scheme: Option<String>,
    pub seed: Option<u64>,
    pub threads: usize,
}

pub struct Progress {
    pub simulated_s: f64,
    pub stop_s: Option<f64>,
    pub packet_hops: u64,
    pub flows_ended: u64,
    pub flows: u64,
}

pub struct ScenarioError {
    pub key: String,
    pub line: Option<usize>,
    pub message: String,
}

pub enum Column {
    U64(Vec<u64>),
    U32(Vec<u32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Str { dictionary: Vec<String>, index: Vec<u32> },
}

pub struct Table {
    pub columns: Vec<(String, Column)>,
}

pub struct RunOutput {
    pub run: Value,
    pub tables: Vec<(String, Table)>,
    pub files: Vec<(String, Vec<u8>)>,
}

fn absent() -> ScenarioError {
    ScenarioError { key: String::new(), line: None, message: "this build has no simulator".to_owned() }
}

pub fn run_text(
    _text: &str,
    _base: &Path,
    _options: &RunOptions,
    _progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<RunOutput>, ScenarioError> {
    Err(absent())
}

pub fn check_text(_text: &str, _base: &Path, _options: &RunOptions) -> Result<(), ScenarioError> {
    Err(absent())
}

pub fn describe_topology(_text: &str, _base: &Path) -> Result<Value, ScenarioError> {
    Err(absent())
}

pub fn schema() -> Value {
    Value::Object(serde_json::Map::new())
}
