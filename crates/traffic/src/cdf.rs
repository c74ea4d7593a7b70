//! Empirical distributions of flow sizes.

use crate::rates::short;
use crate::suggest::unknown;
use rand::{Rng, RngExt};

/// Distributions that ship with Midpath: name, and text with its source in the first lines.
pub const BUILT_IN_CDFS: &[(&str, &str)] = &[
    ("web-search", include_str!("../data/web-search.txt")),
    ("data-mining", include_str!("../data/data-mining.txt")),
    ("hadoop", include_str!("../data/hadoop.txt")),
    ("ali-storage", include_str!("../data/ali-storage.txt")),
];

/// Why a text is not a distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CdfError {
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// How far a stated mean may be from the points': they are rounded.
const NEAR_MEAN: f64 = 0.02;

/// The numbers of each line that has some, with the line. Headings are left out.
fn rows(text: &str) -> Result<Vec<(usize, Vec<f64>)>, CdfError> {
    let mut rows = Vec::new();
    let mut is_first = true;
    for (i, line) in text.lines().enumerate() {
        let fields = fields(line.split('#').next().unwrap_or(""));
        if fields.is_empty() {
            continue;
        }
        let is_heading = std::mem::take(&mut is_first)
            && fields.len() > 1
            && fields.iter().all(|f| f.starts_with(|c: char| c.is_alphabetic()) && f.parse::<f64>().is_err());
        if is_heading {
            continue;
        }
        let number = |f: &&str| {
            let message = |why: &str| CdfError { line: i + 1, message: format!("`{}` {why}", short(f)) };
            if f.contains(',') {
                return Err(message("is ambiguous (thousands or fraction): write numbers with a point, or with none"));
            }
            f.parse::<f64>().map_err(|_| message("is not a number; a line is `size_bytes percent`"))
        };
        rows.push((i + 1, fields.iter().map(number).collect::<Result<Vec<f64>, _>>()?));
    }
    Ok(rows)
}

/// Apart by semicolons, by white space, or by commas alone.
fn fields(line: &str) -> Vec<&str> {
    let line = line.trim();
    let by_comma: Vec<&str> = line.split(',').map(str::trim).collect();
    let commas_alone = by_comma.len() > 1 && by_comma.iter().all(|f| !f.is_empty() && !f.contains(char::is_whitespace));
    if commas_alone && !line.contains(';') {
        return by_comma;
    }
    line.split(|c: char| c.is_whitespace() || c == ';').filter(|f| !f.is_empty()).collect()
}

/// A cumulative distribution given by points, linear in size between them (as the HPCC traffic
/// generator reads it). Two points of one size are a share of flows of exactly that size.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalCdf {
    /// (size in bytes, share of flows that are at most that large), both rising, the last share 1.
    points: Vec<(f64, f64)>,
}

impl EmpiricalCdf {
    /// Reads lines `size_bytes percent`; see [`EmpiricalCdf::parse_in`].
    pub fn parse(text: &str) -> Result<EmpiricalCdf, CdfError> {
        EmpiricalCdf::parse_in(text, None)
    }

    /// Reads lines `size percent`, apart by white space or commas, with sizes in units of so many
    /// bytes (default 1); `#` starts a comment, and words in the first line are headings. The
    /// last line is 100 percent (or 1, when shares are given as fractions); sizes and shares never
    /// fall.
    ///
    /// Three columns are ns-2's and pFabric's: the middle one says nothing, and since sizes may be
    /// packets, the unit has to be said. A number alone in the first line is the mean, as in Homa's
    /// files: it decides whether sizes between two points come up (linear) or not (steps).
    pub fn parse_in(text: &str, unit: Option<f64>) -> Result<EmpiricalCdf, CdfError> {
        let mut rows = rows(text)?;
        let last = text.lines().count().max(1);
        let stated = if rows.len() > 1 && rows[0].1.len() == 1 { Some(rows.remove(0).1[0]) } else { None };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (line, fields) in &rows {
            let wrong = |message: String| CdfError { line: *line, message };
            let first = rows[0].1.len();
            if fields.len() != first {
                return Err(wrong(format!("{} columns; earlier lines have {first}", fields.len())));
            }
            let point = Self::point(fields, unit).map_err(wrong)?;
            if points.last().is_some_and(|last| point.0 < last.0 || point.1 < last.1) {
                return Err(wrong("sizes and percentages must not decrease".to_owned()));
            }
            points.push(point);
        }
        let linear = Self::normalise(points).map_err(|m| CdfError { line: last, message: m.to_owned() })?;
        match stated {
            None => Ok(linear),
            Some(mean) => linear.with_mean(mean * unit.unwrap_or(1.0)).map_err(|m| CdfError { line: 1, message: m }),
        }
    }

