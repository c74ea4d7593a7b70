//! Whatever a sender writes into headers, a port's price stays a price, and the port recovers.

use midpath_core::packet::{FlowId, Header, NodeId, Packet};
use midpath_core::queue::{Aqm, View};
use midpath_core::rng::{Purpose, stream};
use midpath_core::roles::Backlog;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use super::script::{CAPACITY, RTT, port};
use crate::fcp::FcpParams;
use crate::fcp::header::FcpHeader;
use crate::fcp::params::PricingKind;
use crate::fcp::port::FcpPort;

const TICK: Time = Time::from_ms(1);
const SIZE: u32 = 1000;

fn with_pricing(pricing: PricingKind) -> FcpParams {
    let mut params = FcpParams::default();
    params.network.pricing = pricing;
    params
}

/// One honest sender of 1 $/s, a round trip behind what it is told, and whoever else sends over the
/// same link.
struct Bench {
    port: FcpPort,
    now: Time,
    backlog: f64,
    owed: f64,
    quoted: std::collections::VecDeque<f32>,
}

impl Bench {
    fn new(pricing: PricingKind) -> Bench {
        let quoted = std::iter::repeat_n(1e-6, (RTT.0 / TICK.0) as usize).collect();
        Bench { port: port(with_pricing(pricing)), now: Time::from_secs(1), backlog: 0.0, owed: 0.0, quoted }
    }

    fn admit(&mut self, packet: &mut Packet) {
        let backlog = Backlog { packets: (self.backlog / f64::from(SIZE)) as u64, bytes: self.backlog as u64 };
        let (now, rate) = (self.now, Rate(8 * CAPACITY as u64));
        let mut rng = stream(1, Purpose::Ports, 0);
        let (lane, sojourn) = (backlog, Time::ZERO);
        let mut view = View { now, backlog, lane, rate, mtu: 1500, idle_since: None, sojourn, rng: &mut rng };
        self.port.enqueue(packet, &mut view);
        self.backlog = (self.backlog + f64::from(packet.size)).min(200_000.0);
        let price = self.price();
        assert!(price.is_finite() && price > 0.0, "{price}");
    }

    fn price(&self) -> f64 {
        let mut gauges = Vec::new();
        self.port.gauges(&mut gauges);
        gauges.iter().find(|g| g.0 == "price").expect("every port has a price").1
    }

    /// A millisecond of the honest sender: at 1 $/s over its price, at least a packet a second, at
    /// most ten times the link.
    fn tick(&mut self) {
        self.now += TICK;
        self.backlog = (self.backlog - CAPACITY * TICK.as_secs_f64()).max(0.0);
        let price = self.quoted.pop_front().expect("a round trip's");
        self.owed += (1.0 / f64::from(price)).clamp(f64::from(SIZE), 10.0 * CAPACITY) * TICK.as_secs_f64();
        let mut newest = *self.quoted.back().expect("a round trip's");
        while self.owed >= f64::from(SIZE) {
            self.owed -= f64::from(SIZE);
            let mut packet = Packet::new(FlowId(0), NodeId(2), NodeId(1), SIZE);
            let rtt = RTT.as_secs_f64() as f32;
            packet.set_header(&FcpHeader { rtt, balance: price, exchange: 1.0, ..FcpHeader::default() });
            self.admit(&mut packet);
            newest = packet.header::<FcpHeader>().expect("its own").price;
        }
        self.quoted.push_back(newest);
    }

    /// Seconds until the price is within 5 % of 1 $/s over the capacity, and stays there for two
    /// seconds.
    fn recovers_after(&mut self, most: f64) -> Option<f64> {
        let (start, mut since) = (self.now, None);
        while (self.now - start).as_secs_f64() < most + 2.0 {
            self.tick();
            let good = (self.price() * CAPACITY - 1.0).abs() <= 0.05;
            since = if good { since.or(Some(self.now)) } else { None };
            if since.is_some_and(|s| self.now - s >= Time::from_secs(2)) {
                return since.map(|s| (s - start).as_secs_f64());
            }
        }
        None
    }
}

/// A number as no honest end would write it.
fn word(rtts: f32) -> impl Strategy<Value = [f32; 6]> {
    let money = || prop_oneof![Just(0.0f32), Just(1e15), Just(f32::MIN_POSITIVE), 1e-20f32..1e3];
    let preload = prop_oneof![Just(-1.0f32), Just(-1e18), Just(1e18), -1f32..1e6];
    let rtt = prop_oneof![Just(0.0f32), Just(f32::MIN_POSITIVE), Just(1e-30), Just(rtts), 0f32..rtts];
    let exchange = prop_oneof![Just(1.0f32), Just(1e-12), Just(1e12), 1e-6f32..1e6];
    (rtt, money(), preload, money(), money(), exchange).prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f])
}

