use midpath_core::units::{Rate, Time};

use crate::bolt::header::BoltFlags;
use crate::bolt::switch::{Link, Switch};

/// A byte per nanosecond.
const LINK: Link = Link { rate: Rate::from_mbps(8000), mtu: 1500, threshold: 3000, sm: true, pru: true };

/// Its ACK may raise the window, and nothing else.
const ASKS: BoltFlags = BoltFlags::INC;

/// So much supply.
fn with_supply(bytes: u64) -> Switch {
    let mut switch = Switch::default();
    switch.count(0, Time::from_ns(bytes), &LINK);
    switch
}

#[test]
fn supply_is_what_the_link_could_send_less_what_came_and_a_packet_at_most() {
    let mut switch = with_supply(1000);
    assert_eq!(switch.supply, 1000.0);
    switch.count(400, Time::from_ns(1100), &LINK);
    assert_eq!(switch.supply, 700.0);
    // Three packets at once: more came than can leave.
    (0..3).for_each(|_| switch.count(1500, Time::from_ns(1100), &LINK));
    assert_eq!(switch.supply, -3800.0);
    switch.count(100, Time::from_us(900), &LINK);
    assert_eq!(switch.supply, 1500.0);
}

#[test]
fn a_packets_worth_of_supply_lets_one_flow_grow() {
    let mut switch = with_supply(1500);
    assert_eq!(switch.decide(ASKS, 0, false, &LINK), (ASKS, false));
    assert_eq!(switch.supply, 0.0);
    assert_eq!(switch.decide(ASKS, 0, false, &LINK), (BoltFlags::default(), false), "all is given away");
    let mut short = with_supply(1499);
    assert_eq!(short.decide(ASKS, 0, false, &LINK), (BoltFlags::default(), false));
    // Who does not ask takes nothing.
    let mut idle = with_supply(1500);
    assert_eq!((idle.decide(BoltFlags::FIRST, 0, false, &LINK), idle.supply), ((BoltFlags::FIRST, false), 1500.0));
}

#[test]
fn a_flows_last_window_is_promised_to_others() {
    let mut switch = Switch::default();
    for _ in 0..2 {
        assert_eq!(switch.decide(BoltFlags::LAST, 0, false, &LINK), (BoltFlags::LAST, false));
    }
    let short = BoltFlags::FIRST.with(BoltFlags::LAST);
    assert_eq!((switch.decide(short, 0, false, &LINK), switch.promised), ((short, false), 2), "it never took anything");
    // Two may grow though the link is full; the third not.
    let found: Vec<BoltFlags> = (0..3).map(|_| switch.decide(ASKS, 0, false, &LINK).0).collect();
    assert_eq!((found, switch.promised), (vec![ASKS, ASKS, BoltFlags::default()], 0));
    (0..300).for_each(|_| {
        switch.decide(BoltFlags::LAST, 0, false, &LINK);
    });
    assert_eq!(switch.promised, 256);
}

#[test]
fn promises_go_before_supply() {
    let mut switch = with_supply(1500);
    switch.promised = 1;
    switch.decide(ASKS, 0, false, &LINK);
    assert_eq!((switch.promised, switch.supply), (0, 1500.0));
}

#[test]
fn a_congested_port_tells_the_sender_unless_another_one_has() {
    let mut switch = with_supply(1500);
    switch.promised = 1;
    assert_eq!(switch.decide(ASKS, 2999, false, &LINK), (ASKS, false));
    let before = switch;
    assert_eq!(switch.decide(ASKS, 3000, false, &LINK), (BoltFlags::DEC, true));
    assert_eq!(switch.decide(BoltFlags::DEC, 3000, false, &LINK), (BoltFlags::DEC, false));
    let last = BoltFlags::LAST.with(BoltFlags::DEC);
    assert_eq!(switch.decide(BoltFlags::LAST, 3000, false, &LINK), (last, true));
    assert_eq!(switch, before, "nothing is given, and nothing promised");
}

#[test]
fn what_is_off_gives_nothing_and_a_hosts_own_port_leaves_inc_to_the_next() {
    let (off, sm, pru) =
        (Link { sm: false, pru: false, ..LINK }, Link { pru: false, ..LINK }, Link { sm: false, ..LINK });
    let mut switch = with_supply(1500);
    switch.promised = 1;
    let before = switch;
    assert_eq!(switch.decide(ASKS, 0, false, &off), (BoltFlags::default(), false));
    assert_eq!(switch.decide(ASKS, 0, true, &off), (ASKS, false));
    assert_eq!(switch.decide(BoltFlags::LAST, 0, false, &off), (BoltFlags::LAST, false));
    assert_eq!(switch, before);
    assert_eq!((switch.decide(ASKS, 0, false, &sm).0, switch.supply, switch.promised), (ASKS, 0.0, 1));
    assert_eq!(switch.decide(ASKS, 0, true, &sm).0, BoltFlags::default(), "with SM it takes INC off as any port");
    let mut switch = before;
    assert_eq!((switch.decide(ASKS, 0, false, &pru).0, switch.supply, switch.promised), (ASKS, 1500.0, 0));
    assert_eq!(switch.decide(ASKS, 0, false, &pru).0, BoltFlags::default());
}
