//! RPM in P4, as p4c compiled it: the vectors that every implementation passes, and random packets beside the Rust port.

use std::collections::BTreeMap;

use midpath_core::rng::{self, Purpose, Stream};
use midpath_p4::{Arrival, EVENTS, Machine, crc16};
use midpath_schemes::internals::rpm;

#[expect(dead_code, reason = "the switch here has no Ethernet")]
#[path = "../../ebpf/tests/linux/common/frame.rs"]
mod frame;
#[path = "../../../crates/schemes/src/rpm/tests/vectors.rs"]
mod vectors;

use frame::Tcp;
use rpm::params::{Kept, Mode};
use vectors::{Event, In, Left, Out, Params, Place, Player, Plays, flags, pass_all};

/// Registers of the P4 program.
const REGISTERS: u64 = 65_536;
/// Bytes of the header with the event, and where its answers begin.
const HEADER: usize = 50;
const ANSWERS: usize = 45;

/// The P4 program with flows whose registers are where a file wants them.
struct Switch {
    machine: Machine,
    params: Vec<u8>,
    aggregate: bool,
    flows: BTreeMap<String, (Tcp, usize)>,
}

/// The lowest 48 bits, as in the header.
fn time(ns: u64) -> [u8; 6] {
    ns.to_be_bytes()[2..].try_into().expect("six bytes")
}

/// h of algorithm 1: the 5-tuple as it stands in the packet.
fn place(flow: &Tcp) -> usize {
    let mut bytes = Vec::new();
    for host in [flow.hosts.0, flow.hosts.1] {
        if flow.v6 {
            bytes.extend(frame::address6(host).octets());
        } else {
            bytes.extend(frame::address4(host).octets());
        }
    }
    bytes.push(6);
    bytes.extend(flow.ports.0.to_be_bytes());
    bytes.extend(flow.ports.1.to_be_bytes());
    (crc16(&bytes) % REGISTERS) as usize
}

/// A flow whose register is at `wanted`; every second one is of IPv6.
fn flow_at(wanted: usize, number: u16) -> Tcp {
    let v6 = number % 2 == 1;
    let with_ports = |ports| Tcp { v6, hosts: (1, 2), ports, ecn: 0, flags: 0, payload: 30, seq: 1_000, ack: 1_000 };
    let mut ports = (1..u16::MAX).map(|port| with_ports((port, 1000 + number)));
    ports.find(|flow| place(flow) == wanted).expect("each place has a port")
}

impl Switch {
    fn new(asked: &Params, places: &BTreeMap<String, Place>) -> Switch {
        let aqm = ["step", "codel", "codel-dataplane"].iter().position(|name| *name == asked.aqm).expect("an AQM");
        let mode = [Mode::Off, Mode::Fwd, Mode::Rpm, Mode::Both].iter().position(|m| *m == asked.mode);
        let mut params = Vec::new();
        params.extend(time(asked.target_ns));
        params.extend(time(asked.interval_ns));
        params.extend(asked.mtu_bytes.to_be_bytes());
        params.extend(time(asked.age_ns));
        params.extend(asked.register_max.to_be_bytes());
        params.extend([aqm as u8, mode.expect("a mode of the vectors") as u8]);
        params.extend([u8::from(asked.registers == Kept::Guarded), u8::from(asked.aggregate)]);
        let numbered = places.iter().zip(0..);
        let flows = numbered.map(|((name, p), number)| (name.clone(), (flow_at(p.place, number), p.place)));
        Switch {
            machine: Machine::new(EVENTS).expect("the program"),
            params,
            aggregate: asked.aggregate,
            flows: flows.collect(),
        }
    }

