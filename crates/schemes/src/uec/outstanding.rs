//! Packets that were sent and are not acknowledged, by number (`_tx_bitmap`, `_rtx_queue`, `_send_times`).

use std::collections::{BTreeSet, VecDeque};

use midpath_core::units::Time;

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sent,
    /// It is to be sent again.
    Queued,
    Acknowledged,
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Where its payload begins.
    pub at: u64,
    /// When it was sent last.
    pub sent: Time,
    /// Payload, and what counts as in flight; zero of what only asks for an answer.
    pub payload: u16,
    pub bytes: u32,
    pub entropy: u16,
    /// How often it was sent again.
    pub again: u8,
    state: State,
}

/// All of a flow.
#[derive(Debug, Default)]
pub struct Outstanding {
    /// The number of the first record.
    first: u32,
    records: VecDeque<Record>,
    queue: BTreeSet<u32>,
    /// Times of sending, oldest first; some no longer count.
    times: VecDeque<(Time, u32)>,
}

impl Outstanding {
    /// The number of the next new packet.
    pub fn next(&self) -> u32 {
        self.first + self.records.len() as u32
    }

    /// Whether all is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A new packet is sent.
    pub fn send(&mut self, at: u64, payload: u16, bytes: u32, entropy: u16, now: Time) {
        self.times.push_back((now, self.next()));
        self.records.push_back(Record { at, sent: now, payload, bytes, entropy, again: 0, state: State::Sent });
    }

    /// The first packet to be sent again.
    pub fn queued(&self) -> Option<u32> {
        self.queue.first().copied()
    }

    /// It is sent.
    pub fn send_again(&mut self, psn: u32, entropy: u16, now: Time) -> Option<Record> {
        self.queue.remove(&psn);
        let record = self.records.get_mut(psn.checked_sub(self.first)? as usize)?;
        (record.state, record.sent, record.entropy) = (State::Sent, now, entropy);
        record.again = record.again.saturating_add(1);
        self.times.push_back((now, psn));
        Some(*record)
    }

    /// A packet that is on its way, as far as is known.
    pub fn on_its_way(&self, psn: u32) -> Option<&Record> {
        self.record(psn).filter(|record| record.state == State::Sent)
    }

    /// A packet that is not acknowledged by all up to it.
    pub fn record(&self, psn: u32) -> Option<&Record> {
        self.records.get(psn.checked_sub(self.first)? as usize)
    }

    /// A packet has arrived (`handleAckno`). Bytes that were taken out of flight when it was queued to be sent again.
    pub fn acknowledge(&mut self, psn: u32) -> i64 {
        let Some(place) = psn.checked_sub(self.first) else { return 0 };
        let Some(record) = self.records.get_mut(place as usize) else { return 0 };
        let was = std::mem::replace(&mut record.state, State::Acknowledged);
        let bytes = record.bytes.into();
        if was == State::Queued && self.queue.remove(&psn) { bytes } else { 0 }
    }

    /// All below this number have (`handleCumulativeAck`).
    pub fn acknowledge_below(&mut self, psn: u32) -> i64 {
        let mut corrected = 0;
        while self.first < psn && !self.records.is_empty() {
            corrected += self.acknowledge(self.first);
            self.records.pop_front();
            self.first += 1;
        }
        corrected
    }

    /// A packet is lost, and is to be sent again.
    pub fn lose(&mut self, psn: u32) {
        if let Some(record) = psn.checked_sub(self.first).and_then(|place| self.records.get_mut(place as usize)) {
            record.state = State::Queued;
            self.queue.insert(psn);
        }
    }

    /// The packet that was sent first of those on their way.
    pub fn oldest(&mut self) -> Option<(Time, u32)> {
        while let Some((sent, psn)) = self.times.front().copied() {
            if self.on_its_way(psn).is_some_and(|record| record.sent == sent) {
                return Some((sent, psn));
            }
            self.times.pop_front();
        }
        None
    }

    /// Bytes that wait to be sent again.
    pub fn queued_bytes(&self) -> i64 {
        self.queue.iter().filter_map(|psn| self.record(*psn)).map(|record| i64::from(record.bytes)).sum()
    }
}
