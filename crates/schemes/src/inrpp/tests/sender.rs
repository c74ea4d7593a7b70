//! The two ends on a path of their own (§III-C).

use midpath_core::packet::{Flags, Packet};
use midpath_core::units::{Rate, Time};

use crate::inrpp::endpoint::Ends;
use crate::inrpp::header::{Direction, InrppHeader, Nonce, Nonces, Slow};
use crate::inrpp::params::{Additions, Params};
use crate::tcp::tests::harness::{FLOW, Fate, HOSTS, Lab, LabOf, Sent, Setup};
use crate::transport::TcpParams;

/// Payload of a full packet.
const FULL: u64 = 1424;

/// A round trip of 100 ms, forty packets; the fourth is lost once.
fn lab(params: &Params) -> LabOf<Ends> {
    let mut data = 0;
    let lose = move |sent: &Sent| {
        data += u32::from(sent.is_data());
        if sent.is_data() && data == 4 { Fate::Lose } else { Fate::Pass }
    };
    let setup = Setup { size: Some(40 * FULL), ..Setup::default() };
    Lab::new(setup, params.tcp(), Ends::new(params)).treat(lose)
}

#[test]
fn there_is_no_fast_recovery_and_a_timeout_repeats() {
    let params = Params { additions: Additions { repair: false, ..Additions::default() }, ..Params::default() };
    let mut lab = lab(&params);
    lab.run();
    let mut seen = std::collections::BTreeSet::new();
    let again: Vec<Time> = lab.data().filter(|sent| !seen.insert(sent.seq)).map(|sent| sent.at).collect();
    assert_eq!((lab.report().timeouts, lab.report().delivered), (1, 40 * FULL));
    assert!(again.iter().all(|at| *at >= Time::from_secs(1)), "36 duplicate ACKs repeat nothing: {again:?}");
    assert_eq!(again.len(), 1);
}

#[test]
fn any_tcp_receives() {
    let params = Params::default();
    let mut lab = lab(&params).with_peer(TcpParams::default());
    lab.run();
    assert_eq!((lab.report().delivered, lab.report().timeouts), (40 * FULL, 0));
}

/// An ACK that acknowledges nothing more comes back to the sender, and says this.
fn hears(lab: &mut LabOf<Ends>, says: InrppHeader) {
    let mut p = Packet::new(FLOW, HOSTS[1], HOSTS[0], 76);
    let acknowledged = {
        let sender = lab.sender();
        sender.progress() - sender.flight()
    };
    (p.flags, p.window, p.ack) = (Flags::ACK, u16::MAX, acknowledged as u32);
    p.set_header(&InrppHeader { direction: Direction::Ack, ..says });
    lab.inject(0, p);
}

#[test]
fn a_nonce_is_echoed_on_data_until_it_is_cancelled() {
    let params = Params::default();
    let setup = Setup { size: Some(40 * FULL), rate: Rate::from_mbps(1), ..Setup::default() };
    let mut lab = Lab::new(setup, params.tcp(), Ends::new(&params));
    let (nonce, mut nonces) = (Nonce(77), Nonces::default());
    nonces.add(nonce);
    lab.run_until(Time::from_ms(150));
    let slow = Some(Slow { nonce, release: 1 });
    hears(&mut lab, InrppHeader { slow, nonces, ..InrppHeader::default() });
    lab.run_until(Time::from_ms(300));
    hears(&mut lab, InrppHeader { cancel: Some(nonce), ..InrppHeader::default() });
    lab.run();
    let echoes = |sent: &Sent| sent.packet.header::<InrppHeader>().is_some_and(|o| o.nonces.iter().eq([nonce]));
    let among = |from: u64, to: u64| {
        let all = lab.data().filter(move |sent| (Time::from_ms(from)..Time::from_ms(to)).contains(&sent.at));
        all.map(echoes).collect::<Vec<bool>>()
    };
    let (before, pressed, after) = (among(0, 150), among(170, 300), among(320, 10_000));
    assert!(before.len() > 2 && !before.contains(&true));
    assert!(pressed.len() > 2 && !pressed.contains(&false));
    assert!(after.len() > 2 && !after.contains(&true));
}
