//! Runs become rows, and rows a verdict. The margins were fixed before the first run.

use std::fmt::Write;

use crate::case::{Place, Run};

/// By how much real may differ from simulated.
pub fn margin(mbps: u64) -> f64 {
    if mbps <= 50 { 0.05 } else { 0.15 }
}

/// A run on sockets, and the same in the simulator.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub real: Run,
    pub simulated: Run,
}

/// All seeds of a scheme at a place and a rate.
pub struct Row {
    pub scheme: String,
    pub place: Place,
    pub mbps: u64,
    pub pairs: Vec<Pair>,
}

/// Real over simulated: the estimate, and its interval of 95 % or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub middle: f64,
    pub least: f64,
    pub most: f64,
}

/// How a row was judged, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is within the margin.
    Within,
    /// None of it is.
    Outside,
    /// Part of it is.
    Undecided,
    /// More than a fifth of the runs were.
    Invalid,
    /// A flow did not end.
    Unfinished,
}

/// With fewer pairs no interval by order is one of 95 %.
const ENOUGH: usize = 6;

/// Of every seed: the ratio of both flows' mean times. The median, and an interval by order (the
/// sign test's): for ten pairs from the second to the ninth, 97.9 %.
fn paired(pairs: &[Pair]) -> Ratio {
    let mut ratios: Vec<f64> = pairs.iter().map(|p| p.real.mean() / p.simulated.mean()).collect();
    let outermost = (1..=ratios.len() / 2).rev().find(|k| 2.0 * tail(ratios.len(), *k) <= 0.05).unwrap_or(1) - 1;
    ordered(&mut ratios, outermost)
}

/// The chance of less than `k` heads of `n` coins.
fn tail(n: usize, k: usize) -> f64 {
    let choose = |j: usize| (0..j).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
    (0..k).map(choose).sum::<f64>() / 2f64.powi(n as i32)
}

/// Where a single timeout decides, pairs say little. The seeds' real times are one sample and the
/// simulated another: the Mann–Whitney test's estimate of the shift between them (Hodges–Lehmann) and
/// its interval of 95 %, as a ratio.
fn samples(pairs: &[Pair]) -> Ratio {
    let n = pairs.len();
    let mut ratios: Vec<f64> =
        pairs.iter().flat_map(|real| pairs.iter().map(|s| real.real.mean() / s.simulated.mean())).collect();
    let (n, m) = (n as f64, n as f64);
    let cut = n * m / 2.0 - 1.96 * (n * m * (n + m + 1.0) / 12.0).sqrt();
    ordered(&mut ratios, cut.max(0.0) as usize)
}

fn ordered(ratios: &mut [f64], outermost: usize) -> Ratio {
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    let middle = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2.0;
    Ratio { middle, least: ratios[outermost], most: ratios[n - 1 - outermost] }
}

impl Row {
    pub fn valid(&self) -> Vec<Pair> {
        self.pairs.iter().filter(|p| !p.real.invalid()).copied().collect()
    }

    /// Whether repeats are in a tenth of the pairs or more.
    pub fn lossy(&self) -> bool {
        let lossy = |p: &&Pair| p.real.repeats + p.simulated.repeats > 0;
        10 * self.valid().iter().filter(lossy).count() >= self.valid().len()
    }

    pub fn judge(&self) -> (Verdict, Option<Ratio>) {
        let valid = self.valid();
        if 5 * (self.pairs.len() - valid.len()) > self.pairs.len() {
            return (Verdict::Invalid, None);
        }
        if valid.iter().any(|p| p.real.mean().is_nan()) {
            return (Verdict::Unfinished, None);
        }
        let ratio = if self.lossy() { samples(&valid) } else { paired(&valid) };
        let (low, high) = (1.0 - margin(self.mbps), 1.0 + margin(self.mbps));
        let verdict = match () {
            () if valid.len() < ENOUGH => Verdict::Undecided,
            () if ratio.least >= low && ratio.most <= high => Verdict::Within,
            () if ratio.most < low || ratio.least > high => Verdict::Outside,
            () => Verdict::Undecided,
        };
        (verdict, Some(ratio))
    }

    /// The row as text, in Markdown.
    pub fn text(&self) -> String {
        let (verdict, ratio) = self.judge();
        let valid = self.valid();
        let sum = |of: fn(&Pair) -> u64| valid.iter().map(of).sum::<u64>();
        let late = |i: usize| self.pairs.iter().map(|p| p.real.late[i]).max().unwrap_or(0);
        let mut line = format!("| {} | {} | {} |", self.scheme, self.place.name(), self.mbps);
        let _ = write!(line, " {} | {} |", self.pairs.len(), self.pairs.len() - valid.len());
        let _ = match ratio {
            Some(r) => write!(line, " {:.3} | {:.3}–{:.3} |", r.middle, r.least, r.most),
            None => write!(line, " – | – |"),
        };
        let _ = write!(line, " {} |", if self.lossy() { "samples" } else { "pairs" });
        let _ = write!(line, " {} / {} |", sum(|p| p.real.repeats), sum(|p| p.simulated.repeats));
        let _ = write!(line, " {} / {} / {} |", late(0), late(1), late(2));
        let mut busy: Vec<f64> = self.pairs.iter().map(|p| p.real.busy).collect();
        busy.sort_by(f64::total_cmp);
        let _ = write!(line, " {:.0} % |", 100.0 * busy[busy.len() / 2]);
        let verdict = match verdict {
            Verdict::Within => "within",
            Verdict::Outside => "**outside**",
            Verdict::Undecided => "undecided",
            Verdict::Invalid => "**invalid: machine too busy**",
            Verdict::Unfinished => "**a flow did not end in 60 s**",
        };
        let _ = write!(line, " ±{:.0} % | {verdict} |", 100.0 * margin(self.mbps));
        line
    }
}

/// What stands above the rows.
pub const HEAD: &str = "\
| scheme | place | Mbps | runs | invalid | real ÷ simulated | interval | by | repeats, real / simulated | late, µs: p50 / p99 / most | processors busy | margin | verdict |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";
