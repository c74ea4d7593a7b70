//! The RIB: registered prefixes, and the resulting FIB.
//!
//! NFD's rules. A route with *child inherit* counts for longer prefixes, too, unless one between has
//! *capture*. Of several routes to one face the nearest counts, of those the cheapest.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::units::Time;
use rustc_hash::FxHashMap;

use crate::faces::FaceId;
use crate::fib::{Fib, NextHop};
use crate::name;

/// A route counts for longer prefixes.
pub const CHILD_INHERIT: u64 = 1;
/// Routes of shorter prefixes do not count below.
pub const CAPTURE: u64 = 2;

/// Who says that a route is there: an application.
pub const ORIGIN_APP: u64 = 0;
/// The configuration, or an operator.
pub const ORIGIN_STATIC: u64 = 255;
/// `fib/add-nexthop`. Ours: not listed as a route.
pub const ORIGIN_FIB: u64 = u64::MAX;

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The face that leads there.
    pub face: FaceId,
    /// Who says so.
    pub origin: u64,
    /// What going there costs.
    pub cost: u64,
    /// Child inherit, capture.
    pub flags: u64,
    /// When it ends, if it does.
    pub until: Option<Time>,
}

/// The table.
#[derive(Debug)]
pub struct Rib {
    entries: BTreeMap<Vec<u8>, Vec<Route>>,
    by_face: FxHashMap<FaceId, BTreeSet<Vec<u8>>>,
    routes: usize,
    limit: usize,
    next_end: Time,
}

impl Rib {
    /// At most `limit` routes.
    pub fn new(limit: usize) -> Rib {
        Rib { entries: BTreeMap::new(), by_face: FxHashMap::default(), routes: 0, limit, next_end: Time::MAX }
    }

