//! Repair of losses: fast recovery with SACK (RFC 6675, RFC 9937) and without (RFC 6582), and
//! timeouts (RFC 6298).

use midpath_core::roles::EndpointCtx;
use midpath_core::units::Time;

use super::ack::News;
use super::scoreboard::RETRANS;
use super::{Phase, Sender};
use crate::transport::cc::{Ack, NetworkAssisted};
use crate::transport::params::Recovery;
use crate::transport::prr::{Progress, Prr};

impl<C: NetworkAssisted> Sender<C> {
    fn prr_on(&self) -> bool {
        !C::OWN_WINDOW && self.sack_on() && self.settings.tcp.recovery == Recovery::Prr
    }

    /// RFC 6675, §5, step 4; RFC 6582, §3.2, step 2.
    pub(super) fn enter_recovery(&mut self, news: &News, ctx: &mut EndpointCtx<'_>) {
        // While what is late was waited for, more has been SACKed than a window.
        let flight = if self.adapts() { self.within_window() } else { self.flight() };
        self.begin_recovery(flight, news, ctx);
    }

    /// A recovery right after another, or after a timeout. FlightSize then counts what was SACKed
    /// meanwhile, which can be windows: half of it would not be less than the window, and where
    /// losses go on a flow would keep its window for good. So the window counts (as in Linux), where
    /// that is less; RFC 9438, §4.6, allows it.
    fn enter_recovery_again(&mut self, news: &News, ctx: &mut EndpointCtx<'_>) {
        self.begin_recovery(self.within_window(), news, ctx);
    }

    /// FlightSize, and no more than the window and what limited transmit has sent beyond it: that does not count.
    fn within_window(&self) -> u64 {
        self.flight().min(self.window.cwnd + self.board.reports.repair.limited_transmit)
    }

    fn begin_recovery(&mut self, flight: u64, news: &News, ctx: &mut EndpointCtx<'_>) {
        self.remember_window();
        // With SACK a repeat that is on its way is not lost with its original.
        self.note_lost(self.una(), self.una() + 1, !self.sack_on(), news.now);
        let congestion = self.congestion(news.now, flight);
        self.window.ssthresh = self.control.on_loss(&self.window, &congestion).max(self.least_threshold());
        self.board.reports.repair.recover = self.nxt();
        self.phase = Phase::Recovery;
        self.stop_probes();
        self.board.reports.repair.partial = 0;
        self.answered(false);
        self.board.begin();
        if !self.sack_on() {
            // RFC 5681, §3.2, step 3: the three segments that have left the network.
            let left = u64::from(self.settings.tcp.dup_thresh) * self.window.mss;
            self.window.set(self.window.ssthresh.saturating_add(left));
            return self.retransmit_first(ctx);
        }
        self.window.set(self.window.ssthresh);
        if self.prr_on() {
            // RFC 9937, §6, RecoverFS: not what was SACKed before this ACK.
            self.board.reports.repair.prr = Prr::begin(self.flight() - self.board.sacked() + news.delivered);
        }
        self.proportion(news, true);
        // What an earlier recovery has repeated last of all may be on its way.
        if !self.board.of(self.una()).is_some_and(|first| first.has(RETRANS)) {
            self.retransmit_first(ctx);
        }
    }

    /// RFC 9937, §6: sets the window to what is in the network and what may be added now.
    pub(super) fn proportion(&mut self, news: &News, first: bool) {
        // "If (DeliveredData is 0) Return": such an ACK says at most that a repeat was lost too. To
        // count that down could leave a window of nothing, and all would wait for the timer.
        if !self.prr_on() || (news.delivered == 0 && !first) {
            return;
        }
        let (mss, pipe) = (self.window.mss, self.pipe());
        let safe = news.acked > 0 && !news.more_lost;
        let progress = Progress { delivered: news.delivered, pipe, ssthresh: self.window.ssthresh, mss, safe };
        let allowed = self.board.reports.repair.prr.allow(&progress);
        // "Force a fast retransmit upon entering recovery."
        self.window.set(pipe + if first { allowed.max(mss) } else { allowed });
    }

