//! What must hold of a switch's signal whatever comes.

use midpath_core::packet::{Ecn, Flags, FlowId, Kind, NodeId, Packet};
use midpath_core::queue::{Done, Signal};
use midpath_core::roles::{Backlog, LinkInfo, StandalonePort};
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::rpm::params::{Kept, Mode, RpmParams};
use crate::rpm::registers::{Answer, Registers};
use crate::rpm::signal::Rpm;

const ENDS: [NodeId; 2] = [NodeId(1), NodeId(2)];

/// A signal with its registers, as at a port.
struct Switch {
    rpm: Rpm,
    bench: StandalonePort,
}

impl Switch {
    fn new(params: &RpmParams) -> Switch {
        let link = LinkInfo { rate: Rate::from_gbps(1), delay: Time::ZERO, mtu: 1500, peer: ENDS[1] };
        let mut bench = StandalonePort::new(link);
        bench.state = Some(Box::new(Registers::new(params)));
        Switch { rpm: Rpm::new(params), bench }
    }

    /// A packet that the AQM has chosen leaves: what was done, and the packet after it.
    fn out(&mut self, packet: Packet) -> (Done, Packet) {
        let pkt = self.bench.pool.insert(packet);
        if self.rpm.watches_leaving() {
            self.rpm.leaving(&pkt, Backlog { packets: 1000, bytes: 1_500_000 }, &mut self.bench.ctx());
        }
        let done = self.rpm.signal(&pkt, &mut self.bench.ctx());
        (done, self.bench.pool[&pkt])
    }

    /// A packet comes in through the port: the packet after it.
    fn back(&mut self, packet: Packet) -> Packet {
        let pkt = self.bench.pool.insert(packet);
        if self.rpm.watches_inbound() {
            self.rpm.inbound(&pkt, &mut self.bench.ctx());
        }
        self.bench.pool[&pkt]
    }

    fn registers(&mut self) -> &mut Registers {
        self.bench.state.as_mut().and_then(|s| s.downcast_mut()).expect("registers")
    }
}

fn packet(flow: u32, from: usize, flags: Flags, ecn: Ecn) -> Packet {
    let mut packet = Packet::new(FlowId(flow), ENDS[from], ENDS[1 - from], 1500);
    (packet.flags, packet.ecn) = (flags, ecn);
    packet
}

#[derive(Debug, Clone, Copy)]
struct Event {
    gap: Time,
    back: bool,
    flow: u32,
    from: usize,
    flags: Flags,
    ecn: Ecn,
    kind: Kind,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let gap = prop_oneof![20 => (0u64..5000).prop_map(Time::from_us), 1 => (900u64..1200).prop_map(Time::from_ms)];
    let flags = prop_oneof![
        8 => Just(Flags::ACK),
        1 => Just(Flags::SYN),
        1 => (0u16..512).prop_map(Flags),
    ];
    let ecn = prop_oneof![4 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce), 1 => Just(Ecn::NotEct)];
    let kind = prop_oneof![9 => Just(Kind::Segment), 1 => Just(Kind::Datagram)];
    let one = (gap, any::<bool>(), 0u32..6, 0usize..2, flags, ecn, kind);
    let event =
        one.prop_map(|(gap, back, flow, from, flags, ecn, kind)| Event { gap, back, flow, from, flags, ecn, kind });
    prop::collection::vec(event, 1..300)
}

fn params() -> impl Strategy<Value = RpmParams> {
    let mode = prop_oneof![1 => Just(Mode::Fwd), 4 => Just(Mode::Rpm), 1 => Just(Mode::Both)];
    let kept = prop_oneof![Just(Kept::Plain), Just(Kept::Guarded)];
    (
        mode,
        kept,
        prop_oneof![Just(1u32), Just(4), Just(1024)],
        prop_oneof![Just(1u16), Just(3), Just(u16::MAX)],
        any::<bool>(),
    )
        .prop_map(|(mode, registers, size, register_max, aggregate)| RpmParams {
            mode,
            registers,
            size,
            register_max,
            aggregate,
            ..RpmParams::default()
        })
}

