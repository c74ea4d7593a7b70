//! Empirical distributions of flow sizes.

use crate::suggest::unknown;
use rand::Rng;

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

/// A cumulative distribution given by points, linear in size between them (as the HPCC traffic
/// generator reads it). Two points of one size are a share of flows of exactly that size.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalCdf {
    /// (size in bytes, share of flows that are at most that large), both rising, the last share 1.
    points: Vec<(f64, f64)>,
}

impl EmpiricalCdf {
    /// Reads lines `size_bytes percent`; `#` starts a comment. The last line is 100 percent (or 1,
    /// when shares are given as fractions); sizes and shares never fall.
    pub fn parse(text: &str) -> Result<EmpiricalCdf, CdfError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            if !fields.is_empty() {
                let message = |m: &str| CdfError { line: i + 1, message: m.to_owned() };
                let point = Self::point(&fields).ok_or_else(|| message("not `size_bytes percent`"))?;
                if points.last().is_some_and(|last| point.0 < last.0 || point.1 < last.1) {
                    return Err(message("sizes and percentages must not fall"));
                }
                points.push(point);
            }
        }
        Self::normalise(points).map_err(|m| CdfError { line: text.lines().count().max(1), message: m.to_owned() })
    }

    fn point(fields: &[&str]) -> Option<(f64, f64)> {
        let [size, share] = fields else { return None };
        let (size, share) = (size.parse::<f64>().ok()?, share.parse::<f64>().ok()?);
        // 10¹⁵ bytes: no flow is larger, and every whole size up to there is a float.
        ((0.0..=1e15).contains(&size) && (0.0..=100.0).contains(&share)).then_some((size, share))
    }

    fn normalise(mut points: Vec<(f64, f64)>) -> Result<EmpiricalCdf, &'static str> {
        let (size, total) = *points.last().ok_or("no point at all; write lines `size_bytes percent`")?;
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

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "[0-9. \\n#e-]{0,80}", u in 0.0..=1.0) {
            if let Ok(cdf) = EmpiricalCdf::parse(&text) {
                prop_assert!(cdf.quantile(u).is_finite() && cdf.mean() >= 0.0);
            }
        }
    }
}
