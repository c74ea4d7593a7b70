//! Fabrics against closed forms: sizes, degrees, diameters, shortest paths, and bisections as a flow finds them.

use std::collections::BTreeSet;

use super::tests::{access, finish, link};
use super::*;
use crate::graph::Topology;
use crate::routing::{Metric, Routes};
use proptest::prelude::*;

fn host(t: &Topology, i: usize) -> usize {
    t.find(&format!("h{i}")).expect("a host")
}

fn degrees(t: &Topology, class: &str) -> BTreeSet<usize> {
    let of_class = |n: &usize| t.nodes()[*n].class.as_deref() == Some(class);
    t.routers().filter(of_class).map(|n| t.degree(n)).collect()
}

/// How many shortest paths routing has from `a` to `b`, and how long they are.
fn paths(t: &Topology, routes: &Routes, a: usize, b: usize) -> (u64, u32) {
    if a == b {
        return (1, 0);
    }
    let onward: Vec<_> = routes
        .next_ports(a, b)
        .iter()
        .map(|&p| paths(t, routes, t.ports(a)[usize::from(p)].peer as usize, b))
        .collect();
    let length = onward.first().expect("a way").1;
    assert!(onward.iter().all(|path| path.1 == length), "ways of equal cost are as long");
    (onward.iter().map(|path| path.0).sum(), length + 1)
}

fn between(t: &Topology, a: usize, b: usize) -> (u64, u32) {
    paths(t, &Routes::compute(t, Metric::Hops), host(t, a), host(t, b))
}

