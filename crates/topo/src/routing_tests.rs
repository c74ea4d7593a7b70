use super::*;
use crate::graph::{LinkInfo, NodeInfo, NodeKind};
use crate::path::Unloaded;
use midpath_core::rng::mix;
use midpath_core::roles::ShortestPath;
use midpath_core::units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// A topology from kinds (`h` or `r`) and links with a weight.
fn network(kinds: &str, links: &[(usize, usize, f64)]) -> Topology {
    let kind = |c| if c == 'h' { NodeKind::Host } else { NodeKind::Router };
    let nodes = kinds.chars().enumerate().map(|(i, c)| NodeInfo::new(format!("{c}{i}"), kind(c))).collect();
    let link = |&(a, b, weight): &(usize, usize, f64)| LinkInfo {
        weight,
        ..LinkInfo::new(a, b, Rate::from_mbps(10), Time::from_ms(1))
    };
    Topology::new(nodes, links.iter().map(link).collect()).expect("valid")
}

/// h0 - r1 <(r2 | r3)> r4 - h5, with a longer way over r6.
fn diamond() -> Topology {
    network(
        "hrrrrhr",
        &[(0, 1, 1.), (1, 2, 1.), (1, 3, 1.), (2, 4, 1.), (3, 4, 1.5), (4, 5, 1.), (1, 6, 1.), (6, 4, 4.)],
    )
}

#[test]
fn equal_costs_are_all_offered_in_port_order() {
    let t = diamond();
    let routes = Routes::compute(&t, Metric::Hops);
    assert_eq!(routes.next_ports(1, 5), [1, 2, 3]);
    assert_eq!(routes.next_ports(0, 5), [0]);
    assert_eq!(routes.next_ports(4, 5), [2]);
    assert_eq!(routes.next_ports(5, 5), [] as [u16; 0]);
    assert_eq!(Routes::compute(&t, Metric::Weight).next_ports(1, 5), [1]);
}

#[test]
fn only_routers_take_part_in_the_table() {
    let t = diamond();
    assert_eq!(Routes::compute(&t, Metric::Hops).anchors, 5);
}

#[test]
fn faults_take_links_out_and_cut_hosts_off() {
    let t = diamond();
    let routes = Routes::compute_over(&t, Metric::Hops, |link| link != 1);
    assert_eq!(routes.next_ports(1, 5), [2, 3]);
    let cut = Routes::compute_over(&t, Metric::Hops, |link| link != 5);
    assert!(cut.next_ports(0, 5).is_empty() && cut.next_ports(1, 5).is_empty() && cut.next_ports(5, 0).is_empty());
    let split = Routes::compute_over(&t, Metric::Hops, |link| ![1, 2, 6].contains(&link));
    assert!(split.next_ports(0, 5).is_empty(), "its router does not reach it");
}

#[test]
fn multi_homed_hosts_have_two_ways_and_are_never_transit() {
    // h0 is on r1 and r2, which are otherwise joined by a longer way over r3 and r4.
    let t = network("hrrrrh", &[(0, 1, 1.), (0, 2, 1.), (1, 3, 1.), (3, 4, 1.), (4, 2, 1.), (2, 5, 1.)]);
    let routes = Routes::compute(&t, Metric::Hops);
    assert_eq!(routes.next_ports(0, 5), [1]);
    assert_eq!(routes.next_ports(1, 5), [1], "not through the host");
    assert_eq!(routes.next_ports(1, 0), [0]);
    assert_eq!(routes.next_ports(5, 0), [0]);
    assert_eq!(routes.next_ports(0, 3), [0], "one hop less by r1");
    assert_eq!(routes.next_ports(0, 4), [1]);
}

#[test]
fn homed_hosts_have_a_column_and_no_row() {
    let t = network("hrrrrh", &[(0, 1, 1.), (0, 2, 1.), (1, 3, 1.), (3, 4, 1.), (4, 2, 1.), (2, 5, 1.)]);
    let routes = Routes::compute(&t, Metric::Hops);
    assert_eq!((routes.anchors, routes.columns.len()), (4, 5));
    // Two of them, between the same two routers: each has both ways to the other, and no way that
    // is down.
    let t = network("hrrh", &[(0, 1, 1.), (0, 2, 1.), (1, 3, 1.), (2, 3, 1.), (1, 2, 1.)]);
    assert_eq!(Routes::compute(&t, Metric::Hops).next_ports(0, 3), [0, 1]);
    let cut = Routes::compute_over(&t, Metric::Hops, |link| link != 0);
    assert_eq!((cut.next_ports(0, 3), cut.next_ports(1, 0)), (&[1][..], &[2][..]), "by r2");
    let off = Routes::compute_over(&t, Metric::Hops, |link| link > 1);
    assert!(off.next_ports(0, 3).is_empty() && off.next_ports(3, 0).is_empty() && off.next_ports(1, 0).is_empty());
}

