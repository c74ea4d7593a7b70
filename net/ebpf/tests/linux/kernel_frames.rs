//! The programs in the kernel, on frames of every kind, and on garbage.

use crate::common::frame::{Tcp, checksum, ethernet, ipv4, ipv6, pseudo_header};
use crate::common::{hash_of, loaded, place_of};
use midpath_ebpf::{
    Aqm, Config, Entrance, Loaded, Mode, Params, Port, Program, Register, Registers, RunPacket, RunResult, Stats,
};

const ECT0: u8 = 2;
const ACK: u16 = 0x10;
const NOW_NS: u64 = 10_000_000_000;
/// Every ECT packet is chosen: it waited a second.
const STAMP_NS: u64 = NOW_NS - 1_000_000_000;

const TCP: Tcp =
    Tcp { v6: false, hosts: (1, 2), ports: (40_000, 443), ecn: ECT0, flags: ACK, payload: 100, seq: 1_000, ack: 1_000 };

fn params(mode: Mode) -> Params {
    Params {
        aqm: Aqm::Step,
        target_ns: 1_000_000,
        interval_ns: 100_000_000,
        mtu_bytes: 1500,
        mode,
        registers: Registers::Plain,
        aggregate: false,
        age_ticks: 1000,
        register_max: u16::MAX,
        window_mib: 16,
    }
}

fn config(mode: Mode, mask: u32) -> Config {
    Config { params: params(mode).into(), register_mask: mask, test_now_ns: NOW_NS, ..Config::default() }
}

/// An IPv6 extension header of 8 bytes: its length, and padding.
fn extension(number: u8) -> (u8, Vec<u8>) {
    (number, vec![0, 1, 4, 0, 0, 0, 0])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// TCP whose flow is known.
    Tcp,
    /// IP with an ECN field to mark.
    Ip,
    /// Nothing to mark.
    Other,
}

