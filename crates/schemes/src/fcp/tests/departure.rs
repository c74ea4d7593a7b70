//! Prices that packets are told as they leave: whatever the wait, what a link charges a round trip later is what it
//! has told.

use std::collections::VecDeque;

use midpath_core::packet::{FlowId, NodeId, Packet};
use midpath_core::queue::{Aqm, Verdict, View};
use midpath_core::rng::{Purpose, below, stream, unit};
use midpath_core::roles::Backlog;
use midpath_core::units::{Rate, Time};

use super::script::{CAPACITY, port_of};
use crate::fcp::FcpParams;
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::params::PricingKind;
use crate::fcp::port::FcpPort;

const SIZE: u32 = 1000;

/// A port whose packets wait in a queue of ours, one for each class that is served by itself.
struct Bench {
    port: FcpPort,
    now: Time,
    queue: VecDeque<(Time, Packet)>,
    urgent: VecDeque<(Time, Packet)>,
}

impl Bench {
    fn call(&mut self, packet: &mut Packet, came: Option<Time>) {
        let bytes = (self.queue.len() + self.urgent.len()) as u64 * u64::from(SIZE);
        let (backlog, rate) = (Backlog { packets: bytes / u64::from(SIZE), bytes }, Rate(8 * CAPACITY as u64));
        let (now, lane, mut rng) = (self.now, backlog, stream(1, Purpose::Ports, 0));
        let sojourn = came.map_or(Time::ZERO, |came| now - came);
        let mut view = View { now, backlog, lane, rate, mtu: 1500, idle_since: None, sojourn, rng: &mut rng };
        let verdict = match came {
            None => self.port.enqueue(packet, &mut view),
            Some(_) => self.port.dequeue(packet, &mut view),
        };
        assert_eq!(verdict, Verdict::Pass);
    }

    fn come(&mut self, header: &FcpHeader) {
        let mut packet = Packet::new(FlowId(0), NodeId(0), NodeId(1), SIZE);
        assert!(packet.set_header(header));
        packet.size = SIZE;
        self.call(&mut packet, None);
        let lane = if header.class == Class::Priority { &mut self.urgent } else { &mut self.queue };
        lane.push_back((self.now, packet));
    }

    /// The next packet leaves: when it came, and its header.
    fn leave(&mut self) -> Option<(Time, FcpHeader)> {
        let (came, mut packet) = self.urgent.pop_front().or_else(|| self.queue.pop_front())?;
        self.call(&mut packet, Some(came));
        Some((came, packet.header().expect("it has kept its header")))
    }
}

/// Packets wait for up to half a second, then their sender pays what they were told.
#[test]
fn what_was_told_is_what_is_charged_however_long_packets_wait() {
    for (pricing, other) in [
        (PricingKind::Uniform, Class::Normal),
        (PricingKind::Stability, Class::Stability),
        (PricingKind::Deadline, Class::Normal),
        (PricingKind::Aggregate, Class::Normal),
        (PricingKind::Metro, Class::Priority),
    ] {
        let mut params = FcpParams::default();
        params.network.pricing = pricing;
        let (mut rng, port) = (stream(7, Purpose::Fault, pricing as u64), port_of(params, true));
        assert!(port.watches_leaving());
        let mut bench = Bench { port, now: Time::from_secs(1), queue: VecDeque::new(), urgent: VecDeque::new() };
        let (mut told, mut checked, mut waits) = (VecDeque::from([]), 0, 0);
        for step in 0..4000 {
            bench.now += Time::from_us(500 + below(&mut rng, 1500));
            // Phases in which more come than leave, and the other way round.
            let come = if step / 250 % 2 == 0 { 0.9 } else { 0.3 };
            if unit(&mut rng) < come {
                let class = if below(&mut rng, 4) == 0 { other } else { Class::Normal };
                let preload = below(&mut rng, 30) as f32 / 10.0 - 1.0;
                // The first one of its class that has been told something a round trip ago pays that.
                let paying = told.iter().position(|(_, header): &(Time, FcpHeader)| header.class == class);
                let paid = paying.and_then(|at| told.remove(at));
                let header = match paid {
                    None => FcpHeader { class, preload: 1.0, exchange: 1.0, ..FcpHeader::default() },
                    Some((came, header)) => {
                        // Of 24 bits, and not before it.
                        let rtt = ((bench.now - came).as_secs_f64() * (1.0 - 1e-6)) as f32;
                        FcpHeader { class, preload, rtt, balance: header.price, exchange: 1.0, ..FcpHeader::default() }
                    }
                };
                bench.come(&header);
            }
            if unit(&mut rng) < 0.6
                && let Some((came, header)) = bench.leave()
            {
                waits += usize::from(bench.now - came > Time::from_ms(50));
                // The minimum counts as nothing.
                if header.rtt > 0.0 && header.balance > 1e-17 {
                    let off = (f64::from(header.charged) / f64::from(header.balance) - 1.0).abs();
                    assert!(off < 1e-5, "{pricing:?}: told {}, charged {}", header.balance, header.charged);
                    checked += 1;
                }
                told.push_back((came, FcpHeader { charged: 0.0, ..header }));
            }
        }
        assert!(checked > 500 && waits > 200, "{pricing:?}: {checked} charged, {waits} have waited");
    }
}
