//! Runs of the fluid bound against closed forms and a naive simulation.

use crate::common::{Problem, loads, problems};
use midpath_ideal::{
    Allocation, CapacityChange, FluidFlow, FluidOptions, FluidOutput, allocate_max_min, allocate_proportional, run,
    run_each,
};
use proptest::prelude::*;

fn flow(path: &[u32], size_bits: f64, start_s: f64) -> FluidFlow {
    FluidFlow { path: path.to_vec(), size_bits, start_s, ..FluidFlow::default() }
}

fn finish(output: &FluidOutput) -> Vec<f64> {
    output.flows.iter().map(|f| f.finish_s.unwrap_or(f64::INFINITY)).collect()
}

fn both() -> [FluidOptions; 2] {
    [Allocation::MaxMin, Allocation::Proportional]
        .map(|allocation| FluidOptions { allocation, ..FluidOptions::default() })
}

fn assert_times(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert!(got.iter().zip(wanted).all(|(a, b)| a == b || (a - b).abs() < tolerance), "{got:?} instead of {wanted:?}");
}

#[test]
fn three_flows_on_the_inrpp_dumbbell_take_22_seconds_on_average() {
    // 10 MB flows at 1, 2 and 3 s over 10 Mbps (core 100, access 40 Mbps). By hand: at 3 s 15 and 5
    // Mbit have been sent; A's other 65 take 19.5 s at a third; B has 10 left, 2 s at a half; C's
    // last 5 have the link alone. FCTs 21.5, 22.5, 22.
    let caps = [40e6, 40e6, 40e6, 100e6, 10e6, 100e6, 40e6, 40e6, 40e6];
    let flows: Vec<FluidFlow> = (0..3).map(|i| flow(&[i, 3, 4, 5, 6 + i], 80e6, 1.0 + f64::from(i))).collect();
    for options in both() {
        let output = run(&caps, &flows, &options).expect("valid");
        assert_times(&finish(&output), &[22.5, 24.5, 25.0], 1e-8);
        let mean = finish(&output).iter().zip(&flows).map(|(end, f)| end - f.start_s).sum::<f64>() / 3.0;
        assert!((mean - 22.0).abs() < 1e-8, "{mean}");
        assert!((output.link_bits[4] - 240e6).abs() < 1e-3);
        assert!((output.end_s - 25.0).abs() < 1e-8);
    }
}

#[test]
fn processor_sharing_on_one_link_by_hand() {
    // 1 Mbit/s. A: 3 Mbit at 0; B: 1 Mbit at 1; C, weight 2: 1 Mbit at 1. From 1 s shares are 1/4,
    // 1/4, 1/2: C ends at 3 (A left 1.5, B left .5). Then halves: B ends at 4 (A left 1). A at 5.
    let mut flows = vec![flow(&[0], 3e6, 0.0), flow(&[0], 1e6, 1.0), flow(&[0], 1e6, 1.0)];
    flows[2].weight = 2.0;
    flows[1].latency_s = 0.25;
    for options in both() {
        let output = run(&[1e6], &flows, &options).expect("valid");
        assert_times(&finish(&output), &[5.0, 4.25, 3.0], 1e-9);
        assert!((output.flows[1].mean_rate_bps - 1e6 / 3.25).abs() < 1e-3);
    }
}

#[test]
fn stops_limits_and_failures() {
    // 8 bit/s. A has no end and is limited to 2; B (18 bits) gets 6, from 1 s on only 3 (the link
    // falls to 5), none from 2 to 4 s, then 6 again: 6 + 3 + 0 + 9 at 5.5 s. A gives up at 5 s: B
    // gets 8 from then on: 6 + 3 + 6 + 3 at 5.375 s.
    let mut flows = vec![flow(&[0], f64::INFINITY, 0.0), flow(&[0], 18.0, 0.0)];
    (flows[0].cap_bps, flows[0].stop_s) = (2.0, 5.0);
    let change = |at_s, bps| CapacityChange { at_s, link: 0, bps };
    let changes = vec![change(4.0, 8.0), change(1.0, 5.0), change(2.0, 0.0)];
    for options in both() {
        let output = run(&[8.0], &flows, &FluidOptions { changes: changes.clone(), ..options }).expect("valid");
        assert_times(&finish(&output), &[f64::INFINITY, 5.375], 1e-9);
        assert!((output.flows[0].delivered_bits - 6.0).abs() < 1e-9, "{:?}", output.flows[0]);
        assert!((output.link_bits[0] - 24.0).abs() < 1e-9);
    }
}

