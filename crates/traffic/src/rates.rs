//! Traffic matrices in files: how much goes from where to where.

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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entries {
    /// What is above zero, in the file's order.
    pub entries: Vec<Entry>,
    /// Whether amounts are bits per second.
    pub has_unit: bool,
    /// Whether each goes back, too, by the format's own meaning.
    pub both_ways: bool,
    /// Demands of a node to itself, which are left out: published sets have them.
    pub to_itself: usize,
}

impl Entries {
    /// Adds what a published set states.
    pub(crate) fn add(&mut self, from: &str, to: &str, amount: f64, line: u64) -> Result<(), ListError> {
        if from == to && amount >= 0.0 {
            self.to_itself += 1;
            return Ok(());
        }
        push(&mut self.entries, from, to, amount, line)
    }
}

pub(crate) fn error(line: u64, message: impl Into<String>) -> ListError {
    ListError { line, message: message.into() }
}

/// Reads a matrix: node-link JSON with `demands`, SNDlib's native text, XML or JSON, Repetita's demands (by
/// number), else CSV. Never panics, whatever the bytes.
pub fn parse_matrix_bytes(bytes: &[u8]) -> Result<Entries, ListError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() as u64;
        error(line, "not UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = |with: &str| text.trim_start().starts_with(with);
    let found = match text {
        _ if begins("{") => crate::demands::parse(text),
        _ if begins("<") => crate::sndlib::xml(text),
        _ if begins("?SNDlib") => crate::sndlib::native(text),
        _ if crate::repetita::is_demands(text) => crate::repetita::parse(text),
        _ => csv_matrix(text),
    }?;
    if found.entries.is_empty() {
        return Err(error(1, "no entry above zero"));
    }
    Ok(found)
}

fn csv_matrix(text: &str) -> Result<Entries, ListError> {
    let sheet = Sheet::read(text)?;
    let head = &sheet.head;
    let column = |name: &str| head.iter().position(|h| h.eq_ignore_ascii_case(name));
    let entries = match (column("from"), column("to"), column("rate")) {
        (Some(from), Some(to), Some(rate)) if head.len() == 3 => sheet.triples([from, to, rate])?,
        _ if sheet.is_square() => sheet.square()?,
        _ => return Err(error(1, HEADS)),
    };
    Ok(Entries { entries, has_unit: true, ..Entries::default() })
}

/// What the first line of a CSV may be.
const HEADS: &str = "the first line must be from,to,rate or, for a square, a corner cell and the receivers' names";

/// Names of a row or column that adds up the others.
const TOTALS: [&str; 5] = ["total", "totals", "sum", "sums", "gesamt"];

/// How far a total may be from its sum: spreadsheets show rounded numbers.
const ROUNDED: f64 = 0.01;

/// A CSV as written by hand or by a spreadsheet.
struct Sheet {
    head: Vec<String>,
    /// Each with its line.
    rows: Vec<(u64, Vec<String>)>,
    /// Cells are apart by semicolons or tabs, so that a comma is a decimal one.
    decimal_comma: bool,
}

