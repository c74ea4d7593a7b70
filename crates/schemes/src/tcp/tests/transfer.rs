//! A whole connection: handshake, data, both FINs, and the exact time it takes on an empty path.

use midpath_core::packet::{Flags, Kind, Packet};
use midpath_core::units::{Bytes, Rate, Time};

use super::harness::{FLOW, Fate, HOSTS, Lab, LabOf, MSS, Setup};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::sender::State;

fn lab(setup: Setup, tcp: TcpParams) -> LabOf<NewRenoConfig> {
    Lab::new(setup, tcp, NewRenoConfig)
}

#[test]
fn a_short_flow_takes_handshake_plus_bytes_plus_delay() {
    let setup = Setup { size: Some(4 * MSS + 100), rate: Rate::from_mbps(10), ..Setup::default() };
    let mut lab = lab(setup, TcpParams::default());
    lab.run();
    // SYN and SYN-ACK: 60 B each; five data packets back to back, the last of 100 B; three times
    // the delay.
    let bytes = Bytes(60 + 60 + 4 * 1500 + 152);
    let expected = setup.rate.time_for(bytes) + setup.delay * 3;
    let report = lab.report();
    assert_eq!(report.completed, Some(expected));
    assert_eq!((report.delivered, report.sent, report.retransmitted, report.timeouts), (4 * MSS + 100, 5, 0, 0));
    // The round trip that the handshake measures: 60 B each way and the delay.
    assert_eq!(report.rtt_min, setup.rate.time_for(Bytes(120)) + setup.delay * 2);
}

#[test]
fn both_ends_close_in_order() {
    let mut lab = lab(Setup { size: Some(MSS), ..Setup::default() }, TcpParams::default());
    lab.run();
    let flags: Vec<(usize, Flags)> = lab.log().iter().map(|s| (s.from, s.flags())).collect();
    let (syn, ack, fin) = (Flags::SYN, Flags::ACK, Flags::FIN);
    assert_eq!(flags, [(0, syn), (1, syn.with(ack)), (0, ack.with(fin)), (1, ack.with(fin)), (0, ack)]);
    let [sender, receiver] = lab.finished();
    // The receiver goes with the last ACK, the sender after two timeouts of TIME-WAIT.
    assert!(receiver.is_some_and(|t| t < Time::from_ms(251)));
    assert!(sender.is_some_and(|t| t > Time::from_secs(2) && t < Time::from_ms(2_250)));
    assert_eq!(lab.sender().state(), State::TimeWait);
}

#[test]
fn an_empty_flow_is_complete_with_its_fin() {
    let mut lab = lab(Setup { size: Some(0), ..Setup::default() }, TcpParams::default());
    lab.run();
    let report = lab.report();
    assert_eq!((report.delivered, report.sent), (0, 0));
    assert!(report.completed.is_some() && lab.finished().iter().all(Option::is_some));
}

#[test]
fn a_flow_without_size_sends_until_it_is_stopped() {
    let setup = Setup { size: None, stop: Some(Time::from_ms(950)), ..Setup::default() };
    let mut lab = lab(setup, TcpParams::default());
    lab.run();
    let last = lab.data().last().expect("data were sent").at;
    assert!(last < Time::from_ms(950), "{last}");
    let report = lab.report();
    assert_eq!(report.delivered, report.sent * MSS);
    assert!(report.completed.is_some() && lab.finished().iter().all(Option::is_some));
}

