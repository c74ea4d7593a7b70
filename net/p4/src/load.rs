//! A program with its names resolved.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::expression::{self, Expression};
use crate::json;

/// Why a program cannot be loaded or a packet not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no JSON of bmv2's form.
    #[error("not a bmv2 program: {0}")]
    Json(#[from] serde_json::Error),
    /// Something that this interpreter has not.
    #[error("unsupported: {0}")]
    Unknown(String),
    /// A number with more than 127 bits.
    #[error("a number does not fit: {0}")]
    Overflow(String),
    /// An index behind the end of a register array.
    #[error("register {0} has no index {1}")]
    Index(String, i128),
}

/// Keys of the file that must be empty, for the interpreter knows nothing of what they list.
const MUST_BE_EMPTY: [&str; 11] = [
    "header_stacks",
    "header_union_types",
    "header_unions",
    "header_union_stacks",
    "parse_vsets",
    "meter_arrays",
    "counter_arrays",
    "learn_lists",
    "checksums",
    "force_arith",
    "extern_instances",
];

/// Keys that need no interpreter: names, numbers and where things stand in the source.
const SAYS_NOTHING: [&str; 7] = ["midpath", "program", "__meta__", "errors", "enums", "field_lists", "field_aliases"];

pub struct Field {
    pub name: String,
    pub bits: u32,
}

pub struct Header {
    pub name: String,
    /// Its fields' numbers.
    pub fields: std::ops::Range<usize>,
    pub metadata: bool,
}

/// Headers and their fields by name.
pub struct Names {
    pub headers: Vec<Header>,
    pub fields: Vec<Field>,
    by_header: BTreeMap<String, usize>,
}

pub struct State {
    pub steps: Vec<Step>,
    /// Fields and their width in whole bytes.
    pub key: Vec<Expression>,
    pub widths: Vec<u32>,
    pub transitions: Vec<Transition>,
}

pub enum Step {
    Extract(usize),
    Set(usize, Expression),
    Validate(usize, bool),
}

pub struct Transition {
    /// Value and mask; `None` is the default.
    pub of: Option<(u128, u128)>,
    pub next: Option<usize>,
}

pub struct Calculation {
    pub hash: fn(&[u8]) -> u64,
    pub input: Vec<usize>,
}

pub struct Action {
    pub name: String,
    pub primitives: Vec<Primitive>,
}

pub enum Primitive {
    Assign(usize, Expression),
    /// A field into another, of any width.
    Copy(usize, usize),
    CopyHeader(usize, usize),
    Validate(usize, bool),
    Read {
        into: usize,
        array: usize,
        index: Expression,
    },
    Write {
        array: usize,
        index: Expression,
        value: Expression,
    },
    Hash {
        into: usize,
        base: Expression,
        calculation: usize,
        size: Expression,
    },
    Drop,
}

pub struct Array {
    pub name: String,
    pub bits: u32,
    pub size: usize,
}

pub struct Table {
    pub name: String,
    pub key: Vec<usize>,
    pub default: (usize, Vec<u128>),
    pub actions: Vec<usize>,
    /// By action, or by hit and miss.
    pub next: BTreeMap<String, Option<Node>>,
}

#[derive(Clone, Copy)]
pub enum Node {
    Table(usize),
    Conditional(usize),
}

pub struct Conditional {
    pub expression: Expression,
    /// If it is true, and if not.
    pub next: [Option<Node>; 2],
}

pub struct Pipeline {
    pub first: Option<Node>,
    pub tables: Vec<Table>,
    pub conditionals: Vec<Conditional>,
}

pub struct Program {
    pub names: Names,
    pub states: Vec<State>,
    pub first: usize,
    pub deparser: Vec<usize>,
    pub arrays: Vec<Array>,
    pub calculations: Vec<Calculation>,
    pub actions: Vec<Action>,
    pub ingress: Pipeline,
    pub egress: Pipeline,
}

fn unknown<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Unknown(what.into()))
}

/// Where `name` stands in a list.
fn place<T>(list: &[T], name: &str, of: impl Fn(&T) -> &str) -> Result<usize, Error> {
    list.iter().position(|item| of(item) == name).map_or_else(|| unknown(format!("name {name}")), Ok)
}

impl Names {
    fn new(file: &json::Program) -> Result<Names, Error> {
        let (mut headers, mut fields) = (Vec::new(), Vec::new());
        for header in &file.headers {
            let kind = &file.header_types[place(&file.header_types, &header.header_type, |t| &t.name)?];
            let start = fields.len();
            for (name, bits, signed) in &kind.fields {
                if *signed || *bits > 128 {
                    return unknown(format!("field {name} of {}", kind.name));
                }
                fields.push(Field { name: name.clone(), bits: *bits });
            }
            headers.push(Header { name: header.name.clone(), fields: start..fields.len(), metadata: header.metadata });
        }
        let by_header = headers.iter().enumerate().map(|(at, h)| (h.name.clone(), at)).collect();
        Ok(Names { headers, fields, by_header })
    }