/// How many links' worth flows from the first half of hosts to the second at once, links of both kinds being equal
/// (Edmonds and Karp).
fn bisection(t: &Topology, nvlinks: bool) -> usize {
    let (n, hosts) = (t.nodes().len(), t.hosts().count());
    let (source, sink) = (n, n + 1);
    let mut room: std::collections::BTreeMap<(usize, usize), usize> = std::collections::BTreeMap::new();
    let inside = |m: usize| t.nodes()[m].class.as_deref() == Some(fabrics::NVSWITCH);
    for l in t.links().iter().filter(|l| nvlinks || !inside(l.a) && !inside(l.b)) {
        *room.entry((l.a, l.b)).or_default() += 1;
        *room.entry((l.b, l.a)).or_default() += 1;
    }
    for (i, h) in t.hosts().enumerate() {
        // A host does not forward what is not its own.
        let (from, to) = if 2 * i < hosts { (source, h) } else { (h, sink) };
        room.insert((from, to), usize::MAX / 4);
        let ends: Vec<_> = room
            .keys()
            .filter(|(a, b)| if 2 * i < hosts { *b == h && *a < n } else { *a == h && *b < n })
            .copied()
            .collect();
        room.extend(ends.into_iter().map(|end| (end, 0)));
    }
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); n + 2];
    for (a, b) in room.keys() {
        next[*a].push(*b);
        next[*b].push(*a);
    }
    let mut flow = 0;
    loop {
        let mut from = vec![usize::MAX; n + 2];
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(a) = queue.pop_front() {
            for &b in &next[a] {
                if from[b] == usize::MAX && b != source && room.get(&(a, b)).copied().unwrap_or(0) > 0 {
                    from[b] = a;
                    queue.push_back(b);
                }
            }
        }
        if from[sink] == usize::MAX {
            return flow;
        }
        let mut at = sink;
        while at != source {
            *room.get_mut(&(from[at], at)).expect("it had room") -= 1;
            *room.entry((at, from[at])).or_default() += 1;
            at = from[at];
        }
        flow += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn leaf_spines(leaves in 2usize..7, spines in 1usize..6, per_leaf in 1usize..6, of in 1usize..4) {
        let one = leaf_spine(&LeafSpine { leaves, spines, per_leaf, link: link(), access: access() });
        let t = finish(planes(one, of));
        prop_assert_eq!(t.hosts().count(), leaves * per_leaf);
        prop_assert_eq!(t.links().len(), of * leaves * (spines + per_leaf));
        prop_assert_eq!(degrees(&t, "leaf"), BTreeSet::from([spines + per_leaf]));
        prop_assert_eq!(degrees(&t, "spine"), BTreeSet::from([leaves]));
        prop_assert!(t.hosts().all(|h| t.degree(h) == of), "a NIC for each plane");
        let last = leaves * per_leaf - 1;
        prop_assert_eq!(between(&t, 0, last), ((of * spines) as u64, 4));
        if per_leaf > 1 {
            prop_assert_eq!(between(&t, 0, 1), (of as u64, 2));
        }
        if leaves % 2 == 0 {
            // Half the leaves to the other half: as fast as hosts, or as their uplinks.
            prop_assert_eq!(bisection(&t, true), of * leaves / 2 * per_leaf.min(spines));
        }
    }

    #[test]
    fn fat_trees_with_oversubscription(half in 1usize..4, times in 1usize..4) {
        let k = 2 * half;
        let t = finish(oversubscribed_fat_tree((k, times), &link(), &access()));
        prop_assert_eq!(t.hosts().count(), times * k * k * k / 4);
        prop_assert_eq!(degrees(&t, "edge"), BTreeSet::from([half * (1 + times)]));
        prop_assert_eq!(degrees(&t, "aggregation"), BTreeSet::from([k]));
        prop_assert_eq!(degrees(&t, "core"), BTreeSet::from([k]));
        prop_assert_eq!(between(&t, 0, times * k * k * k / 4 - 1), ((half * half) as u64, 6));
        prop_assert_eq!(bisection(&t, true), k * k * k / 8, "whatever the oversubscription");
    }

    #[test]
    fn dragonflies(groups in 2usize..6, leaves in 1usize..4, spines in 1usize..4, per_leaf in 1usize..4, times in 1usize..3) {
        let global_ports = (groups - 1) * times;
        let p = DragonflyPlus {
            groups, leaves, spines, per_leaf, global_ports, link: link(), global: link(), access: access(),
        };
        let per_pair = p.per_pair().expect("a multiple");
        prop_assert_eq!(per_pair, spines * times);
        let t = finish(dragonfly_plus(&p));
        prop_assert_eq!(t.hosts().count(), groups * leaves * per_leaf);
        let links = groups * leaves * (spines + per_leaf) + groups * (groups - 1) / 2 * per_pair;
        prop_assert_eq!(t.links().len(), links);
        prop_assert_eq!(degrees(&t, "leaf"), BTreeSet::from([spines + per_leaf]));
        prop_assert_eq!(degrees(&t, "spine"), BTreeSet::from([leaves + global_ports]));
        // Each global link is the middle of one shortest path.
        prop_assert_eq!(between(&t, 0, groups * leaves * per_leaf - 1), (per_pair as u64, 5));
        if leaves > 1 {
            prop_assert_eq!(between(&t, 0, per_leaf), (spines as u64, 4));
        }
        if groups == 2 {
            let half = leaves * per_leaf.min(spines);
            prop_assert_eq!(bisection(&t, true), half.min(per_pair));
        }
    }

    #[test]
    fn tori(dims in prop::collection::vec(2usize..6, 1..4)) {
        let t = finish(torus(&dims, &link()));
        let count: usize = dims.iter().product();
        let links: usize = dims.iter().map(|&d| if d > 2 { count } else { count / 2 }).sum();
        prop_assert_eq!((t.routers().count(), t.links().len()), (count, links));
        let degree: usize = dims.iter().map(|&d| if d > 2 { 2 } else { 1 }).sum();
        prop_assert!(t.routers().all(|r| t.degree(r) == degree));
        let far: Vec<usize> = dims.iter().map(|d| d / 2).collect();
        prop_assert_eq!(t.diameter(), Some(far.iter().sum::<usize>() as u32));
        // To the farthest router: steps in any order, and both ways round where that is as far.
        let to = dims.iter().zip(&far).fold(0, |at, (d, f)| at * d + f);
        let factorial = |n: usize| (1..=n as u64).product::<u64>();
        let orders = far.iter().fold(factorial(far.iter().sum()), |all, f| all / factorial(*f));
        let both: u64 = dims.iter().map(|d| if d % 2 == 0 && *d > 2 { 2 } else { 1 }).product();
        let found = paths(&t, &Routes::compute(&t, Metric::Hops), 0, to);
        prop_assert_eq!(found, (orders * both, far.iter().sum::<usize>() as u32));
    }

    /// Between GPUs of a server over its switch; of a rail on that rail; else inside a server or at a spine.
    #[test]
    fn rail_fabrics(
        servers in 1usize..7, rails in 1usize..5, per_leaf in 1usize..5, spines in 1usize..4, nics: bool, of in 1usize..3,
        pick: (prop::sample::Index, prop::sample::Index),
    ) {
        let per_leaf = per_leaf.min(servers);
        let p = Rails {
            servers, rails, per_leaf, spines, link: link(), access: access(), nvlink: link(), shared_nics: nics,
        };
        let t = finish(planes(super::rails(&p), of));
        let count = servers * rails;
        prop_assert_eq!((t.hosts().count(), t.nodes().len()), {
            let blocks = servers.div_ceil(per_leaf);
            (count, count + servers + of * (spines + blocks * rails + if nics { count } else { 0 }))
        });
        prop_assert_eq!(degrees(&t, "nvswitch"), BTreeSet::from([rails * if nics { 1 + of } else { 1 }]));
        let (a, b) = (pick.0.index(count), pick.1.index(count));
        if a == b {
            return Ok(());
        }
        let routes = Routes::compute(&t, Metric::Hops);
        // The switches on any of the shortest paths.
        let (mut reached, mut at) = (BTreeSet::from([host(&t, a)]), vec![host(&t, a)]);
        while let Some(n) = at.pop() {
            let ports = routes.next_ports(n, host(&t, b));
            let peers = ports.iter().map(|&p| t.ports(n)[usize::from(p)].peer as usize);
            at.extend(peers.filter(|m| reached.insert(*m)));
        }
        let names = |class: &str| -> BTreeSet<&str> {
            let of_class = |n: &&usize| t.nodes()[**n].class.as_deref() == Some(class);
            reached.iter().filter(of_class).map(|n| t.nodes()[*n].name.as_str()).collect()
        };
        let (server, rail) = ([a / rails, b / rails], [a % rails, b % rails]);
        let inside: BTreeSet<String> = server.iter().map(|s| format!("v{s}")).collect();
        let inside: BTreeSet<&str> = inside.iter().map(String::as_str).collect();
        let one_block = server[0] / per_leaf == server[1] / per_leaf;
        if server[0] == server[1] {
            prop_assert_eq!(names("nvswitch"), inside);
            prop_assert!(names("leaf").is_empty());
        } else if one_block && rail[0] == rail[1] {
            prop_assert_eq!(names("leaf").len(), of, "its leaf, in each plane");
            let own = format!(".{}", rail[0]);
            prop_assert!(names("leaf").iter().all(|name| name.ends_with(&own)));
            prop_assert!(names("nvswitch").is_empty() && names("spine").is_empty());
        } else if one_block && nics {
            prop_assert_eq!(names("nvswitch"), inside, "in the sender's or the receiver's server");
            prop_assert!(names("spine").is_empty());
        } else {
            prop_assert_eq!(names("spine").len(), of * spines);
            prop_assert!(names("nvswitch").is_empty());
        }
    }
}

#[test]
fn a_rail_fabric_of_full_bisection_is_one() {
    let p = Rails {
        servers: 8,
        rails: 2,
        per_leaf: 4,
        spines: 4,
        link: link(),
        access: access(),
        nvlink: link(),
        shared_nics: false,
    };
    // Four leaves with four uplinks each: two of them face the other block's two.
    assert_eq!(bisection(&finish(rails(&p)), false), 8);
    assert_eq!(bisection(&finish(rails(&Rails { spines: 1, ..p })), false), 2);
}
