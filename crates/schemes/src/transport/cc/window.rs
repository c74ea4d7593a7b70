//! The window that a controller and its sender share.

/// A window never grows beyond this: 1 TiB, above every bandwidth-delay product, far below
/// overflow.
const MAX_WINDOW: u64 = 1 << 40;

/// The congestion window of one sender, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Most bytes in flight.
    pub cwnd: u64,
    /// Below this the window grows by slow start.
    pub ssthresh: u64,
    /// Payload of a full segment (SMSS).
    pub mss: u64,
    /// Growth that does not make a whole byte yet.
    rest: f64,
}

impl Window {
    /// A window of `segments` segments and no threshold yet (RFC 5681, §3.1: "arbitrarily high").
    pub fn new(segments: u32, mss: u32) -> Window {
        let mss = u64::from(mss);
        Window { cwnd: u64::from(segments) * mss, ssthresh: MAX_WINDOW, mss, rest: 0.0 }
    }

    /// Whether slow start governs the growth (RFC 5681, §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by a fraction of a byte or more; fractions add up.
    #[inline]
    pub fn grow(&mut self, bytes: f64) {
        self.rest += bytes.max(0.0);
        let whole = self.rest as u64;
        self.rest -= whole as f64;
        self.cwnd = (self.cwnd.saturating_add(whole)).min(MAX_WINDOW);
    }

    /// Sets the window.
    pub fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.min(MAX_WINDOW);
        self.rest = 0.0;
    }

    /// What is in flight does not fill the window any more, so it says nothing of the path: it is `most` at most, and
    /// slow start leads back to three quarters of what it was (RFC 7661, §4.4.3).
    pub fn restart(&mut self, most: u64) {
        if self.cwnd > most {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            self.set(most);
        }
    }

    /// The window in segments.
    #[inline]
    pub fn segments(&self) -> f64 {
        (self.cwnd as f64 + self.rest) / self.mss as f64
    }
}
