//! The state machine with anything that a sender may say.

use midpath_core::rng::{Purpose, stream};
use midpath_core::units::Time;
use proptest::prelude::*;

use crate::bbr::constants as c;
use crate::bbr::controller::{Bbr, Total};
use crate::bbr::losses::{inflight_at_loss, is_inflight_too_high};
use crate::bbr::phases::Phase;
use crate::transport::cc::{Ack, Congestion, CongestionController, Lost, Opening, Pause, Sample, Window};

const MSS: u64 = 1448;
const MS: fn(u64) -> Time = Time::from_ms;

/// Something that happens to a connection.
#[derive(Debug, Clone)]
enum Event {
    /// An ACK of so many segments, so much later, whose newest packet was sent so many ACKs ago.
    Ack {
        segments: u64,
        later: u64,
        age: usize,
        rtt: Option<u64>,
        app_limited: bool,
        window_limited: bool,
        lost: u64,
    },
    Lost {
        segments: u64,
        app_limited: bool,
    },
    FastRecovery,
    Timeout,
    Recovered,
    Marks,
    Restart(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (1u64..20, 0u64..400, 0usize..12, proptest::option::of(1u64..900), any::<(bool, bool)>(), 0u64..4);
    prop_oneof![
        12 => ack.prop_map(|(segments, later, age, rtt, (app_limited, window_limited), lost)| Event::Ack {
            segments, later, age, rtt, app_limited, window_limited, lost
        }),
        2 => (1u64..4, any::<bool>()).prop_map(|(segments, app_limited)| Event::Lost { segments, app_limited }),
        1 => Just(Event::FastRecovery),
        1 => Just(Event::Timeout),
        2 => Just(Event::Recovered),
        1 => Just(Event::Marks),
        1 => (0u64..8000).prop_map(Event::Restart),
    ]
}

/// A connection that BBR is told of.
struct Told {
    bbr: Bbr,
    window: Window,
    now: Time,
    /// C.delivered after each ACK, and when.
    acks: Vec<(u64, Time)>,
}

impl Told {
    fn new(sack: bool, quanta: bool) -> Told {
        let (mut bbr, mut window) = (Bbr::new(MSS as u32, quanta), Window::new(10, MSS as u32));
        let rng = &mut stream(7, Purpose::Endpoints, 0);
        bbr.on_open(&mut window, &mut Opening { now: MS(40), srtt: MS(40), overhead: 52, sack, rng });
        Told { bbr, window, now: MS(40), acks: vec![(0, MS(40))] }
    }

    fn total(&self) -> u64 {
        self.acks.last().expect("the opening").0
    }

    fn ack(&mut self, segments: u64, later: u64, sample: Sample) {
        self.now += MS(later);
        self.acks.push((sample.total, self.now));
        let bytes = segments * MSS;
        let (now, srtt) = (self.now, MS(40));
        let (una, nxt) = (sample.total, sample.total + sample.pipe);
        let ack = Ack { now, acked: bytes, delivered: bytes, una, nxt, rtt: sample.rtt, srtt, ..Ack::default() };
        self.bbr.on_sample(&mut self.window, &ack, &sample);
    }