#[test]
fn a_run_can_end_early_or_be_stuck() {
    let flows = [flow(&[0], 100.0, 0.0), flow(&[1], 1.0, 0.0), flow(&[0], 1.0, 20.0)];
    for options in both() {
        let output = run(&[5.0, 0.0], &flows, &FluidOptions { stop_s: 10.0, ..options.clone() }).expect("valid");
        assert_eq!(finish(&output), [f64::INFINITY; 3]);
        assert!((output.flows[0].delivered_bits - 50.0).abs() < 1e-9 && output.end_s == 10.0);
        assert_eq!((output.flows[1].delivered_bits, output.flows[2].delivered_bits), (0.0, 0.0));
        let output = run(&[5.0, 0.0], &flows, &options).expect("valid");
        assert!(output.flows[1].finish_s.is_none() && (output.end_s - 20.2).abs() < 1e-9);
    }
}

#[test]
fn equal_flows_end_together_in_one_event() {
    let flows: Vec<FluidFlow> = (0..1000).map(|_| flow(&[0], 1e6, 0.0)).collect();
    let output = run(&[1e9], &flows, &FluidOptions::default()).expect("valid");
    assert_eq!(output.events, 2);
    assert!(finish(&output).iter().all(|t| (t - 1.0).abs() < 1e-12));
}

#[test]
fn series_are_interval_means() {
    // 10 bit/s: A alone for 1 s, then with B (10 bits), in group 1, until 3 s, then alone until 4
    // s.
    let mut flows = vec![flow(&[0], 30.0, 0.0), flow(&[0], 10.0, 1.0)];
    flows[1].group = 1;
    for options in both() {
        let output = run(&[10.0], &flows, &FluidOptions { sample_s: Some(0.8), ..options }).expect("valid");
        let series = output.series.expect("asked for");
        let column = |rows: &[Vec<f64>], i: usize| rows.iter().map(|r| r[i]).collect::<Vec<f64>>();
        assert_times(&column(&series.link_bps, 0), &[10.0; 5], 1e-9);
        assert_times(&column(&series.group_bps, 1), &[0.0, 3.75, 5.0, 3.75, 0.0], 1e-9);
        assert_times(&column(&series.group_bps, 0), &[10.0, 6.25, 5.0, 6.25, 10.0], 1e-9);
    }
}

#[test]
fn mean_delay_of_mg1_processor_sharing_depends_on_the_mean_size_only() {
    // M/G/1-PS: E[T] = E[S] / (1 − ρ) for any law of sizes (Kleinrock, Queueing Systems II, §4.4).
    // ρ = 0.5, E[S] = 1 s. Sizes fixed, and of two points with the same mean. 40,000 arrivals of a
    // fixed seed; the tolerance of 4 % is ours.
    let mut state = 1u64;
    let mut uniform = || {
        // An LCG (Knuth's MMIX constants) is enough here and needs no dependency.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    for two_points in [false, true] {
        let (mut t, mut flows) = (0.0, Vec::new());
        for _ in 0..40_000 {
            t -= uniform().ln() / 0.5;
            let size = if !two_points {
                1.0
            } else if uniform() < 0.8 {
                0.5
            } else {
                3.0
            };
            flows.push(flow(&[0], size, t));
        }
        let output = run(&[1.0], &flows, &FluidOptions::default()).expect("valid");
        let total: f64 = finish(&output).iter().zip(&flows).map(|(end, f)| end - f.start_s).sum();
        assert!((total / 40_000.0 - 2.0).abs() < 0.08, "{}", total / 40_000.0);
    }
}

