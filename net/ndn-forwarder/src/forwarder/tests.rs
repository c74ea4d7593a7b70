//! Pipelines: rule by rule, and beside a naive model.

use midpath_core::units::Time;
use midpath_ndn::link::Fragmenter;
use midpath_ndn::{Frame, Header, Interest, Name, PitToken};
use proptest::prelude::*;

use crate::name::of;
use crate::rib::{CHILD_INHERIT, ORIGIN_STATIC, Route};
use crate::strategy::Strategy as Which;
use crate::testing::{a_data, add, an_interest, hand, interest, take};
use crate::{FaceId, Forwarder, Scope, Settings};

const MS: fn(u64) -> Time = Time::from_ms;

fn route(forwarder: &mut Forwarder, prefix: &[u8], face: FaceId, cost: u64) {
    let route = Route { face, origin: ORIGIN_STATIC, cost, flags: CHILD_INHERIT, until: None };
    assert!(forwarder.set_route(prefix, route));
}

/// A forwarder with faces to two consumers and two producers of `/a`.
fn four(settings: Settings) -> (Forwarder, [FaceId; 4]) {
    let mut forwarder = Forwarder::new(settings);
    let faces = [(); 4].map(|()| add(&mut forwarder, Scope::NonLocal));
    route(&mut forwarder, &of(&["a"]), faces[2], 1);
    route(&mut forwarder, &of(&["a"]), faces[3], 2);
    (forwarder, faces)
}

fn packet(name: &[&str], change: impl FnOnce(&mut Interest)) -> Vec<u8> {
    let mut interest = Interest { name: Name::get(&of(name)).expect("a name"), ..Interest::default() };
    interest.nonce = Some(9);
    change(&mut interest);
    let mut wire = Vec::new();
    interest.put(&mut wire);
    wire
}

fn sent(to: FaceId, what: &str) -> Vec<(FaceId, String)> {
    vec![(to, what.to_owned())]
}

#[test]
fn data_come_back_to_who_asked_and_the_store_answers_the_next() {
    let (mut f, [one, two, producer, _]) = four(Settings::default());
    let name = of(&["a", "b"]);
    assert_eq!(hand(&mut f, MS(0), one, &an_interest(&name, false, false, 1)), sent(producer, "I/a/b"));
    assert_eq!(hand(&mut f, MS(1), two, &an_interest(&name, false, false, 2)), [], "it is asked for already");
    let both = [(one, "D/a/b".to_owned()), (two, "D/a/b".to_owned())];
    assert_eq!(hand(&mut f, MS(2), producer, &a_data(&name, 0, b"x")), both);
    assert_eq!(hand(&mut f, MS(3), producer, &a_data(&name, 0, b"x")), [], "once");
    assert_eq!(hand(&mut f, MS(4), two, &an_interest(&name, false, false, 3)), sent(two, "D/a/b"));
    let fresh = an_interest(&name, false, true, 4);
    assert_eq!(hand(&mut f, MS(5), two, &fresh), sent(producer, "I/a/b"), "stale Data are not fresh");
    assert_eq!((f.counters().unsolicited, f.counters().aggregated), (1, 1));
}

#[test]
fn who_was_not_asked_does_not_answer() {
    let (mut f, [one, two, producer, other]) = four(Settings::default());
    let name = of(&["a"]);
    hand(&mut f, MS(0), one, &an_interest(&name, false, false, 1));
    for face in [one, two, other] {
        assert_eq!(hand(&mut f, MS(1), face, &a_data(&name, 0, b"forged")), []);
    }
    assert_eq!(hand(&mut f, MS(2), producer, &a_data(&name, 0, b"x")), sent(one, "D/a"));
}

