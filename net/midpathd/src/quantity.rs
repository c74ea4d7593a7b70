//! Rates, times and sizes as people write them.

use std::fmt::Write as _;

// Case matters: to some tools mbps are megabytes, and MB are to all.
const RATES: [(&str, f64); 13] = [
    ("bps", 1.0),
    ("bit", 1.0),
    ("bit/s", 1.0),
    ("kbps", 1e3),
    ("kbit", 1e3),
    ("kbit/s", 1e3),
    ("Mbps", 1e6),
    ("Mbit", 1e6),
    ("Mbit/s", 1e6),
    ("Gbps", 1e9),
    ("Gbit", 1e9),
    ("Gbit/s", 1e9),
    ("Tbps", 1e12),
];
const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A rate in bits per second: `100Mbps`, `2.5 Gbit/s`, `500kbit`.
pub fn rate_bps(text: &str) -> Result<u64, String> {
    read(text, &RATES).ok_or_else(|| {
        let written = "write it like 100Mbps, 2.5Gbps or 500kbit";
        match number_and_unit(text).and_then(|(_, unit)| in_other_case(unit)) {
            Some(unit) => {
                format!("{text:?} is not a rate: the unit is spelled {unit}, and B means bytes; {written}")
            }
            None => format!("{text:?} is not a rate; {written}"),
        }
    })
}

/// A time in nanoseconds: `5ms`, `0.5 s`, `200us`.
pub fn time_ns(text: &str) -> Result<u64, String> {
    read(text, &TIMES).ok_or_else(|| format!("{text:?} is not a time; write it like 5ms, 0.5s or 200us"))
}

fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    Some((number, unit.trim()))
}

/// The unit of rates that differs from this one by the case of its letters alone.
fn in_other_case(unit: &str) -> Option<&'static str> {
    RATES.iter().map(|(name, _)| *name).find(|name| name.eq_ignore_ascii_case(unit))
}

fn read(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let value = number.parse::<f64>().ok()? * factor;
    // Below 2⁶³, where a float still is a whole number.
    (value.is_finite() && (0.0..9.2e18).contains(&value)).then_some(value.round() as u64)
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
    fn quantities_are_read_as_people_write_them() {
        assert_eq!(rate_bps("100Mbps"), Ok(100_000_000));
        assert_eq!(rate_bps(" 2.5 Gbit/s "), Ok(2_500_000_000));
        assert_eq!(rate_bps("500kbit"), Ok(500_000));
        assert_eq!(time_ns("5ms"), Ok(5_000_000));
        assert_eq!(time_ns("0.5s"), Ok(500_000_000));
        for wrong in ["", "5", "ms", "-5ms", "5 parsecs", "1e3ms", "..5ms", "99999999999999999999s"] {
            assert!(time_ns(wrong).is_err(), "{wrong}");
        }
        assert!(rate_bps("5ms").unwrap_err().contains("like 100Mbps"));
        for bytes in ["95MBps", "95mbps", "95 MBPS", "1KBPS"] {
            assert!(rate_bps(bytes).unwrap_err().contains("B means bytes"), "{bytes}");
        }
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
