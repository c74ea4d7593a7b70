//! A stream that is handed to the sender piece by piece: by an application, or by those who put TCP
//! inside a scheme of their own.

use std::collections::VecDeque;

use midpath_core::packet::{Flags, Interfaces, Packet};
use midpath_core::roles::{EndpointCtx, FlowSpec};
use midpath_core::units::Time;

use super::{Phase, Sender, State};
use crate::transport::cc::NetworkAssisted;

/// A run of bytes of the stream that a segment never reaches across the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its first byte.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
    /// What the first byte's number is for whoever supplies it.
    pub label: u64,
}

/// What has been handed over and is not yet acknowledged.
#[derive(Debug, Clone, Default)]
pub(super) struct Supply {
    pieces: VecDeque<Piece>,
    given: u64,
    /// Nothing more can be had at the moment, though the end has not been said.
    dry: bool,
    /// It comes from an application, and not from another endpoint.
    applied: bool,
    /// Nothing is sent of it yet.
    held: bool,
    /// When data were last sent.
    pub sent_at: Time,
}

impl Supply {
    /// Takes `bytes` more; they prolong the last piece when they follow it for the supplier, too.
    fn add(&mut self, bytes: u64, label: u64) {
        let from = self.given;
        self.given += bytes;
        match self.pieces.back_mut() {
            Some(last) if last.label + (last.to - last.from) == label => last.to = self.given,
            _ => self.pieces.push_back(Piece { from, to: self.given, label }),
        }
    }

    /// One past the last byte that a segment from `from` may hold.
    pub fn limit(&self, from: u64) -> u64 {
        self.find(from).map_or(self.given, |p| p.to)
    }

    fn find(&self, at: u64) -> Option<&Piece> {
        self.pieces.get(self.pieces.partition_point(|p| p.to <= at))
    }

    /// What was acknowledged is forgotten.
    pub fn forget_below(&mut self, una: u64) {
        while self.pieces.front().is_some_and(|p| p.to <= una) {
            self.pieces.pop_front();
        }
    }
}

impl<C: NetworkAssisted> Sender<C> {
    /// Makes it one connection of several that carry a stream together: it is supplied piece by
    /// piece, in place of a length that is known, and the window is shared. `between` is what sets
    /// it apart from the others.
    #[must_use]
    pub fn supplied(mut self, between: Interfaces, flow: &FlowSpec) -> Sender<C> {
        self.extras.supply = Some(Box::default());
        self.ends.between(between, flow);
        self.ends.share_window();
        self
    }

    /// Takes over what the application has handed over, where there is one. The receiver's window
    /// bounds what is sent of it.
    #[inline]
    pub(super) fn take_supply(&mut self, ctx: &EndpointCtx<'_>) {
        if let Some(application) = ctx.supply() {
            self.supply_from(application);
        }
    }

    fn supply_from(&mut self, application: midpath_core::roles::Supply) {
        let supply = self.extras.supply.get_or_insert_default();
        // The application is never asked for more: it says when it has some.
        (supply.dry, supply.applied) = (true, true);
        let given = supply.given;
        if application.given > given {
            supply.add(application.given - given, given);
        }
        if application.closed {
            self.end = self.end.min(application.given);
        }
    }

    /// Sends nothing that an application hands over before the network has admitted the flow. Says whether that is to
    /// be waited for.
    pub(in crate::transport) fn hold(&mut self) -> bool {
        let held = !self.control.is_admitted();
        if held {
            self.extras.supply = Some(Box::new(Supply { applied: true, held, ..Supply::default() }));
        }
        held
    }

    /// Lets go what was held if the network has admitted the flow; says whether it has.
    pub(in crate::transport) fn let_go(&mut self, ctx: &mut EndpointCtx<'_>) -> bool {
        let admitted = self.state == State::Open && self.control.is_admitted();
        if admitted && let Some(supply) = self.extras.supply_mut() {
            supply.held = false;
            let view = self.view();
            let waits = self.control.waits(&view, ctx);
            self.leaves_first_at(ctx.now.saturating_add(waits));
        }
        admitted
    }

    /// One past the last byte that an application has handed over; without one there is no end to it.
    #[inline]
    pub(super) fn handed_over(&self) -> u64 {
        self.extras.supply().filter(|supply| supply.applied).map_or(u64::MAX, |supply| supply.given)
    }

    /// Whether a packet is the SYN-ACK that this end waits for.
    pub fn is_answered_by(&self, packet: &Packet) -> bool {
        let answer = packet.flags.has(Flags::SYN.with(Flags::ACK)) && !packet.flags.has(Flags::RST);
        self.state == State::SynSent && answer && packet.ack == self.ends.own.wire(0)
    }

