//! The sender: an encoder, the queue of its data units, and when these leave.

use std::collections::VecDeque;

use midpath_core::packet::{Kind, NodeId, Packet};
use midpath_core::roles::{Endpoint, EndpointCtx, FlowReport, FlowSpec};
use midpath_core::units::Time;

use super::encoder::{data_units, frame_factor};
use super::feedback::{RTP, Report, Rtp};
use super::in_flight::InFlight;
use super::{CallConfig, CallControl, Encoder, Feedback};

/// Without feedback a data unit leaves this long after the last one: `isOkToTransmit` of the authors' implementation,
/// which sends a whole window then.
const WITHOUT_FEEDBACK: Time = Time::from_ms(500);
/// The least time between discards: `kMinRtpQueueDiscardInterval_ntp` of the authors' implementation.
const BETWEEN_DISCARDS: Time = Time::from_ms(250);
/// After the last data unit, feedback is waited for so long. Ours.
const LINGER: Time = Time::from_secs(1);
/// The longest time between two frames that is a frame's period, and no pause. Ours.
const LONGEST_PERIOD_S: f64 = 0.2;
/// A data unit that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    size: u32,
    /// When its frame was encoded.
    frame: Time,
    marker: bool,
    /// Whether it has no media.
    padding: bool,
}

/// A probe has so many data units and lasts so long at least: libwebrtc's `min_probe_packets_sent`, `min_probe_duration`.
const PROBE_UNITS: u32 = 5;
const PROBE_S: f64 = 0.015;

/// A probe that is being sent.
#[derive(Debug, Clone, Copy)]
struct Probe {
    rate: f64,
    /// Data units and bytes that are still to leave, and when the next one is.
    units: u32,
    bytes: u32,
    at: Time,
}

/// The active end.
pub struct Sender<C> {
    encoder: Encoder,
    pub control: C,
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
    probe: Option<Probe>,
    probes: u32,
    /// When the next data unit may leave.
    pace_at: Time,
    last_sent: Time,
    discarded_at: Time,
    discarded: u64,
    report: FlowReport,
}

