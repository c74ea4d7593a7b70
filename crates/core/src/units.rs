//! Integer units: [`Time`] in picoseconds, [`Rate`] in bits per second, [`Bytes`], and [`Ratio`] in
//! parts per billion.
//!
//! Each is a newtype with a zero, ordered and hashable, and reads and prints the text people write
//! in scenarios: `"10 Mbps"`, `"5 ms"`, `"1.25 MB"`, `"2.5 %"`. Prefixes are decimal (k = 1000)
//! unless written `Ki`, `Mi`, `Gi`.
//!
//! Arithmetic that can leave the range saturates only where its name says so; elsewhere it panics
//! in builds with overflow checks, because a clock that wrapped is a bug that must stop the run.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}{}; write {example}", said(*.spelled))]
pub struct UnitError {
    /// The text as it was given.
    pub text: String,
    /// What was wanted, with its article: "a rate".
    pub what: &'static str,
    /// What would have been accepted.
    pub example: &'static str,
    /// The unit that its own differs from by the case of its letters alone.
    pub spelled: Option<&'static str>,
}

/// Case matters: to some tools mbps are megabytes, and MB are to all.
fn said(spelled: Option<&str>) -> String {
    spelled.map_or(String::new(), |unit| format!(": the unit is spelled {unit}"))
}

/// A point in time or a length of time, in picoseconds. The range is 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A transmission rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A share in parts per billion: `Ratio::ONE` is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(pub u64);

const PS_PER_S: u64 = 1_000_000_000_000;

/// Below this, 2^52, a float's whole part and what is left of it are both exact.
const WHOLE: f64 = (1u64 << 52) as f64;

impl Time {
    /// The start of every run, and the empty duration.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens: "never".
    pub const MAX: Time = Time(u64::MAX);