const HANDSHAKE: u16 = Flags::SYN.0 | Flags::RST.0;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Each signal waits for an ACK or is on its packet: none is lost on the spot. What opens or
    /// ends a connection, and what is no TCP on the way back, stays as it is. Nothing changes but
    /// CE and ECE, and no more ACKs are told than signals were counted.
    #[test]
    fn a_signal_is_counted_or_marked_and_nothing_else_changes(params in params(), events in events()) {
        let mut switch = Switch::new(&params);
        for e in events {
            switch.bench.now += e.gap;
            let mut given = packet(e.flow, e.from, e.flags, e.ecn);
            given.kind = e.kind;
            let handshake = e.kind == Kind::Segment && e.flags.0 & HANDSHAKE != 0;
            let before = switch.rpm.counts();
            if e.back {
                let got = switch.back(given);
                let told = switch.rpm.counts().told - before.told;
                let flags = if told > 0 { e.flags.with(Flags::ECE) } else { e.flags };
                given.flags = flags;
                prop_assert_eq!(got, given);
                let may = !handshake && e.kind == Kind::Segment && e.flags.has(Flags::ACK);
                prop_assert!(told == 0 || may);
            } else {
                let (done, got) = switch.out(given);
                let after = switch.rpm.counts();
                let waits = after.counted + after.saturated > before.counted + before.saturated;
                let marked = after.marked > before.marked;
                given.ecn = if marked { Ecn::Ce } else { e.ecn };
                prop_assert_eq!(got, given);
                let signalled = match e.ecn {
                    Ecn::NotEct => (Done::Unable, false, false),
                    _ if e.ecn == Ecn::Ce || handshake => (Done::Told, false, false),
                    _ if params.mode == Mode::Both => (Done::Told, waits, true),
                    _ => (Done::Told, !marked, marked),
                };
                prop_assert_eq!((done, waits, marked), signalled);
            }
            let counts = switch.rpm.counts();
            prop_assert!(counts.told <= counts.counted);
        }
        prop_assert_eq!(switch.bench.marks, switch.rpm.counts().marked);
        prop_assert!(switch.bench.actions.is_empty(), "no packet is added, none is dropped");
    }
}

/// Data both ways: each end's data have their own register, and the other end's data collect it.
#[test]
fn data_are_acks_of_the_other_direction() {
    let mut switch = Switch::new(&RpmParams::default());
    for from in [0, 1] {
        switch.back(packet(1, 1 - from, Flags::ACK, Ecn::Ect0));
        assert_eq!(switch.out(packet(1, from, Flags::ACK, Ecn::Ect0)).1.ecn, Ecn::Ect0);
        assert!(!switch.back(packet(1, from, Flags::ACK, Ecn::Ect0)).flags.has(Flags::ECE));
        assert!(switch.back(packet(1, 1 - from, Flags::ACK, Ecn::Ect0)).flags.has(Flags::ECE));
    }
}

#[test]
fn a_restart_forgets_what_waits() {
    let mut switch = Switch::new(&RpmParams::default());
    switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct));
    switch.out(packet(1, 0, Flags::ACK, Ecn::Ect0));
    switch.rpm.reset(&mut switch.bench.ctx());
    assert!(!switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct)).flags.has(Flags::ECE));
}

/// Flows fall on registers as balls into boxes: of n flows with m registers, each shares with
/// chance 1 − (1 − 1/m)^(n−1).
#[test]
fn collisions_are_as_rare_as_chance_has_it() {
    let m = 4096;
    for n in [100u32, 1000, 4000] {
        let mut switch = Switch::new(&RpmParams { size: m, ..RpmParams::default() });
        let now = Time::from_secs(1);
        let mut collided = 0;
        for flow in 0..n {
            let key = packet(flow, 0, Flags::ACK, Ecn::Ect0).key;
            let registers = switch.registers();
            let place = registers.flow(key, ENDS[0]);
            registers.came_back(place, Flags::ACK, now);
            collided += u32::from(registers.count(place, now) == Answer::Collision);
        }
        // Whoever comes first has the register: n less the boxes that are not empty.
        let m = f64::from(m);
        let expected = f64::from(n) - m * (1.0 - (1.0 - 1.0 / m).powi(n as i32));
        let sigma = expected.sqrt().max(1.0);
        assert!((f64::from(collided) - expected).abs() < 4.0 * sigma, "{n} flows: {collided}, not {expected:.0}");
    }
}

