//! Flow lists: CSV, and the flow text format of the HPCC simulator.

use crate::flow::MAX_FLOWS;
use crate::suggest::unknown;
use midpath_core::units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSpec {
    /// Path, relative to the scenario.
    pub file: String,
    /// Format; unless said, a name that ends in .csv is CSV and any other is HPCC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FlowListFormat>,
}

/// Formats of flow lists. In both, hosts go by name or by node index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowListFormat {
    /// A header line, then a line for each flow. Columns src, dst, size, start are needed, scheme,
    /// group, stop and rate may be there, in any order. A plain number is bytes, seconds or bits
    /// per second; "10 MB", "5 ms" work too. An empty size is a flow without end.
    Csv,
    /// The number of flows, then for each `src dst priority port size_bytes start_s`. Lines past
    /// that number are not read, as in the HPCC simulator; priority and port carry no meaning here.
    Hpcc,
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedFlow {
    /// Sending host, by name or node index.
    pub src: String,
    /// Receiving host, by name or node index.
    pub dst: String,
    /// Payload; `None` runs until `stop`, or until the run ends.
    pub size: Option<Bytes>,
    /// When it starts.
    pub start: Time,
    /// When it gives up.
    pub stop: Option<Time>,
    /// Constant rate.
    pub rate: Option<Rate>,
    /// Scheme.
    pub scheme: Option<String>,
    /// Group.
    pub group: Option<String>,
    /// Its line in the file, counted from 1.
    pub line: u64,
}

/// Why bytes are not a flow list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ListError {
    /// Line, counted from 1.
    pub line: u64,
    /// What is wrong, and what would have been accepted.
    pub message: String,
}

fn error(line: u64, message: impl Into<String>) -> ListError {
    ListError { line, message: message.into() }
}

/// Reads a flow list. Never panics, whatever the bytes.
pub fn parse_flow_list_bytes(format: FlowListFormat, bytes: &[u8]) -> Result<Vec<ListedFlow>, ListError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() as u64;
        error(line, "not UTF-8 text")
    })?;
    match format {
        FlowListFormat::Csv => parse_csv(text),
        FlowListFormat::Hpcc => parse_hpcc(text),
    }
}

/// The text of a quantity, with the base unit added to a plain number.
fn quantity<T: std::str::FromStr<Err = midpath_core::units::UnitError>>(
    text: &str,
    unit: &str,
    column: &str,
    line: u64,
) -> Result<T, ListError> {
    let plain = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let parsed = if plain { format!("{text} {unit}").parse() } else { text.parse() };
    parsed.map_err(|e| error(line, format!("{column}: {e}, or a plain number of {unit}")))
}

fn parse_hpcc(text: &str) -> Result<Vec<ListedFlow>, ListError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty());
    let (line, first) = lines.next().ok_or_else(|| error(1, "empty; the first line is the number of flows"))?;
    let wanted: u64 =
        first.trim().parse().map_err(|_| error(line, "the first line is the number of flows, nothing else"))?;
    if wanted > MAX_FLOWS {
        return Err(error(line, format!("{wanted} flows are more than {MAX_FLOWS}")));
    }
    let mut flows = Vec::new();
    for (line, text) in lines.take(wanted as usize) {
        flows.push(hpcc_flow(line, text)?);
    }
    if (flows.len() as u64) < wanted {
        let last = text.lines().count() as u64;
        return Err(error(last, format!("the file ends after {} of {wanted} flows", flows.len())));
    }
    Ok(flows)
}

fn hpcc_flow(line: u64, text: &str) -> Result<ListedFlow, ListError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [src, dst, _priority, _port, size, start] = fields[..] else {
        let n = fields.len();
        return Err(error(line, format!("{n} fields; a flow is `src dst priority port size_bytes start_s`")));
    };
    let size = quantity(size, "B", "size", line)?;
    if size == Bytes::ZERO {
        return Err(error(line, "size: a flow moves at least 1 B"));
    }
    Ok(ListedFlow {
        src: src.to_owned(),
        dst: dst.to_owned(),
        size: Some(size),
        start: quantity(start, "s", "start", line)?,
        line,
        ..ListedFlow::default()
    })
}

const COLUMNS: [&str; 8] = ["src", "dst", "size", "start", "scheme", "group", "stop", "rate"];

fn parse_csv(text: &str) -> Result<Vec<ListedFlow>, ListError> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(whole_lines(text.as_bytes()));
    let header = reader.headers().map_err(csv_error)?.clone();
    let columns = csv_columns(&header)?;
    let mut flows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = csv_line(text, &record);
        flows.push(csv_flow(&record, &columns, line)?);
        if flows.len() as u64 > MAX_FLOWS {
            return Err(error(line, format!("more than {MAX_FLOWS} flows")));
        }
    }
    Ok(flows)
}

fn csv_error(e: csv::Error) -> ListError {
    let line = e.position().map_or(1, csv::Position::line);
    match e.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            error(line, format!("{len} fields, the header has {expected_len}"))
        }
        _ => error(line, e.to_string()),
    }
}

/// `bytes` with an end of line behind them: without one, the CSV reader takes a comment at the end
/// for a row.
pub fn whole_lines(bytes: &[u8]) -> impl std::io::Read {
    std::io::Read::chain(bytes, &b"\n"[..])
}

