//! Output of a run: a JSON document, tables by column, and files as bytes.

use std::fmt;

use crate::engine::Survey;

/// No value in [`Column::U32OrNone`].
pub const NONE: u32 = u32::MAX;

/// One column. A missing value is NaN in `F64` and [`NONE`] in `U32OrNone`; the other kinds have none.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Small unsigned integers.
    U32(Vec<u32>),
    /// Small unsigned integers; [`NONE`] is "no value".
    U32OrNone(Vec<u32>),
    /// Floats; NaN is "no value".
    F64(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts of which few differ.
    Str {
        /// The different texts.
        dictionary: Vec<String>,
        /// For each row its text.
        index: Vec<u32>,
    },
}

impl Column {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U64(v) => v.len(),
            Column::U32(v) | Column::U32OrNone(v) => v.len(),
            Column::F64(v) => v.len(),
            Column::Bool(v) => v.len(),
            Column::Str { index, .. } => index.len(),
        }
    }
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of its type where columns leave Rust; with "?", [`NONE`] is "no value".
    pub const fn kind(&self) -> &'static str {
        match self {
            Column::U64(_) => "uint64",
            Column::U32(_) => "uint32",
            Column::U32OrNone(_) => "uint32?",
            Column::F64(_) => "float64",
            Column::Bool(_) => "bool",
            Column::Str { .. } => "str",
        }
    }

    /// The texts that a text column's values are numbers of; of other kinds, none.
    pub fn dictionary(&self) -> &[String] {
        match self {
            Column::Str { dictionary, .. } => dictionary,
            _ => &[],
        }
    }

    /// Bytes that [`Column::write`] fills.
    pub fn bytes(&self) -> usize {
        let width = match self {
            Column::U64(_) | Column::F64(_) => 8,
            Column::U32(_) | Column::U32OrNone(_) | Column::Str { .. } => 4,
            Column::Bool(_) => 1,
        };
        self.len() * width
    }

    /// The values one after another, little-endian.
    pub fn write(&self, buffer: &mut [u8]) {
        match self {
            Column::U64(values) => fill(buffer, values, |v| v.to_le_bytes()),
            Column::U32(values) | Column::U32OrNone(values) => fill(buffer, values, |v| v.to_le_bytes()),
            Column::F64(values) => fill(buffer, values, |v| v.to_le_bytes()),
            Column::Bool(values) => fill(buffer, values, |v| [u8::from(*v)]),
            Column::Str { index, .. } => fill(buffer, index, |v| v.to_le_bytes()),
        }
    }

    /// A text column.
    pub fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Column {
        let mut texts = Texts::default();
        values.into_iter().for_each(|text| texts.push(text));
        texts.into()
    }
}

/// A text column that is being filled: each different text is stored once, in order of first appearance.
#[derive(Default)]
pub struct Texts<'a> {
    known: rustc_hash::FxHashMap<&'a str, u32>,
    dictionary: Vec<String>,
    index: Vec<u32>,
}

impl<'a> Texts<'a> {
    /// Adds a value.
    pub fn push(&mut self, text: &'a str) {
        let Texts { known, dictionary, index } = self;
        index.push(*known.entry(text).or_insert_with(|| {
            dictionary.push(text.to_owned());
            dictionary.len() as u32 - 1
        }));
    }
}

impl From<Texts<'_>> for Column {
    fn from(Texts { dictionary, index, .. }: Texts<'_>) -> Column {
        Column::Str { dictionary, index }
    }
}

fn fill<T, const N: usize>(buffer: &mut [u8], values: &[T], bytes: fn(&T) -> [u8; N]) {
    for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
        place.copy_from_slice(&bytes(value));
    }
}

/// Columns of equal length, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Name and values.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    /// Adds a column.
    pub fn with(mut self, name: &str, column: Column) -> Table {
        debug_assert!(self.columns.first().is_none_or(|c| c.1.len() == column.len()), "{name} has another length");
        self.columns.push((name.to_owned(), column));
        self
    }
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.0 == name).map(|c| &c.1)
    }
    /// The floats of a column; empty if it isn't one of floats.
    pub fn f64(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Some(Column::F64(v)) => v,
            _ => &[],
        }
    }
    /// The integers of a column; empty if it isn't one of 64-bit integers.
    pub fn u64(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Column::U64(v)) => v,
            _ => &[],
        }
    }
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.1.len())
    }
}

/// What a run returns.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutput {
    /// The contents of `run.json`, all but `topology`.
    pub run: serde_json::Value,
    /// `topology` of `run.json`, as JSON: of large networks it is most of the file.
    pub topology: String,
    /// The tables by name: `flows`, `ports`, and `series` if asked for.
    pub tables: Vec<(String, Table)>,
    /// Further files by name: captures.
    pub files: Vec<(String, Vec<u8>)>,
    /// What the parts of the network had to do at a time. It is in no file: results don't depend on
    /// parts.
    pub survey: Survey,
    /// Bytes of memory for packets, alive and on wires, when the run ended. In no file, as `survey`.
    pub packet_bytes: usize,
}

impl RunOutput {
    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.0 == name).map(|t| &t.1)
    }
    /// One figure of the summary; `None` where it is null or absent.
    pub fn summary(&self, key: &str) -> Option<f64> {
        self.run["summary"][key].as_f64()
    }
    /// The text of `run.json`.
    pub fn json(&self) -> String {
        whole(&self.run, &self.topology)
    }

    /// What must be the same in every repetition, as text: all but wall time, speed and threads.
    pub fn repeatable(&self) -> String {
        let mut run = self.run.clone();
        if let Some(map) = run.as_object_mut() {
            ["wall_s", "hops_per_s", "threads", "memory_bytes"].iter().for_each(|k| {
                map.remove(*k);
            });
        }
        let mut text = whole(&run, &self.topology);
        let mut add = |part: fmt::Arguments<'_>| fmt::write(&mut text, part).expect("writing to a string");
        for (name, table) in &self.tables {
            for (column, values) in &table.columns {
                // Debug prints floats with as many digits as tell them apart.
                add(format_args!("\n{name}.{column} {values:?}"));
            }
        }
        for (name, bytes) in &self.files {
            add(format_args!("\n{name} {bytes:?}"));
        }
        text
    }
}

/// `run` with `topology` where its key belongs: keys are in order.
fn whole(run: &serde_json::Value, topology: &str) -> String {
    let (mut head, mut tail) = (String::new(), String::new());
    for (key, value) in run.as_object().into_iter().flatten() {
        let name = serde_json::Value::from(key.as_str());
        match key.as_str() < "topology" {
            true => head += &format!("{name}:{value},"),
            false => tail += &format!(",{name}:{value}"),
        }
    }
    format!("{{{head}\"topology\":{topology}{tail}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_stands_where_its_key_belongs() {
        let run = serde_json::json!({ "a": [1], "summary": "x\"y", "wall_s": 1.5 });
        let out = RunOutput {
            run,
            topology: "{\"links\":[]}".to_owned(),
            tables: Vec::new(),
            files: Vec::new(),
            survey: Survey::default(),
            packet_bytes: 0,
        };
        let text = out.json();
        assert_eq!(text, r#"{"a":[1],"summary":"x\"y","topology":{"links":[]},"wall_s":1.5}"#);
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read.to_string(), text, "keys are in order");
    }
}
