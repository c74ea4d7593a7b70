//! Each end of a flow announces itself: "a flow preloads −1 when it is terminating" (§4.1).

use midpath_core::packet::{Flags, Packet};
use midpath_core::units::{Rate, Time};

use crate::fcp::header::FcpHeader;
use crate::fcp::policy::CustomPolicies;
use crate::fcp::{Config, FcpParams};
use crate::tcp::tests::harness::{FLOW, HOSTS, Lab, LabOf, MSS, Sent, Setup};

/// When all but `size` end.
pub const END: Time = Time::from_secs(2);
/// The round trip.
pub const ROUND: Time = Time::from_ms(100);

fn lab(size: Option<u64>, stop: Option<Time>) -> LabOf<Config> {
    // No link here has a price: at the minimum of 10^-18 $/byte, a megabyte a second.
    let params = FcpParams { budget: 1e-12, ..FcpParams::default() };
    let config = Config::new(params.clone().resolve(CustomPolicies::default()).expect("valid"));
    let rate = Rate::from_mbps(20);
    Lab::new(Setup { size, stop, rate, ..Setup::default() }, params.tcp, config)
}

/// What each packet of the sender announces, with its time, and by when; in units of what a byte a
/// second costs, for no link here has a price.
fn announced(lab: &LabOf<Config>) -> Vec<(Time, f64)> {
    let own = lab.log().iter().filter(|sent| sent.from == 0);
    let change = |sent: &Sent| {
        let header = sent.packet.header::<FcpHeader>()?;
        let over = if header.rtt > 0.0 { header.rtt.into() } else { ROUND.as_secs_f64() };
        Some((sent.at, f64::from(header.preload) * f64::from(sent.packet.size) / over))
    };
    own.filter_map(change).collect()
}

/// Who knows when it ends has taken back nine tenths by then, in its last two round trips.
fn takes_all_back(lab: &LabOf<Config>, end: Time) {
    let (mut sum, mut most, mut before) = (0.0, 0.0f64, 0.0);
    for (at, change) in announced(lab) {
        sum += change;
        most = most.max(sum);
        before = if at + ROUND + ROUND < end { sum } else { before };
    }
    assert!(before > 0.9 * most && sum.abs() < 0.1 * most, "{most} B/s at most, {before} before the end, {sum} then");
}

/// Who ends on a sudden says so with its last packet, and no more than that one pays.
fn says_so(lab: &LabOf<Config>) {
    let last = lab.log().iter().rfind(|sent| sent.from == 0 && sent.packet.header::<FcpHeader>().is_some());
    let (at, header) = last.map(|sent| (sent.at, sent.packet.header::<FcpHeader>())).expect("it has sent");
    assert!(at >= END && header.is_some_and(|header| header.preload == -1.0 && header.rtt > 0.0), "{at:?}: {header:?}");
}

#[test]
fn all_is_sent() {
    let mut lab = lab(Some(4000 * MSS), None);
    lab.run();
    let end = lab.data().last().expect("data").at;
    takes_all_back(&lab, end);
}

#[test]
fn the_flow_stops() {
    let mut lab = lab(None, Some(END));
    lab.run_until(END + ROUND + ROUND);
    takes_all_back(&lab, END);
}

#[test]
fn the_application_gives_up() {
    let mut lab = lab(None, None);
    lab.run_until(END);
    lab.abort();
    lab.run_until(END + ROUND);
    says_so(&lab);
}

#[test]
fn the_peer_resets() {
    let mut lab = lab(None, None);
    lab.run_until(END);
    let mut reset = Packet::new(FLOW, HOSTS[1], HOSTS[0], 40);
    reset.flags = Flags::RST;
    lab.inject(0, reset);
    lab.run_until(END + ROUND);
    says_so(&lab);
}