    pub fn header(&self, name: &str) -> Result<usize, Error> {
        self.by_header.get(name).copied().map_or_else(|| unknown(format!("header {name}")), Ok)
    }

    /// A field's number.
    pub fn place(&self, header: &str, field: &str) -> Result<usize, Error> {
        let range = self.headers[self.header(header)?].fields.clone();
        Ok(range.start + place(&self.fields[range], field, |f| &f.name)?)
    }

    pub fn field(&self, header: &str, field: &str) -> Result<Expression, Error> {
        self.place(header, field).map(Expression::Field)
    }

    fn target(&self, of: &json::Typed) -> Result<usize, Error> {
        match expression::typed(&of.kind, &of.value, self)? {
            Expression::Field(at) => Ok(at),
            other => unknown(format!("target {other:?}")),
        }
    }
}

impl Program {
    pub fn new(text: &str) -> Result<Program, Error> {
        let file: json::Program = serde_json::from_str(text)?;
        for (key, value) in &file.rest {
            let empty = value.as_array().is_some_and(Vec::is_empty);
            let known = MUST_BE_EMPTY.contains(&key.as_str()) && empty || SAYS_NOTHING.contains(&key.as_str());
            if !known {
                return unknown(format!("key {key}"));
            }
        }
        let names = Names::new(&file)?;
        let ([parser], [deparser]) = (&file.parsers[..], &file.deparsers[..]) else {
            return unknown("more than one parser or deparser");
        };
        if !deparser.primitives.is_empty() {
            return unknown("primitives of a deparser");
        }
        let calculations: Result<Vec<_>, _> = file.calculations.iter().map(|c| calculation(c, &names)).collect();
        let actions: Result<Vec<_>, _> = file.actions.iter().map(|a| action(a, &file, &names)).collect();
        let pipeline_of =
            |name: &str| pipeline(&file.pipelines[place(&file.pipelines, name, |p| &p.name)?], &file, &names);
        let deparser: Result<Vec<_>, _> = deparser.order.iter().map(|name| names.header(name)).collect();
        Ok(Program {
            first: place(&parser.parse_states, &parser.init_state, |s| &s.name)?,
            states: parser.parse_states.iter().map(|s| state(s, parser, &names)).collect::<Result<_, _>>()?,
            deparser: deparser?,
            arrays: file
                .register_arrays
                .iter()
                .map(|r| Array { name: r.name.clone(), bits: r.bitwidth, size: r.size })
                .collect(),
            calculations: calculations?,
            actions: actions?,
            ingress: pipeline_of("ingress")?,
            egress: pipeline_of("egress")?,
            names,
        })
    }
}

fn state(state: &json::ParseState, parser: &json::Parser, names: &Names) -> Result<State, Error> {
    let steps = state.parser_ops.iter().map(|op| step(op, names)).collect::<Result<_, _>>()?;
    let mut key = Vec::new();
    let mut widths = Vec::new();
    for part in &state.transition_key {
        let at = names.target(part)?;
        widths.push(names.fields[at].bits.div_ceil(8) * 8);
        key.push(Expression::Field(at));
    }
    let mut transitions = Vec::new();
    for transition in &state.transitions {
        let of = match (transition.kind.as_deref(), &transition.value) {
            (Some("default") | None, _) => None,
            (Some("hexstr"), Some(value)) => {
                let mask = transition.mask.as_deref().map_or(Ok(u128::MAX), bits)?;
                Some((bits(value)?, mask))
            }
            other => return unknown(format!("transition {other:?}")),
        };
        let next = transition.next_state.as_deref().map(|name| place(&parser.parse_states, name, |s| &s.name));
        transitions.push(Transition { of, next: next.transpose()? });
    }
    Ok(State { steps, key, widths, transitions })
}

fn step(op: &json::ParserOp, names: &Names) -> Result<Step, Error> {
    let typed = |at: usize| -> Result<json::Typed, Error> {
        Ok(serde_json::from_value(op.parameters.get(at).cloned().unwrap_or(Value::Null))?)
    };
    match op.op.as_str() {
        "extract" if typed(0)?.kind == "regular" => {
            Ok(Step::Extract(names.header(typed(0)?.value.as_str().unwrap_or_default())?))
        }
        "set" => {
            let value = typed(1)?;
            Ok(Step::Set(names.target(&typed(0)?)?, expression::typed(&value.kind, &value.value, names)?))
        }
        "primitive" => {
            let call: json::Primitive = serde_json::from_value(op.parameters.first().cloned().unwrap_or(Value::Null))?;
            let header = || names.header(call.parameters[0].value.as_str().unwrap_or_default());
            match (call.op.as_str(), call.parameters.len()) {
                ("add_header", 1) => Ok(Step::Validate(header()?, true)),
                ("remove_header", 1) => Ok(Step::Validate(header()?, false)),
                (other, _) => unknown(format!("primitive {other} in a parser")),
            }
        }
        other => unknown(format!("parser operation {other}")),
    }
}

