//! What our additions do to the price of a port as it is by default: each beside the same port without it.

use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::queue::{Aqm, View};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::Backlog;
use midpath_core::units::{Rate, Time};

use super::script::{CAPACITY, close, port};
use crate::fcp::FcpParams;
use crate::fcp::header::FcpHeader;
use crate::fcp::params::Additions;
use crate::fcp::port::FcpPort;

/// What the path costs, $/byte.
const PATH: f64 = 1e-6;

struct Bench {
    port: FcpPort,
    now: Time,
    queue: u64,
}

impl Bench {
    /// A port as it is by default, but for `change`.
    fn new(change: impl FnOnce(&mut Additions)) -> Bench {
        let mut params = FcpParams::default();
        change(&mut params.additions);
        Bench { port: port(params), now: Time::ZERO, queue: 0 }
    }

    fn enqueue(&mut self, packet: &mut Packet) {
        let backlog = Backlog { packets: self.queue / 1000, bytes: self.queue };
        let (rate, mut rng) = (Rate(8 * CAPACITY as u64), stream(1, Purpose::Ports, 0));
        let (now, lane, sojourn) = (self.now, backlog, Time::ZERO);
        let mut view = View { now, backlog, lane, rate, mtu: 1500, idle_since: None, sojourn, rng: &mut rng };
        self.port.enqueue(packet, &mut view);
    }

    /// A packet that pays what the path costs, which its sender was told `rtt` seconds ago.
    fn pay(&mut self, size: u32, rtt: f32) {
        let mut packet = Packet::new(FlowId(0), NodeId(2), NodeId(1), size);
        packet.set_header(&FcpHeader { rtt, balance: PATH as f32, exchange: 1.0, ..FcpHeader::default() });
        self.enqueue(&mut packet);
    }

    /// For so many ms: in each a packet, and one of `unpaid` bytes that knows no prices.
    fn run(&mut self, ms: u64, size: u32, rtt: f32, unpaid: u32) {
        for _ in 0..ms {
            self.now += Time::from_ms(1);
            if unpaid > 0 {
                self.enqueue(&mut Packet::new(FlowId(1), NodeId(2), NodeId(1), unpaid));
            }
            self.pay(size, rtt);
        }
    }

    fn price(&self) -> f64 {
        let mut gauges = Vec::new();
        self.port.gauges(&mut gauges);
        gauges.iter().find(|g| g.0 == "price").expect("every port has a price").1
    }
}

/// Half of the link is others': what pays the path's price for one and a quarter of it is two and a
/// half times what is left.
#[test]
fn what_pays_nothing_makes_the_rest_dearer() {
    let price = |change: fn(&mut Additions)| {
        let mut bench = Bench::new(change);
        bench.run(1000, 1250, 0.1, 500);
        bench.price()
    };
    let (on, off) = (price(|_| ()), price(|n| n.leave_unpaid = false));
    assert!(close(on, 2.5 * PATH, 0.05) && close(off, 1.25 * PATH, 0.05), "{on} {off}");
}

/// A link that had little to do for three seconds is at the minimum, and its senders pay for another
/// one. Then twice its capacity comes: half of the path's price more would halve that.
#[test]
fn an_overloaded_link_that_costs_nothing_yet_catches_up() {
    let price = |change: fn(&mut Additions)| {
        let mut bench = Bench::new(change);
        bench.run(3000, 50, 0.1, 0);
        bench.queue = 50_000;
        bench.run(200, 2000, 0.1, 0);
        bench.price()
    };
    let (on, off) = (price(|_| ()), price(|n| n.catch_up = false));
    assert!(close(on, 0.5 * PATH, 0.1) && off < 1e-3 * PATH, "{on} {off}");
}

/// Packets of a round trip of 1 ms come in fours: over two round trips they are twice the link or
/// nothing, over 32 packets' time what they are on average.
#[test]
fn a_handful_of_packets_is_no_rate() {
    let swing = |change: fn(&mut Additions)| {
        let mut bench = Bench::new(change);
        let mut seen = Vec::new();
        for n in 0..100 {
            bench.now += Time::from_ms(4);
            (0..4).for_each(|_| bench.pay(1500, 1e-3));
            if n >= 50 {
                seen.push(bench.price());
            }
        }
        seen.iter().copied().fold(0.0, f64::max) / PATH
    };
    let (on, off) = (swing(|_| ()), swing(|n| n.least_packets = false));
    assert!(on < 1.7 && off > 2.5, "{on} {off}");
}

/// One packet in ten was told its price 8 s ago. The load doubles, and half a second later the price
/// has; over the average of what headers say it is on its way for seconds.
#[test]
fn a_price_of_long_ago_does_not_slow_the_link_down() {
    let price = |change: fn(&mut Additions)| {
        let mut bench = Bench::new(change);
        let mut come = |ms, size| {
            for _ in 0..ms / 10 {
                bench.run(9, size, 0.1, 0);
                bench.run(1, size, 8.1, 0);
            }
        };
        come(3000, 1200);
        come(500, 2400);
        bench.price()
    };
    let (on, off) = (price(|_| ()), price(|a| a.longest_age = false));
    assert!(close(on, 2.4 * PATH, 0.05) && off < 1.8 * PATH, "{on} {off}");
}