/// The line of a record: the reader's position is that of the blank and comment lines before it.
pub fn csv_line(text: &str, record: &csv::StringRecord) -> u64 {
    let Some(position) = record.position() else { return 1 };
    let rest = text.get(position.byte() as usize..).unwrap_or("");
    let skipped = rest.lines().take_while(|l| l.trim().is_empty() || l.starts_with('#')).count();
    position.line() + skipped as u64
}

/// Where each of [`COLUMNS`] stands.
fn csv_columns(header: &csv::StringRecord) -> Result<[Option<usize>; 8], ListError> {
    let mut at = [None; 8];
    for (i, name) in header.iter().enumerate() {
        let known = COLUMNS.iter().position(|c| *c == name);
        let column = known.ok_or_else(|| error(1, unknown("column", name, COLUMNS)))?;
        if at[column].replace(i).is_some() {
            return Err(error(1, format!("column `{name}` twice")));
        }
    }
    match (0..4).find(|&c| at[c].is_none()) {
        Some(missing) => Err(error(
            1,
            format!(
                "no column `{}`; the header is src,dst,size,start and, if you like, scheme,group,stop,rate",
                COLUMNS[missing]
            ),
        )),
        None => Ok(at),
    }
}

fn csv_flow(record: &csv::StringRecord, columns: &[Option<usize>; 8], line: u64) -> Result<ListedFlow, ListError> {
    let field = |column: usize| columns[column].and_then(|i| record.get(i)).filter(|s| !s.is_empty());
    let needed = |column: usize| field(column).ok_or_else(|| error(line, format!("{} is empty", COLUMNS[column])));
    let size: Option<Bytes> = field(2).map(|t| quantity(t, "B", "size", line)).transpose()?;
    let rate: Option<Rate> = field(7).map(|t| quantity(t, "bps", "rate", line)).transpose()?;
    let start: Time = quantity(needed(3)?, "s", "start", line)?;
    let stop: Option<Time> = field(6).map(|t| quantity(t, "s", "stop", line)).transpose()?;
    if size == Some(Bytes::ZERO) || rate == Some(Rate::ZERO) {
        return Err(error(line, "size and rate must be above zero"));
    }
    if stop.is_some_and(|stop| stop <= start) {
        return Err(error(line, "stop must be later than start"));
    }
    Ok(ListedFlow {
        src: needed(0)?.to_owned(),
        dst: needed(1)?.to_owned(),
        size,
        start,
        stop,
        rate,
        scheme: field(4).map(str::to_owned),
        group: field(5).map(str::to_owned),
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HPCC: &str = "2\n0 1 3 100 200000 2.0\n5 7 3 101 1 0.0000015\n";
    const CSV: &str = "src,dst,size,start,group\nh0,h1,10 MB,1.5,a\n# note\nh1,h0,,20 ms,\n";

    #[test]
    fn hpcc_lists_are_read() {
        let flows = parse_flow_list_bytes(FlowListFormat::Hpcc, HPCC.as_bytes()).expect("valid");
        assert_eq!(flows.len(), 2);
        assert_eq!((flows[0].src.as_str(), flows[0].dst.as_str()), ("0", "1"));
        assert_eq!((flows[0].size, flows[0].start), (Some(Bytes(200_000)), Time::from_secs(2)));
        assert_eq!((flows[1].start, flows[1].line), (Time::from_ns(1500), 3));
    }

    #[test]
    fn csv_lists_are_read() {
        let flows = parse_flow_list_bytes(FlowListFormat::Csv, CSV.as_bytes()).expect("valid");
        assert_eq!(flows.len(), 2);
        assert_eq!((flows[0].size, flows[0].start), (Some(Bytes(10_000_000)), Time::from_ms(1500)));
        assert_eq!((flows[0].group.as_deref(), flows[1].group.as_deref()), (Some("a"), None));
        assert_eq!((flows[1].size, flows[1].start, flows[1].line), (None, Time::from_ms(20), 4));
    }

    #[test]
    fn bad_lists_name_the_line() {
        use FlowListFormat::{Csv, Hpcc};
        for (format, text, line, message) in [
            (Hpcc, "", 1, "number of flows"),
            (Hpcc, "2\n0 1 3 100 1 2\n", 2, "ends after 1 of 2"),
            (Hpcc, "1\n0 1 3 100 2\n", 2, "5 fields"),
            (Hpcc, "1\n0 1 3 100 -5 1\n", 2, "size"),
            (Hpcc, "99999999999\n", 1, "more than"),
            (Csv, "src,dst,size\n", 1, "no column `start`"),
            (Csv, "src,dst,size,strat\n", 1, "did you mean `start`"),
            (Csv, "src,dst,size,start\na,b,1\n", 2, "3 fields"),
            (Csv, "src,dst,size,start\na,b,1,1 parsec\n", 2, "start"),
            (Csv, "src,dst,size,start\na,,1,1\n", 2, "dst is empty"),
            (Csv, "src,dst,size,start,stop\na,b,1,1,1\n", 2, "later"),
        ] {
            let e = parse_flow_list_bytes(format, text.as_bytes()).expect_err(text);
            assert!(e.line == line && e.message.contains(message), "{text:?}: {e}");
        }
        assert_eq!(parse_flow_list_bytes(Csv, b"src\n\xff").expect_err("not text").line, 2);
    }

    proptest! {
        #[test]
        fn mutated_lists_never_panic(edits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8), csv: bool) {
            let (format, text) = if csv { (FlowListFormat::Csv, CSV) } else { (FlowListFormat::Hpcc, HPCC) };
            let mut bytes = text.as_bytes().to_vec();
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = parse_flow_list_bytes(format, &bytes);
        }
    }
}
