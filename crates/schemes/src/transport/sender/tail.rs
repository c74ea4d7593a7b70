//! Losses at the end of what was sent: RFC 8985, where `loss_detection` asks for it. A probe goes out when nothing
//! has come back for two round trips (§7, TLP). What was sent before something that has arrived is lost by its time
//! of sending, however little arrives after it (§6, RACK).
//!
//! Not as there: RFC 6675's threshold stays beside it, so the reordering window is a quarter of the shortest round
//! trip always (§6.2, step 4), and nothing adapts it, for receivers send no D-SACKs. Repeats that are lost are found
//! by arrivals alone (`repeats.rs`).

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
struct Probe {
    /// TLP.end_seq: SND.NXT when it had been sent.
    end: u64,
    /// TLP.is_retrans.
    repeats: bool,
}

/// What RACK-TLP knows of a connection.
#[derive(Debug)]
pub(super) struct Tail {
    /// RACK.xmit_ts and RACK.end_seq: of what has arrived, the segment that was sent last.
    newest: (Time, u64),
    /// RACK.rtt: its round trip.
    rtt: Time,
    /// What lies below and has not arrived is lost by its time of sending.
    edge: u64,
    /// When more will be: §6.2, step 5.
    reordered_at: Time,
    /// When a probe is due.
    probe_at: Time,
    /// New data were sent, or old ones acknowledged, since that was looked at.
    moved: bool,
    /// A round trip was measured since the last probe.
    measured: bool,
    probe: Option<Probe>,
    /// Probes sent.
    probes: u64,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail {
            newest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            edge: 0,
            reordered_at: Time::MAX,
            probe_at: Time::MAX,
            moved: false,
            measured: false,
            probe: None,
            probes: 0,
        }
    }
}

impl Tail {
    /// A segment up to `end` sent at `at` has arrived.
    pub fn arrived(&mut self, at: Time, end: u64, now: Time) {
        if (at, end) > self.newest {
            (self.newest, self.rtt) = ((at, end), now.saturating_sub(at));
        }
    }

    /// New data leave, or old ones are acknowledged: the next probe waits from now on.
    #[inline]
    pub fn moved(&mut self) {
        self.moved = true;
    }

    /// A round trip was measured.
    #[inline]
    pub fn measured(&mut self) {
        self.measured = true;
    }

    /// Losses are being repaired: no probe is due, and none is waited for.
    pub fn stop(&mut self) {
        (self.probe, self.probe_at, self.reordered_at) = (None, Time::MAX, Time::MAX);
    }

    /// The next of its two deadlines.
    #[inline]
    pub fn due(&self) -> Time {
        self.probe_at.min(self.reordered_at)
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Probes sent, and whether the answer to one is awaited.
    pub fn probes(&self) -> (u64, bool) {
        self.tail.as_ref().map_or((0, false), |tail| (tail.probes, tail.probe.is_some()))
    }

    /// The next deadline of this file.
    #[inline]
    pub(super) fn tail_at(&self) -> Time {
        self.tail.as_ref().map_or(Time::MAX, |tail| tail.due())
    }

    /// §6.2, step 5: moves the edge over what was sent before the newest arrival, and a round trip and a reordering
    /// window ago. What was sent before and not so long ago sets the timer.
    pub(super) fn find_lost_by_time(&mut self, now: Time) {
        let Some(tail) = &mut self.tail else { return };
        let window = Time(self.stats.rtt_min.0 / 4).min(self.rtt.srtt());
        let sacked = self.board.reported();
        tail.reordered_at = Time::MAX;
        tail.edge = tail.edge.max(self.una);
        if sacked.is_empty() && self.phase == Phase::Open {
            return; // all that has arrived is acknowledged, and was sent before the rest
        }
        for (end, timed) in self.times.within(tail.edge, self.nxt) {
            if (timed.at, end) >= tail.newest {
                // Those sent once were sent in this order.
                if timed.again { continue } else { break }
            }
            if sacked.containing(end - 1).is_some() {
                continue;
            }
            let due = timed.at.saturating_add(tail.rtt).saturating_add(window);
            if due <= now {
                tail.edge = end;
            } else {
                tail.reordered_at = if tail.reordered_at == Time::MAX { due } else { due.max(tail.reordered_at) };
            }
        }
        self.board.raise_edge(tail.edge);
    }

    /// §7.2: whether a probe may be scheduled, and sent.
    fn may_probe(&self) -> bool {
        let waits = self.state == State::Open && self.una < self.nxt && self.edge > self.una;
        waits && self.phase == Phase::Open && self.sack_on() && self.board.sacked() == 0
    }

    /// §7.2, TLP_calc_PTO: called when the retransmission timer is running.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time) {
        if self.tail.as_ref().is_some_and(|tail| tail.moved) {
            self.reschedule_probe(now);
        }
    }