/// A frame of each kind, what it is, and where its IP header starts.
fn kinds() -> Vec<(&'static str, Vec<u8>, Seen, usize)> {
    let v6 = Tcp { v6: true, ..TCP };
    let segment = TCP.segment();
    let one = |f: fn(&[u8]) -> Vec<u8>| f(&segment);
    let mut long_header = TCP.segment();
    long_header[12] = 15 << 4;
    long_header.truncate(40);
    let mut short_header = TCP.segment();
    short_header[12] = 4 << 4;
    let mut claims_more = TCP.packet();
    claims_more[2..4].copy_from_slice(&2000u16.to_be_bytes());
    let mut claims_less = TCP.packet();
    claims_less[2..4].copy_from_slice(&30u16.to_be_bytes());
    claims_less[10..12].fill(0);
    let sum = checksum(&claims_less[..20]);
    claims_less[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut bad_version = TCP.packet();
    bad_version[0] = 0x65;
    let mut bad_length = TCP.packet();
    bad_length[0] = 0x44;
    let mut three_tags = ethernet(&[0x88a8, 0x8100, 0x8100], 0x0800, &TCP.packet());
    three_tags[12] = 0x88;
    vec![
        ("IPv4", TCP.frame(), Seen::Tcp, 14),
        ("IPv6", v6.frame(), Seen::Tcp, 14),
        ("a VLAN tag", ethernet(&[0x8100], 0x0800, &TCP.packet()), Seen::Tcp, 18),
        ("a VLAN tag, IPv6", ethernet(&[0x8100], 0x86dd, &v6.packet()), Seen::Tcp, 18),
        ("two tags", ethernet(&[0x88a8, 0x8100], 0x0800, &TCP.packet()), Seen::Tcp, 22),
        ("three tags", three_tags, Seen::Other, 0),
        ("IP options", ethernet(&[], 0x0800, &one(|s| ipv4((1, 2), ECT0, &[1; 8], 0, 6, s))), Seen::Tcp, 14),
        ("all IP options", ethernet(&[], 0x0800, &one(|s| ipv4((1, 2), ECT0, &[1; 40], 0, 6, s))), Seen::Tcp, 14),
        ("don't fragment", ethernet(&[], 0x0800, &one(|s| ipv4((1, 2), ECT0, &[], 0x4000, 6, s))), Seen::Tcp, 14),
        ("the first fragment", ethernet(&[], 0x0800, &one(|s| ipv4((1, 2), ECT0, &[], 0x2000, 6, s))), Seen::Ip, 14),
        ("a later fragment", ethernet(&[], 0x0800, &one(|s| ipv4((1, 2), ECT0, &[], 185, 6, s))), Seen::Ip, 14),
        (
            "IPv6 extensions",
            ethernet(&[], 0x86dd, &ipv6((1, 2), ECT0, &[extension(0), extension(60), extension(43)], 6, &v6.segment())),
            Seen::Tcp,
            14,
        ),
        (
            "too many IPv6 extensions",
            ethernet(&[], 0x86dd, &ipv6((1, 2), ECT0, &[0, 60, 43, 60, 60].map(extension), 6, &v6.segment())),
            Seen::Ip,
            14,
        ),
        (
            "an IPv6 fragment",
            ethernet(&[], 0x86dd, &ipv6((1, 2), ECT0, &[extension(44)], 6, &v6.segment())),
            Seen::Ip,
            14,
        ),
        ("UDP", ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 17, &[7; 50])), Seen::Ip, 14),
        ("ESP", ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 50, &[7; 50])), Seen::Ip, 14),
        ("IP in IP", ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 4, &TCP.packet())), Seen::Ip, 14),
        ("half a TCP header", ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 6, &segment[..19])), Seen::Ip, 14),
        (
            "a TCP header that ends too late",
            ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 6, &long_header)),
            Seen::Ip,
            14,
        ),
        (
            "a TCP header that is too short",
            ethernet(&[], 0x0800, &ipv4((1, 2), ECT0, &[], 0, 6, &short_header)),
            Seen::Ip,
            14,
        ),
        ("IPv4 that claims more than arrived", ethernet(&[], 0x0800, &claims_more), Seen::Other, 0),
        ("IPv4 that ends before TCP does", ethernet(&[], 0x0800, &claims_less), Seen::Ip, 14),
        ("version 6 in an IPv4 frame", ethernet(&[], 0x0800, &bad_version), Seen::Other, 0),
        ("an IPv4 header of 16 bytes", ethernet(&[], 0x0800, &bad_length), Seen::Other, 0),
        ("ARP", ethernet(&[], 0x0806, &[0; 46]), Seen::Other, 0),
        ("half an IPv4 header", ethernet(&[0x8100], 0x0800, &TCP.packet()[..10]), Seen::Other, 0),
        ("half an IPv6 header", ethernet(&[0x8100], 0x86dd, &v6.packet()[..39]), Seen::Other, 0),
        ("nothing behind a tag", ethernet(&[0x8100], 0x86dd, &[]), Seen::Other, 0),
    ]
}

fn dequeue(loaded: &mut Loaded, frame: &[u8]) -> RunResult {
    loaded.run(Program::Dequeue, &RunPacket { data: frame, stamp_ns: STAMP_NS, ..RunPacket::default() }).unwrap()
}

fn returned(loaded: &mut Loaded, frame: &[u8]) -> RunResult {
    loaded.run(Program::Return, &RunPacket { data: frame, ..RunPacket::default() }).unwrap()
}

fn the_layout_is_the_kernels() {
    let loaded = loaded(&config(Mode::Rpm, 7));
    let mut sizes = loaded.value_bytes().unwrap();
    sizes.sort();
    let wanted = [
        ("rpm_config", size_of::<Config>()),
        ("rpm_entrance", size_of::<Entrance>()),
        ("rpm_port", size_of::<Port>()),
        ("rpm_registers", size_of::<Register>()),
        ("rpm_stats", size_of::<Stats>()),
    ];
    assert_eq!(sizes, wanted.map(|(name, size)| (name.to_owned(), size as u32)));
}

