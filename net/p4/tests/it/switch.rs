//! RPM in a switch of v1model: `rpm_switch.p4`, packet by packet.

use midpath_p4::{Arrival, Departure, Machine, SWITCH};

use crate::frame::{self, Tcp, ethernet, ipv4, ipv6};

/// The ports of the sender and of the receiver.
const SENDER: u16 = 1;
const RECEIVER: u16 = 2;
/// Where frames of the sender and of the receiver are addressed.
const TO_RECEIVER: u128 = 0x0200_0000_0001;
const TO_SENDER: u128 = 0x0200_0000_0002;

const MODE_FWD: u128 = 1;
const MODE_RPM: u128 = 2;
const ECE: u16 = 0x40;
const ACK: u16 = 0x10;

const DATA: Tcp =
    Tcp { v6: false, hosts: (1, 2), ports: (40_000, 443), ecn: 2, flags: ACK, payload: 100, seq: 1_000, ack: 1_000 };

/// A switch whose port to the receiver runs the paper's CoDel, 1 ms and 20 ms.
struct Switch {
    machine: Machine,
    now_us: u64,
}

impl Switch {
    fn new(mode: u128) -> Switch {
        let mut machine = Machine::new(SWITCH).expect("the program");
        configure(&mut machine, RECEIVER, mode, 0);
        for (address, port) in [(TO_RECEIVER, RECEIVER), (TO_SENDER, SENDER)] {
            let (table, action) = ("SwitchIngress.forward", "SwitchIngress.out_of");
            machine.insert(table, &[address], action, &[u128::from(port)]).expect("an entry");
        }
        Switch { machine, now_us: 1_000_000 }
    }

    /// A frame goes through, 100 µs after the last one.
    fn frame(&mut self, bytes: &[u8], port: u16, queued_us: u32) -> Option<Departure> {
        self.now_us += 100;
        let arrival = Arrival { bytes, port, arrived_us: self.now_us, queued_us, behind: 20 };
        self.machine.run(&arrival).expect("it runs")
    }

    /// Data of the sender, after so long in the queue.
    fn data(&mut self, packet: &Tcp, queued_us: u32) -> Vec<u8> {
        let out = self.frame(&packet.frame(), SENDER, queued_us).expect("it leaves");
        assert_eq!(out.port, RECEIVER);
        out.bytes
    }

    /// An ACK of the receiver.
    fn ack(&mut self, of: &Tcp) -> Vec<u8> {
        let out = self.frame(&back(of).bytes, RECEIVER, 0).expect("it leaves");
        assert_eq!(out.port, SENDER);
        out.bytes
    }
}

/// Algorithm 1 to the letter at a port, with a register for each flow or one for all.
fn configure(machine: &mut Machine, port: u16, mode: u128, aggregate: u128) {
    let paper = [1_000_000, 20_000_000, 1500, 1_000_000_000, 65_535, 2, mode, 0, aggregate];
    for table in ["SwitchIngress.configure.ports", "SwitchEgress.configure.ports"] {
        let action = table.replace("ports", "rpm");
        machine.insert(table, &[u128::from(port)], &action, &paper).expect("an entry");
    }
}

/// The frame of an ACK to `of`'s sender, and what becomes of it if it is told.
struct Back {
    bytes: Vec<u8>,
    told: Vec<u8>,
}

fn back(of: &Tcp) -> Back {
    let ack = Tcp { ecn: 0, flags: ACK, payload: 0, ..of.reversed() };
    let addressed = |tcp: &Tcp| {
        let mut bytes = tcp.frame();
        // The frames' builder has one address; the other way has another.
        bytes[..6].copy_from_slice(&TO_SENDER.to_be_bytes()[10..]);
        bytes
    };
    Back { bytes: addressed(&ack), told: addressed(&Tcp { flags: ACK | ECE, ..ack }) }
}

/// CE packets among so much data that waited 3 ms, and ACKs with ECE among as many ACKs.
fn congest(switch: &mut Switch, flow: &Tcp, packets: usize) -> (usize, usize) {
    let (mut ce, mut ece) = (0, 0);
    let marked = Tcp { ecn: 3, ..*flow }.frame();
    for _ in 0..packets {
        let data = switch.data(flow, 3000);
        assert!(data == flow.frame() || data == marked, "nothing but CE changes");
        ce += usize::from(data == marked);
        let (ack, both) = (switch.ack(flow), back(flow));
        assert!(ack == both.bytes || ack == both.told, "nothing but ECE changes");
        ece += usize::from(ack == both.told);
    }
    (ce, ece)
}

#[test]
fn rpm_tells_by_acks_and_codel_fwd_by_ce_as_often() {
    for flow in [DATA, Tcp { v6: true, ..DATA }] {
        // 200 ms of 3 ms in the queue: CoDel chooses from 20 ms on, interval/sqrt(n) apart.
        let (mut chosen, mut due) = (0_u32, 20.0);
        while due < 200.0 {
            chosen += 1;
            due += 20.0 / f64::from(chosen + 1).sqrt();
        }
        let near = |signals: usize| signals.abs_diff(chosen as usize) <= 1;
        let rpm = congest(&mut Switch::new(MODE_RPM), &flow, 1000);
        let fwd = congest(&mut Switch::new(MODE_FWD), &flow, 1000);
        assert_eq!((rpm.0, fwd.1), (0, 0));
        assert!(near(rpm.1) && near(fwd.0), "{rpm:?} {fwd:?} {chosen}");
        assert_eq!(rpm.1, fwd.0);
    }
}

