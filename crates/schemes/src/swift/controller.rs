//! The controller's callbacks.

use midpath_core::units::{Rate, Time};

use super::equations::{Path, Scaling, State};
use super::params::SwiftParams;
use crate::transport::cc::{Ack, Congestion, CongestionController, NetworkAssisted, Opening, Window, shortest};

/// The target and its range, in shortest round trips, where none is given.
const TARGET: f64 = 2.0;
const RANGE: f64 = 5.0;

/// A window that keeps the round-trip time at a target.
#[derive(Debug, Clone, Copy)]
pub struct Swift {
    params: SwiftParams,
    state: State,
    /// The shortest round trip measured; zero before the first.
    min_rtt: Time,
    srtt: Time,
    /// Bytes on the wire per byte of payload.
    wire: f64,
}

impl Swift {
    pub(super) fn new(params: SwiftParams) -> Swift {
        Swift { params, state: State::new(1.0), min_rtt: Time::ZERO, srtt: Time::ZERO, wire: 1.0 }
    }

    fn path(&self) -> Path {
        let p = &self.params;
        let min_rtt = self.min_rtt.as_secs_f64();
        Path {
            increase: p.ai,
            beta: p.beta,
            most_decrease: p.max_mdf,
            target: p.target.map_or(TARGET * min_rtt, Time::as_secs_f64),
            scaling: Scaling {
                range: p.fs_range.map_or(RANGE * min_rtt, Time::as_secs_f64),
                least: p.fs_min_cwnd,
                most: p.fs_max_cwnd,
            },
        }
    }

    fn bytes(&self, window: &Window) -> u64 {
        (self.state.cwnd * window.mss as f64) as u64
    }
}

impl NetworkAssisted for Swift {}

impl CongestionController for Swift {
    const OWN_WINDOW: bool = true;
    const DONE_WITH_DATA: bool = true;

    fn on_open(&mut self, window: &mut Window, opening: &mut Opening<'_>) {
        self.state = State::new(window.segments());
        self.wire = (window.mss + opening.overhead) as f64 / window.mss as f64;
        (self.min_rtt, self.srtt) = (opening.srtt, opening.srtt);
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt;
        let Some(rtt) = ack.rtt else { return };
        self.min_rtt = shortest(self.min_rtt, rtt);
        // RFC 7661, §4.4.1 (ours here): a window that is not used does not grow.
        let packets = if ack.app_limited { 0.0 } else { ack.acked as f64 / window.mss as f64 };
        let (now, srtt) = (ack.now.as_secs_f64(), ack.srtt.as_secs_f64());
        self.state.acknowledge(&self.path(), rtt.as_secs_f64(), packets, now, srtt);
        window.set(self.bytes(window));
    }

    fn on_loss(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.state.lose(&self.path(), congestion.now.as_secs_f64(), self.srtt.as_secs_f64());
        self.bytes(window)
    }

    fn on_rto(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.state.time_out(&self.path(), congestion.now.as_secs_f64(), self.srtt.as_secs_f64());
        self.bytes(window)
    }

    /// Swift has no marks; they are answered as a loss. Ours.
    fn on_ecn(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.on_loss(window, congestion)
    }

    /// pacing_delay = rtt/cwnd below a packet; above, packets leave as ACKs come.
    fn pacing_rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        if self.state.cwnd >= 1.0 || srtt.is_zero() {
            return Some(Rate(u64::MAX));
        }
        let bytes = self.state.cwnd * window.mss as f64 * self.wire;
        Some(Rate(((8.0 * bytes / srtt.as_secs_f64()) as u64).max(1)))
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("target_s", self.state.target(&self.path())));
    }
}
