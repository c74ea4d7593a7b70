//! Flow lists: CSV, the flow text format of the HPCC simulator, and htsim's connection matrices.

use crate::connections::ConnectionList;
use crate::suggest::unknown;
use midpath_core::units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read};

/// A file of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSpec {
    /// File, relative to the scenario.
    #[schemars(extend("examples" = ["flows.csv"]))]
    pub file: String,
    /// Default: detected from the first line, else from the name (`.csv`, `.cm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FlowListFormat>,
}

impl ListSpec {
    /// The file's format: as said, or as its beginning says, or as its name does. A file that cannot be read is for
    /// the reader to refuse.
    pub(crate) fn format(&self, open: Open<'_>) -> FlowListFormat {
        let by_content = || FlowListFormat::recognise(open().ok()?.fill_buf().ok()?);
        self.format.or_else(by_content).unwrap_or_else(|| FlowListFormat::by_name(&self.file))
    }
}

/// Formats of flow lists. In the first two, hosts go by name or by node index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowListFormat {
    /// A header and a line per flow. Columns src, dst, size, start are required; scheme, group,
    /// stop, rate, after optional. Plain numbers are bytes, seconds or bits per second; "10 MB", "5 ms"
    /// work. An empty size is endless. `after`: groups, separated by `;`.
    Csv,
    /// The number of flows, then a line `src dst priority port size_bytes start_s` each. Further
    /// lines, priority and port are ignored, as in the HPCC simulator.
    Hpcc,
    /// htsim's connection matrix (`.cm`): `Nodes n`, `Connections n`, then for each
    /// `src->dst start picoseconds size bytes`. Hosts are counted from 0, in the network's order. A size
    /// of 0 is a flow without end; `id` and `prio` carry no meaning here; a connection that begins
    /// on a trigger is refused.
    Htsim,
}

impl FlowListFormat {
    /// Every format.
    pub const ALL: [FlowListFormat; 3] = [FlowListFormat::Csv, FlowListFormat::Hpcc, FlowListFormat::Htsim];

    /// By the first line of `head` that is neither empty nor a comment.
    pub fn recognise(head: &[u8]) -> Option<FlowListFormat> {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.trim_start_matches('\u{feff}').lines().map(str::trim);
        let first = lines.find(|l| !l.is_empty() && !l.starts_with('#'))?;
        match first.split_whitespace().next()? {
            _ if first.parse::<u64>().is_ok() => Some(FlowListFormat::Hpcc),
            "Nodes" | "Connections" => Some(FlowListFormat::Htsim),
            _ if first.contains(',') => Some(FlowListFormat::Csv),
            _ => None,
        }
    }

