//! Senders whose application pauses, or hands over less than the window has room for: RFC 5681, §4.1; RFC 7661; RFC
//! 9438, §5.8.

use midpath_core::units::Time;
use proptest::prelude::*;

use super::harness::{Lab, LabOf, MSS, Setup, lose_segments};
use crate::tcp::cubic::CubicParams;
use crate::tcp::dctcp::DctcpParams;
use crate::tcp::fixed::FixedWindowParams;
use crate::tcp::newreno::{NewRenoConfig, NewRenoParams};
use crate::tcp::prague::PragueParams;
use crate::transport::cc::AssistedConfig;
use crate::transport::{TcpParams, TcpTable};

const MS: fn(u64) -> Time = Time::from_ms;

/// A connection with an application that hands over a million segments and more.
fn lab<T: TcpTable>(table: T) -> LabOf<T::Config>
where
    T::Config: AssistedConfig,
{
    let (tcp, control) = table.split().expect("valid");
    let setup = Setup { size: None, ..Setup::default() };
    let mut lab = Lab::new(setup, tcp, control).treat(lose_segments(&[300]));
    lab.give(0);
    lab
}

/// The window before a pause of `pause`, what leaves in the first round trip (100 ms) after it, and the window ten round
/// trips later.
fn around<T: TcpTable>(table: T, busy: Time, pause: Time) -> [u64; 3]
where
    T::Config: AssistedConfig,
{
    let mut lab = lab(table);
    let mut given = 0;
    // A busy application: there is always more than the window has room for.
    while lab.now < busy {
        given = given.max(lab.sender().progress() + 1000 * MSS);
        lab.give(given);
        lab.run_until(lab.now + MS(100));
    }
    // It stops, and what it has handed over drains: the pause begins within half a second of that.
    let mut rounds = 0;
    while lab.is_sending() && rounds < 1_000 {
        lab.run_until(lab.now + MS(100));
        rounds += 1;
    }
    assert!(rounds < 1_000);
    let before = lab.sender().window().cwnd / MSS;
    lab.run_until(lab.now + pause);
    let sent = lab.data().count() as u64;
    lab.give(given + 100_000 * MSS);
    lab.run_until(lab.now + MS(99));
    let first = lab.data().count() as u64 - sent;
    lab.run_until(lab.now + MS(1001));
    [before, first, lab.sender().window().cwnd / MSS]
}

/// After more than the timeout (1 s here) TCPs begin again with the restart window, and are back at three quarters of what
/// they had within ten round trips. A shorter pause changes nothing.
#[test]
fn a_pause_longer_than_the_timeout_restarts_the_window() {
    fn check<T: TcpTable>(name: &str, table: impl Fn() -> T)
    where
        T::Config: AssistedConfig,
    {
        for pause in [MS(1_100), Time::from_secs(10), Time::from_secs(1000)] {
            let [before, first, after] = around(table(), Time::from_secs(6), pause);
            let told = format!("{name}, {pause}: {before}, {first}, {after}");
            assert!(before > 40, "else this tests nothing: {told}");
            assert_eq!(first, 10, "{told}");
            assert!(4 * after + 4 >= 3 * before && after <= before + before / 8, "{told}");
        }
        let [before, first, _] = around(table(), Time::from_secs(6), MS(100));
        // Prague's packets are paced over the round trip.
        assert!(10 * first >= 7 * before, "{name}: a short pause changes nothing: {before}, {first}");
    }
    check("newreno", NewRenoParams::default);
    check("cubic", CubicParams::default);
    check("dctcp", DctcpParams::default);
    check("prague", PragueParams::default);
}

/// A window that never moves doesn't here, either.
#[test]
fn a_fixed_window_stays() {
    let [before, first, after] = around(FixedWindowParams::default(), Time::from_secs(20), Time::from_secs(10));
    assert_eq!([before, first, after], [45; 3]);
}

/// RFC 9438, §5.8: the cubic grows by the time in which the window was needed. Ten round trips after a pause it is where
/// ten busy round trips would have brought it, or below, never beyond.
#[test]
fn cubic_grows_by_busy_time_alone() {
    let [before, _, without] = around(CubicParams::default(), Time::from_secs(6), MS(10));
    for pause in [MS(500), MS(900), Time::from_secs(2), Time::from_secs(100), Time::from_secs(1000)] {
        let [_, _, after] = around(CubicParams::default(), Time::from_secs(6), pause);
        assert!(after <= without + 2, "{pause}: {before} grew to {after}, without a pause to {without}");
    }
}

/// RFC 7661, §4.4.3: where half of the window is not needed for five minutes, it is halved, down to the initial window.
#[test]
fn a_window_that_is_not_needed_shrinks() {
    let mut lab = Lab::new(Setup { size: None, ..Setup::default() }, TcpParams::default(), NewRenoConfig);
    lab.give(290 * MSS);
    lab.run_until(MS(900));
    let before = lab.sender().window().cwnd / MSS;
    assert!(before > 100, "{before}");
    let mut given = 290;
    let mut halvings = Vec::new();
    for second in 0..1300 {
        for _ in 0..2 {
            given += 4;
            lab.give(given * MSS);
            lab.run_until(lab.now + MS(500));
        }
        let now = lab.sender().window().cwnd / MSS;
        if halvings.last().is_none_or(|(_, last)| *last != now) {
            halvings.push((second, now));
        }
    }
    assert!(halvings.len() >= 3, "{halvings:?}");
    for pair in halvings.windows(2) {
        let ((from, old), (to, new)) = (pair[0], pair[1]);
        assert!(new >= (old / 2).min(old - 1) && new < old && (to - from >= 299 || from == 0), "{halvings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::harness::cases(32)))]

    /// Whatever an application does, the window is not more than it would be had it been busy for as long, no burst is
    /// larger than the window, and after more than a timeout none larger than the restart window.
    #[test]
    fn pauses_open_no_window(steps in prop::collection::vec((1u64..400, 1u64..5_000), 3..14)) {
        let (tcp, control) = (TcpParams::default(), NewRenoConfig);
        let mut lab = Lab::new(Setup { size: None, ..Setup::default() }, tcp, control);
        lab.give(0);
        let mut given = 0;
        for (segments, pause) in steps {
            given += segments * MSS;
            let sent = lab.data().count() as u64;
            let window = lab.sender().window().cwnd / MSS;
            lab.give(given);
            let burst = lab.data().count() as u64 - sent;
            prop_assert!(burst <= window.max(10), "{} of {}", burst, window);
            lab.run_until(lab.now + MS(pause));
            if pause > 3_000 && lab.sender().flight() == 0 {
                let sent = lab.data().count() as u64;
                given += 1000 * MSS;
                lab.give(given);
                let first = lab.data().count() as u64 - sent;
                prop_assert!(first <= 10, "{} after {} ms", first, pause);
                lab.run_until(lab.now + Time::from_secs(3));
            }
        }
    }
}
