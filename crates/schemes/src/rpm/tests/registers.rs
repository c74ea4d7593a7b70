//! A guarded register by hand: who owns it, what it answers, and when it forgets. Both flows fall on
//! the one that there is.

use midpath_core::packet::{Flags, NodeId};
use midpath_core::units::Time;

use crate::rpm::params::{Kept, RpmParams};
use crate::rpm::registers::{Answer, Flow, Registers};

const AGE: Time = Time::from_secs(1);
const MS: fn(u64) -> Time = Time::from_ms;
const NEITHER: Flags = Flags(0);

fn registers(kept: Kept) -> (Registers, Flow, Flow) {
    let registers = Registers::new(&RpmParams { registers: kept, size: 1, register_max: 2, ..RpmParams::default() });
    let (a, b) = (registers.flow(1, NodeId(1)), registers.flow(2, NodeId(1)));
    (registers, a, b)
}

#[test]
fn signals_wait_only_for_acks_that_come_back() {
    let (mut r, a, b) = registers(Kept::Guarded);
    assert_eq!((r.count(a, MS(0)), r.waiting(a)), (Answer::NoAcks, 0));
    assert_eq!(r.count(b, MS(1)), Answer::Collision, "whoever fell back is remembered, too");
    assert!(r.came_back(a, Flags::ACK, MS(2)));
    assert!(!r.came_back(b, Flags::ACK, MS(2)), "another's");
    assert_eq!([0; 3].map(|_| r.count(a, MS(3))), [Answer::Counted, Answer::Counted, Answer::Saturated]);
    assert_eq!((r.count(b, MS(3)), r.waiting(a)), (Answer::Collision, 2));
    assert_eq!(r.take(a, Flags::ACK, u64::MAX), Some(Flags::ACK.with(Flags::ECE)));
    // Up to the age what waits is told, after it no more, and by hand of no ACK but the owner's.
    assert_eq!(r.count(a, MS(2) + AGE), Answer::Counted);
    assert_eq!((r.count(a, MS(3) + AGE), r.waiting(a), r.aged()), (Answer::NoAcks, 0, 2));
    // It stays fallen although it was chosen just now, until an ACK comes.
    assert_eq!((r.count(a, MS(4) + AGE), r.count(b, MS(5) + AGE)), (Answer::NoAcks, Answer::Collision));
    assert!(r.came_back(a, Flags::ACK, MS(6) + AGE));
    assert_eq!(r.count(a, MS(7) + AGE), Answer::Counted);
}

#[test]
fn who_is_silent_for_the_age_loses_the_register() {
    let (mut r, a, b) = registers(Kept::Guarded);
    r.came_back(a, Flags::ACK, MS(0));
    r.count(a, MS(0));
    assert_eq!(r.count(b, AGE), Answer::Collision);
    assert!(r.came_back(b, Flags::ACK, MS(1) + AGE));
    assert_eq!((r.waiting(b), r.aged()), (0, 1));
    assert_eq!((r.count(b, MS(1) + AGE), r.count(a, MS(1) + AGE)), (Answer::Counted, Answer::Collision));
    // By a signal as by an ACK; and its own old signals are too old for the owner, too.
    assert_eq!((r.count(a, MS(2) + AGE * 2), r.aged()), (Answer::NoAcks, 2));
    r.came_back(a, Flags::ACK, MS(2) + AGE * 2);
    r.count(a, MS(2) + AGE * 2);
    assert!(r.came_back(a, Flags::ACK, MS(3) + AGE * 3));
    assert_eq!((r.waiting(a), r.aged()), (0, 3));
    r.count(a, MS(3) + AGE * 3);
    r.clear();
    assert_eq!((r.waiting(a), r.count(b, MS(3) + AGE * 3)), (0, Answer::NoAcks));
}

#[test]
fn ece_says_nothing_to_a_flow_that_counts_accurately() {
    let (mut r, a, _) = registers(Kept::Guarded);
    r.came_back(a, Flags::ACK, MS(0));
    r.count(a, MS(0));
    assert!(!r.came_back(a, Flags::ACK.with(Flags::AE), MS(1)));
    assert_eq!((r.waiting(a), r.count(a, MS(1))), (0, Answer::AccEcn));
    assert!(!r.came_back(a, Flags::ACK, MS(2)), "it stays so");
}

