//! The sender: an encoder, the queue of its data units, and when these leave.

use std::collections::VecDeque;

use midpath_core::packet::{Kind, NodeId, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use super::delay::BaseDelay;
use super::feedback::{RTP, Report, Rtp};
use super::in_flight::InFlight;
use super::media::{HEADROOM, MediaRate, PACKET_PACING_HEADROOM, data_units, frame_factor};
use super::params::ScreamParams;
use super::window::{Event, Window};

/// s_rtt before the first sample: the authors' implementation.
const FIRST_RTT_S: f64 = 0.05;
/// Without feedback a data unit leaves this long after the last one: `isOkToTransmit` of the authors' implementation,
/// which sends a whole window then.
const WITHOUT_FEEDBACK: Time = Time::from_ms(500);
/// The least time between discards: `kMinRtpQueueDiscardInterval_ntp` of the authors' implementation.
const BETWEEN_DISCARDS: Time = Time::from_ms(250);
/// After the last data unit, feedback is waited for so long. Ours.
const LINGER: Time = Time::from_secs(1);
/// The longest time between two frames that is a frame's period, and no pause. Ours.
const LONGEST_PERIOD_S: f64 = 0.2;
/// From this share of the highest rate on the window follows what is in flight: `updateCwnd` of the authors'
/// implementation.
const NEAR_MAX: f64 = 0.95;
/// s_rtt's gain, and its gain where it falls because pictures are smaller than the target permits (§5; `markAcked`). Both
/// go by bytes in flight well below the window. That holds after any rise of the round-trip time, too, as the target has
/// fallen with it; s_rtt would stay for minutes, and the call with it (RFC 8867, 5.3).
const RTT_G: f64 = 1.0 / 8.0;
const RTT_G_LIMITED: f64 = 1.0 / 1024.0;

/// A data unit that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    size: u32,
    /// When its frame was encoded.
    frame: Time,
    marker: bool,
}

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

/// The active end.
pub struct Sender {
    params: ScreamParams,
    to: NodeId,
    mss: u32,
    /// Bytes of media encoded so far, and in the end.
    progress: u64,
    end: u64,
    stop_at: Time,
    /// What the application has handed over at the last frame, and when that was.
    given: u64,
    framed_at: Option<Time>,
    /// Whether the last picture was smaller than the target permits.
    limited: bool,
    /// The encoder's next frame; none where the application sets their times.
    frame_at: Time,
    queue: VecDeque<Waiting>,
    in_flight: InFlight,
    base: BaseDelay,
    window: Window,
    media: MediaRate,
    rtt: Rtt,
    /// When the next data unit may leave.
    pace_at: Time,
    last_sent: Time,
    discarded_at: Time,
    discarded: u64,
    report: FlowReport,
}

impl Sender {
    pub fn new(flow: &FlowSpec, params: &ScreamParams, headers: u32) -> Sender {
        let mss = (params.mss.0 as u32).min(flow.mtu.saturating_sub(headers)).max(RTP as u32 + 1);
        let max = flow.rate.filter(|rate| rate.0 > 0).map_or(params.max_rate, |rate| rate.min(params.max_rate));
        Sender {
            params: *params,
            to: flow.dst,
            mss,
            progress: 0,
            end: flow.size.map_or(u64::MAX, |size| size.0),
            stop_at: flow.stop.unwrap_or(Time::MAX),
            given: 0,
            framed_at: None,
            limited: false,
            frame_at: Time::ZERO,
            queue: VecDeque::new(),
            in_flight: InFlight::default(),
            base: BaseDelay::default(),
            window: Window::new(params, mss.into()),
            media: MediaRate::new(params.min_rate.as_f64().min(max.as_f64()), params.start_rate.as_f64(), max.as_f64()),
            rtt: Rtt::default(),
            pace_at: Time::ZERO,
            last_sent: Time::ZERO,
            discarded_at: Time::ZERO,
            discarded: 0,
            report: FlowReport::default(),
        }
    }

    fn s_rtt(&self) -> f64 {
        if self.rtt.smooth > 0.0 { self.rtt.smooth } else { FIRST_RTT_S }
    }