    /// A packet's sequence number, counted from the SYN's.
    pub fn relative(&self, packet: &Packet) -> u32 {
        packet.seq.wrapping_sub(self.ends.own.isn())
    }

    /// The offset of a packet's first byte; of one that this end has sent.
    pub fn offset(&self, packet: &Packet) -> Option<u64> {
        self.ends.own.offset(packet.seq, self.nxt())
    }

    /// The window that a packet of the peer tells, of the data as a whole.
    pub fn told_window(&self, packet: &Packet) -> u64 {
        self.ends.told_window(packet)
    }

    /// Hands `bytes` over, whose first one the caller calls `label`. They leave with the next
    /// [`Sender::push`].
    pub fn give(&mut self, bytes: u64, label: u64) {
        if let Some(supply) = self.extras.supply_mut() {
            supply.add(bytes, label);
        }
    }

    /// Says that nothing more will be handed over: the FIN follows.
    pub fn close(&mut self) {
        if let Some(supply) = self.extras.supply() {
            self.end = self.end.min(supply.given);
        }
    }

    /// Sends what has been handed over, as far as the windows allow. `dry` says that no more can be
    /// had at the moment, so that recovery may turn to rules 3 and 4 of RFC 6675's NextSeg.
    pub fn push(&mut self, dry: bool, ctx: &mut EndpointCtx<'_>) {
        if self.state == State::Open {
            self.expect(dry);
            self.send(ctx);
            self.expect(false);
        }
        self.arm(ctx);
    }

    fn expect(&mut self, dry: bool) {
        if let Some(supply) = self.extras.supply_mut() {
            supply.dry = dry;
        }
    }

    /// Sends a pure ACK, whatever else is or is not to be sent.
    pub fn acknowledge_again(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.acknowledge(ctx);
        self.arm(ctx);
    }

    /// Gives up at once and tells the peer.
    pub fn abort(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.give_up(ctx);
    }

    /// The piece that holds the byte `at`, if that is not acknowledged yet.
    pub fn piece(&self, at: u64) -> Option<Piece> {
        self.extras.supply()?.find(at).copied().filter(|p| p.from <= at)
    }

    /// What has been handed over and is not acknowledged, oldest first.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let all = self.extras.supply().into_iter().flat_map(|s| s.pieces.iter().copied());
        all.map(|p| {
            let done = self.una().saturating_sub(p.from).min(p.to - p.from);
            Piece { from: p.from + done, to: p.to, label: p.label + done }
        })
    }

    /// How many new bytes would leave at once if they were handed over now. Nothing while losses
    /// are to be repaired first.
    pub fn room(&self) -> u64 {
        let repairs = match self.phase {
            Phase::Open => false,
            Phase::Recovery | Phase::Loss => self.board.missing() > 0,
        };
        if self.state != State::Open || repairs || self.end != u64::MAX {
            return 0;
        }
        let waits = self.extras.supply().map_or(0, |s| s.given - self.nxt());
        self.budget().saturating_sub(self.pipe() + waits).min(self.edge().saturating_sub(self.nxt() + waits))
    }

    /// How often it has timed out since it heard anything new.
    pub fn silence(&self) -> u32 {
        self.board.reports.repair.retries
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Time {
        self.rtt.srtt()
    }

    /// The congestion controller, to be changed.
    pub fn control_mut(&mut self) -> &mut C {
        &mut self.control
    }

    /// Halves the window, as if a loss had been seen, unless one is being repaired.
    pub fn halve(&mut self) {
        if self.phase == Phase::Open {
            self.window.ssthresh = (self.window.cwnd / 2).max(2 * self.window.mss);
            self.window.set(self.window.ssthresh);
        }
    }

    /// Whether all that was handed over has been sent, and the end has not been said; or all is held back.
    #[inline]
    pub(super) fn needs_data(&self) -> bool {
        self.extras.supply().is_some_and(|s| s.held || self.nxt() >= s.given && s.given < self.end)
    }

    /// Whether the supplier could have more for this very moment.
    pub(super) fn more_may_come(&self) -> bool {
        self.needs_data() && self.extras.supply().is_some_and(|s| !s.dry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_follow_each_other_are_one() {
        let mut s = Supply::default();
        s.add(1000, 0);
        s.add(1000, 1000);
        s.add(500, 9000);
        s.add(1000, 2000);
        assert_eq!(s.pieces.len(), 3);
        assert_eq!(
            (s.limit(0), s.limit(1999), s.limit(2000), s.limit(2600), s.limit(9999)),
            (2000, 2000, 2500, 3500, 3500)
        );
        s.forget_below(2200);
        assert_eq!(s.pieces.front(), Some(&Piece { from: 2000, to: 2500, label: 9000 }));
        assert_eq!(s.find(2600).map(|p| p.label + 2600 - p.from), Some(2100));
    }
}