    /// Runs an event: what it answers, and the packet behind it.
    fn run(
        &mut self,
        direction: u8,
        [now, sojourn]: [u64; 2],
        behind: u64,
        v6: bool,
        packet: &[u8],
    ) -> (Vec<u8>, Vec<u8>) {
        let mut bytes = vec![direction];
        bytes.extend(time(now));
        bytes.extend(time(sojourn));
        bytes.extend(u32::try_from(behind).expect("32 bits").to_be_bytes());
        bytes.extend(&self.params);
        assert_eq!(bytes.len(), ANSWERS);
        bytes.extend([0; 3]);
        bytes.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
        bytes.extend(packet);
        let out = self.machine.run(&Arrival { bytes: &bytes, ..Arrival::default() }).expect("it runs");
        let out = out.expect("tests' packets come back").bytes;
        assert_eq!(out[..ANSWERS], bytes[..ANSWERS], "the event stays");
        (out[ANSWERS..ANSWERS + 3].to_vec(), out[HEADER..].to_vec())
    }

    fn register(&self, place: usize) -> u16 {
        let (array, index) = if self.aggregate { ("together_count", 0) } else { ("r_count", place) };
        self.machine.register(array, index).expect("a register") as u16
    }
}

/// A packet of a flow, with right checksums.
fn packet(flow: &Tcp, is_tcp: bool) -> Vec<u8> {
    if is_tcp {
        return flow.packet();
    }
    let udp = [0; 20];
    if flow.v6 {
        frame::ipv6(flow.hosts, flow.ecn, &[], 17, &udp)
    } else {
        frame::ipv4(flow.hosts, flow.ecn, &[], 0, 17, &udp)
    }
}

/// The flags as they stand in TCP's header.
fn flag_bits(text: &str) -> u16 {
    let names = [("FIN", 1), ("SYN", 2), ("RST", 4), ("ACK", 0x10), ("ECE", 0x40), ("CWR", 0x80), ("AE", 0x100)];
    names.iter().filter(|(name, _)| flags(text).has(flags(name))).map(|(_, bit)| bit).sum()
}

impl Plays for Switch {
    fn out(&mut self, event: &Out) -> Left {
        let (flow, place) = self.flows[&event.flow];
        let ecn = ["not-ect", "ect1", "ect0", "ce"].iter().position(|name| *name == event.ecn).expect("ECN") as u8;
        let sent = Tcp { ecn, flags: flag_bits(&event.flags), ..flow };
        let bytes = packet(&sent, event.tcp);
        let (answer, got) = self.run(0, [event.t, event.sojourn], event.behind, flow.v6, &bytes);
        let verdict = ["pass", "drop", "mark"][usize::from(answer[1])];
        let wanted = if verdict == "mark" { packet(&Tcp { ecn: 3, ..sent }, event.tcp) } else { bytes };
        assert_eq!(got, wanted, "CE with the right checksum, and nothing else");
        let names = ["counted", "saturated", "collision", "no-acks", "accecn"];
        let counted = names.get(usize::from(answer[2])).copied();
        (answer[0] == 1, verdict, counted, self.register(place))
    }

    fn back(&mut self, event: &In) -> (bool, u16) {
        let (flow, place) = self.flows[&event.flow];
        let sent = Tcp { flags: flag_bits(&event.flags), ..flow.reversed() };
        let (answer, got) = self.run(1, [event.t, 0], 0, flow.v6, &sent.packet());
        let ece = answer[0] == 1;
        let wanted = if ece { Tcp { flags: sent.flags | 0x40, ..sent } } else { sent };
        assert_eq!(got, wanted.packet(), "ECE with the right checksum, and nothing else");
        (ece, self.register(place))
    }
}

#[test]
fn the_p4_program_passes_every_vector() {
    pass_all(Switch::new);
}

/// A random choice of `of`.
fn one<T: Copy>(of: &[T], stream: &mut Stream) -> T {
    of[rng::below(stream, of.len() as u64) as usize]
}

/// Parameters under which much happens in little time.
fn random_params(stream: &mut Stream) -> Params {
    Params {
        aqm: one(&["step", "codel", "codel-dataplane", "codel-dataplane"], stream).into(),
        target_ns: one(&[100_000, 1_000_000], stream),
        interval_ns: one(&[2_000_000, 20_000_000], stream),
        mtu_bytes: 1500,
        mode: one(&[Mode::Rpm, Mode::Rpm, Mode::Both, Mode::Fwd], stream),
        registers: one(&[Kept::Guarded, Kept::Guarded, Kept::Plain], stream),
        aggregate: one(&[false, false, true], stream),
        register_max: one(&[1, 3, 65_535], stream),
        age_ns: one(&[3_000_000, 50_000_000], stream),
        window_mib: 0,
    }
}

