//! What an NDP sender may send: a first window, and a packet for each pull (csg-htsim 841d9e7, `NdpSrc`).

use midpath_core::units::Time;

use crate::uec::header::SIZE;
use crate::uec::outstanding::Outstanding;

/// The packet that is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Its number.
    pub psn: u32,
    /// Where its payload begins.
    pub at: u64,
    /// Its payload.
    pub payload: u16,
    /// How often it was sent before.
    pub again: u8,
}

/// A flow at its sender.
#[derive(Debug)]
pub struct Window {
    /// Packets sent and not acknowledged.
    pub outstanding: Outstanding,
    /// Where payload ends, and how far it is sent.
    pub end: u64,
    pub progress: u64,
    /// Payload of a full packet.
    mss: u32,
    /// Pulled so far, and sent for that (`_max_pull`, `_last_pull`).
    pulled: u32,
    used: u32,
    /// Packets that need no pull: the first window's, what timed out, and what came back.
    free: u32,
    /// ACKs and NACKs so far: a pull comes for each (`_pull_window`, which pulls diminish).
    answers: u32,
    /// Packets of the first window that nothing was heard of; below zero later (`_first_window_count`).
    first: i64,
}

impl Window {
    /// A flow of so many bytes, with so many packets at first.
    pub fn new(end: u64, mss: u32, first: u16) -> Window {
        let first = u64::from(first).min(end.div_ceil(mss.into())) as u32;
        let outstanding = Outstanding::default();
        Window { outstanding, end, progress: 0, mss, pulled: 0, used: 0, free: first, answers: 0, first: first.into() }
    }

    /// Bytes of the next packet if one may be sent, else zero.
    pub fn may_send(&self) -> u32 {
        if self.free == 0 && self.used >= self.pulled {
            return 0;
        }
        match self.outstanding.queued().and_then(|psn| self.outstanding.record(psn)) {
            Some(record) => SIZE + u32::from(record.payload),
            None if self.progress < self.end => SIZE + (self.end - self.progress).min(self.mss.into()) as u32,
            None => 0,
        }
    }

    /// `send_packet`: what is to be sent again comes first.
    pub fn send(&mut self, path: u16, now: Time) -> Option<Next> {
        let size = self.may_send();
        if size == 0 {
            return None;
        }
        match self.free {
            0 => self.used += 1,
            _ => self.free -= 1,
        }
        if let Some(psn) = self.outstanding.queued() {
            let record = self.outstanding.send_again(psn, path, now)?;
            return Some(Next { psn, at: record.at, payload: record.payload, again: record.again });
        }
        let (psn, at, payload) = (self.outstanding.next(), self.progress, (size - SIZE) as u16);
        self.progress += u64::from(payload);
        self.outstanding.send(at, payload, size, path, now);
        Some(Next { psn, at, payload, again: 0 })
    }

    /// Pulls that were not used.
    pub fn unused(&self) -> u32 {
        self.pulled - self.used
    }

    /// Whether there is neither a packet on its way nor the right to send what is left.
    pub fn is_stuck(&mut self) -> bool {
        self.outstanding.oldest().is_none() && self.may_send() == 0
    }

    /// `pull_packets`: pulls are counted from the beginning, so that a lost one costs nothing.
    pub fn pull(&mut self, pulled: u32) {
        self.pulled = self.pulled.max(pulled);
    }

    /// `receivePacket`: something was answered.
    fn count(&mut self) {
        self.answers += 1;
        self.first -= 1;
    }

    /// `processRTS`: a queue has sent a packet's header back. It waits for a pull, for what is sent at once only makes another
    /// incast; unless none will come, for the receiver may know nothing of the flow.
    pub fn on_returned(&mut self, psn: u32) {
        self.first -= 1;
        if self.outstanding.on_its_way(psn).is_some() {
            self.outstanding.lose(psn);
            self.free += u32::from(self.answers <= self.pulled && self.first <= 1);
        }
    }

    /// `processAck`.
    pub fn on_ack(&mut self, psn: u32, cumulative: u32, pull: Option<u32>) {
        self.count();
        self.outstanding.acknowledge(psn);
        self.outstanding.acknowledge_below(cumulative);
        if let Some(pulled) = pull {
            self.pull(pulled);
        }
    }

    /// `processNack`: it waits for a pull, if there is none that was not used.
    pub fn on_nack(&mut self, psn: u32, pulled: u32, pulls: bool) {
        self.count();
        if self.outstanding.on_its_way(psn).is_some() {
            self.outstanding.lose(psn);
        }
        if pulls || self.used < self.pulled {
            self.pull(pulled);
        }
    }

    /// `retransmit_packet`: it needs no pull.
    pub fn on_timeout(&mut self, psn: u32) {
        self.outstanding.lose(psn);
        self.free += 1;
    }
}
