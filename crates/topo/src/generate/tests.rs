use super::*;
use crate::draft::MIN_DELAY;
use crate::graph::Topology;
use proptest::prelude::*;

pub(super) fn link() -> LinkParams {
    LinkParams::new(Rate::from_gbps(1), Time::from_ms(5))
}

pub(super) fn access() -> LinkParams {
    LinkParams::new(Rate::from_mbps(40), Time::from_ms(1))
}

pub(super) fn finish(draft: Draft) -> Topology {
    draft.finish(MIN_DELAY).expect("generated networks are valid")
}

#[test]
fn a_dumbbell_has_its_bottleneck_in_the_middle() {
    let bottleneck = LinkParams::new(Rate::from_mbps(10), Time::from_ms(5));
    let delays = vec![Time::from_ms(50), Time::from_ms(100)];
    let p = Dumbbell { pairs: 3, routers: 4, access: access(), bottleneck, core: link(), access_delays: delays };
    let t = finish(dumbbell(&p));
    assert_eq!((t.nodes().len(), t.links().len(), t.hosts().count()), (10, 9, 6));
    let slow: Vec<_> = t.links().iter().filter(|l| l.rate == Rate::from_mbps(10)).collect();
    let name = |n: usize| t.nodes()[n].name.as_str();
    assert_eq!(slow.iter().map(|l| (name(l.a), name(l.b))).collect::<Vec<_>>(), [("r1", "r2")]);
    let delay_of = |n| t.links()[t.ports(t.find(n).expect("named"))[0].link as usize].delay;
    assert_eq!(["s0", "s1", "s2", "d0"].map(delay_of), [50, 100, 50, 1].map(Time::from_ms));
}

#[test]
fn chains_parking_lots_stars_and_rings() {
    let t = finish(chain(8, 1, &link(), &access()));
    assert_eq!((t.nodes().len(), t.diameter()), (10, Some(9)));
    let t = finish(parking_lot(3, &link(), &access()));
    assert_eq!((t.routers().count(), t.hosts().count(), t.diameter()), (4, 8, Some(5)));
    let via = |h: &str| t.nodes()[t.ports(t.find(h).expect("named"))[0].peer as usize].name.clone();
    assert_eq!(["s0", "d0", "s2", "d2"].map(via), ["r0", "r3", "r1", "r2"]);
    let t = finish(star(5, &access()));
    assert_eq!((t.hosts().count(), t.diameter()), (5, Some(2)));
    let t = finish(ring(6, &link()));
    assert_eq!((t.links().len(), t.diameter()), (6, Some(3)));
}

#[test]
fn fat_trees_have_the_sizes_of_the_paper() {
    for k in [2, 4, 8] {
        let t = finish(fat_tree(k, &link(), &access()));
        assert_eq!(t.hosts().count(), k * k * k / 4);
        assert_eq!(t.routers().count(), 5 * k * k / 4);
        assert_eq!(t.links().len(), 3 * k * k * k / 4);
        assert!(t.routers().all(|r| t.degree(r) == k), "every switch has k ports");
        assert_eq!(t.diameter(), Some(6));
    }
}

fn waxman_of(routers: usize, seed: u64, connected: bool) -> Draft {
    let link = LinkParams { delay: None, ..link() };
    waxman(&Waxman { routers, alpha: 0.1, beta: 0.4, size_km: 1000.0, connected, link }, seed)
}

#[test]
fn waxman_has_as_many_links_as_its_probabilities_say() {
    // Over seeds, the number of links is a sum of independent draws around Σβ·exp(−d/αL): compare
    // the sums.
    let (mut expected, mut got, mut variance) = (0.0, 0.0, 0.0);
    for seed in 0..20 {
        let d = waxman_of(60, seed, false);
        let at = |n: usize| d.nodes[n].pos.expect("placed");
        let far = |a, b| (at(a).0 - at(b).0).hypot(at(a).1 - at(b).1);
        let pairs: Vec<_> = (0..60).flat_map(|a| (a + 1..60).map(move |b| (a, b))).collect();
        let largest = pairs.iter().map(|&(a, b)| far(a, b)).fold(0.0, f64::max);
        for (a, b) in pairs {
            let p = 0.4 * (-far(a, b) / (0.1 * largest)).exp();
            expected += p;
            variance += p * (1.0 - p);
        }
        got += d.links.len() as f64;
    }
    assert!((got - expected).abs() < 4.0 * f64::sqrt(variance), "{got} links, expected {expected}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn waxman_is_connected_and_the_same_for_the_same_seed(routers in 2usize..40, seed: u64) {
        let d = waxman_of(routers, seed, true);
        prop_assert_eq!(&d, &waxman_of(routers, seed, true));
        prop_assert!(finish(d).is_connected());
    }
}
