//! Strategies: choice of an Interest's next hop.

use midpath_core::units::Time;
use midpath_ndn::name::GENERIC;

use crate::faces::FaceId;
use crate::fib::NextHop;
use crate::name;
use crate::pit::OutRecord;

/// The first and the longest time for which Interests in what was just asked for are held back. NFD's
/// exponential suppression.
const SUPPRESSION: Time = Time::from_ms(10);
/// The longest.
const LONGEST: Time = Time::from_ms(250);

/// A strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The cheapest next hop that answers; when asked again, another one.
    #[default]
    BestRoute,
    /// All next hops.
    Multicast,
}

/// The names of strategies begin with this.
const PREFIX: [&str; 3] = ["localhost", "nfd", "strategy"];

impl Strategy {
    /// The name that management knows it by.
    pub fn name(self) -> Vec<u8> {
        let mut name = name::of(&PREFIX);
        name::push(&mut name, GENERIC.into(), self.text().as_bytes());
        name
    }

    fn text(self) -> &'static str {
        match self {
            Strategy::BestRoute => "best-route",
            Strategy::Multicast => "multicast",
        }
    }

    /// The strategy of a name; versions and parameters behind it are read over.
    pub fn of(name: &[u8]) -> Option<Strategy> {
        [Strategy::BestRoute, Strategy::Multicast].into_iter().find(|s| name.starts_with(&s.name()))
    }
}

/// Whether an Interest in what has been asked for at `last` is held back, and for how long the next
/// ones are.
pub fn suppressed(now: Time, last: Option<Time>, interval: &mut Time) -> bool {
    let Some(last) = last else {
        *interval = SUPPRESSION;
        return false;
    };
    if now.saturating_sub(last) < *interval {
        return true;
    }
    *interval = Time(interval.0.saturating_mul(2)).clamp(SUPPRESSION, LONGEST);
    false
}

/// The next hops to send to, of those that may be: the best one first that was not asked yet, else
/// the one that was asked longest ago.
pub fn best(hops: &[NextHop], outs: &[OutRecord]) -> Option<FaceId> {
    let asked = |hop: &&NextHop| outs.iter().find(|out| out.face == hop.face).map(|out| out.at);
    let fresh = hops.iter().find(|hop| asked(hop).is_none());
    fresh.or_else(|| hops.iter().min_by_key(asked)).map(|hop| hop.face)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    #[test]
    fn suppression_doubles_up_to_its_bound() {
        let mut interval = Time::ZERO;
        assert!(!suppressed(MS(5), None, &mut interval));
        assert!(suppressed(MS(14), Some(MS(5)), &mut interval));
        assert!(!suppressed(MS(15), Some(MS(5)), &mut interval));
        assert!(suppressed(MS(34), Some(MS(15)), &mut interval));
        for _ in 0..10 {
            assert!(!suppressed(MS(1000), Some(MS(0)), &mut interval));
        }
        assert_eq!(interval, LONGEST);
    }

    #[test]
    fn the_best_is_asked_first_and_then_the_others() {
        let hops = [1, 2].map(|face| NextHop::new(FaceId(face), face));
        let out = |face, at| OutRecord { face: FaceId(face), nonce: 0, at: MS(at), nacked: None };
        assert_eq!(best(&hops, &[]), Some(FaceId(1)));
        assert_eq!(best(&hops, &[out(1, 0)]), Some(FaceId(2)));
        assert_eq!(best(&hops, &[out(1, 5), out(2, 3)]), Some(FaceId(2)));
        assert_eq!(best(&[], &[]), None);
    }

    #[test]
    fn strategies_have_names() {
        let name = Strategy::Multicast.name();
        assert_eq!(name::show(&name), "/localhost/nfd/strategy/multicast");
        let mut versioned = name.clone();
        name::push(&mut versioned, name::VERSION, &[5]);
        assert_eq!(Strategy::of(&versioned), Some(Strategy::Multicast));
        assert_eq!(Strategy::of(&name::of(&["localhost", "nfd", "strategy", "asf"])), None);
    }
}