    /// `n` picoseconds.
    pub const fn from_ps(n: u64) -> Time {
        Time(n)
    }
    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Time {
        Time(n.saturating_mul(1_000))
    }
    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Time {
        Time(n.saturating_mul(1_000_000))
    }
    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Time {
        Time(n.saturating_mul(1_000_000_000))
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Time {
        Time(n.saturating_mul(PS_PER_S))
    }
    /// Seconds as a float, rounded to the nearest picosecond; negative and NaN become zero, too
    /// much becomes [`Time::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Time {
        let ps = s * PS_PER_S as f64;
        if !(0.0..WHOLE).contains(&ps) {
            return Time(ps.round() as u64);
        }
        // `round` is a call on processors that have no instruction for it.
        let down = ps as i64;
        Time(down as u64 + u64::from(ps - down as f64 >= 0.5))
    }
    /// What a bare number would be in the unit of results: seconds.
    fn of_number(s: f64) -> Option<Time> {
        (s > 0.0).then(|| Time::from_secs_f64(s)).filter(|t| *t != Time::MAX)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The same of a duration below a hundred days: five instructions less.
    #[inline]
    pub fn short_secs_f64(self) -> f64 {
        debug_assert!(self.0 < 1 << 63, "{self:?} is long");
        self.0 as i64 as f64 / PS_PER_S as f64
    }
    /// In whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// `self - other`, or zero if `other` is later.
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
    /// `self + other`, or [`Time::MAX`].
    pub const fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
    /// Times a float, rounded to the nearest picosecond.
    pub fn mul_f64(self, f: f64) -> Time {
        Time((self.0 as f64 * f).round() as u64)
    }
    /// Whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Rate {
    /// No transmission at all.
    pub const ZERO: Rate = Rate(0);

    /// `n` million bits per second.
    pub const fn from_mbps(n: u64) -> Rate {
        Rate(n.saturating_mul(1_000_000))
    }
    /// What 1 is, by the name that SNDlib has for a unit (`MBITPERSEC`) or a short one, in any case of letters.
    pub fn of_unit(name: &str) -> Option<Rate> {
        match name.to_ascii_uppercase().as_str() {
            "BITPERSEC" | "BPS" => Some(Rate(1)),
            "KBITPERSEC" | "KBPS" => Some(Rate(1_000)),
            "MBITPERSEC" | "MBPS" => Some(Rate::from_mbps(1)),
            "GBITPERSEC" | "GBPS" => Some(Rate::from_gbps(1)),
            _ => None,
        }
    }
    /// `n` billion bits per second.
    pub const fn from_gbps(n: u64) -> Rate {
        Rate(n.saturating_mul(1_000_000_000))
    }
    /// What a bare number would be in the unit of results: bits per second.
    fn of_number(bps: f64) -> Option<Rate> {
        (bps >= 1.0).then_some(Rate(bps as u64))
    }
    /// In bits per second.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// In bytes per second, at least one: for equations that divide by a capacity, of a link that
    /// stands still, too.
    pub fn bytes_per_second(self) -> f64 {
        (self.0 as f64 / 8.0).max(1.0)
    }
    /// How long `bytes` take at this rate, rounded up to a picosecond; [`Time::MAX`] for a zero
    /// rate.
    pub fn time_for(self, bytes: Bytes) -> Time {
        if self.0 == 0 {
            return Time::MAX;
        }
        if let Some(work) = bytes.0.checked_mul(8 * PS_PER_S) {
            return Time(work.div_ceil(self.0));
        }
        let ps = (u128::from(bytes.0) * 8 * u128::from(PS_PER_S)).div_ceil(u128::from(self.0));
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// How many whole bytes pass in `time`, rounded down.
    pub fn bytes_in(self, time: Time) -> Bytes {
        let b = u128::from(self.0) * u128::from(time.0) / (8 * u128::from(PS_PER_S));
        Bytes(u64::try_from(b).unwrap_or(u64::MAX))
    }
    /// The rate that moves `bytes` in `time`, rounded down; zero time gives zero.
    pub fn from_bytes_in(bytes: Bytes, time: Time) -> Rate {
        if time.0 == 0 {
            return Rate::ZERO;
        }
        if let Some(work) = bytes.0.checked_mul(8 * PS_PER_S) {
            return Rate(work / time.0);
        }
        let r = u128::from(bytes.0) * 8 * u128::from(PS_PER_S) / u128::from(time.0);
        Rate(u64::try_from(r).unwrap_or(u64::MAX))
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
    /// What a bare number would be in the unit of results: bytes.
    fn of_number(bytes: f64) -> Option<Bytes> {
        (bytes >= 1.0 && bytes.fract() == 0.0).then_some(Bytes(bytes as u64))
    }
    /// As a float.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Ratio {
    /// 0.
    pub const ZERO: Ratio = Ratio(0);
    /// 1.
    pub const ONE: Ratio = Ratio(1_000_000_000);
    /// From a float, rounded to the nearest part per billion; negative and NaN become zero.
    pub fn from_f64(f: f64) -> Ratio {
        Ratio((f * 1e9).round() as u64)
    }
    /// What a bare number would be.
    fn of_number(f: f64) -> Option<Ratio> {
        (0.0..=1.0).contains(&f).then(|| Ratio::from_f64(f))
    }
    /// As a float.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Serialisation delay without a division: picoseconds per byte in fixed point with 20 fractional
/// bits.
///
/// Exact whenever 8·10¹²·2²⁰ is a multiple of the rate (every power-of-ten rate and all usual
/// ones); otherwise late by less than 2⁻²⁰ ps per byte, never early, so that a link never exceeds
/// its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxClock {
    per_byte: u64,
}

impl TxClock {
    const FRACTION: u32 = 20;

    /// A clock for `rate`, which must not be zero. The slowest rate is 1 bit/s.
    pub fn new(rate: Rate) -> TxClock {
        assert!(rate.0 > 0, "a link needs a rate above zero");
        let num = (8 * u128::from(PS_PER_S)) << Self::FRACTION;
        let per_byte = u64::try_from(num.div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX);
        TxClock { per_byte }
    }
    /// How long `bytes` occupy the transmitter.
    #[inline]
    pub const fn time(&self, bytes: u32) -> Time {
        // Round up any remaining fraction: a fraction below one part in 2^20 of a picosecond is the
        // only loss.
        let up = (1u64 << Self::FRACTION) - 1;
        // All but slow links' products fit 64 bits.
        if let Some(product) = self.per_byte.checked_mul(bytes as u64)
            && let Some(product) = product.checked_add(up)
        {
            return Time(product >> Self::FRACTION);
        }
        let ps = (self.per_byte as u128 * bytes as u128 + up as u128) >> Self::FRACTION;
        if ps > u64::MAX as u128 { Time::MAX } else { Time(ps as u64) }
    }
}

/// A sum, difference or multiple of units. One beyond 64 bits stops the run, in release builds too:
/// a time that has wrapped is a run that looks right.
#[inline]
fn within(result: Option<u64>) -> u64 {
    match result {
        Some(result) => result,
        None => panic!("a time, rate or size has left 64 bits"),
    }
}

macro_rules! arithmetic {
    ($($t:ident),*) => {$(
        impl Add for $t { type Output = $t; #[inline] fn add(self, o: $t) -> $t { $t(within(self.0.checked_add(o.0))) } }
        impl Sub for $t { type Output = $t; #[inline] fn sub(self, o: $t) -> $t { $t(within(self.0.checked_sub(o.0))) } }
        impl AddAssign for $t { #[inline] fn add_assign(&mut self, o: $t) { *self = *self + o; } }
        impl SubAssign for $t { #[inline] fn sub_assign(&mut self, o: $t) { *self = *self - o; } }
        impl Mul<u64> for $t { type Output = $t; #[inline] fn mul(self, k: u64) -> $t { $t(within(self.0.checked_mul(k))) } }
        impl Div<u64> for $t { type Output = $t; #[inline] fn div(self, k: u64) -> $t { $t(self.0 / k) } }
        impl Sum for $t { fn sum<I: Iterator<Item = $t>>(it: I) -> $t { it.fold($t(0), Add::add) } }
    )*};
}
arithmetic!(Time, Rate, Bytes);

/// A unit's names (first is the one printed) and its size in the base unit.
type Unit = (&'static [&'static str], f64);

const TIME_UNITS: &[Unit] = &[
    (&["s", "sec", "second", "seconds"], 1e12),
    (&["ms"], 1e9),
    (&["us", "µs", "μs"], 1e6),
    (&["ns"], 1e3),
    (&["ps"], 1.0),
    (&["min"], 60e12),
    (&["h"], 3600e12),
];
const RATE_UNITS: &[Unit] = &[
    (&["Tbps", "Tb/s", "Tbit/s", "Tbit"], 1e12),
    (&["Gbps", "Gb/s", "Gbit/s", "Gbit"], 1e9),
    (&["Mbps", "Mb/s", "Mbit/s", "Mbit"], 1e6),
    (&["kbps", "Kbps", "kb/s", "kbit/s", "kbit"], 1e3),
    (&["bps", "b/s", "bit/s", "bit"], 1.0),
];
const BYTE_UNITS: &[Unit] = &[
    (&["TB"], 1e12),
    (&["GB"], 1e9),
    (&["MB"], 1e6),
    (&["kB", "KB"], 1e3),
    (&["B", "byte", "bytes"], 1.0),
    (&["KiB"], 1024.0),
    (&["MiB"], 1_048_576.0),
    (&["GiB"], 1_073_741_824.0),
];

/// Splits `"1.25 MB"` in number and unit and returns the amount in the base unit.
fn parse(text: &str, units: &[Unit], what: &'static str, example: &'static str) -> Result<u64, UnitError> {
    let err = || UnitError { text: text.chars().take(64).collect(), what, example, spelled: None };
    let t = text.trim();
    let split = t.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '+'))).unwrap_or(t.len());
    // "1e6 B" is a number too; "1e" alone is not.
    let split = match t[split..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) => {
            let tail = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
            split + 2 + tail
        }
        _ => split,
    };
    let too_much = || UnitError { what: LARGEST.iter().find(|l| l.0 == what).map_or(what, |l| l.1), ..err() };
    let number: String = t[..split].chars().filter(|c| *c != '_').collect();
    let unit = t[split..].trim();
    let scale = units.iter().find(|(names, _)| names.contains(&unit)).map(|u| u.1);
    let scale = scale.ok_or_else(|| UnitError { spelled: in_other_case(unit, units), ..err() })?;
    // Plain decimals stay exact up to 64 bits and are rounded to the base unit; exponents go
    // through f64.
    if let Some(v) = decimal(&number, scale as u128) {
        return u64::try_from(v).map_err(|_| too_much());
    }
    let f: f64 = number.parse().map_err(|_| err())?;
    let v = f * scale;
    if v >= u64::MAX as f64 {
        Err(too_much())
    } else if v >= 0.0 {
        Ok(v.round() as u64)
    } else {
        Err(err())
    }
}

/// The unit that differs from this one by the case of its letters alone.
fn in_other_case(unit: &str, units: &[Unit]) -> Option<&'static str> {
    units.iter().flat_map(|(names, _)| *names).copied().find(|name| name.eq_ignore_ascii_case(unit))
}

/// What a number is not that is too large, by what was wanted.
const LARGEST: &[(&str, &str)] = &[
    ("a time", "a time of at most 213 days"),
    ("a rate", "a rate of at most 18 million Tbps"),
    ("an amount of data", "an amount of data of at most 18 million TB"),
];

/// Refuses parts of a byte: whoever writes them means something else.
fn whole_bytes(text: &str) -> Result<(), UnitError> {
    let number = ["bytes", "byte", "B"].iter().find_map(|unit| text.trim().strip_suffix(unit)).map(str::trim_end);
    match number.and_then(|n| n.parse::<f64>().ok()) {
        Some(n) if n.fract() != 0.0 => Err(UnitError {
            text: text.chars().take(64).collect(),
            what: Bytes::WHOLE,
            example: "\"1500 B\", \"1.25 MB\" or \"64 KiB\"",
            spelled: None,
        }),
        _ => Ok(()),
    }
}

/// Reads a quantity from a text, and tells who wrote a bare number how to write it.
pub struct QuantityVisitor<T> {
    /// What is wanted, with its article: "a rate".
    pub wanted: &'static str,
    /// What would be accepted.
    pub example: &'static str,
    /// What a bare number would be in the unit of results: bits per second, seconds, bytes; `None`
    /// if that is anyone's guess.
    pub plain: fn(f64) -> Option<T>,
}

impl<T: FromStr<Err = UnitError> + fmt::Display> QuantityVisitor<T> {
    fn bare<E: serde::de::Error>(&self, number: impl fmt::Display, value: f64) -> Result<T, E> {
        let QuantityVisitor { wanted, example, .. } = self;
        Err(E::custom(match (self.plain)(value) {
            Some(meant) => {
                format!("`{number}` has no unit; write \"{meant}\" if you mean that, or another text like {example}")
            }
            None => format!("`{number}` is not {wanted}; write {example}"),
        }))
    }
}

impl<T: FromStr<Err = UnitError> + fmt::Display> serde::de::Visitor<'_> for QuantityVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, such as {}", self.wanted, self.example)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.bare(number, number as f64)
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.bare(number, number as f64)
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.bare(number, number)
    }
}

/// `number * scale` rounded half up, if the number is plain digits with at most one point and 18
/// decimals.
fn decimal(number: &str, scale: u128) -> Option<u128> {
    let (whole, frac) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || frac.len() > 18 || !digits(whole) || !digits(frac) {
        return None;
    }
    let part = if frac.is_empty() { 0 } else { frac.parse::<u128>().ok()? };
    let unit = 10u128.pow(frac.len() as u32);
    Some(whole.parse::<u128>().ok()? * scale + (part * scale + unit / 2) / unit)
}

/// Prints with the largest unit that needs no more than three decimals, else in the base unit.
fn print(f: &mut fmt::Formatter<'_>, v: u64, units: &[Unit]) -> fmt::Result {
    let base = units.iter().filter(|u| u.1 <= 1.0).map(|u| u.0[0]).next().unwrap_or("");
    if v == 0 {
        return write!(f, "0 {base}");
    }
    for (names, scale) in units.iter().filter(|u| u.1 >= 1.0 && u.1.log10().fract() == 0.0) {
        let (scale, name) = (*scale as u64, names[0]);
        if v >= scale {
            let thousandths = u128::from(v) * 1000 / u128::from(scale);
            if thousandths * u128::from(scale) == u128::from(v) * 1000 {
                let (whole, frac) = (thousandths / 1000, thousandths % 1000);
                if frac == 0 {
                    return write!(f, "{whole} {name}");
                }
                let digits = format!("{frac:03}");
                return write!(f, "{whole}.{} {name}", digits.trim_end_matches('0'));
            }
        }
    }
    write!(f, "{v} {base}")
}

macro_rules! text {
    ($t:ident, $units:expr, $what:literal, $example:literal) => {
        impl FromStr for $t {
            type Err = UnitError;
            fn from_str(s: &str) -> Result<$t, UnitError> {
                parse(s, $units, $what, $example).map($t)
            }
        }
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(f, self.0, $units)
            }
        }
        text!(serde $t, $what, $example);
    };
    (serde $t:ident, $what:literal, $example:literal) => {
        impl serde::Serialize for $t {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $t {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<$t, D::Error> {
                d.deserialize_any(QuantityVisitor { wanted: $what, example: $example, plain: $t::of_number })
            }
        }
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $t {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($t).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": <$t>::HELP, "examples": <$t>::EXAMPLES })
            }
        }
    };
}
impl Time {
    /// One line for editors.
    pub const HELP: &'static str = "a time: a number and one of s, ms, us, ns, ps, min, h";
    /// Texts that parse.
    pub const EXAMPLES: &'static [&'static str] = &["5 ms", "1.5 s", "100 us"];
}
impl Rate {
    /// One line for editors.
    pub const HELP: &'static str = "a rate: a number and one of bps, kbps, Mbps, Gbps, Tbps";
    /// Texts that parse.
    pub const EXAMPLES: &'static [&'static str] = &["10 Mbps", "1 Gbps", "64 kbps"];
}
impl Bytes {
    /// What "1.5 B" is not.
    pub const WHOLE: &'static str = "a whole number of bytes";
    /// One line for editors.
    pub const HELP: &'static str = "an amount of data: a number and one of B, kB, MB, GB, KiB, MiB, GiB";
    /// Texts that parse.
    pub const EXAMPLES: &'static [&'static str] = &["1500 B", "1.25 MB", "64 KiB"];
}
impl Ratio {
    /// One line for editors.
    pub const HELP: &'static str = "a ratio: a percentage or a number";
    /// Texts that parse.
    pub const EXAMPLES: &'static [&'static str] = &["2.5 %", "0.025"];
}
text!(Time, TIME_UNITS, "a time", "\"5 ms\", \"1.5 s\" or \"100 us\"");
text!(Rate, RATE_UNITS, "a rate", "\"10 Mbps\", \"1 Gbps\" or \"64 kbps\"");

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(s: &str) -> Result<Bytes, UnitError> {
        whole_bytes(s)?;
        parse(s, BYTE_UNITS, "an amount of data", "\"1500 B\", \"1.25 MB\" or \"64 KiB\"").map(Bytes)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, BYTE_UNITS)
    }
}
text!(serde Bytes, "an amount of data", "\"1500 B\", \"1.25 MB\" or \"64 KiB\"");