#[test]
fn an_interest_goes_on_in_its_bytes_but_for_its_hops() {
    let (mut f, [one, _, producer, _]) = four(Settings::default());
    let wire = packet(&["a"], |i| i.hop_limit = Some(7));
    // An unknown element that may be ignored stays where it is.
    let wire = [&[5, wire.len() as u8 - 2 + 3][..], &wire[2..], &[0xF0, 1, 5]].concat();
    f.receive(MS(0), one, &wire).expect("an Interest");
    let out: Vec<(FaceId, Vec<u8>)> = f.sends().map(|(face, frame)| (face, frame.to_vec())).collect();
    let place = wire.len() - 4;
    let mut expected = wire.clone();
    assert_eq!(expected[place], 7);
    expected[place] = 6;
    assert_eq!(out, [(producer, expected)]);
}

#[test]
fn an_interest_without_a_nonce_gets_one() {
    let (mut f, [one, _, producer, _]) = four(Settings::default());
    f.receive(MS(0), one, &packet(&["a"], |i| i.nonce = None)).expect("an Interest");
    let (face, frame) = f.sends().next().expect("it is sent");
    assert_eq!(face, producer);
    assert!(interest(frame).nonce.is_some());
}

#[test]
fn hops_end() {
    let (mut f, [one, _, producer, _]) = four(Settings::default());
    let hops = |n: u8, nonce: u32| packet(&["a"], |i| (i.hop_limit, i.nonce) = (Some(n), Some(nonce)));
    assert_eq!(hand(&mut f, MS(0), one, &hops(0, 1)), []);
    assert_eq!(f.counters().no_hops, 1);
    // The last hop is one to an application.
    assert_eq!(hand(&mut f, MS(1), one, &hops(1, 2)), sent(one, "N150/a"));
    let application = add(&mut f, Scope::Local);
    route(&mut f, &of(&["a"]), application, 5);
    assert_eq!(hand(&mut f, MS(2), one, &hops(1, 3)), sent(application, "I/a"));
    assert_eq!(hand(&mut f, MS(300), one, &hops(2, 4)), sent(producer, "I/a"));
}

#[test]
fn names_of_this_machine_stay_here() {
    let (mut f, [far, _, producer, _]) = four(Settings::default());
    let near = add(&mut f, Scope::Local);
    let name = of(&["localhost", "x"]);
    route(&mut f, &name, producer, 0);
    assert_eq!(hand(&mut f, MS(0), far, &an_interest(&name, false, false, 1)), []);
    assert_eq!(f.counters().out_of_scope, 1);
    assert_eq!(hand(&mut f, MS(0), near, &an_interest(&name, false, false, 2)), sent(near, "N150/localhost/x"));
    let application = add(&mut f, Scope::Local);
    route(&mut f, &name, application, 9);
    assert_eq!(hand(&mut f, MS(1), near, &an_interest(&name, false, false, 3)), sent(application, "I/localhost/x"));
    assert_eq!(hand(&mut f, MS(2), far, &a_data(&name, 0, b"")), []);
    assert_eq!(f.counters().out_of_scope, 2);
}

#[test]
fn names_of_one_hop_go_one_hop() {
    let (mut f, [far, _, producer, _]) = four(Settings::default());
    let near = add(&mut f, Scope::Local);
    let name = of(&["localhop", "x"]);
    route(&mut f, &name, producer, 0);
    assert_eq!(hand(&mut f, MS(0), near, &an_interest(&name, false, false, 1)), sent(producer, "I/localhop/x"));
    let other = of(&["localhop", "x", "y"]);
    assert_eq!(hand(&mut f, MS(0), far, &an_interest(&other, false, false, 2)), sent(far, "N150/localhop/x/y"));
}