#[test]
fn two_hosts_may_be_joined_directly() {
    let t = network("hh", &[(0, 1, 1.)]);
    let routes = Routes::compute(&t, Metric::Hops);
    assert_eq!(routes.next_ports(0, 1), [0]);
    assert_eq!(routes.next_ports(1, 0), [0]);
}

#[test]
fn parallel_links_share_the_load() {
    let t = network("rr", &[(0, 1, 1.), (0, 1, 1.)]);
    assert_eq!(Routes::compute(&t, Metric::Delay).next_ports(0, 1), [0, 1]);
}

#[test]
fn the_hash_spreads_flows_and_depends_on_the_node() {
    // splitmix64 reference output for seed 0 is 0xE220A8397B1DCDAF (Vigna's splitmix64.c).
    assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
    let choice = |flow, node, ports| ShortestPath::pick_index(ports, flow, NodeId(0), NodeId(node));
    let mut counts = [0u32; 4];
    (0..40_000).for_each(|flow| counts[choice(flow, 7, 4)] += 1);
    // Binomial with p = 1/4: σ = 87, so 5 σ.
    assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 435), "{counts:?}");
    let both = (0..40_000).filter(|&f| choice(f, 1, 2) == choice(f, 2, 2)).count();
    assert!(both.abs_diff(20_000) < 500, "{both} of 40000 flows choose alike at two nodes");
}

#[test]
fn an_idle_path_takes_its_delays_and_transmissions() {
    let t = diamond();
    let routes = Routes::compute(&t, Metric::Hops);
    let path = Unloaded::new(&t, &routes.flow_path(&t, 0, 5, 1).expect("connected"));
    assert_eq!((path.hops(), path.delay, path.bottleneck), (4, Time::from_ms(4), Rate::from_mbps(10)));
    // 1250 B take 1 ms at 10 Mbps: 4 ms of transmission, 4 ms of propagation.
    assert_eq!(path.packet_time(Bytes(1250)), Time::from_ms(8));
}

/// Bellman–Ford as an oracle: hosts other than the two ends don't forward.
fn oracle(t: &Topology, metric: Metric, to: usize) -> Vec<u64> {
    let mut d = vec![u64::MAX; t.nodes().len()];
    d[to] = 0;
    for _ in 0..t.nodes().len() {
        for l in t.links() {
            for (x, y) in [(l.a, l.b), (l.b, l.a)] {
                if d[x] != u64::MAX && (x == to || !t.is_host(x)) {
                    d[y] = d[y].min(d[x] + metric.cost(l));
                }
            }
        }
    }
    d
}

/// Two layers of routers, where most links are there and cost the same: most routers have twins.
fn layers() -> impl Strategy<Value = Topology> {
    (1usize..5, 1usize..6).prop_flat_map(|(up, down)| {
        let costs = prop::collection::vec(prop_oneof![1 => Just(0u8), 8 => Just(1), 1 => Just(2)], up * down);
        (costs, any::<bool>()).prop_map(move |(costs, ring)| {
            let between = (0..up).flat_map(|a| (0..down).map(move |b| (a, up + b)));
            let links = between.zip(&costs).filter(|(_, cost)| **cost > 0);
            let mut links: Vec<_> = links.map(|((a, b), cost)| (a, b, f64::from(*cost))).collect();
            // A host for each of the lower ones.
            links.extend((0..down).map(|b| (up + b, up + down + b, 1.0)));
            links.extend((1..up).filter(|_| ring).map(|a| (a - 1, a, 1.0)));
            network(&("r".repeat(up + down) + &"h".repeat(down)), &links)
        })
    })
}

pub(crate) fn networks() -> impl Strategy<Value = Topology> {
    (2usize..9).prop_flat_map(|n| {
        let links = prop::collection::vec((0..n, 1..n, 1u8..4), 1..16);
        (prop::collection::vec(prop::bool::weighted(0.4), n), links).prop_map(move |(hosts, links)| {
            let kinds: String = hosts.iter().map(|&h| if h { 'h' } else { 'r' }).collect();
            let links: Vec<_> = links.iter().map(|&(a, step, w)| (a, (a + step) % n, f64::from(w))).collect();
            network(&kinds, &links)
        })
    })
}