fn every_kind_of_frame_is_marked_forward_if_it_can_be() {
    let mut loaded = loaded(&config(Mode::Fwd, 0));
    for (kind, frame, seen, ip_at) in kinds() {
        let done = dequeue(&mut loaded, &frame);
        assert_eq!(done.verdict, RunResult::REDIRECT, "{kind}");
        if seen == Seen::Other {
            assert_eq!(done.data, frame, "{kind}");
            continue;
        }
        let mut wanted = frame.clone();
        if frame[ip_at] >> 4 == 4 {
            wanted[ip_at + 1] |= 3;
            wanted[ip_at + 10..ip_at + 12].fill(0);
            let header = ip_at..ip_at + usize::from(frame[ip_at] & 0xf) * 4;
            let sum = checksum(&wanted[header]);
            wanted[ip_at + 10..ip_at + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            wanted[ip_at + 1] |= 0x30;
        }
        assert_eq!(done.data, wanted, "{kind}");
    }
}

fn every_kind_of_tcp_is_counted_and_its_acks_get_ece() {
    let mut loaded = loaded(&config(Mode::Rpm, 0));
    for (kind, frame, seen, _) in kinds() {
        let before = loaded.stats().unwrap().counted;
        let out = dequeue(&mut loaded, &frame);
        let counted = loaded.stats().unwrap().counted - before;
        assert_eq!(counted == 1, seen == Seen::Tcp, "{kind}");
        // With plain registers any frame is an answer to any: there is one register.
        loaded.set_register(0, Register::waiting(1)).unwrap();
        let back = returned(&mut loaded, &frame);
        assert_eq!(back.verdict, RunResult::UNSPEC, "{kind}");
        if seen != Seen::Tcp {
            assert_eq!(back.data, frame, "{kind}");
            continue;
        }
        assert_eq!(out.data, frame, "{kind}");
        let changed: Vec<usize> = (0..frame.len()).filter(|i| frame[*i] != back.data[*i]).collect();
        let flags = changed[0];
        assert_eq!(back.data[flags], frame[flags] | 0x40, "{kind}");
        assert!(changed[1..].iter().all(|i| (flags + 3..flags + 5).contains(i)), "{kind}: {changed:?}");
        let tcp_at = flags - 13;
        let v6 = frame[14] >> 4 == 6 || frame[12..14] == [0x81, 0] && frame[18] >> 4 == 6;
        let pseudo = pseudo_header(v6, (1, 2), frame.len() - tcp_at);
        assert_eq!(checksum(&[pseudo, back.data[tcp_at..].to_vec()].concat()), 0, "{kind}");
    }
}

fn an_ack_finds_the_register_of_its_data() {
    const MASK: u32 = 0xffff;
    let mut loaded = loaded(&config(Mode::Rpm, MASK));
    for v6 in [false, true] {
        for port in 1000..1050 {
            let tcp = Tcp { v6, ports: (port, 443), ..TCP };
            dequeue(&mut loaded, &tcp.frame());
            // By a second implementation of the same hash.
            assert_eq!(loaded.register(place_of(&tcp, MASK)).unwrap().count, 1);
            // Data of the other direction are another flow's.
            assert_eq!(returned(&mut loaded, &tcp.frame()).data, tcp.frame());
            let ack = tcp.reversed().frame();
            assert_ne!(returned(&mut loaded, &ack).data, ack);
            assert_eq!(loaded.register(place_of(&tcp, MASK)).unwrap().count, 0);
        }
    }
}

fn a_register_knows_its_owner_by_the_rest_of_the_hash() {
    let mut guarded = config(Mode::Rpm, 0);
    guarded.params = Params { registers: Registers::Guarded, ..params(Mode::Rpm) }.into();
    let mut loaded = loaded(&guarded);
    returned(&mut loaded, &TCP.reversed().frame());
    assert_eq!(loaded.register(0).unwrap().tag, (hash_of(&TCP) >> 32) as u32);
    dequeue(&mut loaded, &TCP.frame());
    dequeue(&mut loaded, &Tcp { ports: (40_001, 443), ..TCP }.frame());
    let stats = loaded.stats().unwrap();
    assert_eq!((stats.counted, stats.collisions), (1, 1));
}

fn a_register_that_another_cpu_saw_a_moment_later_is_alive() {
    let mut guarded = config(Mode::Rpm, 0);
    guarded.params = Params { registers: Registers::Guarded, ..params(Mode::Rpm) }.into();
    let mut loaded = loaded(&guarded);
    returned(&mut loaded, &TCP.reversed().frame());
    let mut register = loaded.register(0).unwrap();
    register.seen += 1;
    loaded.set_register(0, register).unwrap();
    dequeue(&mut loaded, &TCP.frame());
    let stats = loaded.stats().unwrap();
    assert_eq!((stats.counted, stats.no_acks), (1, 0));
}

fn a_device_without_a_link_header_is_read_from_its_first_byte() {
    let bare = Config { bare: 1, ..config(Mode::Rpm, 0) };
    let mut loaded = loaded(&bare);
    for v6 in [false, true] {
        loaded.set_register(0, Register::waiting(1)).unwrap();
        let packet = Tcp { v6, ..TCP }.packet();
        assert_ne!(returned(&mut loaded, &packet).data, packet);
    }
}

fn only_diverted_packets_enter_the_queue() {
    let diverted = Config { ticket: 0x1234_5678, ..config(Mode::Rpm, 0) };
    let mut loaded = loaded(&diverted);
    let frame = TCP.frame();
    let enter = |loaded: &mut Loaded, ticket| {
        loaded.run(Program::Enqueue, &RunPacket { data: &frame, ticket, ..RunPacket::default() }).unwrap().verdict
    };
    assert_eq!(enter(&mut loaded, 0x1234_5678), RunResult::OK);
    assert_eq!(enter(&mut loaded, 0), RunResult::SHOT);
    assert_eq!(loaded.stats().unwrap().foreign, 1);
}

/// A small generator of the usual kind (xorshift64*): the same seed, the same frames.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }
}

