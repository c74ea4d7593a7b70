//! Loss detection for in-order fetches over one path.

use std::collections::{BTreeMap, VecDeque};

use midpath_core::rng::{Purpose, stream};
use midpath_core::units::Time;

use super::Asking;
use crate::icn::header::{Class, Stamped, Trail};
use crate::icn::path::PathId;
use crate::icn::segments::Segments;
use crate::mircc::params::{MirccParams, Split};

const MS: fn(u64) -> Time = Time::from_ms;

/// 12 Mbps: a primary Interest each ms, and a secondary one each 20.
const STAMPS: (u64, u64) = (12_000_000, 600_000);

/// When each segment was asked for, by class.
#[derive(Debug, Default)]
struct Fetched {
    asked: BTreeMap<u32, Vec<(Time, Class)>>,
}

impl Fetched {
    /// How long after the first time a segment was asked for the second time.
    fn waited(&self, segment: u32) -> Time {
        let times = &self.asked[&segment];
        times[1].0 - times[0].0
    }
}

/// Fetches `count` segments over a path of so many ms by segment; `loses` says of a segment and its
/// class whether its first Data do not come.
fn fetch(params: &MirccParams, count: u64, trip: fn(u32) -> u64, loses: impl Fn(u32, Class) -> bool) -> Fetched {
    let rng = &mut stream(1, Purpose::Endpoints, 0);
    let mut asking = Asking::new(params, Segments::of(count), None);
    asking.start(params, rng, 1500);
    let (mut flying, mut found, mut now, mut last) = (VecDeque::new(), Fetched::default(), MS(0), MS(0));
    while !asking.segments().complete() {
        asking.on_time(params, now);
        while let Some(ask) = asking.poll(params, now, rng, |_| 1500) {
            let times = found.asked.entry(ask.segment).or_default();
            times.push((now, ask.class));
            if times.len() > 1 || !loses(ask.segment, ask.class) {
                last = last.max(now + MS(trip(ask.segment)));
                flying.push_back((last, ask.segment));
            }
        }
        let next = asking.next(params, now);
        let data = flying.front().copied().filter(|data| data.0 <= next);
        now = data.map_or(next, |data| data.0);
        assert!(now < Time::from_secs(10), "{found:?}");
        if let Some((_, segment)) = data {
            flying.pop_front();
            let header = Stamped { primary: STAMPS.0, secondary: STAMPS.1, path: PathId(1), trail: Trail::None };
            asking.on_data(params, now, segment, header);
        }
    }
    found
}

/// Without Interests that look for other paths.
fn steered() -> MirccParams {
    MirccParams { hintless: 0.0, ..MirccParams::default() }
}

/// A secondary Interest in 20 ms: three of them take 60 ms, in which 60 primary ones tell the same.
#[test]
fn where_both_classes_wait_in_one_queue_data_of_either_tell_of_both() {
    let params = MirccParams { split: Split::Links, ..steered() };
    let first = fetch(&params, 400, |_| 20, |_, _| false);
    let secondary: Vec<u32> = first.asked.iter().filter(|a| a.1[0].1 == Class::Secondary).map(|a| *a.0).collect();
    assert!(secondary.len() > 10, "{secondary:?}");
    let lost = secondary[5];
    let waited = |params: &MirccParams| fetch(params, 400, |_| 20, |segment, _| segment == lost).waited(lost);
    assert!(waited(&params) < MS(30), "{:?}", waited(&params));
}

/// Round trips of 28 and 20 ms by turns of ten. What the last Data show to be missing may have been passed
/// by those of a content store, so some time has to go by. Nothing comes any more that tells.
#[test]
fn what_the_last_data_overtake_is_asked_for_when_its_time_is_over() {
    let trip = |segment| 20 + 8 * u64::from(segment / 10 % 2);
    let found = fetch(&steered(), 290, trip, |segment, _| segment == 281);
    // Silence would have told after two mean round trips from the last Interest on, eight ms later.
    assert!(found.waited(281) < MS(45), "{:?}", found.waited(281));
}

/// An Interest without a hint may have gone a longer way, so it is taken for lost after four round trips.
/// At an object's end no way is worth that.
#[test]
fn at_an_objects_end_no_longer_path_is_waited_for() {
    let mut params = MirccParams { hintless: 1.0, ..MirccParams::default() };
    params.additions.explore = false;
    let lost = [10, 290, 295];
    let found = fetch(&params, 300, |_| 20, |segment, _| lost.contains(&segment));
    let waited = lost.map(|segment| found.waited(segment));
    assert!(waited[0] > MS(75) && waited[1..].iter().all(|waited| *waited < MS(45)), "{waited:?}");
}
