//! The shaper by hand, Wang's rates against their optimum, and what must hold for whatever is
//! offered.

use super::*;
use crate::icn::path::PathId;
use proptest::prelude::*;

const LINK: Rate = Rate(8_000_000);

fn params() -> ShaperParams {
    let outstanding = Outstanding::Booked;
    let (pacing, headroom, burst) = (Pacing::Booked, 1.0, Bytes(0));
    ShaperParams { pacing, outstanding, headroom, interests: 4, burst, ..ShaperParams::default() }
}

fn interest(token: u32, class: Class) -> Interest<u32> {
    Interest { token, size: Bytes(100), data: Bytes(1000), class, via: None, above: None, passing: false }
}

fn drain(shaper: &mut Shaper<u32>) -> Vec<(Time, u32)> {
    let mut out = Vec::new();
    let mut now = Time::ZERO;
    while let Some(at) = shaper.next_release(now) {
        now = at;
        out.push((at, shaper.poll(at).expect("it said so").token));
    }
    out
}

#[test]
fn interests_leave_as_fast_as_their_data_can_come_back() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    (0..3).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
    assert_eq!(shaper.backlog(), Bytes(3000));
    // 1000 B of Data take 1 ms at 8 Mbit/s.
    assert_eq!(drain(&mut shaper), [(Time::ZERO, 0), (Time::from_ms(1), 1), (Time::from_ms(2), 2)]);
    assert_eq!(shaper.backlog(), Bytes::ZERO);
}

#[test]
fn a_burst_lets_some_go_ahead() {
    let mut shaper = Shaper::new(&ShaperParams { burst: Bytes(1000), ..params() }, LINK, LINK);
    (0..3).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
    assert_eq!(drain(&mut shaper), [(Time::ZERO, 0), (Time::ZERO, 1), (Time::from_ms(1), 2)]);
}

/// A wire that is not free at once: Interests leave a while after they were due.
#[test]
fn what_interests_wait_for_the_wire_is_not_lost_to_their_pace() {
    let wang = ShaperParams { pacing: Pacing::Wang, interests: 100, burst: Bytes(2000), ..params() };
    let late = |wait: Time| {
        let mut shaper = Shaper::new(&wang, LINK, LINK);
        (0..50).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
        let mut now = Time::ZERO;
        while let Some(due) = shaper.next_release(now) {
            now = now.max(due) + wait;
            shaper.poll(now).expect("it is due");
        }
        now
    };
    // 1000 B of Data take 1 ms: 49 gaps.
    let at_once = late(Time::ZERO);
    assert_eq!(at_once.as_ns() / 1000, 49_000);
    // A Data of 900 B is on the wire each time. The first waits that long, and so do all, but none
    // for the one before it.
    assert_eq!((late(Time::from_us(900)) - at_once).as_ns() / 1000, 900);
}

#[test]
fn after_a_long_wait_no_more_than_the_burst_follows_at_once() {
    let wang = ShaperParams { pacing: Pacing::Wang, interests: 100, burst: Bytes(2000), ..params() };
    let mut shaper = Shaper::new(&wang, LINK, LINK);
    (0..50).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
    let now = Time::from_ms(100);
    let left = std::iter::from_fn(|| shaper.poll(now)).count();
    // One, and two for the burst.
    assert_eq!(left, 3);
}

#[test]
fn opposite_interests_take_both_ways_from_it() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    // 100 B of the way back, 2000 B of the way out: the later counts.
    shaper.on_opposite_interest(Time::ZERO, Bytes(100), Bytes(2000));
    shaper.offer(Time::ZERO, interest(0, Class::Primary));
    assert_eq!(drain(&mut shaper), [(Time::from_ms(2), 0)]);
}

