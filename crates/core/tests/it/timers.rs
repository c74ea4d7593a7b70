//! Timers of forwarders, and timers of both kinds in the background, which keep no run from ending.

use std::sync::Arc;

use crate::common::{Bench, MS, Nobody, PEERS, ample, packet};
use midpath_core::packet::{Ecn, FlowId, NodeId, Packet, Pkt, PortId};
use midpath_core::queue::Discipline;
use midpath_core::roles::{Backlog, Drop, ForwardCtx, Forwarder, Port, PortCtx, Route};
use midpath_core::units::{Rate, Time};

const RATE: Rate = Rate::from_mbps(10);

/// Keeps each packet for five milliseconds after the last one came, then lets all go. Counts its
/// calls in the background.
#[derive(Default)]
struct Holds {
    kept: Vec<Pkt>,
    due: Time,
    housekeeping: Time,
}

impl Forwarder for Holds {
    fn route(&mut self, pkt: Pkt, _from: Option<PortId>, ctx: &mut ForwardCtx<'_>) -> Route {
        self.kept.push(pkt);
        self.due = ctx.now + Time::from_ms(5);
        ctx.wake_at(self.due);
        if self.housekeeping == Time::ZERO {
            self.housekeeping = ctx.now + Time::from_ms(2);
            ctx.wake_in_background(self.housekeeping);
        }
        Route::Kept
    }
    fn on_timer(&mut self, ctx: &mut ForwardCtx<'_>) {
        if ctx.now >= self.housekeeping {
            // The size of the message says for which millisecond it was called.
            let bytes = 100 + (self.housekeeping.0 / MS.0) as u32;
            ctx.emit(Some(PortId(0)), Packet::new(FlowId(9), ctx.node, NEIGHBOUR, bytes));
            self.housekeeping = ctx.now + Time::from_ms(2);
            ctx.wake_in_background(self.housekeeping);
        }
        if ctx.now >= self.due {
            self.kept.drain(..).for_each(|pkt| ctx.release(Some(PortId(1)), pkt));
        }
    }
    fn kept(&self) -> u64 {
        self.kept.len() as u64
    }
    fn reset(&mut self, kept: &mut Vec<Pkt>) {
        kept.append(&mut self.kept);
    }
}

const NEIGHBOUR: NodeId = NodeId(PEERS);

fn holding() -> Bench {
    Bench::new(RATE, vec![ample(), ample()], Box::new(Holds::default()), Arc::new(Nobody))
}

#[test]
fn a_forwarder_lets_packets_go_when_its_time_has_come() {
    let mut b = holding();
    b.arrive(MS, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    // The second wish takes the place of the first: nothing leaves at 6 ms.
    b.arrive(Time::from_ms(4), PortId(0), packet(1, 1, 100, Ecn::NotEct));
    b.run_until(Time::from_ms(9));
    assert_eq!((b.seqs(1), b.node.stored()), (vec![], 2));
    b.run_until(Time::from_us(9_001));
    assert_eq!((b.seqs(1), b.node.stored()), (vec![0, 1], 0));
    assert_eq!(b.log.sent.iter().find(|s| s.port == PortId(1)).map(|s| s.start), Some(Time::from_ms(9)));
}

#[test]
fn both_wishes_of_a_forwarder_stand_side_by_side() {
    let mut b = holding();
    b.arrive(MS, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    b.run_until(Time::from_us(7_500));
    let sizes: Vec<u32> = b.log.sent.iter().filter(|s| s.port == PortId(0)).map(|s| s.packet.size).collect();
    // At 3, 5 and 7 ms in the background; at 6 ms what was kept.
    assert_eq!((sizes, b.seqs(1)), (vec![103, 105, 107], vec![0]));
}

#[test]
fn a_node_rests_with_wishes_in_the_background_alone() {
    let mut b = holding();
    assert!(b.node.is_resting());
    b.arrive(MS, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    assert!(!b.node.is_resting());
    b.run_until(Time::from_us(6_001));
    assert!(b.node.is_resting() && b.node.next_wake() == Time::from_ms(7));
    b.run_until(Time::from_ms(100));
    assert!(b.node.is_resting() && b.node.next_wake() == Time::from_ms(101));
}

#[test]
fn a_late_driver_does_not_wake_a_forwarder_for_each_time_that_it_missed() {
    let mut b = holding();
    b.arrive(MS, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    let late = Time::from_ms(50);
    b.log.now = late;
    while b.node.next_wake() <= late {
        b.node.on_wake(late, &mut b.pool, &mut b.log);
    }
    // One message, not one for each of the 24 times that have gone by.
    assert_eq!((b.seqs(1), b.seqs(0).len(), b.node.next_wake()), (vec![0], 1, Time::from_ms(52)));
}

#[test]
fn a_restart_withdraws_a_forwarders_wishes() {
    let mut b = holding();
    b.arrive(MS, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    b.node.restart(Time::from_ms(2), &mut b.pool, &mut b.log);
    b.run_out();
    assert_eq!((b.log.sent.len(), b.log.lost.len(), b.log.lost[0].why), (0, 1, Drop::Fault));
    assert!(b.node.is_resting() && b.node.next_wake() == Time::MAX && b.pool.live() == 0);
}

/// Sends nothing before 3 ms have passed, and counts how often it was woken in the background.
#[derive(Default)]
struct Ticking {
    kept: Vec<Pkt>,
    ticks: u64,
    next: Time,
}

impl Port for Ticking {
    fn outbound(&mut self, pkt: Pkt, ctx: &mut PortCtx<'_>) {
        self.kept.push(pkt);
        ctx.wake_at(ctx.now + Time::from_ms(3));
        if self.next == Time::ZERO {
            self.next = ctx.now + MS;
            ctx.wake_in_background(self.next);
        }
    }
    fn poll_transmit(&mut self, ctx: &mut PortCtx<'_>) -> Option<Pkt> {
        (ctx.now >= Time::from_ms(3)).then(|| self.kept.pop()).flatten()
    }
    fn on_timer(&mut self, ctx: &mut PortCtx<'_>) {
        if ctx.now >= self.next {
            self.ticks += 1;
            self.next = ctx.now + MS;
            ctx.wake_in_background(self.next);
        }
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.kept.len() as u64, bytes: 100 * self.kept.len() as u64 }
    }
    fn reset(&mut self, ctx: &mut PortCtx<'_>) {
        self.kept.drain(..).for_each(|pkt| ctx.drop(pkt, Drop::Fault));
        self.next = Time::ZERO;
        ctx.wake_at(Time::MAX);
        ctx.wake_in_background(Time::MAX);
    }
    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("ticks", self.ticks as f64));
    }
}

#[test]
fn a_port_ticks_in_the_background_beside_its_timer() {
    let mut b = Bench::of_queue(RATE, Discipline::of(Ticking::default()));
    b.arrive(Time::ZERO, PortId(0), packet(1, 0, 100, Ecn::NotEct));
    assert!(!b.node.is_resting());
    b.run_until(Time::from_us(10_500));
    let mut gauges = Vec::new();
    b.node.gauges(PortId(1), &mut gauges);
    assert_eq!((b.seqs(1), gauges), (vec![0], vec![("ticks", 10.0)]));
    assert!(b.node.is_resting() && b.node.next_wake() == Time::from_ms(11));
    b.node.restart(Time::from_us(10_600), &mut b.pool, &mut b.log);
    b.run_out();
    assert_eq!(b.node.next_wake(), Time::MAX);
}
