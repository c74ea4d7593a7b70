//! Controllers that move the window alone, below a segment, too, and hear of each packet lost.

use midpath_core::roles::FlowSpec;
use midpath_core::units::Time;

use super::harness::{Lab, MSS, Setup, lose_segments, repeats, rfc6675};
use crate::transport::TcpParams;
use crate::transport::cc::{
    Ack, Congestion, CongestionController, ControllerConfig, ControllerTraits, Lost, NetworkAssisted, Window,
};
use crate::transport::params::DelayedAck;

const MS: fn(u64) -> Time = Time::from_ms;

/// A window of so many bytes, whatever happens.
#[derive(Debug, Clone, Copy)]
struct Narrow(u64);

impl ControllerConfig for Narrow {
    type Controller = Narrow;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Narrow {
        *self
    }
    fn traits(&self) -> ControllerTraits {
        ControllerTraits { paced: true, initial_window: Some(1), ..ControllerTraits::default() }
    }
}

impl NetworkAssisted for Narrow {}

impl CongestionController for Narrow {
    const OWN_WINDOW: bool = true;
    fn on_delivery(&mut self, window: &mut Window, _ack: &Ack) {
        window.set(self.0);
    }
    fn on_loss(&mut self, _window: &Window, _congestion: &Congestion) -> u64 {
        self.0
    }
    fn on_rto(&mut self, _window: &Window, _congestion: &Congestion) -> u64 {
        self.0
    }
}

/// A round trip is 100 ms: half a segment is one in two round trips (with headers, 207 ms), and nothing
/// at all one in an RTO, here 1 s.
#[test]
fn less_than_a_segment_is_a_pace() {
    for (cwnd, gap) in [(MSS / 2, MS(207)), (0, MS(1000))] {
        let setup = Setup { size: Some(6 * MSS), ..Setup::default() };
        let mut lab = Lab::new(setup, TcpParams { delayed_ack: DelayedAck(1), ..TcpParams::default() }, Narrow(cwnd));
        lab.run();
        assert_eq!((lab.report().delivered, lab.report().timeouts), (6 * MSS, 0));
        let at: Vec<Time> = lab.data().map(|s| s.at).collect();
        let gaps: Vec<f64> = at.windows(2).skip(1).map(|w| (w[1] - w[0]).as_secs_f64()).collect();
        assert!(gaps.iter().all(|g| (g / gap.as_secs_f64() - 1.0).abs() < 0.02), "{cwnd}: {gaps:?}");
    }
}

/// NewReno's window, and what it is told of losses.
#[derive(Debug, Clone, Default)]
struct Told(Vec<Lost>);

impl ControllerConfig for Told {
    type Controller = Told;
    fn build(&self, _tcp: &TcpParams, _mss: u32, _flow: &FlowSpec) -> Told {
        Told::default()
    }
}

impl NetworkAssisted for Told {}

impl CongestionController for Told {
    const SAMPLES: bool = true;
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        window.grow(ack.acked as f64);
    }
    fn on_loss(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        congestion.flight / 2
    }
    fn on_rto(&mut self, _window: &Window, congestion: &Congestion) -> u64 {
        congestion.flight / 2
    }
    fn on_lost(&mut self, _window: &mut Window, lost: &Lost) {
        self.0.push(*lost);
    }
}

/// Each packet that is lost is told of once, whoever found out: SACK, duplicates, a partial ACK,
/// the end of a recovery, the timer. (What NextSeg's rules 3 and 4 repeat is a guess, and not told of.)
#[test]
fn each_packet_that_is_lost_is_told_of_once() {
    let losses: [&[u64]; 5] = [&[20], &[20, 22, 30], &[5, 6, 7, 40, 41], &[98, 99], &[10, 60, 61]];
    for sack in [true, false] {
        for lost in losses {
            let tcp = TcpParams { sack, ..rfc6675() };
            let mut lab = Lab::new(Setup::default(), tcp, Told::default()).treat(lose_segments(lost));
            lab.run();
            let told = lab.sender().control().0.clone();
            let bytes: u64 = told.iter().map(|l| l.bytes).sum();
            let again = repeats(&lab).len() as u64;
            // The FIN goes with the last segment. Without SACK more may be taken for lost than is.
            let (least, most) = (lost.len() as u64 * MSS, if sack { lost.len() as u64 } else { again } * MSS + 1);
            assert!((least..=most).contains(&bytes), "SACK {sack}, {lost:?}: told of {bytes}, {again} repeated");
            assert!(!told[0].follows, "SACK {sack}, {lost:?}: nothing was lost before it");
        }
    }
}
