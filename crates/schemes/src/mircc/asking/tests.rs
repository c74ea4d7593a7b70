use midpath_core::rng::{Purpose, stream};
use midpath_core::units::{Rate, Time};

use super::Asking;
use super::paths::Paths;
use super::paths::SURE;
use crate::icn::header::{Class, Stamped, Stamps, Trail, Way};
use crate::icn::path::PathId;
use crate::icn::segments::Segments;
use crate::mircc::params::{Additions, MirccParams, RateParams, Sending, Split};

const MS: fn(u64) -> Time = Time::from_ms;
const S: fn(u64) -> Time = Time::from_secs;

/// Probes each second.
fn paths(sending: Sending, limit: Option<Rate>) -> Paths {
    Paths::new(&MirccParams { sending, ..MirccParams::default() }, limit)
}

fn stamps(primary: f64, secondary: f64) -> Stamps {
    Stamps { primary, secondary }
}

/// Lets a flow send whatever is due until `end`, and counts Interests by path and class.
fn count(paths: &mut Paths, ids: &[PathId], end: Time) -> Vec<[u32; 2]> {
    let mut counts = vec![[0; 2]; ids.len()];
    loop {
        let now = paths.next_turn();
        let Some(turn) = paths.turn(now).filter(|_| now < end) else { return counts };
        let place = ids.iter().position(|p| *p == turn.path).expect("known");
        counts[place][turn.class as usize] += 1;
        paths.taken(turn, now, 1500);
    }
}

#[test]
fn interests_are_sent_at_the_deflated_rates_in_proportion() {
    // 12 Mbps is a Data of 1500 B each ms. The best is 12, shared 2 : 1, and 1.5 of secondary on
    // the second path.
    let ids = [PathId(1), PathId(2)];
    let mut paths = paths(Sending::DualClass, None);
    paths.data(ids[0], Trail::None, stamps(12e6, 0.0), Time::ZERO);
    paths.data(ids[1], Trail::None, stamps(6e6, 1.5e6), Time::ZERO);
    let counts = count(&mut paths, &ids, S(3));
    assert!(counts[0][0].abs_diff(2000) <= 1 && counts[1][0].abs_diff(1000) <= 1, "{counts:?}");
    assert!(counts[0][1] == 0 && counts[1][1].abs_diff(375) <= 1, "{counts:?}");
}

#[test]
fn a_flow_with_a_rate_asks_for_no_more() {
    let mut paths = paths(Sending::DualClass, Some(Rate::from_mbps(6)));
    paths.data(PathId(1), Trail::None, stamps(12e6, 3e6), Time::ZERO);
    assert!((paths.rates().iter().sum::<f64>() - 6e6).abs() < 1.0);
    paths.data(PathId(1), Trail::None, stamps(3e6, 1e6), Time::ZERO);
    assert!((paths.rates().iter().sum::<f64>() - 3e6).abs() < 1.0);
}

#[test]
fn a_new_rate_counts_at_once_and_a_starved_flow_still_probes() {
    let mut paths = paths(Sending::BestSubflow, None);
    paths.data(PathId(1), Trail::None, stamps(12e6, 0.0), Time::ZERO);
    let turn = paths.turn(Time::ZERO).expect("due");
    paths.taken(turn, Time::ZERO, 1500);
    assert_eq!(paths.next_turn(), MS(1));
    paths.nack(PathId(1), stamps(3e6, 0.0), Time::ZERO, 0.5);
    assert_eq!(paths.next_turn(), MS(4));
    paths.data(PathId(1), Trail::None, stamps(24e6, 0.0), Time::ZERO);
    assert_eq!(paths.next_turn(), Time::from_us(500));
    paths.data(PathId(1), Trail::None, stamps(1.0, 0.0), Time::ZERO);
    assert_eq!(paths.next_turn(), S(1));
}

/// Flows that hear at once that the rate has halved stay as far apart as they were.
#[test]
fn a_flow_keeps_its_place_between_two_interests() {
    let at = |phase: f64, spread: bool| {
        let mut paths = paths(Sending::BestSubflow, None);
        if spread {
            paths.set_phase(phase, 1500);
        }
        paths.data(PathId(1), Trail::None, stamps(12e6, 0.0), Time::ZERO);
        // With no place of its own a flow has sent when it heard the rate.
        let sent = paths.next_turn();
        let turn = paths.turn(sent).expect("due");
        paths.taken(turn, sent, 1500);
        paths.data(PathId(1), Trail::None, stamps(6e6, 0.0), MS(1));
        paths.next_turn().as_ns() / 1000
    };
    // The next was due at 1.25 and at 1.75 ms, and is at twice the distance from the news.
    assert_eq!((at(0.25, true), at(0.75, true)), (1500, 2500));
    assert_eq!((at(0.25, false), at(0.75, false)), (2000, 2000));
}

