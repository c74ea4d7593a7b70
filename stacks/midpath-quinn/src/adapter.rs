//! Between quinn's events and those of a controller.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::FlowSpec;
use midpath_core::units::Time;
use midpath_schemes::controller::{
    Ack, AssistedConfig, Congestion, CongestionController, Lost, Opening, TcpParams, Window,
};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::sent::Packets;

/// Builds a controller per path.
pub struct Factory<C> {
    pub(crate) tcp: TcpParams,
    pub(crate) config: C,
}

impl<C: AssistedConfig> ControllerFactory for Factory<C>
where
    C::Controller: Clone + Sync,
{
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(&self.config, &self.tcp, now, mtu))
    }
}

/// One path's controller.
#[derive(Clone)]
pub struct Adapter<C> {
    control: C,
    window: Window,
    initial: u64,
    base: Instant,
    open: bool,
    packets: Packets,
    /// What the batch of ACKs at hand reports: all bytes, and those that were not sent before a recovery began.
    batch: (u64, u64),
    srtt: Time,
    rtt: Option<Time>,
    app_limited: bool,
    /// When the window fell the last time, and whether a mark was the reason.
    recovery: Option<(Time, bool)>,
    /// What is sent before this is acknowledged ends the recovery.
    recovering: bool,
    /// The last batch: losses and marks that are told at the same time are of its ACK.
    last: (Time, u64),
}

impl<C: CongestionController> Adapter<C> {
    /// That of a configuration.
    pub fn new(config: &impl AssistedConfig<Controller = C>, tcp: &TcpParams, now: Instant, mtu: u16) -> Adapter<C> {
        let flow = FlowSpec::new(FlowId(0), NodeId(0), NodeId(1));
        let segments = config.traits().controller.initial_window.unwrap_or(tcp.initial_window);
        let window = Window::new(segments, mtu.into());
        Adapter {
            control: config.build(tcp, mtu.into(), &flow),
            initial: window.cwnd,
            window,
            base: now,
            open: false,
            packets: Packets::default(),
            batch: (0, 0),
            srtt: Time::ZERO,
            rtt: None,
            app_limited: false,
            recovery: None,
            recovering: false,
            last: (Time::ZERO, 0),
        }
    }

    fn time(&self, at: Instant) -> Time {
        Time::from_ns(at.saturating_duration_since(self.base).as_nanos() as u64)
    }

    /// One packet of a batch is acknowledged.
    pub fn acked(&mut self, now: Time, sent: Time, bytes: u64, app_limited: bool, srtt: Time) {
        let fresh = self.recovery.is_none_or(|(at, _)| sent > at);
        self.batch = (self.batch.0 + bytes, self.batch.1 + if fresh { bytes } else { 0 });
        self.rtt = Some(self.rtt.map_or(now.saturating_sub(sent), |rtt| rtt.min(now.saturating_sub(sent))));
        (self.srtt, self.app_limited) = (srtt, app_limited);
        self.packets.on_acked(sent, bytes, now);
    }

    /// The batch is complete.
    pub fn end_acks(&mut self, now: Time) {
        let ((all, fresh), rtt) = (std::mem::take(&mut self.batch), self.rtt.take());
        if all == 0 {
            return;
        }
        if !std::mem::replace(&mut self.open, true) {
            // Whatever the run, these numbers are the same: quinn has none for controllers.
            let mut rng = stream(1, Purpose::Endpoints, 0);
            let opening = Opening { now, srtt: self.srtt, overhead: 0, sack: true, rng: &mut rng };
            self.control.on_open(&mut self.window, &mut { opening });
        }
        if self.app_limited {
            self.packets.note_app_limited();
        }
        self.last = (now, all);
        if fresh > 0 && std::mem::take(&mut self.recovering) {
            self.control.on_recovered(&mut self.window, now);
        }
        let ack = self.ack(now, all, rtt);
        self.control.on_delivery(&mut self.window, &ack);
        if fresh > 0 {
            let ack = Ack { acked: fresh, ..ack };
            match self.app_limited {
                false => self.control.on_ack(&mut self.window, &ack),
                true => self.control.on_unlimited_ack(&ack),
            }
        }
        if C::SAMPLES
            && let Some(sample) = self.packets.generate(now)
        {
            self.control.on_sample(&mut self.window, &ack, &sample);
        }
    }

