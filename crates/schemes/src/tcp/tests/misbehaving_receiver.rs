//! Receivers that do not comply (`receiver/misbehaving.rs`).

use midpath_core::units::Time;

use super::harness::{Lab, LabOf, MSS, Setup, lose_segments, repeats};
use crate::tcp::newreno::NewRenoConfig;
use crate::transport::TcpParams;
use crate::transport::params::GrowthRule;
use crate::transport::params::MisbehavingReceiver;

const RTT: Time = Time::from_ms(100);

/// Segments that are sent in the first four round trips.
fn sent(tcp: TcpParams) -> usize {
    let mut lab: LabOf<NewRenoConfig> =
        Lab::new(Setup { size: Some(4000 * MSS), ..Setup::default() }, tcp, NewRenoConfig);
    lab.run();
    let start = lab.data().next().expect("data were sent").at;
    lab.data().filter(|s| s.at - start < RTT * 4).count()
}

#[test]
fn divided_acks_open_the_window_of_who_counts_acks_alone() {
    let with = |receiver, growth| sent(TcpParams { receiver, growth, ..TcpParams::default() });
    let lies = Some(MisbehavingReceiver::DividesAcks);
    assert_eq!(with(lies, GrowthRule::Abc), with(None, GrowthRule::Abc));
    // RFC 5681, equation (2), bounds what an ACK adds by what it acknowledges: as an ACK for each segment would.
    assert!(2 * with(lies, GrowthRule::PerAck) > 3 * with(None, GrowthRule::PerAck));
}

#[test]
fn optimistic_acks_hide_losses_and_the_flow_never_ends() {
    let tcp = TcpParams { receiver: Some(MisbehavingReceiver::OptimisticAcks), ..TcpParams::default() };
    let setup = Setup { size: None, stop: Some(Time::from_secs(1)), ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, NewRenoConfig).treat(lose_segments(&[20]));
    lab.run();
    let report = lab.report();
    // The FIN alone is repeated, in vain. (A gigabyte behind the hole would be beyond the receive window.)
    assert!(repeats(&lab).is_empty());
    assert!(report.completed.is_none());
    // What lies behind the hole is held, and never delivered.
    assert!(report.delivered < 21 * MSS && report.arrived > 100 * MSS, "{report:?}");
}
