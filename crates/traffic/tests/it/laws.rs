//! Samplers against the closed forms of their laws.

use midpath_core::units::Bytes;
use midpath_traffic::{BUILT_IN_CDFS, EmpiricalCdf, SizeSpec};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const DRAWS: usize = 100_000;

fn draw(spec: &SizeSpec, seed: u64) -> Vec<f64> {
    let sampler = spec.sampler("".into()).expect("valid");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..DRAWS).map(|_| sampler.sample(&mut rng).as_f64()).collect()
}

/// The Kolmogorov–Smirnov distance of drawn sizes from a law. Sizes are whole bytes: the law is
/// asked half a byte further.
fn distance(mut sizes: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sizes.sort_by(f64::total_cmp);
    let n = sizes.len() as f64;
    // At each distinct size, the share of draws up to and including it.
    let last = (0..sizes.len()).filter(|i| sizes.get(i + 1) != Some(&sizes[*i]));
    last.map(|i| ((i + 1) as f64 / n - cdf(sizes[i] + 0.5)).abs()).fold(0.0, f64::max)
}

/// The distance that one in a thousand true samples exceeds: 1.95 / √n.
fn bound() -> f64 {
    1.95 / (DRAWS as f64).sqrt()
}

fn assert_law(spec: &SizeSpec, cdf: impl Fn(f64) -> f64) {
    for seed in 1..=3 {
        let d = distance(draw(spec, seed), &cdf);
        assert!(d < bound(), "{spec:?}: {d} with seed {seed}");
    }
}

fn assert_mean(spec: &SizeSpec, mean: f64, standard_deviation: f64) {
    let stated = spec.sampler("".into()).expect("valid").mean();
    assert!((stated / mean - 1.0).abs() < 1e-9, "{spec:?}: {stated} stated, {mean} by formula");
    let drawn = draw(spec, 1).iter().sum::<f64>() / DRAWS as f64;
    let error = 4.0 * standard_deviation / (DRAWS as f64).sqrt();
    assert!((drawn - mean).abs() < error, "{spec:?}: {drawn} drawn, {mean} ± {error} by formula");
}

/// ∫ x dF by the midpoint rule over the quantile function.
fn mean_of(quantile: impl Fn(f64) -> f64) -> f64 {
    let n = 2_000_000;
    (0..n).map(|i| quantile((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n)
}

#[test]
fn pareto() {
    let spec = |shape| SizeSpec::Pareto { mean: Bytes(30_000), shape };
    for shape in [1.2, 1.5, 2.5, 4.0] {
        let least = 30_000.0 * (shape - 1.0) / shape;
        assert_law(&spec(shape), |x| 1.0 - (least / x).powf(shape).min(1.0));
    }
    // Variance: least² · shape / ((shape − 1)² (shape − 2)), for shape above 2.
    let least: f64 = 30_000.0 * 3.0 / 4.0;
    assert_mean(&spec(4.0), 30_000.0, least * (4.0f64 / (9.0 * 2.0)).sqrt());
}

#[test]
fn bounded_pareto() {
    let (min, max) = (1_000.0f64, 1_000_000.0f64);
    for shape in [0.5, 1.0, 1.2, 2.0, 3.3] {
        let spec = SizeSpec::BoundedPareto { shape, min: Bytes(1_000), max: Bytes(1_000_000) };
        let cut = 1.0 - (min / max).powf(shape);
        assert_law(&spec, |x| ((1.0 - (min / x).powf(shape)) / cut).clamp(0.0, 1.0));
        assert!(draw(&spec, 9).iter().all(|x| (min..=max).contains(x)));
        let quantile = |u: f64| min * (1.0 - u * cut).powf(-1.0 / shape);
        let mean = spec.sampler("".into()).expect("valid").mean();
        assert!((mean / mean_of(quantile) - 1.0).abs() < 1e-4, "{shape}: {mean}");
        let second = mean_of(|u| quantile(u).powi(2));
        assert_mean(&spec, mean, (second - mean * mean).sqrt());
    }
}

#[test]
fn exponential_and_fixed() {
    let spec = SizeSpec::Exponential { mean: Bytes(50_000) };
    assert_law(&spec, |x| 1.0 - (-x / 50_000.0).exp());
    assert_mean(&spec, 50_000.0, 50_000.0);
    assert!(draw(&SizeSpec::Fixed { size: Bytes(7) }, 1).iter().all(|x| *x == 7.0));
}

#[test]
fn log_normal() {
    let sigma = 1.3f64;
    let by_median = SizeSpec::LogNormal { mean: None, median: Some(Bytes(20_000)), sigma };
    let mean = 20_000.0 * (sigma * sigma / 2.0).exp();
    assert_mean(&by_median, mean, mean * ((sigma * sigma).exp() - 1.0).sqrt());
    let mut sizes = draw(&by_median, 1);
    sizes.sort_by(f64::total_cmp);
    // Quantiles of the normal law: Φ⁻¹ of 0.1587 and 0.8413 is −1 and 1. One draw's share has
    // deviation √(pq/n) = 0.0012, which at the density there (φ(1) = 0.242) is 0.5 % of sigma; the
    // bound is 3 % in size.
    for (share, z) in [(0.158_655, -1.0), (0.5, 0.0), (0.841_345, 1.0)] {
        let got = sizes[(share * DRAWS as f64) as usize];
        let wanted = 20_000.0 * (z * sigma).exp();
        assert!((got / wanted - 1.0).abs() < 0.03, "{share}: {got} instead of {wanted}");
    }
    let by_mean = SizeSpec::LogNormal { mean: Some(Bytes(100_000)), median: None, sigma: 0.5 };
    assert_mean(&by_mean, 100_000.0, 100_000.0 * (0.25f64.exp() - 1.0).sqrt());
}

#[test]
fn the_shipped_distributions() {
    for (name, _) in BUILT_IN_CDFS {
        let cdf = EmpiricalCdf::built_in(name).expect(name);
        let points = cdf.points().to_vec();
        let spec = SizeSpec::Cdf { name: Some((*name).to_owned()), file: None, unit: None };
        let law = |x: f64| {
            let above = points.partition_point(|p| p.0 <= x);
            let Some(&(x1, p1)) = points.get(above) else { return 1.0 };
            let (x0, p0) = if above == 0 { return 0.0 } else { points[above - 1] };
            p0 + (p1 - p0) * (x - x0) / (x1 - x0)
        };
        assert_law(&spec, law);
    }
}