#[test]
fn a_lost_handshake_is_repeated_after_one_second_each() {
    for lose in [Flags::SYN, Flags::SYN.with(Flags::ACK)] {
        let mut lost = 0;
        let mut lab = lab(Setup::default(), TcpParams::default()).treat(move |s| {
            if s.flags().0 & !(Flags::ECE.0 | Flags::CWR.0) == lose.0 && lost < 1 {
                lost += 1;
                return Fate::Lose;
            }
            Fate::Pass
        });
        lab.run();
        let first = lab.data().next().expect("data were sent").at;
        assert!(first > Time::from_ms(1_099) && first < Time::from_ms(1_101), "{first}");
        assert_eq!(lab.report().delivered, 100 * MSS);
    }
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let mut lab = lab(Setup::default(), TcpParams::default()).treat(|_| Fate::Lose);
    lab.run();
    let at: Vec<u64> = lab.log().iter().map(|s| s.at.0 / Time::from_secs(1).0).collect();
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 63]);
    assert!(lab.finished()[0].is_some());
}

#[test]
fn a_lost_last_ack_or_fin_is_mended() {
    for victim in [1, 0] {
        let mut lost = false;
        let mut lab = lab(Setup::default(), TcpParams::default()).treat(move |s| {
            let closing = if victim == 1 { s.flags().has(Flags::FIN) } else { s.ack == 1 };
            if s.from == victim && closing && !lost {
                lost = true;
                return Fate::Lose;
            }
            Fate::Pass
        });
        lab.run();
        assert!(lab.finished().iter().all(Option::is_some));
        assert_eq!(lab.report().delivered, 100 * MSS);
    }
}

/// The peer's last ACK is lost for so long that nobody is there any more: its host resets the
/// receiver, which goes.
#[test]
fn a_receiver_whose_peer_has_gone_is_reset() {
    let mut lab = lab(Setup::default(), TcpParams::default()).treat(|s| {
        let last = s.from == 0 && s.ack == 1;
        let again = s.from == 1 && s.flags().has(Flags::FIN) && s.at < Time::from_secs(10);
        if last || (again && s.at > Time::from_secs(1)) { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    let [sender, receiver] = lab.finished().map(|t| t.expect("finished"));
    assert!(sender < Time::from_secs(4) && receiver < Time::from_secs(20), "{sender} {receiver}");
    let resets = lab.log().iter().filter(|s| s.flags().has(Flags::RST)).count();
    assert_eq!(resets, 1);
}

/// What is left of a sender in TIME-WAIT: it answers a FIN, and goes by a reset at the number
/// that is expected next, but by no other (RFC 5961, §3.2).
#[test]
fn time_wait_answers_fins_and_heeds_resets_in_order() {
    let setup = Setup { size: Some(MSS), ..Setup::default() };
    let alone = {
        let mut lab = lab(setup, TcpParams::default());
        lab.run();
        lab.finished()[0].expect("finished")
    };
    let from_receiver = |flags: Flags, seq: u32| {
        let mut packet = Packet::new(FLOW, HOSTS[1], HOSTS[0], 40);
        (packet.kind, packet.flags, packet.seq, packet.ack) = (Kind::Segment, flags, seq, MSS as u32 + 1);
        packet
    };
    let end_with = |packet: Packet| {
        let mut lab = lab(setup, TcpParams::default());
        lab.run_until(Time::from_secs(1));
        let sent = lab.log().len();
        lab.inject(0, packet);
        lab.run();
        (lab.finished()[0].expect("finished"), lab.log()[sent..].to_vec())
    };
    let (reset, answers) = end_with(from_receiver(Flags::RST, 1));
    assert!(reset < Time::from_ms(1_300) && answers.is_empty(), "{reset} {answers:?}");
    let (blind, answers) = end_with(from_receiver(Flags::RST, 2));
    assert!(blind == alone && answers.is_empty(), "{blind}, not {alone}");
    let (fin, answers) = end_with(from_receiver(Flags::ACK.with(Flags::FIN), 0));
    // The receiver's host has forgotten the flow, and resets who speaks of it.
    let said: Vec<(usize, Flags)> = answers.iter().map(|s| (s.from, s.flags())).collect();
    assert_eq!(said, [(0, Flags::ACK), (1, Flags::RST)]);
    assert_eq!(answers[0].ack, 1);
    assert!(fin < Time::from_ms(1_300), "{fin}");
}