/// BPF_PROG_TEST_RUN refuses what is shorter than Ethernet's header and, without a tag, than the IP
/// header that it names. Behind a tag anything goes, so that headers are cut off there.
fn testable(frame: &[u8]) -> bool {
    let least = match frame.get(12..14) {
        Some([0x08, 0x00]) => 34,
        Some([0x86, 0xdd]) => 54,
        _ => 15,
    };
    frame.len() >= least
}

/// A frame of some kind, perhaps damaged: cut, lengthened, overwritten.
fn damaged(random: &mut Random, kinds: &[Vec<u8>]) -> Vec<u8> {
    loop {
        let mut frame = kinds[random.below(kinds.len())].clone();
        if random.below(8) == 0 {
            frame = (0..random.below(140)).map(|_| random.next() as u8).collect();
        }
        for _ in 0..random.below(4) {
            if let Some(byte) = frame.get_mut(random.below(80)) {
                *byte = random.next() as u8;
            }
        }
        if random.below(4) == 0 {
            frame.truncate(random.below(frame.len() + 1));
        }
        if random.below(8) == 0 {
            frame.extend(vec![0xaa; random.below(64)]);
        }
        if testable(&frame) {
            return frame;
        }
    }
}

/// Where `to` differs from `from`, as a range of positions, and that bytes there are all that
/// differs.
fn difference(from: &[u8], to: &[u8]) -> Option<(usize, usize)> {
    assert_eq!(from.len(), to.len());
    let first = (0..from.len()).find(|i| from[*i] != to[*i])?;
    let last = (0..from.len()).rfind(|i| from[*i] != to[*i])?;
    Some((first, last))
}

