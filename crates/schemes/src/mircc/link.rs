//! A link at one of its ends: its rates, the Interest shaper, and the upstream round trips.
//!
//! It handles no packets, so real and simulated links share it: `T` is the caller's Interest, `K` the key of its
//! Data. Rates have no timer. Ended intervals are processed at the next arrival or departure, with the traffic and
//! queue that each had; only packets read the rates, so the result is the same.

use std::hash::Hash;

use midpath_core::units::{Bytes, Rate, Time};

use super::params::{MirccParams, RttSource};
use super::rates::LinkRates;
use crate::icn::above::{Above, OutstandingInterest, Via};
use crate::icn::header::{Class, Stamps};
use crate::icn::params::Outstanding;
use crate::icn::shaper::{Interest, Offer, Shaper};

/// Most intervals that are worked off one by one; a longer silence than that counts as one. Ours:
/// rates come to rest in far fewer.
const MAX_STEPS: u32 = 10_000;

/// Data of the link's rate that a round trip is not cut below. Ours: y(t) counts whole Interests, and R_p of intervals of
/// the least ten rests low by a few of them.
const COUNTED: u64 = 50;

/// An Interest that is to go over the link.
#[derive(Debug, Clone, Copy)]
pub struct Request<T> {
    /// The caller's.
    pub token: T,
    /// Its size.
    pub size: Bytes,
    /// The expected size of its Data.
    pub data: Bytes,
    /// Its class.
    pub class: Class,
    /// The consumer's round trip, if it tells one.
    pub rtt: Option<Time>,
    /// Which way it goes from here, as far as it says.
    pub via: Option<Via>,
    /// A router passed it on, and not its consumer's host.
    pub passing: bool,
}

/// The link.
#[derive(Debug)]
pub struct MirccLink<K, T> {
    rates: LinkRates,
    shaper: Shaper<T>,
    /// With `outstanding = "due"`: when the Data that have been asked for are due.
    above: Option<Above<K>>,
    /// Whether round trips are those that consumers tell.
    told: bool,
    out: Rate,
    back: Rate,
    /// What the Data of Interests that ask for so much take which are counted ([`COUNTED`]): of the last that asked.
    counted: (Bytes, Time),
}

impl<K: Hash + Eq + Copy, T> MirccLink<K, T> {
    /// One that carries `out` away from here and `back` towards here.
    #[cold]
    pub fn new(params: &MirccParams, out: Rate, back: Rate, now: Time) -> MirccLink<K, T> {
        let due = params.shaper.outstanding == Outstanding::Due;
        MirccLink {
            rates: LinkRates::new(&params.rates, back, now),
            shaper: Shaper::new(&params.shaper, out, back),
            above: due.then(|| Above::new(params.known_paths(), params.pit, params.lifetime)),
            told: params.rates.rtt != RttSource::Upstream,
            out,
            back,
            counted: (Bytes::ZERO, Time::ZERO),
        }
    }

    /// Called before all else: the intervals that have ended by now, and the link's rates of now.
    #[inline]
    pub fn at(&mut self, now: Time, out: Rate, back: Rate) {
        if self.rates.next_tick().is_some_and(|at| at <= now) {
            self.catch_up(now);
        }
        if (self.out, self.back) != (out, back) {
            self.set_rates(now, out, back);
        }
    }

    #[cold]
    fn catch_up(&mut self, now: Time) {
        for _ in 0..MAX_STEPS {
            let Some(at) = self.rates.next_tick().filter(|at| *at <= now) else { return };
            self.rates.tick(at, self.shaper.backlog());
        }
        self.rates.tick(now, self.shaper.backlog());
    }

    #[cold]
    fn set_rates(&mut self, now: Time, out: Rate, back: Rate) {
        (self.out, self.back, self.counted) = (out, back, (Bytes::ZERO, Time::ZERO));
        self.shaper.set_rates(now, out, back);
        self.rates.set_capacity(back);
    }

    /// What it carries away from here, and towards here.
    #[inline]
    pub fn capacity(&self) -> [Rate; 2] {
        [self.out, self.back]
    }