#[test]
fn who_is_refused_takes_another_place() {
    let mut paths = paths(Sending::BestSubflow, None);
    paths.set_phase(0.0, 1500);
    paths.data(PathId(1), Trail::None, stamps(12e6, 0.0), Time::ZERO);
    let turn = paths.turn(Time::ZERO).expect("due");
    paths.taken(turn, Time::ZERO, 1500);
    paths.nack(PathId(1), stamps(12e6, 0.0), Time::from_us(100), 0.75);
    // A quarter of a gap after the one that is left out.
    assert_eq!(paths.next_turn(), Time::from_us(2250));
}

#[test]
fn paths_are_bounded_and_lost_ones_forgotten() {
    let mut paths = paths(Sending::DualClass, None);
    for i in 0..20 {
        paths.data(PathId(i), Trail::None, stamps(1e6, 0.0), S(i));
    }
    assert_eq!(paths.len(), 16);
    (0..3).for_each(|_| paths.lost(PathId(8), S(9)));
    assert_eq!(paths.len(), 15);
    paths.expire(S(1000));
    assert_eq!(paths.len(), 1, "the last one stays until its Interests are lost");
}

/// §3.1: its initial rate is one Interest, until Data tell another.
#[test]
fn a_consumer_begins_with_one_interest_until_data_tell_a_rate() {
    let (params, rng) = (MirccParams::default(), &mut stream(1, Purpose::Endpoints, 0));
    let mut asking = Asking::new(&params, Segments::of(1000), None);
    asking.start(&params, rng, 1500);
    let first = asking.poll(&params, Time::ZERO, rng, |_| 1500).expect("one");
    assert_eq!((first.segment, first.class, first.way), (0, Class::Primary, Way::ANY));
    assert_eq!(asking.poll(&params, MS(19), rng, |_| 1500), None);
    let header = Stamped { primary: 12_000_000, secondary: 0, path: PathId(1), trail: Trail::None };
    asking.on_data(&params, MS(20), 0, header);
    assert_eq!(asking.rates(), [12e6, 0.0]);
    assert_eq!(asking.paths.next_turn().saturating_sub(MS(20)).as_ns() / 1_000_000, 0, "one in a millisecond");
}

/// The paper's text: so many primary Interests have no hint.
fn by_share(hintless: f64) -> MirccParams {
    let ours = MirccParams::default();
    MirccParams { hintless, additions: Additions { explore: false, ..ours.additions }, ..ours }
}

/// When a flow that has `mbps` over one path sends Interests without a hint, in a minute: drawn for by bandwidth, and
/// evenly.
fn explorations(params: &MirccParams, mbps: f64) -> [Vec<Time>; 2] {
    let rng = &mut stream(1, Purpose::Endpoints, 0);
    let mut asking = Asking::new(params, Segments::of(1 << 20), None);
    asking.paths.data(PathId(1), Trail::None, stamps(1e6 * mbps, 0.0), Time::ZERO);
    let mut found = [Vec::new(), Vec::new()];
    loop {
        let now = asking.paths.next_turn();
        if now > S(60) {
            return found;
        }
        let ask = asking.poll(params, now, rng, |_| 1500).expect("due");
        match ask.way {
            Way::Any { evenly, .. } => found[usize::from(evenly)].push(now),
            way => assert_eq!(way, Way::Path(PathId(1))),
        }
    }
}

/// By their share for ten seconds, as by the text, and evenly ever rarer until they are a second apart, whatever the
/// flow's rate is.
#[test]
fn interests_without_a_hint_become_rare_but_not_too_rare() {
    let ours = MirccParams::default();
    let [[_, slow], [shared, fast]] = [0.024, 24.0].map(|mbps| explorations(&ours, mbps));
    // Two Data a second, and two in a millisecond.
    assert!((55..=60).contains(&slow.len()), "{slow:?}");
    assert!((65..=75).contains(&fast.len()) && fast[0] < MS(20), "{fast:?}");
    for found in [&slow, &fast] {
        let gaps = found.windows(2).skip(20).map(|two| two[1] - two[0]);
        assert!(gaps.into_iter().all(|gap| (S(1)..MS(1500)).contains(&gap)), "{found:?}");
    }
    // 600 of 20,000, within four deviations of 24.
    assert!(
        shared.len().abs_diff(600) < 97 && shared.last().is_some_and(|last| *last < MS(10_100)),
        "{}",
        shared.len()
    );
    let [[slow, none], [fast, no]] = [0.024, 24.0].map(|mbps| explorations(&by_share(0.03), mbps));
    assert!(slow.len() < 15 && fast.len() > 3000, "{} {}", slow.len(), fast.len());
    assert!(none.is_empty() && no.is_empty());
    let never = MirccParams { hintless: 0.0, ..ours };
    assert!(explorations(&never, 24.0).iter().all(Vec::is_empty));
}

