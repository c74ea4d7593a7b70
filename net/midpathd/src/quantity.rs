//! Rates, times and sizes as people write them.

use std::fmt::Write as _;

use midpath_core::units::{Rate, Time, UnitError};

/// A rate in bits per second: `100Mbps`, `2.5 Gbit/s`, `500kbit`.
pub fn rate_bps(text: &str) -> Result<u64, UnitError> {
    text.parse().map(|rate: Rate| rate.0)
}

/// A time in nanoseconds: `5ms`, `0.5 s`, `200us`.
pub fn time_ns(text: &str) -> Result<u64, UnitError> {
    text.parse().map(Time::as_ns)
}

/// `100 Mbps`.
pub fn show_rate(bps: u64) -> String {
    show(bps as f64, &[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")])
}

/// `5 ms`.
pub fn show_time(ns: u64) -> String {
    show(ns as f64, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// `1.25 MB`.
pub fn show_bytes(bytes: u64) -> String {
    show(bytes as f64, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// Three digits and the largest unit that leaves a whole part.
fn show(value: f64, units: &[(f64, &str)]) -> String {
    let (factor, unit) = units.iter().find(|(factor, _)| value >= *factor).unwrap_or(&units[units.len() - 1]);
    let number = value / factor;
    let places = match number {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    let mut text = format!("{number:.places$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    let _ = write!(text, " {unit}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_in_scenarios() {
        assert_eq!(rate_bps("100Mbps"), Ok(100_000_000));
        assert_eq!(rate_bps(" 2.5 Gbit/s "), Ok(2_500_000_000));
        assert_eq!(rate_bps("500kbit"), Ok(500_000));
        assert_eq!(time_ns("5ms"), Ok(5_000_000));
        assert_eq!(time_ns("0.5s"), Ok(500_000_000));
        assert!(rate_bps("95MBps").unwrap_err().to_string().contains("the unit is spelled Mbps"));
    }

    #[test]
    fn quantities_are_shown_with_three_digits() {
        assert_eq!(show_rate(100_000_000), "100 Mbps");
        assert_eq!(show_rate(1_234_000), "1.23 Mbps");
        assert_eq!(show_time(5_000_000), "5 ms");
        assert_eq!(show_time(0), "0 ns");
        assert_eq!(show_bytes(1_048_576), "1.05 MB");
    }
}
