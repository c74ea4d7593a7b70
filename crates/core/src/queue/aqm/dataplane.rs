use super::{Aqm, Verdict, View};
use crate::packet::Packet;
use crate::queue_spec::CodelParams;
use crate::units::Time;

/// CoDel as a match-action pipeline runs it (Kundel et al., "P4-CoDel", NFV-SDN 2018), one packet
/// at a time:
///
/// - The first packet at or above target sets the next choice one interval ahead. Each choice
///   raises the count by one, so that the second comes interval/√2 after the first, and is
///   scheduled after the *schedule*, not after now.
/// - A packet below target clears the state. There is no memory of the last rate, and no look at
///   the packet behind or at how much waits.
/// - The clock has 32 bits of nanoseconds and wraps after 4.29 s. What is due less than half of
///   that ago is due.
#[derive(Debug, Clone)]
pub struct CodelDataPlane {
    params: CodelParams,
    above: bool,
    drop_next_ns: u32,
    count: u32,
}

/// The clock's digits.
const fn clock_ns(t: Time) -> u32 {
    t.as_ns() as u32
}

impl CodelDataPlane {
    /// The longest interval: shorter than half a turn of the clock, 2.147 s, which tells the future
    /// from the past.
    pub const MAX_INTERVAL: Time = Time::from_secs(2);

    /// CoDel with `params`. The interval is at most [`CodelDataPlane::MAX_INTERVAL`].
    pub const fn new(params: CodelParams) -> CodelDataPlane {
        CodelDataPlane { params, above: false, drop_next_ns: 0, count: 0 }
    }

    fn is_due(&self, now_ns: u32) -> bool {
        now_ns.wrapping_sub(self.drop_next_ns) < 1 << 31
    }

    /// The control law: interval/√count after the schedule.
    fn schedule(&mut self) {
        self.count += 1;
        let gap = self.params.interval.mul_f64(1.0 / f64::from(self.count).sqrt());
        self.drop_next_ns = self.drop_next_ns.wrapping_add(clock_ns(gap));
    }
}

impl Aqm for CodelDataPlane {
    fn watches_arriving(&self) -> bool {
        false
    }

    fn watches_leaving(&self) -> bool {
        true
    }

    #[inline]
    fn dequeue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if view.sojourn < self.params.target {
            self.above = false;
            return Verdict::Pass;
        }
        if !self.above {
            (self.above, self.count) = (true, 1);
            self.drop_next_ns = clock_ns(view.now + self.params.interval);
            return Verdict::Pass;
        }
        if !self.is_due(clock_ns(view.now)) {
            return Verdict::Pass;
        }
        self.schedule();
        Verdict::Signal
    }

    fn reset(&mut self) {
        *self = CodelDataPlane::new(self.params);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::Leaving;

    const PARAMS: CodelParams = CodelParams { target: Time::from_ms(1), interval: Time::from_ms(20) };

    /// When packets are chosen that wait for 3 ms each, one every 10 µs from `start` on, in µs
    /// after it.
    fn chosen(start: Time, until_ms: u64) -> Vec<u64> {
        let mut codel = CodelDataPlane::new(PARAMS);
        let mut leaving = Leaving::new(Time::from_ms(3), 100_000);
        let at = |i: u64| start + Time::from_us(10 * i);
        (0..100 * until_ms).filter(|i| leaving.ask(&mut codel, at(*i)) == Verdict::Signal).map(|i| 10 * i).collect()
    }

    #[test]
    fn gaps_shrink_with_the_root_after_the_schedule() {
        let (mut due, mut want) = (20_000.0, Vec::new());
        for n in 2..200 {
            // On packets 10 µs apart, the first at or after the schedule; rounding adds up to no
            // more than a nanosecond each.
            want.push(((due - 0.05) / 10.0_f64).ceil() as u64 * 10);
            due += 20_000.0 / f64::from(n).sqrt();
        }
        let got = chosen(Time::from_secs(1), 400);
        assert!(got.len() > 40, "{}", got.len());
        assert_eq!(got, want[..got.len()]);
    }

    #[test]
    fn the_clock_wraps_without_notice() {
        // 2³² ns come in the middle of the run.
        let wrap = Time::from_ns(1 << 32);
        assert_eq!(chosen(wrap - Time::from_ms(200), 400), chosen(Time::from_secs(1), 400));
    }

    #[test]
    fn one_packet_below_target_clears_the_state() {
        let mut codel = CodelDataPlane::new(PARAMS);
        let (mut late, mut good) = (Leaving::new(PARAMS.target, 0), Leaving::new(PARAMS.target - Time(1), 0));
        let mut ask = |ms, leaving: &mut Leaving| leaving.ask(&mut codel, Time::from_ms(ms));
        assert_eq!(ask(0, &mut late), Verdict::Pass);
        assert_eq!(ask(21, &mut late), Verdict::Signal);
        assert_eq!(ask(22, &mut good), Verdict::Pass);
        assert_eq!(ask(60, &mut late), Verdict::Pass);
        assert_eq!(ask(79, &mut late), Verdict::Pass);
        assert_eq!(ask(80, &mut late), Verdict::Signal);
    }
}