    /// Counts what recovery has sent.
    pub(super) fn sent_in_recovery(&mut self, bytes: u64) {
        self.board.reports.repair.prr.sent(bytes);
    }

    pub(super) fn ack_in_recovery(&mut self, news: &mut News, ctx: &mut EndpointCtx<'_>) {
        if self.una() >= self.board.reports.repair.recover {
            self.leave_recovery(news, ctx);
        } else if self.try_undo(news) {
            self.repair_what_is_lost(news, ctx);
        } else if self.sack_on() {
            if news.acked > 0 {
                self.rto_at = Time::MAX;
            }
            self.proportion(news, false);
        } else if news.acked > 0 {
            self.partial_ack(news, ctx);
        } else if news.duplicate {
            // RFC 5681, §3.2, step 4: each duplicate means that a segment has left the network.
            self.window.set(self.window.cwnd + self.window.mss);
        }
    }

    /// RFC 6582, §3.2, step 3, "partial acknowledgments".
    fn partial_ack(&mut self, news: &News, ctx: &mut EndpointCtx<'_>) {
        let mss = self.window.mss;
        // Deflate by what was acknowledged, add back one segment if that was at least one.
        let back = if news.acked >= mss { mss } else { 0 };
        self.window.set((self.window.cwnd.saturating_sub(news.acked) + back).max(mss));
        // "For the first partial ACK that arrives during fast recovery, also reset the retransmit
        // timer."
        if self.board.reports.repair.partial == 0 {
            self.rto_at = Time::MAX;
        }
        self.board.reports.repair.partial += 1;
        self.note_lost(self.una(), self.una() + 1, true, news.now);
        self.retransmit_first(ctx);
    }

    /// The whole window at the time of the loss is acknowledged.
    fn leave_recovery(&mut self, news: &mut News, ctx: &mut EndpointCtx<'_>) {
        let (mss, ssthresh) = (self.window.mss, self.window.ssthresh);
        self.window.set(match self.sack_on() {
            true if C::OWN_WINDOW => self.window.cwnd,
            true => ssthresh,
            // RFC 6582, §3.2, step 3, "full acknowledgments", option 1.
            false => ssthresh.min(self.flight().max(mss) + mss),
        });
        if !self.try_undo(news) {
            self.reopen(news.now);
        }
        self.repair_what_is_lost(news, ctx);
    }

    /// What a recovery that has just ended leaves to another.
    fn repair_what_is_lost(&mut self, news: &News, ctx: &mut EndpointCtx<'_>) {
        if self.loss_shown() {
            self.enter_recovery_again(news, ctx);
        }
    }

    /// Nothing is repaired any more.
    pub(super) fn reopen(&mut self, now: Time) {
        self.phase = Phase::Open;
        self.forget_duplicates();
        self.rto_at = Time::MAX;
        self.probes_moved();
        if let Some(rack) = &mut self.board.reports.repair.rack {
            rack.recovered();
        }
        self.find_lost(now);
        self.control.on_recovered(&mut self.window, now);
    }

    /// Repair after a timeout: slow start again, RFC 5681, §3.1.
    pub(super) fn ack_in_loss(&mut self, news: &News, ack: &Ack, ctx: &mut EndpointCtx<'_>) {
        self.note_overtaken(news);
        if news.acked > 0 {
            self.rto_at = Time::MAX;
        }
        if self.try_undo(news) {
            return self.repair_what_is_lost(news, ctx);
        }
        if news.acked > 0 {
            self.grow(ack);
        }
        // RFC 6675, §5.1: no fast recovery until RecoveryPoint is acknowledged.
        if self.una() >= self.board.reports.repair.recover {
            self.reopen(news.now);
            self.repair_what_is_lost(news, ctx);
        } else {
            self.continue_frto(news);
        }
    }

