//! Parallel work per window: the speed-up that enough cores would give, measured without them.

/// What was to be done in a run of several parts, in events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Windows in which something happened.
    pub windows: u64,
    /// Events in all parts.
    pub work: u64,
    /// The sum over windows of what the part with most had: who has a core for each part does no
    /// less, one after another.
    pub critical: u64,
}

impl Survey {
    /// How many times as fast as one core so many would be as there are parts, if events cost alike
    /// and waiting nothing.
    pub fn at_most(&self) -> f64 {
        if self.critical == 0 { 1.0 } else { self.work as f64 / self.critical as f64 }
    }
}

/// A survey in the making.
#[derive(Default)]
pub(super) struct Count {
    pub survey: Survey,
    /// Events of each part so far.
    before: Vec<u64>,
}

impl Count {
    /// A window has ended, after so many events of each part in all.
    pub fn round(&mut self, events: impl ExactSizeIterator<Item = u64>) {
        self.before.resize(events.len(), 0);
        let mut most = 0;
        for (before, now) in self.before.iter_mut().zip(events) {
            let here = now - std::mem::replace(before, now);
            self.survey.work += here;
            most = most.max(here);
        }
        self.survey.critical += most;
        self.survey.windows += u64::from(most > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_with_most_decides_in_each_window() {
        let mut count = Count::default();
        for events in [[3, 5], [7, 6], [7, 6], [9, 12]] {
            count.round(events.into_iter());
        }
        assert_eq!(count.survey, Survey { windows: 3, work: 21, critical: 5 + 4 + 6 });
        assert!((count.survey.at_most() - 1.4).abs() < 1e-12);
        assert!((Survey::default().at_most() - 1.0).abs() < 1e-12);
    }
}
