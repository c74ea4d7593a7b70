//! Capacity of a link: the integral of its rate over time.

use midpath_core::units::Time;
use midpath_ideal::Speed;

use crate::setup::Setup;

/// One direction of a link: its rate from each of these times on, in bits per second; zero while it
/// is down.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity(Vec<(Time, f64)>);

impl Capacity {
    /// That of `link` from its end `node`, with the faults that the scenario has for it.
    pub fn of(setup: &Setup, link: usize, node: usize) -> Capacity {
        let info = &setup.topology.links()[link];
        let direction = setup.direction(link, node);
        let changes = setup.capacity_changes(link).into_iter().map(|(at, bps)| (at, bps[direction]));
        Capacity(std::iter::once((Time::ZERO, info.rate_from(node).as_f64())).chain(changes).collect())
    }

    /// The same in seconds.
    pub fn speed(&self) -> Speed {
        self.0.iter().map(|(at, bps)| (at.as_secs_f64(), *bps)).collect()
    }

    /// Bits that the link could have sent from `from` to `to`.
    pub fn bits(&self, from: Time, to: Time) -> f64 {
        let first = self.0.partition_point(|step| step.0 <= from).saturating_sub(1);
        let last = self.0.partition_point(|step| step.0 < to);
        let steps = &self.0[first.min(last)..last];
        let ends = steps.iter().skip(1).map(|step| step.0).chain([Time::MAX]);
        let part =
            |(step, end): (&(Time, f64), Time)| step.1 * end.min(to).saturating_sub(step.0.max(from)).as_secs_f64();
        steps.iter().zip(ends).map(part).sum()
    }

    /// The part of that which was `sent`. A packet that is being sent while the rate falls goes on
    /// at its own rate, and one that an outage cuts counts whole: so a packet at each fault may be
    /// more than the link could have sent. More than all of it is not shown.
    pub fn used(&self, sent: f64, from: Time, to: Time) -> f64 {
        let could = self.bits(from, to);
        if could > 0.0 { (sent / could).min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_integrated_over_outages_and_steps() {
        let s = Time::from_secs;
        let capacity = Capacity(vec![(s(0), 10.0), (s(2), 0.0), (s(5), 10.0), (s(6), 4.0)]);
        assert_eq!(capacity.bits(s(0), s(8)), 20.0 + 0.0 + 10.0 + 8.0);
        assert_eq!(capacity.bits(s(1), s(3)), 10.0);
        assert_eq!((capacity.used(5.0, s(5), s(6)), capacity.used(11.0, s(5), s(6))), (0.5, 1.0));
        assert_eq!(capacity.used(1.0, s(3), s(4)), 0.0, "down");
    }
}
