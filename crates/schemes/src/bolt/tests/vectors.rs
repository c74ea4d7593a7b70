//! Beside the authors' functions: `tests/vectors/bolt/README.md`.

use midpath_core::units::{Rate, Time};

use crate::bolt::equations::{Path, State, said};
use crate::bolt::header::{BoltFlags, Notice};
use crate::bolt::switch::{Link, Switch};

/// The rows of a table of numbers.
fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [i64; N]> {
    let numbers = |line: &str| -> Vec<i64> { line.split(',').map(|n| n.parse().expect("a number")).collect() };
    text.lines().skip(1).map(move |line| numbers(line).try_into().expect("so many numbers"))
}

/// A packet counts as a byte less than it has: so they have it, and do not know why.
const BYTE_LESS: u32 = 1;

/// Their supply is cut to whole bytes with each packet, and now and then that takes one off.
const ROUNDING: f64 = 4.0;

#[test]
fn a_port_does_what_the_authors_does() {
    let link = Link { rate: Rate::from_mbps(100_000), mtu: 1500, threshold: 3000, sm: true, pru: true };
    let (mut switch, mut seen) = (Switch::default(), [0; 4]);
    for [now, size, ack, marks, waiting, after, tells, supply, promised] in
        rows(include_str!("../../../../../tests/vectors/bolt/switch.csv"))
    {
        switch.count(size as u32 - BYTE_LESS, Time::from_ns(now as u64), &link);
        let found = match ack {
            0 => switch.decide(BoltFlags(marks as u8), waiting as u64, false, &link),
            _ => (BoltFlags(marks as u8), false),
        };
        assert_eq!((found, switch.promised), ((BoltFlags(after as u8), tells == 1), promised as u16), "at {now}");
        assert!((switch.supply - supply as f64).abs() <= ROUNDING, "at {now}: {} and not {supply}", switch.supply);
        let kinds = [tells == 1, promised > 0, after & 4 != 0, marks & 4 != 0 && after & 4 == 0];
        kinds.iter().zip(&mut seen).for_each(|(is, count)| *count += i32::from(*is));
    }
    assert!(seen.iter().all(|count| *count >= 50), "told, promised, raised, refused: {seen:?}");
}

#[test]
fn windows_are_those_of_the_authors_sender() {
    let path = Path { mss: 1457, mtu: 1500, line: 102e9, least: 15, most: 373_760 };
    let text = include_str!("../../../../../tests/vectors/bolt/sender.csv");
    let mut seen = [0; 3];
    for (line, row) in text.lines().skip(1).enumerate() {
        let (what, numbers) = row.split_once(',').expect("a kind of event");
        let numbers: Vec<u64> = numbers.split(',').map(|n| n.parse().expect("a number")).collect();
        let [now, rtt, marks, additive, queue, after, window, fell, window_after, fell_after] =
            numbers[..].try_into().expect("ten numbers");
        let mut flow = State { window, fell };
        match what {
            "ack" => flow.acknowledge(BoltFlags(marks as u8), additive == 1, &path),
            "notice" => flow.tell(&Notice { queue: queue as u32, rate: 1e11, sent: 0 }, after, rtt, now, &path),
            _ => flow.lose(rtt, now, &path),
        }
        // Their loss knows no least window.
        let expected = State { window: window_after.max(path.least), fell: fell_after };
        assert_eq!(flow, expected, "line {}: {row}", line + 2);
        let kind = ["ack", "notice", "loss"].iter().position(|k| *k == what).expect("one of three");
        seen[kind] += i32::from(window != window_after);
    }
    assert!(seen.iter().all(|count| *count >= 10), "moved by ACKs, notices, losses: {seen:?}");
}

#[test]
fn packets_say_what_the_authors_say() {
    let mut seen = 0;
    for [first, payload, left, window, marks] in rows(include_str!("../../../../../tests/vectors/bolt/sends.csv")) {
        let found = said(first == 1, payload as u64, left as u64, window as u64);
        assert_eq!(found, BoltFlags(marks as u8), "{first} {payload} {left} {window}");
        seen |= 1 << marks;
    }
    // First, last, both, INC, and INC and last where the window is below the packet.
    assert_eq!(seen, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6);
}