impl FromStr for Ratio {
    type Err = UnitError;
    fn from_str(s: &str) -> Result<Ratio, UnitError> {
        let err = || UnitError {
            text: s.chars().take(64).collect(),
            what: "a ratio",
            example: "\"2.5 %\" or \"0.025\"",
            spelled: None,
        };
        let t = s.trim();
        let (number, scale) = t.strip_suffix('%').map_or((t, 1.0), |n| (n.trim_end(), 0.01));
        let v = number.parse::<f64>().map_err(|_| err())? * scale;
        if v.is_finite() && (0.0..=1e9).contains(&v) { Ok(Ratio::from_f64(v)) } else { Err(err()) }
    }
}
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0 as f64 / 1e7)
    }
}
text!(serde Ratio, "a ratio", "\"2.5 %\" or \"0.025\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_are_rounded_as_floats_are() {
        let edges = [0.0, 0.5, 1.5, 2.5, WHOLE - 0.5, WHOLE, 2.0 * WHOLE, 1e19, 1e20, f64::NAN, f64::INFINITY];
        let near = edges.into_iter().flat_map(|x: f64| [x.next_down(), x, x.next_up(), -x]);
        for s in near.map(|ps| ps / PS_PER_S as f64) {
            assert_eq!(Time::from_secs_f64(s), Time((s * PS_PER_S as f64).round() as u64), "{s:e}");
        }
    }

    #[test]
    fn arithmetic_stops_rather_than_wraps() {
        let wraps: [fn() -> Time; 3] = [|| Time::MAX + Time(1), || Time::ZERO - Time(1), || Time::MAX * 2];
        for wrap in wraps {
            let stopped = std::panic::catch_unwind(wrap).expect_err("stopped");
            assert_eq!(stopped.downcast_ref(), Some(&"a time, rate or size has left 64 bits"));
        }
        assert_eq!((Time::from_secs(u64::MAX), Rate::from_gbps(u64::MAX)), (Time::MAX, Rate(u64::MAX)));
        assert_eq!(TxClock::new(Rate(1)).time(u32::MAX), Time::MAX);
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!("10 Mbps".parse(), Ok(Rate::from_mbps(10)));
        assert_eq!("10Mbps".parse(), Ok(Rate::from_mbps(10)));
        assert_eq!("2.5 Gbps".parse(), Ok(Rate(2_500_000_000)));
        assert_eq!("5 ms".parse(), Ok(Time::from_ms(5)));
        assert_eq!("1.5 s".parse(), Ok(Time::from_ms(1500)));
        assert_eq!("100 µs".parse(), Ok(Time::from_us(100)));
        assert_eq!("1.25 MB".parse(), Ok(Bytes(1_250_000)));
        assert_eq!("1e6 B".parse(), Ok(Bytes(1_000_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("2.5 %".parse(), Ok(Ratio(25_000_000)));
        assert_eq!("0.025".parse(), Ok(Ratio(25_000_000)));
    }

    #[test]
    fn refuses_the_rest_with_an_example() {
        for bad in ["", "10", "10 furlongs", "-1 ms", "1..2 ms", "e ms", "1e ms", "nan s", "99999999999999999999 s"] {
            let e = bad.parse::<Time>().expect_err(bad);
            assert!(e.to_string().contains("\"5 ms\""), "{e}");
        }
        assert!("5 ms".parse::<Rate>().is_err());
        for (bad, unit) in [("95MBps", "Mbps"), ("95 mbps", "Mbps"), ("1KBPS", "kbps"), ("1 mbit/s", "Mbit/s")] {
            let e = bad.parse::<Rate>().expect_err(bad).to_string();
            assert!(e.starts_with(&format!("`{bad}` is not a rate: the unit is spelled {unit}; write ")), "{e}");
        }
        assert!("-3 %".parse::<Ratio>().is_err());
    }

    #[test]
    fn prints_the_shortest_exact_form() {
        assert_eq!(Rate::from_mbps(10).to_string(), "10 Mbps");
        assert_eq!(Rate(2_500_000_000).to_string(), "2.5 Gbps");
        assert_eq!(Time::from_us(1_500).to_string(), "1.5 ms");
        assert_eq!(Time(1).to_string(), "1 ps");
        assert_eq!(Bytes(1_250_000).to_string(), "1.25 MB");
        assert_eq!(Time::ZERO.to_string(), "0 ps");
    }

    proptest! {
        #[test]
        fn text_round_trips(v in any::<u64>()) {
            prop_assert_eq!(Time(v).to_string().parse(), Ok(Time(v)));
            prop_assert_eq!(Rate(v).to_string().parse(), Ok(Rate(v)));
            prop_assert_eq!(Bytes(v).to_string().parse(), Ok(Bytes(v)));
        }

        #[test]
        fn the_parser_never_panics(s in "\\PC{0,24}") {
            let _ = s.parse::<Time>();
            let _ = s.parse::<Rate>();
            let _ = s.parse::<Bytes>();
            let _ = s.parse::<Ratio>();
        }

        #[test]
        fn the_fixed_point_clock_is_never_early_and_at_most_a_picosecond_late(
            rate in 1_000u64..800_000_000_000, bytes in 1u32..65_536,
        ) {
            let exact = Rate(rate).time_for(Bytes(bytes.into()));
            let t = TxClock::new(Rate(rate)).time(bytes);
            prop_assert!(t >= exact && t.0 <= exact.0 + 1, "{} against {}", t.0, exact.0);
        }
    }
}