#[test]
fn a_loop_is_found_while_it_is_pending_and_after() {
    let (mut f, [one, two, producer, _]) = four(Settings { store_bytes: 0, ..Settings::default() });
    let name = of(&["a"]);
    let wire = an_interest(&name, false, false, 1);
    assert_eq!(hand(&mut f, MS(0), one, &wire), sent(producer, "I/a"));
    assert_eq!(hand(&mut f, MS(1), two, &wire), sent(two, "N100/a"));
    assert_eq!(hand(&mut f, MS(2), producer, &a_data(&name, 0, b"")), sent(one, "D/a"));
    assert_eq!(hand(&mut f, MS(3), two, &wire), sent(two, "N100/a"));
    assert_eq!(f.counters().looped, 2);
    let application = add(&mut f, Scope::Local);
    assert_eq!(hand(&mut f, MS(4), application, &wire), [], "an application is not told");
}

#[test]
fn who_asks_again_is_held_back_and_then_another_way_is_tried() {
    let (mut f, [one, _, producer, other]) = four(Settings::default());
    let name = of(&["a"]);
    let ask = |f: &mut Forwarder, at, nonce| hand(f, MS(at), one, &an_interest(&name, false, false, nonce));
    assert_eq!(ask(&mut f, 0, 1), sent(producer, "I/a"));
    assert_eq!(ask(&mut f, 5, 2), []);
    assert_eq!(ask(&mut f, 20, 3), sent(other, "I/a"));
    assert_eq!(ask(&mut f, 100, 4), sent(producer, "I/a"));
    assert_eq!(hand(&mut f, MS(101), other, &a_data(&name, 0, b"")), sent(one, "D/a"));
}

#[test]
fn refusals_are_passed_on_when_all_have_refused() {
    let (mut f, [one, _, producer, other]) = four(Settings::default());
    f.set_strategy_of(&[], Which::Multicast);
    let wire = an_interest(&of(&["a"]), false, false, 5);
    let nack = |why| {
        let mut frame = Vec::new();
        Header { nack: Some(why), ..Header::default() }.wrap(&wire, &mut frame);
        frame
    };
    let (congestion, no_route) = (nack(50), nack(150));
    assert_eq!(hand(&mut f, MS(0), one, &wire).len(), 2);
    assert_eq!(hand(&mut f, MS(1), producer, &no_route), []);
    assert_eq!(hand(&mut f, MS(2), other, &congestion), sent(one, "N50/a"), "the least severe one");
    assert_eq!(hand(&mut f, MS(3), other, &congestion), []);
    assert_eq!(f.counters().stray_nacks, 1);
    // Applications do not hear of congestion; that nothing leads there they do.
    let application = add(&mut f, Scope::Local);
    for (why, expected) in [(50, vec![]), (150, sent(application, "N150/a"))] {
        let wire = an_interest(&of(&["a"]), false, false, 6 + why as u32);
        let mut frame = Vec::new();
        Header { nack: Some(why), ..Header::default() }.wrap(&wire, &mut frame);
        assert_eq!(hand(&mut f, MS(10_000 + why), application, &wire).len(), 2);
        assert_eq!(hand(&mut f, MS(10_000 + why), producer, &frame), []);
        assert_eq!(hand(&mut f, MS(10_000 + why), other, &frame), expected);
    }
}

#[test]
fn tokens_come_back_and_hints_lead() {
    let (mut f, [one, _, producer, _]) = four(Settings { regions: vec![of(&["here"])], ..Settings::default() });
    let token = PitToken::of(b"token");
    // An Interest in /b with the hint /a.
    let with_hint = |hint: &str, nonce: u8| {
        let hint = of(&[hint]);
        let mut value = vec![7, 3, 8, 1, b'b', 0x1E, hint.len() as u8 + 2, 7, hint.len() as u8];
        value.extend_from_slice(&hint);
        value.extend_from_slice(&[0x0A, 4, 0, 0, 0, nonce]);
        let mut frame = Vec::new();
        let wire = [&[5, value.len() as u8][..], &value].concat();
        Header { pit_token: token, ..Header::default() }.wrap(&wire, &mut frame);
        frame
    };
    assert_eq!(hand(&mut f, MS(0), one, &with_hint("a", 1)), sent(producer, "I/b"));
    assert_eq!(hand(&mut f, MS(0), one, &with_hint("c", 2)), sent(one, "N150/b"));
    assert_eq!(hand(&mut f, MS(0), one, &with_hint("here", 3)), sent(one, "N150/b"), "the name itself leads nowhere");
    f.receive(MS(1), producer, &a_data(&of(&["b"]), 0, b"")).expect("Data");
    let (_, frame) = f.sends().next().expect("Data");
    assert_eq!(Frame::of(frame).expect("a frame").header.pit_token, token);
}