    fn point(fields: &[f64], unit: Option<f64>) -> Result<(f64, f64), String> {
        let (size, share) = match (fields, unit) {
            (&[size, share], _) | (&[size, _, share], Some(_)) => (size * unit.unwrap_or(1.0), share),
            ([_, _, _], None) => {
                return Err(
                    "3 columns, as in ns-2 and pFabric: size, an unused number, share. Sizes may be in packets: \
                        set unit = \"1460 B\" or unit = \"1 B\""
                        .to_owned(),
                );
            }
            _ => return Err(format!("{} columns; a line is `size_bytes percent`", fields.len())),
        };
        // 10¹⁵ bytes: no flow is larger, and every whole size up to there is a float.
        if (0.0..=1e15).contains(&size) && (0.0..=100.0).contains(&share) {
            return Ok((size, share));
        }
        Err(format!("size {size} and share {share}: sizes are from 0 to 1e15 bytes, shares up to 100 percent"))
    }

    /// Of two ways to read the points the one that has this mean.
    fn with_mean(self, stated: f64) -> Result<EmpiricalCdf, String> {
        let mut before = 0.0;
        let steps = self.points.iter().flat_map(|&(size, share)| {
            let step = [(size, before), (size, share)];
            before = share;
            step
        });
        let steps = EmpiricalCdf { points: steps.collect() };
        let apart = |cdf: &EmpiricalCdf| (cdf.mean() / stated - 1.0).abs();
        let nearer = if apart(&self) <= apart(&steps) { &self } else { &steps };
        if apart(nearer) <= NEAR_MEAN {
            return Ok(nearer.clone());
        }
        Err(format!(
            "a single number is the mean, and {stated} bytes differs from that of the lines below: {:.0} with \
                steps, {:.0} without; remove it if it is something else",
            steps.mean(),
            self.mean()
        ))
    }

