//! A consumer's use of returned rates: the rule for Data and Nacks, and the Interest rate on each path.

use super::params::{Sending, Split};
use crate::icn::header::Stamps;

/// The rates that a path offers, as its consumer knows them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PathRates {
    known: Option<Stamps>,
}

/// Whether a pair of rates can be what links have stamped; peers are hostile.
fn believable(stamps: Stamps) -> bool {
    [stamps.primary, stamps.secondary].iter().all(|rate| rate.is_finite() && *rate >= 0.0)
}

impl PathRates {
    /// Called with the rates of Data of this path: they are applied at once, without smoothing
    /// (§3.1).
    pub fn on_data(&mut self, stamps: Stamps) {
        if believable(stamps) {
            self.known = Some(stamps);
        }
    }

    /// Called with the rates of a Nack of this path: they are of a part of it, so each is taken
    /// only if it is smaller (§3.1). A path without Data so far stays unknown.
    pub fn on_nack(&mut self, stamps: Stamps) {
        if believable(stamps) {
            self.known = self.known.map(|known| known.least(stamps));
        }
    }

    /// The rates, if Data have come back.
    pub fn get(self) -> Option<Stamps> {
        self.known
    }
}

/// How much to ask for on each of a flow's paths, by class, in bits of Data per second.
pub fn demands(sending: Sending, split: Split, paths: &[Stamps]) -> impl Iterator<Item = Stamps> {
    let best = best_subflow_rate(paths);
    let sum: f64 = paths.iter().map(|path| path.primary).sum();
    let even = if sum > 0.0 { best / sum } else { 0.0 };
    let bounds = if split == Split::Links && paths.len() > 1 { link_bounds(paths) } else { Vec::new() };
    let part = if bounds.is_empty() { even } else { within_bounds(best, paths, &bounds) };
    paths.iter().enumerate().map(move |(i, path)| {
        let share = path.primary * bounds.get(i).map_or(part, |bound| part.min(*bound));
        match sending {
            Sending::DualClass => Stamps { primary: share, secondary: secondary(split, *path, share) },
            Sending::BestSubflow => Stamps { primary: share, secondary: 0.0 },
            Sending::TotalPerSubflow => Stamps { primary: path.primary, secondary: 0.0 },
        }
    })
}

/// A path's secondary rate. By the text R_s.
///
/// Ours: no path carries more than R_p with both classes. At rest none does: a link without limit for the primary class
/// stamps R_p = ηC, which both classes together fill, and any other leaves the secondary class nothing. But an idle
/// link stamps ηC for each class, and flows that ask for both overload it for a round trip.
fn secondary(split: Split, path: Stamps, share: f64) -> f64 {
    match split {
        Split::Links => path.secondary,
        Split::Paths => path.secondary.min(path.primary - share),
    }
}

/// Stamps that differ by less are taken for one link's, told at two times. Ours: what R changes by in
/// an interval near its rest.
const SAME_STAMP: f64 = 0.05;

/// §4.3: "no link carry more than their stamping rate". What part of its rate each path may carry.
///
/// A consumer knows paths and not their links; the least stamp of a path is that of one link. So paths
/// with one stamp are taken to share the link that gave it. Where they don't, the flow's best path
/// carries more of the same sum.
fn link_bounds(paths: &[Stamps]) -> Vec<f64> {
    let bound = |path: &Stamps| {
        let near = |other: &&Stamps| (other.primary - path.primary).abs() <= SAME_STAMP * path.primary;
        let (sum, most) = paths
            .iter()
            .filter(near)
            .fold((0.0, 0.0_f64), |(sum, most), other| (sum + other.primary, most.max(other.primary)));
        if sum > 0.0 { most / sum } else { 0.0 }
    };
    paths.iter().map(bound).collect()
}

/// The part of their rates that the paths carry which their links leave it: together all carry `best`.
fn within_bounds(best: f64, paths: &[Stamps], bounds: &[f64]) -> f64 {
    let mut part = 0.0;
    // Each round finds another path at its bound, or none.
    for _ in 0..=paths.len() {
        let (mut bound, mut free) = (0.0, 0.0);
        for (path, most) in paths.iter().zip(bounds) {
            if *most <= part { bound += path.primary * most } else { free += path.primary }
        }
        if free <= 0.0 {
            break;
        }
        let next = ((best - bound) / free).max(part);
        if next <= part {
            break;
        }
        part = next;
    }
    part
}