#[test]
fn pieces_are_put_together() {
    let (mut f, [one, _, producer, _]) = four(Settings::default());
    let name = of(&["a"]);
    assert_eq!(hand(&mut f, MS(0), one, &an_interest(&name, false, false, 1)), sent(producer, "I/a"));
    let pieces = Fragmenter::default().split(&Header::default(), &a_data(&name, 0, &[7; 5000]), 1400);
    assert_eq!(pieces.len(), 4);
    for piece in &pieces[..3] {
        assert_eq!(hand(&mut f, MS(1), producer, piece), []);
    }
    assert_eq!(hand(&mut f, MS(1), producer, &pieces[3]), sent(one, "D/a"));
}

#[test]
fn a_flood_leaves_room_for_others_and_ends() {
    let (mut f, [flood, honest, producer, _]) = four(Settings { pending: 1000, ..Settings::default() });
    for i in 0..5000u32 {
        f.receive(MS(0), flood, &an_interest(&of(&["a", &i.to_string()]), i % 2 == 0, false, i)).expect("an Interest");
        f.sent();
    }
    assert_eq!((f.pit.records(), f.counters().pit_full), (500, 4500));
    assert_eq!(hand(&mut f, MS(1), honest, &an_interest(&of(&["a", "x"]), false, false, 1)), sent(producer, "I/a/x"));
    f.on_time(MS(10_000));
    assert_eq!((f.pit.records(), f.pit.bytes(), f.names.len()), (0, 0, 0), "nothing is left");
    assert_eq!(f.next_wake(), Time::MAX);
}

#[test]
fn a_face_that_goes_takes_its_routes() {
    let (mut f, [one, _, producer, other]) = four(Settings::default());
    f.remove_face(producer);
    assert_eq!(hand(&mut f, MS(0), one, &an_interest(&of(&["a"]), false, false, 1)), sent(other, "I/a"));
    f.remove_face(one);
    assert_eq!(hand(&mut f, MS(1), other, &a_data(&of(&["a"]), 0, b"")), []);
    assert_eq!(f.counters().gone, 1);
}

/// Lets time pass; what is sent meanwhile, and when.
fn wait(f: &mut Forwarder, until: Time) -> Vec<(Time, FaceId, String)> {
    let mut all = Vec::new();
    while f.next_wake() <= until {
        let now = f.next_wake();
        f.on_time(now);
        all.extend(take(f).into_iter().map(|(face, what)| (now, face, what)));
    }
    all
}

#[test]
fn a_way_that_is_silent_is_left_and_found_again() {
    let (mut f, [.., first, second]) = four(Settings { store_bytes: 0, ..Settings::default() });
    let application = add(&mut f, Scope::Local);
    let ask = |f: &mut Forwarder, at: u64, i: u32| {
        let name = of(&["a", &i.to_string()]);
        hand(f, MS(at), application, &an_interest(&name, false, false, i))
            .into_iter()
            .map(|(to, _)| to)
            .collect::<Vec<_>>()
    };
    let answer = |f: &mut Forwarder, at: u64, from, i: u32| {
        hand(f, MS(at), from, &a_data(&of(&["a", &i.to_string()]), 0, b"")).len()
    };
    // The first three wait for the best next hop, and then get their answer from the other one.
    for i in 0..3 {
        let at = 1000 * u64::from(i);
        assert_eq!(ask(&mut f, at, i), [first]);
        let again = wait(&mut f, MS(at + 300));
        assert_eq!(again.iter().map(|(at, to, _)| (*at, *to)).collect::<Vec<_>>(), [(MS(at + 250), second)]);
        assert_eq!(answer(&mut f, at + 310, second, i), 1);
    }
    // From then on that one is asked at once, and the silent one once a second, too.
    assert_eq!(ask(&mut f, 2400, 3), [second, first]);
    assert_eq!(answer(&mut f, 2410, second, 3), 1);
    assert_eq!(ask(&mut f, 2420, 4), [second]);
    assert_eq!(answer(&mut f, 2430, second, 4), 1);
    assert_eq!(ask(&mut f, 3500, 5), [second, first]);
    assert_eq!(answer(&mut f, 3510, second, 5), 1);
    // It answers again, if too late for this one.
    assert_eq!(answer(&mut f, 3520, first, 5), 0);
    assert_eq!(ask(&mut f, 3530, 6), [first]);
}

