//! Losses at the end of what was sent: a probe goes out when nothing has come back for two round trips (TLP, RFC 8985,
//! §7). What its answer shows to be lost is found by [`super::rack`].

use midpath_core::packet::Packet;
use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::ack::News;
use super::{Phase, Sender, State};
use crate::transport::cc::NetworkAssisted;

/// §7.2: the timeout while no round trip has been measured.
const BLIND_PTO: Time = Time::from_secs(1);

/// A probe whose answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// TLP.end_seq: SND.NXT when it had been sent.
    pub end: u64,
    /// TLP.is_retrans.
    pub repeats: bool,
}

/// What says when probes are sent: where losses are found by RACK.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probes {
    /// New data were sent, or old ones acknowledged, since that was looked at.
    moved: bool,
    /// A round trip was measured since the last one.
    pub measured: bool,
}

impl<C: NetworkAssisted> Sender<C> {
    /// Probes sent, and whether the answer to one is awaited.
    pub fn probes(&self) -> (u32, bool) {
        (self.board.reports.repair.probes, self.board.reports.repair.probe.is_some())
    }

    /// New data leave, or old ones are acknowledged: the next probe waits from now on.
    #[inline]
    pub(super) fn probes_moved(&mut self) {
        self.probes.moved = true;
    }

    /// Losses are being repaired: no probe is due, and none is waited for.
    pub(super) fn stop_probes(&mut self) {
        self.probe_at = Time::MAX;
        if let Some(repair) = self.board.reports.repair() {
            repair.probe = None;
        }
    }

    /// §7.2: whether a probe may be scheduled, and sent. Where the network tells the rate, a packet beyond that is not
    /// the sender's to send. Ours.
    #[inline]
    fn may_probe(&self) -> bool {
        let waits = self.state == State::Open && self.una() < self.nxt() && self.edge() > self.una();
        waits
            && !self.settings.is_rate_based()
            && self.phase == Phase::Open
            && self.adapts()
            && self.board.sacked() == 0
    }

    /// §7.2, TLP_calc_PTO: called when the retransmission timer is running.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time) {
        let Probes { moved, measured } = self.probes;
        if !moved {
            return;
        }
        self.probes.moved = false;
        self.probe_at = Time::MAX;
        if measured && self.may_probe() && self.awaited_probe().is_none() {
            // It is paced as any packet is. Ours: RFC 8985 knows windows only.
            let paced = self.pace.get().map_or(Time::ZERO, |pace| pace.at);
            self.probe_at = now.saturating_add(self.probe_timeout()).max(paced).min(self.rto_at);
        }
    }

    /// The probe whose answer is awaited.
    #[inline]
    pub(super) fn awaited_probe(&self) -> Option<Probe> {
        self.board.reports.get()?.repair.probe
    }

    #[inline]
    fn probe_timeout(&self) -> Time {
        let two = Time(self.rtt.srtt().0.saturating_mul(2));
        match (self.rtt.sampled(), self.flight() > self.window.mss + 1) {
            (false, _) => BLIND_PTO,
            (true, true) => two,
            // "FlightSize is one segment": its ACK may be delayed.
            (true, false) => two.saturating_add(self.settings.tcp.delack_timeout),
        }
    }

    /// §7.3, TLP_send_probe: new data if there are any, else the last segment again, whatever the window says.
    pub(super) fn on_probe_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.probe_at = Time::MAX;
        if self.awaited_probe().is_some() || !self.probes.measured || !self.may_probe() {
            return; // the retransmission timer is as it was
        }
        let new = self.new_segment(self.pipe());
        let repeats = new.is_none();
        let segment = new.unwrap_or_else(|| self.segment_in((self.board.last(), self.nxt())));
        self.pace_from(ctx.now);
        self.emit_one(segment, ctx);
        // "The sender MUST re-arm the RTO timer, not the PTO timer."
        self.rto_at = ctx.now.saturating_add(self.patience());
        self.board.reports.repair.probe = Some(Probe { end: self.nxt(), repeats });
        self.board.reports.repair.probes += 1;
        (self.probes.moved, self.probes.measured) = (false, false);
    }

    /// §7.4.2, TLP_process_ack. A probe that has repaired the one loss that there was is congestion like any.
    pub(super) fn on_probe_ack(&mut self, packet: &Packet, news: &News) {
        let Some(probe) = self.awaited_probe().filter(|probe| self.una() >= probe.end) else { return };
        let repaired = probe.repeats && self.una() > probe.end;
        // Both have arrived: a D-SACK says so, or where the receiver sends none, an ACK without any.
        let plain = news.acked == 0 && packet.sack_len == 0 && packet.payload == 0;
        let twice = plain || news.duplicated.is_some_and(|(_, to)| to == probe.end);
        if !probe.repeats || repaired || twice {
            self.board.reports.repair.probe = None;
        }
        if repaired && !twice && self.phase == Phase::Open {
            let congestion = self.congestion(news.now, news.flight);
            self.window.ssthresh = self.control.on_loss(&self.window, &congestion).max(self.least_threshold());
            self.window.set(self.window.ssthresh);
            self.answered(false);
            self.control.on_recovered(&mut self.window, news.now);
        }
    }
}