impl Sheet {
    fn read(text: &str) -> Result<Sheet, ListError> {
        let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with('#')).unwrap_or("");
        let delimiter = *[b',', b';', b'\t'].iter().find(|d| first.as_bytes().contains(d)).unwrap_or(&b',');
        // With semicolons about, commas in the first line are in names.
        let delimiter = if first.contains(';') { b';' } else { delimiter };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(whole_lines(text.as_bytes()));
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| error(e.position().map_or(1, csv::Position::line), e.to_string()))?;
            rows.push((csv_line(text, &record), record.iter().map(str::to_owned).collect::<Vec<_>>()));
        }
        if rows.is_empty() {
            return Err(error(1, HEADS));
        }
        let (_, head) = rows.remove(0);
        if let Some((line, row)) = rows.iter().find(|(_, row)| row.len() != head.len()) {
            return Err(error(*line, format!("{} fields; the first line has {}", row.len(), head.len())));
        }
        Ok(Sheet { head, rows, decimal_comma: delimiter != b',' })
    }

    fn triples(&self, [from, to, rate]: [usize; 3]) -> Result<Vec<Entry>, ListError> {
        let mut entries = Vec::new();
        for (line, row) in &self.rows {
            push(&mut entries, &row[from], &row[to], self.amount(&row[rate], *line)?, *line)?;
        }
        Ok(entries)
    }

    /// Whether the first cells of rows are names, as those of the first line are: its first cell is
    /// empty, or stands in the corner of rows and columns with the same names.
    fn is_square(&self) -> bool {
        let columns = || self.head.iter().skip(1).filter(|name| !is_total(name));
        let corner = self.head.first().is_some_and(String::is_empty);
        let same = || {
            let rows: Vec<&String> = self.rows.iter().map(|(_, row)| &row[0]).filter(|name| !is_total(name)).collect();
            rows.len() > 1
                && rows.iter().all(|row| columns().any(|c| c == *row))
                && columns().all(|c| rows.contains(&c))
        };
        corner || (self.head.len() > 1 && same())
    }

    fn square(&self) -> Result<Vec<Entry>, ListError> {
        let cells = |(line, row): &(u64, Vec<String>)| {
            row[1..].iter().map(|cell| self.amount(cell, *line)).collect::<Result<Vec<f64>, _>>()
        };
        let amounts: Vec<Vec<f64>> = self.rows.iter().map(cells).collect::<Result<_, _>>()?;
        let (columns, rows) =
            (self.head[1..].iter().map(|name| is_total(name)), self.rows.iter().map(|r| is_total(&r.1[0])));
        let (columns, rows): (Vec<bool>, Vec<bool>) = (columns.collect(), rows.collect());
        self.check_totals(&amounts, &columns, &rows)?;
        let mut entries = Vec::new();
        for (i, (line, row)) in self.rows.iter().enumerate().filter(|(i, _)| !rows[*i]) {
            for (j, to) in self.head[1..].iter().enumerate().filter(|(j, _)| !columns[*j]) {
                push(&mut entries, &row[0], to, amounts[i][j], *line)?;
            }
        }
        Ok(entries)
    }

    /// A place may be called a total: what is taken for one has to be the sum of the others.
    fn check_totals(&self, amounts: &[Vec<f64>], columns: &[bool], rows: &[bool]) -> Result<(), ListError> {
        let is_sum = |total: f64, sum: f64| (total - sum).abs() <= ROUNDED * sum;
        for (i, (line, row)) in self.rows.iter().enumerate() {
            for (j, name) in self.head[1..].iter().enumerate() {
                let down = || (0..rows.len()).filter(|k| !rows[*k]).map(|k| amounts[k][j]).sum();
                let across = || (0..columns.len()).filter(|k| !columns[*k]).map(|k| amounts[i][k]).sum();
                // An empty cell of a total says nothing.
                let wrong = |sum: f64| amounts[i][j] > 0.0 && !is_sum(amounts[i][j], sum);
                if rows[i] && !columns[j] && wrong(down()) || columns[j] && !rows[i] && wrong(across()) {
                    let what = if rows[i] { &row[0] } else { name };
                    let message = format!("`{}` is not the sum of the others; totals are ignored", short(what));
                    return Err(error(*line, message));
                }
            }
        }
        Ok(())
    }

    /// Bits per second; an empty cell, or a dash, is none.
    fn amount(&self, cell: &str, line: u64) -> Result<f64, ListError> {
        if matches!(cell, "" | "-" | "\u{2013}") {
            return Ok(0.0);
        }
        if self.decimal_comma
            && let Some((whole, rest)) = cell.split_once(',')
        {
            // "1,234" may be either: who writes it with another number of digits has said which.
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            if whole.contains('.') || digits != 3 {
                return amount(&format!("{}.{rest}", whole.replace('.', "")), line);
            }
        }
        amount(cell, line)
    }
}

fn is_total(name: &str) -> bool {
    TOTALS.contains(&name.to_lowercase().as_str()) || name == "\u{3a3}"
}

/// Bits per second.
fn amount(cell: &str, line: u64) -> Result<f64, ListError> {
    if cell.contains(',') && cell.replace(',', "").parse::<f64>().is_ok() {
        let message =
            format!("`{}` is ambiguous (thousands or fraction): write it with a point, or with none", short(cell));
        return Err(error(line, message));
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
        let message = format!("`{}` to itself: crosses no link; leave it out", short(from));
        return Err(error(line, message));
    }
    if entries.len() >= MAX_ENTRIES {
        return Err(error(line, format!("more than {MAX_ENTRIES} entries")));
    }
    entries.push(Entry { from: from.to_owned(), to: to.to_owned(), amount, line });
    Ok(())
}

pub(crate) fn short(text: &str) -> String {
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
    fn what_spreadsheets_write_is_read_where_it_says_one_thing() {
        let entry = |a: &str, b: &str, x| (a.to_owned(), b.to_owned(), x);
        let both = [entry("Bern", "Geneva", 1.5e6), entry("Geneva", "Bern", 3e6)];
        for text in [
            "from;to;rate\nBern;Geneva;1,5 Mbps\nGeneva;Bern;3e6\n",
            "FROM\tTO\tRATE\nBern\tGeneva\t1500000,0\nGeneva\tBern\t3.000.000,0\n",
            "from/to;Bern;Geneva\nBern;-;1,5 Mbps\nGeneva;3000000;0\n",
            ",Bern,Geneva,Total\nBern,,1500000,1.5e6\nGeneva,3e6,\u{2013},3e6\nTotal,3e6,1.5e6,4.5e6\n",
            "\u{3a3},Geneva,Bern\nBern,1500000,\nGeneva,,3000000\nsum,1.5e6,3e6\n",
        ] {
            assert_eq!(triples(text), both, "{text}");
        }
    }

    #[test]
    fn what_may_be_two_things_is_refused_with_its_cause() {
        for (text, message) in [
            ("from;to;rate\na;b;1,234\n", "is ambiguous"),
            ("from,to,rate\na,b,\"1,5\"\n", "is ambiguous"),
            (",a,b,Total\na,,5,7\nb,3,,3\n", "`Total` is not the sum"),
            (",a,b\na,,5\nb,3,\nsum,4,5\n", "`sum` is not the sum"),
            (",a,b\na,1,5\nb,3,\n", "to itself"),
            ("corner,a,b\nx,,5\ny,3,\n", "the first line must be"),
            ("a,b,1 Mbps\nb,a,1 Mbps\n", "the first line must be"),
        ] {
            let e = parse_matrix_bytes(text.as_bytes()).expect_err(text);
            assert!(e.message.contains(message), "{text:?}: {e}");
        }
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
            ("{\"graph\": {\"demands\": {\"a\": {\"b\": \"x\"}}}}", 1, "is not a number"),
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