    fn normalise(mut points: Vec<(f64, f64)>) -> Result<EmpiricalCdf, &'static str> {
        let (size, total) = *points.last().ok_or("no points; write lines `size_bytes percent`")?;
        if total != 100.0 && total != 1.0 {
            return Err("the last percentage must be 100 (or 1 for fractions)");
        }
        if size <= 0.0 {
            return Err("the largest size must be above zero");
        }
        points.iter_mut().for_each(|p| p.1 /= total);
        Ok(EmpiricalCdf { points })
    }

    /// The distribution shipped as `name`; else a message that says what is.
    pub fn built_in(name: &str) -> Result<EmpiricalCdf, String> {
        let found = BUILT_IN_CDFS.iter().find(|(n, _)| *n == name);
        let text = found.ok_or_else(|| unknown("distribution", name, BUILT_IN_CDFS.iter().map(|(n, _)| *n)))?.1;
        Self::parse(text).map_err(|e| e.to_string())
    }

    /// The points: size in bytes and share of flows at most that large.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The size in bytes below which a share `u` of the flows are.
    pub fn quantile(&self, u: f64) -> f64 {
        let above = self.points.partition_point(|p| p.1 < u);
        let Some(&(x1, p1)) = self.points.get(above) else { return self.points[self.points.len() - 1].0 };
        // A share that is already there at the first point is of flows of exactly that size.
        let Some(&(x0, p0)) = above.checked_sub(1).and_then(|i| self.points.get(i)) else { return x1 };
        x0 + (x1 - x0) * (u - p0) / (p1 - p0)
    }

    /// The mean size in bytes: each segment between two points is uniform, so it counts with its
    /// midpoint.
    pub fn mean(&self) -> f64 {
        let first = self.points[0].0 * self.points[0].1;
        first + self.points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0).sum::<f64>()
    }

    /// Draws a size in bytes.
    pub fn sample(&self, rng: &mut impl Rng) -> f64 {
        self.quantile(rng.random::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Mean by integrating the quantile function numerically, not by the segments' midpoints.
    fn integrate(cdf: &EmpiricalCdf) -> f64 {
        let n = 1_000_000;
        (0..n).map(|i| cdf.quantile((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn the_shipped_means_agree_with_numeric_integration() {
        for (name, _) in BUILT_IN_CDFS {
            let cdf = EmpiricalCdf::built_in(name).expect(name);
            let (mean, integral) = (cdf.mean(), integrate(&cdf));
            assert!((mean / integral - 1.0).abs() < 1e-6, "{name}: {mean} against {integral}");
        }
    }

    #[test]
    fn the_shipped_means_are_the_known_ones() {
        // By hand from the points. PIAS's scripts give 5117 packets of 1460 bytes for data mining.
        let mean = |name| EmpiricalCdf::built_in(name).map(|c| c.mean().round());
        assert_eq!(mean("web-search"), Ok(1_711_250.0));
        assert_eq!(mean("data-mining"), Ok(7_470_236.0));
    }

    #[test]
    fn equal_sizes_are_a_share_of_exactly_that_size() {
        let cdf = EmpiricalCdf::parse("1460 0\n1460 50\n2920 100").expect("valid");
        assert_eq!(cdf.quantile(0.3), 1460.0);
        assert_eq!(cdf.quantile(0.75), 2190.0);
        assert_eq!(cdf.quantile(1.0), 2920.0);
        let cdf = EmpiricalCdf::parse("100 0.4\n300 1").expect("fractions");
        assert_eq!((cdf.quantile(0.2), cdf.quantile(0.7), cdf.mean()), (100.0, 200.0, 160.0));
    }

    #[test]
    fn bad_texts_are_refused_with_the_line() {
        for (text, line) in
            [("", 1), ("1 0\n0 100", 2), ("0 0\n# no\n10 50 3", 3), ("0 0\n10 90", 2), ("0 100", 1), ("nan 100", 1)]
        {
            assert_eq!(EmpiricalCdf::parse(text).expect_err(text).line, line, "{text}");
        }
        assert!(EmpiricalCdf::built_in("websearch").is_err_and(|m| m.contains("web-search")));
    }

    #[test]
    fn commas_headings_and_three_columns_are_read_where_they_say_one_thing() {
        let plain = EmpiricalCdf::parse("1460 15\n2920 60\n14600 100").expect("valid");
        for text in [
            "1460,15\n2920,60\n14600,100\n",
            "size,percent\n1460, 15\n2920, 60\n14600, 100\n",
            "size percent\n1460\t15\n2920\t60\n14600\t100\n",
            "1460;15\n2920;60\n14600;100\n",
        ] {
            assert_eq!(EmpiricalCdf::parse(text).as_ref(), Ok(&plain), "{text}");
        }
        let shares = EmpiricalCdf::parse("1460 0.15\n2920 0.5\n14600 1").expect("valid");
        for (text, unit) in [
            ("1 1 0.15\n2 1 0.5\n10 1 1\n", 1460.0),
            ("1460,1,0.15\n2920,1,0.5\n14600,1,1", 1.0),
            ("1 0.15\n2 0.5\n10 1\n", 1460.0),
        ] {
            assert_eq!(EmpiricalCdf::parse_in(text, Some(unit)).as_ref(), Ok(&shares), "{text}");
        }
    }

    #[test]
    fn what_is_found_is_said() {
        for (text, line, message) in [
            ("1 1 0.15\n10 1 1\n", 1, "3 columns, as in ns-2 and pFabric"),
            ("1 2 3 4\n", 1, "4 columns"),
            ("1460\n", 1, "1 columns"),
            ("0 0\n1460 0,15\n", 2, "`0,15` is ambiguous"),
            ("0 0\n1460;0,15\n", 2, "is ambiguous"),
            ("0 0\nmany 100\n", 2, "`many` is not a number"),
            ("0 0\n10 50 3\n", 2, "3 columns; earlier lines have 2"),
            ("5000\n0 0\n1000 1\n", 1, "a single number is the mean"),
            ("0 0\n10 101\n", 2, "shares up to 100"),
        ] {
            let e = EmpiricalCdf::parse(text).expect_err(text);
            assert!(e.line == line && e.message.contains(message), "{text:?}: {e}");
        }
    }

    proptest! {
        /// Homa's files begin with the mean: whichever way it was reckoned, it is kept.
        #[test]
        fn a_leading_mean_decides_how_points_are_read(
            sizes in proptest::collection::btree_set(1u32..1_000_000, 2..20),
            shares in proptest::collection::btree_set(1u32..1000, 20),
            steps: bool,
        ) {
            let n = sizes.len();
            let shares: Vec<f64> =
                shares.into_iter().take(n - 1).map(|s| f64::from(s) / 1000.0).chain([1.0]).collect();
            let points: Vec<(u32, f64)> = sizes.into_iter().zip(shares).collect();
            let body: String = points.iter().map(|(x, p)| format!("{x} {p}\n")).collect();
            let mut before = 0.0;
            let step = |(x, p): &(u32, f64)| f64::from(*x) * (p - std::mem::replace(&mut before, *p));
            let stepped: f64 = points.iter().map(step).sum();
            let mean = if steps { stepped } else { EmpiricalCdf::parse(&body).expect("valid").mean() };
            let cdf = EmpiricalCdf::parse(&format!("{mean}\n{body}")).expect("valid");
            prop_assert!((cdf.mean() / mean - 1.0).abs() <= NEAR_MEAN);
        }

        #[test]
        fn the_parser_never_panics(text in "[0-9., ;a\\n#e-]{0,80}", u in 0.0..=1.0) {
            if let Ok(cdf) = EmpiricalCdf::parse(&text) {
                prop_assert!(cdf.quantile(u).is_finite() && cdf.mean() >= 0.0);
            }
        }
    }
}
