//! Mean rates over intervals of equal length.

use crate::IdealError;

/// The most values that a series holds, all intervals together (0.4 GB); our choice.
pub const MAX_SERIES_VALUES: u64 = 50_000_000;

/// Mean rates of links and groups over intervals. An interval that the run's end cuts short is left
/// out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Length of an interval; row k covers k · interval up to (k + 1) · interval.
    pub interval_s: f64,
    /// For each interval, the mean rate of each link.
    pub link_bps: Vec<Vec<f64>>,
    /// For each interval, the mean rate of each group.
    pub group_bps: Vec<Vec<f64>>,
}

/// Adds up what is sent until the next sample.
#[derive(Debug)]
pub(crate) struct Sampler {
    link_bits: Vec<f64>,
    group_bits: Vec<f64>,
    series: Series,
}

impl Sampler {
    pub(crate) fn new(interval_s: f64, links: usize, groups: usize) -> Result<Sampler, IdealError> {
        if !(interval_s.is_finite() && interval_s > 0.0) {
            return Err(IdealError::Sampling);
        }
        let series = Series { interval_s, ..Series::default() };
        Ok(Sampler { link_bits: vec![0.0; links], group_bits: vec![0.0; groups], series })
    }

    /// When the present interval ends.
    pub(crate) fn next_s(&self) -> f64 {
        (self.series.link_bps.len() + 1) as f64 * self.series.interval_s
    }

    pub(crate) fn add(&mut self, path: &[u32], group: u32, bits: f64) {
        path.iter().for_each(|l| self.link_bits[*l as usize] += bits);
        self.group_bits[group as usize] += bits;
    }

    /// Closes the present interval.
    pub(crate) fn sample(&mut self) -> Result<(), IdealError> {
        let rows = self.series.link_bps.len() as u64 + 1;
        if rows * (self.link_bits.len() + self.group_bits.len()) as u64 > MAX_SERIES_VALUES {
            return Err(IdealError::Sampling);
        }
        let interval = self.series.interval_s;
        let close =
            |bits: &mut Vec<f64>| -> Vec<f64> { bits.iter_mut().map(|b| std::mem::take(b) / interval).collect() };
        let (links, groups) = (close(&mut self.link_bits), close(&mut self.group_bits));
        self.series.link_bps.push(links);
        self.series.group_bps.push(groups);
        Ok(())
    }

    pub(crate) fn finish(self) -> Series {
        self.series
    }
}
