//! bmv2's JSON as in the file. Keys that say nothing to an interpreter are not listed;
//! values that only some programs have must be empty here.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct Program {
    pub header_types: Vec<HeaderType>,
    pub headers: Vec<Header>,
    pub parsers: Vec<Parser>,
    pub deparsers: Vec<Deparser>,
    pub register_arrays: Vec<RegisterArray>,
    pub calculations: Vec<Calculation>,
    pub actions: Vec<Action>,
    pub pipelines: Vec<Pipeline>,
    /// Not known here: they must be empty.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
pub struct HeaderType {
    pub name: String,
    pub fields: Vec<(String, u32, bool)>,
}

#[derive(Deserialize)]
pub struct Header {
    pub name: String,
    pub header_type: String,
    pub metadata: bool,
}

#[derive(Deserialize)]
pub struct Parser {
    pub init_state: String,
    pub parse_states: Vec<ParseState>,
}

#[derive(Deserialize)]
pub struct ParseState {
    pub name: String,
    pub parser_ops: Vec<ParserOp>,
    pub transition_key: Vec<Typed>,
    pub transitions: Vec<Transition>,
}

#[derive(Deserialize)]
pub struct ParserOp {
    pub op: String,
    pub parameters: Vec<Value>,
}

#[derive(Deserialize)]
pub struct Transition {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
    pub mask: Option<String>,
    pub next_state: Option<String>,
}

#[derive(Deserialize)]
pub struct Deparser {
    pub order: Vec<String>,
    #[serde(default)]
    pub primitives: Vec<Value>,
}

#[derive(Deserialize)]
pub struct RegisterArray {
    pub name: String,
    pub size: usize,
    pub bitwidth: u32,
}

#[derive(Deserialize)]
pub struct Calculation {
    pub name: String,
    pub algo: String,
    pub input: Vec<Typed>,
}

#[derive(Deserialize)]
pub struct Action {
    pub id: usize,
    pub name: String,
    pub primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
pub struct Primitive {
    pub op: String,
    pub parameters: Vec<Typed>,
}

/// A value with the name of its kind.
#[derive(Deserialize, Clone)]
pub struct Typed {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: Value,
}

#[derive(Deserialize)]
pub struct Pipeline {
    pub name: String,
    pub init_table: Option<String>,
    pub tables: Vec<Table>,
    pub conditionals: Vec<Conditional>,
    #[serde(default)]
    pub action_calls: Vec<Value>,
}

#[derive(Deserialize)]
pub struct Table {
    pub name: String,
    pub key: Vec<Key>,
    #[serde(rename = "type")]
    pub kind: String,
    pub action_ids: Vec<usize>,
    pub next_tables: std::collections::BTreeMap<String, Option<String>>,
    pub default_entry: DefaultEntry,
    #[serde(default)]
    pub entries: Vec<Value>,
}

#[derive(Deserialize)]
pub struct Key {
    pub match_type: String,
    pub target: (String, String),
    pub mask: Option<String>,
}

#[derive(Deserialize)]
pub struct DefaultEntry {
    pub action_id: usize,
    pub action_data: Vec<String>,
}

#[derive(Deserialize)]
pub struct Conditional {
    pub name: String,
    pub expression: Typed,
    pub true_next: Option<String>,
    pub false_next: Option<String>,
}
