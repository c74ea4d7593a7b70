//! The first timeout beside the round trip: far shorter, or far longer. A flow that loses what a rule can
//! find without knowing the path ends three round trips later at most than one that loses nothing.

use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

use crate::inrpp::endpoint::Ends;
use crate::inrpp::params::Params;
use crate::tcp::tests::harness::{Fate, Lab, MSS, Sent, Setup, cases};

/// Round trips that all may take longer: one of silence beyond the first, as the first segment is repeated
/// after two; one until that is heard of, one in which what it has overtaken may be late, and a tenth for
/// segments' own time.
const MORE: f64 = 4.1;
/// Where nothing is lost, or nothing but the first segment.
const FEW: f64 = 3.1;

/// A flow of so many segments over a path with this round trip, which loses all data that leave in the
/// first so many round trips after the first of them.
#[derive(Debug, Clone, Copy)]
struct Case {
    trip: Time,
    segments: u64,
    initial_rto: Time,
    min_rto: Time,
    lost: f64,
}

impl Case {
    /// In how many round trips the receiver has all.
    fn trips(self) -> f64 {
        let params = Params { initial_rto: Some(self.initial_rto), min_rto: self.min_rto, ..Params::default() };
        // A segment's own time is a hundredth of the round trip.
        let rate = Rate((MSS as f64 * 8.0 * 100.0 / self.trip.as_secs_f64()) as u64);
        let setup = Setup { size: Some(self.segments * MSS), delay: Time(self.trip.0 / 2), rate, ..Setup::default() };
        let (lost, mut begun) = (self.trip.mul_f64(self.lost), None);
        let fate = move |sent: &Sent| {
            let loses = sent.is_data() && sent.at < begun.get_or_insert(sent.at).saturating_add(lost);
            if loses { Fate::Lose } else { Fate::Pass }
        };
        let mut lab = Lab::new(setup, params.tcp(), Ends::new(&params)).treat(fate);
        lab.run();
        lab.report().completed.map_or(f64::INFINITY, |at| at.as_secs_f64() / self.trip.as_secs_f64())
    }

    fn at_leisure(self) -> f64 {
        let times = Case { initial_rto: Time::from_secs(60), min_rto: Time::from_secs(1), lost: 0.0, ..self };
        times.trips()
    }
}

fn seconds(exponent: f64) -> Time {
    Time((10f64.powf(exponent) * 1e12) as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Nothing is lost, and the timer expires up to ten thousand times before the first answer could have
    /// come.
    #[test]
    fn one_shorter_than_the_round_trip_changes_little(
        trip in -6.0..1.0f64, shorter in 0.0..4.0f64, least in 0.0..4.0f64, segments in 1u64..60,
    ) {
        let (first, least) = (seconds(trip - shorter), seconds(trip - least));
        let case = Case { trip: seconds(trip), segments, initial_rto: first, min_rto: least, lost: 0.0 };
        let (found, leisure) = (case.trips(), case.at_leisure());
        prop_assert!(found <= leisure + FEW, "{found} round trips, not {leisure}");
    }

    /// The first segment is lost, or all that leave in the first half of a round trip, with a first timeout
    /// that is longer or shorter.
    #[test]
    fn none_decides_when_the_first_data_are_lost(
        trip in -6.0..1.0f64, first in -4.0..4.0f64, segments in 1u64..60, lost in prop::option::of(0.1..0.5f64),
    ) {
        let first = seconds((trip + first).min(1.7));
        let (least, some) = (first.max(Time::from_secs(1)), lost.unwrap_or(1e-4));
        let case = Case { trip: seconds(trip), segments, initial_rto: first, min_rto: least, lost: some };
        let (found, leisure, more) = (case.trips(), case.at_leisure(), lost.map_or(FEW, |_| MORE));
        prop_assert!(found <= leisure + more, "{found} round trips, not {leisure}");
    }
}