/// Where the IP header lies, for a frame whose ECN field was changed.
fn ip_offset(frame: &[u8]) -> usize {
    let tag = |at: usize| matches!(frame[at..at + 2], [0x81, 0] | [0x88, 0xa8]);
    match (tag(12), tag(12) && tag(16)) {
        (false, _) => 14,
        (true, false) => 18,
        (true, true) => 22,
    }
}

fn check_forward(before: &[u8], after: &[u8]) {
    let Some((first, last)) = difference(before, after) else { return };
    let ip = ip_offset(before);
    assert_eq!(first, ip + 1);
    if before[ip] >> 4 == 6 {
        assert_eq!((last, after[first]), (first, before[first] | 0x30));
        return;
    }
    assert_eq!(after[first], before[first] | 3);
    assert!(last <= ip + 11 && before[ip + 2..ip + 10] == after[ip + 2..ip + 10]);
    // Right stays right, wrong stays wrong: the sum over the header does not change.
    let header = ip..ip + usize::from(before[ip] & 0xf) * 4;
    assert_eq!(checksum(&before[header.clone()]), checksum(&after[header]));
}

fn check_return(before: &[u8], after: &[u8]) {
    let Some((first, last)) = difference(before, after) else { return };
    let tcp = first - 13;
    assert_eq!(after[first], before[first] | 0x40);
    assert!(last <= tcp + 17 && before[first + 1..tcp + 16] == after[first + 1..tcp + 16]);
    // Whatever else the checksum covers did not change, so the sum over the header tells.
    assert_eq!(checksum(&before[tcp..tcp + 20]), checksum(&after[tcp..tcp + 20]));
}

/// `MIDPATH_FUZZ_SEED=2 cargo test -p midpath-ebpf --test linux kernel_frames` runs other packets.
fn garbage_passes_unharmed() {
    let packets = std::env::var("MIDPATH_FUZZ_PACKETS").map_or(1_000_000, |n| n.parse().expect("a number of packets"));
    let seed = std::env::var("MIDPATH_FUZZ_SEED").map_or(1, |n| n.parse().expect("a seed"));
    let kinds: Vec<Vec<u8>> = kinds().into_iter().map(|(_, frame, ..)| frame).collect();
    let (mut marked, mut echoed) = (0, 0);
    for (round, mode) in [Mode::Fwd, Mode::Rpm].into_iter().enumerate() {
        let mut loaded = loaded(&config(mode, 0));
        let mut random = Random(seed + 1000 * round as u64);
        for i in 0..packets / 2 {
            let frame = damaged(&mut random, &kinds);
            if mode == Mode::Fwd {
                let done = dequeue(&mut loaded, &frame);
                assert_eq!(done.verdict, RunResult::REDIRECT, "{frame:02x?}");
                check_forward(&frame, &done.data);
                marked += u64::from(frame != done.data);
            } else {
                if i % 1000 == 0 {
                    loaded.set_register(0, Register::waiting(2000)).unwrap();
                }
                let done = returned(&mut loaded, &frame);
                assert_eq!(done.verdict, RunResult::UNSPEC, "{frame:02x?}");
                check_return(&frame, &done.data);
                echoed += u64::from(frame != done.data);
            }
        }
        assert_eq!(loaded.stats().unwrap().failed, 0);
    }
    // Enough of them are still understood for the checks above to say something.
    assert!(marked > packets / 8 && echoed > packets / 16, "{marked} marked, {echoed} with ECE, of {packets}");
    println!("seed {seed}: {packets} packets, {marked} marked CE, {echoed} given ECE");
}

midpath_testing::tests!(
    the_layout_is_the_kernels,
    every_kind_of_frame_is_marked_forward_if_it_can_be,
    every_kind_of_tcp_is_counted_and_its_acks_get_ece,
    an_ack_finds_the_register_of_its_data,
    a_register_knows_its_owner_by_the_rest_of_the_hash,
    a_register_that_another_cpu_saw_a_moment_later_is_alive,
    a_device_without_a_link_header_is_read_from_its_first_byte,
    only_diverted_packets_enter_the_queue,
    garbage_passes_unharmed,
);
