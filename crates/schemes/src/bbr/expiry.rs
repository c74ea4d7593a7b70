//! Expiry of `max_bw`: `expire_max_bw`, our addition.
//!
//! The draft's filter expires after two cycles of ProbeBW. In a deep buffer a cycle lasts many inflated round trips,
//! and ProbeRTT, every 5 s, restarts it: its samples are application-limited and do not advance the filter. ProbeRTT
//! leaves half a BDP of `max_bw` in flight; after a fall to less than half, this is a standing queue, which becomes
//! `min_rtt` and inflates the BDP further.
//!
//! While packets queue, the delivery rate is the path's rate. If less than half of `max_bw` arrived in each of two
//! consecutive spans of at least `min_rtt`, it is replaced. A single pause of ACKs affects only one span.

use midpath_core::units::Time;

use super::constants as c;
use super::controller::{Bbr, Round};
use super::filter::CycleFilter;

/// What has arrived while packets waited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expiry {
    /// When the span began, and C.delivered then.
    span: Option<(Time, u64)>,
    /// The rate of the span before.
    previous: Option<f64>,
    /// C.delivered when `max_bw` was forgotten: samples of packets that were sent before are of a path that is gone.
    forgotten_at: u64,
}

impl Expiry {
    /// The larger rate of the last two spans, when an ACK at `now` ends one.
    fn take(&mut self, now: Time, total: u64, least: (Time, u64)) -> Option<f64> {
        let (since, from) = *self.span.get_or_insert((now, total));
        let (lasted, arrived) = (now.saturating_sub(since), total - from);
        if lasted < least.0 || arrived < least.1 {
            return None;
        }
        self.span = Some((now, total));
        let rate = arrived as f64 / lasted.as_secs_f64();
        self.previous.replace(rate).map(|previous| previous.max(rate))
    }
}

impl Bbr {
    /// Whether a sample of a packet with this P.delivered is older than what `max_bw` has forgotten.
    pub(super) fn is_expired(&self, prior: u64) -> bool {
        self.bounds.get().and_then(|bounds| bounds.expiry.as_ref()).is_some_and(|expiry| prior < expiry.forgotten_at)
    }

    /// Forgets `max_bw` where the path has delivered less than half of it for long enough.
    pub(super) fn expire_max_bw(&mut self, rs: &Round) {
        let (mss, max_bw) = (self.mss(), self.max_bw());
        let Some(expiry) = self.bounds.get_mut().and_then(|bounds| bounds.expiry.as_mut()) else { return };
        let waited = rs.rtt.is_some_and(|rtt| rtt.0 / c::EXPIRY_RTT >= self.min_rtt.0);
        if rs.app_limited || !waited {
            (expiry.span, expiry.previous) = (None, None);
            return;
        }
        let least = (self.min_rtt, c::EXPIRY_SEGMENTS * mss);
        if let Some(rate) = expiry.take(rs.now, rs.total, least)
            && rate < c::EXPIRY_SHARE * max_bw
        {
            (expiry.previous, expiry.forgotten_at) = (None, rs.total);
            self.max_bw_filter = CycleFilter::default();
            self.max_bw_filter.update(rate);
            // The bandwidth is found, and a probe for more is over.
            (self.full_bw_reached, self.full_bw_now) = (true, true);
        }
    }
}