    /// R_p(t) and R_s(t), for Data and Nacks that come in.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        self.rates.stamps()
    }

    /// The same in whole bits per second.
    #[inline]
    pub fn whole_stamps(&self) -> [u64; 2] {
        self.rates.whole_stamps()
    }

    /// Interests that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.shaper.len()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shaper.is_empty()
    }

    /// Called with an Interest that is to go out. It waits its turn; what finds no room, or has made
    /// room, is to be refused with the rates.
    #[inline]
    pub fn offer(&mut self, now: Time, request: Request<T>) -> Offer<T> {
        let (rtt, interest) = self.interest(request);
        self.rates.on_waiting(self.shaper.backlog().0);
        self.count(now, &interest, rtt);
        self.shaper.offer(now, interest)
    }

    /// The same, and then [`MirccLink::poll`], where none waits: the Interest, if it may leave at once.
    /// Else it is handed back, and is to be offered.
    #[inline]
    pub fn pass<U>(&mut self, now: Time, request: Request<U>) -> Result<Interest<U>, U> {
        let (rtt, interest) = self.interest(request);
        // The first round trip may end the interval, in which this one waits.
        if (rtt.is_some() && !self.rates.has_rtt()) || !self.shaper.pass(now, &interest) {
            return Err(interest.token);
        }
        self.rates.on_waiting(0);
        self.count(now, &interest, rtt);
        Ok(interest)
    }

    /// What the shaper is to know, and the round trip that counts: of the loop, from the stamp to its consumer and back
    /// with an Interest. What lies above the link is left out where it is known, but for what it takes to count Data.
    #[inline]
    fn interest<U>(&mut self, request: Request<U>) -> (Option<Time>, Interest<U>) {
        let Request { token, size, data, class, rtt, via, passing } = request;
        let above = self.above.as_ref().zip(via).and_then(|(above, via)| above.trip(via));
        if self.counted.0 != data {
            self.counted = (data, self.back.time_for(Bytes(COUNTED * data.0)));
        }
        let below = |rtt: Time| match above {
            Some(above) => rtt.saturating_sub(above).max(rtt.min(self.counted.1)),
            None => rtt,
        };
        (rtt.filter(|_| self.told).map(below), Interest { token, size, data, class, via, above, passing })
    }

    #[inline]
    fn count<U>(&mut self, now: Time, interest: &Interest<U>, rtt: Option<Time>) {
        self.rates.on_interest(now, interest.class, interest.data);
        if let Some(rtt) = rtt {
            self.rates.on_rtt(now, rtt);
        }
    }

    /// The Interest that goes next, whether it may yet or not.
    #[inline]
    pub fn first(&self) -> Option<&Interest<T>> {
        self.shaper.first()
    }

    /// The next Interest, if one may leave now; [`MirccLink::left`] says what its Data are known by.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Interest<T>> {
        self.shaper.poll(now)
    }

    /// Called with each Interest that leaves.
    #[inline]
    pub fn left<U>(&mut self, now: Time, key: K, interest: &Interest<U>) {
        if let Some(above) = &mut self.above {
            let due = interest.above.map(|trip| now.saturating_add(trip));
            above.left(now, key, due, interest.data.0 as u32);
        }
    }

    /// When [`MirccLink::poll`] has an Interest to give, if one waits.
    #[inline]
    pub fn next_release(&self, now: Time) -> Option<Time> {
        self.shaper.next_release(now)
    }

    /// Called with an Interest that has come in over the link, and the expected size of its Data.
    #[inline]
    pub fn on_opposite_interest(&mut self, now: Time, size: Bytes, data: Bytes) {
        self.rates.on_opposite_interest(now, size);
        self.shaper.on_opposite_interest(now, size, data);
    }

    /// Called with Data that have come in, and which ways they tell of: what was booked for them
    /// may have been for another time. The size that was booked.
    pub fn on_data(&mut self, now: Time, key: &K, ways: [Via; 2]) -> Option<u32> {
        let OutstandingInterest { due, size, .. } = self.above.as_mut()?.came(now, key, ways)?;
        if let Some(due) = due {
            self.shaper.on_data(now, due, Bytes(u64::from(size)));
        }
        Some(size)
    }

    /// Called with Data that are larger than was expected by so much.
    pub fn on_larger_data(&mut self, now: Time, difference: Bytes) {
        self.shaper.on_larger_data(now, difference);
    }

    /// Called with a Nack in place of Data.
    pub fn on_nack(&mut self, now: Time, key: &K) {
        let flight = self.above.as_mut().and_then(|above| above.refused(key));
        if let Some((due, size)) = flight.and_then(|f| Some((f.due?, Bytes(u64::from(f.size))))) {
            self.shaper.on_refused(now, due, size);
        }
    }

    /// Called with a round trip that the caller has measured from here.
    pub fn on_rtt(&mut self, now: Time, rtt: Time) {
        self.rates.on_rtt(now, rtt);
    }

    /// Takes out all that waits: the node restarts.
    pub fn reset(&mut self) -> impl Iterator<Item = Interest<T>> + use<K, T> {
        self.shaper.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icn::path::PathId;

    const MS: fn(u64) -> Time = Time::from_ms;

    /// d(t) of a link in the middle of a path of 100 ms, 70 of them above it, before and after Data have shown that.
    fn mean_rtt(outstanding: Outstanding, mbps: u64) -> [Time; 2] {
        let mut params = MirccParams::default();
        params.shaper.outstanding = outstanding;
        let (rate, via) = (Rate::from_mbps(mbps), Via::path(PathId(1)));
        let mut link: MirccLink<u32, ()> = MirccLink::new(&params, rate, rate, Time::ZERO);
        let mut seen = [Time::ZERO; 2];
        for (i, round) in (0..200u32).zip((0..).step_by(100)) {
            let request = Request {
                token: (),
                size: Bytes(60),
                data: Bytes(1500),
                class: Class::Primary,
                rtt: Some(MS(100)),
                via: Some(via),
                passing: true,
            };
            link.at(MS(round), rate, rate);
            let interest = link.pass(MS(round), request).or_else(|()| {
                link.offer(MS(round), request);
                link.poll(MS(round)).ok_or(())
            });
            link.left(MS(round), i, &interest.expect("an idle link"));
            link.on_data(MS(round + 70), &i, [via, Via::of_number(1)]);
            seen[usize::from(i > 0)] = link.rates.mean_rtt();
        }
        seen
    }

    #[test]
    fn the_loop_of_a_link_is_what_lies_below_it() {
        let [first, later] = mean_rtt(Outstanding::Due, 100);
        assert_eq!(first, MS(100));
        assert!((later.as_secs_f64() - 0.03).abs() < 1e-4, "{later:?}");
        // Without a calendar no port knows what lies above it.
        assert_eq!(mean_rtt(Outstanding::Booked, 100), [MS(100); 2]);
        // 50 Data of 1500 B take 60 ms of 10 Mbps, and 200 ms of 3.
        assert!((mean_rtt(Outstanding::Due, 10)[1].as_secs_f64() - 0.06).abs() < 1e-4);
        assert_eq!(mean_rtt(Outstanding::Due, 3), [MS(100); 2]);
    }
}