/// After `age` without an ACK, signals go forward; the next ACK makes the register the flow's
/// again.
#[test]
fn a_flow_whose_acks_stop_falls_back_within_the_age() {
    let mut switch = Switch::new(&RpmParams::default());
    switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct));
    let mut marked_at = None;
    for ms in 1..3000 {
        switch.bench.now = Time::from_ms(ms);
        let (_, got) = switch.out(packet(1, 0, Flags::ACK, Ecn::Ect0));
        if got.ecn == Ecn::Ce {
            marked_at.get_or_insert(ms);
        }
    }
    assert_eq!(marked_at, Some(1001));
    assert!(!switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct)).flags.has(Flags::ECE), "what waited is too old");
    assert_eq!(switch.registers().aged(), 1000);
    assert_eq!(switch.out(packet(1, 0, Flags::ACK, Ecn::Ect0)).1.ecn, Ecn::Ect0);
}

/// One counter for all flows: what no ACK could take for the age is forgotten, and a flow that sends
/// no ECN-capable packets takes nothing.
#[test]
fn one_counter_for_all_forgets_after_the_age() {
    let mut switch = Switch::new(&RpmParams { aggregate: true, ..RpmParams::default() });
    let ms = Time::from_ms;
    let back = |switch: &mut Switch, flow, at| {
        switch.bench.now = at;
        switch.back(packet(flow, 1, Flags::ACK, Ecn::NotEct)).flags.has(Flags::ECE)
    };
    let out = |switch: &mut Switch, flow, at| {
        switch.bench.now = at;
        let packet = switch.out(packet(flow, 0, Flags::ACK, Ecn::Ect0)).1;
        (packet.ecn, switch.rpm.waiting_for_all())
    };
    assert!(!back(&mut switch, 1, ms(0)));
    assert_eq!((out(&mut switch, 1, ms(0)), out(&mut switch, 1, ms(1))), ((Ecn::Ect0, 1), (Ecn::Ect0, 2)));
    assert!(!back(&mut switch, 2, ms(900)), "it has sent nothing");
    assert!(back(&mut switch, 1, ms(950)));
    assert_eq!(out(&mut switch, 1, ms(1950)), (Ecn::Ect0, 2), "an ACK could have taken it a second ago");
    assert!(!back(&mut switch, 2, ms(1960)));
    assert_eq!(out(&mut switch, 1, ms(1951)), (Ecn::Ce, 2), "its own ACKs are late: forward");
    assert_eq!(out(&mut switch, 2, ms(1961)), (Ecn::Ect0, 1), "those before have waited for too long");
    switch.rpm.reset(&mut switch.bench.ctx());
    assert_eq!(switch.rpm.waiting_for_all(), 0);
}

#[test]
fn a_port_counts_what_became_of_its_signals() {
    let gauges = |params: &RpmParams| {
        let mut switch = Switch::new(params);
        // Register 0 is flow 1's; all others collide with it.
        switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct));
        for flow in [1, 1, 1, 2, 3] {
            switch.out(packet(flow, 0, Flags::ACK, Ecn::Ect0));
        }
        switch.back(packet(1, 1, Flags::ACK, Ecn::NotEct));
        let mut all = Vec::new();
        switch.rpm.gauges(&mut all);
        all
    };
    let params = RpmParams { size: 1, register_max: 2, ..RpmParams::default() };
    let expected = [("rpm_marked", 2.0), ("rpm_signals", 3.0), ("rpm_collisions", 2.0), ("rpm_told", 1.0)];
    assert_eq!(gauges(&params), expected);
    let both = gauges(&RpmParams { mode: Mode::Both, ..params });
    assert_eq!(both[0], ("rpm_marked", 5.0));
    assert_eq!(gauges(&RpmParams { mode: Mode::Fwd, ..params }), [("rpm_marked", 5.0)]);
}