/// 1 Mbit/s out, 100 back: without a pace Interests could fill the way out. While others come, they
/// have half of it; when these have stopped for long, all.
#[test]
fn booked_interests_leave_half_of_a_slow_way_to_the_data_of_opposite_ones() {
    let mut shaper = Shaper::new(&ShaperParams { interests: 10_000, ..params() }, Rate(1_000_000), Rate(100_000_000));
    (0..4000).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
    let mut left = Vec::new();
    for s in 0..5 {
        if s < 3 {
            shaper.on_opposite_interest(Time::from_secs(s), Bytes(1), Bytes(1));
        }
        while let Some(at) = shaper.next_release(Time::ZERO).filter(|at| *at < Time::from_secs(s + 1)) {
            shaper.poll(at).expect("it said so");
            left.push(at);
        }
    }
    let bits = |from, to| {
        let within = left.iter().filter(|at: &&Time| (Time::from_secs(from)..Time::from_secs(to)).contains(at));
        800 * within.count() as u64 / (to - from)
    };
    // The last came at 2 s, and counts for 2 s.
    assert!(bits(0, 4).abs_diff(500_000) <= 1000, "{}", bits(0, 4));
    assert!(bits(4, 5).abs_diff(1_000_000) <= 1000, "{}", bits(4, 5));
}

#[test]
fn larger_data_than_expected_are_booked_late() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    shaper.on_larger_data(Time::ZERO, Bytes(500));
    shaper.offer(Time::ZERO, interest(0, Class::Primary));
    assert_eq!(drain(&mut shaper), [(Time::from_us(500), 0)]);
}

#[test]
fn the_last_secondary_one_makes_room() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    (0..4).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Secondary)), Offer::Queued));
    let displaced = Offer::Displaced(interest(3, Class::Secondary));
    assert_eq!(shaper.offer(Time::ZERO, interest(9, Class::Primary)), displaced);
}

/// The other way's Data, which both shapers book, stop this one's Interests; Wang's pace knows of them
/// only after it has counted for a while.
#[test]
fn without_bookings_the_pace_alone_lets_interests_go() {
    let next = |outstanding| {
        let mut shaper = Shaper::new(&ShaperParams { outstanding, pacing: Pacing::Wang, ..params() }, LINK, LINK);
        (0..9).for_each(|_| shaper.on_opposite_interest(Time::ZERO, Bytes(100), Bytes(1000)));
        shaper.offer(Time::ZERO, interest(0, Class::Primary));
        shaper.next_release(Time::ZERO).expect("one waits")
    };
    assert_eq!(next(Outstanding::Paced), Time::ZERO);
    assert!(next(Outstanding::Booked) > Time::ZERO);
}

#[test]
fn a_full_queue_refuses_and_secondary_ones_make_room_for_primary_ones() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    shaper.offer(Time::ZERO, interest(0, Class::Secondary));
    shaper.offer(Time::ZERO, interest(1, Class::Primary));
    shaper.offer(Time::ZERO, interest(2, Class::Secondary));
    shaper.offer(Time::ZERO, interest(3, Class::Primary));
    assert_eq!(shaper.offer(Time::ZERO, interest(4, Class::Secondary)), Offer::Refused(interest(4, Class::Secondary)));
    assert_eq!(shaper.offer(Time::ZERO, interest(5, Class::Primary)), Offer::Displaced(interest(2, Class::Secondary)));
    assert_eq!(shaper.offer(Time::ZERO, interest(6, Class::Primary)), Offer::Displaced(interest(0, Class::Secondary)));
    assert_eq!(shaper.offer(Time::ZERO, interest(7, Class::Primary)), Offer::Refused(interest(7, Class::Primary)));
    let tokens: Vec<u32> = drain(&mut shaper).into_iter().map(|(_, token)| token).collect();
    assert_eq!(tokens, [1, 3, 5, 6]);
}

