//! Traffic matrices in files: how much goes from where to where.

use crate::flow::MAX_FLOWS;
use crate::list::{ListError, csv_line, whole_lines};
use midpath_core::units::Rate;

/// Entries of a matrix at most. Ours: a square over 2,000 routers has as many.
pub const MAX_ENTRIES: usize = 4_000_000;

/// What goes from one place to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Sender: a host, or a router with hosts.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Bits per second; in a matrix without unit, a share.
    pub amount: f64,
    /// Its line in the file, counted from 1; in JSON, 1.
    pub line: u64,
}

/// A matrix as its file states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entries {
    /// What is above zero, in the file's order.
    pub entries: Vec<Entry>,
    /// Whether amounts are bits per second.
    pub has_unit: bool,
}

fn error(line: u64, message: impl Into<String>) -> ListError {
    ListError { line, message: message.into() }
}

/// Reads a matrix: node-link JSON with `demands`, else CSV. Never panics, whatever the bytes.
pub fn parse_matrix_bytes(bytes: &[u8]) -> Result<Entries, ListError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() as u64;
        error(line, "not UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = if text.trim_start().starts_with('{') { demands(text) } else { csv_matrix(text) }?;
    if found.entries.is_empty() {
        return Err(error(1, "no entry above zero"));
    }
    Ok(found)
}

/// `graph.demands` of topohub's node-link JSON: from, to, amount. They have no unit (SNDlib's
/// differ by network).
fn demands(text: &str) -> Result<Entries, ListError> {
    let graph: serde_json::Value =
        serde_json::from_str(text).map_err(|e| error(e.line().max(1) as u64, format!("not JSON: {e}")))?;
    let rows = graph.get("graph").and_then(|g| g.get("demands")).and_then(serde_json::Value::as_object);
    let rows = rows.ok_or_else(|| error(1, "no `graph.demands`: from, to and amount, as topohub writes them"))?;
    let mut entries = Vec::new();
    for (from, row) in rows {
        let row = row.as_object().ok_or_else(|| error(1, format!("demands of `{from}` are no object")))?;
        for (to, amount) in row {
            let amount = amount.as_f64().ok_or_else(|| error(1, format!("demand `{from}` to `{to}` is no number")))?;
            push(&mut entries, from, to, amount, 1)?;
        }
    }
    Ok(Entries { entries, has_unit: false })
}

fn csv_matrix(text: &str) -> Result<Entries, ListError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .has_headers(false)
        .flexible(true)
        .from_reader(whole_lines(text.as_bytes()));
    let mut records = reader.records();
    let read = |r: csv::Result<csv::StringRecord>| {
        r.map_err(|e| error(e.position().map_or(1, csv::Position::line), e.to_string()))
    };
    let head = records.next().ok_or_else(|| error(1, HEADS)).and_then(read)?;
    let column = |name: &str| head.iter().position(|h| h.eq_ignore_ascii_case(name));
    let mut entries = Vec::new();
    let triple = (column("from"), column("to"), column("rate"));
    for record in records {
        let record = read(record)?;
        let line = csv_line(text, &record);
        if record.len() != head.len() {
            return Err(error(line, format!("{} fields, the first line has {}", record.len(), head.len())));
        }
        let cell = |i: usize| record.get(i).unwrap_or("");
        match triple {
            (Some(from), Some(to), Some(rate)) if head.len() == 3 => {
                push(&mut entries, cell(from), cell(to), amount(cell(rate), line)?, line)?;
            }
            _ if head.get(0).is_some_and(str::is_empty) => {
                for (i, to) in head.iter().enumerate().skip(1) {
                    push(&mut entries, cell(0), to, amount(cell(i), line)?, line)?;
                }
            }
            _ => return Err(error(1, HEADS)),
        }
    }
    Ok(Entries { entries, has_unit: true })
}

/// What the first line of a CSV may be.
const HEADS: &str = "the first line is from,to,rate; or, of a square, an empty cell and then the receivers' names";

/// Bits per second; an empty cell is none.
fn amount(cell: &str, line: u64) -> Result<f64, ListError> {
    if cell.is_empty() {
        return Ok(0.0);
    }
    let plain = cell.parse::<f64>().ok();
    let found = plain.or_else(|| cell.parse::<Rate>().ok().map(Rate::as_f64));
    found.ok_or_else(|| error(line, format!("`{}` is not a rate: write \"20 Mbps\", or bits per second", short(cell))))
}