proptest! {
    #[test]
    fn every_offered_port_is_on_a_shortest_path_and_none_is_missing(
        t in prop_oneof![networks(), layers()], by_weight: bool,
    ) {
        let metric = if by_weight { Metric::Weight } else { Metric::Hops };
        let routes = Routes::compute(&t, metric);
        for dst in 0..t.nodes().len() {
            let d = oracle(&t, metric, dst);
            for src in (0..t.nodes().len()).filter(|&s| s != dst) {
                let expected: Vec<u16> = t.ports(src).iter().enumerate().filter(|(_, p)| {
                    let peer = p.peer as usize;
                    d[src] != u64::MAX && (peer == dst || !t.is_host(peer)) && d[peer] != u64::MAX
                        && d[peer] + metric.cost(&t.links()[p.link as usize]) == d[src]
                }).map(|(i, _)| i as u16).collect();
                prop_assert_eq!(routes.next_ports(src, dst), &expected[..], "{} to {}", src, dst);
            }
        }
    }

    /// Whatever has been asked before, and whichever ways are up.
    #[test]
    fn a_destination_alone_has_the_ways_of_the_whole_table(
        t in prop_oneof![networks(), layers()], down in prop::collection::vec(any::<bool>(), 16),
    ) {
        let usable = |link: usize| !down.get(link).is_some_and(|d| *d);
        let whole = Routes::compute_over(&t, Metric::Weight, usable);
        let nodes = 0..t.nodes().len();
        let table: Vec<Vec<&[u16]>> =
            nodes.clone().map(|src| nodes.clone().map(|dst| whole.next_ports(src, dst)).collect()).collect();
        for dst in nodes.clone() {
            let alone = Routes::compute_over(&t, Metric::Weight, usable);
            for src in nodes.clone() {
                prop_assert_eq!(alone.next_ports(src, dst), table[src][dst], "{} to {}", src, dst);
            }
        }
    }

    #[test]
    fn paths_arrive_without_passing_a_host(t in networks(), flow: u64) {
        let routes = Routes::compute(&t, Metric::Hops);
        for src in t.hosts() {
            for dst in t.hosts().filter(|&d| d != src) {
                if let Some(path) = routes.flow_path(&t, src, dst, flow as u32) {
                    prop_assert_eq!(path[0].node, src);
                    prop_assert!(path[1..].iter().all(|h| !t.is_host(h.node)));
                }
            }
        }
    }
}

#[test]
fn routers_with_the_same_links_are_twins() {
    use crate::generate::{LinkParams, fat_tree};
    let link = LinkParams::new(Rate::from_gbps(10), Time::from_us(1));
    let t = fat_tree(4, &link, &link).finish(Time::from_us(1)).expect("valid");
    let routes = Routes::compute(&t, Metric::Hops);
    // In each of four pods two edge switches; the two core switches of each of two groups. The
    // switches between them have edge switches of their own pod alone, and differ in their cores.
    let mut sizes: Vec<usize> = (0..routes.anchors).map(|n| routes.twins.with(n).len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [vec![1; 8], vec![2; 12]].concat());
    // Costs count, and so does how many links there are.
    let twins = |links: &[(usize, usize, f64)]| {
        let t = network("rrrr", links);
        let routes = Routes::compute(&t, Metric::Weight);
        routes.twins.with(0).to_vec()
    };
    assert_eq!(twins(&[(0, 2, 1.), (1, 2, 1.), (0, 3, 2.), (3, 1, 2.)]), [0, 1]);
    assert_eq!(twins(&[(0, 2, 1.), (1, 2, 1.), (0, 3, 2.), (3, 1, 1.)]), [0]);
    assert_eq!(twins(&[(0, 2, 1.), (1, 2, 1.), (0, 2, 1.)]), [0]);
    assert_eq!(twins(&[(0, 1, 1.), (0, 2, 1.), (1, 2, 1.)]), [0], "neighbours are none");
}

#[test]
#[ignore = "a measurement, not a check: run with --release --ignored --nocapture"]
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn time_of_large_tables() {
    use crate::generate::{LinkParams, fat_tree};
    let link = LinkParams::new(Rate::from_gbps(10), Time::from_us(1));
    for k in [16, 32, 64] {
        let t = fat_tree(k, &link, &link).finish(Time::from_us(1)).expect("valid");
        for metric in [Metric::Hops, Metric::Delay] {
            let start = std::time::Instant::now();
            let routes = Routes::compute(&t, metric);
            // A way from a core switch to each edge switch.
            t.hosts().for_each(|host| assert!(!routes.next_ports(0, host).is_empty()));
            let (ms, mb) = (start.elapsed().as_millis(), routes.memory() as f64 / 1e6);
            println!("k={k}: {} hosts, {} routers, {metric:?}: {ms} ms, {mb:.1} MB", k * k * k / 4, routes.anchors);
        }
    }
}
