use crate::rng::{Stream, unit};
use crate::units::{Bytes, Rate, Time};

/// What COBALT goes by (`cobalt_params`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Params {
    pub interval: Time,
    pub target: Time,
    /// What the largest packet takes.
    pub mtu_time: Time,
}

/// BLUE's steps (`cake_set_rate`).
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;

impl Params {
    /// The target is at least one and a half packets, and the interval as much longer, at least twice the target.
    pub fn of(target: Time, interval: Time, rate: Rate, mtu: u32) -> Params {
        let mtu_time = rate.time_for(Bytes(u64::from(mtu)));
        let own = target.max(mtu_time * 3 / 2);
        Params { target: own, interval: (interval + (own - target)).max(own * 2), mtu_time }
    }
}

/// CoDel, in which one time is both when to signal next and when a delay above the target has lasted, and BLUE, which drops
/// by chance what CoDel cannot hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Cobalt {
    count: u32,
    drop_next: Time,
    dropping: bool,
    /// BLUE.
    blue: f64,
    blue_at: Time,
    /// Whether CoDel's next time had come before the last packet.
    late: bool,
    /// The count has changed once.
    started: bool,
}

impl Cobalt {
    /// The interval over the root of the count. Linux's `rec_inv_sqrt` is zero until the count has changed: the first time
    /// that a queue is above the target, its next packet is chosen at once (as in captures of Linux 6.1).
    fn control(&self, from: Time, params: &Params) -> Time {
        if !self.started {
            return from;
        }
        from.saturating_add(params.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt()))
    }

    /// `cobalt_queue_full`: a packet was dropped for want of room.
    pub fn queue_full(&mut self, params: &Params, now: Time) {
        if now.saturating_sub(self.blue_at) > params.target {
            (self.blue, self.blue_at) = ((self.blue + UP).min(1.0), now);
        }
        (self.dropping, self.drop_next, self.count) = (true, now, self.count.max(1));
    }

    /// `cobalt_queue_empty`: the queue had its turn, and nothing.
    pub fn queue_empty(&mut self, params: &Params, now: Time) {
        if self.blue > 0.0 && now.saturating_sub(self.blue_at) > params.target {
            (self.blue, self.blue_at) = ((self.blue - DOWN).max(0.0), now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.started = true;
            self.drop_next = self.control(self.drop_next, params);
        }
    }

    /// Whether its state is that of a new one.
    pub fn rests(&self, now: Time) -> bool {
        self.blue == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// The first half of `cobalt_should_drop`: whether CoDel chooses a packet that has waited so long.
    pub fn chooses(&mut self, params: &Params, now: Time, sojourn: Time) -> bool {
        let over_target = sojourn > params.target && sojourn > params.mtu_time * 4;
        // Entering the dropping state moves the time, not whether it had come.
        let due = self.count > 0 && now >= self.drop_next;
        self.late = now > self.drop_next;
        if over_target {
            if !self.dropping {
                (self.dropping, self.drop_next) = (true, self.control(now, params));
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let chosen = due && self.dropping;
        let mut again = due;
        while again {
            // Up by one where it signals; else down until the next time lies ahead.
            self.started = true;
            self.count = if chosen { self.count.saturating_add(1) } else { self.count - 1 };
            self.drop_next = self.control(self.drop_next, params);
            self.late = now > self.drop_next;
            again = !chosen && self.count > 0 && now >= self.drop_next;
        }
        chosen
    }

    /// Whether BLUE drops it, which takes no heed of ECN.
    pub fn unlucky(&self, rng: &mut Stream) -> bool {
        self.blue > 0.0 && unit(rng) < self.blue
    }

    /// The end of `cobalt_should_drop`: an idle CoDel waits for an interval, and one that is behind does not catch up.
    pub fn settle(&mut self, params: &Params, now: Time, drop: bool) {
        if self.count == 0 {
            self.drop_next = now.saturating_add(params.interval);
        } else if self.late && !drop {
            self.drop_next = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    fn params() -> Params {
        Params::of(MS(5), MS(100), Rate::from_mbps(100), 1514)
    }

    #[test]
    fn slow_links_have_a_longer_target() {
        let slow = Params::of(MS(5), MS(100), Rate::from_mbps(1), 1500);
        assert_eq!((slow.mtu_time, slow.target, slow.interval), (MS(12), MS(18), MS(113)));
        assert_eq!((params().target, params().interval), (MS(5), MS(100)));
    }

    /// A standing delay, by hand: a fresh queue's second packet is chosen, then one after interval / √2, / √3, …; later the
    /// first comes after an interval.
    #[test]
    fn signals_come_faster_by_the_root_of_their_count() {
        for (started, first) in [(false, 0.1), (true, 100.0)] {
            let (cobalt, from) = (Cobalt { started, ..Cobalt::default() }, if started { 100.0 } else { 0.0 });
            let at = signals(cobalt);
            let mut expected = vec![from];
            for count in 2..=at.len() {
                expected.push(expected[count - 2] + 100.0 / (count as f64).sqrt());
            }
            expected[0] = first;
            assert!(at.len() >= 10);
            assert!(at.iter().zip(&expected).all(|(a, e)| (a - e).abs() < 0.2), "{at:?}\n{expected:?}");
        }
    }

    /// When packets that have all waited for 20 ms are chosen, in ms.
    fn signals(mut cobalt: Cobalt) -> Vec<f64> {
        let params = params();
        let mut at = Vec::new();
        for us in (0..600_000).step_by(100) {
            let now = Time::from_us(us);
            let chosen = cobalt.chooses(&params, now, MS(20));
            cobalt.settle(&params, now, chosen);
            if chosen {
                at.push(us as f64 / 1e3);
            }
        }
        at
    }

    #[test]
    fn blue_rises_by_a_256th_and_falls_by_a_4096th_a_target_at_most() {
        let (mut cobalt, params) = (Cobalt::default(), params());
        for ms in 6..16 {
            cobalt.queue_full(&params, MS(ms));
        }
        assert!((cobalt.blue - 2.0 / 256.0).abs() < 1e-12, "at 6 and 12 ms: {}", cobalt.blue);
        for ms in 20..60 {
            cobalt.queue_empty(&params, MS(ms));
        }
        // At 20, 26, …, 56 ms.
        assert!((cobalt.blue - (2.0 / 256.0 - 7.0 / 4096.0)).abs() < 1e-12, "{}", cobalt.blue);
        assert!(!cobalt.rests(MS(60)) && !cobalt.rests(MS(1000)), "BLUE has more to forget");
        let codel = Cobalt { drop_next: MS(100), ..Cobalt::default() };
        assert!(!codel.rests(MS(99)) && codel.rests(MS(100)), "an interval has begun");
    }
}