impl<C: CallControl> Sender<C> {
    pub fn new(flow: &FlowSpec, config: &impl CallConfig<Control = C>, headers: u32) -> Sender<C> {
        let encoder = config.encoder();
        let mss = (encoder.mss.0 as u32).min(flow.mtu.saturating_sub(headers)).max(RTP as u32 + 1);
        let max = flow.rate.filter(|rate| rate.0 > 0).map_or(encoder.max_rate, |rate| rate.min(encoder.max_rate));
        Sender {
            encoder,
            control: config.control(mss, max),
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
            probe: None,
            probes: 0,
            pace_at: Time::ZERO,
            last_sent: Time::ZERO,
            discarded_at: Time::ZERO,
            discarded: 0,
            report: FlowReport::default(),
        }
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
        let interval = 1.0 / f64::from(self.encoder.frames);
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
        let factor = frame_factor(self.encoder.frame_spread, ctx.rng);
        let frame = (self.control.target() / 8.0 * period * factor) as u64;
        self.limited = most < frame;
        self.queue_frame(frame.min(most), now);
        let waited = self.queue.front().map_or(0.0, |oldest| now.saturating_sub(oldest.frame).as_secs_f64());
        self.control.on_frame(waited, period, frame as f64, now);
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
            self.queue.push_back(Waiting { size: media as u32 + RTP as u32, frame: now, marker, padding: false });
            if left == 0 {
                return;
            }
        }
    }

    /// Empties a queue that has become too old (SCReAM's draft, §3.3).
    fn discard(&mut self, now: Time) {
        let Some(oldest) = self.queue.front() else { return };
        if now.saturating_sub(oldest.frame) > self.encoder.max_media_delay
            && (self.discarded == 0 || now.saturating_sub(self.discarded_at) >= BETWEEN_DISCARDS)
        {
            self.discarded += self.queue.len() as u64;
            self.discarded_at = now;
            self.queue.clear();
        }
    }

    /// When a data unit of this size may leave: at its pace, within the window or alone (SCReAM's draft, §4.3.1).
    pub fn leaves_at(&self, size: u32) -> Time {
        if self.fits(size) { self.pace_at } else { self.pace_at.max(self.last_sent.saturating_add(WITHOUT_FEEDBACK)) }
    }

    /// Whether the send window has room for it.
    pub fn fits(&self, size: u32) -> bool {
        self.control.fits(size, self.in_flight.bytes())
    }

    /// Sends what may leave.
    fn transmit(&mut self, ctx: &mut EndpointCtx<'_>) {
        while let Some(unit) = self.queue.front().copied().filter(|unit| self.leaves_at(unit.size) <= ctx.now) {
            self.queue.pop_front();
            self.emit(unit, 0, ctx);
        }
    }

    /// Sends what a probe has left for now, media first.
    fn transmit_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.probe.is_none()
            && let Some(rate) = self.control.probe(ctx.now)
        {
            self.probes += 1;
            self.probe = Some(Probe { rate, units: PROBE_UNITS, bytes: (rate / 8.0 * PROBE_S) as u32, at: ctx.now });
        }
        while let Some(probe) = self.probe.filter(|probe| probe.at <= ctx.now) {
            let padding = Waiting { size: self.mss, frame: ctx.now, marker: false, padding: true };
            let unit = self.queue.pop_front().unwrap_or(padding);
            self.emit(unit, self.probes, ctx);
            let (units, bytes) = (probe.units.saturating_sub(1), probe.bytes.saturating_sub(unit.size));
            let at = probe.at.saturating_add(Time::from_secs_f64(f64::from(unit.size) * 8.0 / probe.rate));
            self.probe = (units > 0 || bytes > 0).then_some(Probe { units, bytes, at, ..probe });
        }
    }

    fn emit(&mut self, unit: Waiting, probe: u32, ctx: &mut EndpointCtx<'_>) {
        let number = self.in_flight.next();
        let rtp = Rtp { padding: unit.padding, ..Rtp::new(unit.marker, number as u16, unit.frame, ctx.flow.0) };
        let mut packet = Packet::new(ctx.flow, ctx.node, self.to, 0);
        (packet.kind, packet.ecn, packet.payload) = (Kind::Datagram, self.encoder.codepoint, unit.size as u16);
        packet.measure();
        if !unit.padding {
            packet.stamp(number as u32, unit.frame);
            self.report.sent += 1;
        }
        ctx.send_carrying(packet, rtp.packet(unit.size as usize).into());
        self.on_sent(unit.size, probe, ctx.now);
    }

    pub fn on_sent(&mut self, size: u32, probe: u32, now: Time) {
        self.in_flight.on_sent(size, probe, now);
        self.control.on_sent(self.in_flight.bytes());
        // t_pace (SCReAM's draft, §4.3.2).
        let pace = Time::from_secs_f64(f64::from(size) * 8.0 / self.control.pace_rate());
        self.pace_at = self.pace_at.max(now).saturating_add(pace);
        self.last_sent = now;
    }

    pub fn on_report(&mut self, report: &Report, at: Time) {
        let srtt = Time::from_secs_f64(self.control.s_rtt());
        let found = self.in_flight.on_report(report, srtt, at);
        if let Some((sent, _)) = found.newest {
            self.report.rtt(at.saturating_sub(sent));
        }
        let (arrived, in_flight) = (self.in_flight.arrived(), self.in_flight.bytes());
        self.control.on_report(&Feedback { at, found, arrived, in_flight, limited: self.limited });
    }

    #[cfg(test)]
    pub fn in_flight(&self) -> f64 {
        self.in_flight.bytes() as f64
    }
    #[cfg(test)]
    pub fn next(&self) -> u64 {
        self.in_flight.next()
    }

    fn go_on(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.encode(ctx);
        self.discard(ctx.now);
        self.transmit(ctx);
        let over = self.is_over(ctx.now);
        if !over {
            self.transmit_probe(ctx);
        }
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
        let probe = self.probe.map_or(Time::MAX, |probe| probe.at);
        let frame = if over { Time::MAX } else { self.frame_at.min(self.stop_at).min(probe) };
        match next.min(frame) {
            Time::MAX => ctx.cancel_timer(),
            at => ctx.set_timer(at),
        }
    }
}

impl<C: CallControl> Endpoint for Sender<C> {
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
        let (rate, cwnd) = (self.control.target() as u64, self.control.window());
        FlowReport { rate, cwnd, srtt: self.control.measured_rtt(), ..self.report }
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.control.gauges(out);
        out.extend([("waiting_units", self.queue.len() as f64), ("discarded_units", self.discarded as f64)]);
    }
}
