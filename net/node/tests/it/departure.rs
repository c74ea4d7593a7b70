//! What a port writes into a packet is as the port stands when the packet leaves, however long it has waited, in
//! virtual time: a router whose queue has seconds in it while prices and rates change.

use std::path::Path;

use midpath_core::node::Limits;
use midpath_core::packet::{FlowId, Header, NodeId, Packet, PortId};
use midpath_core::rng::{Purpose, Stream, below, stream};
use midpath_core::units::{Rate, Time};
use midpath_core::wire;
use midpath_node::bytes::Windows;
use midpath_node::host::{Host, Settings};
use midpath_schemes::Catalogue;
use midpath_schemes::internals::fcp::header::FcpHeader;
use midpath_schemes::internals::rcp::header::RcpHeader;
use midpath_sim::RunOptions;

const SLOW: Rate = Rate::from_mbps(1);
/// A full packet takes 12 ms at the slow rate: three seconds of them.
const QUEUE: u64 = 250;
const OUT: PortId = PortId(1);

fn router(scheme: &str) -> Host {
    let text = format!(
        "scheme = \"{scheme}\"\nqueue = {{ limit = \"{QUEUE} packets\" }}\n[topology]\n\
         nodes = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"r\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
         links = [{{ a = \"a\", b = \"r\", rate = \"1 Gbps\", delay = \"1 ms\" }},\n\
         {{ a = \"r\", b = \"b\", rate = \"1 Mbps\", delay = \"1 ms\" }}]\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n"
    );
    let setup = midpath_sim::prepare(&text, Path::new("."), &RunOptions::default(), &Catalogue::standard());
    let setup = setup.expect("a scenario");
    let node = setup.pulled_network().expect("its ports can be built").nodes.into_iter().nth(1).expect("the router");
    let settings = Settings {
        transport: setup.transport().expect("it carries flows"),
        mtu: 1500,
        accepts: false,
        windows: Windows::default(),
        limits: Limits::default(),
        first_flow: 7,
        overhead: 0,
    };
    let mut host = Host::new(node, settings);
    host.set_rate(OUT, Some(SLOW), Time::ZERO);
    host
}

/// A full packet from the one host to the other.
fn packet<H: Header>(header: &H) -> Packet {
    let mut packet = Packet::new(FlowId(7), NodeId(0), NodeId(2), 40);
    assert!(packet.set_header(header));
    packet.payload = (1500 - packet.wire_size()) as u16;
    packet.size = packet.wire_size();
    packet
}

struct World {
    host: Host,
    now: Time,
    rng: Stream,
}

impl World {
    fn comes<H: Header>(&mut self, header: &H) {
        let (packet, mut frame) = (packet(header), Vec::new());
        wire::encode_with(&packet, &vec![0; usize::from(packet.payload)], &mut frame);
        self.host.on_frame(PortId(0), &frame, self.now).expect("a packet");
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut all = Vec::new();
        self.host.node().gauges(OUT, &mut all);
        all.iter().find(|gauge| gauge.0 == name).expect("the port shows it").1
    }

    /// Up to `until`: each packet that leaves, and what the port shows then.
    fn leave<H: Header>(&mut self, until: Time, gauge: &str, mut each: impl FnMut(H, f64)) {
        loop {
            for (_, frame) in self.host.frames() {
                let header = wire::read(&frame).expect("a packet").0.header::<H>().expect("it has kept its header");
                each(header, self.gauge(gauge));
            }
            let next = self.host.next_wake();
            if next > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            self.host.on_time(self.now);
        }
    }

    /// Lets packets come and go for some 20 s, in bursts with pauses. Returns how often the port had said something else
    /// just before a packet came that another one left after.
    fn check<H: Header>(
        &mut self,
        gauge: &str,
        mut draw: impl FnMut(&mut Stream) -> H,
        says: impl Fn(&H) -> f64,
    ) -> u32 {
        let (mut left, mut differs) = (0, 0);
        for _ in 0..60 {
            for _ in 0..below(&mut self.rng, 60) {
                let before = self.gauge(gauge);
                let header = draw(&mut self.rng);
                self.comes(&header);
                let until = self.now + Time::from_us(below(&mut self.rng, 2000));
                self.leave::<H>(until, gauge, |header, now| {
                    left += 1;
                    differs += u32::from((before / now - 1.0).abs() > 0.01);
                    assert!((says(&header) / now - 1.0).abs() < 1e-6, "{} where the port has {now}", says(&header));
                });
            }
            let pause = self.now + Time::from_ms(below(&mut self.rng, 600));
            self.leave::<H>(pause, gauge, |header, now| {
                left += 1;
                assert!((says(&header) / now - 1.0).abs() < 1e-6, "{} where the port has {now}", says(&header));
            });
        }
        assert!(left > 500, "{left} have left");
        differs
    }
}

fn world(scheme: &str, seed: u64) -> World {
    World { host: router(scheme), now: Time::ZERO, rng: stream(seed, Purpose::Fault, 0) }
}

fn paying(balance: f32, preload: f32) -> FcpHeader {
    FcpHeader { rtt: 0.05, balance, preload, exchange: 1.0, ..FcpHeader::default() }
}

/// Three seconds of packets wait when the price rises: the next one that leaves says so, not the next one that comes.
#[test]
fn the_first_packet_after_a_change_of_price_carries_the_new_one() {
    let mut world = world("fcp", 1);
    (0..QUEUE - 10).for_each(|_| world.comes(&paying(1e-7, 0.0)));
    let (mut told, second) = (Vec::new(), Time::from_secs(1));
    world.leave::<FcpHeader>(second, "price", |header, _| told.push(f64::from(header.price)));
    let before = world.gauge("price");
    world.comes(&paying(1e-7, 1e5));
    let after = world.gauge("price");
    assert!(after > 3.0 * before, "{before}, {after}");
    told.clear();
    world.leave::<FcpHeader>(second + Time::from_ms(13), "price", |header, _| told.push(f64::from(header.price)));
    assert!(told.len() == 1 && (told[0] / after - 1.0).abs() < 1e-6, "{told:?}, {after}");
}

/// The same of a rate that falls.
#[test]
fn the_first_packet_after_a_change_of_rate_carries_the_new_one() {
    let mut world = world("rcp", 1);
    let asks = RcpHeader { rate: 1e9, echo: 0.0, rtt: 0.05 };
    (0..QUEUE - 10).for_each(|_| world.comes(&asks));
    let mut told = Vec::new();
    world.leave::<RcpHeader>(Time::from_secs(1), "rate_bps", |header, _| told.push(f64::from(header.rate)));
    let first = told[0];
    let least = told.iter().copied().fold(first, f64::min);
    assert!(least < 0.5 * first, "a queue of three seconds takes R down within one: {first}, {least}");
}

#[test]
fn prices_are_those_of_the_time_at_which_packets_leave() {
    let mut world = world("fcp", 2);
    let draw = |rng: &mut Stream| paying(1e-9 * (1.0 + below(rng, 1000) as f32), below(rng, 100) as f32 - 1.0);
    let differs = world.check("price", draw, |header| header.price.into());
    assert!(differs > 20, "{differs}");
}

#[test]
fn rates_are_those_of_the_time_at_which_packets_leave() {
    let mut world = world("rcp", 3);
    let draw = |rng: &mut Stream| RcpHeader { rate: 1e9, echo: 0.0, rtt: 0.01 + below(rng, 100) as f32 / 1000.0 };
    let _ = world.check("rate_bps", draw, |header| header.rate.into());
}