fn push(entries: &mut Vec<Entry>, from: &str, to: &str, amount: f64, line: u64) -> Result<(), ListError> {
    if !(0.0..=1e18).contains(&amount) {
        return Err(error(line, format!("{amount} from `{}` to `{}` is not from 0 to 1e18", short(from), short(to))));
    }
    if amount == 0.0 {
        return Ok(());
    }
    if from == to {
        let message = format!("`{}` to itself: what stays in one place crosses no link; leave it out", short(from));
        return Err(error(line, message));
    }
    if entries.len() >= MAX_ENTRIES.min(MAX_FLOWS as usize) {
        return Err(error(line, format!("more than {MAX_ENTRIES} entries")));
    }
    entries.push(Entry { from: from.to_owned(), to: to.to_owned(), amount, line });
    Ok(())
}

fn short(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTED: &str = "to,from,rate\nBern,Geneva,20 Mbps\n# note\nGeneva,Bern,1e6\nBern,Basel,\n";
    const SQUARE: &str = ",Bern,Geneva\nBern,,1 Mbps\nGeneva,3000000,0\n";
    const DEMANDS: &str = r#"{"graph": {"demands": {"A": {"B": 3, "C": 0}, "B": {"A": 1.5}}}, "nodes": []}"#;

    fn triples(text: &str) -> Vec<(String, String, f64)> {
        let found = parse_matrix_bytes(text.as_bytes()).expect(text);
        found.entries.into_iter().map(|e| (e.from, e.to, e.amount)).collect()
    }

    #[test]
    fn a_comment_may_end_the_file_without_an_end_of_line() {
        let found = csv_matrix("from,to,rate\nBern,Geneva,20 Mbps\n# as of today").expect("valid");
        assert_eq!(found.entries.len(), 1);
    }

    #[test]
    fn lists_squares_and_demands_are_read() {
        let entry = |a: &str, b: &str, x| (a.to_owned(), b.to_owned(), x);
        assert_eq!(triples(LISTED), [entry("Geneva", "Bern", 20e6), entry("Bern", "Geneva", 1e6)]);
        assert_eq!(triples(SQUARE), [entry("Bern", "Geneva", 1e6), entry("Geneva", "Bern", 3e6)]);
        assert_eq!(triples(DEMANDS), [entry("A", "B", 3.0), entry("B", "A", 1.5)]);
        assert!(parse_matrix_bytes(SQUARE.as_bytes()).expect("read").has_unit);
        assert!(!parse_matrix_bytes(DEMANDS.as_bytes()).expect("read").has_unit);
    }

    #[test]
    fn bad_matrices_name_the_line() {
        for (text, line, message) in [
            ("", 1, "first line"),
            ("from,to\na,b\n", 1, "first line"),
            ("from,to,rate\na,b\n", 2, "2 fields"),
            ("from,to,rate\na,b,much\n", 2, "20 Mbps"),
            ("from,to,rate\na,b,-1\n", 2, "not from 0"),
            ("from,to,rate\n# note\n\na,b,-1\n", 4, "not from 0"),
            ("from,to,rate\na,b,nan\n", 2, "not from 0"),
            ("from,to,rate\na,a,1\n", 2, "to itself"),
            ("from,to,rate\na,b,0\n", 1, "above zero"),
            ("{\n", 2, "not JSON"),
            ("{}", 1, "graph.demands"),
            ("{\"graph\": {\"demands\": {\"a\": {\"b\": \"x\"}}}}", 1, "no number"),
        ] {
            let e = parse_matrix_bytes(text.as_bytes()).expect_err(text);
            assert!(e.line == line && e.message.contains(message), "{text:?}: {e}");
        }
        assert_eq!(parse_matrix_bytes(b"from\n\xff").expect_err("not text").line, 2);
    }

    proptest! {
        #[test]
        fn mutated_matrices_never_panic(edits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8), which in 0usize..3) {
            let mut bytes = [LISTED, SQUARE, DEMANDS][which].as_bytes().to_vec();
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = parse_matrix_bytes(&bytes);
        }
    }
}
