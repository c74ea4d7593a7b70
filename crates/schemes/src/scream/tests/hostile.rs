//! Feedback that nobody authenticates: whatever it says, windows, rates and what is in flight keep their bounds. Two
//! families: `any`, reports of arbitrary numbers, times and marks; `near`, reports of what was sent, with holes, marks,
//! repetitions and times that jump.

use midpath_core::packet::{Ecn, FlowId, NodeId};
use midpath_core::roles::FlowSpec;
use midpath_core::units::Time;
use proptest::prelude::*;

use super::super::params::{ScreamEcn, ScreamParams};
use super::super::window::MIN_REF_WND;
use crate::calls::feedback::{Arrival, Report};
use crate::calls::sender::Sender;
use crate::testing::cases;

#[derive(Debug, Clone)]
enum Step {
    /// So many microseconds go.
    Wait(u64),
    /// Up to so many data units of so many bytes are sent.
    Send(u8, u32),
    /// A frame is encoded, of a size over the target's.
    Frame(f64),
    Report(u16, Vec<Option<(u32, u8)>>, u32),
    /// The same from so many below the next one.
    Near(u16, Vec<Option<(u32, u8)>>, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let blocks = || prop::collection::vec(prop::option::weighted(0.8, (any::<u32>(), 0u8..4)), 1..40);
    let step = prop_oneof![
        4 => (1u64..200_000).prop_map(Step::Wait),
        1 => (1u64..90_000_000).prop_map(Step::Wait),
        4 => (1u8..40, 13u32..1001).prop_map(|(count, size)| Step::Send(count, size)),
        2 => (0.0f64..100.0).prop_map(Step::Frame),
        1 => (any::<u16>(), blocks(), any::<u32>()).prop_map(|(begin, blocks, at)| Step::Report(begin, blocks, at)),
        6 => (0u16..60, blocks(), any::<u32>()).prop_map(|(below, blocks, at)| Step::Near(below, blocks, at)),
    ];
    prop::collection::vec(step, 1..300)
}

fn params() -> impl Strategy<Value = ScreamParams> {
    let ecn = prop_oneof![Just(ScreamEcn::Off), Just(ScreamEcn::Classic), Just(ScreamEcn::L4s)];
    (ecn, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(ecn, reduce_jitter, competing_flows, tolerant)| {
        let loss_threshold = if tolerant { 0.01 } else { 0.0 };
        ScreamParams { ecn, reduce_jitter, competing_flows, loss_threshold, ..ScreamParams::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), ..ProptestConfig::default() })]
    #[test]
    fn bounds_hold_whatever_feedback_says(params in params(), steps in steps()) {
        let mut sender = Sender::new(&FlowSpec::new(FlowId(0), NodeId(0), NodeId(1)), &params, 28);
        let mut now = Time::from_secs(1);
        for step in steps {
            let arrivals = |blocks: Vec<Option<(u32, u8)>>| {
                blocks.into_iter().map(|b| b.map(|(at, ecn)| Arrival { at, ecn: Ecn::from_bits(ecn) })).collect()
            };
            match step {
                Step::Wait(us) => now += Time::from_us(us),
                Step::Send(count, size) => for _ in 0..count {
                    if sender.leaves_at(size) > now {
                        break;
                    }
                    let within = sender.fits(size);
                    sender.on_sent(size, 0, now);
                    // Beyond the window one data unit in half a second.
                    prop_assert!(!within || sender.in_flight() <= 3.0 * sender.control.ref_wnd());
                },
                Step::Frame(over) => sender.control.media.on_frame(over / 100.0, 0.033, over * 1000.0),
                Step::Report(begin, blocks, at) => {
                    sender.on_report(&Report { ssrc: 0, begin, blocks: arrivals(blocks), at }, now);
                }
                Step::Near(below, blocks, at) => {
                    let begin = (sender.next() as u16).wrapping_sub(below);
                    sender.on_report(&Report { ssrc: 0, begin, blocks: arrivals(blocks), at }, now);
                }
            }
            let (target, window) = (sender.control.media.target(), sender.control.ref_wnd());
            prop_assert!((params.min_rate.as_f64()..=params.max_rate.as_f64()).contains(&target), "{target}");
            prop_assert!(window >= MIN_REF_WND && window.is_finite(), "{window}");
            prop_assert!(sender.leaves_at(1000) < Time::MAX, "nothing will ever be sent");
        }
    }
}