#[test]
fn what_is_lost_is_asked_for_again_as_long_as_somebody_waits() {
    for pace in [true, false] {
        let (mut f, [far, _, producer, other]) = four(Settings { pace, ..Settings::default() });
        f.remove_face(other);
        let application = add(&mut f, Scope::Local);
        hand(&mut f, MS(0), application, &an_interest(&of(&["a"]), false, false, 1));
        let again = wait(&mut f, MS(3900));
        assert!(again.iter().all(|(_, to, what)| *to == producer && what == "I/a"));
        let times: Vec<Time> = again.iter().map(|(at, ..)| *at).collect();
        assert_eq!(times, if pace { vec![MS(250), MS(750), MS(1750), MS(3750)] } else { vec![] });
        assert_eq!(wait(&mut f, MS(60_000)), [], "nobody waits");
        // Who forwards for others leaves it to those.
        hand(&mut f, MS(70_000), far, &an_interest(&of(&["a"]), false, false, 2));
        assert_eq!(wait(&mut f, MS(80_000)), []);
    }
}

#[test]
fn when_one_refuses_another_is_asked() {
    let (mut f, [one, _, producer, other]) = four(Settings::default());
    let wire = an_interest(&of(&["a"]), false, false, 5);
    let mut nack = Vec::new();
    Header { nack: Some(150), ..Header::default() }.wrap(&wire, &mut nack);
    assert_eq!(hand(&mut f, MS(0), one, &wire), sent(producer, "I/a"));
    assert_eq!(hand(&mut f, MS(1), producer, &nack), sent(other, "I/a"));
    assert_eq!(hand(&mut f, MS(2), other, &nack), sent(one, "N150/a"));
}

#[test]
fn a_flood_of_names_that_nobody_serves_is_not_answered_one_by_one() {
    let (mut f, [one, ..]) = four(Settings::default());
    let application = add(&mut f, Scope::Local);
    let mut refused = |face, count: u32| {
        let each = |i: u32| an_interest(&of(&["none", &format!("{face:?}{i}")]), false, false, i);
        (0..count).filter(|i| !hand(&mut f, MS(1), face, &each(*i)).is_empty()).count()
    };
    assert_eq!((refused(one, 500), refused(application, 500)), (100, 500), "applications hear of each");
    assert_eq!(f.counters().unrefused, 400);
}

