//! The states of an interface (figure 3), the thresholds between them, and the notifications. `algorithm1.rs` has
//! the transitions, `machine.rs` the current state.

use midpath_core::units::{Bytes, Rate, Time};

use super::equations;

/// The operational state of an interface (§II-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum State {
    /// P: the cache is empty, packets go straight to the wire.
    #[default]
    Push = 0,
    /// S&D: what exceeds the link is stored, and detoured where there is room.
    StoreAndDetour = 1,
    /// B: the cache is filled beyond S_high; the hop upstream is to slow down.
    Backpressure = 2,
    /// DB: the cache has drained below S_low; the hop upstream may stop slowing down.
    DisableBackpressure = 3,
}

/// The thresholds of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Size of the cache.
    pub size: u64,
    /// S_high.
    pub high: u64,
    /// S_low.
    pub low: u64,
}

impl Thresholds {
    /// The paper's rule (§II-B): S_high = size − RTT × C. §IV-E adds that the margin has to take in
    /// what comes in faster than it leaves until the hops upstream have slowed down: here what all
    /// other links of the router, together of rate `inflow`, bring in two round trips (one for the
    /// first ACK, one until each flow has had its own; ours), in each of which data and ACK may
    /// `wait` in a full buffer. Where the larger of both leaves less than half of the cache, S_high
    /// is half of the size, as in §IV-E.
    pub fn by_inflow(size: Bytes, rtt: Time, wait: Time, rate: Rate, inflow: Rate, low: f64) -> Thresholds {
        let margin = Thresholds::inflow_margin(rtt, wait, rate, inflow);
        let high = equations::s_high(size.0, margin).max(size.0 / 2);
        Thresholds::given(size, Bytes(high), low)
    }

    /// The same with S_high at `share` of the size at most, or at `least` if that is more.
    pub fn at_most(self, share: f64, least: u64) -> Thresholds {
        let most = ((self.size as f64 * share) as u64).max(least);
        let low = if self.high == 0 { 0.0 } else { self.low as f64 / self.high as f64 };
        Thresholds::given(Bytes(self.size), Bytes(self.high.min(most)), low)
    }

    /// The margin that [`Thresholds::by_inflow`] asks for, however large the cache is.
    pub fn inflow_margin(rtt: Time, wait: Time, rate: Rate, inflow: Rate) -> u64 {
        let trip = rtt.saturating_add(Time(wait.0.saturating_mul(2)));
        rate.bytes_in(rtt).0.max(inflow.bytes_in(Time(trip.0.saturating_mul(2))).0)
    }

    /// The rule of §II-B alone: S_high = size − RTT × C.
    pub fn by_link(size: Bytes, rtt: Time, rate: Rate, low: f64) -> Thresholds {
        Thresholds::given(size, Bytes(equations::s_high(size.0, rate.bytes_in(rtt).0)), low)
    }

    /// What is left above S_high.
    pub fn margin(&self) -> u64 {
        self.size - self.high
    }

    /// S_high as given, and S_low as a share of it.
    pub fn given(size: Bytes, high: Bytes, low: f64) -> Thresholds {
        let high = high.0.min(size.0);
        Thresholds { size: size.0, high, low: (high as f64 * low) as u64 }
    }
}

/// What an interface says on the next ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Slow down.
    SlowDown,
    /// Stop slowing down.
    Cancel,
}
