//! The largest datagram that comes through (RFC 8899, datagram packetization layer path MTU
//! discovery): probes of other sizes, never packets, tell.

use midpath_core::units::Time;

/// What every path carries as a UDP payload (RFC 8899, §5.1.2: BASE_PLPMTU).
pub const BASE: u16 = 1200;
/// A probe's answer is waited for so long, and it is sent so often (RFC 8899, §5.1.1 and §5.1.2).
/// PROBE_TIMER there is at least 1 s.
const WAIT: Time = Time::from_secs(1);
const TRIES: u32 = 3;
/// Sizes nearer to each other than this are one. Ours.
const GRAIN: u16 = 8;
/// What has been found is checked this often (RFC 8899, §5.1.1: CONFIRMATION_TIMER; the time is
/// ours), and whether more comes through this often (PMTU_RAISE_TIMER).
const CONFIRM: Time = Time::from_secs(30);
const RAISE: Time = Time::from_secs(600);

/// A datagram to send: with this number, of this size outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Which one.
    pub number: u32,
    /// Bytes of the UDP payload.
    pub size: u16,
}

/// The search on one link.
#[derive(Debug, Clone)]
pub struct MtuSearch {
    most: u16,
    /// This comes through.
    size: u16,
    /// This does not.
    fails: u16,
    probe: Option<Probe>,
    tries: u32,
    number: u32,
    due: Time,
    raise_at: Time,
}

impl MtuSearch {
    /// Looks for sizes up to `most`.
    pub fn new(most: u16, now: Time) -> MtuSearch {
        let (size, most) = (BASE.min(most), most);
        MtuSearch {
            most,
            size,
            fails: most.saturating_add(1),
            probe: None,
            tries: 0,
            number: 0,
            due: now,
            raise_at: now.saturating_add(RAISE),
        }
    }

    /// The largest UDP payload that is known to come through.
    pub const fn size(&self) -> u16 {
        self.size
    }

    /// What is to be tried next: the most first, for most paths carry it; then the middle.
    fn candidate(&self) -> Option<u16> {
        if self.fails > self.most {
            return (self.size < self.most).then_some(self.most);
        }
        (self.fails > self.size + GRAIN).then(|| self.size + (self.fails - self.size) / 2)
    }

    /// Called at [`MtuSearch::next_wake`] or at any time: a probe, if one is to be sent.
    pub fn poll(&mut self, now: Time) -> Option<Probe> {
        if now < self.due {
            return None;
        }
        if let Some(probe) = self.probe {
            if self.tries < TRIES {
                return Some(self.send(probe.size, now));
            }
            self.failed(probe.size, now);
        }
        if now >= self.raise_at {
            (self.fails, self.raise_at) = (self.most.saturating_add(1), now.saturating_add(RAISE));
        }
        self.tries = 0;
        // Nothing is left to find: what has been found is confirmed.
        let size = self.candidate().unwrap_or(self.size);
        Some(self.send(size, now))
    }

    fn send(&mut self, size: u16, now: Time) -> Probe {
        self.number = self.number.wrapping_add(1);
        self.tries += 1;
        self.due = now.saturating_add(WAIT);
        let probe = Probe { number: self.number, size };
        self.probe = Some(probe);
        probe
    }

    fn failed(&mut self, size: u16, now: Time) {
        self.probe = None;
        if size > self.size {
            self.fails = size;
        } else if size > BASE.min(self.most) {
            // What came through does no more: a black hole (RFC 8899, §4.3).
            (self.size, self.fails) = (BASE.min(self.most), size);
            self.raise_at = now.saturating_add(RAISE);
        }
    }

    /// Called when the neighbour says that it got a probe, of this size.
    pub fn on_probed(&mut self, now: Time, number: u32, size: u16) {
        // A late answer to an earlier try of the same size is as good.
        let Some(probe) = self.probe.filter(|p| p.size == size && p.number.wrapping_sub(number) < TRIES) else {
            return;
        };
        self.probe = None;
        self.size = self.size.max(probe.size);
        self.due = if self.candidate().is_some() { now } else { now.saturating_add(CONFIRM) };
    }

    /// When it is to be polled.
    pub const fn next_wake(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs it over a path that carries `carries`, until `until` seconds.
    fn run(search: &mut MtuSearch, carries: u16, from: u64, until: u64) -> u32 {
        let mut sent = 0;
        for ms in from * 1000..until * 1000 {
            let now = Time::from_ms(ms);
            while let Some(probe) = search.poll(now) {
                sent += 1;
                if probe.size <= carries {
                    search.on_probed(now, probe.number, probe.size);
                }
            }
        }
        sent
    }

    #[test]
    fn most_paths_carry_the_most() {
        let mut search = MtuSearch::new(1472, Time::ZERO);
        assert_eq!((search.size(), run(&mut search, 9000, 0, 1), search.size()), (BASE, 1, 1472));
    }

    #[test]
    fn a_black_hole_is_noticed_and_the_search_begins_again() {
        let mut search = MtuSearch::new(1472, Time::ZERO);
        run(&mut search, 1472, 0, 1);
        run(&mut search, 1300, 1, 40);
        assert!((1300 - GRAIN..=1300).contains(&search.size()), "{}", search.size());
        run(&mut search, 9000, 40, 1300);
        assert_eq!(search.size(), 1472, "it is tried again");
    }

    #[test]
    fn answers_that_nobody_asked_for_change_nothing() {
        let mut search = MtuSearch::new(1472, Time::ZERO);
        let probe = search.poll(Time::ZERO).unwrap();
        search.on_probed(Time::ZERO, probe.number + 1, probe.size);
        search.on_probed(Time::ZERO, probe.number, probe.size + 1);
        assert_eq!(search.size(), BASE);
    }

    proptest! {
        #[test]
        fn it_finds_what_comes_through(most in 1200u16..9000, carries in 1200u16..9000) {
            let mut search = MtuSearch::new(most, Time::ZERO);
            let sent = run(&mut search, carries, 0, 60);
            let best = carries.min(most);
            prop_assert!(search.size() <= best && search.size() + GRAIN >= best, "{} of {best}", search.size());
            prop_assert!(sent < 60, "{sent}");
        }
    }
}