    fn reschedule_probe(&mut self, now: Time) {
        let (allowed, flight, srtt) = (self.may_probe(), self.flight(), self.rtt.srtt());
        let Some(tail) = &mut self.tail else { return };
        tail.moved = false;
        let after = match (self.rtt.sampled(), flight > self.window.mss + 1) {
            (false, _) => BLIND_PTO,
            (true, true) => Time(srtt.0.saturating_mul(2)),
            // "FlightSize is one segment": its ACK may be delayed.
            (true, false) => Time(srtt.0.saturating_mul(2)).saturating_add(self.settings.tcp.delack_timeout),
        };
        let due = allowed && tail.probe.is_none() && tail.measured;
        tail.probe_at = if due { now.saturating_add(after).min(self.rto_at) } else { Time::MAX };
    }

    /// One of the two deadlines has come. Whether anything is to be sent.
    pub(super) fn on_tail_timer(&mut self, ctx: &mut EndpointCtx<'_>) -> bool {
        let Some(tail) = &mut self.tail else { return false };
        let (reordered, probe) = (ctx.now >= tail.reordered_at, ctx.now >= tail.probe_at);
        if reordered {
            tail.reordered_at = Time::MAX;
        }
        if probe {
            tail.probe_at = Time::MAX;
            self.send_probe(ctx);
        }
        reordered && self.on_reordering_timer(ctx)
    }

    /// §6.3: what was waited for is lost.
    fn on_reordering_timer(&mut self, ctx: &mut EndpointCtx<'_>) -> bool {
        if self.state != State::Open || self.phase == Phase::Loss || !self.find_lost(ctx.now) {
            return false;
        }
        let news = News::nothing(ctx.now, self.flight());
        match self.phase {
            Phase::Open if self.loss_shown() => self.enter_recovery(&news, ctx),
            // Linux's tcp_rack_reo_timeout sends one segment at least.
            Phase::Recovery => self.proportion(&news, true),
            Phase::Open | Phase::Loss => {}
        }
        true
    }

    /// §7.3, TLP_send_probe: new data if there are any, else the last segment again, whatever the window says.
    fn send_probe(&mut self, ctx: &mut EndpointCtx<'_>) {
        let free = self.tail.as_ref().is_some_and(|tail| tail.probe.is_none() && tail.measured);
        if !free || !self.may_probe() {
            return; // the retransmission timer is as it was
        }
        let new = self.new_segment(self.pipe());
        let repeats = new.is_none();
        let segment = new.unwrap_or_else(|| self.segment_in((self.times.last(self.una), self.nxt)));
        self.pace_from(ctx.now);
        self.emit(segment, ctx);
        // "The sender MUST re-arm the RTO timer, not the PTO timer."
        self.rto_at = ctx.now.saturating_add(self.patience());
        let end = self.nxt;
        if let Some(tail) = &mut self.tail {
            tail.probe = Some(Probe { end, repeats });
            (tail.moved, tail.measured) = (false, false);
            tail.probes += 1;
        }
    }

    /// §7.4.2, TLP_process_ack. A probe that has repaired the one loss that there was is congestion like any.
    pub(super) fn on_probe_ack(&mut self, packet: &Packet, news: &News) {
        let Some(tail) = &mut self.tail else { return };
        let Some(probe) = tail.probe.filter(|probe| self.una >= probe.end) else { return };
        let repaired = probe.repeats && self.una > probe.end;
        let twice = news.acked == 0 && packet.sack_len == 0 && packet.payload == 0;
        if !probe.repeats || repaired || twice {
            tail.probe = None;
        }
        if repaired && self.phase == Phase::Open {
            let congestion = self.congestion(news.now, news.flight);
            self.window.ssthresh = self.control.on_loss(&self.window, &congestion).max(self.least_threshold());
            self.window.set(self.window.ssthresh);
            self.answered(false);
            self.control.on_recovered(&mut self.window, news.now);
        }
    }
}
