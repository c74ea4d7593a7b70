//! Prague: codepoints, the estimate, and growth as if the round trip were 25 ms.

use midpath_core::packet::Ecn;
use midpath_core::units::{Rate, Time};

use super::harness::{Fate, Lab, LabOf, MSS, Setup};
use crate::tcp::prague::{PragueConfig, PragueParams};
use crate::transport::cc::CongestionController;
use crate::transport::ecn::EcnMode;
use crate::transport::{TcpParams, TcpTable};

fn prague(setup: Setup) -> LabOf<PragueConfig> {
    let (tcp, config) = PragueParams::default().split().expect("defaults are valid");
    Lab::new(setup, tcp, config)
}

#[test]
fn all_data_are_ect_1_and_nothing_else_is() {
    let mut n = 0;
    let setup = Setup { size: Some(60 * MSS), ..Setup::default() };
    let mut lab = prague(setup).treat(move |s| {
        n += u64::from(s.is_data());
        if s.is_data() && n == 20 { Fate::Lose } else { Fate::Pass }
    });
    lab.run();
    assert!(lab.log().iter().all(|s| s.packet.ecn == if s.is_data() { Ecn::Ect1 } else { Ecn::NotEct }));
    assert_eq!(lab.report().retransmitted, 1, "the repeat, too");
}

#[test]
fn ecn_other_than_accurate_is_refused() {
    for ecn in [EcnMode::Off, EcnMode::Classic] {
        let tcp = TcpParams { ecn: Some(ecn), ..TcpParams::default() };
        let error = PragueParams { tcp, ..PragueParams::default() }.split().expect_err("refused");
        assert!(error.key == "ecn" && error.message.contains("accurate"), "{error}");
    }
}

/// With each tenth packet marked alpha becomes a tenth.
#[test]
fn alpha_is_the_share_of_marked_packets() {
    let mut n = 0u64;
    let setup =
        Setup { size: Some(60_000 * MSS), delay: Time::from_ms(15), rate: Rate::from_mbps(100), ..Setup::default() };
    let mut lab = prague(setup).without_log().treat(move |s| {
        n += u64::from(s.is_data());
        if s.is_data() && n.is_multiple_of(10) { Fate::Mark } else { Fate::Pass }
    });
    lab.run();
    let sender = lab.sender();
    let (prague, window) = (sender.control(), sender.window());
    assert!((prague.alpha() - 0.1).abs() < 0.03, "{}", prague.alpha());
    // It paces at the window per round trip, headers counted.
    let rate = prague.pacing_rate(window, Time::from_ms(30)).expect("a rate").as_f64();
    let gain = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.0 };
    assert!((rate * 0.030 / 8.0 / (gain * window.cwnd as f64) - 1500.0 / MSS as f64).abs() < 0.01, "{rate}");
}