#[test]
fn another_flow_s_ack_is_left_alone_and_each_signal_is_told_once() {
    let other = Tcp { ports: (40_001, 443), ..DATA };
    let mut switch = Switch::new(MODE_RPM);
    for _ in 0..700 {
        switch.data(&DATA, 3000);
    }
    let mut with_ece = |flow: &Tcp| (0..100).filter(|_| switch.ack(flow) == back(flow).told).count();
    assert_eq!(with_ece(&other), 0);
    let of_data = with_ece(&DATA);
    assert!((5..50).contains(&of_data), "{of_data}");
    assert_eq!(with_ece(&DATA), 0, "none twice");
}

#[test]
fn with_one_register_for_a_port_any_flow_s_ack_there_is_told() {
    let other = Tcp { ports: (40_001, 443), ..DATA };
    let mut switch = Switch::new(MODE_RPM);
    configure(&mut switch.machine, RECEIVER, MODE_RPM, 1);
    // The other port has a register of its own, and an AQM that has seen no queue.
    configure(&mut switch.machine, SENDER, MODE_RPM, 1);
    for _ in 0..700 {
        switch.data(&DATA, 3000);
    }
    let count = |switch: &Switch, port: u16| switch.machine.register("together_count", usize::from(port)).expect("one");
    let waiting = count(&switch, RECEIVER);
    assert!((5..50).contains(&waiting) && count(&switch, SENDER) == 0, "{waiting}");
    assert_eq!((0..100).filter(|_| switch.ack(&other) == back(&other).told).count() as u128, waiting);
}

#[test]
fn tcp_s_checksum_is_right_where_it_carries() {
    // One checksum in 1024 carries when ECE is set.
    let checksum = |flow: &Tcp| u16::from_be_bytes(back(flow).bytes[50..52].try_into().expect("two bytes"));
    let mut flows = (0..u16::MAX).map(|port| Tcp { ports: (port, 443), ..DATA });
    let flow = flows.find(|flow| checksum(flow) < ECE).expect("one of many");
    assert!(congest(&mut Switch::new(MODE_RPM), &flow, 300).1 > 0);
}

#[test]
fn ipv4_s_checksum_is_right_where_it_carries() {
    // With this identification the checksum is 0, and any change carries.
    let mut sent = Tcp { ecn: 1, ..DATA }.frame();
    let word = |at: usize| u32::from(sent[at]) << 8 | u32::from(sent[at + 1]);
    let sum = word(18) + word(24);
    sent[18..20].copy_from_slice(&(((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    sent[24..26].fill(0);
    assert_eq!(frame::checksum(&sent[14..34]), 0);
    let mut switch = Switch::new(MODE_FWD);
    let marked = (0..700).filter(|_| {
        let out = switch.frame(&sent, SENDER, 3000).expect("it leaves").bytes;
        assert_eq!(frame::checksum(&out[14..34]), 0);
        out != sent
    });
    assert!(marked.count() > 0);
}

#[test]
fn a_port_without_an_entry_does_nothing() {
    let mut switch = Switch::new(MODE_RPM);
    // Towards the sender there is no RPM.
    let data = back(&DATA).bytes;
    for _ in 0..700 {
        assert_eq!(switch.frame(&data, RECEIVER, 3000).expect("it leaves").bytes, data);
    }
}

#[test]
fn what_is_no_tcp_in_sight_gets_ce_and_what_is_no_ip_nothing() {
    let payload = DATA.segment();
    let frames = [
        ("UDP", ethernet(&[], 0x0800, &ipv4((1, 2), 2, &[], 0, 17, &payload)), true),
        ("options", ethernet(&[], 0x0800, &ipv4((1, 2), 2, &[1; 4], 0, 6, &payload)), true),
        ("a fragment", ethernet(&[], 0x0800, &ipv4((1, 2), 2, &[], 0x2000, 6, &payload)), true),
        ("a later fragment", ethernet(&[], 0x0800, &ipv4((1, 2), 2, &[], 100, 6, &payload)), true),
        ("an extension", ethernet(&[], 0x86dd, &ipv6((1, 2), 2, &[(0, vec![0; 7])], 6, &payload)), true),
        ("CE already", ethernet(&[], 0x0800, &ipv4((1, 2), 3, &[], 0, 6, &payload)), false),
        ("ARP", ethernet(&[], 0x0806, &[0; 28]), false),
        ("a tag", ethernet(&[0x8100], 0x0800, &DATA.packet()), false),
        ("a short one", DATA.frame()[..30].to_vec(), false),
        ("nearly nothing", DATA.frame()[..14].to_vec(), false),
    ];
    for (name, frame, marked) in frames {
        let mut switch = Switch::new(MODE_RPM);
        let changed = (0..700).filter(|_| {
            let out = switch.frame(&frame, SENDER, 3000).expect("it leaves").bytes;
            assert_eq!(out.len(), frame.len(), "{name}");
            if out != frame && frame[12..14] == [8, 0] {
                assert_eq!(frame::checksum(&out[14..14 + usize::from(out[14] & 15) * 4]), 0, "{name}");
            }
            out != frame
        });
        assert_eq!(changed.count() > 0, marked, "{name}");
    }
}

#[test]
fn a_packet_that_is_not_ect_is_dropped_as_codel_says() {
    let plain = Tcp { ecn: 0, ..DATA };
    let mut switch = Switch::new(MODE_RPM);
    let dropped = (0..2000).filter(|_| switch.frame(&plain.frame(), SENDER, 3000).is_none()).count();
    assert!(dropped > 5, "{dropped}");
}

#[test]
fn an_address_that_nobody_has_is_dropped() {
    let mut frame = DATA.frame();
    frame[5] = 9;
    assert_eq!(Switch::new(MODE_RPM).frame(&frame, SENDER, 0), None);
}