    /// Whether the encoder has nothing more to say.
    fn is_over(&self, now: Time) -> bool {
        self.progress >= self.end || now >= self.stop_at
    }

    /// Encodes what its time has come for. A write of the application is a picture: the frame is no longer than that.
    fn encode(&mut self, ctx: &mut EndpointCtx<'_>) {
        let now = ctx.now;
        if self.is_over(now) {
            return;
        }
        let interval = 1.0 / f64::from(self.params.frames);
        let mut closed = false;
        let (period, most) = match ctx.supply() {
            Some(supply) => {
                self.frame_at = Time::MAX;
                let written = supply.given - self.given;
                self.given = supply.given;
                closed = supply.closed;
                if written == 0 {
                    self.end = if closed { self.progress } else { self.end };
                    return;
                }
                let since = self.framed_at.map_or(interval, |at| now.saturating_sub(at).as_secs_f64());
                (since.clamp(1e-3, LONGEST_PERIOD_S), written)
            }
            None if now < self.frame_at => return,
            None => {
                self.frame_at = self.frame_at.saturating_add(Time::from_secs_f64(interval));
                (interval, u64::MAX)
            }
        };
        self.framed_at = Some(now);
        let factor = frame_factor(self.params.frame_spread, ctx.rng);
        let frame = (self.media.target() / 8.0 * period * factor) as u64;
        self.limited = most < frame;
        self.queue_frame(frame.min(most), now);
        let waited = self.queue.front().map_or(0.0, |oldest| now.saturating_sub(oldest.frame).as_secs_f64());
        self.media.on_frame(waited, period, frame as f64);
        self.end = if closed { self.progress } else { self.end };
    }

    /// Cuts a frame into data units. Its size counts their headers.
    fn queue_frame(&mut self, frame: u64, now: Time) {
        let frame = u32::try_from(frame).unwrap_or(u32::MAX / 2);
        let mut left = self.end - self.progress;
        let mut units = data_units(frame, self.mss, RTP as u32).peekable();
        while let Some(size) = units.next() {
            let media = u64::from(size - RTP as u32).min(left);
            left -= media;
            self.progress += media;
            let marker = units.peek().is_none() || left == 0;
            self.queue.push_back(Waiting { size: media as u32 + RTP as u32, frame: now, marker });
            if left == 0 {
                return;
            }
        }
    }

    /// Empties a queue that has become too old (§3.3).
    fn discard(&mut self, now: Time) {
        let Some(oldest) = self.queue.front() else { return };
        if now.saturating_sub(oldest.frame) > self.params.max_media_delay
            && (self.discarded == 0 || now.saturating_sub(self.discarded_at) >= BETWEEN_DISCARDS)
        {
            self.discarded += self.queue.len() as u64;
            self.discarded_at = now;
            self.queue.clear();
        }
    }

    /// When a data unit of this size may leave: at its pace, within the window or alone (§4.3.1).
    pub(super) fn leaves_at(&self, size: u32) -> Time {
        if self.fits(size) { self.pace_at } else { self.pace_at.max(self.last_sent.saturating_add(WITHOUT_FEEDBACK)) }
    }

    /// Whether the send window has room for it.
    pub(super) fn fits(&self, size: u32) -> bool {
        f64::from(size) <= self.window.send_wnd(self.in_flight.bytes() as f64)
    }

    /// Sends what may leave.
    fn transmit(&mut self, ctx: &mut EndpointCtx<'_>) {
        while let Some(unit) = self.queue.front().copied().filter(|unit| self.leaves_at(unit.size) <= ctx.now) {
            self.queue.pop_front();
            self.emit(unit, ctx);
        }
    }

    fn emit(&mut self, unit: Waiting, ctx: &mut EndpointCtx<'_>) {
        let number = self.in_flight.next();
        let rtp = Rtp::new(unit.marker, number as u16, unit.frame, ctx.flow.0);
        let mut packet = Packet::new(ctx.flow, ctx.node, self.to, 0);
        (packet.kind, packet.ecn, packet.payload) = (Kind::Datagram, self.params.ecn.codepoint(), unit.size as u16);
        packet.measure();
        packet.stamp(number as u32, unit.frame);
        ctx.send_carrying(packet, rtp.packet(unit.size as usize).into());
        self.on_sent(unit.size, ctx.now);
    }