/// RFC 9768, table 2, by AE, CWR and ECE.
#[test]
fn syns_say_who_counts_accurately() {
    let flags = |bits: [bool; 3]| {
        let all = [Flags::AE, Flags::CWR, Flags::ECE];
        Flags(all.iter().zip(bits).filter(|f| f.1).map(|f| f.0.0).sum())
    };
    for number in 0..8u8 {
        let bits = [number & 4 > 0, number & 2 > 0, number & 1 > 0];
        for (answer, back) in [(false, false), (false, true), (true, false), (true, true)] {
            let (mut r, a, _) = registers(Kept::Guarded);
            let syn = Flags::SYN.with(flags(bits)).with(if answer { Flags::ACK } else { NEITHER });
            r.syn(a, syn, back, MS(0));
            let accurate = if answer { [2, 3, 4, 6].contains(&number) } else { number == 7 };
            let expected = match (accurate, answer && back) {
                (true, _) => Answer::AccEcn,
                // Its packets come back here: the answer has.
                (false, true) => Answer::Counted,
                (false, false) => Answer::NoAcks,
            };
            assert_eq!(r.count(a, MS(1)), expected, "{bits:?}, answer {answer}, back {back}");
        }
    }
}

#[test]
fn a_flows_second_syn_is_another_connections() {
    let (mut r, a, b) = registers(Kept::Guarded);
    r.came_back(a, Flags::ACK.with(Flags::AE), MS(0));
    r.sent_ect(a);
    r.syn(a, Flags::SYN, false, MS(1));
    assert_eq!((r.count(a, MS(1)), r.is_ect(a)), (Answer::Counted, false));
    // An answer forgets nothing that waits, and says that packets come back if it does.
    r.syn(a, Flags::SYN.with(Flags::ACK), true, AGE);
    assert_eq!((r.waiting(a), r.count(a, MS(500) + AGE)), (1, Answer::Counted));
    r.syn(a, Flags::SYN.with(Flags::ACK), false, MS(900) + AGE);
    assert_eq!(r.count(a, MS(1) + AGE * 2), Answer::NoAcks, "that one went out");
    r.syn(a, Flags::SYN.with(Flags::ACK), true, MS(2) + AGE * 2);
    assert_eq!(r.count(a, MS(3) + AGE * 2), Answer::Counted);
    // Another's answer takes nothing from the owner; once the owner is silent it does.
    r.syn(b, Flags::SYN.with(Flags::ACK), true, MS(4) + AGE * 2);
    assert_eq!(r.count(b, MS(4) + AGE * 2), Answer::Collision);
    r.syn(b, Flags::SYN.with(Flags::ACK), true, MS(3) + AGE * 3);
    assert_eq!(r.count(b, MS(3) + AGE * 3), Answer::Counted);
    r.syn(b, Flags::SYN, false, MS(4) + AGE * 3);
    assert_eq!(r.waiting(b), 0);
}

#[test]
fn only_the_owner_says_that_it_is_ecn_capable() {
    let (mut r, a, b) = registers(Kept::Guarded);
    r.came_back(a, Flags::ACK, MS(0));
    r.sent_ect(b);
    assert!(!r.is_ect(a));
    r.sent_ect(a);
    assert!(r.is_ect(a));
}

/// Ours: signals go with the queue that they are of. The paper's counters keep them.
#[test]
fn no_more_signals_wait_than_the_queue_has_packets() {
    for (kept, behind, told) in [
        (Kept::Guarded, 0, 1),
        (Kept::Guarded, 4095, 2),
        (Kept::Guarded, 4096, 3),
        (Kept::Guarded, 1_000_000, 100),
        (Kept::Plain, 0, 100),
    ] {
        let params = RpmParams { registers: kept, ..RpmParams::default() };
        let mut r = Registers::new(&params);
        let a = r.flow(1, NodeId(1));
        r.came_back(a, Flags::ACK, MS(0));
        (0..100).for_each(|_| {
            r.count(a, MS(1));
        });
        let taken = (0..200).filter(|_| r.take(a, Flags::ACK, behind).is_some()).count();
        assert_eq!((taken, r.aged()), (told, 100 - told as u64), "{kept:?}, {behind} bytes");
    }
}

/// Algorithm 1's counters know no owners.
#[test]
fn a_plain_register_is_everybodys() {
    let (mut r, a, b) = registers(Kept::Plain);
    assert_eq!((r.count(a, MS(0)), r.count(b, MS(0) + AGE * 9)), (Answer::Counted, Answer::Counted));
    assert_eq!((r.waiting(a), r.count(a, AGE * 10)), (2, Answer::Saturated));
    assert!(r.came_back(a, Flags::ACK, AGE * 20) && !r.came_back(a, Flags::ACK.with(Flags::AE), AGE * 20));
    r.syn(a, Flags::SYN, true, AGE * 20);
    assert_eq!((r.waiting(a), r.aged(), r.is_ect(a)), (2, 0, true));
    assert!(!r.is_over(Time::ZERO, AGE * 20));
}
