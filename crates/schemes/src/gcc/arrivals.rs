//! Groups of data units, and how far apart they left and came (§5.2, §5.3; `inter_arrival_delta.cc`). Times in
//! milliseconds.

/// burst_time: data units that left within this are a group (§5.2), and those that came together are one with them.
const BURST_MS: f64 = 5.0;
/// A burst of arrivals is no longer than this: `kMaxBurstDuration`.
const LONGEST_BURST_MS: f64 = 100.0;

/// After so many groups that came before the one before them, all begins anew: `kReorderedResetThreshold`.
const OVERTAKEN: u32 = 3;

/// What left together.
#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: f64,
    sent: f64,
    first_came: f64,
    came: f64,
}

/// The differences between two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delta {
    /// Between their last data units, as they left and as they came.
    pub sent: f64,
    pub came: f64,
    /// When the last of the later group came.
    pub at: f64,
}

/// The group before, and the one that grows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Groups {
    before: Option<Group>,
    now: Option<Group>,
    overtaken: u32,
}

impl Groups {
    /// A data unit. Says what the group before it was to the one before that, if it is the first of a group.
    pub fn add(&mut self, sent: f64, came: f64) -> Option<Delta> {
        let new = Group { first_sent: sent, sent, first_came: came, came };
        let Some(group) = &mut self.now else {
            self.now = Some(new);
            return None;
        };
        if sent < group.first_sent {
            return None;
        }
        if group.has(sent, came) {
            (group.sent, group.came) = (group.sent.max(sent), came);
            return None;
        }
        let whole = *group;
        let delta = self.before.map(|before| Delta {
            sent: whole.sent - before.sent,
            came: whole.came - before.came,
            at: whole.came,
        });
        if delta.is_some_and(|delta| delta.came < 0.0) {
            self.overtaken += 1;
            if self.overtaken >= OVERTAKEN {
                *self = Groups::default();
            }
            return None;
        }
        (self.before, self.now, self.overtaken) = (Some(whole), Some(new), 0);
        delta
    }
}

impl Group {
    /// Whether a later data unit is of it.
    fn has(&self, sent: f64, came: f64) -> bool {
        let (apart_sent, apart_came) = (sent - self.sent, came - self.came);
        let burst = apart_came < apart_sent && apart_came <= BURST_MS && came - self.first_came < LONGEST_BURST_MS;
        apart_sent == 0.0 || burst || sent - self.first_sent <= BURST_MS
    }
}
