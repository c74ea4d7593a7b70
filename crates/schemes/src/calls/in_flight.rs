//! Data units that have been sent, and what feedback says of them (SCReAM's draft, §4.1).

use std::collections::VecDeque;

use midpath_core::packet::Ecn;
use midpath_core::units::Time;

use super::feedback::{Report, ntp};

/// The reordering window to begin with: `kReorderTime` in the authors' implementation.
const REORDERING: Time = Time::from_ms(30);
/// A lost data unit is remembered for so long, to learn how late it comes. Ours.
const REMEMBERED: Time = Time::from_secs(1);
/// More cannot be told apart by sixteen bits: the oldest is given up.
const MOST: usize = 1 << 15;

/// What has become of a data unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sent,
    /// Feedback had a later one, and not this one, first at this time.
    Missing(Time),
    Lost(Time),
    Received,
}

/// A data unit.
#[derive(Debug, Clone, Copy)]
struct Unit {
    sent: Time,
    size: u32,
    probe: u32,
    state: State,
}

/// A data unit that a report is the first to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub sent: Time,
    /// By the receiver's clock, in 1/65,536 s.
    pub at: u32,
    pub size: u32,
    /// The probe that it was sent for; 0: none.
    pub probe: u32,
}

/// Data units from the oldest that may still be heard of.
#[derive(Debug, Clone)]
pub struct InFlight {
    units: VecDeque<Unit>,
    /// The number of the oldest, and the one after the highest acknowledged.
    first: u64,
    edge: u64,
    bytes: u64,
    reordering: Time,
    /// Of the last report, by number.
    arrived: Vec<Arrived>,
}

/// What one report has brought.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Acknowledged {
    /// bytes_newly_acked, bytes_newly_acked_ce (§4.1.2).
    pub bytes: u64,
    pub bytes_ce: u64,
    /// Data units delivered, and those of them with CE.
    pub delivered: u64,
    pub marked: u64,
    /// Data units found lost.
    pub lost: u64,
    /// Of the newest delivered: when it was sent, and what it took by both clocks.
    pub newest: Option<(Time, u32)>,
}

impl Default for InFlight {
    fn default() -> InFlight {
        InFlight { units: VecDeque::new(), first: 0, edge: 0, bytes: 0, reordering: REORDERING, arrived: Vec::new() }
    }
}

impl InFlight {
    /// The number of the next data unit.
    pub fn next(&self) -> u64 {
        self.first + self.units.len() as u64
    }
    /// bytes_in_flight: all from the highest acknowledged on (§4.1.1).
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// What the last report was the first to have.
    pub fn arrived(&self) -> &[Arrived] {
        &self.arrived
    }
    /// Whether none is waited for.
    pub fn is_empty(&self) -> bool {
        !self.units.iter().any(|unit| matches!(unit.state, State::Sent | State::Missing(_)))
    }
    /// The reordering window (§4.2.1.1).
    #[cfg(test)]
    pub fn reordering(&self) -> Time {
        self.reordering
    }

    /// A data unit has been sent, for a probe with this number, or for none.
    pub fn on_sent(&mut self, size: u32, probe: u32, now: Time) {
        if self.units.len() == MOST
            && let Some(oldest) = self.units.pop_front()
        {
            if self.first == self.edge {
                self.bytes -= u64::from(oldest.size);
                self.edge += 1;
            }
            self.first += 1;
        }
        self.units.push_back(Unit { sent: now, size, probe, state: State::Sent });
        self.bytes += u64::from(size);
    }

    /// What a report says. Numbers that were never sent, or are long done with, say nothing.
    pub fn on_report(&mut self, report: &Report, srtt: Time, now: Time) -> Acknowledged {
        let mut found = Acknowledged::default();
        self.arrived.clear();
        // A number of sixteen bits is the nearest to the highest acknowledged.
        let begin = self.edge.wrapping_add_signed(i64::from(report.begin.wrapping_sub(self.edge as u16) as i16));
        let (first, next) = (self.first, self.next());
        for (number, arrival) in (0..).map(|i| begin.wrapping_add(i)).zip(&report.blocks) {
            let Some(arrival) = arrival.filter(|_| (first..next).contains(&number)) else { continue };
            let unit = &mut self.units[(number - first) as usize];
            if unit.state == State::Received {
                continue;
            }
            if let State::Missing(since) | State::Lost(since) = unit.state {
                let late = now.saturating_sub(since);
                self.reordering = self.reordering.max(late).min(srtt.max(REORDERING));
            }
            unit.state = State::Received;
            self.arrived.push(Arrived { sent: unit.sent, at: arrival.at, size: unit.size, probe: unit.probe });
            let ce = arrival.ecn == Ecn::Ce;
            found.delivered += 1;
            found.marked += u64::from(ce);
            found.bytes_ce += if ce { u64::from(unit.size) } else { 0 };
            if number >= self.edge {
                found.newest = Some((unit.sent, arrival.at.wrapping_sub(ntp(unit.sent))));
                let passed = self.units.range((self.edge - first) as usize..=(number - first) as usize);
                let passed: u64 = passed.map(|unit| u64::from(unit.size)).sum();
                found.bytes += passed;
                self.bytes -= passed;
                self.edge = number + 1;
            }
        }
        found.lost = self.find_lost(now);
        self.forget(now);
        debug_assert!((self.first..=self.next()).contains(&self.edge), "what is in flight was sent");
        debug_assert_eq!(self.bytes == 0, self.edge == self.next(), "bytes in flight are those of data units");
        found
    }

    /// Loss: not acknowledged within the reordering window after a later one was (§4.2.1.1).
    fn find_lost(&mut self, now: Time) -> u64 {
        let (below, reordering) = ((self.edge - self.first) as usize, self.reordering);
        let mut lost = 0;
        for unit in self.units.range_mut(..below) {
            match unit.state {
                State::Sent => unit.state = State::Missing(now),
                State::Missing(since) if now.saturating_sub(since) >= reordering => {
                    unit.state = State::Lost(since);
                    lost += 1;
                }
                _ => {}
            }
        }
        lost
    }

    fn forget(&mut self, now: Time) {
        while let Some(unit) = self.units.front().filter(|_| self.first < self.edge) {
            match unit.state {
                State::Received => {}
                State::Lost(since) if now.saturating_sub(since) >= REMEMBERED => {}
                _ => break,
            }
            self.units.pop_front();
            self.first += 1;
        }
    }
}