/// Those that routers passed on have a room of their own, and make room among themselves.
#[test]
fn few_wait_that_a_router_passed_on() {
    let mut shaper = Shaper::new(&ShaperParams { interests: 9, passing: 2, ..params() }, LINK, LINK);
    let mut offer = |token, class, passing| shaper.offer(Time::ZERO, Interest { passing, ..interest(token, class) });
    let (primary, secondary) = (Class::Primary, Class::Secondary);
    for (token, class, passing) in
        [(0, secondary, true), (1, secondary, false), (2, primary, true), (3, primary, false)]
    {
        assert_eq!(offer(token, class, passing), Offer::Queued);
    }
    let of = |token, class| Interest { passing: true, ..interest(token, class) };
    assert_eq!(offer(4, secondary, true), Offer::Refused(of(4, secondary)));
    assert_eq!(offer(5, primary, true), Offer::Displaced(of(0, secondary)));
    assert_eq!(offer(6, primary, true), Offer::Refused(of(6, primary)), "none of those that no router passed on");
    assert_eq!(offer(7, secondary, false), Offer::Queued);
    shaper.poll(Time::ZERO).expect("the first");
    shaper.poll(Time::from_secs(1)).expect("the next");
    assert_eq!(shaper.passing, shaper.queues.iter().flatten().filter(|w| w.interest.passing).count());
}

/// Near Interests that wait for the way back leave far ones their share of the places, which make room among themselves.
#[test]
fn each_path_has_its_share_of_the_places() {
    let mut shaper = Shaper::new(&ShaperParams { interests: 9, passing: 2, ..params() }, LINK, LINK);
    let of = |token, class, path| {
        let via = Some(Via::path(PathId(path)));
        Interest { passing: true, via, ..interest(token, class) }
    };
    assert_eq!(shaper.offer(Time::ZERO, of(0, Class::Primary, 1)), Offer::Queued);
    assert_eq!(shaper.offer(Time::ZERO, of(1, Class::Secondary, 1)), Offer::Queued);
    assert_eq!(shaper.offer(Time::ZERO, of(2, Class::Secondary, 2)), Offer::Queued, "half of them are its path's");
    let far = of(3, Class::Secondary, 2);
    assert_eq!(shaper.offer(Time::ZERO, far), Offer::Refused(far));
    assert_eq!(shaper.offer(Time::ZERO, of(4, Class::Primary, 2)), Offer::Displaced(of(2, Class::Secondary, 2)));
    let near = of(5, Class::Secondary, 1);
    assert_eq!(shaper.offer(Time::ZERO, near), Offer::Refused(near));
}

#[test]
fn refusing_a_secondary_interest_keeps_those_that_wait() {
    let mut shaper = Shaper::new(&ShaperParams { interests: 1, ..params() }, LINK, LINK);
    shaper.offer(Time::ZERO, interest(0, Class::Secondary));
    assert_eq!(shaper.offer(Time::ZERO, interest(1, Class::Secondary)), Offer::Refused(interest(1, Class::Secondary)));
    assert_eq!(drain(&mut shaper).len(), 1);
}

/// The paper gives primary Interests room, not precedence (§4.2).
#[test]
fn the_order_is_that_of_arrival() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    for (token, class) in [(0, Class::Secondary), (1, Class::Primary), (2, Class::Secondary)] {
        shaper.offer(Time::ZERO, interest(token, class));
    }
    let tokens: Vec<u32> = drain(&mut shaper).into_iter().map(|(_, token)| token).collect();
    assert_eq!(tokens, [0, 1, 2]);
}

#[test]
fn a_link_that_got_slower_is_booked_slower() {
    let mut shaper = Shaper::new(&params(), LINK, LINK);
    shaper.set_rates(Time::ZERO, LINK, Rate(4_000_000));
    (0..2).for_each(|i| assert_eq!(shaper.offer(Time::ZERO, interest(i, Class::Primary)), Offer::Queued));
    assert_eq!(drain(&mut shaper), [(Time::ZERO, 0), (Time::from_ms(2), 1)]);
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b, "{a} is not {b}");
}

