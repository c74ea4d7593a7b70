//! Reads schedules and traces from files.

use std::str::FromStr;

use midpath_core::files::Files;
use midpath_core::node::Opportunities;
use midpath_core::spec::SpecError;
use midpath_core::units::{Time, UnitError};
use midpath_traffic::{csv_line, whole_lines};

use crate::scenario::StepSpec;

/// Longest file that is read. Ours: a trace of ten hours at 100 Mbps has half of it.
const MAX_BYTES: u64 = 256 << 20;
/// Most lines that are read of one file: as many as there may be steps.
const MAX_LINES: usize = super::MAX_STEPS;
/// The latest time of a trace: the longest delay of a link is as long.
const MAX_MS: u64 = 1_000_000_000;

/// The bytes of a file that the scenario names.
pub fn file(files: Files<'_>, name: &str, key: &str) -> Result<Vec<u8>, SpecError> {
    let path = files.path(name);
    let unreadable = |e| SpecError::new(key, format!("{name}: cannot be read: {e} ({})", path.display()));
    files.read(name, MAX_BYTES).map_err(unreadable)
}

/// Reads a mahimahi trace: a line for each delivery opportunity, in whole milliseconds, in order.
/// The message names the line.
pub fn parse_trace(bytes: &[u8]) -> Result<Opportunities, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "line 1: not a text".to_owned())?;
    let mut times: Vec<Time> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let shown: String = text.chars().take(40).collect();
        let ms: u64 = match text.trim().parse() {
            Ok(ms) if ms <= MAX_MS => ms,
            Ok(_) => return Err(format!("line {line}: `{shown}` is later than the maximum, {MAX_MS} ms")),
            Err(_) => return Err(format!("line {line}: `{shown}` is not a whole number of milliseconds")),
        };
        let at = Time::from_ms(ms);
        if times.last().is_some_and(|last| at < *last) {
            return Err(format!("line {line}: {ms} ms is before the line above; a trace is in order of time"));
        }
        if times.len() == MAX_LINES {
            return Err(format!("line {line}: more than {MAX_LINES} opportunities"));
        }
        times.push(at);
    }
    let last = times.len().max(1);
    Opportunities::new(times).ok_or_else(|| {
        format!("line {last}: a trace needs at least one line, and its last time, the period, must be above zero")
    })
}

/// Reads a schedule: CSV with a header of `at` and `rate`, `delay` or both. The message names the
/// line.
pub fn parse_schedule(bytes: &[u8]) -> Result<Vec<StepSpec>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "line 1: not a text".to_owned())?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(whole_lines(bytes));
    let header = reader.headers().map_err(|e| e.to_string())?.clone();
    let columns = header.iter().map(str::to_owned).collect::<Vec<_>>();
    if let Some(unknown) = columns.iter().find(|c| !["at", "rate", "delay"].contains(&c.as_str())) {
        let shown: String = unknown.chars().take(40).collect();
        return Err(format!("line 1: there is no column `{shown}`; columns are at, rate, delay"));
    }
    let column = |name: &str| columns.iter().position(|c| c == name);
    let Some(at) = column("at") else {
        return Err("line 1: the column `at` is missing; columns are at, rate, delay".to_owned());
    };
    let mut steps = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| e.to_string())?;
        let line = csv_line(text, &record);
        let cell = |column: Option<usize>| column.and_then(|c| record.get(c)).filter(|text| !text.is_empty());
        let wrong = |e: UnitError| format!("line {line}: {e}, or a plain number");
        let Some(at) = cell(Some(at)) else { return Err(format!("line {line}: `at` is empty")) };
        steps.push(StepSpec {
            at: quantity(at, "s").map_err(wrong)?,
            rate: cell(column("rate")).map(|text| quantity(text, "bps")).transpose().map_err(wrong)?,
            delay: cell(column("delay")).map(|text| quantity(text, "s")).transpose().map_err(wrong)?,
        });
        if steps.len() > MAX_LINES {
            return Err(format!("line {line}: more than {MAX_LINES} steps"));
        }
    }
    match steps.is_empty() {
        true => Err("line 1: there are no steps below the header".to_owned()),
        false => Ok(steps),
    }
}

/// A quantity, in `unit` where the text is a plain number.
fn quantity<T: FromStr<Err = UnitError>>(text: &str, unit: &str) -> Result<T, UnitError> {
    let plain = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    if plain { format!("{text} {unit}").parse() } else { text.parse() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::units::Rate;

    #[test]
    fn a_schedule_has_units_or_plain_numbers() {
        let steps =
            parse_schedule(b"# measured\nat, rate, delay\n0.5, 2e6, \n1500 ms, 3 Mbps, 20 ms\n").expect("a schedule");
        assert_eq!((steps[0].at, steps[0].rate, steps[0].delay), (Time::from_ms(500), Some(Rate::from_mbps(2)), None));
        assert_eq!((steps[1].at, steps[1].delay), (Time::from_ms(1500), Some(Time::from_ms(20))));
    }

    #[test]
    fn errors_name_the_line() {
        let schedule = |text: &str| parse_schedule(text.as_bytes()).expect_err(text);
        assert!(
            schedule("at,rate\n0,1e6\n1,fast\n").starts_with("line 3: `fast"),
            "{}",
            schedule("at,rate\n0,1e6\n1,fast\n")
        );
        assert!(schedule("# b\nat,rate\n0,1e6\n\n# c\n1,fast\n").starts_with("line 6: `fast"));
        assert!(schedule("time,rate\n0,1\n").starts_with("line 1: there is no column `time`"));
        assert!(schedule("rate\n1e6\n").starts_with("line 1: the column `at` is missing"));
        let trace = |text: &str| parse_trace(text.as_bytes()).expect_err(text);
        assert!(trace("1\n3\n2\n").starts_with("line 3: 2 ms is before"));
        assert!(trace("1\n\n2\n").starts_with("line 2: `` is not a whole number"));
        assert!(trace("0\n0\n").contains("above zero") && trace("").contains("at least one line"));
    }
}