    fn by_name(file: &str) -> FlowListFormat {
        match file.to_ascii_lowercase().rsplit('.').next() {
            Some("csv") => FlowListFormat::Csv,
            Some("cm") => FlowListFormat::Htsim,
            _ => FlowListFormat::Hpcc,
        }
    }
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
    /// Groups that must have ended.
    pub after: Vec<String>,
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

pub(crate) fn error(line: u64, message: impl Into<String>) -> ListError {
    ListError { line, message: message.into() }
}

/// Reads a flow list. Never panics, whatever the bytes.
pub fn parse_flow_list_bytes(format: FlowListFormat, bytes: &[u8]) -> Result<Vec<ListedFlow>, ListError> {
    let open = || Ok(Box::new(bytes) as Box<dyn BufRead + '_>);
    let mut reader = ListReader::new(format, &open)?;
    let mut flows = Vec::new();
    while let Some(flow) = reader.next()? {
        flows.push(flow);
    }
    Ok(flows)
}

/// A list that is read flow by flow.
pub(crate) enum ListReader<'a> {
    Csv(Box<CsvList<'a>>),
    Hpcc(HpccList<'a>),
    Htsim(ConnectionList<'a>),
}

/// Opens a list from its beginning.
pub(crate) type Open<'a> = &'a dyn Fn() -> io::Result<Box<dyn BufRead + 'a>>;

impl<'a> ListReader<'a> {
    pub fn new(format: FlowListFormat, open: Open<'a>) -> Result<ListReader<'a>, ListError> {
        let again = || open().map_err(|e| error(0, e.to_string()));
        Ok(match format {
            FlowListFormat::Csv => ListReader::Csv(Box::new(CsvList::new(again()?, again()?)?)),
            FlowListFormat::Hpcc => ListReader::Hpcc(HpccList::new(again()?)?),
            FlowListFormat::Htsim => ListReader::Htsim(ConnectionList::new(Lines::new(again()?))),
        })
    }

    /// The next flow; `None` after the last.
    pub fn next(&mut self) -> Result<Option<ListedFlow>, ListError> {
        match self {
            ListReader::Csv(list) => list.next(),
            ListReader::Hpcc(list) => list.next(),
            ListReader::Htsim(list) => list.next(),
        }
    }

    /// Whether hosts are numbers that count them in the network's order.
    pub fn counts_hosts(&self) -> bool {
        matches!(self, ListReader::Htsim(_))
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

/// A list of the HPCC simulator.
pub(crate) struct HpccList<'a> {
    lines: Lines<'a>,
    read: u64,
    wanted: u64,
}

const NOT_A_COUNT: &str = "the first line is the number of flows, nothing else";

impl<'a> HpccList<'a> {
    fn new(reader: Box<dyn BufRead + 'a>) -> Result<HpccList<'a>, ListError> {
        let mut lines = Lines::new(reader);
        let (line, first) = lines.next()?.ok_or_else(|| error(1, "empty; the first line is the number of flows"))?;
        let wanted: u64 = first.trim().parse().map_err(|_| error(line, NOT_A_COUNT))?;
        Ok(HpccList { lines, read: 0, wanted })
    }

    fn next(&mut self) -> Result<Option<ListedFlow>, ListError> {
        if self.read == self.wanted {
            return Ok(None);
        }
        match self.lines.next()? {
            Some((line, text)) => {
                self.read += 1;
                hpcc_flow(line, text).map(Some)
            }
            None => {
                let message = format!("the file ends after {} of {} flows", self.read, self.wanted);
                Err(error(self.lines.line, message))
            }
        }
    }
}

/// Lines that are not blank, with their numbers.
pub(crate) struct Lines<'a> {
    reader: Box<dyn BufRead + 'a>,
    line: u64,
    text: String,
}

impl<'a> Lines<'a> {
    fn new(reader: Box<dyn BufRead + 'a>) -> Lines<'a> {
        Lines { reader, line: 0, text: String::new() }
    }

    /// How many lines have been read, and at least 1.
    pub fn read(&self) -> u64 {
        self.line.max(1)
    }

    pub fn next(&mut self) -> Result<Option<(u64, &str)>, ListError> {
        loop {
            self.text.clear();
            match self.reader.read_line(&mut self.text) {
                Ok(0) => return Ok(None),
                Ok(_) => self.line += 1,
                Err(e) if e.kind() == io::ErrorKind::InvalidData => return Err(error(self.line + 1, NOT_TEXT)),
                Err(e) => return Err(error(self.line + 1, e.to_string())),
            }
            if !self.text.trim().is_empty() {
                return Ok(Some((self.line, &self.text)));
            }
        }
    }
}

fn hpcc_flow(line: u64, text: &str) -> Result<ListedFlow, ListError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [src, dst, _priority, _port, size, start] = fields[..] else {
        let n = fields.len();
        return Err(error(line, format!("{n} fields; a flow is `src dst priority port size_bytes start_s`")));
    };
    let size = quantity(size, "B", "size", line)?;
    if size == Bytes::ZERO {
        return Err(error(line, "size: must be at least 1 B"));
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

const COLUMNS: [&str; 9] = ["src", "dst", "size", "start", "scheme", "group", "stop", "rate", "after"];

/// A CSV file.
pub(crate) struct CsvList<'a> {
    records: csv::Reader<Box<dyn Read + 'a>>,
    record: csv::StringRecord,
    columns: [Option<usize>; 9],
    /// The same file again: the reader of records says where a record stands, not on which line.
    places: Places<'a>,
}

impl<'a> CsvList<'a> {
    fn new(reader: Box<dyn BufRead + 'a>, again: Box<dyn BufRead + 'a>) -> Result<CsvList<'a>, ListError> {
        // Without an end of line, a comment at the end would be a row.
        let whole: Box<dyn Read + 'a> = Box::new(reader.chain(&b"\n"[..]));
        let mut records = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(whole);
        let mut places = Places { reader: again, byte: 0, line: 0, text: Vec::new() };
        let columns = records.headers().map_err(|e| csv_error(&e, &mut places)).and_then(csv_columns)?;
        Ok(CsvList { records, record: csv::StringRecord::new(), columns, places })
    }

    fn next(&mut self) -> Result<Option<ListedFlow>, ListError> {
        if !self.records.read_record(&mut self.record).map_err(|e| csv_error(&e, &mut self.places))? {
            return Ok(None);
        }
        let line = self.record.position().map_or(1, |at| self.places.line(at.byte()));
        csv_flow(&self.record, &self.columns, line).map(Some)
    }
}

/// On which lines records stand, in the order in which they are asked for.
struct Places<'a> {
    reader: Box<dyn BufRead + 'a>,
    /// Where the lines that were read end.
    byte: u64,
    /// The number of the last of them.
    line: u64,
    text: Vec<u8>,
}

impl Places<'_> {
    /// The line of the record that begins at `byte`, or after blank lines and comments there.
    fn line(&mut self, byte: u64) -> u64 {
        while self.is_nothing_from(byte) {
            self.text.clear();
            match self.reader.read_until(b'\n', &mut self.text) {
                Ok(read) if read > 0 => (self.byte, self.line) = (self.byte + read as u64, self.line + 1),
                // Who reads the records says what is wrong.
                _ => break,
            }
        }
        self.line.max(1)
    }

    /// Whether no record begins at `byte` or behind it in the last line.
    fn is_nothing_from(&self, byte: u64) -> bool {
        let left = self.byte.saturating_sub(byte).min(self.text.len() as u64) as usize;
        let rest = &self.text[self.text.len() - left..];
        rest.trim_ascii().is_empty() || rest.starts_with(b"#")
    }
}

const NOT_TEXT: &str = "not UTF-8 text";

fn csv_error(e: &csv::Error, places: &mut Places<'_>) -> ListError {
    let line = e.position().map_or(1, |at| places.line(at.byte()));
    match e.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            error(line, format!("{len} fields, the header has {expected_len}"))
        }
        csv::ErrorKind::Utf8 { .. } => error(line, NOT_TEXT),
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
fn csv_columns(header: &csv::StringRecord) -> Result<[Option<usize>; 9], ListError> {
    let mut at = [None; 9];
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
                "no column `{}`; the header is src,dst,size,start and optionally scheme,group,stop,rate,after",
                COLUMNS[missing]
            ),
        )),
        None => Ok(at),
    }
}