/// §4.1: "the largest rate of any of the flow's subflows".
///
/// It is split in proportion to the paths' rates (§4.3). No path gets more than its own rate then.
fn best_subflow_rate(paths: &[Stamps]) -> f64 {
    paths.iter().map(|path| path.primary).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mircc::params::MirccParams;
    use proptest::prelude::*;

    fn stamps(primary: f64, secondary: f64) -> Stamps {
        Stamps { primary, secondary }
    }

    #[test]
    fn data_set_the_rates_and_nacks_only_lower_them() {
        let mut path = PathRates::default();
        path.on_nack(stamps(1.0, 1.0));
        assert_eq!(path.get(), None);
        path.on_data(stamps(5.0, 2.0));
        path.on_nack(stamps(4.0, 3.0));
        assert_eq!(path.get(), Some(stamps(4.0, 2.0)));
        path.on_data(stamps(6.0, 1.0));
        assert_eq!(path.get(), Some(stamps(6.0, 1.0)));
    }

    #[test]
    fn rates_that_no_link_stamps_are_not_believed() {
        let mut path = PathRates::default();
        path.on_data(stamps(5.0, 2.0));
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            path.on_data(stamps(bad, 1.0));
            path.on_nack(stamps(1.0, bad));
        }
        assert_eq!(path.get(), Some(stamps(5.0, 2.0)));
    }

    #[test]
    fn the_strategies_on_the_slingshot() {
        // §4.4, figure 6 with η = 1: paths of 12 and 9 Mbit/s, 1.5 of secondary rate each.
        let paths = [stamps(12.0, 1.5), stamps(9.0, 1.5)];
        let totals = |sending| {
            let sum: Vec<Stamps> = demands(sending, Split::Links, &paths).collect();
            (sum.iter().map(|d| d.primary).sum::<f64>(), sum.iter().map(|d| d.secondary).sum::<f64>())
        };
        assert_eq!(totals(Sending::DualClass), (12.0, 3.0));
        assert_eq!(totals(Sending::BestSubflow), (12.0, 0.0));
        assert_eq!(totals(Sending::TotalPerSubflow), (21.0, 0.0));
        let first = demands(Sending::DualClass, Split::Links, &paths).next().expect("two paths");
        assert!((first.primary - 12.0 * 12.0 / 21.0).abs() < 1e-12);
    }

    #[test]
    fn paths_that_offer_nothing_get_nothing() {
        let paths = [stamps(0.0, 0.0); 2];
        assert!(demands(Sending::DualClass, Split::Links, &paths).all(|d| d == stamps(0.0, 0.0)));
    }

    /// Two paths over a link of 4 Mbit/s, which is stamped 4, beside one of 10.
    #[test]
    fn a_link_that_two_paths_share_gets_no_more_than_its_rate() {
        let paths = [stamps(10.0, 0.0), stamps(4.0, 0.0), stamps(4.0, 0.0)];
        let asked = |split| demands(Sending::DualClass, split, &paths).map(|d| d.primary).collect::<Vec<f64>>();
        assert_eq!(asked(Split::Links), [6.0, 2.0, 2.0]);
        let text: f64 = asked(Split::Paths)[1..].iter().sum();
        assert!((text - 10.0 * 8.0 / 18.0).abs() < 1e-12, "{text}");
        // Told at two times.
        let asked: Vec<f64> =
            demands(Sending::DualClass, Split::Links, &[stamps(10.0, 0.0), stamps(4.1, 0.0), stamps(4.0, 0.0)])
                .map(|d| d.primary)
                .collect();
        assert!((asked[1] + asked[2] - 4.1).abs() < 1e-12, "{asked:?}");
    }

    #[test]
    fn no_path_carries_more_than_its_rate_with_both_classes() {
        let asked = |split, paths: &[Stamps]| demands(Sending::DualClass, split, paths).collect::<Vec<Stamps>>();
        // An idle link stamps ηC for each class.
        let idle = [stamps(9.5, 9.5)];
        assert_eq!(asked(MirccParams::default().split, &idle), [stamps(9.5, 0.0)]);
        assert_eq!(asked(Split::Links, &idle), [stamps(9.5, 9.5)], "the text");
        // What a path's share leaves is for the secondary class, as far as that has a rate.
        let both = [stamps(12.0, 9.0), stamps(6.0, 1.5)];
        assert_eq!(asked(Split::Paths, &both), [stamps(8.0, 4.0), stamps(4.0, 1.5)]);
    }

    proptest! {
        /// §4.3: "no path … more than their stamping rate", and the flow gets its best path's rate.
        #[test]
        fn no_path_gets_more_than_its_rate(
            rates in prop::collection::vec(1e-3..1e9f64, 1..9), shared in 1..4usize, links in any::<bool>(),
        ) {
            let rates: Vec<f64> = rates.into_iter().flat_map(|rate| std::iter::repeat_n(rate, shared)).collect();
            let paths: Vec<Stamps> = rates.iter().map(|r| stamps(*r, 0.0)).collect();
            let split = if links { Split::Links } else { Split::Paths };
            let asked: Vec<f64> = demands(Sending::BestSubflow, split, &paths).map(|d| d.primary).collect();
            prop_assert!(asked.iter().zip(&rates).all(|(a, r)| *a <= r * (1.0 + 1e-12)));
            let best = rates.iter().copied().fold(0.0, f64::max);
            prop_assert!((asked.iter().sum::<f64>() / best - 1.0).abs() < 1e-9);
            for (rate, asked) in rates.iter().zip(&asked).filter(|_| links) {
                prop_assert!(*asked <= rate / shared as f64 * (1.0 + 2.0 * SAME_STAMP), "of {shared} paths over one link");
            }
        }
    }
}