    fn ack(&self, now: Time, bytes: u64, rtt: Option<Time>) -> Ack {
        Ack {
            now,
            acked: bytes,
            delivered: bytes,
            una: self.packets.total,
            nxt: self.packets.total + self.packets.in_flight,
            rtt,
            srtt: self.srtt,
            app_limited: self.app_limited,
            ..Ack::default()
        }
    }

    /// Packets are lost, the last of them sent at `sent`; or marked, then `lost` is 0.
    pub fn congested(&mut self, now: Time, sent: Time, persistent: bool, lost: u64) {
        let batch = if self.last.0 == now { self.last.1 } else { 0 };
        // Before the ACK, and no more than the window: quinn may exceed it by a packet.
        let flight = (self.packets.in_flight + batch).min(self.window.cwnd);
        if lost > 0 {
            let (in_flight, before, app_limited) = self.packets.on_lost(sent, lost);
            if C::SAMPLES {
                let (total, lost_since) = (self.packets.total, self.packets.lost - before);
                let lost = Lost { now, bytes: lost, in_flight, lost: lost_since, total, app_limited, follows: false };
                self.control.on_lost(&mut self.window, &lost);
            }
        } else {
            let marked = batch;
            let ack = Ack { ece: true, marks: marked.div_ceil(self.window.mss), marked, ..self.ack(now, 0, None) };
            self.control.on_delivery(&mut self.window, &ack);
        }
        // RFC 9002, §7.3.1: once per recovery.
        if self.recovery.is_some_and(|(at, _)| sent <= at) && !persistent {
            return;
        }
        let ecn_reduced = self.recovery.is_some_and(|(at, by_mark)| by_mark && sent <= at);
        let congestion = Congestion { now, flight, ecn_reduced };
        let least = if C::OWN_WINDOW { 0 } else { 2 * self.window.mss };
        let threshold = match () {
            () if persistent => self.control.on_rto(&self.window, &congestion),
            () if lost > 0 => self.control.on_loss(&self.window, &congestion),
            () => self.control.on_ecn(&self.window, &congestion),
        };
        let threshold = threshold.max(least);
        self.window.ssthresh = if C::OWN_WINDOW { self.window.ssthresh } else { threshold };
        // RFC 9002, §7.6.2: the minimum window.
        self.window.set(if persistent && !C::OWN_WINDOW { least } else { threshold });
        (self.recovery, self.recovering) = (Some((now, lost == 0)), true);
    }

    /// The window.
    pub fn state(&self) -> &Window {
        &self.window
    }
}

impl<C: CongestionController + Clone + Sync> Controller for Adapter<C> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.time(now);
        self.packets.on_sent(bytes, self.window.cwnd, now);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.acked(now, sent, bytes, app_limited, Time::from_ns(rtt.get().as_nanos() as u64));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        // quinn tells of packets that are never acknowledged, too: those of ACKs alone.
        self.packets.in_flight = in_flight;
        self.end_acks(self.time(now));
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.congested(self.time(now), self.time(sent), persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.window.mss = mtu.into();
        self.window.cwnd = self.window.cwnd.max(2 * self.window.mss);
    }

    fn window(&self) -> u64 {
        // quinn sends nothing below a packet.
        self.window.cwnd.max(self.window.mss)
    }

    fn metrics(&self) -> ControllerMetrics {
        let rate = self.control.pacing_rate(&self.window, self.srtt).map(|rate| rate.0);
        let mut metrics = ControllerMetrics::default();
        (metrics.congestion_window, metrics.pacing_rate) = (self.window.cwnd, rate);
        metrics.ssthresh = self.window.in_slow_start().then_some(self.window.ssthresh);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