fn csv_flow(record: &csv::StringRecord, columns: &[Option<usize>; 9], line: u64) -> Result<ListedFlow, ListError> {
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
        after: field(8)
            .unwrap_or_default()
            .split(';')
            .map(str::trim)
            .filter(|g| !g.is_empty())
            .map(str::to_owned)
            .collect(),
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
            (Hpcc, "99999999999\n", 1, "ends after 0 of 99999999999"),
            (Hpcc, "Nodes 8\nConnections 1\n0->1 id 1 start 0 size 9\n", 1, "the first line is the number"),
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
        for (format, text) in [(Csv, &b"src,dst,size,start\n\xff,b,1,1"[..]), (Hpcc, b"2\n\xff 1 3 100 1 2")] {
            let e = parse_flow_list_bytes(format, text).expect_err("not text");
            assert_eq!((e.line, &*e.message), (2, NOT_TEXT), "{format:?}");
        }
    }

    /// Whatever stands between flows, and however lines end.
    #[test]
    fn flows_know_their_lines() {
        let head = "src,dst,size,start\n";
        for (rows, lines) in [
            ("a,b,1,1\na,b,1,2\n", vec![2, 3]),
            ("\n# note\n\na,b,1,1\n# note\n#\n\na,b,1,2", vec![5, 9]),
            ("a,b,1,1\r\n\r\n# note\r\na,b,1,2\r\n", vec![2, 5]),
            ("\"a\nx\",b,1,1\na,b,1,2\n# end", vec![2, 4]),
        ] {
            let flows = parse_flow_list_bytes(FlowListFormat::Csv, format!("{head}{rows}").as_bytes());
            let found: Vec<u64> = flows.expect(rows).iter().map(|f| f.line).collect();
            assert_eq!(found, lines, "{rows:?}");
        }
        let flows = parse_flow_list_bytes(FlowListFormat::Hpcc, b"\n2\r\n\n0 1 3 100 1 2\r\n\n0 1 3 100 1 2");
        assert_eq!(flows.expect("valid").iter().map(|f| f.line).collect::<Vec<_>>(), [4, 6]);
    }

    #[test]
    fn formats_are_known_by_the_first_line_whatever_the_name() {
        use FlowListFormat::{Csv, Hpcc, Htsim};
        for (name, text, format) in [
            ("flows.txt", CSV, Csv),
            ("flows.csv", HPCC, Hpcc),
            ("flows.txt", "# a\n\nNodes 2\nConnections 0\n", Htsim),
            ("flows.csv", "\u{feff}src,dst\n", Csv),
            ("flows.CSV", "", Csv),
            ("flows.cm", "x y\n", Htsim),
            ("flows", "x y\n", Hpcc),
        ] {
            let list = ListSpec { file: name.to_owned(), format: None };
            let open = || Ok(Box::new(text.as_bytes()) as Box<dyn BufRead>);
            assert_eq!(list.format(&open), format, "{name}: {text}");
            assert_eq!(ListSpec { format: Some(Hpcc), ..list }.format(&open), Hpcc);
        }
    }

    proptest! {
        #[test]
        fn mutated_lists_never_panic(
            edits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8),
            which in 0usize..3,
        ) {
            let format = FlowListFormat::ALL[which];
            let text = [CSV, HPCC, crate::connections::SAMPLE][which];
            let mut bytes = text.as_bytes().to_vec();
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = parse_flow_list_bytes(format, &bytes);
        }
    }
}