#[test]
fn wangs_rates_by_hand() {
    // Figure 9's sizes on a link of 10 Mbit/s both ways: r = 6, min s = (6·10 − 10)/35 = 10/7
    // Mbit/s, which is 6/7 of the link in Data.
    let link = Link { out: 10e6, back: 10e6, own: 6.0, opposite: 6.0 };
    close(link.shaping_rate(0.0), 10e6 / 6.0);
    close(link.shaping_rate(10e6 / 7.0), 10e6 / 7.0);
    close(link.shaping_rate(9e6), 10e6 / 7.0);
    // Half as many: a quarter of the way.
    close(link.shaping_rate(5e6 / 7.0), 10e6 / 7.0 + (10e6 / 6.0 - 10e6 / 7.0) / 4.0);
    // 1 Mbit/s out, 100 back: Interests get half of the way out.
    close(Link { out: 1e6, back: 100e6, own: 6.0, opposite: 6.0 }.shares().0, 0.5e6);
    // 100 out, 1 back: their Data get half of the way back.
    close(Link { out: 100e6, back: 1e6, own: 6.0, opposite: 6.0 }.shares().0, 1e6 / 12.0);
}

#[test]
fn wangs_pace_keeps_room_for_what_comes_the_other_way() {
    let link = Rate::from_mbps(10);
    let params = ShaperParams { interests: 100, headroom: 1.0, ..ShaperParams::default() };
    let gap = |opposite: bool| {
        let mut shaper = Shaper::new(&params, link, link);
        let mut now = Time::ZERO;
        // 200 ms of opposite Interests at 10/7 Mbit/s: 300 B each 1.68 ms.
        for i in 0..if opposite { 119 } else { 0 } {
            shaper.on_opposite_interest(now + Time::from_us(1680 * i), Bytes(300), Bytes(1800));
        }
        now += Time::from_ms(205);
        let queued = || Interest {
            token: 0,
            size: Bytes(300),
            data: Bytes(1800),
            class: Class::Primary,
            via: None,
            above: None,
            passing: false,
        };
        shaper.offer(now, queued());
        shaper.offer(now, queued());
        shaper.poll(now).expect("the link is free");
        shaper.next_release(now).expect("one waits") - now
    };
    // 1800 B at 10 Mbit/s take 1.44 ms; with 6/7 of it, 1.68 ms.
    assert_eq!(gap(false).as_ns() / 1000, 1440);
    let paced = gap(true).as_ns() / 1000;
    assert!((1670..=1690).contains(&paced), "{paced}");
}

proptest! {
    /// min s₁ and the expected s₂ are the best under both constraints: no point on a grid within
    /// them has more log s₁ + log s₂.
    #[test]
    fn wangs_shares_are_the_optimum(
        c1 in 1e5..1e9f64, ratio in 0.01..100.0f64, r1 in 0.2..50.0f64, r2 in 0.2..50.0f64, at in 0.001..0.999f64,
    ) {
        let link = Link { out: c1, back: c1 * ratio, own: r1, opposite: r2 };
        let (s1, s2) = link.shares();
        prop_assert!(s1 + r2 * s2 <= link.out * (1.0 + 1e-9) && r1 * s1 + s2 <= link.back * (1.0 + 1e-9));
        let other = at * link.out.min(link.back / r1);
        let left = ((link.out - other) / r2).min(link.back - r1 * other);
        prop_assert!(other * left <= s1 * s2 * (1.0 + 1e-9), "{other} {left} beats {s1} {s2}");
    }
}