    /// All prefixes and their routes, in canonical order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[Route])> {
        self.entries.iter().map(|(prefix, routes)| (&prefix[..], &routes[..]))
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.routes == 0
    }

    /// Adds a route, or changes the one of this face and origin. Whether there is room.
    pub fn set(&mut self, prefix: &[u8], route: Route, fib: &mut Fib) -> bool {
        let routes = self.entries.get_mut(prefix);
        let same = |r: &&mut Route| r.face == route.face && r.origin == route.origin;
        match routes.and_then(|routes| routes.iter_mut().find(same)) {
            Some(known) => *known = route,
            None if self.routes >= self.limit => return false,
            None => {
                self.routes += 1;
                self.entries.entry(prefix.to_vec()).or_default().push(route);
                self.by_face.entry(route.face).or_default().insert(prefix.to_vec());
            }
        }
        self.next_end = self.next_end.min(route.until.unwrap_or(Time::MAX));
        self.renew(prefix, fib);
        true
    }

    /// Takes routes out; whether one was there.
    fn retain(&mut self, prefix: &[u8], keep: impl Fn(&Route) -> bool, fib: &mut Fib) -> bool {
        let Some(routes) = self.entries.get_mut(prefix) else { return false };
        let before: Vec<FaceId> = routes.iter().map(|route| route.face).collect();
        routes.retain(keep);
        let gone = before.len() - routes.len();
        let left: Vec<FaceId> = routes.iter().map(|route| route.face).collect();
        if left.is_empty() {
            self.entries.remove(prefix);
        }
        for face in before.into_iter().filter(|face| !left.contains(face)) {
            if let Some(prefixes) = self.by_face.get_mut(&face) {
                prefixes.remove(prefix);
                if prefixes.is_empty() {
                    self.by_face.remove(&face);
                }
            }
        }
        self.routes -= gone;
        if gone > 0 {
            self.renew(prefix, fib);
        }
        gone > 0
    }

    /// Takes the route of a face and an origin out; whether it was there.
    pub fn unset(&mut self, prefix: &[u8], face: FaceId, origin: u64, fib: &mut Fib) -> bool {
        self.retain(prefix, |route| route.face != face || route.origin != origin, fib)
    }

    /// Called when a face is gone.
    pub fn forget(&mut self, face: FaceId, fib: &mut Fib) {
        for prefix in self.by_face.get(&face).cloned().unwrap_or_default() {
            self.retain(&prefix, |route| route.face != face, fib);
        }
    }

    /// When the first route ends.
    pub fn next_end(&self) -> Time {
        self.next_end
    }

    /// Takes out the routes that have ended.
    pub fn on_time(&mut self, now: Time, fib: &mut Fib) {
        if now < self.next_end {
            return;
        }
        let over = |route: &Route| route.until.is_some_and(|until| until <= now);
        let ended: Vec<Vec<u8>> =
            self.entries.iter().filter(|(_, r)| r.iter().any(over)).map(|(prefix, _)| prefix.clone()).collect();
        for prefix in ended {
            self.retain(&prefix, |route| !over(route), fib);
        }
        self.next_end = self.entries.values().flatten().filter_map(|route| route.until).min().unwrap_or(Time::MAX);
    }

    /// Works the FIB out again for a prefix and those below.
    fn renew(&self, prefix: &[u8], fib: &mut Fib) {
        if !self.entries.contains_key(prefix) {
            fib.remove(prefix);
        }
        let below = self.entries.range::<[u8], _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        for (name, _) in below.take_while(|(name, _)| name.starts_with(prefix)) {
            fib.set(name, self.next_hops(name));
        }
    }

    /// The next hops of a prefix that has routes.
    fn next_hops(&self, name: &[u8]) -> Vec<NextHop> {
        let ends: Vec<usize> = name::view(name).prefixes().map(|prefix| prefix.bytes().len()).collect();
        let mut hops: Vec<NextHop> = Vec::new();
        for end in ends.into_iter().rev() {
            let Some(routes) = self.entries.get(&name[..end]) else { continue };
            let own = end == name.len();
            let mut here: Vec<NextHop> = Vec::new();
            for route in routes.iter().filter(|route| own || route.flags & CHILD_INHERIT != 0) {
                let hop = NextHop::new(route.face, route.cost);
                match here.iter_mut().find(|known| known.face == hop.face) {
                    Some(known) => known.cost = known.cost.min(hop.cost),
                    None => here.push(hop),
                }
            }
            here.retain(|hop| hops.iter().all(|nearer| nearer.face != hop.face));
            hops.extend(here);
            if routes.iter().any(|route| route.flags & CAPTURE != 0) {
                break;
            }
        }
        hops.sort_by_key(|hop| (hop.cost, hop.face));
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::of;
    use crate::names::Keyed;

    fn route(face: u64, cost: u64, flags: u64) -> Route {
        Route { face: FaceId(face), origin: ORIGIN_APP, cost, flags, until: None }
    }

    fn hops(fib: &Fib, name: &[u8]) -> Vec<(u64, u64)> {
        fib.longest(name::view(name))
            .map(|(_, hops)| hops.iter().map(|hop| (hop.face.0, hop.cost)).collect())
            .unwrap_or_default()
    }

    #[test]
    fn routes_are_inherited_until_one_captures() {
        let (mut rib, mut fib) = (Rib::new(10), Fib::new(Keyed::default()));
        let (a, b, c) = (of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"]));
        assert!(rib.set(&a, route(1, 5, CHILD_INHERIT), &mut fib));
        assert!(rib.set(&a, route(2, 6, 0), &mut fib));
        assert!(rib.set(&c, route(3, 7, 0), &mut fib));
        assert_eq!(hops(&fib, &c), [(1, 5), (3, 7)]);
        assert_eq!(hops(&fib, &a), [(1, 5), (2, 6)]);
        assert!(rib.set(&b, route(1, 9, CHILD_INHERIT | CAPTURE), &mut fib));
        assert_eq!(hops(&fib, &c), [(3, 7), (1, 9)], "the nearest of a face");
        rib.forget(FaceId(1), &mut fib);
        assert_eq!(hops(&fib, &c), [(3, 7)]);
        assert_eq!(hops(&fib, &b), [(2, 6)], "the entry between is gone");
        assert_eq!(rib.len(), 2);
    }

    #[test]
    fn routes_end_and_are_bounded() {
        let (mut rib, mut fib) = (Rib::new(2), Fib::new(Keyed::default()));
        let a = of(&["a"]);
        let until = Some(Time::from_secs(5));
        assert!(rib.set(&a, Route { until, ..route(1, 0, 0) }, &mut fib));
        assert!(rib.set(&a, route(2, 1, 0), &mut fib));
        assert!(!rib.set(&a, route(3, 1, 0), &mut fib));
        assert!(rib.set(&a, Route { until, ..route(1, 3, 0) }, &mut fib), "a change needs no room");
        assert_eq!(rib.next_end(), Time::from_secs(5));
        rib.on_time(Time::from_secs(5), &mut fib);
        assert_eq!((hops(&fib, &a), rib.next_end()), (vec![(2, 1)], Time::MAX));
        assert!(!rib.unset(&a, FaceId(2), ORIGIN_STATIC, &mut fib));
        assert!(rib.unset(&a, FaceId(2), ORIGIN_APP, &mut fib));
        assert!(fib.is_empty() && rib.is_empty());
    }
}