/// §4.3.3, of primary Interests; secondary ones all have one.
#[test]
fn three_in_a_hundred_primary_interests_have_no_hint() {
    // Where one path carries both classes.
    let params = MirccParams { split: Split::Links, ..by_share(0.03) };
    let rng = &mut stream(1, Purpose::Endpoints, 0);
    let mut asking = Asking::new(&params, Segments::of(1 << 20), None);
    let header = Stamped { primary: 12_000_000, secondary: 1_200_000, path: PathId(1), trail: Trail::None };
    asking.poll(&params, Time::ZERO, rng, |_| 1500).expect("one");
    asking.on_data(&params, MS(1), 0, header);
    let mut counts = [[0u32; 2]; 2];
    for _ in 0..22_000 {
        let now = asking.paths.next_turn();
        let ask = asking.poll(&params, now, rng, |_| 1500).expect("due");
        counts[ask.class as usize][usize::from(ask.way == Way::ANY)] += 1;
    }
    let [[hinted, free], [_, secondary]] = counts;
    // 20,000 primary ones: 600, within four deviations of 24.
    assert!((hinted + free).abs_diff(20_000) < 3 && free.abs_diff(600) < 97 && secondary == 0, "{counts:?}");
}

/// What is steered to a content store that lacks it goes further: the store's path has the rates of there, until
/// nothing strays any more.
#[test]
fn a_path_whose_interests_stray_has_no_more_than_where_they_go() {
    let mut paths = paths(Sending::BestSubflow, None);
    let near = |paths: &mut Paths| paths.data(PathId(1), Trail::None, stamps(100e6, 0.0), MS(1));
    near(&mut paths);
    paths.data(PathId(2), Trail::None, stamps(10e6, 0.0), MS(1));
    assert_eq!(paths.rates()[0], 100e6);
    paths.strayed(PathId(1), stamps(10e6, 0.0), MS(2));
    (1..SURE).for_each(|_| near(&mut paths));
    assert!((paths.rates()[0] - 10e6).abs() < 1.0, "{:?}", paths.rates());
    near(&mut paths);
    assert_eq!(paths.rates()[0], 100e6);
}

/// Of Interests without a hint all go over the thinner path, as if it had the bandwidth: §4.3's shares hold.
#[test]
fn interests_without_a_hint_count_on_the_path_they_took() {
    let carried = |split: Split, secondary_packets: f64| {
        let rates = RateParams { secondary_packets, ..RateParams::default() };
        let params = MirccParams { split, rates, ..by_share(0.2) };
        let mut rng = stream(1, Purpose::Endpoints, 0);
        let mut asking = Asking::new(&params, Segments::of(1 << 20), None);
        let ids = [PathId(1), PathId(2)];
        for (id, rate) in ids.into_iter().zip([12e6, 6e6]) {
            asking.paths.data(id, Trail::None, stamps(rate, 0.0), Time::ZERO);
        }
        let mut counts = [0_u32; 2];
        for _ in 0..3000 {
            let now = asking.paths.next_turn();
            let ask = asking.poll(&params, now, &mut rng, |_| 1500).expect("due");
            let path = usize::from(ask.way != Way::Path(ids[0]));
            counts[path] += 1;
            let primary = [12_000_000, 6_000_000][path];
            let header = Stamped { primary, secondary: 0, path: ids[path], trail: Trail::None };
            asking.on_data(&params, now, ask.segment, header);
        }
        f64::from(counts[0]) / f64::from(counts[1])
    };
    let ours = carried(Split::Paths, 10.0);
    assert!((1.9..2.1).contains(&ours), "{ours}");
    for without in [carried(Split::Links, 10.0), carried(Split::Paths, 0.0)] {
        assert!(without < 1.3, "{without}");
    }
}

/// What steered Interests tell is their path's round trip: a link's d(t) is of its own traffic, and T no shorter.
#[test]
fn an_interest_tells_the_round_trip_of_its_path() {
    let params = MirccParams { hintless: 0.0, ..MirccParams::default() };
    let rng = &mut stream(1, Purpose::Endpoints, 0);
    let mut asking = Asking::new(&params, Segments::of(1 << 20), None);
    let trips = [(PathId(1), MS(20)), (PathId(2), MS(300))];
    for (id, _) in trips {
        asking.paths.data(id, Trail::None, stamps(120e3, 0.0), Time::ZERO);
    }
    let (mut on_their_way, mut heard) = (Vec::new(), Vec::new());
    for now in (0..4000).map(MS) {
        on_their_way.retain(|(at, segment, path): &(Time, u32, PathId)| {
            let header = Stamped { primary: 120_000, secondary: 0, path: *path, trail: Trail::None };
            *at > now || asking.on_data(&params, now, *segment, header).is_none()
        });
        while let Some(ask) = asking.poll(&params, now, rng, |_| 1500) {
            let &(id, trip) = trips.iter().find(|(id, _)| ask.way == Way::Path(*id)).expect("steered");
            on_their_way.push((now + trip, ask.segment, id));
            heard.push((now, trip, ask.rtt));
        }
    }
    let late: Vec<_> = heard.iter().filter(|(now, ..)| *now > S(1)).collect();
    assert!(late.len() > 20 && late.iter().all(|(_, trip, heard)| *heard == Some(*trip)), "{late:?}");
    // Before the first Data of the long path, it has the flow's.
    assert!(heard.iter().any(|(_, trip, heard)| *trip == MS(300) && *heard == Some(MS(20))), "{heard:?}");
}
