//! SCReAM as the control of a call: reports move the window, the window moves the target.

use midpath_core::units::{Rate, Time};

use super::delay::BaseDelay;
use super::media::{HEADROOM, MediaRate, PACKET_PACING_HEADROOM};
use super::params::ScreamParams;
use super::window::{Event, Window};
use crate::calls::{CallConfig, CallControl, Encoder, Feedback};

/// s_rtt before the first sample: the authors' implementation.
const FIRST_RTT_S: f64 = 0.05;
/// From this share of the highest rate on the window follows what is in flight: `updateCwnd` of the authors'
/// implementation.
const NEAR_MAX: f64 = 0.95;
/// s_rtt's gain, and its gain where it falls because pictures are smaller than the target permits (§5; `markAcked`). Both
/// go by bytes in flight well below the window. That holds after any rise of the round-trip time, too, as the target has
/// fallen with it; s_rtt would stay for minutes, and the call with it (RFC 8867, 5.3).
const RTT_G: f64 = 1.0 / 8.0;
const RTT_G_LIMITED: f64 = 1.0 / 1024.0;

/// s_rtt: once per round trip, from an average of every report's (§4.2.1.4; `markAcked` of the authors' implementation).
#[derive(Debug, Clone, Copy, Default)]
struct Rtt {
    short: f64,
    smooth: f64,
    at: f64,
}

impl Rtt {
    fn sample(&mut self, rtt: f64, now: f64, limited: bool) {
        if self.smooth == 0.0 {
            (self.short, self.smooth, self.at) = (rtt, rtt, now);
            return;
        }
        self.short += RTT_G * (rtt - self.short);
        if now - self.at >= self.short {
            let gain = if limited && self.short < self.smooth { RTT_G_LIMITED } else { RTT_G };
            self.smooth += gain * (self.short - self.smooth);
            self.at = now;
        }
    }
}

/// One call's.
pub struct Scream {
    params: ScreamParams,
    mss: f64,
    base: BaseDelay,
    window: Window,
    pub(super) media: MediaRate,
    rtt: Rtt,
}

impl Scream {
    #[cfg(test)]
    pub fn ref_wnd(&self) -> f64 {
        self.window.ref_wnd()
    }
}

impl CallConfig for ScreamParams {
    type Control = Scream;
    fn encoder(&self) -> Encoder {
        let ScreamParams { max_rate, frames, frame_spread, mss, max_media_delay, .. } = *self;
        Encoder { max_rate, frames, frame_spread, mss, max_media_delay, codepoint: self.ecn.codepoint() }
    }
    fn control(&self, mss: u32, max: Rate) -> Scream {
        let (min, max) = (self.min_rate.as_f64().min(max.as_f64()), max.as_f64());
        Scream {
            params: *self,
            mss: mss.into(),
            base: BaseDelay::default(),
            window: Window::new(self, mss.into()),
            media: MediaRate::new(min, self.start_rate.as_f64(), max),
            rtt: Rtt::default(),
        }
    }
}

impl CallControl for Scream {
    fn target(&self) -> f64 {
        self.media.target()
    }
    fn pace_rate(&self) -> f64 {
        self.media.pace_bitrate()
    }
    fn fits(&self, size: u32, in_flight: u64) -> bool {
        f64::from(size) <= self.window.send_wnd(in_flight as f64)
    }
    fn on_frame(&mut self, waited: f64, period: f64, size: f64, _now: Time) {
        self.media.on_frame(waited, period, size);
    }
    fn on_sent(&mut self, in_flight: u64) {
        self.window.on_sent(in_flight as f64);
    }
    fn on_report(&mut self, feedback: &Feedback<'_>) {
        let (found, now) = (feedback.found, feedback.at.as_secs_f64());
        if let Some((sent, _)) = found.newest {
            let first = self.rtt.smooth == 0.0;
            let rtt = feedback.at.saturating_sub(sent).as_secs_f64().max(1e-6);
            self.rtt.sample(rtt, now, feedback.limited);
            if first {
                // What the start rate needs.
                self.window.begin(self.params.start_rate.as_f64() / 8.0 * HEADROOM * self.s_rtt());
            }
        }
        let s_rtt = self.s_rtt();
        self.window.on_report(&Event {
            now,
            s_rtt,
            qdelay: found.newest.map(|(_, took)| self.base.qdelay(took, now)),
            bytes: found.bytes as f64,
            bytes_ce: found.bytes_ce as f64,
            delivered: found.delivered as f64,
            marked: found.marked as f64,
            lost: found.lost as f64,
            in_flight: feedback.in_flight as f64,
            target_bitrate: self.media.target(),
            max_bitrate: self.media.max(),
        });
        if self.media.target() > NEAR_MAX * self.media.max() {
            self.window.limit(PACKET_PACING_HEADROOM * self.media.max() / 8.0 * s_rtt);
        }
        self.media.update(&self.window, self.mss, s_rtt);
    }
    fn s_rtt(&self) -> f64 {
        if self.rtt.smooth > 0.0 { self.rtt.smooth } else { FIRST_RTT_S }
    }
    fn measured_rtt(&self) -> Time {
        Time::from_secs_f64(self.rtt.smooth)
    }
    fn window(&self) -> u64 {
        self.window.ref_wnd() as u64
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("qdelay_s", self.window.qdelay()),
            ("qdelay_target_s", self.window.qdelay_target()),
            ("l4s_alpha", self.window.l4s_alpha()),
        ]);
    }
}