/// Packets at random times of random flows, in spells with and without a queue.
fn random_event(now: u64, in_spell: bool, flows: &[&String], stream: &mut Stream) -> Event {
    let flow = one(flows, stream).clone();
    let usual = rng::below(stream, 10) < 8;
    let text = if usual {
        one(&["ACK", "ACK", "ACK ECE", "ACK FIN", "ACK CWR"], stream)
    } else {
        let odd = ["SYN", "SYN ACK", "SYN ACK ECE", "SYN ACK CWR", "SYN ECE CWR AE", "RST", "RST ACK", "ACK AE", "FIN"];
        one(&odd, stream)
    };
    let flags = text.to_owned();
    if rng::below(stream, 3) == 0 {
        return Event::In(In { t: now, flow, flags, ece: false, register: 0 });
    }
    let sojourn = if in_spell { 1_000_000 + rng::below(stream, 3_000_000) } else { rng::below(stream, 100_000) };
    Event::Out(Out {
        t: now,
        flow,
        sojourn,
        behind: one(&[0, 1500, 1501, 9000, 100_000], stream),
        bytes: 1500,
        ecn: one(&["ect0", "ect0", "ect0", "ect1", "not-ect", "ce"], stream).into(),
        tcp: rng::below(stream, 20) > 0,
        flags,
        signal: false,
        verdict: String::new(),
        counted: None,
        register: 0,
    })
}

/// What has been seen in random packets: without these they test little.
#[derive(Debug, Default)]
struct Seen {
    signals: u64,
    counted: u64,
    marks: u64,
    drops: u64,
    ece: u64,
}

/// Both implementations over the same random packets.
fn compare(run: u64, packets: u64, seen: &mut Seen) {
    let mut stream = rng::stream(run, Purpose::Ports, 0);
    let params = random_params(&mut stream);
    // Two flows with one register.
    let places = ["a", "b", "c", "d"].iter().zip([5, 9, 9, 40]);
    let places: BTreeMap<String, Place> = places.map(|(name, place)| ((*name).into(), Place { place })).collect();
    let flows: Vec<&String> = places.keys().collect();
    let (mut port, mut switch) = (Player::new(&params, &places), Switch::new(&params, &places));
    let (mut now, mut in_spell) = (10_000_000_000, false);
    for i in 0..packets {
        let most = one(&[1_000, 100_000, 100_000, 2_000_000], &mut stream);
        now += 1 + rng::below(&mut stream, most);
        in_spell ^= rng::below(&mut stream, 200) == 0;
        match random_event(now, in_spell, &flows, &mut stream) {
            Event::Out(out) => {
                let (ours, theirs) = (port.out(&out), switch.out(&out));
                assert_eq!(ours, theirs, "run {run}, packet {i}: {out:?} under {params:?}");
                let is = |verdict: &str| u64::from(ours.1 == verdict);
                seen.signals += u64::from(ours.0);
                seen.counted += u64::from(ours.2 == Some("counted"));
                (seen.marks, seen.drops) = (seen.marks + is("mark"), seen.drops + is("drop"));
            }
            Event::In(back) => {
                let (ours, theirs) = (port.back(&back), switch.back(&back));
                assert_eq!(ours, theirs, "run {run}, packet {i}: {back:?} under {params:?}");
                seen.ece += u64::from(ours.0);
            }
        }
    }
}

#[test]
fn random_packets_get_the_same_from_p4_as_from_the_rust_port() {
    let mut seen = Seen::default();
    (0..40).for_each(|run| compare(run, 500, &mut seen));
    println!("20,000 packets: {seen:?}");
    let Seen { signals, counted, marks, drops, ece } = seen;
    let each = [signals, counted, marks, drops, ece];
    assert!(each.iter().all(|n| *n >= 100), "{seen:?}");
}