/// One who waits, in the model.
#[derive(Debug, Clone)]
struct Waits {
    face: usize,
    name: Vec<u8>,
    can_be_prefix: bool,
    must_be_fresh: bool,
    until: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Interest { face: usize, name: Vec<u8>, can_be_prefix: bool, must_be_fresh: bool, lifetime: u64 },
    Data { name: Vec<u8>, from: usize },
    Pause(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = || {
        prop::collection::vec("[ab]", 0..3).prop_map(|parts| {
            let parts: Vec<&str> = std::iter::once("a").chain(parts.iter().map(String::as_str)).collect();
            of(&parts)
        })
    };
    let interest = (0usize..2, name(), any::<bool>(), any::<bool>(), 1u64..3000).prop_map(
        |(face, name, can_be_prefix, must_be_fresh, lifetime)| Step::Interest {
            face,
            name,
            can_be_prefix,
            must_be_fresh,
            lifetime,
        },
    );
    let data = (name(), 0usize..4).prop_map(|(name, from)| Step::Data { name, from });
    let pause = (1u64..1500).prop_map(Step::Pause);
    prop::collection::vec(prop_oneof![3 => interest, 2 => data, 1 => pause], 0..60)
}

proptest! {
    /// Data go to exactly the faces that asked and still wait, each once; nobody is answered twice;
    /// and when all is over, no table holds anything.
    #[test]
    fn data_go_to_exactly_those_who_wait(steps in steps()) {
        // With one order of next hops: which was asked is known then.
        let (mut f, faces) = four(Settings { store_bytes: 0, recovers: false, ..Settings::default() });
        let (mut now, mut nonce, mut waits) = (0u64, 0u32, Vec::<Waits>::new());
        for step in steps {
            match step {
                Step::Interest { face, name, can_be_prefix, must_be_fresh, lifetime } => {
                    nonce += 1;
                    let mut wire = Vec::new();
                    let interest = Interest {
                        name: Name::get(&name).expect("a name"),
                        can_be_prefix, must_be_fresh, nonce: Some(nonce), lifetime: Some(lifetime), hop_limit: None,
                    };
                    interest.put(&mut wire);
                    let out = hand(&mut f, MS(now), faces[face], &wire);
                    // What is sent are Interests, to producers alone.
                    prop_assert!(out.iter().all(|(to, what)| faces[2..].contains(to) && what.starts_with('I')));
                    let same = |w: &Waits| {
                        w.name == name && w.can_be_prefix == can_be_prefix && w.must_be_fresh == must_be_fresh
                    };
                    if !waits.iter().any(same) {
                        prop_assert_eq!(out.len(), 1, "the first one goes on");
                    }
                    waits.retain(|w| !(same(w) && w.face == face));
                    waits.push(Waits { face, name, can_be_prefix, must_be_fresh, until: now + lifetime });
                }
                Step::Data { name, from } => {
                    let out = hand(&mut f, MS(now), faces[from], &a_data(&name, 0, b""));
                    let fits = |w: &Waits| w.name == name || w.can_be_prefix && name.starts_with(&w.name);
                    let mut got: Vec<FaceId> = out.iter().map(|(face, _)| *face).collect();
                    got.sort();
                    let mut expected: Vec<FaceId> = waits.iter().filter(|w| fits(w)).map(|w| faces[w.face]).collect();
                    expected.sort();
                    expected.dedup();
                    match from {
                        // The best producer has always been asked.
                        2 => {
                            prop_assert_eq!(got, expected);
                            waits.retain(|w| !fits(w));
                        }
                        // The other one if it was asked again.
                        3 => {
                            prop_assert!(got.iter().all(|face| expected.contains(face)));
                            if !got.is_empty() {
                                // Of several entries some may have been asked there: look who is left.
                                let left = hand(&mut f, MS(now), faces[2], &a_data(&name, 0, b""));
                                prop_assert!(left.iter().all(|(face, _)| expected.contains(face)));
                                waits.retain(|w| !fits(w));
                            }
                        }
                        _ => prop_assert!(got.is_empty(), "consumers were not asked"),
                    }
                }
                Step::Pause(ms) => {
                    now += ms;
                    f.on_time(MS(now));
                    prop_assert!(take(&mut f).is_empty());
                    waits.retain(|w| w.until > now);
                }
            }
            // Who waits no more counts until all of its entry are over.
            prop_assert!(f.pit.records() >= waits.len());
        }
        f.on_time(MS(now + 4000));
        prop_assert_eq!((f.pit.len(), f.pit.records(), f.pit.bytes(), f.names.len()), (0, 0, 0, 0));
    }
}
