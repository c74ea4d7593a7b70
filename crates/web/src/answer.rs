//! An answer's bytes.

use midpath_sim::{Column, RunOutput, Table};
use serde_json::{Value, json};

/// Where buffers begin: JavaScript's arrays of 8-byte numbers want it.
const ALIGNMENT: usize = 8;

/// JSON, and the bytes of what it lists as `at` and `bytes`.
pub(crate) struct Answer {
    head: Value,
    body: Vec<u8>,
}

impl Answer {
    /// Of JSON alone.
    pub(crate) const fn of(head: Value) -> Answer {
        Answer { head, body: Vec::new() }
    }

    /// Of a run: `run.json`, tables and captures.
    pub(crate) fn of_run(output: RunOutput) -> Answer {
        let mut answer = Answer::of(Value::Null);
        let run = answer.add(output.json().as_bytes());
        let tables: Vec<Value> = output.tables.iter().map(|(name, table)| answer.table(name, table)).collect();
        let named = |(name, bytes): &(String, Vec<u8>)| json!({ "name": name, "place": answer.add(bytes) });
        let files: Vec<Value> = output.files.iter().map(named).collect();
        answer.head = json!({ "run": run, "tables": tables, "files": files });
        answer
    }

    fn table(&mut self, name: &str, table: &Table) -> Value {
        let columns: Vec<Value> = table.columns.iter().map(|(name, column)| self.column(name, column)).collect();
        json!({ "name": name, "rows": table.rows(), "columns": columns })
    }

    fn column(&mut self, name: &str, column: &Column) -> Value {
        let place = self.place(column.bytes(), |buffer| column.write(buffer));
        json!({ "name": name, "kind": column.kind(), "dictionary": column.dictionary(), "place": place })
    }

    fn add(&mut self, bytes: &[u8]) -> Value {
        self.place(bytes.len(), |buffer| buffer.copy_from_slice(bytes))
    }

    fn place(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Value {
        let at = self.body.len().next_multiple_of(ALIGNMENT);
        self.body.resize(at + bytes, 0);
        fill(&mut self.body[at..]);
        json!({ "at": at, "bytes": bytes })
    }

    /// The whole: length of the head, head, body. Spaces end the head, so that the body is aligned.
    pub(crate) fn bytes(self) -> Vec<u8> {
        const LENGTH: usize = size_of::<u32>();
        let mut whole = vec![0; LENGTH];
        whole.extend(self.head.to_string().into_bytes());
        whole.resize(whole.len().next_multiple_of(ALIGNMENT), b' ');
        let head = u32::try_from(whole.len() - LENGTH).expect("a head is far below 4 GB");
        whole[..LENGTH].copy_from_slice(&head.to_le_bytes());
        whole.extend(self.body);
        whole
    }
}