    pub(super) fn on_sent(&mut self, size: u32, now: Time) {
        self.in_flight.on_sent(size, now);
        self.window.on_sent(self.in_flight.bytes() as f64);
        // t_pace (§4.3.2).
        let pace = Time::from_secs_f64(f64::from(size) * 8.0 / self.media.pace_bitrate());
        self.pace_at = self.pace_at.max(now).saturating_add(pace);
        self.last_sent = now;
        self.report.sent += 1;
    }

    pub(super) fn on_report(&mut self, report: &Report, at: Time) {
        let srtt = Time::from_secs_f64(self.s_rtt());
        let found = self.in_flight.on_report(report, srtt, at);
        let now = at.as_secs_f64();
        if let Some((sent, _)) = found.newest {
            let rtt = at.saturating_sub(sent);
            self.report.rtt(rtt);
            let first = self.rtt.smooth == 0.0;
            self.rtt.sample(rtt.as_secs_f64().max(1e-6), now, self.limited);
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
            in_flight: self.in_flight.bytes() as f64,
            target_bitrate: self.media.target(),
            max_bitrate: self.media.max(),
        });
        if self.media.target() > NEAR_MAX * self.media.max() {
            self.window.limit(PACKET_PACING_HEADROOM * self.media.max() / 8.0 * s_rtt);
        }
        self.media.update(&self.window, self.mss.into(), s_rtt);
    }

    #[cfg(test)]
    pub(super) fn in_flight(&self) -> f64 {
        self.in_flight.bytes() as f64
    }
    #[cfg(test)]
    pub(super) fn next(&self) -> u64 {
        self.in_flight.next()
    }
    #[cfg(test)]
    pub(super) fn ref_wnd(&self) -> f64 {
        self.window.ref_wnd()
    }
    #[cfg(test)]
    pub(super) fn media_mut(&mut self) -> &mut MediaRate {
        &mut self.media
    }

    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.encode(ctx);
        self.discard(ctx.now);
        self.transmit(ctx);
        let over = self.is_over(ctx.now);
        if ctx.now >= self.stop_at {
            self.queue.clear();
        }
        let done = over && self.queue.is_empty();
        if done && (self.in_flight.is_empty() || ctx.now >= self.last_sent.saturating_add(LINGER)) {
            return ctx.finish();
        }
        let next = match self.queue.front() {
            Some(unit) => self.leaves_at(unit.size),
            None if over => self.last_sent.saturating_add(LINGER),
            None => Time::MAX,
        };
        let frame = if over { Time::MAX } else { self.frame_at.min(self.stop_at) };
        match next.min(frame) {
            Time::MAX => ctx.cancel_timer(),
            at => ctx.set_timer(at),
        }
    }
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        (self.frame_at, self.last_sent) = (ctx.now, ctx.now);
        self.go_on(ctx);
    }
    fn on_packet(&mut self, packet: &Packet, ctx: &mut EndpointCtx<'_>) {
        let report = ctx.payload().and_then(|bytes| Report::get(&bytes));
        if let Some(report) = report.filter(|report| packet.kind == Kind::Datagram && report.ssrc == ctx.flow.0) {
            self.on_report(&report, ctx.now);
        }
        self.go_on(ctx);
    }
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.go_on(ctx);
    }
    fn on_application(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.go_on(ctx);
    }
    fn report(&self) -> FlowReport {
        let (rate, cwnd) = (self.media.target() as u64, self.window.ref_wnd() as u64);
        FlowReport { rate, cwnd, srtt: Time::from_secs_f64(self.rtt.smooth), ..self.report }
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("qdelay_s", self.window.qdelay()),
            ("qdelay_target_s", self.window.qdelay_target()),
            ("l4s_alpha", self.window.l4s_alpha()),
            ("waiting_units", self.queue.len() as f64),
            ("discarded_units", self.discarded as f64),
        ]);
    }
}
