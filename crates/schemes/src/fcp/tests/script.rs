//! A scripted link: senders without a network, each a round trip behind what the link tells it.

use std::collections::VecDeque;

use midpath_core::packet::NodeId;
use midpath_core::queue::{Limit, QueueSpec};
use midpath_core::roles::{LinkInfo, PortSpec};
use midpath_core::units::{Rate, Time};

use crate::fcp::FcpParams;
use crate::fcp::disciplines;
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::network::Basis;
use crate::fcp::params::Additions;
use crate::fcp::policy::CustomPolicies;
use crate::fcp::port::FcpPort;
use crate::fcp::price::{Load, Rule};
use crate::fcp::pricing::{Arrival, Pricing};

pub const RULE: Rule =
    Rule { alpha: 2.0, window: 2.0, minimum: 1e-18, additions: Additions { half_packet: true, ..Additions::NONE } };

/// Bytes per second.
pub const CAPACITY: f64 = 1e6;

/// Round trips and the time between a sender's packets.
pub const RTT: Time = Time::from_ms(100);
const TICK: Time = Time::from_ms(1);

/// What a sender sends in the round trip after its SYN, bytes per second.
const FIRST: f64 = 0.01 * CAPACITY;

/// What the pricings on it start from.
pub fn basis() -> Basis {
    Basis::new(RULE, RTT.as_secs_f64())
}

/// A port of the same link, as parameters say, for up to 200 packets.
pub fn port(params: FcpParams) -> FcpPort {
    port_of(params, false)
}

/// The same; a driver asks it for each packet if it is `pulled`.
pub fn port_of(params: FcpParams, pulled: bool) -> FcpPort {
    let rate = Rate(8 * CAPACITY as u64);
    let link = LinkInfo { rate, delay: Time::from_ms(1), mtu: 1500, peer: NodeId(1) };
    let (node, queue) = (NodeId(0), QueueSpec::fifo(Limit::Packets(200)));
    let (port, peer, host, edge) = (Default::default(), NodeId(1), false, false);
    let spec = PortSpec { node, port, peer, link, host, edge, rtt: RTT, queue, pulled };
    disciplines::admission(&params.resolve(CustomPolicies::new()).expect("valid"), &spec)
}

/// A sender whose budget, $/s of its currency, is a function of time in seconds. What it announces
/// it spends a round trip later.
pub struct Scripted {
    pub header: FcpHeader,
    budget: Box<dyn Fn(f64) -> f64>,
    start: f64,
    price: f64,
    /// What it was told at its start.
    first: f64,
    quotes: VecDeque<f64>,
    /// Bytes per second, at each tick.
    rates: Vec<f64>,
    /// The price it has been told, at each tick from its first data on.
    pub prices: Vec<f64>,
}

impl Scripted {
    pub fn new(start: f64, budget: impl Fn(f64) -> f64 + 'static) -> Scripted {
        Scripted {
            header: FcpHeader { exchange: 1.0, ..FcpHeader::default() },
            budget: Box::new(budget),
            start,
            price: 0.0,
            first: 0.0,
            quotes: VecDeque::new(),
            rates: Vec::new(),
            prices: Vec::new(),
        }
    }

    pub fn class(mut self, class: Class) -> Scripted {
        self.header.class = class;
        self
    }

    pub fn tenant(mut self, tenant: u16) -> Scripted {
        self.header.tenant = tenant;
        self
    }

    /// The rate at second `t`.
    pub fn rate_at(&self, t: f64) -> f64 {
        self.rates[(t / TICK.as_secs_f64()).round() as usize]
    }

    /// What it spends at `t`: what it announced a round trip before, at first what it was told for
    /// the first packets.
    fn spent(&self, t: f64) -> f64 {
        let then = t - RTT.as_secs_f64();
        if then < self.start + RTT.as_secs_f64() { self.first * FIRST } else { (self.budget)(then) }
    }

    /// Takes its turn at `now`.
    pub fn tick(&mut self, pricing: &mut dyn Pricing, now: Time) {
        let t = now.as_secs_f64();
        if t < self.start {
            return self.rates.push(0.0);
        }
        if self.quotes.is_empty() && self.price == 0.0 {
            // The SYN: it knows no round-trip time and no price.
            self.first = self.send(pricing, now, 40, 0.0);
        }
        if t < self.start + RTT.as_secs_f64() {
            self.price = self.first;
            return self.rates.push(0.0);
        }
        let rate = self.spent(t) / self.price;
        self.rates.push(rate);
        self.prices.push(self.price);
        self.header.rtt = RTT.as_secs_f64() as f32;
        self.header.balance = self.price as f32;
        let preload = (self.budget)(t) / self.spent(t) - 1.0;
        let size = (rate * TICK.as_secs_f64()).round() as u32;
        let quote = if size > 0 { self.send(pricing, now, size, preload) } else { self.price };
        self.quotes.push_back(quote);
        if self.quotes.len() as u64 > RTT.0 / TICK.0 {
            self.price = self.quotes.pop_front().expect("not empty");
        }
    }

    /// Sends a packet; what it is told, in its currency.
    fn send(&self, pricing: &mut dyn Pricing, now: Time, size: u32, preload: f64) -> f64 {
        let mut header = FcpHeader { preload: preload as f32, ..self.header };
        let load = Load { capacity: CAPACITY, queue: 0.0 };
        let charge = pricing.charge(&mut header, size, &Arrival { now, load, factor: 1.0 });
        charge.quote / f64::from(self.header.exchange)
    }
}

/// Lets the senders take turns for so many seconds.
pub fn play(pricing: &mut dyn Pricing, senders: &mut [Scripted], seconds: f64) {
    let mut now = Time::ZERO;
    while now < Time::from_secs_f64(seconds) {
        now += TICK;
        senders.iter_mut().for_each(|s| s.tick(pricing, now));
    }
}

/// One price of the pricing by name.
pub fn gauge(pricing: &dyn Pricing, name: &str) -> f64 {
    let mut out = Vec::new();
    pricing.gauges(&mut out);
    out.iter().find(|g| g.0 == name).expect("there").1
}

/// Whether `x` is within a share of `of`.
pub fn close(x: f64, of: f64, share: f64) -> bool {
    (x / of - 1.0).abs() <= share
}