/// A hostile packet: words in range or any bytes, any tag, size, class and bits; how many of it,
/// and how many ms later.
fn packet(rtts: f32) -> impl Strategy<Value = (Packet, u8, u8)> {
    let noise =
        prop_oneof![Just(32usize), Just(36), 0usize..80].prop_flat_map(|n| prop::collection::vec(any::<u8>(), n));
    let bad = prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0]);
    let spoilt = prop_oneof![4 => Just(None), 1 => (0usize..6, bad).prop_map(Some)];
    let what = (prop_oneof![6 => Just(FcpHeader::TAG), 1 => 1u8..], 1u32..65_535, any::<bool>(), 0u8..5, 0u8..4);
    (word(rtts), spoilt, noise, what, 1u8..40, 0u8..50).prop_map(|(words, spoilt, noise, what, times, later)| {
        let (tag, size, random, class, bits) = what;
        let mut raw = noise;
        if !random && raw.len() >= 32 {
            words.iter().enumerate().for_each(|(i, w)| raw[4 * i..4 * i + 4].copy_from_slice(&w.to_be_bytes()));
            if let Some((i, bad)) = spoilt {
                raw[4 * i..4 * i + 4].copy_from_slice(&bad.to_be_bytes());
            }
            (raw[30], raw[31]) = (class, bits);
        }
        let mut packet = Packet::new(FlowId(9), NodeId(3), NodeId(1), size);
        packet.push_raw(tag, &raw);
        (packet, times, later)
    })
}

/// How long a port with `pricing` takes to recover from `packets`, s.
fn recovery(pricing: PricingKind, packets: &[(Packet, u8, u8)], most: f64) -> Option<f64> {
    let mut bench = Bench::new(pricing);
    (0..500).for_each(|_| bench.tick());
    for (packet, times, later) in packets {
        (0..*later).for_each(|_| bench.tick());
        (0..*times).for_each(|_| bench.admit(&mut packet.clone()));
    }
    bench.recovers_after(most)
}

/// What an attacker has left behind is out of the link's sums after d and the longest round trip
/// that it claimed. The price is back when the honest sender is: told a price of 10^15 it sends one
/// packet a second, and pays it, so that the price falls by three decades a second. Of 300 attacks,
/// claiming round trips up to 1 s, half were over after 0.9 s, 95 % after 8 s, the worst after 10
/// s; up to 60 s, the worst after 21 s.
const SHORT: f64 = 20.0;
const LONG: f64 = 2.0 * 60.0 + 60.0;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_price_stays_a_price_and_recovers(
        packets in prop::collection::vec(packet(1.0), 1..40),
        long in prop::collection::vec(packet(60.0), 1..40),
    ) {
        for pricing in [PricingKind::Uniform, PricingKind::Stability, PricingKind::Deadline, PricingKind::Aggregate] {
            prop_assert!(recovery(pricing, &packets, SHORT).is_some(), "{:?}", pricing);
        }
        prop_assert!(recovery(PricingKind::Uniform, &long, LONG).is_some());
    }
}

/// The oracle can fail: one packet that is believed moves the price, and the honest sender alone
/// does not.
#[test]
fn an_attack_is_felt() {
    let mut bench = Bench::new(PricingKind::Uniform);
    (0..3000).for_each(|_| bench.tick());
    assert!((bench.price() * CAPACITY - 1.0).abs() < 0.05, "{}", bench.price());
    let mut packet = Packet::new(FlowId(9), NodeId(3), NodeId(1), 1000);
    packet.set_header(&FcpHeader { rtt: 0.1, balance: 1.0, preload: 1e6, exchange: 1.0, ..FcpHeader::default() });
    bench.admit(&mut packet);
    assert!(bench.price() * CAPACITY > 100.0, "{}", bench.price());
    // Negative announcements are bounded by what is paid: one packet's.
    let mut bench = Bench::new(PricingKind::Uniform);
    (0..3000).for_each(|_| bench.tick());
    packet.set_header(&FcpHeader { rtt: 0.1, balance: 1.0, preload: -1.0, exchange: 1.0, ..FcpHeader::default() });
    bench.admit(&mut packet);
    assert!((bench.price() * CAPACITY - 1.0).abs() < 0.05, "{}", bench.price());
}
