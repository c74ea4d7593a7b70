//! Rate-limited log lines, with the number of suppressed ones.

use std::fmt;
use std::time::{Duration, Instant};

/// A kind of event, and when it was said.
#[derive(Debug)]
pub struct Seldom {
    most: u32,
    every: Duration,
    began: Option<Instant>,
    said: u32,
    left_out: u64,
}

/// What ends a line: how many like it were left out before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut(pub u64);

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " ({count} more like this were suppressed)"),
        }
    }
}

impl Seldom {
    /// At most `most` lines in `every`.
    pub const fn new(most: u32, every: Duration) -> Seldom {
        Seldom { most, every, began: None, said: 0, left_out: 0 }
    }

    /// Once an hour.
    pub const fn hourly() -> Seldom {
        Seldom::new(1, Duration::from_secs(3600))
    }

    /// Called when it happens: the end of its line, or `None` if there is to be none now.
    pub fn say(&mut self) -> Option<LeftOut> {
        #[expect(clippy::disallowed_methods, reason = "a log has the clock: results do not see it")]
        self.say_at(Instant::now())
    }

    fn say_at(&mut self, now: Instant) -> Option<LeftOut> {
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= self.every) {
            (self.began, self.said) = (Some(now), 0);
        }
        if self.said >= self.most {
            self.left_out += 1;
            return None;
        }
        self.said += 1;
        Some(LeftOut(std::mem::take(&mut self.left_out)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However events come: no more than `most` lines in any period, and all that were left out are counted in the
        /// next line.
        #[test]
        fn lines_are_few_and_nothing_is_forgotten(
            most in 1u32..5,
            every_ms in 1u64..2000,
            pauses in prop::collection::vec(0u64..1500, 1..300),
        ) {
            let mut seldom = Seldom::new(most, Duration::from_millis(every_ms));
            #[expect(clippy::disallowed_methods, reason = "only a beginning")]
            let (begin, mut at) = (Instant::now(), 0);
            let (mut lines, mut left_out) = (Vec::new(), 0);
            for pause in pauses {
                at += pause;
                match seldom.say_at(begin + Duration::from_millis(at)) {
                    Some(LeftOut(count)) => {
                        prop_assert_eq!(count, left_out);
                        left_out = 0;
                        lines.push(at);
                    }
                    None => left_out += 1,
                }
            }
            // Periods begin with a line: within one there are `most`, so of any `2 * most + 1` lines the last is later.
            for window in lines.windows(2 * most as usize + 1) {
                prop_assert!(window[2 * most as usize] - window[0] >= every_ms);
            }
        }
    }

    #[test]
    fn a_line_says_what_was_left_out() {
        let mut hourly = Seldom::hourly();
        assert_eq!(hourly.say().map(|more| format!("full{more}")), Some("full".to_owned()));
        assert_eq!(hourly.say(), None);
        assert_eq!(LeftOut(7).to_string(), " (7 more like this were suppressed)");
    }
}