/// The same fluid, simulated without classes, heaps or updates: all rates from scratch at every
/// event.
fn naive(p: &Problem, flows: &[FluidFlow], allocation: Allocation) -> Vec<f64> {
    let (mut left, mut now) = (flows.iter().map(|f| f.size_bits).collect::<Vec<_>>(), 0.0);
    let mut ends = vec![f64::INFINITY; flows.len()];
    while ends.iter().any(|e| e.is_infinite()) {
        let on: Vec<usize> = (0..flows.len()).filter(|f| flows[*f].start_s <= now && ends[*f].is_infinite()).collect();
        let paths: Vec<&Vec<u32>> = on.iter().map(|f| &flows[*f].path).collect();
        let weights: Vec<f64> = on.iter().map(|f| flows[*f].weight).collect();
        let limits: Vec<f64> = on.iter().map(|f| flows[*f].cap_bps).collect();
        let rates = match allocation {
            Allocation::MaxMin => allocate_max_min(&p.caps, &paths, &weights, &limits).expect("valid"),
            Allocation::Proportional => allocate_proportional(&p.caps, &paths, &weights, &limits).expect("valid").rates,
        };
        let ending = on.iter().zip(&rates).map(|(f, r)| now + left[*f] / r).fold(f64::INFINITY, f64::min);
        let arriving = flows.iter().map(|f| f.start_s).filter(|s| *s > now).fold(f64::INFINITY, f64::min);
        let next = ending.min(arriving);
        for (f, rate) in on.iter().zip(&rates) {
            left[*f] -= rate * (next - now);
            if left[*f] <= flows[*f].size_bits * 1e-10 {
                ends[*f] = next;
            }
        }
        now = next;
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn runs_agree_with_the_naive_simulation(
        p in problems(),
        draws in proptest::collection::vec((1e5..1e8f64, 0.0..0.5f64), 40),
        proportional: bool,
    ) {
        let flows: Vec<FluidFlow> = (0..p.paths.len()).map(|i| FluidFlow {
            path: p.paths[i].clone(),
            size_bits: draws[i].0,
            // Some arrive together.
            start_s: if i % 3 == 0 { 0.1 } else { draws[i].1 },
            weight: p.weights[i],
            cap_bps: p.limits[i],
            ..FluidFlow::default()
        }).collect();
        let allocation = if proportional { Allocation::Proportional } else { Allocation::MaxMin };
        let output = run(&p.caps, &flows, &FluidOptions { allocation, ..FluidOptions::default() }).expect("valid");
        let tolerance = if proportional { 1e-4 } else { 1e-6 };
        for (got, wanted) in finish(&output).iter().zip(naive(&p, &flows, allocation)) {
            prop_assert!((got - wanted).abs() <= tolerance * wanted, "{} against {}", got, wanted);
        }
        let bits: Vec<f64> = flows.iter().map(|f| f.size_bits).collect();
        for (got, wanted) in output.link_bits.iter().zip(loads(&p, &bits)) {
            prop_assert!((got - wanted).abs() <= 1e-9 * wanted);
        }
        prop_assert!(output.residual < 1e-9, "residual {}", output.residual);
    }

    /// Few flows at a time, each over other links than the one before, numbered in any order: classes come and go, and
    /// their places are taken again.
    #[test]
    fn flows_that_come_and_go_agree_with_the_naive_simulation(
        p in problems(),
        draws in proptest::collection::vec((1e5..1e7f64, 0.0..20.0f64, 0..40usize), 80),
        proportional: bool,
    ) {
        let flows: Vec<FluidFlow> = draws.iter().map(|(size_bits, start_s, path)| FluidFlow {
            path: p.paths[path % p.paths.len()].clone(),
            size_bits: *size_bits,
            start_s: *start_s,
            weight: p.weights[path % p.paths.len()],
            cap_bps: p.limits[path % p.paths.len()],
            ..FluidFlow::default()
        }).collect();
        let allocation = if proportional { Allocation::Proportional } else { Allocation::MaxMin };
        let options = FluidOptions { allocation, ..FluidOptions::default() };
        let mut ends = vec![Vec::new(); flows.len()];
        run_each(&p.caps, flows.as_slice(), &options, |flow, outcome| ends[flow].push(outcome.finish_s)).expect("valid");
        let tolerance = if proportional { 1e-4 } else { 1e-6 };
        for (got, wanted) in ends.iter().zip(naive(&p, &flows, allocation)) {
            let [Some(got)] = got[..] else { return Err(TestCaseError::fail(format!("told {got:?}"))) };
            prop_assert!((got - wanted).abs() <= tolerance * wanted, "{} against {}", got, wanted);
        }
    }
}