    fn happen(&mut self, event: Event) {
        let congestion = Congestion { now: self.now, flight: self.window.cwnd, ecn_reduced: false };
        match event {
            Event::Ack { segments, later, age, rtt, app_limited, window_limited, lost } => {
                let (prior, sent) = self.acks[self.acks.len().saturating_sub(1 + age)];
                let total = self.total() + segments * MSS;
                let interval = (self.now + MS(later)).saturating_sub(sent);
                let (in_flight, pipe) = (self.window.cwnd, self.window.cwnd / 2);
                let lost = lost * MSS;
                let rtt = rtt.map(MS);
                self.ack(
                    segments,
                    later,
                    Sample {
                        total,
                        prior,
                        interval,
                        rtt,
                        app_limited,
                        in_flight,
                        pipe,
                        lost,
                        newly_lost: 0,
                        window_limited,
                    },
                );
            }
            Event::Lost { segments, app_limited } => {
                let (now, bytes, total) = (self.now, segments * MSS, self.total());
                let in_flight = self.window.cwnd.max(bytes);
                let lost = Lost { now, bytes, in_flight, lost: bytes, total, app_limited, follows: false };
                self.bbr.on_lost(&mut self.window, &lost);
            }
            Event::FastRecovery => {
                let window = self.bbr.on_loss(&self.window, &congestion);
                self.window.set(window);
            }
            Event::Timeout => {
                let window = self.bbr.on_rto(&self.window, &congestion);
                self.window.set(window);
            }
            Event::Recovered => self.bbr.on_recovered(&mut self.window, self.now),
            Event::Marks => {
                let window = self.bbr.on_ecn(&self.window, &congestion);
                self.window.set(window);
            }
            Event::Restart(later) => {
                self.now += MS(later);
                let pause = Pause { now: self.now, idle: MS(later), rto: MS(200), initial: 10 * self.window.mss };
                self.bbr.on_restart(&mut self.window, &pause);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever a connection goes through: phases follow each other as in the draft's diagram (`enter`
    /// looks at each step), and what BBR sends by stays within what the draft says of it.
    #[test]
    fn anything_leads_along_the_diagram_and_leaves_what_it_sends_by_within_bounds(
        events in proptest::collection::vec(event(), 1..400), sack: bool, quanta: bool,
    ) {
        let mut told = Told::new(sack, quanta);
        for event in events {
            let (acked, timeout) = (matches!(event, Event::Ack { .. }), matches!(event, Event::Timeout));
            told.happen(event);
            let (bbr, cwnd) = (&told.bbr, told.window.cwnd);
            // "Minimum cwnd for Pipelining"; "Upon a retransmission timeout": one segment.
            let least = if acked { c::MIN_PIPE_CWND * MSS } else { MSS };
            prop_assert!(cwnd >= least);
            prop_assert!(!timeout || cwnd == MSS);
            prop_assert!(bbr.pacing_rate(&told.window, MS(40)).is_some_and(|r| r.0 > 0));
            // BoundBWForModel.
            prop_assert!(bbr.bw <= bbr.max_bw() || !acked);
            prop_assert!(bbr.inflight_longterm() >= 0.0 && bbr.inflight_shortterm() > 0.0);
            // A window that is capped by it reaches it: "C.cwnd >= BBR.inflight_longterm".
            prop_assert!(bbr.inflight_longterm() == f64::INFINITY || bbr.inflight_longterm().fract() == 0.0);
            // Probing for bandwidth begins without the short-term model, and ends with it unknown.
            if bbr.phase == Phase::Refill || bbr.phase == Phase::Up {
                prop_assert!(bbr.bw_shortterm() == f64::INFINITY && bbr.inflight_shortterm() == f64::INFINITY);
            }
            prop_assert!(bbr.full_bw_reached || !bbr.phase.is_probe_bw());
            prop_assert!(!quanta || bbr.quantum() >= 2 * MSS && bbr.quantum() <= c::MOST_QUANTUM);
            if acked && bbr.phase == Phase::ProbeRtt {
                prop_assert!(cwnd as f64 <= bbr.probe_rtt_cwnd());
            }
        }
    }

    /// InflightAtLoss solves the draft's inequality: with what it returns in flight, of which the rest of
    /// the packet is not, losses are exactly the threshold.
    #[test]
    fn the_volume_at_loss_is_where_losses_cross_the_threshold(prev in 1e4f64..1e7, lost in 0f64..100.0, size in 1f64..65e3) {
        let at = inflight_at_loss(prev + size, lost + size, size);
        let prefix = at - prev;
        prop_assert!(((lost + prefix) / at - c::LOSS_THRESH).abs() < 1e-9);
    }
}

#[test]
fn totals_are_compared_across_the_end_of_their_numbers() {
    for mark in [0, 1 << 31, (1 << 32) - 1, 7 << 32] {
        for apart in [1, 1448, (1 << 31) - 1] {
            assert!(Total::of(mark).is_reached(mark) && Total::of(mark).is_reached(mark + apart));
            assert!(!Total::of(mark + apart).is_reached(mark));
        }
    }
}

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss", and its pace does not
/// fall; three rounds that the path limits are a plateau.
#[test]
fn what_the_application_limits_says_nothing_of_the_path() {
    let mut told = Told::new(true, false);
    let round = |app_limited| Event::Ack {
        segments: 2,
        later: 40,
        age: 0,
        rtt: Some(40),
        app_limited,
        window_limited: false,
        lost: 0,
    };
    let pace = told.bbr.pacing_rate;
    (0..100).for_each(|_| told.happen(round(true)));
    assert_eq!((told.bbr.phase, told.bbr.pacing_rate), (Phase::Startup, pace));
    (0..4).for_each(|_| told.happen(round(false)));
    assert!(told.bbr.full_bw_reached && told.bbr.phase != Phase::Startup);
}

#[test]
fn without_sack_any_loss_is_too_much() {
    assert!(!is_inflight_too_high(1000.0, 100_000.0, true));
    assert!(is_inflight_too_high(2001.0, 100_000.0, true));
    assert!(is_inflight_too_high(1.0, 100_000.0, false));
    assert!(!is_inflight_too_high(0.0, 100_000.0, false));
}
