//! Repeats that were in vain: what a reduction of the window was before, and how it is found out that nothing was lost.
//!
//! Three signs, as in Linux. An ACK's timestamp is that of the original (Eifel: RFC 3522). The receiver has got
//! everything twice that was repeated (D-SACK: RFC 2883, RFC 3708). After a timeout something arrives that was never
//! repeated (F-RTO: RFC 5682, §3.1, step 3.b). The answer is Linux's `tcp_undo_cwnd_reduction`, for RFC 4015: window
//! and threshold are at least what they were, and what is outstanding is no longer taken for lost.
//!
//! Not as RFC 5682: with timestamps, step 2.b (new data in place of the second repeat) is left out, for the timestamp
//! tells the same at the first ACK, and a genuine loss would be repaired a round trip later.

use midpath_core::packet::comes_after;
use midpath_core::ranges::RangeSet;
use midpath_core::units::Time;

use super::ack::News;
use super::{Phase, Sender};
use crate::transport::cc::{NetworkAssisted, Window};

/// Where F-RTO stands (RFC 5682, §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frto {
    /// Nothing says that the timeout may have been spurious.
    Off,
    /// Step 1: the first segment has been repeated.
    Asked,
    /// Step 2.b: new data follow it, and their answer decides.
    Trying,
}

/// What a reduction of the window can be undone by.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    /// Window and threshold before it.
    cwnd: u64,
    ssthresh: u64,
    /// When the first repeat left since then; `Time::MAX`: none has.
    first_repeat: Time,
    /// What was repeated, and has not been reported as a duplicate.
    unanswered: RangeSet,
    /// Something was repeated twice: a D-SACK doesn't say how often it has arrived.
    unclear: bool,
    frto: Frto,
    /// After a timeout: something has arrived that was never repeated.
    original: bool,
}

impl Undo {
    /// What there is to go back to.
    fn before(window: &Window) -> Undo {
        Undo {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            first_repeat: Time::MAX,
            unanswered: RangeSet::new(),
            unclear: false,
            frto: Frto::Asked,
            original: false,
        }
    }

    /// `[from, to)` has been sent again.
    pub fn repeated(&mut self, from: u64, to: u64, now: Time) {
        // Once it is unclear nobody asks what was answered.
        self.unclear = self.unclear || self.unanswered.insert(from, to) < to - from;
        self.first_repeat = self.first_repeat.min(now);
    }

    /// What was outstanding at the timeout, and was not repeated, has arrived.
    pub fn original_arrived(&mut self) {
        self.original |= self.frto != Frto::Off;
    }

    /// `[from, to)` has arrived twice.
    fn duplicated(&mut self, from: u64, to: u64) {
        self.unanswered.remove(from, to);
    }

    /// Whether each repeat has turned out to be a duplicate.
    fn all_duplicated(&self) -> bool {
        self.first_repeat < Time::MAX && self.unanswered.is_empty() && !self.unclear
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// The window is about to be reduced, for something is taken for lost.
    pub(super) fn remember_window(&mut self) {
        match &mut self.board.reports.repair.undo {
            _ if !self.settings.rack_tlp => {}
            // A timeout within a recovery: something was lost in this round trip, whatever the timer means.
            Some(undo) if self.phase == Phase::Recovery => undo.frto = Frto::Off,
            _ => self.board.reports.repair.undo = Some(Box::new(Undo::before(&self.window))),
        }
    }

    /// Something has arrived twice, says the receiver.
    pub(super) fn on_duplicate(&mut self, (from, to): (u64, u64)) {
        if !self.adapts() {
            return;
        }
        let probed = self.awaited_probe().is_some_and(|probe| probe.end == to);
        let (una, nxt) = (self.una(), self.nxt());
        let repair = &mut self.board.reports.repair;
        if let Some(rack) = repair.rack.as_mut().filter(|_| !probed) {
            rack.on_dsack(una, nxt);
        }
        if let Some(undo) = &mut repair.undo {
            undo.duplicated(from, to);
        }
    }

    /// RFC 3522, §3.2, step 5: an ACK that moves SND.UNA echoes a timestamp from before the first repeat.
    fn is_of_original(&self, news: &News, undo: &Undo) -> bool {
        let before = |echo| comes_after(self.ends.tick(undo.first_repeat), echo);
        news.acked > 0 && undo.first_repeat < Time::MAX && news.echo.is_some_and(before)
    }

    /// Called on an ACK while losses are repaired, and after that. Whether nothing is repaired any more.
    pub(super) fn try_undo(&mut self, news: &News) -> bool {
        let Some(undo) = &self.board.reports.repair.undo else { return false };
        let twice = news.duplicated.is_some() && undo.all_duplicated();
        let original = self.is_of_original(news, undo);
        let done = self.una() >= self.board.reports.repair.recover;
        let spurious = match self.phase {
            Phase::Open => twice,
            // While repeats are on their way one of them may still be the one that was needed.
            Phase::Recovery => twice || original && (done || self.board.retrans() == 0),
            Phase::Loss => twice || original || undo.original,
        };
        if spurious {
            self.undo(news.now);
        }
        spurious
    }

    fn undo(&mut self, now: Time) {
        let Some(undo) = self.board.reports.repair.undo.take() else { return };
        self.window.set(self.window.cwnd.max(undo.cwnd));
        self.window.ssthresh = self.window.ssthresh.max(undo.ssthresh);
        self.ecn.tell = false;
        self.control.on_undo(&mut self.window);
        // A timeout says that packets are slow, not that they overtake each other.
        if let Some(rack) = self.board.reports.repair.rack.as_mut().filter(|_| self.phase != Phase::Loss) {
            rack.see_reordering();
        }
        if self.phase != Phase::Open {
            self.board.nothing_lost();
            self.reopen(now);
        }
        // The next packet's time was of a window that is no more, and no other ACK need come before it.
        self.pace_again(now);
    }

    /// RFC 5682, §3.1, steps 2 and 3, without timestamps: what an ACK after a timeout means. Called where it has not
    /// shown yet that the timeout was spurious.
    pub(super) fn continue_frto(&mut self, news: &News) {
        let (stamped, more, nxt) = (self.ends.timestamps(), self.new_segment(0).is_some(), self.nxt());
        let repair = &mut self.board.reports.repair;
        let Some(undo) = repair.undo.as_mut().filter(|_| !stamped) else { return };
        undo.frto = match undo.frto {
            Frto::Asked if news.acked > 0 && more => {
                repair.recover = nxt;
                Frto::Trying
            }
            _ => Frto::Off,
        };
    }

    /// Whether new data leave in place of repeats.
    #[inline]
    pub(super) fn tries_new_data(&self) -> bool {
        self.board.reports.repair.undo.as_ref().is_some_and(|undo| undo.frto == Frto::Trying)
    }
}