    /// Where the network stores: when the echoed timestamp says that a repeat has arrived, all that
    /// was outstanding at the timeout has been overtaken and is lost, for a store keeps a flow's
    /// order (RFC 8985's reasoning; RFC 3522's test of who is acknowledged).
    fn note_overtaken(&mut self, news: &News) {
        let (_, nxt) = self.board.reports.repair.gave_up;
        if self.settings.stores && news.repeat_arrived {
            self.board.reports.repair.recover = self.board.reports.repair.recover.max(nxt);
            self.find_lost(news.now);
            let pipe = self.pipe();
            self.control.on_overtaken(&mut self.window, pipe);
            self.board.reports.repair.gave_up.0 = Time::MAX; // once is enough
        }
    }

    /// The retransmission timer expired: RFC 6298, (5.4) to (5.6).
    pub(super) fn on_rto(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.una() == self.nxt() && self.needs_data() {
            return; // nothing is outstanding, and there is nothing to probe a closed window with
        }
        if self.board.reports.repair.retries >= self.settings.tcp.max_retries {
            return self.give_up(ctx);
        }
        self.board.reports.repair.retries += 1;
        self.rtt.back_off();
        if self.edge() <= self.una() || self.una() == self.nxt() {
            return self.probe_window(ctx);
        }
        self.board.reports.repair.timeouts += 1;
        if self.extras.overtaken().is_some() {
            return self.ask(ctx);
        }
        self.collapse(ctx.now);
        self.leaves_at(ctx.now);
        self.send(ctx);
    }

    /// What a timeout takes for FlightSize: bytes in the network. RFC 5681's own definition counts
    /// whatever is not acknowledged; when a hole stays open for many round trips while new data
    /// pass it, that is many windows, and the threshold would rise. Linux keeps the threshold of
    /// the recovery, ns-3 takes the pipe as we do.
    fn in_network(&self) -> u64 {
        match self.phase {
            // Without SACK the inflated window hides the pipe; recovery holds it at the threshold.
            Phase::Recovery if !self.sack_on() => self.flight().min(self.window.ssthresh),
            _ => self.pipe(),
        }
    }

    /// RFC 5681, equation 4, after a timeout; held constant when the same data time out again.
    pub(super) fn lower_threshold(&mut self, now: Time) {
        if self.board.reports.repair.retries == 1 || C::OWN_WINDOW {
            self.remember_window();
            let congestion = self.congestion(now, self.in_network());
            self.window.ssthresh = self.control.on_rto(&self.window, &congestion).max(self.least_threshold());
        }
    }

    /// Gives all that is outstanding up for lost.
    fn collapse(&mut self, now: Time) {
        let mss = self.window.mss;
        self.note_lost(self.una(), self.nxt(), true, now);
        self.lower_threshold(now);
        // RFC 5681, §3.1: the loss window is one segment. Where the network stores, the controller
        // says.
        self.window.set(if self.settings.stores || C::OWN_WINDOW { self.window.ssthresh } else { mss });
        // RFC 6675, §5.1; RFC 6582, §3.2, step 4. Where the network stores, only what was overtaken
        // is lost.
        self.board.reports.repair.recover = match self.settings.stores {
            true => self.nxt().min(self.board.highest().max(self.una() + mss)),
            false => self.nxt(),
        };
        self.board.reports.repair.gave_up = (now, self.nxt());
        self.phase = Phase::Loss;
        self.stop_probes();
        self.forget_duplicates();
        self.board.reports.repair.limited_transmit = 0;
        self.board.forget_if_reneged();
        self.board.forget_repeats();
        self.find_lost(now);
        if self.settings.stores {
            // What waits fills the window. The first segment is repeated all the same: RFC 6298,
            // (5.4).
            self.window.set(self.window.cwnd.max(self.pipe() + mss));
        }
        self.answered(false);
    }
}