/// A number without sign.
pub fn bits(text: &str) -> Result<u128, Error> {
    u128::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16)
        .map_or_else(|_| unknown(format!("number {text}")), Ok)
}

fn calculation(calculation: &json::Calculation, names: &Names) -> Result<Calculation, Error> {
    let hash = match calculation.algo.as_str() {
        "crc16" => crate::crc::crc16,
        "crc32" => crate::crc::crc32,
        other => return unknown(format!("hash {other}")),
    };
    let input: Vec<usize> = calculation.input.iter().map(|i| names.target(i)).collect::<Result<_, _>>()?;
    if input.iter().any(|at| !names.fields[*at].bits.is_multiple_of(8)) {
        return unknown(format!("{}: a hash of fields that are not whole bytes", calculation.name));
    }
    Ok(Calculation { hash, input })
}

fn action(action: &json::Action, file: &json::Program, names: &Names) -> Result<Action, Error> {
    let primitives = action.primitives.iter().map(|p| primitive(p, file, names)).collect::<Result<_, _>>()?;
    Ok(Action { name: action.name.clone(), primitives })
}

fn primitive(p: &json::Primitive, file: &json::Program, names: &Names) -> Result<Primitive, Error> {
    let value = |at: usize| expression::typed(&p.parameters[at].kind, &p.parameters[at].value, names);
    let name = |at: usize| p.parameters[at].value.as_str().unwrap_or_default();
    let header = |at: usize| names.header(name(at));
    let array = |at: usize| place(&file.register_arrays, name(at), |r| &r.name);
    Ok(match (p.op.as_str(), p.parameters.len()) {
        ("assign", 2) => match (names.target(&p.parameters[0])?, value(1)?) {
            (into, Expression::Field(from)) => Primitive::Copy(into, from),
            (into, from) => Primitive::Assign(into, from),
        },
        ("assign_header", 2) => Primitive::CopyHeader(header(0)?, header(1)?),
        ("add_header", 1) => Primitive::Validate(header(0)?, true),
        ("remove_header", 1) => Primitive::Validate(header(0)?, false),
        ("register_read", 3) => {
            Primitive::Read { into: names.target(&p.parameters[0])?, array: array(1)?, index: value(2)? }
        }
        ("register_write", 3) => Primitive::Write { array: array(0)?, index: value(1)?, value: value(2)? },
        ("modify_field_with_hash_based_offset", 4) => Primitive::Hash {
            into: names.target(&p.parameters[0])?,
            base: value(1)?,
            calculation: place(&file.calculations, name(2), |c| &c.name)?,
            size: value(3)?,
        },
        ("mark_to_drop", 1) if name(0) == "standard_metadata" => Primitive::Drop,
        (op, parameters) => return unknown(format!("primitive {op} of {parameters}")),
    })
}

fn pipeline(pipeline: &json::Pipeline, file: &json::Program, names: &Names) -> Result<Pipeline, Error> {
    if !pipeline.action_calls.is_empty() {
        return unknown("action calls");
    }
    let node = |name: &Option<String>| -> Result<Option<Node>, Error> {
        let Some(name) = name else { return Ok(None) };
        if let Ok(at) = place(&pipeline.tables, name, |t| &t.name) {
            return Ok(Some(Node::Table(at)));
        }
        place(&pipeline.conditionals, name, |c| &c.name).map(|at| Some(Node::Conditional(at)))
    };
    let action_at =
        |id: usize| file.actions.iter().position(|a| a.id == id).map_or_else(|| unknown(format!("action {id}")), Ok);
    let mut tables = Vec::new();
    for table in &pipeline.tables {
        let exact = table.key.iter().all(|key| key.match_type == "exact" && key.mask.is_none());
        if table.kind != "simple" || !exact || !table.entries.is_empty() {
            return unknown(format!("the form of table {}", table.name));
        }
        let data = table.default_entry.action_data.iter().map(|d| bits(d)).collect::<Result<_, _>>()?;
        tables.push(Table {
            name: table.name.clone(),
            key: table.key.iter().map(|k| names.place(&k.target.0, &k.target.1)).collect::<Result<_, _>>()?,
            default: (action_at(table.default_entry.action_id)?, data),
            actions: table.action_ids.iter().map(|id| action_at(*id)).collect::<Result<_, _>>()?,
            next: table
                .next_tables
                .iter()
                .map(|(by, next)| Ok((by.clone(), node(next)?)))
                .collect::<Result<_, Error>>()?,
        });
    }
    let mut conditionals = Vec::new();
    for conditional in &pipeline.conditionals {
        let of = &conditional.expression;
        conditionals.push(Conditional {
            expression: expression::typed(&of.kind, &of.value, names)?,
            next: [node(&conditional.true_next)?, node(&conditional.false_next)?],
        });
    }
    Ok(Pipeline { first: node(&pipeline.init_table)?, tables, conditionals })
}
