use super::{Aqm, Verdict, View};
use crate::packet::Packet;
use crate::queue_spec::CodelParams;
use crate::units::Time;

/// Controlled delay: RFC 8289's estimator and control law, with the RFC's names.
#[derive(Debug, Clone)]
pub struct Codel {
    params: CodelParams,
    first_above_time: Time,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// A packet was chosen in the dropping state; the next choice is scheduled if the packet after
    /// it is as late.
    chosen: bool,
}

impl Codel {
    /// CoDel with `params`, in its initial state (§5.2).
    pub const fn new(params: CodelParams) -> Codel {
        Codel {
            params,
            first_above_time: Time::ZERO,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            chosen: false,
        }
    }

    /// §5.5 `dodequeue`: whether the packet that waited `view.sojourn` finds the delay too high for
    /// too long.
    fn ok_to_drop(&mut self, view: &View<'_>) -> bool {
        if view.sojourn < self.params.target || view.backlog.bytes <= u64::from(view.mtu) {
            self.first_above_time = Time::ZERO;
            false
        } else if self.first_above_time.is_zero() {
            self.first_above_time = view.now + self.params.interval;
            false
        } else {
            view.now >= self.first_above_time
        }
    }

    /// §5.3 `control_law`: the next drop after `t`.
    fn control_law(&self, t: Time) -> Time {
        t + self.params.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    /// §5.6 `deque`, one packet at a time: whether this packet is chosen. If it is dropped, the
    /// packet behind it comes next, as in the RFC's loop; if it is signalled, [`Aqm::signalled`]
    /// does.
    fn chooses(&mut self, view: &View<'_>) -> bool {
        let ok_to_drop = self.ok_to_drop(view);
        if self.dropping {
            self.dropping = ok_to_drop;
            if ok_to_drop && self.chosen {
                self.drop_next = self.control_law(self.drop_next);
            }
            self.chosen = ok_to_drop && view.now >= self.drop_next;
            self.count += u32::from(self.chosen);
            return self.chosen;
        }
        if ok_to_drop {
            self.enter(view.now);
        }
        ok_to_drop
    }

    /// §5.6: enters the dropping state.
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        // "If min went above target close to when it last went below, assume that the drop rate
        // that controlled the queue on the last cycle is a good starting point."
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = now.saturating_sub(self.drop_next) < self.params.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.lastcount = self.count;
    }
}

impl Aqm for Codel {
    fn watches_arriving(&self) -> bool {
        false
    }

    fn watches_leaving(&self) -> bool {
        true
    }

    #[inline]
    fn dequeue(&mut self, _packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if self.chooses(view) { Verdict::Signal } else { Verdict::Pass }
    }

    // The next choice is scheduled without a look at the packet behind, as in Linux: RFC 8289 has
    // no pseudo-code for ECN.
    fn signalled(&mut self, _packet: &Packet) {
        if std::mem::take(&mut self.chosen) {
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    // §5.5: an empty queue leaves the dropping state.
    fn empty(&mut self) {
        self.first_above_time = Time::ZERO;
        self.dropping = false;
        self.chosen = false;
    }

    fn reset(&mut self) {
        *self = Codel::new(self.params);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::Leaving;

    /// When packets are chosen that wait as long each, one per millisecond, in ms. All are dropped.
    fn chosen(sojourn_ms: u64, behind: u64, until_ms: u64) -> Vec<u64> {
        let mut codel = Codel::new(CodelParams::default());
        let mut leaving = Leaving::new(Time::from_ms(sojourn_ms), behind);
        (1..=until_ms).filter(|t| leaving.ask(&mut codel, Time::from_ms(*t)) == Verdict::Signal).collect()
    }

    #[test]
    fn below_target_nothing_happens() {
        assert!(chosen(4, 100_000, 5_000).is_empty());
    }

    #[test]
    fn above_target_drops_follow_the_inverse_square_root() {
        // The first after one interval; the n-th gap is interval/sqrt(n) (§5.3), on packets one
        // millisecond apart.
        let got = chosen(20, 100_000, 600);
        let (mut t, mut want) = (101.0, vec![101]);
        for n in 1..got.len() {
            t += 100.0 / (n as f64).sqrt();
            want.push((t - 1e-9).ceil() as u64);
        }
        assert_eq!(got, want);
        assert!(got.len() > 8);
    }

    /// A packet that could not be told from its sender's signal is scheduled by the one behind it; one
    /// that was signalled at once.
    #[test]
    fn a_signal_schedules_the_next_choice_and_an_empty_queue_forgets() {
        let (ms, mut codel) = (Time::from_ms, Codel::new(CodelParams::default()));
        let mut leaving = Leaving::new(ms(20), 100_000);
        let packet = Packet::new(crate::packet::FlowId(0), crate::packet::NodeId(0), crate::packet::NodeId(1), 1500);
        let verdicts = [1, 100, 101].map(|t| leaving.ask(&mut codel, ms(t)));
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Signal]);
        codel.signalled(&packet);
        assert_eq!((codel.drop_next, codel.count), (ms(201), 1), "the first choice has scheduled it already");
        assert_eq!(leaving.ask(&mut codel, ms(201)), Verdict::Signal);
        codel.signalled(&packet);
        let next = ms(201) + ms(100).mul_f64(1.0 / 2f64.sqrt());
        assert_eq!((codel.drop_next, codel.count, codel.chosen), (next, 2, false));
        codel.empty();
        assert_eq!((codel.first_above_time, codel.dropping, codel.chosen), (Time::ZERO, false, false));
    }

    #[test]
    fn a_backlog_of_one_packet_is_never_punished() {
        assert!(chosen(50, 1500, 2000).is_empty());
    }
}
