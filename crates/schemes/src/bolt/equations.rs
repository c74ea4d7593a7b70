//! The sender's reaction to ACKs, notices and losses: `BoltOutboundMsg` of the artefact, whose names are above the
//! lines. Windows are whole bytes, times nanoseconds.

use super::header::{BoltFlags, Notice};

/// What the law is told of the flow and its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// Payload of a full packet, and its bytes on the wire.
    pub mss: u64,
    pub mtu: u64,
    /// The host's link in bits per second.
    pub line: f64,
    /// The window is between these.
    pub least: u64,
    pub most: u64,
}

/// `MaxMd`: how much a window falls by at once.
const MOST_DECREASE: f64 = 0.5;

/// A flow's m_cwnd and m_wndTimeMarker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub window: u64,
    /// When it last fell.
    pub fell: u64,
}

impl State {
    /// `UpdateCwndAsBolt` and `UpdateCwnd`: a packet more in a round trip (AI), and one for each that says so.
    pub fn acknowledge(&mut self, marks: BoltFlags, additive: bool, path: &Path) {
        if additive {
            self.window += path.mss;
        }
        if marks.has(BoltFlags::INC) && !marks.has(BoltFlags::DEC) {
            self.window += path.mss;
        }
        self.window = self.window.min(path.most).max(path.least);
    }

    /// `HandleBts`: a packet less, as often as drains the queue in the time that a notice takes, in so far as it is
    /// this flow's. `rtt` is the newest round trip, zero before the first.
    pub fn tell(&mut self, notice: &Notice, came_after: u64, rtt: u64, now: u64, path: &Path) {
        if self.window <= path.mss {
            self.window = halved(self.window);
        } else {
            let rate = if rtt > 0 { self.window as f64 * 8.0 / rtt as f64 * 1e9 } else { path.line };
            let share = rate / f64::from(notice.rate);
            let packets = f64::from(notice.queue) / path.mtu as f64;
            let interval = (came_after as f64 / (packets * share)) as u64;
            if now.saturating_sub(self.fell) >= interval {
                self.window -= path.mss;
                self.fell = now;
            }
        }
        self.window = self.window.max(path.least);
    }

    /// `HandleNack` and `HandleRtx`: half, once per round trip.
    pub fn lose(&mut self, rtt: u64, now: u64, path: &Path) {
        if now.saturating_sub(self.fell) >= rtt {
            self.window = halved(self.window).max(path.least);
            self.fell = now;
        }
    }
}

fn halved(window: u64) -> u64 {
    (window as f64 * (1.0 - MOST_DECREASE)) as u64
}

/// `SendDownOnePacket`: what a packet with `payload` bytes says, where `left` are to be sent, itself included.
pub(crate) fn said(first: bool, payload: u64, left: u64, window: u64) -> BoltFlags {
    let fits = left <= window;
    let mut marks = BoltFlags::default();
    if first {
        marks = marks.with(BoltFlags::FIRST);
    } else if !fits {
        marks = marks.with(BoltFlags::INC);
    }
    if fits || left <= payload { marks.with(BoltFlags::LAST) } else { marks }
}
