//! The programs in the kernel, against the vectors: BPF_PROG_TEST_RUN with real frames, at made-up
//! times.

use std::collections::BTreeMap;

use crate::common::frame::{Tcp, ethernet, ipv4};
use crate::common::vectors::{self, Event, In, Out, Vectors, ecn_bits, flag_bits};
use crate::common::{loaded, place_of};
use midpath_ebpf::{Config, Entrance, Loaded, Program, RunPacket, RunResult, Stats};

const PLACES: u32 = 256;
/// Ethernet, IPv4, TCP.
const ECN_AT: usize = 15;
const FLAGS_AT: usize = 14 + 20 + 13;

struct Run {
    loaded: Loaded,
    config: Config,
    flows: BTreeMap<String, (Tcp, u32)>,
    left_bytes: u64,
    stats: Stats,
}

fn the_programs_pass_the_vectors() {
    for file in vectors::all() {
        let config = Config { params: file.params.into(), register_mask: PLACES - 1, ..Config::default() };
        let loaded = loaded(&config);
        let mut run = Run { loaded, config, flows: flows_of(&file), left_bytes: 0, stats: Stats::default() };
        for (at, event) in file.events.iter().enumerate() {
            let (got, wanted) = match event {
                Event::Out(out) => (run.out(out), wanted_of(out)),
                Event::In(back) => (run.back(back), format!("ece {} register {}", back.ece, back.register)),
            };
            assert_eq!(got, wanted, "{}, event {at}: {event:?}", file.name);
        }
    }
}

/// Ports for each flow, such that its register is the one that the file says.
fn flows_of(file: &Vectors) -> BTreeMap<String, (Tcp, u32)> {
    let mut ports = 1024..u16::MAX;
    let mut next = |place: u32| {
        let tcp =
            |port| Tcp { v6: false, hosts: (1, 2), ports: (port, 443), ecn: 0, flags: 0, payload: 0, seq: 0, ack: 0 };
        let port = ports.find(|port| place_of(&tcp(*port), PLACES - 1) == place).expect("enough ports");
        (tcp(port), place)
    };
    file.flows.iter().map(|(name, place)| (name.clone(), next(*place))).collect()
}

fn wanted_of(out: &Out) -> String {
    let Out { signal, verdict, counted, register, .. } = out;
    format!("signal {signal} {verdict} {} register {register}", counted.as_deref().unwrap_or("-"))
}

impl Run {
    fn out(&mut self, out: &Out) -> String {
        let (flow, place) = self.flows[&out.flow];
        let tcp = Tcp { ecn: ecn_bits(&out.ecn), flags: flag_bits(&out.flags), seq: out.seq, ..flow };
        let frame =
            if out.tcp { tcp.frame() } else { ethernet(&[], 0x0800, &ipv4((1, 2), tcp.ecn, &[], 0, 17, &[0; 30])) };
        // What stands in the queue behind this packet is what went in and did not come out.
        self.left_bytes += frame.len() as u64;
        let entrance = Entrance { bytes: self.left_bytes + out.behind, ..Entrance::default() };
        self.loaded.set_entrance(entrance).unwrap();
        let result = self.run(
            Program::Dequeue,
            out.t,
            &RunPacket { data: &frame, stamp_ns: out.t - out.sojourn, ..RunPacket::default() },
        );
        let change = self.change();
        let verdict = match result.verdict {
            RunResult::SHOT => "drop",
            RunResult::REDIRECT if result.data == frame => "pass",
            RunResult::REDIRECT if result.data[ECN_AT] == frame[ECN_AT] | 3 => "mark",
            other => panic!("{other}, {out:?}"),
        };
        let registers = [
            ("counted", change.counted),
            ("saturated", change.saturated),
            ("collision", change.collisions),
            ("no-acks", change.no_acks),
            ("accecn", change.accecn),
            ("strange", change.strange),
        ];
        let counted = registers.iter().find(|(_, n)| *n > 0).map_or("-", |(name, _)| name);
        format!("signal {} {verdict} {counted} register {}", change.signals == 1, self.register(place))
    }

    fn back(&mut self, back: &In) -> String {
        let (flow, place) = self.flows[&back.flow];
        let frame = Tcp { flags: flag_bits(&back.flags), payload: 5, ack: back.ack, ..flow.reversed() }.frame();
        let result = self.run(Program::Return, back.t, &RunPacket { data: &frame, ..RunPacket::default() });
        assert_eq!(result.verdict, RunResult::UNSPEC);
        let ece = self.change().marked_ece == 1;
        assert_eq!(result.data[FLAGS_AT], frame[FLAGS_AT] | if ece { 0x40 } else { 0 });
        format!("ece {ece} register {}", self.register(place))
    }

    fn run(&mut self, program: Program, now_ns: u64, packet: &RunPacket<'_>) -> RunResult {
        self.config.test_now_ns = now_ns;
        self.loaded.set_config(&self.config).unwrap();
        self.loaded.run(program, packet).unwrap()
    }

    /// What was counted since the last look.
    fn change(&mut self) -> Stats {
        let now = self.loaded.stats().unwrap();
        let before = std::mem::replace(&mut self.stats, now);
        Stats {
            signals: now.signals - before.signals,
            counted: now.counted - before.counted,
            saturated: now.saturated - before.saturated,
            collisions: now.collisions - before.collisions,
            no_acks: now.no_acks - before.no_acks,
            accecn: now.accecn - before.accecn,
            strange: now.strange - before.strange,
            marked_ece: now.marked_ece - before.marked_ece,
            ..Stats::default()
        }
    }

    fn register(&self, place: u32) -> u16 {
        if midpath_ebpf::Params::from(self.config.params).aggregate {
            self.loaded.port().unwrap().together
        } else {
            self.loaded.register(place).unwrap().count
        }
    }
}

midpath_testing::tests!(the_programs_pass_the_vectors,);