/// What happens to a shaper.
#[derive(Debug, Clone)]
enum Step {
    Offer { size: u64, data: u64, primary: bool },
    Opposite { size: u64, data: u64 },
    Wait { us: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offer =
        (20..400u64, 20..9000u64, any::<bool>()).prop_map(|(size, data, primary)| Step::Offer { size, data, primary });
    // Opposite Interests come over the link, so they cannot be faster than it: they wait for their
    // own time (below).
    let opposite = (20..400u64, 20..9000u64).prop_map(|(size, data)| Step::Opposite { size, data });
    let wait = (0..20_000u64).prop_map(|us| Step::Wait { us });
    prop::collection::vec(prop_oneof![3 => offer, 1 => opposite, 2 => wait], 1..200)
}

/// What was booked on the way back: when, and how much.
type Bookings = Vec<(Time, u64)>;

/// Runs the steps; returns the bookings, the Interests let go, and those handed back.
fn play(shaper: &mut Shaper<u32>, steps: &[Step], limit: usize) -> (Bookings, Vec<(u32, Class)>, usize) {
    let (mut now, mut bookings, mut gone, mut back) = (Time::ZERO, Vec::new(), Vec::new(), 0);
    for (token, step) in steps.iter().enumerate() {
        match *step {
            Step::Offer { size, data, primary } => {
                let class = if primary { Class::Primary } else { Class::Secondary };
                let interest = Interest {
                    token: token as u32,
                    size: Bytes(size),
                    data: Bytes(data),
                    class,
                    via: None,
                    above: None,
                    passing: false,
                };
                back += usize::from(shaper.offer(now, interest) != Offer::Queued);
            }
            Step::Opposite { size, data } => {
                now += LINK.time_for(Bytes(size));
                shaper.on_opposite_interest(now, Bytes(size), Bytes(data));
                bookings.push((now, size));
            }
            Step::Wait { us } => now += Time::from_us(us),
        }
        while let Some(interest) = shaper.poll(now) {
            bookings.push((now, interest.data.0));
            gone.push((interest.token, interest.class));
        }
        assert!(shaper.len() <= limit);
    }
    (bookings, gone, back)
}

/// Near Data find the way back full of far ones that were asked for before.
#[test]
fn data_that_are_due_together_are_not_asked_for_together() {
    let due = ShaperParams { outstanding: Outstanding::Due, pacing: Pacing::Wang, ..params() };
    let mut shaper = Shaper::new(&due, LINK, LINK);
    let offer = |shaper: &mut Shaper<u32>, now, token, above| {
        let interest =
            Interest { above: Some(Time::from_ms(above)), data: Bytes(1500), ..interest(token, Class::Primary) };
        assert_eq!(shaper.offer(now, interest), Offer::Queued);
    };
    // 1500 B take 1.5 ms: the Data of these come from 150 to 156 ms.
    for token in 0..4 {
        let now = Time::from_us(1500 * u64::from(token));
        offer(&mut shaper, now, token, 150);
        assert_eq!(shaper.poll(now).map(|i| i.token), Some(token));
    }
    // At 150 ms one of 3 ms would come among them; a farther one goes before it.
    let now = Time::from_ms(148);
    offer(&mut shaper, now, 4, 3);
    offer(&mut shaper, now, 5, 30);
    assert_eq!(shaper.poll(now).map(|i| i.token), Some(5));
    let turn = shaper.next_release(now).expect("one waits");
    assert_eq!(shaper.poll(turn), None);
    let next = shaper.next_release(turn).expect("one waits");
    assert_eq!(next, Time::from_ms(153));
    assert_eq!(shaper.poll(next).map(|i| i.token), Some(4));
}

proptest! {
    /// Over any time, what is booked on the way back is what the link carries, its burst, and a
    /// packet of each kind.
    #[test]
    fn data_never_overflow_the_way_back(steps in steps(), burst in 0..20_000u64, wang in any::<bool>()) {
        let pacing = if wang { Pacing::Wang } else { Pacing::Booked };
        let params = ShaperParams { pacing, burst: Bytes(burst), interests: 20, ..params() };
        let (bookings, ..) = play(&mut Shaper::new(&params, LINK, LINK), &steps, 20);
        for (i, (from, _)) in bookings.iter().enumerate() {
            let mut sum = 0;
            for (to, size) in &bookings[i..] {
                sum += size;
                let carried = LINK.bytes_in(*to - *from).0;
                prop_assert!(sum <= carried + burst + 9000 + 400 + 1, "{sum} in {}", *to - *from);
            }
        }
    }

    /// The queue is bounded, first in is first out in each class, and every Interest is let go,
    /// handed back or waiting.
    #[test]
    fn queues_are_bounded_and_in_order(steps in steps(), limit in 1..30usize) {
        let mut shaper = Shaper::new(&ShaperParams { interests: limit, ..params() }, LINK, LINK);
        let (_, gone, back) = play(&mut shaper, &steps, limit);
        for class in [Class::Primary, Class::Secondary] {
            let tokens: Vec<u32> = gone.iter().filter(|g| g.1 == class).map(|g| g.0).collect();
            prop_assert!(tokens.is_sorted());
        }
        let offered = steps.iter().filter(|s| matches!(s, Step::Offer { .. })).count();
        prop_assert_eq!(gone.len() + back + shaper.len(), offered);
        let waiting: u64 = shaper.queues.iter().flatten().map(|w| w.interest.data.0).sum();
        prop_assert_eq!(shaper.backlog(), Bytes(waiting));
    }

    /// An Interest that passes is one that was offered and let go at once, and leaves the shaper as that
    /// does: two shapers, one of which is asked for this first.
    #[test]
    fn what_passes_is_what_is_offered_and_let_go(steps in steps(), due in any::<bool>(), wang in any::<bool>()) {
        let pacing = if wang { Pacing::Wang } else { Pacing::Booked };
        let outstanding = if due { Outstanding::Due } else { Outstanding::Booked };
        let params = ShaperParams { pacing, outstanding, burst: Bytes(3000), interests: 20, ..params() };
        let (mut one, mut other) = (Shaper::new(&params, LINK, LINK), Shaper::new(&params, LINK, LINK));
        let (mut now, mut passed) = (Time::ZERO, 0);
        for (token, step) in (0..).zip(&steps) {
            match *step {
                Step::Offer { size, data, primary } => {
                    let class = if primary { Class::Primary } else { Class::Secondary };
                    let above = (token % 5 > 0).then(|| Time::from_ms(u64::from(token % 5) * 7));
                    let new = Interest { size: Bytes(size), data: Bytes(data), above, ..interest(token, class) };
                    let waited = other.len();
                    let offered = other.offer(now, new);
                    let gone = if waited == 0 { other.poll(now).map(|gone| gone.token) } else { None };
                    if one.pass(now, &new) {
                        passed += 1;
                        prop_assert_eq!(Some(token), gone);
                    } else {
                        prop_assert_eq!((gone, one.offer(now, new)), (None, offered));
                    }
                }
                Step::Opposite { size, data } => {
                    [&mut one, &mut other].into_iter().for_each(|s| s.on_opposite_interest(now, Bytes(size), Bytes(data)));
                }
                Step::Wait { us } => now += Time::from_us(us),
            }
            prop_assert_eq!(one.poll(now).map(|gone| gone.token), other.poll(now).map(|gone| gone.token));
            prop_assert_eq!((one.next_release(now), one.backlog()), (other.next_release(now), other.backlog()));
        }
        prop_assert!(passed > 0 || !matches!(steps[0], Step::Offer { .. }), "the first passes");
    }

    /// Nothing gets stuck: whatever was booked, what waits leaves in the end.
    #[test]
    fn what_waits_leaves(steps in steps(), wang in any::<bool>()) {
        let pacing = if wang { Pacing::Wang } else { Pacing::Booked };
        let mut shaper = Shaper::new(&ShaperParams { pacing, ..params() }, LINK, LINK);
        play(&mut shaper, &steps, 4);
        let waiting = shaper.len();
        prop_assert_eq!(drain(&mut shaper).len(), waiting);
        prop_assert!(shaper.is_empty());
    }
}
